/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP headers (RFC 768)
 *
 * A checksum of 0 says that there is none. IPv4 allows that; IPv6 does not
 * (RFC 8200 section 8.1), but for the outer header of tunnels that agree on it
 * (RFC 6935). A checksum that comes out as 0 is sent as 0xffff.
 */
#ifndef NET_PACKET_UDP_H
#define NET_PACKET_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_UDP_LEN          8u
#define PACKET_UDP_CHECKSUM     6u      /* offset of the checksum */

/* A header, in host order. */
typedef struct PacketUdp {
    uint16_t src, dst;          /* ports */
    uint16_t len;               /* octets of the datagram, header included */
    uint16_t checksum;          /* 0: none */
} PacketUdp;

/**
 * packet_udp_parse: read a header
 * @len: octets at @buf
 *
 * Returns: false if it is too short, or the datagram is cut; in the second case
 * @udp is filled in
 */
bool packet_udp_parse(PacketUdp *udp, const void *buf, size_t len);

/**
 * packet_udp_build: write a header; its checksum is @udp->checksum
 * @buf: room for PACKET_UDP_LEN octets
 *
 * Returns: PACKET_UDP_LEN
 */
size_t packet_udp_build(void *buf, const PacketUdp *udp);

/**
 * packet_udp_seal: write the checksum of a whole datagram
 * @pseudo: the sum of its pseudo header
 */
void packet_udp_seal(void *datagram, size_t len, uint32_t pseudo);

/**
 * packet_udp_sum_is_good: may the datagram be believed?
 * @datagram: whole, @len octets
 * @pseudo: the sum of its pseudo header
 * @may_be_none: over IPv4, or in a tunnel that agrees on it
 */
bool packet_udp_sum_is_good(const void *datagram, size_t len, uint32_t pseudo,
                            bool may_be_none);

/** packet_udp_sum: a folded sum as UDP stores it: never 0 */
static inline uint16_t packet_udp_sum(uint16_t folded)
{
    return folded ? folded : 0xffff;
}

#endif /* NET_PACKET_UDP_H */
