/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 headers and their options (RFC 791)
 *
 * A packet starts with its IPv4 header.
 */
#ifndef NET_PACKET_IP4_H
#define NET_PACKET_IP4_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_IP4_LEN          20u     /* without options */
#define PACKET_IP4_LEN_MAX      60u

/* A header; numbers in host byte order, addresses in network byte order. */
typedef struct PacketIp4 {
    struct in_addr src, dst;
    uint8_t tos;                /* DSCP and ECN */
    uint8_t ttl;
    uint8_t protocol;
    bool dont_fragment;
    bool more;                  /* MF: more fragments follow */
    uint16_t fragment_offset;   /* octets */
    uint16_t id;
    uint16_t total;             /* packet length, including this header */
    uint8_t len;                /* header length, including options */
} PacketIp4;

/**
 * packet_ip4_parse: parse a header
 * @len: octets at @packet; octets after the packet are padding
 *
 * The checksum is not verified: see packet_ip4_sum_is_good().
 *
 * Returns: false if it is too short, is not IPv4, or the packet is truncated;
 * @ip is filled in if only the packet is truncated
 */
bool packet_ip4_parse(PacketIp4 *ip, const void *packet, size_t len);

/** packet_ip4_sum_is_good: is the checksum of a complete header correct? */
bool packet_ip4_sum_is_good(const void *header, size_t len);

/** packet_ip4_seal: write the checksum of a complete header */
void packet_ip4_seal(void *header, size_t len);

/**
 * packet_ip4_build: write a header without options, with its checksum
 * @buf: space for PACKET_IP4_LEN octets
 * @ip: its member @len is ignored
 *
 * Returns: PACKET_IP4_LEN
 */
size_t packet_ip4_build(void *buf, const PacketIp4 *ip);

/** packet_ip4_is_fragment: is it a fragment of a packet? */
static inline bool packet_ip4_is_fragment(const PacketIp4 *ip)
{
    return ip->more || ip->fragment_offset;
}

typedef struct PacketIp4Option {
    uint8_t type;
    uint8_t len;                /* length of @data */
    const uint8_t *data;
} PacketIp4Option;

/**
 * packet_ip4_option_next: get the next option; no-operations are skipped
 * @header: a complete header
 * @len: length of @header
 * @pos: position of the option; 0 for the first
 *
 * Returns: false at the end, where @pos is @len; also if an option is
 * truncated, where @pos is less than @len
 */
bool packet_ip4_option_next(const void *header, size_t len, size_t *pos,
                            PacketIp4Option *option);

#endif /* NET_PACKET_IP4_H */
