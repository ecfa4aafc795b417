/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tunnel between a mobile node and its home agent (RFC 2473)
 *
 * Theory of operation
 * ===================
 *
 * 54 octets are put before a packet: an Ethernet and an IPv6 header. The packet
 * itself is not copied: the parts of the guest's frame are sent after the new
 * headers. Traffic class and flow label are copied from the packet (RFC 6438:
 * routers can still balance by flow label). There is no encapsulation limit
 * option, because this is the first tunnel of the packet.
 *
 * In the other direction, the DSCP of the outer header is ignored, because it
 * is a matter of the networks on the path: this is the pipe model of RFC 2983,
 * as in RFC 4301 section 5.1.2 for ESP, and in ip6tnl without "dscp inherit".
 * ECN is passed on to the inner packet (RFC 6040: it is copied to the outer
 * header here, and port/link.c decapsulates it).
 *
 * The tunnel's MTU is the path MTU minus 40. A packet that is too big is not
 * fragmented, neither inside nor outside the tunnel:
 *
 *   - A TCP super-frame is cut into segments that fit. Its sender leaves the
 *     size to the NIC.
 *   - Any other packet is answered with "packet too big", as a router at the
 *     tunnel entry must do (section 7.1), so the guest sends smaller packets. A
 *     UDP super-frame is a sequence of datagrams, whose size the sender has
 *     chosen.
 *   - A TCP connection learns the size from its first packet: the MSS in a SYN
 *     is clamped, in both directions.
 *
 * IPv6 requires that every link supports 1280 octets, and guests rely on it. So
 * on a path with an MTU of less than 1320, a packet of up to 1280 octets is
 * fragmented outside the tunnel, as in section 7.1 (b): two fragments. There
 * are no other fragments; TCP avoids them with the two rules above.
 *
 * A partial checksum stays partial; only its start moves by 40 octets. The
 * guest supplies the positions where the sum starts and is stored. Both must be
 * after the packet's own header, otherwise the guest could write into the outer
 * header. The checksum of a packet that is fragmented is completed here.
 *
 * With ESP (protect.c), the packet is sealed after all of this: segmentation
 * and checksums come first, and the space for the packet is smaller by what ESP
 * adds. The packet is copied then. Traffic class and flow label stay readable
 * in the outer header. If a packet of 1280 octets needs fragments, the sealed
 * packet is fragmented. ICMPv6 errors quote an encrypted packet; of these only
 * "packet too big" for our own SPI is processed.
 *
 * "Packet too big" is accepted only about a packet that we could have sent,
 * and that was larger than the MTU in the error: without ESP, it must be of a
 * flow that has recently sent large packets (sent.h); with ESP, it must have
 * one of the last sequence numbers. An attacker who sees no packet of ours
 * would have to guess these. The rate of such errors is not limited, because a
 * flood of forged errors would then suppress a genuine one.
 *
 * The guest does not know the tunnel, so an ICMPv6 error about an outer packet
 * cannot be passed to it directly. If the error is about the path to the home
 * agent, the guest gets an error about its own packet (section 8.2): an
 * unreachable agent, or a hop limit that is too small for the tunnel, is
 * reported as "address unreachable".
 */
#include <string.h>

#include "net/mip6/core/tunnel.h"
#include "base/octets.h"
#include "base/units.h"
#include "net/packet/mtu.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

#define PATH_MTU_LIVES          (600 * SECOND)          /* RFC 8201 section 4 */
#define ERROR_HOPS              255
#define UNREACHABLE_ADDRESS     3       /* RFC 4443 section 3.1 */

void mip6_tunnel_init(Mip6Tunnel *t, const Mip6TunnelOps *ops, void *opaque,
                      Mip6Protect *const *protects, unsigned protected)
{
    memset(t, 0, sizeof(*t));
    t->ops = ops;
    t->opaque = opaque;
    t->protects = protects;
    t->protected = protected;
    mip6_tunnel_choose(t, 0);
    t->link_mtu = t->path_mtu = 1500;
    t->hop_limit = 64;
}

void mip6_tunnel_choose(Mip6Tunnel *t, unsigned which)
{
    t->protect = which < t->protected ? t->protects[which] : NULL;
}

void mip6_tunnel_set(Mip6Tunnel *t, const struct in6_addr *local,
                     const struct in6_addr *remote, uint32_t link_mtu,
                     uint8_t hop_limit)
{
    t->local = *local;
    t->remote = *remote;
    t->link_mtu = t->path_mtu = link_mtu;
    t->path_until = INT64_MAX;
    t->hop_limit = hop_limit;
}

static uint32_t path_now(const Mip6Tunnel *t, int64_t now)
{
    return now < t->path_until ? t->path_mtu : t->link_mtu;
}

/* Returns: space after the outer header, without fragments; 1240 or more */
static uint32_t outer_room(const Mip6Tunnel *t, int64_t now)
{
    uint32_t room = path_now(t, now) - PACKET_IP6_LEN;

    return t->protect && room > MIP6_TUNNEL_SEALED_MAX ? MIP6_TUNNEL_SEALED_MAX
                                                       : room;
}

/* Returns: space for a packet, without fragments */
static uint32_t room_now(const Mip6Tunnel *t, int64_t now)
{
    uint32_t room = outer_room(t, now);

    return t->protect ? mip6_protect_tunnel_room(t->protect, room) : room;
}

uint32_t mip6_tunnel_mtu(const Mip6Tunnel *t, int64_t now)
{
    uint32_t room = room_now(t, now);

    return room > PACKET_IP6_MTU_MIN ? room : PACKET_IP6_MTU_MIN;
}

/* --- TCP ------------------------------------------------------------------ */

bool mip6_tunnel_may_be_syn(const uint8_t *packet, size_t len)
{
    switch (len < MIP6_TUNNEL_LOOK ? PACKET_PROTO_NONE : packet[6]) {
    case PACKET_PROTO_TCP:
        return packet[PACKET_IP6_LEN + PACKET_TCP_FLAGS] & PACKET_TCP_SYN;
    case PACKET_PROTO_HOPOPTS:
    case PACKET_PROTO_ROUTING:
    case PACKET_PROTO_FRAGMENT:
    case PACKET_PROTO_DSTOPTS:
        return true;
    default:
        return false;
    }
}

bool mip6_tunnel_clamp(const Mip6Tunnel *t, int64_t now, uint8_t *packet,
                       size_t len, bool partial)
{
    return packet_mtu_clamp(packet, len, room_now(t, now), partial);
}

/* --- sending -------------------------------------------------------------- */

/*
 * A frame under construction: headers and the copied octets of the packet in
 * the first part, then the other parts.
 */
typedef struct Outgoing {
    Mip6Tunnel *tunnel;
    const uint8_t *dst_mac, *src_mac;
    size_t room;                /* space for a packet, without fragments */
    size_t outer_room;          /* space after the outer header */
    uint8_t head[MIP6_TUNNEL_HEAD_LEN + PACKET_SEGMENT_HEAD_MAX];
    struct iovec part[MIP6_TUNNEL_PARTS_MAX + 1];
} Outgoing;

static const PacketOffload no_offload;

/* Writes Ethernet and outer IPv6 header; the traffic class is copied. */
static void put_head(const Outgoing *out, uint8_t *head, const uint8_t *inner,
                     uint8_t next, size_t payload)
{
    uint32_t first = get_be32(inner);
    PacketIp6 ip = {
        .src = out->tunnel->local,
        .dst = out->tunnel->remote,
        .tclass = first >> 20 & 0xff,
        .flow = first & 0xfffff,
        .next = next,
        .hops = out->tunnel->hop_limit,
        .payload = payload,
    };

    packet_eth_build(head, out->dst_mac, out->src_mac, PACKET_ETH_IP6);
    packet_ip6_build(head + PACKET_ETH_LEN, &ip);
}

static void transmit(const Outgoing *out, const struct iovec *part, int parts,
                     const PacketOffload *offload)
{
    out->tunnel->ops->transmit(out->tunnel->opaque, part, parts, offload);
}

static void put_fragment(uint8_t *header, uint8_t next, size_t offset,
                         bool more, uint32_t id)
{
    header[0] = next;
    header[1] = 0;
    put_be16(header + 2, offset | more);
    put_be32(header + 4, id);
}

/*
 * Section 7.1 (b); RFC 8200 section 4.5. @packet is complete, @next is its
 * protocol; @inner is the header of the guest's packet.
 */
static Mip6Drop send_fragments(Outgoing *out, const uint8_t *inner,
                               uint8_t next, const struct iovec *packet,
                               int iovcnt, size_t len)
{
    size_t most = (out->outer_room - PACKET_IP6_FRAGMENT_LEN) & ~(size_t)7;
    uint8_t head[MIP6_TUNNEL_HEAD_LEN + PACKET_IP6_FRAGMENT_LEN];
    struct iovec part[MIP6_TUNNEL_PARTS_MAX + 1] = {
        { head, sizeof(head) },
    };
    uint32_t id = ++out->tunnel->fragment_id;

    for (size_t done = 0, size; done < len; done += size) {
        int parts;

        size = len - done < most ? len - done : most;
        parts = packet_iov_slice(packet, iovcnt, done, size, part + 1,
                                 MIP6_TUNNEL_PARTS_MAX);
        if (parts < 0) {
            return MIP6_DROP_MALFORMED;
        }
        put_head(out, head, inner, PACKET_PROTO_FRAGMENT,
                 PACKET_IP6_FRAGMENT_LEN + size);
        put_fragment(head + MIP6_TUNNEL_HEAD_LEN, next, done,
                     done + size < len, id);
        transmit(out, part, parts + 1, &no_offload);
    }
    out->tunnel->fragmented++;
    return MIP6_DROP_NONE;
}

/* Sends the packet in @packet with ESP. */
static Mip6Drop send_sealed(Outgoing *out, const uint8_t *inner,
                            const struct iovec *packet, int iovcnt)
{
    Mip6Tunnel *t = out->tunnel;
    uint8_t head[MIP6_TUNNEL_HEAD_LEN];
    struct iovec part[] = { { head, sizeof(head) }, { t->sealed, 0 } };

    part[1].iov_len = mip6_protect_tunnel(t->protect, packet, iovcnt,
                                          t->sealed, sizeof(t->sealed));
    if (!part[1].iov_len) {
        return MIP6_DROP_ESP;
    }
    if (part[1].iov_len > out->outer_room) {
        return send_fragments(out, inner, PACKET_PROTO_ESP, part + 1, 1,
                              part[1].iov_len);
    }
    put_head(out, head, inner, PACKET_PROTO_ESP, part[1].iov_len);
    transmit(out, part, 2, &no_offload);
    return MIP6_DROP_NONE;
}

/*
 * Sends a packet of @len octets: the first @copied octets are in out->head, the
 * others in @parts parts from out->part + 1 on.
 */
static Mip6Drop send_packet(Outgoing *out, const uint8_t *inner, size_t copied,
                            int parts, size_t len,
                            const PacketOffload *offload)
{
    out->part[0].iov_base = out->head + MIP6_TUNNEL_HEAD_LEN;
    out->part[0].iov_len = copied;
    if (out->tunnel->protect) {
        return send_sealed(out, inner, out->part, parts + 1);
    }
    if (len > out->room) {
        return send_fragments(out, inner, PACKET_PROTO_IP6, out->part,
                              parts + 1, len);
    }
    put_head(out, out->head, inner, PACKET_PROTO_IP6, len);
    out->part[0].iov_base = out->head;
    out->part[0].iov_len = MIP6_TUNNEL_HEAD_LEN + copied;
    transmit(out, out->part, parts + 1, offload);
    return MIP6_DROP_NONE;
}

static Mip6Drop send_pieces(Outgoing *out, PacketSegments *s, size_t eth_len)
{
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    size_t head_len, inner;
    int parts;

    while ((parts = packet_segments_next(s, head, &head_len, out->part + 1,
                                         MIP6_TUNNEL_PARTS_MAX)) >= 0) {
        Mip6Drop why;

        inner = head_len - eth_len;
        memcpy(out->head + MIP6_TUNNEL_HEAD_LEN, head + eth_len, inner);
        why = send_packet(out, head + eth_len, inner, parts,
                          inner + packet_iov_len(out->part + 1, parts),
                          &no_offload);
        if (why != MIP6_DROP_NONE) {
            return why;
        }
    }
    return s->done == s->payload ? MIP6_DROP_NONE : MIP6_DROP_MALFORMED;
}

/* Does the checksum start after the IPv6 header, and is it stored there? */
static bool csum_is_inside(const PacketOffload *offload, size_t eth_len,
                           size_t len)
{
    size_t start = offload->csum_start, at = start + offload->csum_offset;

    return !offload->needs_csum || (start >= eth_len + PACKET_IP6_LEN &&
                                    at + 2 <= eth_len + len);
}

/* Completes the checksum that the guest has left to its NIC. */
static bool complete_sum(Outgoing *out, size_t copied, int parts, size_t len,
                         size_t eth_len, const PacketOffload *offload)
{
    size_t start = offload->csum_start - eth_len;
    size_t at = start + offload->csum_offset;
    uint16_t sum;

    if (offload->csum_start < eth_len || at + 2 > copied) {
        return false;
    }
    out->part[0].iov_base = out->head + MIP6_TUNNEL_HEAD_LEN;
    out->part[0].iov_len = copied;
    sum = packet_sum_fold(packet_sum_iov(0, out->part, parts + 1, start,
                                         len - start));
    /* RFC 768: 0 means no checksum; for TCP, 0 and 0xffff are equivalent. */
    put_be16(out->head + MIP6_TUNNEL_HEAD_LEN + at, sum ? sum : 0xffff);
    return true;
}

static Mip6Drop send_whole(Outgoing *out, int64_t now, const struct iovec *iov,
                           int iovcnt, size_t eth_len,
                           const PacketOffload *offload, const uint8_t *inner,
                           size_t look, size_t len)
{
    PacketOffload later = *offload;
    bool syn = mip6_tunnel_may_be_syn(inner, look);
    uint8_t *copy = out->head + MIP6_TUNNEL_HEAD_LEN;
    /* The NIC cannot complete a checksum in fragments or encrypted packets. */
    bool opaque = len > out->room || out->tunnel->protect;
    size_t copied = 0;
    int parts;

    if (syn || (opaque && offload->needs_csum)) {
        copied = packet_iov_copy(iov, iovcnt, eth_len, copy,
                                 len < PACKET_SEGMENT_HEAD_MAX
                                 ? len : PACKET_SEGMENT_HEAD_MAX);
    }
    parts = packet_iov_slice(iov, iovcnt, eth_len + copied, len - copied,
                             out->part + 1, MIP6_TUNNEL_PARTS_MAX);
    if (parts < 0 || !csum_is_inside(offload, eth_len, len)) {
        return MIP6_DROP_MALFORMED;
    }
    if (syn) {
        mip6_tunnel_clamp(out->tunnel, now, copy, copied, offload->needs_csum);
    }
    if (opaque && offload->needs_csum &&
        !complete_sum(out, copied, parts, len, eth_len, offload)) {
        return MIP6_DROP_MALFORMED;
    }
    later.csum_start += MIP6_TUNNEL_HEAD_LEN - eth_len;
    return send_packet(out, inner, copied, parts, len, &later);
}

/* Section 7.1 (a): answers as a router at the tunnel entry. */
static void tell_too_big(Mip6Tunnel *t, const struct iovec *iov, int iovcnt,
                         size_t eth_len, uint32_t mtu,
                         const struct in6_addr *router)
{
    uint8_t cause[PACKET_IP6_MTU_MIN], error[PACKET_IP6_MTU_MIN];
    size_t len = packet_iov_copy(iov, iovcnt, eth_len, cause, sizeof(cause));

    len = packet_icmp6_error(error, sizeof(error), router, ERROR_HOPS,
                             PACKET_ICMP6_TOO_BIG, 0, mtu, cause, len);
    if (len) {
        t->ops->to_guest(t->opaque, error, len);
    }
}

/* Sends a super-frame: TCP segments can be resized, UDP datagrams cannot. */
static Mip6Drop send_super(Outgoing *out, int64_t now, const struct iovec *iov,
                           int iovcnt, size_t eth_len,
                           const PacketOffload *offload,
                           const struct in6_addr *router)
{
    uint32_t mtu = mip6_tunnel_mtu(out->tunnel, now);
    PacketSegments s;

    if (!packet_segments_begin(&s, offload, iov, iovcnt, offload->gso_size)) {
        return MIP6_DROP_MALFORMED;
    }
    if (!packet_segments_fit(&s, offload->gso == PACKET_GSO_UDP ? mtu
                                                                : out->room)) {
        tell_too_big(out->tunnel, iov, iovcnt, eth_len, mtu, router);
        return MIP6_DROP_TOO_BIG;
    }
    return send_pieces(out, &s, eth_len);
}

Mip6Drop mip6_tunnel_send(Mip6Tunnel *t, int64_t now, const uint8_t dst_mac[6],
                          const uint8_t src_mac[6], const struct iovec *iov,
                          int iovcnt, size_t eth_len,
                          const PacketOffload *offload,
                          const struct in6_addr *router)
{
    uint32_t mtu = mip6_tunnel_mtu(t, now);
    size_t len = packet_iov_len(iov, iovcnt) - eth_len, look;
    uint8_t inner[MIP6_TUNNEL_LOOK];
    Outgoing out;               /* its large members stay uninitialized */
    PacketIp6 ip;

    out.tunnel = t;
    out.dst_mac = dst_mac;
    out.src_mac = src_mac;
    out.room = room_now(t, now);
    out.outer_room = outer_room(t, now);
    look = packet_iov_copy(iov, iovcnt, eth_len, inner, sizeof(inner));
    if (look < PACKET_IP6_LEN || inner[0] >> 4 != 6) {
        return MIP6_DROP_MALFORMED;
    }
    if (!t->protect) {
        mip6_sent_note(len > PACKET_IP6_MTU_MIN - PACKET_IP6_LEN ? &t->big
                                                                 : &t->small,
                       now, inner, look);
    }
    if (offload->gso != PACKET_GSO_NONE) {
        return send_super(&out, now, iov, iovcnt, eth_len, offload, router);
    }
    /* Octets after the packet are Ethernet padding. */
    packet_ip6_parse(&ip, inner, look);
    if (ip.payload > len - PACKET_IP6_LEN) {
        return MIP6_DROP_MALFORMED;
    }
    len = PACKET_IP6_LEN + ip.payload;
    if (len > mtu) {
        tell_too_big(t, iov, iovcnt, eth_len, mtu, router);
        return MIP6_DROP_TOO_BIG;
    }
    return send_whole(&out, now, iov, iovcnt, eth_len, offload, inner, look,
                      len);
}

/* --- the path ------------------------------------------------------------- */

static bool is_sealed(const Mip6Tunnel *t, const uint8_t *outer, size_t len)
{
    for (unsigned i = 0; i < t->protected; i++) {
        if (mip6_protect_is_ours(t->protects[i], outer, len)) {
            return true;
        }
    }
    return false;
}

/* Is this the start of a packet that went into the tunnel? */
static bool is_ours(const Mip6Tunnel *t, const uint8_t *outer, size_t len)
{
    return len >= PACKET_IP6_LEN && outer[0] >> 4 == 6 &&
           (t->protected ? is_sealed(t, outer, len)
                         : outer[6] == PACKET_PROTO_IP6 ||
                           outer[6] == PACKET_PROTO_FRAGMENT) &&
           !memcmp(outer + 8, &t->local, sizeof(t->local)) &&
           !memcmp(outer + 24, &t->remote, sizeof(t->remote));
}

const uint8_t *mip6_tunnel_inner(const Mip6Tunnel *t, const void *outer,
                                 size_t len, size_t *inner_len)
{
    const uint8_t *p = outer;
    PacketIp6Ext ext;

    if (!is_ours(t, outer, len) || !packet_ip6_walk(&ext, outer, len) ||
        ext.next != PACKET_PROTO_IP6 || ext.fragment_offset ||
        len - ext.offset < PACKET_IP6_LEN || p[ext.offset] >> 4 != 6) {
        return NULL;
    }
    *inner_len = len - ext.offset;
    return p + ext.offset;
}

/* Only a node that has seen such a packet can know it. */
static bool was_sent(const Mip6Tunnel *t, int64_t now, const void *outer,
                     size_t len, bool big)
{
    const uint8_t *inner;

    if (t->protected) {
        return is_ours(t, outer, len);
    }
    inner = mip6_tunnel_inner(t, outer, len, &len);
    return inner && (mip6_sent_lately(&t->big, now, inner, len) ||
                     (!big && mip6_sent_lately(&t->small, now, inner, len)));
}

bool mip6_tunnel_was_sent(const Mip6Tunnel *t, int64_t now, const void *outer,
                          size_t len)
{
    return was_sent(t, now, outer, len, false);
}

bool mip6_tunnel_too_big(Mip6Tunnel *t, int64_t now, uint32_t mtu,
                         const void *outer, size_t len)
{
    const uint8_t *ip = outer;

    if (!was_sent(t, now, outer, len, true) || mtu < PACKET_IP6_MTU_MIN ||
        PACKET_IP6_LEN + get_be16(ip + 4) <= mtu) {
        return false;
    }
    if (mtu < path_now(t, now)) {
        t->path_mtu = mtu;
        t->path_until = now + PATH_MTU_LIVES;
    }
    return true;
}

bool mip6_tunnel_report(Mip6Tunnel *t, int64_t now, uint8_t type, uint8_t code,
                        const uint8_t *inner, size_t len,
                        const struct in6_addr *router)
{
    uint8_t error[PACKET_IP6_MTU_MIN];
    uint32_t mtu = mip6_tunnel_mtu(t, now);

    switch (type) {
    case PACKET_ICMP6_TOO_BIG:
        if (PACKET_IP6_LEN + get_be16(inner + 4) <= mtu) {
            return false;       /* it would fit now */
        }
        code = 0;
        break;
    case PACKET_ICMP6_TIME_EXCEEDED:
        if (code != 0) {
            return false;       /* fragments were lost; the path works */
        }
        /* fall through */
    case PACKET_ICMP6_UNREACHABLE:
        type = PACKET_ICMP6_UNREACHABLE;
        code = UNREACHABLE_ADDRESS;
        mtu = 0;
        break;
    default:
        return false;
    }
    len = packet_icmp6_error(error, sizeof(error), router, ERROR_HOPS, type,
                             code, mtu, inner, len);
    if (len) {
        t->ops->to_guest(t->opaque, error, len);
    }
    return len;
}
