/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host on the foreign link: messages that it sends (RFC 4861, 4862) */
#include "net/mip6/careof/internal.h"

void mip6_careof_transmit(Mip6CareOf *c, uint8_t *frame, size_t packet_len,
                          const struct in6_addr *dst, const uint8_t *mac)
{
    uint8_t group[PACKET_ETH_ADDR_LEN];

    if (!mac) {
        packet_eth_group6(group, dst);
        mac = group;
    }
    packet_eth_build(frame, mac, c->mac, PACKET_ETH_IP6);
    c->ops->transmit(c->opaque, frame, PACKET_ETH_LEN + packet_len);
}

static const struct in6_addr *own_source(const Mip6CareOf *c)
{
    return c->link_local.state == MIP6_ADDRESS_VALID ? &c->link_local.addr
                                                     : &in6addr_any;
}

int64_t mip6_careof_source_at(const Mip6CareOf *c)
{
    int64_t at = INT64_MAX;

    if (c->link_local.state == MIP6_ADDRESS_TENTATIVE) {
        at = c->link_local.next;
    }
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        if (c->address[i].state == MIP6_ADDRESS_TENTATIVE) {
            at = mip6_careof_min_time(at, c->address[i].next);
        }
    }
    return at;
}

void mip6_careof_send_rs(Mip6CareOf *c)
{
    const struct in6_addr *src = own_source(c);
    uint8_t frame[MIP6_CAREOF_FRAME_MAX];
    size_t len;

    len = packet_nd_build_rs(frame + PACKET_ETH_LEN, src,
                             src == &in6addr_any ? NULL : c->mac);
    mip6_careof_transmit(c, frame, len, &packet_ip6_all_routers, NULL);
}

void mip6_careof_send_probe(Mip6CareOf *c, const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);
    uint8_t frame[MIP6_CAREOF_FRAME_MAX];
    size_t len;

    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &in6addr_any, &group,
                             addr, NULL);
    mip6_careof_transmit(c, frame, len, &group, NULL);
}

bool mip6_careof_send_ns(Mip6CareOf *c, const Mip6Neighbour *n)
{
    const struct in6_addr *src = own_source(c);
    bool unicast = n->reach == MIP6_REACH_PROBE && n->has_mac;
    struct in6_addr dst = unicast ? n->addr : packet_ip6_solicited(&n->addr);
    uint8_t frame[MIP6_CAREOF_FRAME_MAX];
    size_t len;

    if (src == &in6addr_any) {
        /*
         * Use any own address that is valid; without one, nothing can be sent.
         */
        for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
            if (c->address[i].state == MIP6_ADDRESS_VALID) {
                src = &c->address[i].addr;
            }
        }
        if (src == &in6addr_any) {
            return false;
        }
    }
    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, src, &dst, &n->addr,
                             c->mac);
    mip6_careof_transmit(c, frame, len, &dst, unicast ? n->mac : NULL);
    return true;
}
