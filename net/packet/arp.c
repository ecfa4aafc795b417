/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ARP for IPv4 on Ethernet (RFC 826) */
#include <string.h>

#include "net/packet/arp.h"
#include "base/octets.h"

#define HARDWARE_ETHERNET       1
#define IP4_ADDR_LEN            4u

bool packet_arp_parse(PacketArp *arp, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    if (len < PACKET_ARP_LEN || get_be16(p) != HARDWARE_ETHERNET ||
        get_be16(p + 2) != PACKET_ETH_IP4 || p[4] != PACKET_ETH_ADDR_LEN ||
        p[5] != IP4_ADDR_LEN) {
        return false;
    }
    arp->operation = get_be16(p + 6);
    memcpy(arp->sender_mac, p + 8, PACKET_ETH_ADDR_LEN);
    memcpy(&arp->sender, p + 14, IP4_ADDR_LEN);
    memcpy(arp->target_mac, p + 18, PACKET_ETH_ADDR_LEN);
    memcpy(&arp->target, p + 24, IP4_ADDR_LEN);
    return true;
}

size_t packet_arp_build(void *buf, const PacketArp *arp)
{
    uint8_t *p = buf;

    put_be16(p, HARDWARE_ETHERNET);
    put_be16(p + 2, PACKET_ETH_IP4);
    p[4] = PACKET_ETH_ADDR_LEN;
    p[5] = IP4_ADDR_LEN;
    put_be16(p + 6, arp->operation);
    memcpy(p + 8, arp->sender_mac, PACKET_ETH_ADDR_LEN);
    memcpy(p + 14, &arp->sender, IP4_ADDR_LEN);
    memcpy(p + 18, arp->target_mac, PACKET_ETH_ADDR_LEN);
    memcpy(p + 24, &arp->target, IP4_ADDR_LEN);
    return PACKET_ARP_LEN;
}
