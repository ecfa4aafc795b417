/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from the link
 */
#include <string.h>

#include "base/octets.h"
#include "net/mip6/port/internal.h"
#include "net/packet/ecn.h"
#include "net/packet/mld.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

#define INNER_DST_AT    24u

/* May the guest get this packet from the tunnel? */
static Mip6Drop check_inner(const Mip6Port *p, const Mip6Arrived *from,
                            const PacketIp6 *outer, const uint8_t *inner,
                            size_t len)
{
    struct in6_addr dst;

    if (!mip6_port_is_agent(p, &outer->src)) {
        return MIP6_DROP_STRANGER;
    }
    if (len < PACKET_IP6_LEN || inner[0] >> 4 != 6) {
        return MIP6_DROP_MALFORMED;
    }
    memcpy(&dst, inner + INNER_DST_AT, sizeof(dst));
    if (!(mip6_home_is_guests(&p->home, &dst) &&
          mip6_port_is_selected(from, &dst)) &&
        !packet_mld_forwards(&dst) && !packet_mld_is_query(inner, len)) {
        return MIP6_DROP_NOT_HOME_ADDRESS;
    }
    return MIP6_DROP_NONE;
}

/* Is the checksum in the inner packet, after its header? */
static bool csum_is_inside(const PacketOffload *offload, size_t inner,
                           size_t end)
{
    size_t start = offload->csum_start, at = start + offload->csum_offset;

    return !offload->needs_csum ||
           (start >= inner + PACKET_IP6_LEN && at + 2 <= end);
}

/*
 * A packet that was tunnelled to us, at @offset of the frame; @inner is a copy
 * of its first @have octets of @len. There may be padding after the packet.
 */
typedef struct Tunnelled {
    uint8_t *inner;
    size_t have, len;
    bool is_changed;            /* changed by us, in the copy */
    const struct iovec *iov;
    int iovcnt;
    size_t offset;
    PacketOffload offload;      /* of a frame that starts with part[0] */
    uint8_t head[PACKET_ETH_LEN];
    struct iovec part[1 + MIP6_TUNNEL_PARTS_MAX];
} Tunnelled;

/*
 * Builds the frame from @t->head and the packet. Returns: number of parts;
 * negative if the packet is truncated.
 */
static int frame_parts(Tunnelled *t)
{
    size_t copied = !t->is_changed ? 0 : t->have < t->len ? t->have : t->len;
    int parts = 1, rest;

    t->part[0] = (struct iovec) { t->head, sizeof(t->head) };
    if (copied) {
        t->part[parts++] = (struct iovec) { t->inner, copied };
    }
    rest = packet_iov_slice(t->iov, t->iovcnt, t->offset + copied,
                            t->len - copied, t->part + parts,
                            MIP6_TUNNEL_PARTS_MAX + 1 - parts);
    if (t->offload.needs_csum) {
        t->offload.csum_start -= t->offset - PACKET_ETH_LEN;
    }
    return rest < 0 ? rest : parts + rest;
}

/* The VM has left. */
static Mip6Verdict tunnelled_late(Mip6Port *p, const PacketEth *eth,
                                  Tunnelled *t)
{
    int parts = frame_parts(t);

    mip6_port_late_tunnelled(p, t->inner, t->have);
    return parts < 0 ? mip6_port_drop(p, MIP6_DROP_LATE)
                     : mip6_port_late(p, eth, t->part, parts, PACKET_ETH_LEN,
                                      &t->offload);
}

static Mip6Verdict tunnelled_to_guest(Mip6Port *p, Tunnelled *t)
{
    int parts;

    if (mip6_tunnel_may_be_syn(t->inner, t->have)) {
        t->is_changed |= mip6_tunnel_clamp(&p->tunnel, p->now, t->inner,
                                           t->have < t->len ? t->have : t->len,
                                           t->offload.needs_csum);
    }
    parts = frame_parts(t);
    if (parts < 0 || !mip6_home_frame_head(&p->home, t->head)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (t->inner[INNER_DST_AT] == 0xff) {
        struct in6_addr group;

        memcpy(&group, t->inner + INNER_DST_AT, sizeof(group));
        packet_eth_group6(t->head, &group);
    }
    p->received++;
    p->ops->to_guest(p->opaque, t->part, parts, &t->offload);
    return MIP6_DONE;
}

/* Passes congestion marks of the tunnel on to the inner packet. */
static bool combine_ecn(const PacketIp6 *outer, Tunnelled *t)
{
    uint8_t was = packet_ecn_get6(t->inner), field;

    if (!packet_ecn_decapsulate(outer->tclass, was, &field)) {
        return false;
    }
    if (field != was) {
        packet_ecn_set6(t->inner, field);
        t->is_changed = true;
    }
    return true;
}

static void note_passed(Mip6Port *p, const uint8_t *inner)
{
    struct in6_addr dst;
    Mip6Binding *b;

    memcpy(&dst, inner + INNER_DST_AT, sizeof(dst));
    b = mip6_port_binding(p, &dst);
    if (b) {
        mip6_binding_passed(b, p->now);
    }
    mip6_port_has_heard(p);
}

static Mip6Verdict out_of_tunnel(Mip6Port *p, const Mip6Arrived *from,
                                 const PacketIp6 *outer, size_t offset,
                                 uint8_t *inner, size_t have)
{
    Mip6Drop why = check_inner(p, from, outer, inner, have);
    Tunnelled t;                /* its large members stay uninitialized */

    if (why != MIP6_DROP_NONE) {
        return mip6_port_drop(p, why);
    }
    note_passed(p, inner);
    if (mip6_port_probe_returned(p, inner, have)) {
        return MIP6_DONE;
    }
    t.inner = inner;
    t.have = have;
    t.len = PACKET_IP6_LEN + get_be16(inner + 4);
    t.is_changed = false;
    t.iov = from->iov;
    t.iovcnt = from->iovcnt;
    t.offset = offset;
    t.offload = *from->offload;
    if (!csum_is_inside(&t.offload, offset, offset + t.len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (p->presence == MIP6_PRESENCE_STOPPED) {
        return MIP6_HELD;
    }
    if (!combine_ecn(outer, &t)) {
        return mip6_port_drop(p, MIP6_DROP_ECN);
    }
    return mip6_port_has_left(p) ? tunnelled_late(p, from->eth, &t)
                                 : tunnelled_to_guest(p, &t);
}

static bool is_addressed_to_us(Mip6Port *p, const PacketIp6 *ip)
{
    return mip6_careof_owns(&p->careof, &ip->dst) ||
           (!mip6_port_is_away(p) && mip6_port_binding(p, &ip->dst));
}

static Mip6Verdict take_upper(Mip6Port *p, int64_t now, const Mip6Arrived *from,
                              const PacketIp6 *ip, const PacketIp6Ext *ext,
                              uint8_t *packet, size_t len);

/* Finds the home address of an ESP packet by its SPI. */
static Mip6Binding *binding_of_esp(Mip6Port *p, const struct iovec *esp,
                                   int parts)
{
    for (unsigned i = 0; i < mip6_port_protected(p); i++) {
        if (mip6_protect_knows(p->config.protect[i], esp, parts)) {
            return &p->binding[i];
        }
    }
    return NULL;
}

/* ESP from the home agent to us; @ip is the outer header. */
static Mip6Verdict take_esp(Mip6Port *p, int64_t now, const Mip6Arrived *from,
                            const PacketIp6 *ip, const PacketIp6Ext *ext,
                            const uint8_t *packet)
{
    struct iovec esp[MIP6_TUNNEL_PARTS_MAX], iov = { p->opened, 0 };
    Mip6Arrived opened = {
        .eth = from->eth, .iov = &iov, .iovcnt = 1,
        .offload = &mip6_port_no_offload,
    };
    size_t len = PACKET_IP6_LEN + ip->payload;
    PacketIp6Ext inside;
    PacketIp6 whole;
    Mip6Binding *b;
    int parts;

    if (!mip6_port_is_agent(p, &ip->src)) {
        return mip6_port_drop(p, MIP6_DROP_STRANGER);
    }
    if (p->presence == MIP6_PRESENCE_STOPPED) {
        return MIP6_HELD;               /* it can be decrypted only once */
    }
    parts = ext->offset > len ? -1 :
            packet_iov_slice(from->iov, from->iovcnt,
                             from->offset + ext->offset, len - ext->offset,
                             esp, MIP6_TUNNEL_PARTS_MAX);
    opened.opened = b = parts < 0 ? NULL : binding_of_esp(p, esp, parts);
    if (!b || !mip6_protect_open(p->config.protect[b - p->binding], packet, ext,
                                 esp, parts, p->opened, sizeof(p->opened),
                                 &iov.iov_len, &opened.sa)) {
        if (b && mip6_port_is_running(p) && opened.sa == MIP6_TUNNEL_IN) {
            mip6_binding_trouble(b, now, MIP6_WHY_ESP);
        }
        return mip6_port_drop(p, MIP6_DROP_ESP);
    }
    if (!packet_ip6_parse(&whole, p->opened, iov.iov_len) ||
        !packet_ip6_walk(&inside, p->opened, iov.iov_len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    return take_upper(p, now, &opened, &whole, &inside, p->opened,
                      iov.iov_len);
}

/* A server of the foreign link answers the care-of host. */
static Mip6Verdict take_udp(Mip6Port *p, int64_t now, const Mip6Arrived *from,
                            const PacketIp6 *ip, const uint8_t *datagram,
                            size_t len)
{
    PacketUdp udp;
    uint32_t pseudo;

    if (from->opened || !IN6_IS_ADDR_LINKLOCAL(&ip->src) ||
        !packet_udp_parse(&udp, datagram, len) ||
        udp.dst != MIP6_DHCP6_CLIENT || udp.len > len) {
        return mip6_port_drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
    }
    pseudo = packet_sum_pseudo6(&ip->src, &ip->dst, PACKET_PROTO_UDP, udp.len);
    if (!from->offload->needs_csum &&
        !packet_udp_sum_is_good(datagram, udp.len, pseudo, false)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    return mip6_careof_dhcp6(&p->careof, now, datagram + PACKET_UDP_LEN,
                             udp.len - PACKET_UDP_LEN)
           ? MIP6_DONE : mip6_port_drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
}

/* Perhaps the agent protects signalling only (esp-payload=off). */
static void note_unprotected(Mip6Port *p, const PacketIp6 *outer,
                             const uint8_t *inner, size_t len)
{
    struct in6_addr dst;
    Mip6Binding *b;

    if (mip6_port_is_running(p) && mip6_port_is_agent(p, &outer->src) &&
        len >= PACKET_IP6_LEN) {
        memcpy(&dst, inner + INNER_DST_AT, sizeof(dst));
        b = mip6_port_binding(p, &dst);
        if (b) {
            mip6_binding_trouble(b, p->now, MIP6_WHY_UNPROTECTED);
        }
    }
}

static Mip6Verdict take_upper(Mip6Port *p, int64_t now, const Mip6Arrived *from,
                              const PacketIp6 *ip, const PacketIp6Ext *ext,
                              uint8_t *packet, size_t len)
{
    if (!mip6_port_accepts(p, from, ip, ext, packet, len)) {
        return mip6_port_drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
    }
    switch (ext->next) {
    case PACKET_PROTO_ESP:
        return mip6_port_has_esp(p) && !from->opened
               ? take_esp(p, now, from, ip, ext, packet)
               : mip6_port_drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
    case PACKET_PROTO_IP6:
        if (!mip6_port_is_protected(p, from, MIP6_TUNNEL_IN)) {
            note_unprotected(p, ip, packet + ext->offset, len - ext->offset);
            return mip6_port_drop(p, MIP6_DROP_UNPROTECTED);
        }
        return out_of_tunnel(p, from, ip, from->offset + ext->offset,
                             packet + ext->offset, len - ext->offset);
    case PACKET_PROTO_UDP:
        return take_udp(p, now, from, ip, packet + ext->offset,
                        len - ext->offset);
    case PACKET_PROTO_MH:
        return mip6_port_take_mh(p, now, from, ip, ext, packet, len);
    case PACKET_PROTO_ICMP6:
        if (ext->offset < len &&
            packet[ext->offset] == MIP6_ICMP_PREFIX_ADVERT) {
            return mip6_port_take_advert(p, now, from, ip, ext, packet, len);
        }
        return mip6_port_take_icmp6(p, now, from, ip, packet + ext->offset,
                          len - ext->offset);
    default:
        return mip6_port_drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
    }
}

/* Only the home agent has a reason to fragment (RFC 2473 section 7.1 (b)). */
static Mip6Verdict take_fragment(Mip6Port *p, int64_t now,
                                 const Mip6Arrived *from, const PacketIp6 *ip,
                                 const PacketIp6Ext *ext,
                                 const uint8_t *packet, size_t len)
{
    Mip6Arrived put_together = { .eth = from->eth, .iovcnt = 1,
                             .offload = &mip6_port_no_offload };
    struct iovec iov;
    PacketIp6Ext inside;
    PacketIp6 whole;

    if (!mip6_port_is_agent(p, &ip->src)) {
        return mip6_port_drop(p, MIP6_DROP_STRANGER);
    }
    if (len < PACKET_IP6_LEN + ip->payload) {
        /* more octets than we read */
        return mip6_port_drop(p, MIP6_DROP_FRAGMENT);
    }
    iov.iov_base = packet_reassemble(&p->fragments, now, packet, len, ext,
                                     &iov.iov_len);
    p->dropped[MIP6_DROP_FRAGMENT] += p->fragments.lost;
    p->fragments.lost = 0;
    if (!iov.iov_base) {
        return MIP6_DONE;
    }
    if (!packet_ip6_parse(&whole, iov.iov_base, iov.iov_len) ||
        !packet_ip6_walk(&inside, iov.iov_base, iov.iov_len) ||
        inside.fragment) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    put_together.iov = &iov;
    return take_upper(p, now, &put_together, &whole, &inside, iov.iov_base,
                      iov.iov_len);
}

static Mip6Verdict take_packet(Mip6Port *p, int64_t now,
                               const Mip6Arrived *from, uint8_t *packet,
                               size_t len)
{
    PacketIp6Ext ext;
    PacketIp6 ip;

    if (len < PACKET_IP6_LEN || packet[0] >> 4 != 6) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    packet_ip6_parse(&ip, packet, len);
    if (mip6_port_like_nd(packet, len) &&
        packet[PACKET_IP6_LEN] >= PACKET_ND_RS &&
        packet[PACKET_IP6_LEN] <= PACKET_ND_REDIRECT) {
        return mip6_port_take_nd(p, now, from->eth, packet, len);
    }
    if (packet_mld_is_query(packet, len)) {
        return mip6_port_take_query(p, now, packet, len);
    }
    if (!is_addressed_to_us(p, &ip)) {
        return mip6_port_drop(p, MIP6_DROP_NOT_FOR_US);
    }
    if (len > PACKET_IP6_LEN + ip.payload) {
        len = PACKET_IP6_LEN + ip.payload;      /* without Ethernet padding */
    }
    if (!packet_ip6_walk(&ext, packet, len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    /*
     * A fragment that is a complete packet is handled as a packet (RFC 6946).
     */
    if (ext.fragment && (ext.more || ext.fragment_offset)) {
        return take_fragment(p, now, from, &ip, &ext, packet, len);
    }
    return take_upper(p, now, from, &ip, &ext, packet, len);
}

/* Does this packet, with four octets after its header, have our SPI? */
static bool is_signal(const Mip6Port *p, const uint8_t *packet)
{
    uint32_t spi = get_be32(packet + PACKET_IP6_LEN);

    for (unsigned i = 0; i < mip6_port_protected(p); i++) {
        if (spi == esp_sa_spi(mip6_protect_sa(p->config.protect[i],
                                              MIP6_SIGNAL_IN))) {
            return packet[6] == PACKET_PROTO_ESP;
        }
    }
    return false;
}

/*
 * At home, the answer to the last Binding Update is sent to the home address,
 * and so to the guest's MAC address. The guest has not sent the update, and
 * must not get the answer.
 */
static bool is_answer_at_home(const Mip6Port *p, const struct iovec *iov,
                              int iovcnt)
{
    uint8_t head[PACKET_ETH_LEN + PACKET_IP6_LEN + 4];
    const uint8_t *ip = head + PACKET_ETH_LEN;

    return mip6_port_any_is(p, MIP6_RETURNING) &&
           packet_iov_copy(iov, iovcnt, 0, head, sizeof(head)) ==
           sizeof(head) &&
           get_be16(head + 12) == PACKET_ETH_IP6 &&
           (mip6_port_has_esp(p) ? is_signal(p, ip)
                                 : ip[6] == PACKET_PROTO_MH ||
                                   ip[6] == PACKET_PROTO_ROUTING) &&
           memcmp(ip + 8, mip6_port_agent(p), sizeof(struct in6_addr)) == 0;
}

/* A frame for a VM that does not run at present, or has left. */
static Mip6Verdict for_absent(Mip6Port *p, const struct iovec *iov, int iovcnt,
                              const PacketOffload *offload)
{
    uint8_t head[PACKET_ETH_LEN];
    PacketEth eth;

    if (!mip6_port_has_left(p)) {
        return MIP6_HELD;
    }
    if (packet_iov_copy(iov, iovcnt, 0, head, sizeof(head)) < sizeof(head) ||
        !packet_eth_parse(&eth, head, sizeof(head)) || eth.tags ||
        eth.type != PACKET_ETH_IP6) {
        return mip6_port_drop(p, MIP6_DROP_LATE);
    }
    if (packet_eth_is_group(eth.dst)) {
        return mip6_port_drop(p, MIP6_DROP_NOT_FOR_US);
    }
    return mip6_port_late(p, &eth, iov, iovcnt, eth.len, offload);
}

static Mip6Verdict read_frame(Mip6Port *p, int64_t now,
                              const struct iovec *iov, int iovcnt,
                              const PacketOffload *offload)
{
    uint8_t head[MIP6_CONTROL_MAX];
    size_t len = packet_iov_copy(iov, iovcnt, 0, head, sizeof(head));
    Mip6Arrived from = { .iov = iov, .iovcnt = iovcnt, .offload = offload };
    Mip6Verdict verdict;
    PacketEth eth;

    if (!packet_eth_parse(&eth, head, len) || eth.tags ||
        eth.type != PACKET_ETH_IP6) {
        return mip6_port_drop(p, MIP6_DROP_OTHER_PROTOCOL);
    }
    from.eth = &eth;
    from.offset = eth.len;
    verdict = take_packet(p, now, &from, head + eth.len, len - eth.len);
    mip6_port_settle(p, now);
    return verdict;
}

Mip6Verdict mip6_port_from_link(Mip6Port *p, int64_t now,
                                const struct iovec *iov, int iovcnt,
                                const PacketOffload *offload)
{
    uint8_t dst[PACKET_ETH_ADDR_LEN];
    bool ours;

    p->now = now;
    if (packet_iov_copy(iov, iovcnt, 0, dst, sizeof(dst)) < sizeof(dst)) {
        return mip6_port_is_home(p) ? MIP6_PASS
                                    : mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (mip6_port_passes(p, false, dst)) {
        return MIP6_PASS;
    }
    ours = memcmp(dst, p->careof.mac, sizeof(dst)) == 0 ||
           is_answer_at_home(p, iov, iovcnt);
    if (mip6_port_is_home(p) && !ours) {
        if (packet_eth_is_group(dst) || mip6_port_assumes_home(p)) {
            mip6_port_overhear(p, now, false, iov, iovcnt);
        }
        if (!mip6_port_is_home(p)) {
            return MIP6_DONE;   /* its router is not the guest's */
        }
        if (!mip6_port_is_running(p)) {
            return for_absent(p, iov, iovcnt, offload);
        }
        return mip6_port_suppresses(p, false, iov, iovcnt) ? MIP6_DONE
                                                           : MIP6_PASS;
    }
    if (!ours && !packet_eth_is_group(dst)) {
        return mip6_port_drop(p, MIP6_DROP_NOT_FOR_US);
    }
    return read_frame(p, now, iov, iovcnt, offload);
}
