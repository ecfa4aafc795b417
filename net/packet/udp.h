/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP headers (RFC 768)
 *
 * A checksum of 0 means that there is no checksum. IPv4 allows that. IPv6 does
 * not (RFC 8200 section 8.1), except for the outer header of tunnels that use
 * it (RFC 6935). A computed checksum of 0 is sent as 0xffff.
 */
#ifndef NET_PACKET_UDP_H
#define NET_PACKET_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_UDP_LEN          8u
#define PACKET_UDP_CHECKSUM     6u      /* offset of the checksum */

/* A header, in host byte order. */
typedef struct PacketUdp {
    uint16_t src, dst;          /* ports */
    uint16_t len;               /* datagram length, including this header */
    uint16_t checksum;          /* 0: none */
} PacketUdp;

/**
 * packet_udp_parse: parse a header
 * @len: octets at @buf
 *
 * Returns: false if it is too short or the datagram is truncated; @udp is
 * filled in if only the datagram is truncated
 */
bool packet_udp_parse(PacketUdp *udp, const void *buf, size_t len);

/**
 * packet_udp_build: write a header with the checksum @udp->checksum
 * @buf: space for PACKET_UDP_LEN octets
 *
 * Returns: PACKET_UDP_LEN
 */
size_t packet_udp_build(void *buf, const PacketUdp *udp);

/**
 * packet_udp_seal: write the checksum of a complete datagram
 * @pseudo: the sum of its pseudo header
 */
void packet_udp_seal(void *datagram, size_t len, uint32_t pseudo);

/**
 * packet_udp_sum_is_good: is the datagram's checksum correct?
 * @datagram: complete, @len octets
 * @pseudo: the sum of its pseudo header
 * @may_be_none: accept 0: over IPv4, or in a tunnel that allows it
 */
bool packet_udp_sum_is_good(const void *datagram, size_t len, uint32_t pseudo,
                            bool may_be_none);

/** packet_udp_sum: convert a folded sum to UDP's form, which is never 0 */
static inline uint16_t packet_udp_sum(uint16_t folded)
{
    return folded ? folded : 0xffff;
}

#endif /* NET_PACKET_UDP_H */
