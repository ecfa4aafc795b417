/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echo requests and replies between an IPv4 guest and its IPv6 host
 *
 * A ping socket (SOCK_DGRAM, IPPROTO_ICMP) sends and receives whole ICMP
 * messages; the kernel fills in identifier and checksum of what it sends.
 * Both families have the same header of eight octets, so a message changes in
 * its type and its checksum only (RFC 7915, 4.2 and 5.2).
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
 * @header: its first octets, changed in place
 *
 * Returns: 0; -EINVAL for anything but an echo request, as Linux gives.
 */
int vmrpc_ping_to_host(uint8_t header[VMRPC_PING_HEADER]);

/**
 * vmrpc_ping_to_guest: an ICMPv6 message that a ping socket received, as ICMP
 * @iov: where it is, @num vectors
 * @offset: octets before it
 * @len: octets of it that are there
 *
 * An echo reply gets its IPv4 type and a checksum that is right for the octets
 * that are there; so does the guest's own request, when it comes back with an
 * error. Anything else stays as it is.
 * The memory may be the guest's, which changes it if it likes.
 */
void vmrpc_ping_to_guest(const struct iovec *iov, unsigned num, size_t offset,
                         size_t len);

#endif /* HW_VMRPC_PING_H */
