/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent: multicast to and from mobile nodes */
#include <arpa/inet.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define GROUP   "ff0e::7"

static AgentFixture *begin(bool multicast)
{
    Mip6AgentConfig config = agent_usual_config();

    config.lifetime_max = 1000;
    config.bindings_max = 8;
    config.multicast = multicast;
    return agent_begin_as(&config);
}

static void bind_node(AgentFixture *f, const char *home, const char *care_of,
                      uint16_t lifetime)
{
    Mip6Mh bu = agent_usual_update(f, care_of, lifetime);

    agent_update(f, home, care_of, &bu);
    agent_expect(f, home, care_of, MIP6_BA_ACCEPTED, f->sequence, lifetime);
    f->packets = 0;
}

/* Put a header from @care_of to the agent before the packet at @p + 40. */
static void tunnel(AgentFixture *f, uint8_t *p, const char *care_of, size_t len)
{
    PacketIp6 ip = {
        .src = agent_address(care_of), .dst = agent_address(AGENT), .hops = 64,
        .next = PACKET_PROTO_IP6, .payload = len,
    };

    packet_ip6_build(p, &ip);
    mip6_agent_packet(&f->a, f->now, p, PACKET_IP6_LEN + len);
}

/* A report of version 1, or "done". */
static void report(AgentFixture *f, const char *care_of, const char *group,
                   bool on)
{
    static const uint8_t alert[] = { PACKET_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0 };
    uint8_t p[PACKET_IP6_LEN + 72] = { 0 }, *in = p + PACKET_IP6_LEN;
    struct in6_addr addr = agent_address(group);
    PacketIp6 ip = {
        .src = agent_address("fe80::10"), .dst = addr, .hops = 1,
        .next = PACKET_PROTO_HOPOPTS, .payload = 32,
    };
    uint32_t sum;

    packet_ip6_build(in, &ip);
    memcpy(in + 40, alert, sizeof(alert));
    in[48] = on ? PACKET_MLD_REPORT : PACKET_MLD_DONE;
    memcpy(in + 56, &addr, sizeof(addr));
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, 24);
    put_be16(in + 50, packet_sum_fold(packet_sum_add(sum, in + 48, 24)));
    tunnel(f, p, care_of, 72);
}

static size_t datagram(uint8_t *p, const char *src, const char *dst,
                       uint8_t hops)
{
    PacketIp6 ip = {
        .src = agent_address(src), .dst = agent_address(dst), .hops = hops,
        .next = PACKET_PROTO_UDP, .payload = 16,
    };

    packet_ip6_build(p, &ip);
    memset(p + PACKET_IP6_LEN, 0x55, 16);
    return PACKET_IP6_LEN + 16;
}

static void from_link(AgentFixture *f, const char *group, uint8_t hops)
{
    uint8_t p[128];

    f->packets = 0;
    mip6_agent_group_packet(&f->a, f->now, p,
                            datagram(p, "2001:db8:2000::c", group, hops));
}

static void from_node(AgentFixture *f, const char *home, const char *care_of,
                      const char *group)
{
    uint8_t p[256];
    size_t len = datagram(p + PACKET_IP6_LEN, home, group, 8);

    f->packets = f->to_link = 0;
    tunnel(f, p, care_of, len);
}

static AgentFixture *two_listeners(void)
{
    AgentFixture *f = begin(true);

    bind_node(f, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    bind_node(f, "2001:db8:2000::11", "2001:db8:3000::b", 100);
    report(f, "2001:db8:3000::a", GROUP, true);
    report(f, "2001:db8:3000::b", GROUP, true);
    return f;
}

/* The host joins with the first listener, and leaves with the last. */
static void test_listen(void)
{
    AgentFixture *f = two_listeners();

    g_assert_cmpint(f->joined, ==, 1);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 2);
    g_assert_cmpint(f->packet[PACKET_IP6_LEN + 7], ==, 8);
    from_link(f, "ff0e::8", 9);
    g_assert_cmpint(f->packets, ==, 0);
    from_link(f, GROUP, 1);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_HOP_LIMIT], ==, 1);
    report(f, "2001:db8:3000::a", GROUP, false);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpint(f->left, ==, 0);
    report(f, "2001:db8:3000::b", GROUP, false);
    g_assert_cmpint(f->left, ==, 1);
    agent_end(f);
}

/* The link and the other nodes receive a node's packet; the sender does not. */
static void test_send(void)
{
    AgentFixture *f = two_listeners();
    struct in6_addr other = agent_address("2001:db8:3000::b");

    from_node(f, "2001:db8:2000::10", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(f->to_link, ==, 1);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpmem(f->packet + 24, 16, &other, 16);
    /* Not of the link's scope, nor from another's address. */
    from_node(f, "2001:db8:2000::10", "2001:db8:3000::a", "ff02::7");
    from_node(f, "2001:db8:2000::11", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(f->to_link, ==, 0);
    agent_end(f);
}

/* A node that moves, or ends its binding, is no listener in its old tunnel. */
static void test_move(void)
{
    AgentFixture *f = two_listeners();

    bind_node(f, "2001:db8:2000::10", "2001:db8:4000::a", 100);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 1);
    report(f, "2001:db8:4000::a", GROUP, true);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 2);
    bind_node(f, "2001:db8:2000::10", "2001:db8:4000::a", 0);
    bind_node(f, "2001:db8:2000::11", "2001:db8:3000::b", 0);
    g_assert_cmpint(f->left, ==, 1);
    agent_end(f);
}

/* Two home addresses at one care-of address: the last binding counts. */
static void test_shared(void)
{
    AgentFixture *f = begin(true);

    bind_node(f, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    bind_node(f, "2001:db8:2000::11", "2001:db8:3000::a", 100);
    report(f, "2001:db8:3000::a", GROUP, true);
    bind_node(f, "2001:db8:2000::10", "2001:db8:3000::a", 0);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 1);
    bind_node(f, "2001:db8:2000::11", "2001:db8:3000::a", 0);
    g_assert_cmpint(f->left, ==, 1);
    agent_end(f);
}

static void tick_until(AgentFixture *f, int64_t until)
{
    while (mip6_agent_deadline(&f->a) <= until) {
        f->now = mip6_agent_deadline(&f->a);
        mip6_agent_tick(&f->a, f->now);
    }
    f->now = until;
}

/* Listeners are queried, and silent ones expire. */
static void test_queries(void)
{
    AgentFixture *f = two_listeners();

    f->packets = 0;
    tick_until(f, 1126 * SECOND);
    g_assert_cmpint(f->packets, ==, 2);
    g_assert_true(packet_mld_is_query(f->packet + PACKET_IP6_LEN, 76));
    report(f, "2001:db8:3000::a", GROUP, true);
    tick_until(f, 1380 * SECOND);
    from_link(f, GROUP, 9);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpint(f->left, ==, 0);
    agent_end(f);
}

static void test_bounds(void)
{
    AgentFixture *f = two_listeners();
    char group[INET6_ADDRSTRLEN];

    for (unsigned i = 0; i < MIP6_GROUPS_PER_NODE + 8; i++) {
        g_snprintf(group, sizeof(group), "ff0e::1:%x", i);
        report(f, "2001:db8:3000::a", group, true);
    }
    g_assert_cmpint(f->joined, ==, MIP6_GROUPS_PER_NODE);
    g_assert_cmpint(f->a.groups.refused, ==, 9);
    /* The host refuses; groups of the link; an unknown node. */
    report(f, "2001:db8:3000::b", "ff0e::ff", true);
    g_assert_cmpint(f->a.groups.refused, ==, 10);
    report(f, "2001:db8:3000::b", "ff02::9", true);
    report(f, "2001:db8:3000::c", GROUP, true);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    g_assert_cmpint(f->joined, ==, MIP6_GROUPS_PER_NODE + 1);
    agent_end(f);
}

static void test_off(void)
{
    AgentFixture *f = begin(false);

    bind_node(f, "2001:db8:2000::10", "2001:db8:3000::a", 100);
    report(f, "2001:db8:3000::a", GROUP, true);
    from_node(f, "2001:db8:2000::10", "2001:db8:3000::a", GROUP);
    g_assert_cmpint(f->joined + f->to_link, ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 2);
    agent_end(f);
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
