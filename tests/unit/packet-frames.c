/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of flows, and a receiver that cuts super-frames and compares */
#include <arpa/inet.h>
#include <string.h>

#include "net/packet/eth.h"
#include "net/packet/flow.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"
#include "packet-frames.h"

static const uint8_t dst_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
static const uint8_t src_mac[] = { 0x52, 0x54, 0, 0, 0, 2 };

static size_t put_tcp(uint8_t *p, const FrameSpec *spec)
{
    size_t len = PACKET_TCP_LEN;

    memset(p, 0, 32);
    packet_put16(p, 4000 + spec->flow);
    packet_put16(p + 2, 80);
    packet_put32(p + 4, spec->sequence);
    packet_put32(p + 8, 0x01020304 + spec->ack);
    p[PACKET_TCP_FLAGS] = spec->flags;
    packet_put16(p + 14, spec->window);
    if (spec->stamp) {
        packet_put32(p + 20, 0x0101080a);
        packet_put32(p + 24, spec->stamp);
        packet_put32(p + 28, 77);
        len += 12;
    }
    p[12] = len / 4 << 4;
    return len;
}

static size_t l4_of(const FrameSpec *spec)
{
    return PACKET_ETH_LEN + (spec->tagged ? PACKET_ETH_TAG_LEN : 0) +
           (spec->is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);
}

static void put_ip(uint8_t *p, const FrameSpec *spec, size_t payload)
{
    uint8_t protocol = spec->is_udp ? PACKET_PROTO_UDP : PACKET_PROTO_TCP;
    PacketIp4 ip4 = {
        .src.s_addr = htonl(0x0a000001), .dst.s_addr = htonl(0x0a000002),
        .tos = spec->tos, .ttl = 64 + spec->ttl, .protocol = protocol,
        .id = spec->id,
        .dont_fragment = spec->dont_fragment,
        .total = PACKET_IP4_LEN + payload,
    };
    PacketIp6 ip6 = {
        .src.s6_addr = { 0x20, [15] = 1 }, .dst.s6_addr = { 0x20, [15] = 2 },
        .flow = 0x12345, .tclass = spec->tos, .next = protocol,
        .hops = 64 + spec->ttl, .payload = payload,
    };

    if (spec->is_ip4) {
        packet_ip4_build(p, &ip4);
    } else {
        packet_ip6_build(p, &ip6);
    }
}

size_t frame_make(uint8_t *buf, const FrameSpec *spec)
{
    size_t l4 = l4_of(spec), l3 = spec->is_ip4 ? l4 - PACKET_IP4_LEN
                                               : l4 - PACKET_IP6_LEN;
    PacketUdp udp = { 4000 + spec->flow, 53, PACKET_UDP_LEN + spec->len, 0 };
    uint16_t type = spec->is_ip4 ? PACKET_ETH_IP4 : PACKET_ETH_IP6;
    size_t head, len;
    uint32_t pseudo;

    packet_eth_build(buf, dst_mac, src_mac,
                     spec->tagged ? PACKET_ETH_VLAN : type);
    if (spec->tagged) {
        packet_put16(buf + PACKET_ETH_LEN, 7 + spec->vlan);
        packet_put16(buf + PACKET_ETH_LEN + 2, type);
    }
    head = spec->is_udp ? packet_udp_build(buf + l4, &udp)
                        : put_tcp(buf + l4, spec);
    memcpy(buf + l4 + head, spec->payload, spec->len);
    len = head + spec->len;
    put_ip(buf + l3, spec, len);
    if (spec->is_udp) {
        pseudo = packet_sum_pseudo(buf + l3, PACKET_PROTO_UDP, len);
        packet_udp_seal(buf + l4, len, pseudo);
    } else {
        pseudo = packet_sum_pseudo(buf + l3, PACKET_PROTO_TCP, len);
        packet_put16(buf + l4 + PACKET_TCP_CHECKSUM,
                     packet_sum_fold(packet_sum_add(pseudo, buf + l4, len)));
    }
    return l4 + len;
}

PacketOffload frame_partial(uint8_t *frame, const FrameSpec *spec)
{
    size_t l4 = l4_of(spec), l3 = spec->is_ip4 ? l4 - PACKET_IP4_LEN
                                               : l4 - PACKET_IP6_LEN;
    size_t len = spec->len + (spec->is_udp ? PACKET_UDP_LEN
                                           : frame[l4 + 12] / 16 * 4u);
    PacketOffload offload = {
        .needs_csum = true,
        .csum_start = l4,
        .csum_offset = spec->is_udp ? PACKET_UDP_CHECKSUM
                                    : PACKET_TCP_CHECKSUM,
    };

    packet_put16(frame + l4 + offload.csum_offset,
                 packet_sum_partial(packet_sum_pseudo(frame + l3,
                     spec->is_udp ? PACKET_PROTO_UDP : PACKET_PROTO_TCP,
                     len)));
    return offload;
}

/* --- the receiver --------------------------------------------------------- */

/* Identification of packets that are never fragmented has no meaning. */
static void forget_id(uint8_t *frame, size_t len)
{
    PacketFlow flow;

    if (packet_flow_parse(&flow, frame, len, len) &&
        (flow.has & PACKET_FLOW_IP4) && (frame[flow.l3 + 6] & 0x40) &&
        packet_ip4_sum_is_good(frame + flow.l3, flow.l4 - flow.l3)) {
        packet_put16(frame + flow.l3 + 4, 0);
        packet_ip4_seal(frame + flow.l3, flow.l4 - flow.l3);
    }
}

static bool is_same_flow(GBytes *a, GBytes *b)
{
    PacketFlow flow[2];
    GBytes *frame[] = { a, b };

    for (unsigned i = 0; i < 2; i++) {
        size_t len;
        const void *data = g_bytes_get_data(frame[i], &len);

        packet_flow_parse(&flow[i], data, len, len);
    }
    return flow[0].protocol == flow[1].protocol &&
           flow[0].src_port == flow[1].src_port &&
           flow[0].dst_port == flow[1].dst_port &&
           flow[0].ip4_src.s_addr == flow[1].ip4_src.s_addr &&
           flow[0].ip4_dst.s_addr == flow[1].ip4_dst.s_addr &&
           packet_ip6_equal(&flow[0].ip6_src, &flow[1].ip6_src) &&
           packet_ip6_equal(&flow[0].ip6_dst, &flow[1].ip6_dst);
}

static void came(Stream *s, uint8_t *frame, size_t len)
{
    g_autoptr(GBytes) got = NULL;

    forget_id(frame, len);
    got = g_bytes_new(frame, len);
    for (unsigned i = 0; i < s->sent->len; i++) {
        GBytes *sent = g_ptr_array_index(s->sent, i);

        if (sent && is_same_flow(sent, got)) {
            g_assert_true(g_bytes_equal(sent, got));
            g_bytes_unref(sent);
            g_ptr_array_index(s->sent, i) = NULL;
            return;
        }
    }
    g_assert_not_reached();
}

#define UDP_SUM_AT      6u

static void complete_sum(uint8_t *frame, size_t len,
                         const PacketOffload *offload)
{
    uint8_t *from = frame + offload->csum_start;

    uint16_t sum = packet_sum_fold(packet_sum_add(0, from, len -
                                                  offload->csum_start));

    /* Only in UDP, 0 means that there is no checksum (RFC 768). */
    packet_put16(from + offload->csum_offset,
                 offload->csum_offset == UDP_SUM_AT ? packet_udp_sum(sum)
                                                    : sum);
}

static void came_super(Stream *s, uint8_t *frame, size_t len,
                       const PacketOffload *offload)
{
    uint8_t piece[PACKET_SEGMENT_HEAD_MAX + FRAME_MAX];
    struct iovec iov = { frame, len }, payload;
    PacketSegments segments;
    size_t head;

    g_assert_true(offload->needs_csum && offload->gso_size);
    g_assert_true(packet_segments_begin(&segments, offload, &iov, 1,
                                        offload->gso_size));
    g_assert_cmpint(offload->head_len, ==, segments.head_len);
    g_assert_cmpint(segments.payload, >, offload->gso_size);
    while (packet_segments_next(&segments, piece, &head, &payload, 1) > 0) {
        memcpy(piece + head, payload.iov_base, payload.iov_len);
        came(s, piece, head + payload.iov_len);
    }
    s->super++;
}

static void receive(void *opaque, uint8_t *frame, size_t len,
                    const PacketOffload *offload)
{
    Stream *s = opaque;

    memset(frame - PACKET_COALESCE_ROOM, 0xee, PACKET_COALESCE_ROOM);
    g_assert_cmpint(len, <=, PACKET_COALESCE_MAX);
    s->frames++;
    s->last = *offload;
    s->longest = MAX(s->longest, len);
    if (offload->gso != PACKET_GSO_NONE) {
        came_super(s, frame, len, offload);
        return;
    }
    if (offload->needs_csum) {
        complete_sum(frame, len, offload);
    }
    came(s, frame, len);
}

Stream *stream_new(void)
{
    Stream *s = g_new0(Stream, 1);

    s->sent = g_ptr_array_new();
    packet_coalesce_init(&s->coalesce, receive, s);
    return s;
}

void stream_send(Stream *s, unsigned takes, const uint8_t *frame, size_t len,
                 const PacketOffload *offload, const uint8_t *full)
{
    static const PacketOffload nothing;
    g_autofree uint8_t *room = g_malloc0(PACKET_COALESCE_ROOM + len);
    uint8_t *copy = room + PACKET_COALESCE_ROOM;
    g_autofree uint8_t *meant = g_memdup2(full ? full : frame, len);
    size_t cut = len / 3;
    struct iovec iov[] = { { copy, cut }, { copy + cut, len - cut } };

    memcpy(copy, frame, len);
    forget_id(meant, len);
    g_ptr_array_add(s->sent, g_bytes_new(meant, len));
    offload = offload ? offload : &nothing;
    if (!packet_coalesce_take(&s->coalesce, takes, iov, 2, offload)) {
        receive(s, copy, len, offload);
    }
}

void stream_free(Stream *s)
{
    packet_coalesce_flush(&s->coalesce);
    g_assert_cmpint(s->coalesce.held, ==, 0);
    for (unsigned i = 0; i < s->sent->len; i++) {
        g_assert_null(g_ptr_array_index(s->sent, i));
    }
    g_ptr_array_free(s->sent, true);
    g_free(s);
}
