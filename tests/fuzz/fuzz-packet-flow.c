/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from any sender: parsed fields must be in the frame
 *
 * Input: octets of the frame that are missing (two), then the frame's head.
 *
 * A field of the frame is what the frame has at its place; nothing depends on
 * what is behind the head, or behind the packet.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/flow.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_offsets(const PacketFlow *f, const uint8_t *p, size_t len)
{
    const unsigned ports = PACKET_FLOW_TCP | PACKET_FLOW_UDP |
                           PACKET_FLOW_SCTP;
    const unsigned upper = ports | PACKET_FLOW_ICMP4 | PACKET_FLOW_ICMP6;
    unsigned has = f->has & upper;

    g_assert(f->l3 <= len && f->l4 <= len);
    g_assert((has & (has - 1)) == 0);
    g_assert(!has || f->l4);
    if (f->has & ports) {
        g_assert(f->src_port == get_be16(p + f->l4) &&
                 f->dst_port == get_be16(p + f->l4 + 2));
    } else {
        g_assert(!f->src_port && !f->dst_port && !f->tcp_flags);
    }
    if (f->has & (PACKET_FLOW_ICMP4 | PACKET_FLOW_ICMP6)) {
        g_assert(f->icmp_type == p[f->l4] && f->icmp_code == p[f->l4 + 1]);
    }
    if (f->has & PACKET_FLOW_LATER) {
        g_assert((f->has & PACKET_FLOW_FRAGMENT) && !has);
    }
    if (f->has & PACKET_FLOW_ND) {
        g_assert((f->has & PACKET_FLOW_ICMP6) &&
                 !memcmp(&f->nd_target, p + f->l4 + 8, 16));
    }
}

static void check_packet(const PacketFlow *f, const uint8_t *p)
{
    unsigned has = f->has & (PACKET_FLOW_IP4 | PACKET_FLOW_IP6 |
                             PACKET_FLOW_ARP);

    g_assert((has & (has - 1)) == 0);
    if (has == PACKET_FLOW_IP4) {
        g_assert(p[f->l3] >> 4 == 4 && f->protocol == p[f->l3 + 9]);
        g_assert(!memcmp(&f->ip4_src, p + f->l3 + 12, 4));
        g_assert(!f->ip6_has);
    } else if (has == PACKET_FLOW_IP6) {
        g_assert(p[f->l3] >> 4 == 6);
        g_assert(!memcmp(&f->ip6_src, p + f->l3 + 8, 16));
    } else {
        g_assert(!f->l4 && !f->protocol);
    }
}

static void options(const uint8_t *p, size_t len)
{
    PacketIp4Option option;
    PacketIp4 ip;
    size_t pos = 0;

    if (packet_ip4_parse(&ip, p, len)) {
        while (packet_ip4_option_next(p, ip.len, &pos, &option)) {
            g_assert(option.data + option.len == p + pos && pos <= ip.len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *p = NULL;
    size_t len, missing;
    PacketFlow flow;

    if (size < 3) {
        return 0;
    }
    missing = get_be16(data);
    len = size - 2;
    p = g_memdup2(data + 2, len);
    if (missing && len < PACKET_FLOW_LOOK) {
        missing = 0;            /* a head is that long, or the frame's all */
    }
    packet_flow_parse(&flow, p, len, len + missing);
    check_offsets(&flow, p, len);
    check_packet(&flow, p);
    if (flow.has & PACKET_FLOW_IP4) {
        options(p + flow.l3, len - flow.l3);
    }
    return 0;
}
