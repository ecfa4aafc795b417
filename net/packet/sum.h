/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Internet checksum (RFC 1071)
 *
 * A sum is accumulated in 32 bits, piece by piece, and folded at the end.  All
 * pieces except the last must have an even length; packet_sum_iov() accepts
 * any. A sum can cover at most PACKET_SUM_MAX octets.
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
 * @sum: of the preceding octets, an even number of them; 0 at the start
 */
uint32_t packet_sum_add(uint32_t sum, const void *buf, size_t len);

/**
 * packet_sum_iov: add @len octets of @iov from @offset on
 *
 * Octets after the end of @iov count as 0.
 */
uint32_t packet_sum_iov(uint32_t sum, const struct iovec *iov, int iovcnt,
                        size_t offset, size_t len);

/**
 * packet_sum_pseudo6: the sum of IPv6's pseudo header (RFC 8200 section 8.1)
 * @next: number of the upper-layer protocol
 * @len: length of the upper-layer packet, including its header
 */
uint32_t packet_sum_pseudo6(const struct in6_addr *src,
                            const struct in6_addr *dst, uint8_t next,
                            uint32_t len);

/**
 * packet_sum_pseudo4: the sum of IPv4's pseudo header (RFC 793, RFC 768)
 * @src: in network byte order
 */
uint32_t packet_sum_pseudo4(struct in_addr src, struct in_addr dst,
                            uint8_t protocol, uint16_t len);

/**
 * packet_sum_pseudo: the sum of a packet's pseudo header
 * @ip: its IPv4 or IPv6 header; there must be no routing header
 */
uint32_t packet_sum_pseudo(const void *ip, uint8_t protocol, uint16_t len);

/**
 * packet_sum_fold: complete a sum
 *
 * Returns: its complement in host byte order, for put_be16(); 0 if the
 * octets include a correct checksum
 */
uint16_t packet_sum_fold(uint32_t sum);

/**
 * packet_sum_partial: the value of a checksum field that a NIC completes
 * @pseudo: the sum of the pseudo header
 */
static inline uint16_t packet_sum_partial(uint32_t pseudo)
{
    return ~packet_sum_fold(pseudo);
}

#endif /* NET_PACKET_SUM_H */
