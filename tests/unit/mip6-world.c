/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of all tests of a mobile node's port: see mip6-world.h */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "mip6-world.h"
#include "net/packet/octets.h"

const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
const uint8_t router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };
const uint8_t home_router_mac[] = { 0x02, 0xcc, 0, 0, 0, 1 };

struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void keep(Frame *f, const struct iovec *iov, int iovcnt,
                 const PacketOffload *offload)
{
    f->len = packet_iov_copy(iov, iovcnt, 0, f->buf, sizeof(f->buf));
    g_assert_cmpint(f->len, ==, packet_iov_len(iov, iovcnt));
    f->offload = *offload;
}

static void to_guest(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    World *w = opaque;

    w->to_guest++;
    keep(&w->guest, iov, iovcnt, offload);
}

/* Does the path lose the packet, because of one of its headers? */
static bool is_lost(const World *w, const uint8_t *packet, size_t len)
{
    PacketIp6Ext ext;

    return w->lost && packet_ip6_walk(&ext, packet, len) &&
           (packet[6] == w->lost || ext.next == w->lost);
}

static void to_link(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload)
{
    World *w = opaque;
    struct in6_addr agent = address(AGENT), dst;
    uint8_t head[PACKET_ETH_LEN + PACKET_IP6_LEN];

    packet_iov_copy(iov, iovcnt, 0, head, sizeof(head));
    if (!memcmp(head + 6, own_mac, 6) && head[PACKET_ETH_LEN + 6] ==
        PACKET_PROTO_HOPOPTS) {
        w->reports++;               /* MLD of the care-of host */
        return;
    }
    w->to_link++;
    keep(&w->link, iov, iovcnt, offload);
    w->log[w->logged % WORLD_LOG] = w->link;
    w->log_at[w->logged++ % WORLD_LOG] = w->now;
    w->probed |= w->alive && w->link.len > 54 &&
                 w->link.buf[54] == PACKET_ND_NS &&
                 !memcmp(w->link.buf, router_mac, 6);
    w->on_home += !memcmp(w->link.buf + 6, guest_mac, 6);
    memcpy(&dst, w->link.buf + PACKET_ETH_LEN + 24, 16);
    if (!w->deaf && !is_lost(w, w->link.buf + PACKET_ETH_LEN,
                             w->link.len - PACKET_ETH_LEN) &&
        (packet_ip6_equal(&dst, &agent) ||
         packet_ip6_equal(&dst, &w->agent.anycast))) {
        g_assert_cmpmem(w->link.buf, 6, router_mac, 6);
        mip6_agent_packet(&w->agent, w->now, w->link.buf + PACKET_ETH_LEN,
                          w->link.len - PACKET_ETH_LEN);
    }
}

static uint32_t fixed_random(void *opaque)
{
    return 1000;
}

static void changed(void *opaque)
{
    World *w = opaque;

    w->changes++;
}

static const Mip6PortOps port_ops = {
    .to_guest = to_guest,
    .to_link = to_link,
    .random = fixed_random,
    .changed = changed,
};

static void agent_forward(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;
    uint8_t copy[2048];

    /* From a home address to itself: the host has the route to the agent. */
    if (!memcmp((uint8_t *)packet + 8, (uint8_t *)packet + 24, 16)) {
        memcpy(copy, packet, len);
        mip6_agent_packet(&w->agent, w->now, copy, len);
        return;
    }
    g_assert_cmpint(w->queued, <, G_N_ELEMENTS(w->from_agent));
    memcpy(w->from_agent[w->queued], packet, len);
    w->from_agent_len[w->queued++] = len;
}

static bool agent_proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static void agent_to_group(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;

    w->on_home_link++;
}

static bool agent_join(void *opaque, const struct in6_addr *group, bool on)
{
    return true;
}

const Mip6AgentOps agent_ops = {
    .forward = agent_forward,
    .proxy = agent_proxy,
    .to_group = agent_to_group,
    .join = agent_join,
};

World *world_new(Mip6Location location, bool arriving)
{
    World *w = g_new0(World, 1);
    Mip6PortConfig config = {
        .home = { .address = address(HOME), .prefix_len = 64 },
        .agent = address(AGENT),
        .location = location,
        .lifetime = 15,
        .mtu = 1500,
    };
    Mip6AgentConfig agent = {
        .address = address(AGENT),
        .prefix = address(AGENT),
        .prefix_len = 64,
        .lifetime_max = 150,
        .bindings_max = 10,
        .multicast = true,
        .mtu = 1500,
    };

    memcpy(config.mac, own_mac, 6);
    w->now = 1000 * SECOND;
    mip6_agent_init(&w->agent, &agent, &agent_ops, w);
    mip6_port_init(&w->port, &config, &port_ops, w, arriving);
    return w;
}

void world_discover(World *w, bool arriving)
{
    Mip6PortConfig config = w->port.config;

    config.discover = true;
    memset(&config.agent, 0, sizeof(config.agent));
    mip6_port_destroy(&w->port);
    mip6_port_init(&w->port, &config, &port_ops, w, arriving);
}

void world_free(World *w)
{
    mip6_agent_destroy(&w->agent);
    mip6_port_destroy(&w->port);
    g_free(w);
}

Mip6Verdict from_link(World *w, const void *buf, size_t len)
{
    static const PacketOffload nothing;
    struct iovec iov = { (void *)buf, len };

    return mip6_port_from_link(&w->port, w->now, &iov, 1, &nothing);
}

Mip6Verdict from_guest(World *w, const void *buf, size_t len)
{
    static const PacketOffload nothing;
    struct iovec iov = { (void *)buf, len };

    return mip6_port_from_guest(&w->port, w->now, &iov, 1, &nothing);
}

void deliver(World *w)
{
    uint8_t frame[2048 + PACKET_ETH_LEN];

    for (unsigned i = 0; i < w->queued; i++) {
        packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
        memcpy(frame + PACKET_ETH_LEN, w->from_agent[i],
               w->from_agent_len[i]);
        if (is_lost(w, w->from_agent[i], w->from_agent_len[i])) {
            continue;
        }
        from_link(w, frame, PACKET_ETH_LEN + w->from_agent_len[i]);
    }
    w->queued = 0;
}

void pass(World *w, int64_t ns)
{
    struct in6_addr router = packet_ip6_link_local(router_mac);
    int64_t end = w->now + ns, at;

    while ((at = mip6_port_deadline(&w->port)) <= end) {
        w->now = MAX(at, w->now);
        mip6_port_tick(&w->port, w->now);
        deliver(w);
        if (w->probed) {
            w->probed = false;
            answer_for(w, &router);
        }
    }
    w->now = end;
}

Mip6Verdict advertise_ra(World *w, const PacketNdRa *ra, const uint8_t *mac)
{
    struct in6_addr src = packet_ip6_link_local(mac);
    uint8_t frame[512], group[PACKET_ETH_ADDR_LEN];
    size_t len;

    packet_eth_group6(group, &packet_ip6_all_nodes);
    packet_eth_build(frame, group, mac, PACKET_ETH_IP6);
    len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                             sizeof(frame) - PACKET_ETH_LEN, &src,
                             &packet_ip6_all_nodes, ra, mac);
    return from_link(w, frame, PACKET_ETH_LEN + len);
}

Mip6Verdict advertise(World *w, const char *prefix, const uint8_t *mac)
{
    PacketNdRa ra = {
        .hop_limit = 64,
        .lifetime = 1800,
        .prefixes = 1,
        .prefix[0] = { address(prefix), 64, true, true, false, 7200, 3600 },
    };

    return advertise_ra(w, &ra, mac);
}

void hear_router(World *w)
{
    Mip6HomeLearned *l = &w->port.home.learned;

    l->has_ra = l->has_router = true;
    l->router = packet_ip6_link_local(home_router_mac);
    memcpy(l->router_mac, home_router_mac, sizeof(l->router_mac));
    l->ra.lifetime = 1800;
    w->port.prefixes.next = INT64_MAX;
}

size_t packet(uint8_t *frame, const char *src, const char *dst,
              size_t payload)
{
    PacketIp6 ip = {
        .src = address(src),
        .dst = address(dst),
        .next = PACKET_PROTO_UDP,
        .hops = 64,
        .payload = payload,
    };

    packet_eth_build(frame, home_router_mac, guest_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    memset(frame + PACKET_ETH_LEN + PACKET_IP6_LEN, 0x5a, payload);
    return PACKET_ETH_LEN + PACKET_IP6_LEN + payload;
}

World *away(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    return w;
}

void give_error_from(World *w, const char *src, uint8_t type, uint8_t code,
                     uint32_t arg, const uint8_t *cause, size_t len)
{
    struct in6_addr from = address(src);
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_MTU_MIN];

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    len = packet_icmp6_error(frame + 14, PACKET_IP6_MTU_MIN, &from, 60, type,
                             code, arg, cause, len);
    g_assert_cmpint(len, >, 0);
    g_assert_cmpint(from_link(w, frame, 14 + len), ==, MIP6_DONE);
}

void give_error(World *w, uint8_t type, uint8_t code, uint32_t arg,
                const uint8_t *cause, size_t len)
{
    give_error_from(w, "2001:db8:5::1", type, code, arg, cause, len);
}

size_t to_care_of(World *w, uint8_t *frame, const char *src, uint8_t next,
                  size_t payload)
{
    PacketIp6 ip = { .src = address(src), .dst = w->port.binding[0].care_of,
                     .next = next, .hops = 64, .payload = payload };

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    return 54 + payload;
}

void from_agent(World *w, const Mip6Mh *mh)
{
    struct in6_addr agent = address(AGENT), home = address(HOME);
    uint8_t frame[256];
    PacketIp6 ip = {
        .src = agent, .dst = w->port.binding[0].care_of,
        .next = PACKET_PROTO_ROUTING, .hops = 64,
    };

    ip.payload = mip6_rh2_build(frame + 54, PACKET_PROTO_MH, &home);
    ip.payload += mip6_mh_build(frame + 54 + ip.payload, 128, &agent, &home,
                                mh);
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    from_link(w, frame, 54 + ip.payload);
}

void answer_for(World *w, const struct in6_addr *addr)
{
    const struct in6_addr *own = &w->port.careof.link_local.addr;
    uint8_t frame[128];
    size_t len = packet_nd_build_na(frame + PACKET_ETH_LEN, addr, own, addr,
                                    PACKET_NA_ROUTER | PACKET_NA_SOLICITED |
                                    PACKET_NA_OVERRIDE, router_mac);

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    from_link(w, frame, PACKET_ETH_LEN + len);
}
