/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a question into its answer, in place */
#include <string.h>

#include "hw/net/cvsw/frame/answer.h"
#include "net/packet/arp.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

/* The rest of the code expects an EtherType, not an 802.3 length. */
static bool is_plain(const CvswFrame *f, uint16_t what)
{
    return f->flow.has & what && f->flow.l3 == f->flow.eth.len &&
           f->offload.gso == PACKET_GSO_NONE;
}

/* The answer may be one option longer than the question. */
static bool has_room(const CvswFrame *f)
{
    size_t before = f->head + f->flow.l3 - f->room;

    return before + PACKET_ND_SHORT_MAX <= sizeof(f->room);
}

static void set_addresses(CvswFrame *f, const struct in6_addr *asked_by,
                          const uint8_t *mac)
{
    uint8_t *dst = f->head, *src = f->head + PACKET_ETH_ADDR_LEN;

    if (IN6_IS_ADDR_UNSPECIFIED(asked_by)) {
        packet_eth_group6(dst, &packet_ip6_all_nodes);
    } else {
        memcpy(dst, src, PACKET_ETH_ADDR_LEN);
    }
    memcpy(src, mac, PACKET_ETH_ADDR_LEN);
}

/* The answer is @len octets in the head; discards all that follows. */
static void finish(CvswFrame *f, size_t len)
{
    f->head_len = len;
    f->size = len;
    f->parts = 0;
    f->offload = (PacketOffload) { 0 };
    cvsw_frame_look(f);
}

bool cvsw_answer_nd(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    unsigned flags = PACKET_NA_OVERRIDE;
    size_t l3 = frame->flow.l3;
    const struct in6_addr *to;
    PacketNd ns;

    if (!is_plain(frame, PACKET_FLOW_IP6) || !has_room(frame) ||
        !packet_eth_is_station(frame->flow.eth.src) ||
        !packet_nd_parse(&ns, frame->head + l3, frame->head_len - l3) ||
        ns.type != PACKET_ND_NS) {
        return false;
    }
    to = &packet_ip6_all_nodes;
    if (!IN6_IS_ADDR_UNSPECIFIED(&ns.src)) {
        flags |= PACKET_NA_SOLICITED;
        to = &ns.src;
    }
    set_addresses(frame, &ns.src, mac);
    finish(frame, l3 + packet_nd_build_na(frame->head + l3, &ns.target, to,
                                          &ns.target, flags, mac));
    return true;
}

bool cvsw_answer_arp(CvswFrame *frame, const uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    const PacketFlow *flow = &frame->flow;
    PacketArp reply = {
        .operation = PACKET_ARP_REPLY,
        .sender = flow->arp_tpa,
        .target = flow->arp_spa,
    };

    if (!is_plain(frame, PACKET_FLOW_ARP) ||
        flow->arp_operation != PACKET_ARP_REQUEST ||
        !packet_eth_is_station(flow->arp_sha)) {
        return false;
    }
    memcpy(reply.sender_mac, mac, PACKET_ETH_ADDR_LEN);
    memcpy(reply.target_mac, flow->arp_sha, PACKET_ETH_ADDR_LEN);
    memcpy(frame->head, reply.target_mac, PACKET_ETH_ADDR_LEN);
    memcpy(frame->head + PACKET_ETH_ADDR_LEN, mac, PACKET_ETH_ADDR_LEN);
    finish(frame, flow->l3 + packet_arp_build(frame->head + flow->l3, &reply));
    return true;
}
