/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent: multicast to and from mobile nodes */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/mip6/ha/agent/agent.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"

#define SECOND  1000000000ll
#define AGENT   "2001:db8:2000::1"
#define GROUP   "ff0e::7"

typedef struct World {
    Mip6Agent a;
    int64_t now;
    uint16_t sequence;
    unsigned joined, left, on_link, tunnelled;
    struct in6_addr to[8];      /* care-of addresses that got a packet */
    uint8_t last[2048];
} World;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void forward(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, packet, len));
    if (ip.next == PACKET_PROTO_IP6 && w->tunnelled < G_N_ELEMENTS(w->to)) {
        w->to[w->tunnelled++] = ip.dst;
        memcpy(w->last, packet, len);
    }
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static void to_group(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;

    w->on_link++;
    memcpy(w->last, packet, len);
}

static bool join(void *opaque, const struct in6_addr *group, bool on)
{
    World *w = opaque;

    w->joined += on;
    w->left += !on;
    return group->s6_addr[15] != 0xff;  /* the host refuses that one */
}

static const Mip6AgentOps ops = {
    .forward = forward, .proxy = proxy, .to_group = to_group, .join = join,
};

static World *begin(bool multicast)
{
    World *w = g_new0(World, 1);
    Mip6AgentConfig config = {
        .address = address(AGENT), .prefix = address(AGENT), .prefix_len = 64,
        .lifetime_max = 1000, .bindings_max = 8, .mtu = 1500,
        .multicast = multicast,
    };

    w->now = 1000 * SECOND;
    mip6_agent_init(&w->a, &config, &ops, w);
    return w;
}

static void end(World *w)
{
    mip6_agent_destroy(&w->a);
    g_free(w);
}

static void bind_node(World *w, const char *home, const char *care_of,
                      uint16_t lifetime)
{
    struct in6_addr from = address(home), agent = address(AGENT);
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = ++w->sequence,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME, .lifetime = lifetime,
    };
    uint8_t p[256], *at = p + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = address(care_of), .dst = agent, .hops = 64,
        .next = PACKET_PROTO_DSTOPTS,
    };

    at += mip6_hao_build(at, PACKET_PROTO_MH, &from);
    at += mip6_mh_build(at, 128, &from, &agent, &bu);
    ip.payload = at - p - PACKET_IP6_LEN;
    packet_ip6_build(p, &ip);
    mip6_agent_packet(&w->a, w->now, p, at - p);
    w->tunnelled = 0;
}

/* Put a header from @care_of to the agent before the packet at @p + 40. */
static void tunnel(World *w, uint8_t *p, const char *care_of, size_t len)
{
    PacketIp6 ip = {
        .src = address(care_of), .dst = address(AGENT), .hops = 64,
        .next = PACKET_PROTO_IP6, .payload = len,
    };

    packet_ip6_build(p, &ip);
    mip6_agent_packet(&w->a, w->now, p, PACKET_IP6_LEN + len);
}

/* A report of version 1, or "done". */
static void report(World *w, const char *care_of, const char *group, bool on)
{
    static const uint8_t alert[] = { PACKET_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0 };
    uint8_t p[PACKET_IP6_LEN + 72] = { 0 }, *in = p + PACKET_IP6_LEN;
    struct in6_addr addr = address(group);
    PacketIp6 ip = {
        .src = address("fe80::10"), .dst = addr, .hops = 1,
        .next = PACKET_PROTO_HOPOPTS, .payload = 32,
    };
    uint32_t sum;

    packet_ip6_build(in, &ip);
    memcpy(in + 40, alert, sizeof(alert));
    in[48] = on ? PACKET_MLD_REPORT : PACKET_MLD_DONE;
    memcpy(in + 56, &addr, sizeof(addr));
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, 24);
    packet_put16(in + 50, packet_sum_fold(packet_sum_add(sum, in + 48, 24)));
    tunnel(w, p, care_of, 72);
}

static size_t datagram(uint8_t *p, const char *src, const char *dst,
                       uint8_t hops)
{
    PacketIp6 ip = {
        .src = address(src), .dst = address(dst), .hops = hops,
        .next = PACKET_PROTO_UDP, .payload = 16,
    };

    packet_ip6_build(p, &ip);
    memset(p + PACKET_IP6_LEN, 0x55, 16);
    return PACKET_IP6_LEN + 16;
}

static void from_link(World *w, const char *group, uint8_t hops)
{
    uint8_t p[128];

    w->tunnelled = 0;
    mip6_agent_group_packet(&w->a, w->now, p,
                            datagram(p, "2001:db8:2000::c", group, hops));
}

static void from_node(World *w, const char *home, const char *care_of,
                      const char *group)
{
    uint8_t p[256];
    size_t len = datagram(p + PACKET_IP6_LEN, home, group, 8);

    w->tunnelled = w->on_link = 0;
    tunnel(w, p, care_of, len);
}

static World *two_listeners(void)
{
    World *w = begin(true);

    bind_node(w, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    bind_node(w, "2001:db8:2000::11", "2001:db8:3000::b", 100);
    report(w, "2001:db8:3000::a", GROUP, true);
    report(w, "2001:db8:3000::b", GROUP, true);
    return w;
}

/* The host joins with the first listener, and leaves with the last. */
static void test_listen(void)
{
    World *w = two_listeners();

    g_assert_cmpint(w->joined, ==, 1);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 2);
    g_assert_cmpint(w->last[PACKET_IP6_LEN + 7], ==, 8);
    from_link(w, "ff0e::8", 9);
    g_assert_cmpint(w->tunnelled, ==, 0);
    from_link(w, GROUP, 1);
    g_assert_cmpint(w->tunnelled, ==, 0);
    g_assert_cmpint(w->a.dropped[MIP6_AGENT_HOP_LIMIT], ==, 1);
    report(w, "2001:db8:3000::a", GROUP, false);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 1);
    g_assert_cmpint(w->left, ==, 0);
    report(w, "2001:db8:3000::b", GROUP, false);
    g_assert_cmpint(w->left, ==, 1);
    end(w);
}

/* The link and the other nodes hear what a node sends; not it itself. */
static void test_send(void)
{
    World *w = two_listeners();
    struct in6_addr other = address("2001:db8:3000::b");

    from_node(w, "2001:db8:2000::10", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(w->on_link, ==, 1);
    g_assert_cmpint(w->tunnelled, ==, 1);
    g_assert_true(packet_ip6_equal(&w->to[0], &other));
    /* Not of the link's scope, nor from another's address. */
    from_node(w, "2001:db8:2000::10", "2001:db8:3000::a", "ff02::7");
    from_node(w, "2001:db8:2000::11", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(w->on_link, ==, 0);
    end(w);
}

/* A node that moves, or ends its binding, listens no more by its old tunnel. */
static void test_move(void)
{
    World *w = two_listeners();

    bind_node(w, "2001:db8:2000::10", "2001:db8:4000::a", 100);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 1);
    report(w, "2001:db8:4000::a", GROUP, true);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 2);
    bind_node(w, "2001:db8:2000::10", "2001:db8:4000::a", 0);
    bind_node(w, "2001:db8:2000::11", "2001:db8:3000::b", 0);
    g_assert_cmpint(w->left, ==, 1);
    end(w);
}

/* Two home addresses at one care-of address: the last binding counts. */
static void test_shared(void)
{
    World *w = begin(true);

    bind_node(w, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    bind_node(w, "2001:db8:2000::11", "2001:db8:3000::a", 100);
    report(w, "2001:db8:3000::a", GROUP, true);
    bind_node(w, "2001:db8:2000::10", "2001:db8:3000::a", 0);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 1);
    bind_node(w, "2001:db8:2000::11", "2001:db8:3000::a", 0);
    g_assert_cmpint(w->left, ==, 1);
    end(w);
}

static void tick_until(World *w, int64_t until)
{
    while (mip6_agent_deadline(&w->a) <= until) {
        w->now = mip6_agent_deadline(&w->a);
        mip6_agent_tick(&w->a, w->now);
    }
    w->now = until;
}

/* Listeners are asked, and those that are silent end. */
static void test_queries(void)
{
    World *w = two_listeners();

    w->tunnelled = 0;
    tick_until(w, 1126 * SECOND);
    g_assert_cmpint(w->tunnelled, ==, 2);
    g_assert_true(packet_mld_is_query(w->last + PACKET_IP6_LEN, 76));
    report(w, "2001:db8:3000::a", GROUP, true);
    tick_until(w, 1380 * SECOND);
    from_link(w, GROUP, 9);
    g_assert_cmpint(w->tunnelled, ==, 1);
    g_assert_cmpint(w->left, ==, 0);
    end(w);
}

static void test_bounds(void)
{
    World *w = two_listeners();
    char group[INET6_ADDRSTRLEN];

    for (unsigned i = 0; i < MIP6_GROUPS_PER_NODE + 8; i++) {
        g_snprintf(group, sizeof(group), "ff0e::1:%x", i);
        report(w, "2001:db8:3000::a", group, true);
    }
    g_assert_cmpint(w->joined, ==, MIP6_GROUPS_PER_NODE);
    g_assert_cmpint(w->a.groups.refused, ==, 9);
    /* The host cannot; groups of the link; a stranger. */
    report(w, "2001:db8:3000::b", "ff0e::ff", true);
    g_assert_cmpint(w->a.groups.refused, ==, 10);
    report(w, "2001:db8:3000::b", "ff02::9", true);
    report(w, "2001:db8:3000::c", GROUP, true);
    g_assert_cmpint(w->a.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    g_assert_cmpint(w->joined, ==, MIP6_GROUPS_PER_NODE + 1);
    end(w);
}

static void test_off(void)
{
    World *w = begin(false);

    bind_node(w, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    report(w, "2001:db8:3000::a", GROUP, true);
    from_node(w, "2001:db8:2000::10", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(w->joined + w->on_link, ==, 0);
    g_assert_cmpint(w->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 2);
    end(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/groups/listen", test_listen);
    g_test_add_func("/mip6/groups/send", test_send);
    g_test_add_func("/mip6/groups/move", test_move);
    g_test_add_func("/mip6/groups/shared", test_shared);
    g_test_add_func("/mip6/groups/queries", test_queries);
    g_test_add_func("/mip6/groups/bounds", test_bounds);
    g_test_add_func("/mip6/groups/off", test_off);
    return g_test_run();
}
