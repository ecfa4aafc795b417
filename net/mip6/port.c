/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One VM's mobile node
 *
 * Theory of operation
 * ===================
 *
 *                  at home                      away
 *   guest ---- passes, is heard ---- link   guest -- home.c -- tunnel.c -- link
 *                                                     |           |
 *                                        answers as the      addresses from
 *                                        home link would     careof.c, state
 *                                                            from binding.c
 *
 * Where the VM is, router advertisements tell: one with the home prefix means
 * home, any other with a prefix or a default router means away. Where the home
 * prefix was heard, another router may be on the same link: the routers are
 * asked, and only if none says the home prefix for DOUBT_MAX, it is another
 * link. At home the
 * port only reads what it needs: advertisements, and the guest's neighbour
 * discovery, which go to groups. A frame to one station passes by its
 * destination address alone.
 *
 * Away, nothing passes as it is. The host of careof.c is on the foreign link
 * with a MAC address of its own; the guest is behind the tunnel. What cannot go
 * yet, because no binding is there, waits with its sender (MIP6_HELD) for
 * HOLD_MAX, so that a change of networks loses nothing; after that it is
 * dropped and counted, as a link without a carrier would do.
 *
 * The parts do not know each other. They report changes by callbacks, which
 * only set @settle; settle() then gives each what the others have.
 */
#include <string.h>

#include "net/mip6/port.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"

#define SECOND                  1000000000ll
#define HOLD_MAX                (10 * SECOND)
/* In which three router solicitations are out. */
#define DOUBT_MAX               (12 * SECOND)

#define ICMP6_LEN               8u
#define ERROR_BURST             10
#define ERROR_GAP               (SECOND / 10)

/* Headers that are looked at in one piece. */
#define HEAD_MAX                512u
/* A whole message of control: neighbour discovery, mobility, ICMPv6. */
#define CONTROL_MAX             (PACKET_ETH_LEN + 1500u)

static void settle(Mip6Port *p, int64_t now);

/* --- callbacks of the parts ----------------------------------------------- */

static const PacketOffload no_offload;

static void link_transmit(void *opaque, const void *frame, size_t len)
{
    Mip6Port *p = opaque;
    struct iovec iov = { (void *)frame, len };

    p->ops->to_link(p->opaque, &iov, 1, &no_offload);
}

static uint32_t port_random(void *opaque)
{
    Mip6Port *p = opaque;

    return p->ops->random(p->opaque);
}

static void part_changed(void *opaque)
{
    Mip6Port *p = opaque;

    p->settle = true;
}

static void guest_transmit(void *opaque, const void *frame, size_t len)
{
    Mip6Port *p = opaque;
    struct iovec iov = { (void *)frame, len };

    p->ops->to_guest(p->opaque, &iov, 1, &no_offload);
}

static void tunnel_transmit(void *opaque, const struct iovec *iov, int iovcnt,
                            const PacketOffload *offload)
{
    Mip6Port *p = opaque;

    p->ops->to_link(p->opaque, iov, iovcnt, offload);
}

static void guest_packet(void *opaque, const void *packet, size_t len)
{
    Mip6Port *p = opaque;
    uint8_t head[PACKET_ETH_LEN];
    struct iovec iov[] = {
        { head, sizeof(head) },
        { (void *)packet, len },
    };

    if (mip6_home_frame_head(&p->home, head)) {
        p->ops->to_guest(p->opaque, iov, 2, &no_offload);
    }
}

/* From the care-of address, or from home (RFC 6275 sections 6.1.7, 11.5.5). */
static void binding_send(void *opaque, const Mip6Mh *bu,
                         const struct in6_addr *care_of)
{
    Mip6Port *p = opaque;
    bool at_home = packet_ip6_equal(care_of, &p->config.home.address);
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + MIP6_HAO_LEN + 128];
    uint8_t *packet = frame + PACKET_ETH_LEN, *at = packet + PACKET_IP6_LEN;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    PacketIp6 ip = {
        .src = *care_of,
        .dst = p->config.agent,
        .next = at_home ? PACKET_PROTO_MH : PACKET_PROTO_DSTOPTS,
        .hops = p->careof.hop_limit,
    };

    if (!mip6_careof_next_hop(&p->careof, p->now, &p->config.agent, mac)) {
        p->dropped[MIP6_DROP_NO_NEXT_HOP]++;
        p->unsent = true;       /* it goes when the next hop is known */
        return;
    }
    if (!at_home) {
        at += mip6_hao_build(at, PACKET_PROTO_MH, &p->config.home.address);
    }
    at += mip6_mh_build(at, frame + sizeof(frame) - at,
                        &p->config.home.address, &p->config.agent, bu);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
    link_transmit(p, frame, at - frame);
}

static const Mip6CareOfOps careof_ops = {
    .transmit = link_transmit,
    .random = port_random,
    .changed = part_changed,
};

static const Mip6BindingOps binding_ops = {
    .send = binding_send,
    .changed = part_changed,
};

static const Mip6HomeOps home_ops = {
    .to_guest = guest_transmit,
};

static const Mip6TunnelOps tunnel_ops = {
    .transmit = tunnel_transmit,
    .to_guest = guest_packet,
};

/* --- where the VM is ------------------------------------------------------ */

static void be_home(Mip6Port *p, int64_t now)
{
    if (p->is_known && !p->is_away) {
        return;
    }
    p->is_known = true;
    p->is_away = false;
    mip6_home_return(&p->home);
    if (p->is_running) {
        mip6_binding_home(&p->binding, now);
    }
    p->settle = true;
}

static void be_away(Mip6Port *p, int64_t now)
{
    if (p->is_known && p->is_away) {
        return;
    }
    p->is_known = true;
    p->is_away = true;
    p->hold_until = now + HOLD_MAX;
    if (p->is_running) {
        mip6_home_leave(&p->home, now);
    }
    p->settle = true;
}

static void judge_location(Mip6Port *p, int64_t now, const PacketNdRa *ra)
{
    if (p->config.location != MIP6_LOCATION_AUTO) {
        return;
    }
    if (mip6_home_is_home_prefix(&p->home, ra)) {
        p->home_heard = true;
        p->doubt_until = INT64_MAX;
        be_home(p, now);
    } else if (ra->lifetime || ra->prefixes) {
        if (!p->home_heard || p->is_away) {
            be_away(p, now);
        } else if (p->doubt_until == INT64_MAX) {
            /* Another router of the home link, or another link? */
            p->doubt_until = now + DOUBT_MAX;
            mip6_careof_solicit(&p->careof, now);
            p->settle = true;
        }
    }
}

/* RFC 6275 section 11.5.5: who has asked the agent for it knows its MAC. */
static void announce_home(Mip6Port *p)
{
    const uint8_t *mac = mip6_home_guest_mac(&p->home);
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    uint8_t group[PACKET_ETH_ADDR_LEN];

    packet_eth_group6(group, &packet_ip6_all_nodes);
    for (unsigned i = 0; mac && i < p->home.learned.addresses; i++) {
        const struct in6_addr *addr = &p->home.learned.address[i];
        size_t len = packet_nd_build_na(frame + PACKET_ETH_LEN, addr,
                                        &packet_ip6_all_nodes, addr,
                                        PACKET_NA_OVERRIDE, mac);

        packet_eth_build(frame, group, mac, PACKET_ETH_IP6);
        link_transmit(p, frame, PACKET_ETH_LEN + len);
    }
}

static void set_tunnel(Mip6Port *p, const struct in6_addr *care_of)
{
    const Mip6Tunnel *t = &p->tunnel;

    if (!packet_ip6_equal(care_of, &t->local) ||
        t->link_mtu != p->careof.mtu || t->hop_limit != p->careof.hop_limit) {
        mip6_tunnel_set(&p->tunnel, care_of, &p->config.agent, p->careof.mtu,
                        p->careof.hop_limit);
    }
}

/* Give each part what the others have found out. */
static void settle(Mip6Port *p, int64_t now)
{
    const struct in6_addr *care_of;
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    if (!p->settle) {
        return;
    }
    if (p->is_known && p->is_away) {
        care_of = mip6_careof_address(&p->careof, now);
        if (care_of) {
            set_tunnel(p, care_of);
            /* The way to the agent is found before it is needed. */
            mip6_careof_next_hop(&p->careof, now, &p->config.agent, mac);
        }
        if (p->is_running) {
            mip6_binding_away(&p->binding, now, care_of);
        }
    }
    if (p->is_running && p->unsent &&
        mip6_careof_next_hop(&p->careof, now, &p->config.agent, mac)) {
        p->unsent = false;
        mip6_binding_retry(&p->binding, now);
    }
    if (p->returning && p->binding.state == MIP6_HOME) {
        announce_home(p);
    }
    p->returning = p->binding.state == MIP6_RETURNING;
    p->settle = false;          /* of the binding's own change, too */
    p->ops->changed(p->opaque);
}

/* --- life ----------------------------------------------------------------- */

void mip6_port_init(Mip6Port *p, const Mip6PortConfig *config,
                    const Mip6PortOps *ops, void *opaque, bool arriving)
{
    Mip6BindingConfig binding = {
        .home = config->home.address,
        .lifetime = config->lifetime,
    };

    memset(p, 0, sizeof(*p));
    p->config = *config;
    p->ops = ops;
    p->opaque = opaque;
    p->hold_until = p->doubt_until = INT64_MAX;
    mip6_binding_init(&p->binding, &binding, &binding_ops, p,
                      ops->random(opaque));
    mip6_careof_init(&p->careof, config->mac, config->mtu,
                     config->has_care_of ? &config->care_of : NULL,
                     &careof_ops, p);
    mip6_home_init(&p->home, &config->home, &home_ops, p);
    mip6_tunnel_init(&p->tunnel, &tunnel_ops, p);
    p->tunnel.fragment_id = ops->random(opaque);
    if (config->location != MIP6_LOCATION_AUTO || !arriving) {
        p->is_known = true;
        p->is_away = config->location == MIP6_LOCATION_AWAY;
    }
}

void mip6_port_start(Mip6Port *p, int64_t now)
{
    p->now = now;
    mip6_careof_start(&p->careof, now);
}

void mip6_port_run(Mip6Port *p, int64_t now)
{
    p->now = now;
    p->is_running = true;
    p->has_left = false;
    p->hold_until = now + HOLD_MAX;
    if (p->is_known && p->is_away) {
        mip6_home_leave(&p->home, now);
        /* Somebody else may have registered meanwhile. */
        mip6_binding_refresh(&p->binding, now);
    } else if (p->is_known) {
        mip6_binding_home(&p->binding, now);
    }
    p->settle = true;
    settle(p, now);
}

void mip6_port_pause(Mip6Port *p)
{
    p->is_running = false;
    mip6_home_return(&p->home);
}

void mip6_port_leave(Mip6Port *p)
{
    p->has_left = !p->is_running;
    p->ops->changed(p->opaque);         /* what was held is late now */
}

static int64_t min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mip6_port_deadline(const Mip6Port *p)
{
    int64_t at = min_time(mip6_careof_deadline(&p->careof), p->doubt_until);

    if (p->is_running) {
        at = p->holding ? min_time(at, p->hold_until) : at;
        at = min_time(at, mip6_binding_deadline(&p->binding));
        at = min_time(at, mip6_home_deadline(&p->home));
    }
    return at;
}

void mip6_port_tick(Mip6Port *p, int64_t now)
{
    p->now = now;
    mip6_careof_tick(&p->careof, now);
    if (p->doubt_until <= now) {
        p->doubt_until = INT64_MAX;
        p->home_heard = false;
        mip6_careof_start(&p->careof, now);     /* nothing of home is here */
        be_away(p, now);
    }
    if (p->holding && p->hold_until <= now) {
        p->holding = false;
        p->settle = true;       /* who holds it asks again */
    }
    settle(p, now);
    if (p->is_running) {
        mip6_binding_tick(&p->binding, now);
        mip6_home_tick(&p->home, now);
        settle(p, now);
    }
}

/* --- frames --------------------------------------------------------------- */

static bool is_home(const Mip6Port *p)
{
    return p->is_known && !p->is_away;
}

bool mip6_port_passes(const Mip6Port *p, bool from_guest,
                      const uint8_t dst[PACKET_ETH_ADDR_LEN])
{
    if (!is_home(p) || !p->is_running || packet_eth_is_group(dst)) {
        return false;
    }
    return from_guest ||
           (p->binding.state != MIP6_RETURNING &&
            memcmp(dst, p->careof.mac, PACKET_ETH_ADDR_LEN));
}

static Mip6Verdict drop(Mip6Port *p, Mip6Drop why)
{
    p->dropped[why]++;
    return MIP6_DONE;
}

/* A frame for a VM that does not run now, or not here any more. */
static Mip6Verdict keep_or_drop(Mip6Port *p)
{
    return p->has_left ? drop(p, MIP6_DROP_LATE) : MIP6_HELD;
}

/* --- from the guest ------------------------------------------------------- */

/* Not now, but soon; or not at all. */
static Mip6Verdict hold(Mip6Port *p, int64_t now)
{
    if (now >= p->hold_until) {
        return drop(p, MIP6_DROP_UNBOUND);
    }
    p->holding = true;
    return MIP6_HELD;
}

static bool starts_like_nd(const uint8_t *packet, size_t len)
{
    return len >= PACKET_IP6_LEN + 8 &&
           packet[6] == PACKET_PROTO_ICMP6 && packet[7] == 255;
}

/* At home: all passes; neighbour discovery is heard on its way. */
static void overhear(Mip6Port *p, int64_t now, bool from_guest,
                     const struct iovec *iov, int iovcnt)
{
    uint8_t buf[CONTROL_MAX];
    size_t len = packet_iov_copy(iov, iovcnt, 0, buf, PACKET_ETH_LEN +
                                 PACKET_IP6_LEN + 8);
    PacketEth eth;
    PacketNd nd;

    if (!packet_eth_parse(&eth, buf, len) || eth.tags ||
        eth.type != PACKET_ETH_IP6 ||
        !starts_like_nd(buf + eth.len, len - eth.len)) {
        return;
    }
    len = packet_iov_copy(iov, iovcnt, 0, buf, sizeof(buf));
    if (!packet_nd_parse(&nd, buf + eth.len, len - eth.len)) {
        return;
    }
    mip6_home_heard(&p->home, &nd, from_guest, eth.src);
    if (!from_guest) {
        mip6_careof_nd(&p->careof, now, &nd, eth.src);
        if (nd.type == PACKET_ND_RA) {
            judge_location(p, now, &nd.ra);
        }
    }
    settle(p, now);
}

static bool is_ready(const Mip6Port *p)
{
    return p->binding.state == MIP6_BOUND;
}

/* Where errors about the guest's packets come from. */
static const struct in6_addr *guests_router(const Mip6Port *p)
{
    return p->home.learned.has_router ? &p->home.learned.router
                                      : &p->config.agent;
}

static Mip6Verdict into_tunnel(Mip6Port *p, int64_t now, const PacketEth *eth,
                               const struct iovec *iov, int iovcnt,
                               const PacketOffload *offload)
{
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    Mip6Drop why;

    if (!is_ready(p)) {
        return hold(p, now);
    }
    if (!mip6_careof_next_hop(&p->careof, now, &p->config.agent, mac)) {
        return drop(p, MIP6_DROP_NO_NEXT_HOP);
    }
    why = mip6_tunnel_send(&p->tunnel, now, mac, p->careof.mac, iov, iovcnt,
                           eth->len, offload, guests_router(p));
    if (why != MIP6_DROP_NONE) {
        return drop(p, why);
    }
    p->sent++;
    return MIP6_DONE;
}

Mip6Verdict mip6_port_from_guest(Mip6Port *p, int64_t now,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload)
{
    uint8_t head[HEAD_MAX];
    bool tunnel;
    PacketEth eth;
    Mip6Drop why;
    size_t len;

    p->now = now;
    if (!p->is_known) {
        return hold(p, now);
    }
    len = packet_iov_copy(iov, iovcnt, 0, head, p->is_away
                          ? sizeof(head) : PACKET_ETH_LEN);
    if (!p->is_away) {
        if (len == PACKET_ETH_LEN && packet_eth_is_group(head)) {
            overhear(p, now, true, iov, iovcnt);
        }
        return MIP6_PASS;
    }
    if (!packet_eth_parse(&eth, head, len)) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    why = mip6_home_from_guest(&p->home, &eth, head + eth.len, len - eth.len,
                               &tunnel);
    if (why != MIP6_DROP_NONE) {
        return drop(p, why);
    }
    return tunnel ? into_tunnel(p, now, &eth, iov, iovcnt, offload)
                  : MIP6_DONE;
}

/* --- from the link -------------------------------------------------------- */

/* Where a packet comes from, and where it is. */
typedef struct Arrived {
    const PacketEth *eth;
    const struct iovec *iov;    /* the frame, or fragments put together */
    int iovcnt;
    size_t offset;              /* of the packet in it */
    const PacketOffload *offload;
} Arrived;

/* A packet of the care-of host's own, to who has sent us one. */
static void reply(Mip6Port *p, const Arrived *to, uint8_t *frame,
                  size_t packet_len)
{
    if (packet_len && packet_eth_is_station(to->eth->src)) {
        packet_eth_build(frame, to->eth->src, p->careof.mac, PACKET_ETH_IP6);
        link_transmit(p, frame, PACKET_ETH_LEN + packet_len);
    }
}

/* RFC 4443 section 2.4 (f): ERROR_BURST at once, then one in ERROR_GAP. */
static bool may_answer_error(Mip6Port *p, const PacketIp6 *ip)
{
    if (p->error_credit < p->now - ERROR_BURST * ERROR_GAP) {
        p->error_credit = p->now - ERROR_BURST * ERROR_GAP;
    }
    if (p->error_credit > p->now - ERROR_GAP ||
        !mip6_careof_owns(&p->careof, &ip->dst) ||
        IN6_IS_ADDR_MULTICAST(&ip->src) || IN6_IS_ADDR_UNSPECIFIED(&ip->src)) {
        return false;
    }
    p->error_credit += ERROR_GAP;
    return true;
}

/* Section 9.3.3: an unknown type is answered by a Binding Error. */
static void answer_unknown_mh(Mip6Port *p, const Arrived *from,
                              const PacketIp6 *ip)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + 64];
    uint8_t *packet = frame + PACKET_ETH_LEN;
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_MH };
    PacketIp6 answer = {
        .src = ip->dst,
        .dst = ip->src,
        .next = PACKET_PROTO_MH,
        .hops = p->careof.hop_limit,
    };

    answer.payload = mip6_mh_build(packet + PACKET_IP6_LEN,
                                   frame + sizeof(frame) - packet -
                                   PACKET_IP6_LEN, &ip->dst, &ip->src, &be);
    packet_ip6_build(packet, &answer);
    reply(p, from, frame, PACKET_IP6_LEN + answer.payload);
}

/* Section 9.2: a wrong field, at @pointer of the packet. */
static void answer_wrong_field(Mip6Port *p, const Arrived *from,
                               const PacketIp6 *ip, const uint8_t *packet,
                               size_t len, size_t pointer)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_MTU_MIN];

    reply(p, from, frame,
          packet_icmp6_error(frame + PACKET_ETH_LEN, PACKET_IP6_MTU_MIN,
                             &ip->dst, p->careof.hop_limit,
                             PACKET_ICMP6_PARAMETER, 0, pointer, packet, len));
}

/* A mobility header that is not good. */
static Mip6Verdict refuse_mh(Mip6Port *p, const Arrived *from,
                             const PacketIp6 *ip, const PacketIp6Ext *ext,
                             const uint8_t *packet, size_t len,
                             Mip6MhVerdict verdict)
{
    const uint8_t *mh = packet + ext->offset;
    size_t left = len - ext->offset;

    if (verdict == MIP6_MH_CHECKSUM) {
        return drop(p, MIP6_DROP_MH_CHECKSUM);  /* silently */
    }
    if (verdict == MIP6_MH_UNKNOWN && may_answer_error(p, ip)) {
        answer_unknown_mh(p, from, ip);
    } else if (verdict == MIP6_MH_PAYLOAD_PROTO && may_answer_error(p, ip)) {
        answer_wrong_field(p, from, ip, packet, len, ext->offset);
    } else if (verdict == MIP6_MH_SHORT && left >= 8 &&
               (mh[1] + 1u) * 8 <= left && may_answer_error(p, ip)) {
        answer_wrong_field(p, from, ip, packet, len, ext->offset + 1);
    }
    return drop(p, MIP6_DROP_MH_MALFORMED);
}

static Mip6Verdict take_good_mh(Mip6Port *p, int64_t now, const Mip6Mh *mh,
                                bool to_home)
{
    switch (mh->type) {
    case MIP6_MH_BA:
        if (!to_home || !mip6_binding_ack(&p->binding, now, mh)) {
            break;
        }
        mip6_careof_confirm(&p->careof, now, &p->config.agent);
        return MIP6_DONE;
    case MIP6_MH_BE:
        if (mh->status == MIP6_BE_UNKNOWN_BINDING &&
            !packet_ip6_equal(&mh->home, &p->config.home.address)) {
            break;
        }
        mip6_binding_error(&p->binding, now, mh);
        return MIP6_DONE;
    case MIP6_MH_BRR:
        mip6_binding_refresh(&p->binding, now);
        return MIP6_DONE;
    }
    return drop(p, MIP6_DROP_MH_UNEXPECTED);
}

static Mip6Verdict take_mh(Mip6Port *p, int64_t now, const Arrived *from,
                           const PacketIp6 *ip, const PacketIp6Ext *ext,
                           const uint8_t *packet, size_t len)
{
    const struct in6_addr *home = &p->config.home.address;
    struct in6_addr to = ip->dst;
    Mip6MhVerdict verdict;
    Mip6Mh mh;

    if (ext->routing) {
        const uint8_t *rh = packet + ext->routing;

        if (!mip6_rh2_parse(&to, rh, packet_ip6_ext_len(PACKET_PROTO_ROUTING,
                                                        rh)) ||
            !packet_ip6_equal(&to, home)) {
            return drop(p, MIP6_DROP_NOT_HOME_ADDRESS);
        }
    }
    verdict = mip6_mh_parse(&mh, &ip->src, &to, packet + ext->offset,
                            len - ext->offset);
    if (verdict != MIP6_MH_GOOD) {
        return refuse_mh(p, from, ip, ext, packet, len, verdict);
    }
    if (!packet_ip6_equal(&ip->src, &p->config.agent)) {
        return drop(p, MIP6_DROP_STRANGER);
    }
    if (!p->is_running) {
        /* The agent may speak of what the VM's other host has asked for. */
        return drop(p, MIP6_DROP_MH_UNEXPECTED);
    }
    return take_good_mh(p, now, &mh, packet_ip6_equal(&to, home));
}

/* RFC 4443 section 4.2: people ask whether the address is there. */
static Mip6Verdict answer_echo(Mip6Port *p, const Arrived *from,
                               const PacketIp6 *ip, const uint8_t *icmp,
                               size_t len)
{
    uint8_t frame[CONTROL_MAX], *packet = frame + PACKET_ETH_LEN;
    PacketIp6 answer = {
        .src = ip->dst,
        .dst = ip->src,
        .next = PACKET_PROTO_ICMP6,
        .hops = p->careof.hop_limit,
        .payload = len,
    };

    if (!mip6_careof_owns(&p->careof, &ip->dst) ||
        IN6_IS_ADDR_MULTICAST(&ip->src) || IN6_IS_ADDR_UNSPECIFIED(&ip->src) ||
        len > sizeof(frame) - PACKET_ETH_LEN - PACKET_IP6_LEN) {
        return drop(p, MIP6_DROP_ICMP6);
    }
    packet_ip6_build(packet, &answer);
    memcpy(packet + PACKET_IP6_LEN, icmp, len);
    packet[PACKET_IP6_LEN] = PACKET_ICMP6_ECHO_REPLY;
    packet_icmp6_seal(packet, PACKET_IP6_LEN + len);
    reply(p, from, frame, PACKET_IP6_LEN + len);
    return MIP6_DONE;
}

/* An error about a packet that is ours: of the tunnel, or a Binding Update. */
static Mip6Verdict take_icmp6_error(Mip6Port *p, int64_t now,
                                    const uint8_t *icmp, size_t len)
{
    const uint8_t *outer = icmp + ICMP6_LEN, *inner;
    size_t inner_len;
    PacketIp6 ip;
    bool heeded = false;

    len -= ICMP6_LEN;
    if (len < PACKET_IP6_LEN) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    if (icmp[0] == PACKET_ICMP6_TOO_BIG) {
        heeded = mip6_tunnel_too_big(&p->tunnel, now, packet_get32(icmp + 4),
                                     outer, len);
    }
    inner = mip6_tunnel_inner(&p->tunnel, outer, len, &inner_len);
    if (inner) {
        memcpy(&ip.src, inner + 8, sizeof(ip.src));
        if (mip6_home_is_guests(&p->home, &ip.src) &&
            mip6_tunnel_report(&p->tunnel, now, icmp[0], icmp[1], inner,
                               inner_len, guests_router(p))) {
            p->reported++;
            heeded = true;
        }
    }
    packet_ip6_parse(&ip, outer, len);
    if (icmp[0] == PACKET_ICMP6_PARAMETER && icmp[1] != 0 &&
        packet_ip6_equal(&ip.src, &p->binding.care_of) &&
        packet_ip6_equal(&ip.dst, &p->config.agent) &&
        (ip.next == PACKET_PROTO_DSTOPTS || ip.next == PACKET_PROTO_MH)) {
        mip6_binding_refused_by_icmp(&p->binding, now);
        heeded = true;
    }
    return heeded ? MIP6_DONE : drop(p, MIP6_DROP_ICMP6);
}

static bool icmp6_sum_is_right(const PacketIp6 *ip, const uint8_t *icmp,
                               size_t len)
{
    uint32_t sum = packet_sum_pseudo6(&ip->src, &ip->dst, PACKET_PROTO_ICMP6,
                                      len);

    return packet_sum_fold(packet_sum_add(sum, icmp, len)) == 0;
}

static Mip6Verdict take_icmp6(Mip6Port *p, int64_t now, const Arrived *from,
                              const PacketIp6 *ip, const uint8_t *icmp,
                              size_t len)
{
    if (len < ICMP6_LEN || (!from->offload->needs_csum &&
                            !icmp6_sum_is_right(ip, icmp, len))) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    if (icmp[0] < PACKET_ICMP6_ECHO) {
        return take_icmp6_error(p, now, icmp, len);
    }
    return icmp[0] == PACKET_ICMP6_ECHO ? answer_echo(p, from, ip, icmp, len)
                                        : drop(p, MIP6_DROP_ICMP6);
}

/* May the guest get this packet from the tunnel? */
static Mip6Drop check_inner(const Mip6Port *p, const PacketIp6 *outer,
                            const uint8_t *inner, size_t len)
{
    struct in6_addr dst;

    if (!packet_ip6_equal(&outer->src, &p->config.agent)) {
        return MIP6_DROP_STRANGER;
    }
    if (len < PACKET_IP6_LEN || inner[0] >> 4 != 6) {
        return MIP6_DROP_MALFORMED;
    }
    memcpy(&dst, inner + 24, sizeof(dst));
    if (!mip6_home_is_guests(&p->home, &dst) &&
        !(IN6_IS_ADDR_MULTICAST(&dst) && !IN6_IS_ADDR_MC_LINKLOCAL(&dst))) {
        return MIP6_DROP_NOT_HOME_ADDRESS;
    }
    return MIP6_DROP_NONE;
}

/* The checksum is the inner packet's: of octets behind its header. */
static bool csum_is_inside(const PacketOffload *offload, size_t inner,
                           size_t end)
{
    size_t start = offload->csum_start, at = start + offload->csum_offset;

    return !offload->needs_csum ||
           (start >= inner + PACKET_IP6_LEN && at + 2 <= end);
}

/*
 * A packet that is tunnelled to us, at @offset of the frame; @inner has its
 * first @have octets, a copy. Behind the packet may be padding.
 */
static Mip6Verdict out_of_tunnel(Mip6Port *p, size_t offset, uint8_t *inner,
                                 size_t have, const PacketIp6 *outer,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload)
{
    uint8_t head[PACKET_ETH_LEN];
    struct iovec part[1 + MIP6_TUNNEL_PARTS_MAX] = {
        { head, sizeof(head) },
    };
    PacketOffload moved = *offload;
    Mip6Drop why = check_inner(p, outer, inner, have);
    size_t len, copied = 0;
    int parts = 1, rest;

    if (why != MIP6_DROP_NONE) {
        return drop(p, why);
    }
    if (!p->is_running) {
        return keep_or_drop(p);
    }
    len = PACKET_IP6_LEN + packet_get16(inner + 4);
    if (mip6_tunnel_may_be_syn(inner, have) &&
        mip6_tunnel_clamp(&p->tunnel, p->now, inner, have < len ? have : len,
                          offload->needs_csum)) {
        copied = have < len ? have : len;
        part[parts++] = (struct iovec) { inner, copied };
    }
    rest = packet_iov_slice(iov, iovcnt, offset + copied, len - copied,
                            part + parts, MIP6_TUNNEL_PARTS_MAX + 1 - parts);
    if (rest < 0 || !csum_is_inside(offload, offset, offset + len) ||
        !mip6_home_frame_head(&p->home, head)) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    if (moved.needs_csum) {
        moved.csum_start -= offset - PACKET_ETH_LEN;
    }
    p->received++;
    p->ops->to_guest(p->opaque, part, parts + rest, &moved);
    return MIP6_DONE;
}

static Mip6Verdict take_nd(Mip6Port *p, int64_t now, const PacketEth *eth,
                           const uint8_t *packet, size_t len)
{
    PacketNd nd;

    if (!packet_nd_parse(&nd, packet, len)) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    mip6_careof_nd(&p->careof, now, &nd, eth->src);
    if (nd.type == PACKET_ND_RA) {
        judge_location(p, now, &nd.ra);
    }
    return MIP6_DONE;
}

static bool is_addressed_to_us(const Mip6Port *p, const PacketIp6 *ip)
{
    return mip6_careof_owns(&p->careof, &ip->dst) ||
           (!p->is_away && packet_ip6_equal(&ip->dst,
                                            &p->config.home.address));
}

static Mip6Verdict take_upper(Mip6Port *p, int64_t now, const Arrived *from,
                              const PacketIp6 *ip, const PacketIp6Ext *ext,
                              uint8_t *packet, size_t len)
{
    switch (ext->next) {
    case PACKET_PROTO_IP6:
        return out_of_tunnel(p, from->offset + ext->offset,
                             packet + ext->offset, len - ext->offset, ip,
                             from->iov, from->iovcnt, from->offload);
    case PACKET_PROTO_MH:
        return take_mh(p, now, from, ip, ext, packet, len);
    case PACKET_PROTO_ICMP6:
        return take_icmp6(p, now, from, ip, packet + ext->offset,
                          len - ext->offset);
    default:
        return drop(p, MIP6_DROP_UNKNOWN_PROTOCOL);
    }
}

/* Only the home agent has reasons to fragment (RFC 2473 section 7.1 (b)). */
static Mip6Verdict take_fragment(Mip6Port *p, int64_t now, const Arrived *from,
                                 const PacketIp6 *ip, const PacketIp6Ext *ext,
                                 const uint8_t *packet, size_t len)
{
    Arrived put_together = { .eth = from->eth, .iovcnt = 1,
                             .offload = &no_offload };
    struct iovec iov;
    PacketIp6Ext inside;
    PacketIp6 whole;

    if (!packet_ip6_equal(&ip->src, &p->config.agent)) {
        return drop(p, MIP6_DROP_STRANGER);
    }
    if (len < PACKET_IP6_LEN + ip->payload) {
        return drop(p, MIP6_DROP_FRAGMENT);     /* of more than we look at */
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
        return drop(p, MIP6_DROP_MALFORMED);
    }
    put_together.iov = &iov;
    return take_upper(p, now, &put_together, &whole, &inside, iov.iov_base,
                      iov.iov_len);
}

static Mip6Verdict take_packet(Mip6Port *p, int64_t now, const Arrived *from,
                               uint8_t *packet, size_t len)
{
    PacketIp6Ext ext;
    PacketIp6 ip;

    if (len < PACKET_IP6_LEN || packet[0] >> 4 != 6) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    packet_ip6_parse(&ip, packet, len);
    if (starts_like_nd(packet, len) && packet[PACKET_IP6_LEN] >= PACKET_ND_RS &&
        packet[PACKET_IP6_LEN] <= PACKET_ND_REDIRECT) {
        return take_nd(p, now, from->eth, packet, len);
    }
    if (!is_addressed_to_us(p, &ip)) {
        return drop(p, MIP6_DROP_NOT_FOR_US);
    }
    if (len > PACKET_IP6_LEN + ip.payload) {
        len = PACKET_IP6_LEN + ip.payload;      /* padding of short frames */
    }
    if (!packet_ip6_walk(&ext, packet, len)) {
        return drop(p, MIP6_DROP_MALFORMED);
    }
    /* A fragment that is the whole is none (RFC 6946). */
    if (ext.fragment && (ext.more || ext.fragment_offset)) {
        return take_fragment(p, now, from, &ip, &ext, packet, len);
    }
    return take_upper(p, now, from, &ip, &ext, packet, len);
}

/*
 * At home the answer to the last Binding Update comes to the home address, and
 * so to the guest's MAC address. The guest has not asked, and must not see it.
 */
static bool is_answer_at_home(const Mip6Port *p, const struct iovec *iov,
                              int iovcnt)
{
    uint8_t head[PACKET_ETH_LEN + PACKET_IP6_LEN];
    const uint8_t *ip = head + PACKET_ETH_LEN;

    return p->binding.state == MIP6_RETURNING &&
           packet_iov_copy(iov, iovcnt, 0, head, sizeof(head)) ==
           sizeof(head) &&
           packet_get16(head + 12) == PACKET_ETH_IP6 &&
           (ip[6] == PACKET_PROTO_MH || ip[6] == PACKET_PROTO_ROUTING) &&
           memcmp(ip + 8, &p->config.agent, sizeof(p->config.agent)) == 0;
}

static Mip6Verdict read_frame(Mip6Port *p, int64_t now,
                              const struct iovec *iov, int iovcnt,
                              const PacketOffload *offload)
{
    uint8_t head[CONTROL_MAX];
    size_t len = packet_iov_copy(iov, iovcnt, 0, head, sizeof(head));
    Arrived from = { .iov = iov, .iovcnt = iovcnt, .offload = offload };
    Mip6Verdict verdict;
    PacketEth eth;

    if (!packet_eth_parse(&eth, head, len) || eth.tags ||
        eth.type != PACKET_ETH_IP6) {
        return drop(p, MIP6_DROP_OTHER_PROTOCOL);
    }
    from.eth = &eth;
    from.offset = eth.len;
    verdict = take_packet(p, now, &from, head + eth.len, len - eth.len);
    settle(p, now);
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
        return is_home(p) ? MIP6_PASS : drop(p, MIP6_DROP_MALFORMED);
    }
    if (mip6_port_passes(p, false, dst)) {
        return MIP6_PASS;
    }
    ours = memcmp(dst, p->careof.mac, sizeof(dst)) == 0 ||
           is_answer_at_home(p, iov, iovcnt);
    if (is_home(p) && !ours) {
        if (packet_eth_is_group(dst)) {
            overhear(p, now, false, iov, iovcnt);
        }
        return p->is_running ? MIP6_PASS : keep_or_drop(p);
    }
    if (!ours && !packet_eth_is_group(dst)) {
        return drop(p, MIP6_DROP_NOT_FOR_US);
    }
    return read_frame(p, now, iov, iovcnt, offload);
}

/* --- migration ------------------------------------------------------------ */

#define SAVED_VERSION   1

/* Numbers in network order, one after the other. */
typedef struct Cursor {
    uint8_t *p;
    size_t left;
    bool bad;
} Cursor;

/* Copy octets out of (@write) or into @value. */
static void field(Cursor *c, bool write, void *value, size_t len)
{
    if (c->left < len) {
        c->bad = true;
        return;
    }
    memcpy(write ? (void *)c->p : value, write ? value : (void *)c->p, len);
    c->p += len;
    c->left -= len;
}

static void field32(Cursor *c, bool write, uint32_t *value)
{
    uint8_t octets[4];

    packet_put32(octets, *value);
    field(c, write, octets, sizeof(octets));
    *value = packet_get32(octets);
}

/* A number that is smaller in memory; what does not fit is bad. */
#define FIELD(c, write, value, max)                 \
    do {                                            \
        uint32_t number_ = (value);                 \
        field32(c, write, &number_);                \
        (c)->bad |= number_ > (max);                \
        (value) = number_;                          \
    } while (0)

static void ra_fields(Cursor *c, bool write, PacketNdRa *ra)
{
    uint32_t preference = ra->preference + 1;

    FIELD(c, write, ra->hop_limit, UINT8_MAX);
    FIELD(c, write, ra->managed, 1);
    FIELD(c, write, ra->other, 1);
    FIELD(c, write, ra->home_agent, 1);
    FIELD(c, write, preference, 2);
    ra->preference = preference <= 2 ? (int)preference - 1 : 0;
    FIELD(c, write, ra->lifetime, UINT16_MAX);
    FIELD(c, write, ra->reachable, UINT32_MAX);
    FIELD(c, write, ra->retrans, UINT32_MAX);
    FIELD(c, write, ra->mtu, UINT32_MAX);
    FIELD(c, write, ra->prefixes, PACKET_ND_PREFIX_MAX);
    for (unsigned i = 0; !c->bad && i < ra->prefixes; i++) {
        PacketNdPrefix *p = &ra->prefix[i];

        field(c, write, &p->prefix, sizeof(p->prefix));
        FIELD(c, write, p->len, 128);
        FIELD(c, write, p->on_link, 1);
        FIELD(c, write, p->autonomous, 1);
        FIELD(c, write, p->router_address, 1);
        FIELD(c, write, p->valid, UINT32_MAX);
        FIELD(c, write, p->preferred, UINT32_MAX);
    }
}

static void learned_fields(Cursor *c, bool write, Mip6HomeLearned *l)
{
    FIELD(c, write, l->has_guest_mac, 1);
    FIELD(c, write, l->has_router, 1);
    FIELD(c, write, l->has_ra, 1);
    field(c, write, l->guest_mac, sizeof(l->guest_mac));
    field(c, write, &l->router, sizeof(l->router));
    field(c, write, l->router_mac, sizeof(l->router_mac));
    ra_fields(c, write, &l->ra);
    FIELD(c, write, l->addresses, MIP6_HOME_ADDRESSES);
    for (unsigned i = 0; !c->bad && i < l->addresses; i++) {
        field(c, write, &l->address[i], sizeof(l->address[i]));
    }
}

static void binding_fields(Cursor *c, bool write, Mip6BindingSaved *b)
{
    uint32_t ms = b->remaining / 1000000;

    FIELD(c, write, b->bound, 1);
    FIELD(c, write, b->sequence, UINT16_MAX);
    field(c, write, &b->care_of, sizeof(b->care_of));
    FIELD(c, write, ms, UINT32_MAX);
    b->remaining = ms * 1000000ll;
}

size_t mip6_port_save(const Mip6Port *p, int64_t now, void *buf)
{
    Cursor c = { buf, MIP6_PORT_SAVED_MAX, false };
    Mip6HomeLearned learned = p->home.learned;
    Mip6BindingSaved binding;
    uint32_t version = SAVED_VERSION;

    mip6_binding_save(&p->binding, now, &binding);
    FIELD(&c, true, version, SAVED_VERSION);
    binding_fields(&c, true, &binding);
    learned_fields(&c, true, &learned);
    return c.bad ? 0 : MIP6_PORT_SAVED_MAX - c.left;
}

bool mip6_port_load(Mip6Port *p, int64_t now, const void *buf, size_t len)
{
    Cursor c = { (uint8_t *)buf, len, false };
    Mip6HomeLearned learned = { 0 };
    Mip6BindingSaved binding = { 0 };
    uint32_t version = 0;

    FIELD(&c, false, version, SAVED_VERSION);
    binding_fields(&c, false, &binding);
    learned_fields(&c, false, &learned);
    if (c.bad || c.left || version != SAVED_VERSION || !learned.addresses ||
        !packet_ip6_equal(&learned.address[0], &p->config.home.address) ||
        !mip6_binding_load(&p->binding, now, &binding)) {
        return false;
    }
    p->home.learned = learned;
    return true;
}
