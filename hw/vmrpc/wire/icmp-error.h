/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMPv6 errors as an IPv4 socket would have them
 *
 * The host's sockets have IPv6's errors, the guest's programs expect IPv4's.
 * Type, code and errno of what they are told agree with each other as in
 * Linux's icmp_err_convert[] (net/ipv4/icmp.c).
 */
#ifndef HW_VMRPC_ICMP_ERROR_H
#define HW_VMRPC_ICMP_ERROR_H

#include <stdint.h>

typedef struct VmrpcIcmpError {
    uint8_t type;
    uint8_t code;
    int error;                  /* positive errno */
} VmrpcIcmpError;

/**
 * vmrpc_icmp_error: type and code of ICMP for those of ICMPv6
 *
 * RFC 7915, section 5.2, and for what a translator would drop the nearest
 * general error: it cannot be dropped here, it has happened.
 */
VmrpcIcmpError vmrpc_icmp_error(uint8_t type6, uint8_t code6);

/**
 * vmrpc_icmp_pending: the same where only the errno is left of it
 * @error: what an ICMPv6 message has made of an IPv6 socket: SO_ERROR, or
 *         (positive) what a call returned in its place
 *
 * Not for what a call says of itself: EACCES of a route of type "prohibit" is
 * IPv4's as well.
 *
 * Returns: the errno of an IPv4 socket.
 */
int vmrpc_icmp_pending(int error);

#endif /* HW_VMRPC_ICMP_ERROR_H */
