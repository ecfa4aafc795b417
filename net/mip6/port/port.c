/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One VM's mobile node
 *
 * Theory of operation
 * ===================
 *
 *                  at home                      away
 *   guest -- passes, is read --- link   guest -- home.c -- tunnel.c -- link
 *                                                  |           |
 *                                        answers as the      addresses from
 *                                        home link would     careof.c, state
 *                                                            from binding.c
 *
 * Router advertisements determine where the VM is: one with the home prefix
 * means home, any other one with a prefix or a default router means away. If
 * the home prefix was heard on this link, another advertisement may come from a
 * second router of the same link: then routers are solicited, and only if none
 * advertises the home prefix for DOUBT_MAX, this is another link. At home the
 * port reads only advertisements and the guest's neighbour discovery, which are
 * multicast. A unicast frame is passed on after a check of its destination
 * address only.
 *
 * Away, no frame is passed on unchanged. The host of careof.c is on the foreign
 * link with its own MAC address; the guest is behind the tunnel. A frame that
 * cannot be sent yet, because there is no binding, is held with its sender
 * (MIP6_HELD) for HOLD_MAX, so that a change of networks loses nothing. After
 * that time it is dropped and counted, as on a link without carrier. Each home
 * address has its own binding (bindings.c); they share the care-of address, the
 * home agent (discovery.c) and the tunnel.
 *
 * The parts do not know each other. They report changes with callbacks, which
 * only set @settle; mip6_port_settle() then passes the changes to the other
 * parts.
 */
#include <string.h>

#include "base/units.h"
#include "net/mip6/port/internal.h"

#define HOLD_MAX                (10 * SECOND)
/* Maximum delay of frames of other addresses once an address is bound. */
#define HOLD_OTHERS             (3 * SECOND)
/* Long enough for three router solicitations. */
#define DOUBT_MAX               (12 * SECOND)

/* --- callbacks of the parts ----------------------------------------------- */

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

    p->ops->to_guest(p->opaque, &iov, 1, &mip6_port_no_offload);
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
        p->ops->to_guest(p->opaque, iov, 2, &mip6_port_no_offload);
    }
}

/* From the care-of address, or from home (RFC 6275 sections 6.1.7, 11.5.5). */
static bool binding_send(void *opaque, const Mip6Binding *b, const Mip6Mh *bu,
                         const struct in6_addr *care_of)
{
    Mip6Port *p = opaque;
    const struct in6_addr *home = &b->config.home;
    const struct in6_addr *agent = mip6_port_agent(p);
    bool at_home = packet_ip6_equal(care_of, home);
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + MIP6_HAO_LEN + 128 +
                  MIP6_PROTECT_MORE];
    uint8_t *packet = frame + PACKET_ETH_LEN, *at = packet + PACKET_IP6_LEN;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    size_t len;
    PacketIp6 ip = {
        .src = *care_of,
        .dst = *agent,
        .next = at_home ? PACKET_PROTO_MH : PACKET_PROTO_DSTOPTS,
        .hops = p->careof.hop_limit,
    };

    if (!mip6_careof_next_hop(&p->careof, p->now, agent, mac)) {
        p->dropped[MIP6_DROP_NO_NEXT_HOP]++;
        p->unsent |= 1u << (b - p->binding);    /* sent later */
        return false;
    }
    if (!at_home) {
        at += mip6_hao_build(at, PACKET_PROTO_MH, home);
    }
    at += mip6_mh_build(at, frame + sizeof(frame) - at, home, agent, bu);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    mip6_port_has_updated(p);
    len = mip6_port_protect(p, b, packet, at - packet,
                            frame + sizeof(frame) - packet);
    if (len) {
        packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
        mip6_port_transmit(p, frame, PACKET_ETH_LEN + len);
    }
    if (!at_home && !mip6_port_is_away(p)) {
        mip6_port_early_sent(p, b, mac);
    }
    return true;
}

/* From the care-of address, for the home address (section 11.4.2). */
static void prefixes_solicit(void *opaque, uint16_t id)
{
    Mip6Port *p = opaque;
    const struct in6_addr *agent = mip6_port_agent(p);
    const Mip6Icmp m = { .type = MIP6_ICMP_PREFIX_SOLICIT, .id = id };
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + MIP6_HAO_LEN +
                  MIP6_ICMP_MAX + MIP6_PROTECT_MORE];
    uint8_t *packet = frame + PACKET_ETH_LEN, *at = packet + PACKET_IP6_LEN;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    size_t len;
    PacketIp6 ip = {
        .src = p->binding[0].care_of,
        .dst = *agent,
        .next = PACKET_PROTO_DSTOPTS,
        .hops = p->careof.hop_limit,
    };

    if (!mip6_careof_next_hop(&p->careof, p->now, agent, mac)) {
        p->dropped[MIP6_DROP_NO_NEXT_HOP]++;
        return;                 /* it will be repeated */
    }
    at += mip6_hao_build(at, PACKET_PROTO_ICMP6, &p->config.home.address);
    at += mip6_icmp_build(at, &p->config.home.address, agent, &m);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    len = mip6_port_protect(p, &p->binding[0], packet, at - packet,
                            frame + sizeof(frame) - packet);
    if (len) {
        packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
        mip6_port_transmit(p, frame, PACKET_ETH_LEN + len);
    }
}

static const Mip6PrefixesOps prefixes_ops = {
    .solicit = prefixes_solicit,
    .random = port_random,
};

static const Mip6CareOfOps careof_ops = {
    .transmit = mip6_port_transmit,
    .random = port_random,
    .changed = part_changed,
};

static const Mip6BindingOps binding_ops = {
    .send = binding_send,
    .not_before = mip6_port_may_update,
    .changed = part_changed,
};

static const Mip6HomeOps home_ops = {
    .to_guest = guest_transmit,
};

static const Mip6TunnelOps tunnel_ops = {
    .transmit = tunnel_transmit,
    .to_guest = guest_packet,
};

/* --- location ------------------------------------------------------------- */

/* A router advertises the home prefix. */
static void be_home(Mip6Port *p, int64_t now)
{
    bool returns = !mip6_port_is_home(p);

    if (p->place == MIP6_PLACE_HOME) {
        return;
    }
    mip6_port_set_place(p, MIP6_PLACE_HOME);
    if (!returns) {
        return;
    }
    mip6_dhaad_stop(&p->dhaad);
    mip6_home_return(&p->home);
    if (mip6_port_is_running(p)) {
        mip6_port_deregister(p, now);
    }
    p->settle = true;
}

/* Away: for the guest this is its home link. */
static void simulate_home(Mip6Port *p, int64_t now)
{
    mip6_home_leave(&p->home, now);
    if (mip6_home_is_made_up(&p->home) && !mip6_home_preferred(&p->home)) {
        mip6_prefixes_ask(&p->prefixes, now);
    }
}

static void be_away(Mip6Port *p, int64_t now)
{
    if (mip6_port_is_away(p)) {
        return;
    }
    mip6_port_set_place(p, MIP6_PLACE_AWAY);
    p->early.is_on = false;
    p->hold_until = now + HOLD_MAX;
    mip6_prefixes_lifetime(&p->prefixes, now, mip6_home_preferred(&p->home));
    if (mip6_port_is_running(p)) {
        simulate_home(p, now);
    }
    p->settle = true;
}

void mip6_port_judge_location(Mip6Port *p, int64_t now, const PacketNdRa *ra)
{
    if (p->config.location != MIP6_LOCATION_AUTO) {
        return;
    }
    if (mip6_home_is_home_prefix(&p->home, ra)) {
        be_home(p, now);
    } else if (ra->lifetime || ra->prefixes) {
        p->heard_off_link |= mip6_home_is_off_link(&p->home, ra);
        if (p->place == MIP6_PLACE_HOME) {
            /* This can be another router of the home link, or another link. */
            mip6_port_set_place(p, MIP6_PLACE_DOUBTED);
            p->doubt_until = now + DOUBT_MAX;
            mip6_careof_solicit(&p->careof, now);
            p->settle = true;
        } else if (p->place != MIP6_PLACE_DOUBTED) {
            be_away(p, now);
        }
    }
}

/*
 * RFC 6275 section 11.5.5: neighbours of the agent have the agent's MAC
 * address.
 */
static void announce_home(Mip6Port *p, const struct in6_addr *addr)
{
    const uint8_t *mac = mip6_home_guest_mac(&p->home);
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    uint8_t group[PACKET_ETH_ADDR_LEN];
    size_t len;

    if (mac && mip6_home_is_guests(&p->home, addr)) {
        len = packet_nd_build_na(frame + PACKET_ETH_LEN, addr,
                                 &packet_ip6_all_nodes, addr,
                                 PACKET_NA_OVERRIDE, mac);
        packet_eth_group6(group, &packet_ip6_all_nodes);
        packet_eth_build(frame, group, mac, PACKET_ETH_IP6);
        mip6_port_transmit(p, frame, PACKET_ETH_LEN + len);
    }
}

static int64_t min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_tunnel(Mip6Port *p, const struct in6_addr *care_of)
{
    const struct in6_addr *agent = mip6_port_agent(p);
    const Mip6Tunnel *t = &p->tunnel;

    if (!packet_ip6_equal(care_of, &t->local) ||
        !packet_ip6_equal(agent, &t->remote) ||
        t->link_mtu != p->careof.mtu || t->hop_limit != p->careof.hop_limit) {
        mip6_tunnel_set(&p->tunnel, care_of, agent, p->careof.mtu,
                        p->careof.hop_limit);
    }
}

static const struct in6_addr *care_of_address(const Mip6Port *p, int64_t now)
{
    return mip6_port_is_away(p) ? mip6_careof_address(&p->careof, now)
                                : mip6_port_early_address(p);
}

/* Passes changes between the parts. */
void mip6_port_settle(Mip6Port *p, int64_t now)
{
    const struct in6_addr *care_of;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    struct in6_addr home;

    if (!p->settle) {
        return;
    }
    p->careof.toward = *mip6_port_agent(p);
    mip6_careof_foreign(&p->careof, now,
                        mip6_port_is_away(p) &&
                        p->presence != MIP6_PRESENCE_RELEASED);
    if (mip6_port_is_away(p) || p->early.is_on) {
        care_of = care_of_address(p, now);
        mip6_port_seek_agent(p, now, care_of);
        mip6_port_try_next_agent(p, now);
        if (care_of) {
            set_tunnel(p, care_of);
            /* Resolve the next hop to the agent before it is needed. */
            mip6_careof_next_hop(&p->careof, now, mip6_port_agent(p), mac);
        }
        if (mip6_port_is_running(p)) {
            mip6_port_register(p, now, care_of, care_of
                               ? mip6_careof_valid_until(&p->careof, care_of)
                               : INT64_MAX);
        }
    } else if (mip6_port_is_home(p) && p->presence == MIP6_PRESENCE_STOPPED &&
               p->dhaad.agents) {
        /* If it arrives at home, it may have to end a binding. */
        mip6_careof_next_hop(&p->careof, now, mip6_port_agent(p), mac);
    }
    if (mip6_port_is_running(p) && p->unsent &&
        mip6_careof_next_hop(&p->careof, now, mip6_port_agent(p), mac)) {
        mip6_port_retry(p, now);
    }
    if (mip6_port_is_away(p) && mip6_port_any_is(p, MIP6_BOUND)) {
        p->hold_until = min_time(p->hold_until, now + HOLD_OTHERS);
        if (mip6_port_is_running(p) &&
            !packet_ip6_equal(&p->asked, &p->tunnel.local)) {
            /* The agent does not know the groups at this address yet. */
            p->asked = p->tunnel.local;
            mip6_home_query(&p->home);
            mip6_port_probe_bound(p, now);
        }
    }
    if (mip6_port_is_running(p) && mip6_port_is_home(p)) {
        mip6_home_arrive(&p->home, mip6_careof_has_router(&p->careof, now,
                                                          &p->home.told.addr));
    }
    mip6_port_probe_trouble(p, now);
    while (mip6_port_came_home(p, &home)) {
        announce_home(p, &home);
        mip6_home_query(&p->home);
    }
    mip6_prefixes_bound(&p->prefixes, mip6_port_is_away(p) &&
                                      p->binding[0].state == MIP6_BOUND);
    p->settle = false;          /* also for the binding's own change */
    p->ops->changed(p->opaque);
}

/* --- start, stop, time ---------------------------------------------------- */

static Mip6Place first_place(Mip6Location configured, bool arriving)
{
    switch (configured) {
    case MIP6_LOCATION_HOME:
        return MIP6_PLACE_HOME;
    case MIP6_LOCATION_AWAY:
        return MIP6_PLACE_AWAY;
    default:
        return arriving ? MIP6_PLACE_UNKNOWN : MIP6_PLACE_ASSUMED;
    }
}

void mip6_port_init(Mip6Port *p, const Mip6PortConfig *config,
                    const Mip6PortOps *ops, void *opaque, bool arriving)
{
    memset(p, 0, sizeof(*p));
    p->config = *config;
    p->ops = ops;
    p->opaque = opaque;
    p->hold_until = p->early.quiet_until = INT64_MAX;
    p->silence.since = p->silence.look = INT64_MAX;
    mip6_careof_init(&p->careof, config->mac, config->mtu,
                     config->has_care_of ? &config->care_of : NULL,
                     &careof_ops, p);
    mip6_home_init(&p->home, &config->home, &home_ops, p);
    mip6_port_agent_init(p);
    mip6_port_bind_configured(p, &binding_ops);
    mip6_prefixes_init(&p->prefixes, &prefixes_ops, p);
    mip6_port_probe_init(p);
    mip6_tunnel_init(&p->tunnel, &tunnel_ops, p, p->config.protect,
                     mip6_port_has_sa(p, MIP6_TUNNEL_OUT) ? p->bindings : 0);
    mip6_port_late_end(p);
    p->tunnel.fragment_id = ops->random(opaque);
    p->place = first_place(config->location, arriving);
}

void mip6_port_destroy(Mip6Port *p)
{
    mip6_port_late_end(p);
}

void mip6_port_start(Mip6Port *p, int64_t now)
{
    p->now = now;
    mip6_careof_start(&p->careof, now);
}

void mip6_port_run(Mip6Port *p, int64_t now)
{
    p->now = now;
    /* It may have come back before the agent had the new binding. */
    p->early.is_on &= !mip6_port_has_left(p);
    if (!mip6_port_is_running(p)) {
        mip6_port_set_presence(p, MIP6_PRESENCE_RUNNING);
    }
    mip6_port_late_end(p);
    p->hold_until = now + HOLD_MAX;
    for (unsigned i = 0; i < mip6_port_protected(p); i++) {
        mip6_protect_take_back(p->config.protect[i]);
    }
    if (mip6_port_is_away(p)) {
        mip6_prefixes_arrive(&p->prefixes, now,
                             mip6_home_preferred(&p->home));
        simulate_home(p, now);
        mip6_port_resume(p, now);
    } else if (mip6_port_is_home(p) && !p->early.is_on) {
        mip6_port_deregister(p, now);
    }
    p->settle = true;
    mip6_port_settle(p, now);
}

void mip6_port_prepare(Mip6Port *p, int64_t now)
{
    p->now = now;
    if (p->config.early_registration && mip6_port_is_home(p)) {
        p->early.is_on = p->settle = true;
        p->early.question = p->ops->random(p->opaque);
        mip6_port_settle(p, now);
    }
}

void mip6_port_stay(Mip6Port *p, int64_t now)
{
    p->now = now;
    if (!p->early.is_on) {
        return;
    }
    p->early.is_on = false;
    if (mip6_port_is_running(p)) {
        mip6_port_deregister(p, now);
        p->settle = true;
        mip6_port_settle(p, now);
    }
}

void mip6_port_pause(Mip6Port *p)
{
    if (mip6_port_is_running(p)) {
        mip6_port_set_presence(p, MIP6_PRESENCE_STOPPED);
    }
    mip6_home_return(&p->home);
}

void mip6_port_leave(Mip6Port *p, int64_t now)
{
    if (p->presence != MIP6_PRESENCE_STOPPED) {
        return;
    }
    p->now = now;
    mip6_port_set_presence(p, MIP6_PRESENCE_LEFT);
    mip6_dhaad_stop(&p->dhaad);
    mip6_port_late_begin(p);
    p->ops->changed(p->opaque);         /* held frames may be sent now */
}

int64_t mip6_port_deadline(const Mip6Port *p)
{
    int64_t at = mip6_careof_deadline(&p->careof);

    at = p->place == MIP6_PLACE_DOUBTED ? min_time(at, p->doubt_until) : at;
    at = min_time(at, mip6_port_late_deadline(p));
    at = min_time(at, mip6_dhaad_deadline(&p->dhaad));
    at = min_time(at, p->early.quiet_until);
    if (mip6_port_is_running(p)) {
        at = p->holding ? min_time(at, p->hold_until) : at;
        at = min_time(at, mip6_port_bindings_deadline(p));
        at = min_time(at, p->silence.look);
        at = min_time(at, mip6_port_probe_deadline(p));
        at = min_time(at, mip6_home_deadline(&p->home));
        at = min_time(at, mip6_prefixes_deadline(&p->prefixes));
    } else if (!mip6_port_has_left(p)) {
        at = min_time(at, mip6_port_bound_until(p));
    }
    return at;
}

void mip6_port_tick(Mip6Port *p, int64_t now)
{
    p->now = now;
    mip6_careof_tick(&p->careof, now);
    if (p->place == MIP6_PLACE_DOUBTED && p->doubt_until <= now) {
        mip6_careof_start(&p->careof, now);     /* on a new link */
        be_away(p, now);
    }
    if (p->holding && p->hold_until <= now) {
        p->holding = false;
        p->settle = true;       /* held frames are offered again */
    }
    mip6_port_settle(p, now);
    mip6_dhaad_tick(&p->dhaad, now);    /* from an address that is valid */
    mip6_port_early_tick(p);
    if (mip6_port_has_left(p)) {
        mip6_port_late_tick(p);
    }
    if (mip6_port_is_running(p)) {
        mip6_port_try_next_agent(p, now);
        mip6_port_silence_tick(p, now);
        mip6_port_bindings_tick(p, now);
        mip6_port_try_other_address(p, now);
        mip6_port_probe_tick(p, now);
        mip6_home_tick(&p->home, now);
        mip6_prefixes_tick(&p->prefixes, now);
        mip6_port_settle(p, now);
    } else if (!mip6_port_has_left(p)) {
        mip6_port_look(p, now);
        mip6_port_settle(p, now);
    }
}

bool mip6_port_passes(const Mip6Port *p, bool from_guest,
                      const uint8_t dst[PACKET_ETH_ADDR_LEN])
{
    if (!mip6_port_is_home(p) || !mip6_port_is_running(p) ||
        p->early.quiet_until != INT64_MAX || packet_eth_is_group(dst)) {
        return false;
    }
    return from_guest ? !mip6_home_is_gone(&p->home, dst)
                      : !mip6_port_assumes_home(p) &&
                        !mip6_port_any_is(p, MIP6_RETURNING) &&
                        memcmp(dst, p->careof.mac, PACKET_ETH_ADDR_LEN);
}
