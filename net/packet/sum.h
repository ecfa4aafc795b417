/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Internet checksum (RFC 1071)
 *
 * A sum is collected in 32 bits, piece by piece, and folded at the end.  All
 * pieces but the last must have an even length; packet_sum_iov() takes any.
 * At most PACKET_SUM_MAX octets fit into one sum.
 */
#ifndef NET_PACKET_SUM_H
#define NET_PACKET_SUM_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define PACKET_SUM_MAX          (1u << 17)

/**
 * packet_sum_add: add octets to a sum
 * @sum: of what comes before, an even number of octets; 0 at the beginning
 */
uint32_t packet_sum_add(uint32_t sum, const void *buf, size_t len);

/**
 * packet_sum_iov: add @len octets of @iov from @offset on
 *
 * Octets beyond the end of @iov count as if they were 0.
 */
uint32_t packet_sum_iov(uint32_t sum, const struct iovec *iov, int iovcnt,
                        size_t offset, size_t len);

/**
 * packet_sum_pseudo6: the sum of IPv6's pseudo header (RFC 8200 section 8.1)
 * @next: number of the upper-layer protocol
 * @len: octets of its packet, header included
 */
uint32_t packet_sum_pseudo6(const struct in6_addr *src,
                            const struct in6_addr *dst, uint8_t next,
                            uint32_t len);

/**
 * packet_sum_pseudo4: the sum of IPv4's pseudo header (RFC 793, RFC 768)
 * @src: in network order
 */
uint32_t packet_sum_pseudo4(struct in_addr src, struct in_addr dst,
                            uint8_t protocol, uint16_t len);

/**
 * packet_sum_pseudo: the sum of the pseudo header of a packet
 * @ip: its IPv4 or IPv6 header; without a routing header behind it
 */
uint32_t packet_sum_pseudo(const void *ip, uint8_t protocol, uint16_t len);

/**
 * packet_sum_fold: end a sum
 *
 * Returns: its complement in host order, for packet_put16(); 0 if the octets
 * summed up contain a checksum that is right
 */
uint16_t packet_sum_fold(uint32_t sum);

/**
 * packet_sum_partial: what stands in for a checksum that a NIC is to make
 * @pseudo: the sum of the pseudo header
 */
static inline uint16_t packet_sum_partial(uint32_t pseudo)
{
    return ~packet_sum_fold(pseudo);
}

#endif /* NET_PACKET_SUM_H */
