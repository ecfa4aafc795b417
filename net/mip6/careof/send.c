/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host on the foreign link: messages that it sends (RFC 4861, 4862, 3810) */
#include <string.h>

#include "net/mip6/careof/internal.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

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

void mip6_careof_send_dhcp6(Mip6CareOf *c, const void *message, size_t len)
{
    /* RFC 8415 section 7.1: All_DHCP_Relay_Agents_and_Servers. */
    static const struct in6_addr servers = {
        { { 0xff, 0x02, [13] = 1, [15] = 2 } }
    };
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + PACKET_UDP_LEN +
                  MIP6_DHCP6_MAX];
    uint8_t *packet = frame + PACKET_ETH_LEN, *udp = packet + PACKET_IP6_LEN;
    size_t udp_len = PACKET_UDP_LEN + len;
    const struct in6_addr *src = &c->link_local.addr;
    PacketIp6 ip = {
        .src = *src, .dst = servers, .next = PACKET_PROTO_UDP, .hops = 1,
        .payload = udp_len,
    };

    packet_ip6_build(packet, &ip);
    packet_udp_build(udp, &(PacketUdp) {
        .src = MIP6_DHCP6_CLIENT, .dst = MIP6_DHCP6_SERVER, .len = udp_len,
    });
    memcpy(udp + PACKET_UDP_LEN, message, len);
    packet_udp_seal(udp, udp_len,
                    packet_sum_pseudo6(src, &servers, PACKET_PROTO_UDP,
                                       udp_len));
    mip6_careof_transmit(c, frame, PACKET_IP6_LEN + udp_len, &servers, NULL);
}

/* --- listeners ------------------------------------------------------------ */

/* Returns: the number of groups; addresses with one identifier share one */
static unsigned own_groups(const Mip6CareOf *c, struct in6_addr *group)
{
    unsigned count = 0;

    for (unsigned i = 0; i <= MIP6_CAREOF_ADDRESSES; i++) {
        const Mip6Address *a = i ? &c->address[i - 1] : &c->link_local;
        struct in6_addr solicited = packet_ip6_solicited(&a->addr);
        unsigned j = 0;

        while (j < count && !packet_ip6_equal(&group[j], &solicited)) {
            j++;
        }
        if (j == count && (a->state == MIP6_ADDRESS_TENTATIVE ||
                           a->state == MIP6_ADDRESS_VALID)) {
            group[count++] = solicited;
        }
    }
    return count;
}

static void report(Mip6CareOf *c, int64_t now, const struct in6_addr *group,
                   unsigned count, bool joins)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_MLD_REPORT_MAX];
    uint8_t *packet = frame + PACKET_ETH_LEN;
    const struct in6_addr *src = own_source(c);

    if (c->mld1_until <= now) {
        mip6_careof_transmit(c, frame,
                             packet_mld_build_report(packet, src, group, count,
                                                     joins),
                             &packet_mld_all_routers, NULL);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        mip6_careof_transmit(c, frame,
                             packet_mld_build_report1(packet, src, &group[i]),
                             &group[i], NULL);
    }
}

void mip6_careof_join(Mip6CareOf *c, int64_t now, const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);

    report(c, now, &group, 1, true);
}

void mip6_careof_report(Mip6CareOf *c, int64_t now)
{
    struct in6_addr group[MIP6_CAREOF_ADDRESSES + 1];
    unsigned count = own_groups(c, group);

    if (count) {
        report(c, now, group, count, false);
    }
}

bool mip6_careof_listens(const Mip6CareOf *c, const struct in6_addr *group)
{
    struct in6_addr own[MIP6_CAREOF_ADDRESSES + 1];
    unsigned count = own_groups(c, own);

    for (unsigned i = 0; i < count; i++) {
        if (packet_ip6_equal(&own[i], group)) {
            return true;
        }
    }
    return false;
}
