/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARP for IPv4 on Ethernet (RFC 826)
 *
 * A message starts after the Ethernet header.
 */
#ifndef NET_PACKET_ARP_H
#define NET_PACKET_ARP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/packet/eth.h"

#define PACKET_ARP_LEN          28u

/* Operations. */
enum {
    PACKET_ARP_REQUEST = 1,
    PACKET_ARP_REPLY = 2,
};

typedef struct PacketArp {
    uint16_t operation;         /* host byte order; may be another one */
    uint8_t sender_mac[PACKET_ETH_ADDR_LEN];
    uint8_t target_mac[PACKET_ETH_ADDR_LEN];    /* unspecified in a request */
    struct in_addr sender, target;              /* network byte order */
} PacketArp;

/**
 * packet_arp_parse: parse a message
 * @len: octets at @buf; octets after the message are padding
 *
 * Returns: false if it is too short, or has other hardware or protocol types
 */
bool packet_arp_parse(PacketArp *arp, const void *buf, size_t len);

/**
 * packet_arp_build: write a message
 * @buf: space for PACKET_ARP_LEN octets
 *
 * Returns: PACKET_ARP_LEN
 */
size_t packet_arp_build(void *buf, const PacketArp *arp);

/**
 * packet_arp_is_probe: is it a probe for a free address (RFC 5227)?
 *
 * The sender of a probe has no address yet, so nothing can be learned from it.
 */
static inline bool packet_arp_is_probe(const PacketArp *arp)
{
    return arp->operation == PACKET_ARP_REQUEST && arp->sender.s_addr == 0;
}

/** packet_arp_is_announcement: does the sender announce its own address? */
static inline bool packet_arp_is_announcement(const PacketArp *arp)
{
    return arp->sender.s_addr && arp->sender.s_addr == arp->target.s_addr;
}

#endif /* NET_PACKET_ARP_H */
