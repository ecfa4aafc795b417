/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ethernet headers and their tags (IEEE 802.3, 802.1Q, 802.1ad) */
#include <string.h>

#include "net/packet/eth.h"
#include "base/octets.h"

static bool is_tag(uint16_t type)
{
    return type == PACKET_ETH_VLAN || type == PACKET_ETH_QINQ;
}

bool packet_eth_parse(PacketEth *eth, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    memset(eth, 0, sizeof(*eth));
    if (len < PACKET_ETH_LEN) {
        return false;
    }
    memcpy(eth->dst, p, PACKET_ETH_ADDR_LEN);
    memcpy(eth->src, p + 6, PACKET_ETH_ADDR_LEN);
    eth->type = get_be16(p + 12);
    eth->len = PACKET_ETH_LEN;
    while (is_tag(eth->type) && eth->tags < PACKET_ETH_TAGS_MAX) {
        if (len - eth->len < PACKET_ETH_TAG_LEN) {
            return false;
        }
        eth->tpid[eth->tags] = eth->type;
        eth->tci[eth->tags++] = get_be16(p + eth->len);
        eth->type = get_be16(p + eth->len + 2);
        eth->len += PACKET_ETH_TAG_LEN;
    }
    return true;
}

size_t packet_eth_build(void *buf, const uint8_t dst[PACKET_ETH_ADDR_LEN],
                        const uint8_t src[PACKET_ETH_ADDR_LEN], uint16_t type)
{
    uint8_t *p = buf;

    memcpy(p, dst, PACKET_ETH_ADDR_LEN);
    memcpy(p + 6, src, PACKET_ETH_ADDR_LEN);
    put_be16(p + 12, type);
    return PACKET_ETH_LEN;
}

bool packet_eth_is_station(const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    static const uint8_t none[PACKET_ETH_ADDR_LEN];

    return !packet_eth_is_group(mac) && memcmp(mac, none, sizeof(none));
}

void packet_eth_group6(uint8_t mac[PACKET_ETH_ADDR_LEN],
                       const struct in6_addr *group)
{
    mac[0] = mac[1] = 0x33;
    memcpy(mac + 2, group->s6_addr + 12, 4);
}
