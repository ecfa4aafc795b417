/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coalesces consecutive frames into super-frames (GRO)
 *
 * Theory of operation
 * ===================
 *
 * A packet may be held if it is simple: Ethernet with up to two tags, IPv4
 * without options or IPv6 without extension headers, TCP or UDP, not a
 * fragment, with payload, and with a checksum that is correct or left to the
 * NIC. The first packet of a flow is copied with its headers. Of a following
 * packet only the payload is copied, if its headers are exactly those that
 * segmentation of the super-frame will make again. The rules are those of
 * Linux's tcp_gro_receive() and udp_gro_receive_segment():
 *
 *   - TCP: the next sequence number, and the same acknowledgement, window and
 *     options, including timestamps. PSH and FIN are kept and end the
 *     super-frame; so does a shorter packet. Only the first packet may have
 *     CWR. A packet with other flags than these, ACK and ECE is not held.
 *   - UDP: packets of the same length; a shorter one is the last. Packets
 *     without a checksum are not held.
 *   - IP: the same traffic class, TTL and flow label. IPv4's identification
 *     must increase by one, unless DF is set: then it has no meaning (RFC
 *     6864).
 *
 * Before a packet that cannot be held, everything held of its flow is emitted.
 * If the packet is not simple, it could be of any flow, so everything is
 * emitted. This keeps the order within each flow.
 *
 * A packet that was held alone is emitted unchanged.
 */
#include <string.h>

#include "net/packet/coalesce.h"
#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

#define IP4_PROTOCOL_AT         9u
#define IP4_ADDRESSES_AT        12u
#define IP6_NEXT_AT             6u
#define IP6_ADDRESSES_AT        8u
#define PORTS_LEN               4u
/* The maximum header length of a simple packet. */
#define PLAIN_HEAD_MAX          (PACKET_ETH_LEN + PACKET_ETH_TAGS_MAX * \
                                 PACKET_ETH_TAG_LEN + PACKET_IP6_LEN + 60u)

/* A simple packet. */
typedef struct Plain {
    uint8_t head[PLAIN_HEAD_MAX];
    size_t l3, l4, head_len;
    size_t payload, end;        /* length; offset of the packet's end */
    bool is_ip4, is_tcp;
    PacketIp4 ip4;
    PacketTcp tcp;
} Plain;

void packet_coalesce_init(PacketCoalesce *c, PacketCoalesced *emit,
                          void *opaque)
{
    c->emit = emit;
    c->opaque = opaque;
}

/* --- output --------------------------------------------------------------- */

static uint8_t *frame_of(PacketHeld *h)
{
    return h->buf + PACKET_COALESCE_ROOM;
}

static size_t sum_at(const PacketHeld *h)
{
    return h->is_tcp ? PACKET_TCP_CHECKSUM : PACKET_UDP_CHECKSUM;
}

/*
 * Writes lengths for several packets; their checksum is left to the receiver.
 */
static void put_lengths(PacketHeld *h)
{
    uint8_t *ip = frame_of(h) + h->l3, *l4 = frame_of(h) + h->l4;
    size_t l4_len = h->len - h->l4;
    uint8_t protocol = h->is_tcp ? PACKET_PROTO_TCP : PACKET_PROTO_UDP;

    if (h->is_ip4) {
        put_be16(ip + 2, h->len - h->l3);
        packet_ip4_seal(ip, PACKET_IP4_LEN);
    } else {
        put_be16(ip + 4, l4_len);
    }
    if (!h->is_tcp) {
        put_be16(l4 + 4, l4_len);
    }
    put_be16(l4 + sum_at(h),
             packet_sum_partial(packet_sum_pseudo(ip, protocol, l4_len)));
}

static PacketOffload offload_of(const PacketHeld *h)
{
    return (PacketOffload) {
        .needs_csum = true,
        .csum_start = h->l4,
        .csum_offset = sum_at(h),
        .gso = !h->is_tcp ? PACKET_GSO_UDP
               : h->is_ip4 ? PACKET_GSO_TCP4 : PACKET_GSO_TCP6,
        .ecn = h->is_tcp && (h->buf[PACKET_COALESCE_ROOM + h->l4 +
                                    PACKET_TCP_FLAGS] & PACKET_TCP_CWR),
        .gso_size = h->size,
        .head_len = h->head_len,
    };
}

static void emit(PacketCoalesce *c, PacketHeld *h)
{
    PacketOffload offload = h->offload;

    if (h->packets > 1) {
        put_lengths(h);
        offload = offload_of(h);
        c->coalesced += h->packets;
    }
    h->packets = 0;
    c->held--;
    c->emit(c->opaque, frame_of(h), h->len, &offload);
}

static PacketHeld *oldest(PacketCoalesce *c)
{
    PacketHeld *found = NULL;

    for (unsigned i = 0; i < PACKET_COALESCE_FLOWS; i++) {
        PacketHeld *h = &c->flow[i];

        if (h->packets && (!found || h->since < found->since)) {
            found = h;
        }
    }
    return found;
}

void packet_coalesce_flush(PacketCoalesce *c)
{
    while (c->held) {
        emit(c, oldest(c));
    }
}

unsigned packet_coalesce_discard(PacketCoalesce *c)
{
    unsigned packets = 0;

    for (unsigned i = 0; i < PACKET_COALESCE_FLOWS; i++) {
        packets += c->flow[i].packets;
        c->flow[i].packets = 0;
    }
    c->held = 0;
    return packets;
}

/* --- parsing -------------------------------------------------------------- */

static bool find_ip4(Plain *p, size_t have, size_t frame_len,
                     uint8_t *protocol)
{
    const uint8_t *ip = p->head + p->l3;

    /* Only the start of the packet is here, so "truncated" is no error. */
    if (have < p->l3 + PACKET_IP4_LEN || ip[0] != 0x45) {
        return false;
    }
    packet_ip4_parse(&p->ip4, ip, have - p->l3);
    *protocol = p->ip4.protocol;
    p->l4 = p->l3 + PACKET_IP4_LEN;
    p->end = p->l3 + p->ip4.total;
    return p->end >= p->l4 && p->end <= frame_len &&
           !packet_ip4_is_fragment(&p->ip4);
}

static bool find_ip6(Plain *p, size_t have, size_t frame_len,
                     uint8_t *protocol)
{
    const uint8_t *ip = p->head + p->l3;

    if (have < p->l3 + PACKET_IP6_LEN || ip[0] >> 4 != 6) {
        return false;
    }
    *protocol = ip[IP6_NEXT_AT];
    p->l4 = p->l3 + PACKET_IP6_LEN;
    p->end = p->l4 + get_be16(ip + 4);
    return p->end <= frame_len;
}

/* Returns: false if the packet may be of any flow */
static bool read_plain(Plain *p, const struct iovec *iov, int iovcnt)
{
    size_t have = packet_iov_copy(iov, iovcnt, 0, p->head, sizeof(p->head));
    size_t frame_len = packet_iov_len(iov, iovcnt);
    uint8_t protocol;
    PacketEth eth;

    if (!packet_eth_parse(&eth, p->head, have) ||
        (eth.type != PACKET_ETH_IP4 && eth.type != PACKET_ETH_IP6)) {
        return false;
    }
    p->l3 = eth.len;
    p->is_ip4 = eth.type == PACKET_ETH_IP4;
    if (!(p->is_ip4 ? find_ip4(p, have, frame_len, &protocol)
                    : find_ip6(p, have, frame_len, &protocol)) ||
        (protocol != PACKET_PROTO_TCP && protocol != PACKET_PROTO_UDP)) {
        return false;
    }
    have = have < p->end ? have : p->end;
    p->is_tcp = protocol == PACKET_PROTO_TCP;
    p->head_len = p->l4 + PACKET_UDP_LEN;
    if (p->is_tcp) {
        if (!packet_tcp_parse(&p->tcp, p->head + p->l4, have - p->l4)) {
            return false;
        }
        p->head_len = p->l4 + p->tcp.len;
    }
    p->payload = p->end - p->head_len;
    return have >= p->head_len;
}

static unsigned coalesce_kind(const Plain *p)
{
    if (p->is_tcp) {
        return p->is_ip4 ? PACKET_COALESCE_TCP4 : PACKET_COALESCE_TCP6;
    }
    return p->is_ip4 ? PACKET_COALESCE_UDP4 : PACKET_COALESCE_UDP6;
}

static bool may_be_held_tcp(const Plain *p, unsigned takes)
{
    const unsigned good = PACKET_TCP_ACK | PACKET_TCP_ECE | PACKET_TCP_PSH |
                          PACKET_TCP_FIN | PACKET_TCP_CWR;

    return !(p->tcp.flags & ~good) && p->tcp.urgent == 0 &&
           (!(p->tcp.flags & PACKET_TCP_CWR) || (takes & PACKET_COALESCE_ECN));
}

static bool may_be_held_udp(const Plain *p, const PacketOffload *offload)
{
    const uint8_t *udp = p->head + p->l4;

    return get_be16(udp + 4) == p->end - p->l4 &&
           (offload->needs_csum || get_be16(udp + PACKET_UDP_CHECKSUM));
}

/* A partial checksum must be that of the transport header. */
static bool may_be_held(const Plain *p, unsigned takes, size_t frame_len,
                        const PacketOffload *offload)
{
    size_t at = p->is_tcp ? PACKET_TCP_CHECKSUM : PACKET_UDP_CHECKSUM;

    if (!(takes & coalesce_kind(p)) || offload->gso != PACKET_GSO_NONE ||
        p->payload == 0 || p->end != frame_len ||
        p->end > PACKET_COALESCE_MAX ||
        (offload->needs_csum && (offload->csum_start != p->l4 ||
                                 offload->csum_offset != at)) ||
        (p->is_ip4 && !packet_ip4_sum_is_good(p->head + p->l3,
                                              PACKET_IP4_LEN))) {
        return false;
    }
    return p->is_tcp ? may_be_held_tcp(p, takes) : may_be_held_udp(p, offload);
}

/* --- holding -------------------------------------------------------------- */

static bool is_same_flow(const PacketHeld *h, const Plain *p)
{
    const uint8_t *a = h->buf + PACKET_COALESCE_ROOM, *b = p->head;
    size_t at = p->is_ip4 ? IP4_ADDRESSES_AT : IP6_ADDRESSES_AT;
    size_t len = p->is_ip4 ? 8 : 32;

    return h->packets && h->is_ip4 == p->is_ip4 && h->is_tcp == p->is_tcp &&
           !memcmp(a + h->l3 + at, b + p->l3 + at, len) &&
           !memcmp(a + h->l4, b + p->l4, PORTS_LEN);
}

static PacketHeld *find_flow(PacketCoalesce *c, const Plain *p)
{
    for (unsigned i = 0; i < PACKET_COALESCE_FLOWS; i++) {
        if (is_same_flow(&c->flow[i], p)) {
            return &c->flow[i];
        }
    }
    return NULL;
}

static bool ip_follows(const PacketHeld *h, const uint8_t *a, const Plain *p)
{
    const uint8_t *b = p->head + p->l3;

    if (!p->is_ip4) {
        return !memcmp(a, b, 4) && a[7] == b[7];
    }
    return a[1] == b[1] && a[8] == b[8] && !memcmp(a + 6, b + 6, 2) &&
           (p->ip4.dont_fragment ||
            p->ip4.id == (uint16_t)(get_be16(a + 4) + h->packets));
}

static bool tcp_follows(const PacketHeld *h, const uint8_t *a, const Plain *p)
{
    const uint8_t *b = p->head + p->l4;
    PacketTcp first;

    packet_tcp_parse(&first, a, h->head_len - h->l4);
    return p->tcp.sequence == first.sequence +
                              (uint32_t)(h->len - h->head_len) &&
           p->tcp.ack == first.ack && p->tcp.window == first.window &&
           !(p->tcp.flags & PACKET_TCP_CWR) &&
           !((p->tcp.flags ^ first.flags) &
             ~(PACKET_TCP_CWR | PACKET_TCP_FIN | PACKET_TCP_PSH)) &&
           !memcmp(a + PACKET_TCP_LEN, b + PACKET_TCP_LEN,
                   p->tcp.len - PACKET_TCP_LEN);
}

static bool follows(PacketHeld *h, const Plain *p)
{
    const uint8_t *held = frame_of(h);

    return p->head_len == h->head_len && p->l3 == h->l3 && p->l4 == h->l4 &&
           p->payload <= h->size &&
           h->len + p->payload <= PACKET_COALESCE_MAX &&
           !memcmp(held, p->head, p->l3) && ip_follows(h, held + h->l3, p) &&
           (!p->is_tcp || tcp_follows(h, held + h->l4, p));
}

/*
 * Copies the payload to its final place first, and then verifies its checksum.
 */
static bool copy_payload(const Plain *p, uint8_t *to, const struct iovec *iov,
                         int iovcnt, const PacketOffload *offload)
{
    struct iovec part[] = {
        { (uint8_t *)p->head + p->l4, p->head_len - p->l4 },
        { to, p->payload },
    };
    size_t len = p->end - p->l4;
    uint32_t pseudo;

    packet_iov_copy(iov, iovcnt, p->head_len, to, p->payload);
    if (offload->needs_csum) {
        return true;
    }
    pseudo = packet_sum_pseudo(p->head + p->l3, p->is_tcp ? PACKET_PROTO_TCP
                                                : PACKET_PROTO_UDP, len);
    return packet_sum_fold(packet_sum_iov(pseudo, part, 2, 0, len)) == 0;
}

/* Returns: a free entry; if there is none, the oldest flow is emitted. */
static PacketHeld *make_room(PacketCoalesce *c)
{
    if (c->held == PACKET_COALESCE_FLOWS) {
        emit(c, oldest(c));
    }
    for (unsigned i = 0; i < PACKET_COALESCE_FLOWS; i++) {
        if (!c->flow[i].packets) {
            return &c->flow[i];
        }
    }
    return NULL;
}

static bool begin(PacketCoalesce *c, const Plain *p, const struct iovec *iov,
                  int iovcnt, const PacketOffload *offload)
{
    PacketHeld *h;

    /* This packet must be the last of the super-frame. */
    if (p->is_tcp && (p->tcp.flags & (PACKET_TCP_PSH | PACKET_TCP_FIN))) {
        return false;
    }
    h = make_room(c);
    if (!copy_payload(p, frame_of(h) + p->head_len, iov, iovcnt, offload)) {
        return false;
    }
    memcpy(frame_of(h), p->head, p->head_len);
    h->packets = 1;
    h->since = c->clock++;
    h->offload = *offload;
    h->is_ip4 = p->is_ip4;
    h->is_tcp = p->is_tcp;
    h->l3 = p->l3;
    h->l4 = p->l4;
    h->head_len = p->head_len;
    h->len = p->end;
    h->size = p->payload;
    c->held++;
    return true;
}

static bool append(PacketCoalesce *c, PacketHeld *h, const Plain *p,
                   const struct iovec *iov, int iovcnt,
                   const PacketOffload *offload)
{
    const unsigned last = PACKET_TCP_PSH | PACKET_TCP_FIN;
    uint8_t ends = p->is_tcp ? p->tcp.flags & last : 0;

    if (!copy_payload(p, frame_of(h) + h->len, iov, iovcnt, offload)) {
        return false;
    }
    h->len += p->payload;
    h->packets++;
    if (p->is_tcp) {
        frame_of(h)[h->l4 + PACKET_TCP_FLAGS] |= ends;
    }
    if (ends || p->payload < h->size ||
        (!p->is_tcp && h->packets == PACKET_COALESCE_DATAGRAMS_MAX)) {
        emit(c, h);
    }
    return true;
}

bool packet_coalesce_take(PacketCoalesce *c, unsigned takes,
                          const struct iovec *iov, int iovcnt,
                          const PacketOffload *offload)
{
    PacketHeld *h;
    Plain p;
    bool good;

    if (!takes && !c->held) {
        return false;
    }
    if (!read_plain(&p, iov, iovcnt)) {
        packet_coalesce_flush(c);
        return false;
    }
    h = find_flow(c, &p);
    good = may_be_held(&p, takes, packet_iov_len(iov, iovcnt), offload);
    if (h && good && follows(h, &p) &&
        append(c, h, &p, iov, iovcnt, offload)) {
        return true;
    }
    if (h) {
        emit(c, h);
    }
    return good && begin(c, &p, iov, iovcnt, offload);
}
