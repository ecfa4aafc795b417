/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tunnel between a mobile node and its home agent (RFC 2473)
 *
 * Theory of operation
 * ===================
 *
 * A packet gets 54 octets before it: Ethernet's header and IPv6's. Nothing of
 * the packet is copied; the parts of the guest's frame are sent behind the new
 * header. Traffic class and flow label are the packet's own (RFC 6040: the
 * guest's ECN goes along; RFC 6438: routers that balance by flow label still
 * can). There is no encapsulation limit option: the first tunnel of a packet
 * is this one.
 *
 * The tunnel's MTU is the path's less 40. A packet that does not fit is never
 * fragmented, neither before nor behind the header:
 *
 *   - A super-frame of TCP or UDP is cut into pieces that fit. Its sender has
 *     left the size to the NIC.
 *   - Any other is answered by "packet too big", as a router at the tunnel's
 *     entry has to (section 7.1), so that the guest sends smaller ones.
 *
 * IPv6 has no link below 1280 octets, and guests do not believe in one. Over a
 * path of less than 1320 a packet of up to 1280 octets is therefore fragmented
 * behind the new header, as section 7.1 (b) has it. Nothing else ever is.
 *
 * A partial checksum stays partial: it only begins 40 octets later.
 */
#include <string.h>

#include "net/mip6/tunnel.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"

#define PATH_MTU_LIVES          (600 * 1000000000ll)    /* RFC 8201 section 4 */
#define ERROR_HOPS              255

void mip6_tunnel_init(Mip6Tunnel *t, const Mip6TunnelOps *ops, void *opaque)
{
    memset(t, 0, sizeof(*t));
    t->ops = ops;
    t->opaque = opaque;
    t->link_mtu = t->path_mtu = 1500;
    t->hop_limit = 64;
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

uint32_t mip6_tunnel_mtu(const Mip6Tunnel *t, int64_t now)
{
    uint32_t path = now < t->path_until ? t->path_mtu : t->link_mtu;

    return path - PACKET_IP6_LEN > PACKET_IP6_MTU_MIN
           ? path - PACKET_IP6_LEN : PACKET_IP6_MTU_MIN;
}

/* --- sending -------------------------------------------------------------- */

/* A frame that is being built: one part of headers before the others. */
typedef struct Outgoing {
    const Mip6Tunnel *tunnel;
    const uint8_t *dst_mac, *src_mac;
    uint8_t head[MIP6_TUNNEL_HEAD_LEN + PACKET_IP6_FRAGMENT_LEN +
                 PACKET_SEGMENT_HEAD_MAX];
    struct iovec part[MIP6_TUNNEL_PARTS_MAX + 1];
} Outgoing;

/* Ethernet's header and the outer IPv6's, whose class is the inner one's. */
static void put_head(Outgoing *out, const uint8_t *inner, uint8_t next,
                     size_t payload)
{
    uint32_t first = packet_get32(inner);
    PacketIp6 ip = {
        .src = out->tunnel->local,
        .dst = out->tunnel->remote,
        .tclass = first >> 20 & 0xff,
        .flow = first & 0xfffff,
        .next = next,
        .hops = out->tunnel->hop_limit,
        .payload = payload,
    };

    packet_eth_build(out->head, out->dst_mac, out->src_mac, PACKET_ETH_IP6);
    packet_ip6_build(out->head + PACKET_ETH_LEN, &ip);
}

static void transmit(Outgoing *out, size_t head_len, int parts,
                     const PacketOffload *offload)
{
    out->part[0].iov_base = out->head;
    out->part[0].iov_len = head_len;
    out->tunnel->ops->transmit(out->tunnel->opaque, out->part, parts + 1,
                               offload);
}

static Mip6Drop send_pieces(Outgoing *out, const struct iovec *iov, int iovcnt,
                            size_t eth_len, const PacketOffload *offload,
                            size_t mtu)
{
    static const PacketOffload nothing;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    size_t head_len, inner;
    PacketSegments s;
    int parts;

    if (!packet_segments_begin(&s, offload, iov, iovcnt, offload->gso_size) ||
        s.head_len - eth_len >= mtu) {
        return MIP6_DROP_MALFORMED;
    }
    if (s.size > mtu - (s.head_len - eth_len)) {
        s.size = mtu - (s.head_len - eth_len);
    }
    while ((parts = packet_segments_next(&s, head, &head_len, out->part + 1,
                                         MIP6_TUNNEL_PARTS_MAX)) >= 0) {
        inner = head_len - eth_len;
        put_head(out, head + eth_len, PACKET_PROTO_IP6,
                 inner + packet_iov_len(out->part + 1, parts));
        memcpy(out->head + MIP6_TUNNEL_HEAD_LEN, head + eth_len, inner);
        transmit(out, MIP6_TUNNEL_HEAD_LEN + inner, parts, &nothing);
    }
    return s.done == s.payload ? MIP6_DROP_NONE : MIP6_DROP_MALFORMED;
}

static Mip6Drop send_whole(Outgoing *out, const struct iovec *iov, int iovcnt,
                           size_t eth_len, const PacketOffload *offload,
                           const uint8_t *inner, size_t len)
{
    PacketOffload later = *offload;
    int parts = packet_iov_slice(iov, iovcnt, eth_len, len, out->part + 1,
                                 MIP6_TUNNEL_PARTS_MAX);

    if (parts < 0) {
        return MIP6_DROP_MALFORMED;
    }
    later.csum_start += MIP6_TUNNEL_HEAD_LEN - eth_len;
    put_head(out, inner, PACKET_PROTO_IP6, len);
    transmit(out, MIP6_TUNNEL_HEAD_LEN, parts, &later);
    return MIP6_DROP_NONE;
}

/* Section 7.1 (a): the answer of a router at the tunnel's entry. */
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

Mip6Drop mip6_tunnel_send(Mip6Tunnel *t, int64_t now, const uint8_t dst_mac[6],
                          const uint8_t src_mac[6], const struct iovec *iov,
                          int iovcnt, size_t eth_len,
                          const PacketOffload *offload,
                          const struct in6_addr *router)
{
    uint32_t mtu = mip6_tunnel_mtu(t, now);
    size_t len = packet_iov_len(iov, iovcnt) - eth_len;
    uint8_t inner[PACKET_IP6_LEN];
    Outgoing out = {
        .tunnel = t,
        .dst_mac = dst_mac,
        .src_mac = src_mac,
    };
    PacketIp6 ip;

    if (packet_iov_copy(iov, iovcnt, eth_len, inner, sizeof(inner)) <
        sizeof(inner) || inner[0] >> 4 != 6) {
        return MIP6_DROP_MALFORMED;
    }
    if (offload->gso != PACKET_GSO_NONE) {
        return send_pieces(&out, iov, iovcnt, eth_len, offload, mtu);
    }
    /* Padding of short frames is no part of the packet. */
    packet_ip6_parse(&ip, inner, sizeof(inner));
    if (ip.payload > len - PACKET_IP6_LEN) {
        return MIP6_DROP_MALFORMED;
    }
    len = PACKET_IP6_LEN + ip.payload;
    if (len > mtu) {
        tell_too_big(t, iov, iovcnt, eth_len, mtu, router);
        return MIP6_DROP_TOO_BIG;
    }
    return send_whole(&out, iov, iovcnt, eth_len, offload, inner, len);
}

/* --- the path ------------------------------------------------------------- */

bool mip6_tunnel_too_big(Mip6Tunnel *t, int64_t now, uint32_t mtu,
                         const void *outer, size_t len)
{
    const uint8_t *p = outer;

    if (len < PACKET_IP6_LEN || p[6] != PACKET_PROTO_IP6 ||
        memcmp(p + 8, &t->local, sizeof(t->local)) ||
        memcmp(p + 24, &t->remote, sizeof(t->remote))) {
        return false;
    }
    mtu = mtu < PACKET_IP6_MTU_MIN ? PACKET_IP6_MTU_MIN : mtu;
    if (mtu < (now < t->path_until ? t->path_mtu : t->link_mtu)) {
        t->path_mtu = mtu;
        t->path_until = now + PATH_MTU_LIVES;
    }
    return true;
}
