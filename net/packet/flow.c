/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a frame into the fields that a switch matches */
#include <string.h>

#include "base/octets.h"
#include "net/packet/arp.h"
#include "net/packet/flow.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

#define ETH_TYPE_MIN    0x0600          /* lower values are lengths */
#define SNAP_LEN        8u
#define SNAP_LLC        0xaaaa0300u     /* LLC, and first octet of the OUI */
#define SCTP_LEN        12u
#define ICMP_LEN        4u
#define ND_LEN          24u             /* fixed part of NS and NA */

enum {
    PROTO_ICMP4 = 1,
    PROTO_SCTP = 132,
};

/* The @left octets at @p that have not been parsed yet. */
typedef struct View {
    const uint8_t *p;
    size_t left;
} View;

static bool take_ports(PacketFlow *flow, const View *l4, size_t need,
                       uint16_t what)
{
    if (l4->left < need) {
        return false;
    }
    flow->has |= what;
    flow->src_port = get_be16(l4->p);
    flow->dst_port = get_be16(l4->p + 2);
    return true;
}

static bool take_tcp(PacketFlow *flow, const View *l4)
{
    PacketTcp tcp;

    if (!packet_tcp_parse(&tcp, l4->p, l4->left)) {
        return false;
    }
    flow->tcp_flags = tcp.flags;
    return take_ports(flow, l4, PACKET_TCP_LEN, PACKET_FLOW_TCP);
}

/* RFC 4861 sections 4.3 and 4.4. */
static bool take_nd(PacketFlow *flow, const View *l4)
{
    bool ask = flow->icmp_type == PACKET_ND_NS;
    uint8_t want = ask ? PACKET_ND_OPTION_SLLA : PACKET_ND_OPTION_TLLA;
    const uint8_t *options = l4->p + ND_LEN, *option;
    size_t pos = 0, len;

    if (l4->left < ND_LEN) {
        return false;
    }
    flow->has |= PACKET_FLOW_ND;
    memcpy(&flow->nd_target, l4->p + 8, sizeof(flow->nd_target));
    while ((option = packet_nd_option_next(options, l4->left - ND_LEN, &pos,
                                           &len))) {
        if (option[0] == want && len == 2 + PACKET_ETH_ADDR_LEN) {
            memcpy(ask ? flow->nd_sll : flow->nd_tll, option + 2,
                   PACKET_ETH_ADDR_LEN);
        }
    }
    return pos == l4->left - ND_LEN;
}

static bool take_icmp(PacketFlow *flow, const View *l4, uint16_t what)
{
    if (l4->left < ICMP_LEN) {
        return false;
    }
    flow->has |= what;
    flow->icmp_type = l4->p[0];
    flow->icmp_code = l4->p[1];
    if (what == PACKET_FLOW_ICMP6 && flow->icmp_code == 0 &&
        (flow->icmp_type == PACKET_ND_NS || flow->icmp_type == PACKET_ND_NA)) {
        return take_nd(flow, l4);
    }
    return true;
}

static bool take_l4(PacketFlow *flow, const View *l4)
{
    if (flow->has & PACKET_FLOW_LATER) {
        return true;
    }
    switch (flow->protocol) {
    case PACKET_PROTO_TCP:
        return take_tcp(flow, l4);
    case PACKET_PROTO_UDP:
        return take_ports(flow, l4, PACKET_UDP_LEN, PACKET_FLOW_UDP);
    case PROTO_SCTP:
        return take_ports(flow, l4, SCTP_LEN, PACKET_FLOW_SCTP);
    case PROTO_ICMP4:
        return !(flow->has & PACKET_FLOW_IP4) ||
               take_icmp(flow, l4, PACKET_FLOW_ICMP4);
    case PACKET_PROTO_ICMP6:
        return !(flow->has & PACKET_FLOW_IP6) ||
               take_icmp(flow, l4, PACKET_FLOW_ICMP6);
    default:
        return true;
    }
}

/*
 * A packet of @size octets with its transport header at @offset. Octets after
 * the packet are padding, not headers.
 */
static bool take_packet(PacketFlow *flow, const View *l3, size_t offset,
                        size_t size)
{
    size_t left = l3->left < size ? l3->left : size;
    View l4 = { l3->p + offset, left - offset };

    flow->l4 = flow->l3 + offset;
    return take_l4(flow, &l4);
}

static void note_fragment(PacketFlow *flow, bool more, uint16_t offset)
{
    flow->has |= (more || offset ? PACKET_FLOW_FRAGMENT : 0) |
                 (offset ? PACKET_FLOW_LATER : 0);
}

static bool take_ip4(PacketFlow *flow, const View *l3, size_t size)
{
    PacketIp4 ip;
    bool whole = packet_ip4_parse(&ip, l3->p, size < l3->left ? size
                                                              : l3->left);

    if (!whole && (l3->left < PACKET_IP4_LEN || l3->p[0] >> 4 != 4 ||
                   ip.len < PACKET_IP4_LEN || ip.len > ip.total ||
                   ip.len > l3->left)) {
        return false;
    }
    flow->has |= PACKET_FLOW_IP4;
    flow->protocol = ip.protocol;
    flow->tos = ip.tos;
    flow->ttl = ip.ttl;
    flow->ip4_src = ip.src;
    flow->ip4_dst = ip.dst;
    note_fragment(flow, ip.more, ip.fragment_offset);
    return take_packet(flow, l3, ip.len, ip.total) && ip.total <= size;
}

static bool take_ip6(PacketFlow *flow, const View *l3, size_t size)
{
    size_t total, left;
    PacketIp6Ext ext;
    PacketIp6 ip;
    bool walked;

    if (l3->left < PACKET_IP6_LEN || l3->p[0] >> 4 != 6) {
        return false;
    }
    packet_ip6_parse(&ip, l3->p, l3->left);
    total = PACKET_IP6_LEN + ip.payload;
    left = l3->left < total ? l3->left : total;
    walked = packet_ip6_walk(&ext, l3->p, left);
    flow->has |= PACKET_FLOW_IP6;
    flow->protocol = ext.next;
    flow->tos = ip.tclass;
    flow->ttl = ip.hops;
    flow->ip6_label = ip.flow;
    flow->ip6_src = ip.src;
    flow->ip6_dst = ip.dst;
    flow->ip6_has = ext.has;
    note_fragment(flow, ext.more, ext.fragment_offset);
    return walked && take_packet(flow, l3, ext.offset, total) && total <= size;
}

static bool take_arp(PacketFlow *flow, const View *l3)
{
    PacketArp arp;

    if (!packet_arp_parse(&arp, l3->p, l3->left)) {
        return false;
    }
    flow->has |= PACKET_FLOW_ARP;
    flow->arp_operation = arp.operation;
    flow->arp_spa = arp.sender;
    flow->arp_tpa = arp.target;
    memcpy(flow->arp_sha, arp.sender_mac, PACKET_ETH_ADDR_LEN);
    memcpy(flow->arp_tha, arp.target_mac, PACKET_ETH_ADDR_LEN);
    return true;
}

/* IEEE 802.2: uses the type in SNAP; frames without SNAP have no type. */
static void look_through_snap(PacketFlow *flow, View *l3)
{
    if (flow->eth.type >= ETH_TYPE_MIN) {
        return;
    }
    flow->eth.type = PACKET_FLOW_NO_TYPE;
    if (l3->left >= SNAP_LEN && get_be32(l3->p) == SNAP_LLC &&
        get_be16(l3->p + 4) == 0 &&
        get_be16(l3->p + 6) >= ETH_TYPE_MIN) {
        flow->eth.type = get_be16(l3->p + 6);
        flow->l3 += SNAP_LEN;
        l3->p += SNAP_LEN;
        l3->left -= SNAP_LEN;
    }
}

bool packet_flow_parse(PacketFlow *flow, const void *head, size_t have,
                       size_t size)
{
    View l3 = { head, have < PACKET_FLOW_LOOK ? have : PACKET_FLOW_LOOK };

    memset(flow, 0, sizeof(*flow));
    if (!packet_eth_parse(&flow->eth, head, l3.left)) {
        return false;
    }
    flow->l3 = flow->eth.len;
    l3.p += flow->l3;
    l3.left -= flow->l3;
    look_through_snap(flow, &l3);
    switch (flow->eth.type) {
    case PACKET_ETH_IP4:
        return take_ip4(flow, &l3, size - flow->l3);
    case PACKET_ETH_IP6:
        return take_ip6(flow, &l3, size - flow->l3);
    case PACKET_ETH_ARP:
        return take_arp(flow, &l3);
    default:
        return true;
    }
}
