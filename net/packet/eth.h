/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ethernet headers and their tags (IEEE 802.3, 802.1Q, 802.1ad) */
#ifndef NET_PACKET_ETH_H
#define NET_PACKET_ETH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_ETH_LEN          14u
#define PACKET_ETH_ADDR_LEN     6u
#define PACKET_ETH_TAGS_MAX     2u
#define PACKET_ETH_TAG_LEN      4u

/* EtherTypes. */
enum {
    PACKET_ETH_IP4 = 0x0800,
    PACKET_ETH_ARP = 0x0806,
    PACKET_ETH_VLAN = 0x8100,
    PACKET_ETH_IP6 = 0x86dd,
    PACKET_ETH_QINQ = 0x88a8,
};

typedef struct PacketEth {
    uint8_t dst[PACKET_ETH_ADDR_LEN];
    uint8_t src[PACKET_ETH_ADDR_LEN];
    uint16_t type;              /* after the tags, host byte order */
    uint8_t tags;               /* 0..PACKET_ETH_TAGS_MAX */
    uint16_t tpid[PACKET_ETH_TAGS_MAX]; /* outer tag first, host byte order */
    uint16_t tci[PACKET_ETH_TAGS_MAX];
    size_t len;                 /* octets, including tags */
} PacketEth;

/**
 * packet_eth_parse: parse an Ethernet header
 * @buf: from the destination address on
 * @len: octets at @buf; may be more than the header
 *
 * A third tag is not parsed: @eth->type is its TPID then.
 *
 * Returns: false if the header or a tag is truncated
 */
bool packet_eth_parse(PacketEth *eth, const void *buf, size_t len);

/**
 * packet_eth_build: write an untagged Ethernet header
 * @buf: space for PACKET_ETH_LEN octets
 * @type: EtherType, host byte order
 *
 * Returns: PACKET_ETH_LEN
 */
size_t packet_eth_build(void *buf, const uint8_t dst[PACKET_ETH_ADDR_LEN],
                        const uint8_t src[PACKET_ETH_ADDR_LEN], uint16_t type);

/** packet_eth_is_group: is it a multicast or the broadcast address? */
static inline bool packet_eth_is_group(const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    return mac[0] & 1;
}

/**
 * packet_eth_is_station: is it a valid address of a single station?
 *
 * That is: unicast, and not 00:00:00:00:00:00.
 */
bool packet_eth_is_station(const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** packet_eth_group6: address for an IPv6 multicast packet (RFC 2464 sec. 7) */
void packet_eth_group6(uint8_t mac[PACKET_ETH_ADDR_LEN],
                       const struct in6_addr *group);

#endif /* NET_PACKET_ETH_H */
