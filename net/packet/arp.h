/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARP for IPv4 on Ethernet (RFC 826)
 *
 * A message begins behind the Ethernet header.
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
    uint16_t operation;         /* host order; others than the two exist */
    uint8_t sender_mac[PACKET_ETH_ADDR_LEN];
    uint8_t target_mac[PACKET_ETH_ADDR_LEN];    /* of a request: not said */
    struct in_addr sender, target;              /* network order */
} PacketArp;

/**
 * packet_arp_parse: read a message
 * @len: octets at @buf; what is behind the message is padding
 *
 * Returns: false if it is too short, or of another hardware or protocol
 */
bool packet_arp_parse(PacketArp *arp, const void *buf, size_t len);

/**
 * packet_arp_build: write a message
 * @buf: room for PACKET_ARP_LEN octets
 *
 * Returns: PACKET_ARP_LEN
 */
size_t packet_arp_build(void *buf, const PacketArp *arp);

/**
 * packet_arp_is_probe: does it ask whether an address is free (RFC 5227)?
 *
 * Its sender has no address yet: nobody may learn one from it.
 */
static inline bool packet_arp_is_probe(const PacketArp *arp)
{
    return arp->operation == PACKET_ARP_REQUEST && arp->sender.s_addr == 0;
}

/** packet_arp_is_announcement: does the sender say its own address to all? */
static inline bool packet_arp_is_announcement(const PacketArp *arp)
{
    return arp->sender.s_addr && arp->sender.s_addr == arp->target.s_addr;
}

#endif /* NET_PACKET_ARP_H */
