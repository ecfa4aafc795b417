/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 headers and their options (RFC 791)
 *
 * A packet begins with its IPv4 header.
 */
#ifndef NET_PACKET_IP4_H
#define NET_PACKET_IP4_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_IP4_LEN          20u     /* without options */
#define PACKET_IP4_LEN_MAX      60u

/* A header; numbers in host order, addresses in network order. */
typedef struct PacketIp4 {
    struct in_addr src, dst;
    uint8_t tos;                /* DSCP and ECN */
    uint8_t ttl;
    uint8_t protocol;
    bool dont_fragment;
    bool more;                  /* fragments follow */
    uint16_t fragment_offset;   /* octets */
    uint16_t id;
    uint16_t total;             /* octets of the packet, this header included */
    uint8_t len;                /* of this header, options included */
} PacketIp4;

/**
 * packet_ip4_parse: read a header
 * @len: octets at @packet; what is behind the packet is padding
 *
 * The checksum is not looked at: see packet_ip4_sum_is_good().
 *
 * Returns: false if it is too short, no IPv4, or the packet is cut; in the last
 * case @ip is filled in
 */
bool packet_ip4_parse(PacketIp4 *ip, const void *packet, size_t len);

/** packet_ip4_sum_is_good: is the checksum of this whole header right? */
bool packet_ip4_sum_is_good(const void *header, size_t len);

/** packet_ip4_seal: write the checksum of this whole header */
void packet_ip4_seal(void *header, size_t len);

/**
 * packet_ip4_build: write a header without options, with its checksum
 * @buf: room for PACKET_IP4_LEN octets
 * @ip: of which @len is not looked at
 *
 * Returns: PACKET_IP4_LEN
 */
size_t packet_ip4_build(void *buf, const PacketIp4 *ip);

/** packet_ip4_is_fragment: is it a part of a packet only? */
static inline bool packet_ip4_is_fragment(const PacketIp4 *ip)
{
    return ip->more || ip->fragment_offset;
}

typedef struct PacketIp4Option {
    uint8_t type;
    uint8_t len;                /* octets of @data */
    const uint8_t *data;
} PacketIp4Option;

/**
 * packet_ip4_option_next: take the next option; no-operations are passed over
 * @header: whole
 * @len: its octets
 * @pos: where to look; 0 for the first
 *
 * Returns: false at the end, where @pos is @len; or if an option is cut, where
 * @pos is less
 */
bool packet_ip4_option_next(const void *header, size_t len, size_t *pos,
                            PacketIp4Option *option);

#endif /* NET_PACKET_IP4_H */
