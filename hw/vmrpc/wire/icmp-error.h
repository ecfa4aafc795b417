/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMPv6 errors as an IPv4 socket would have them
 *
 * The host's sockets get errors of IPv6, the guest's programs expect those of
 * IPv4.  Type, code and errno match as in Linux's icmp_err_convert[]
 * (net/ipv4/icmp.c).
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
 * As in RFC 7915, section 5.2.  Errors that a translator would drop become the
 * nearest general error: the host's socket has the error already.
 */
VmrpcIcmpError vmrpc_icmp_error(uint8_t type6, uint8_t code6);

/**
 * vmrpc_icmp_pending: the errno of ICMP for that of ICMPv6
 * @error: an errno (positive) that an ICMPv6 message has set on an IPv6
 *         socket: SO_ERROR, or the result of a call that reported it
 *
 * Not for a call's own errors: a route of type "prohibit" gives EACCES in IPv4
 * as well.
 *
 * Returns: the errno of an IPv4 socket.
 */
int vmrpc_icmp_pending(int error);

#endif /* HW_VMRPC_ICMP_ERROR_H */
