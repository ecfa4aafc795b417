/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home agent of a port: selection and discovery
 *
 * A configured agent is the only one. Otherwise, while the VM is away and no
 * agent is known, the router of the home link's last advertisement is used if
 * it had the H bit and an address (RFC 6275 section 7); without one, discovery
 * requests are sent (dhaad.c). The first agent in the list of the answer gets
 * the Binding Updates. If it refuses all home addresses, or does not answer,
 * the next one is used. After the last one, discovery starts again, and until
 * there is an answer, updates are still sent to the last one. An agent that has
 * a binding is kept until the binding ends.
 */
#include <string.h>

#include "net/mip6/port/internal.h"

/*
 * Maximum number of Binding Updates without an answer: the first two take 4.5
 * s, so another agent has the binding before the guest's frames time out.
 */
#define TRIES_MAX       2u

/* Sends it from the care-of address (section 11.4.1). */
static void send_request(void *opaque, uint16_t id)
{
    Mip6Port *p = opaque;
    const Mip6Icmp m = { .type = MIP6_ICMP_AGENT_REQUEST, .id = id };
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + MIP6_ICMP_MAX];
    uint8_t *packet = frame + PACKET_ETH_LEN, mac[PACKET_ETH_ADDR_LEN];
    PacketIp6 ip = {
        .src = p->dhaad.care_of,
        .dst = p->dhaad.anycast,
        .next = PACKET_PROTO_ICMP6,
        .hops = p->careof.hop_limit,
    };

    p->settle = true;           /* users see that there is no answer */
    if (!mip6_careof_next_hop(&p->careof, p->now, &ip.dst, mac)) {
        p->dropped[MIP6_DROP_NO_NEXT_HOP]++;
        return;                 /* it will be repeated */
    }
    ip.payload = mip6_icmp_build(packet + PACKET_IP6_LEN, &ip.src, &ip.dst,
                                 &m);
    packet_ip6_build(packet, &ip);
    packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
    mip6_port_transmit(p, frame, PACKET_ETH_LEN + PACKET_IP6_LEN + ip.payload);
}

static uint32_t port_random(void *opaque)
{
    Mip6Port *p = opaque;

    return p->ops->random(p->opaque);
}

/* An address that the guest was only heard to use may be an agent's. */
static bool is_own(void *opaque, const struct in6_addr *addr)
{
    const Mip6Port *p = opaque;
    const Mip6HomeLearned *l = &p->home.learned;
    bool is = false;

    for (unsigned i = 0; i < mip6_home_configured(&p->home); i++) {
        is |= packet_ip6_equal(addr, &l->address[i]);
    }
    return is;
}

static const Mip6DhaadOps dhaad_ops = {
    .request = send_request,
    .random = port_random,
    .is_own = is_own,
};

void mip6_port_agent_init(Mip6Port *p)
{
    mip6_dhaad_init(&p->dhaad, &p->config.home.address,
                    p->config.home.prefix_len, &dhaad_ops, p);
    if (!p->config.discover) {
        mip6_dhaad_use(&p->dhaad, &p->config.agent);
    }
}

bool mip6_port_agent_load(Mip6Port *p, const struct in6_addr *agent,
                          bool bound)
{
    if (!p->config.discover) {
        return true;
    }
    if (IN6_IS_ADDR_UNSPECIFIED(agent)) {
        return !bound;
    }
    if (!mip6_dhaad_is_agents(&p->dhaad, agent)) {
        return false;
    }
    mip6_dhaad_stop(&p->dhaad);
    mip6_dhaad_use(&p->dhaad, agent);
    return true;
}

/* --- selection ------------------------------------------------------------ */

/* The home link's router has advertised that it is a home agent. */
static void use_heard(Mip6Port *p)
{
    const Mip6HomeLearned *l = &p->home.learned;

    if (!l->has_ra || !l->ra.home_agent) {
        return;
    }
    for (unsigned i = 0; i < l->ra.prefixes; i++) {
        const PacketNdPrefix *prefix = &l->ra.prefix[i];

        if (prefix->router_address && prefix->valid &&
            mip6_dhaad_is_agents(&p->dhaad, &prefix->prefix)) {
            mip6_dhaad_use(&p->dhaad, &prefix->prefix);
            return;
        }
    }
}

void mip6_port_seek_agent(Mip6Port *p, int64_t now,
                          const struct in6_addr *care_of)
{
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    if (!p->config.discover) {
        return;
    }
    if (!care_of || mip6_port_has_left(p) || mip6_port_any_is(p, MIP6_BOUND)) {
        mip6_dhaad_stop(&p->dhaad);
        return;
    }
    if (!p->dhaad.agents) {
        use_heard(p);
    }
    if ((!p->dhaad.agents || p->dhaad.is_asking) &&
        mip6_careof_next_hop(&p->careof, now, &p->dhaad.anycast, mac)) {
        mip6_dhaad_ask(&p->dhaad, now, care_of);
    }
}

/* Another agent gets the updates of all home addresses from now on. */
static void turn_to_agent(Mip6Port *p, int64_t now)
{
    p->asked = in6addr_any;     /* it does not know the groups yet */
    p->settle = true;
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_next_agent(&p->binding[i], now);
    }
    if (mip6_port_is_running(p)) {  /* otherwise they are sent when it runs */
        mip6_port_bindings_tick(p, now);
    }
}

Mip6Verdict mip6_port_take_agents(Mip6Port *p, int64_t now,
                                  const PacketIp6 *ip, const uint8_t *icmp,
                                  size_t len)
{
    Mip6Icmp m;

    if (!mip6_icmp_parse(&m, &ip->src, &ip->dst, icmp, len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (!packet_ip6_equal(&ip->dst, &p->dhaad.care_of) ||
        !mip6_dhaad_reply(&p->dhaad, now, &m)) {
        return mip6_port_drop(p, MIP6_DROP_ICMP6);
    }
    turn_to_agent(p, now);
    return MIP6_DONE;
}

/* --- next agent ----------------------------------------------------------- */

static bool gives_no_binding(const Mip6Port *p, unsigned i, int64_t now)
{
    const Mip6Binding *b = &p->binding[i];

    return b->state == MIP6_REGISTERING && !(p->unsent & 1u << i) &&
           (mip6_binding_is_refused(b) || b->tries > TRIES_MAX ||
            (b->tries == TRIES_MAX && b->next <= now));
}

void mip6_port_try_next_agent(Mip6Port *p, int64_t now)
{
    if (!p->config.discover || !p->dhaad.agents || !mip6_port_is_running(p) ||
        !mip6_port_is_away(p)) {
        return;
    }
    for (unsigned i = 0; i < p->bindings; i++) {
        if (!gives_no_binding(p, i, now)) {
            return;
        }
    }
    if (mip6_dhaad_next(&p->dhaad)) {
        turn_to_agent(p, now);
    } else {
        mip6_dhaad_ask(&p->dhaad, now, &p->binding[0].care_of);
    }
}
