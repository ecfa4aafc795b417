/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A home link with its agent, and a VM before its migration: mip6-early.h */
#include <glib.h>
#include <string.h>

#include "mip6-early.h"

const uint8_t node_mac[] = { 0x02, 0xdd, 0, 0, 0, 1 };

static struct {
    bool probes;                /* the agent asks for the home address */
    bool proxies;               /* the agent is the proxy of the home address */
    unsigned heard;             /* frames of the log already handled */
} host;

static bool agent_proxy(void *opaque, const struct in6_addr *home, bool on)
{
    host.proxies = on;
    return true;
}

static void agent_probe(void *opaque, const struct in6_addr *home)
{
    host.probes = true;
}

/* --- the home link -------------------------------------------------------- */

size_t solicitation(uint8_t *frame, const char *src, const char *target,
                    const uint8_t *src_mac, const uint8_t *dst_mac)
{
    struct in6_addr from = address(src), to = address(target);
    struct in6_addr group = packet_ip6_solicited(&to);
    bool probe = IN6_IS_ADDR_UNSPECIFIED(&from);
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    size_t len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &from,
                                    dst_mac ? &to : &group, &to,
                                    probe ? NULL : src_mac);

    packet_eth_group6(mac, &group);
    packet_eth_build(frame, dst_mac ? dst_mac : mac, src_mac, PACKET_ETH_IP6);
    return PACKET_ETH_LEN + len;
}

size_t advertisement(uint8_t *frame, const char *dst, const char *target,
                     const uint8_t *src_mac, const uint8_t *dst_mac)
{
    struct in6_addr to = address(dst), about = address(target);
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    size_t len = packet_nd_build_na(frame + PACKET_ETH_LEN, &about, &to, &about,
                                    PACKET_NA_OVERRIDE, src_mac);

    packet_eth_group6(mac, &to);
    packet_eth_build(frame, dst_mac ? dst_mac : mac, src_mac, PACKET_ETH_IP6);
    return PACKET_ETH_LEN + len;
}

Mip6Verdict guest_claims(World *w, const char *dst, const uint8_t *mac)
{
    struct in6_addr home = address(HOME);
    uint8_t frame[128];
    size_t len = advertisement(frame, dst, HOME, guest_mac, mac);
    Mip6Verdict verdict = from_guest(w, frame, len);

    if (verdict == MIP6_PASS && (!mac || !memcmp(mac, router_mac, 6))) {
        mip6_agent_claimed(&w->agent, w->now, &home);
    }
    return verdict;
}

bool asked(World *w, const char *src, const uint8_t *mac, bool unicast)
{
    bool probe = !strcmp(src, "::");
    uint8_t frame[128];
    size_t len = solicitation(frame, src, HOME, mac, unicast ? guest_mac
                                                             : NULL);

    return from_link(w, frame, len) == MIP6_PASS &&
           (probe ? guest_claims(w, "ff02::1", NULL)
                  : guest_claims(w, src, mac)) == MIP6_PASS;
}

/* Handles the source's messages to nodes of the link about the home address. */
static void hear_log(World *w)
{
    struct in6_addr home = address(HOME), dst;

    for (; host.heard < w->logged; host.heard++) {
        Frame *f = &w->log[host.heard % WORLD_LOG];

        memcpy(&dst, f->buf + PACKET_ETH_LEN + 24, 16);
        if (!memcmp(f->buf, router_mac, 6) && packet_ip6_equal(&dst, &home)) {
            mip6_agent_packet(&w->agent, w->now, f->buf + PACKET_ETH_LEN,
                              f->len - PACKET_ETH_LEN);
        }
    }
}

static void hear(World *w)
{
    hear_log(w);
    if (host.probes) {
        host.probes = false;
        asked(w, "::", router_mac, false);
    }
    deliver(w);
}

void go(World *w, int64_t ns)
{
    int64_t end = w->now + ns, at;

    hear(w);
    while ((at = MIN(mip6_port_deadline(&w->port),
                     mip6_agent_deadline(&w->agent))) <= end) {
        w->now = MAX(at, w->now);
        mip6_agent_tick(&w->agent, w->now);
        mip6_port_tick(&w->port, w->now);
        hear(w);
    }
    w->now = end;
}

void advertise_home(World *w, bool autonomous)
{
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = 1800, .prefixes = 1,
        .prefix[0] = { address("2001:db8:2000::"), 64, true, autonomous, false,
                       7200, 3600 },
    };

    advertise_ra(w, &ra, router_mac);
}

World *at_home(Mip6AgentDad dad, bool on)
{
    static Mip6AgentOps ops;
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    memset(&host, 0, sizeof(host));
    ops = agent_ops;
    ops.proxy = agent_proxy;
    ops.probe = agent_probe;
    w->agent.ops = &ops;
    w->agent.config.dad = dad;
    w->port.config.early_registration = on;
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise_home(w, true);
    guest_claims(w, "ff02::1", NULL);   /* its MAC address */
    pass(w, 5 * SECOND);
    return w;
}

World *prepared(Mip6AgentDad dad)
{
    World *w = at_home(dad, true);

    mip6_port_prepare(&w->port, w->now);
    answer_for(w, &w->port.config.agent);
    return w;
}

World *bound(void)
{
    World *w = prepared(MIP6_AGENT_DAD_STRICT);

    go(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    w->to_guest = 0;
    return w;
}

const Mip6AgentBinding *registered(const World *w)
{
    struct in6_addr home = address(HOME);

    return mip6_agent_binding(&w->agent, &home);
}

void to_agent(World *w, size_t payload)
{
    uint8_t frame[256];
    size_t len = packet(frame, FAR, HOME, payload);

    mip6_agent_packet(&w->agent, w->now, frame + PACKET_ETH_LEN,
                      len - PACKET_ETH_LEN);
}

bool passes(World *w)
{
    uint8_t frame[256];

    return from_link(w, frame, packet(frame, FAR, HOME, 8)) == MIP6_PASS &&
           from_guest(w, frame, packet(frame, HOME, FAR, 8)) == MIP6_PASS;
}

bool agent_proxies(void)
{
    return host.proxies;
}

void forget_log(World *w)
{
    w->logged = host.heard = 0;
}
