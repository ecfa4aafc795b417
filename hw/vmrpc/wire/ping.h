/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echo requests and replies between an IPv4 guest and its IPv6 host
 *
 * A ping socket (SOCK_DGRAM, IPPROTO_ICMP) sends and receives whole ICMP
 * messages; the kernel fills in identifier and checksum of those it sends.
 * Both families have the same header of eight octets, so only the type and the
 * checksum of a message change (RFC 7915, 4.2 and 5.2).
 */
#ifndef HW_VMRPC_PING_H
#define HW_VMRPC_PING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Octets: type, code, checksum (16), identifier (16), sequence number (16). */
#define VMRPC_PING_HEADER 8

/**
 * vmrpc_ping_to_host: an echo request of the guest, as ICMPv6
 * @header: the first octets of the message, changed in place
 *
 * Returns: 0; -EINVAL for any other message, as in Linux.
 */
int vmrpc_ping_to_host(uint8_t header[VMRPC_PING_HEADER]);

/**
 * vmrpc_ping_to_guest: a received ICMPv6 message, as ICMP
 * @iov: the memory, @num vectors; the guest may change it at any time
 * @offset: octets before the message
 * @len: octets of the message, which may be truncated
 *
 * An echo reply gets its IPv4 type, and a checksum of the octets in memory.  So
 * does the guest's own echo request, which comes back with an error.  Any other
 * message stays unchanged.
 */
void vmrpc_ping_to_guest(const struct iovec *iov, unsigned num, size_t offset,
                         size_t len);

#endif /* HW_VMRPC_PING_H */
