/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent advertises prefixes and other agents to mobile nodes */
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"

#define PEER    "2001:db8:2000::2"
#define THIRD   "2001:db8:2000::3"

/* An advertisement of the home prefix by @router. */
static PacketNd router(const char *link_local, uint32_t valid,
                       uint32_t preferred)
{
    PacketNd nd = { .type = PACKET_ND_RA, .src = agent_address(link_local) };

    nd.ra.lifetime = 1800;
    nd.ra.prefixes = 1;
    nd.ra.prefix[0] = (PacketNdPrefix) {
        .prefix = agent_address("2001:db8:2000::"), .len = 64,
        .on_link = true, .autonomous = true, .valid = valid,
        .preferred = preferred,
    };
    return nd;
}

static void hear(AgentFixture *f, uint32_t valid, uint32_t preferred)
{
    PacketNd nd = router("fe80::1", valid, preferred);

    mip6_agent_heard(&f->a, f->now, &nd);
}

static void solicit(AgentFixture *f, const char *src, const char *home,
                    uint16_t id)
{
    Mip6Icmp m = { .type = MIP6_ICMP_PREFIX_SOLICIT, .id = id };
    struct in6_addr from = agent_address(home), to = agent_address(AGENT);
    uint8_t packet[256], *at = packet + PACKET_IP6_LEN;
    PacketIp6 ip = { .src = agent_address(src), .dst = to, .hops = 64,
                     .next = PACKET_PROTO_DSTOPTS };

    at += mip6_hao_build(at, PACKET_PROTO_ICMP6, &from);
    at += mip6_icmp_build(at, &from, &to, &m);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, at - packet);
}

/* The last packet: an advertisement to @care_of with a routing header. */
static Mip6Icmp advertised(const AgentFixture *f, const char *care_of)
{
    struct in6_addr to = agent_address(care_of), want = agent_address(HOME);
    struct in6_addr home, agent = agent_address(AGENT);
    const uint8_t *at = f->packet + PACKET_IP6_LEN;
    PacketIp6 ip;
    Mip6Icmp m;

    g_assert_cmpint(f->packets, ==, 1);
    g_assert_true(packet_ip6_parse(&ip, f->packet, f->len));
    g_assert_true(packet_ip6_equal(&ip.dst, &to));
    g_assert_cmpint(ip.next, ==, PACKET_PROTO_ROUTING);
    g_assert_true(mip6_rh2_parse(&home, at, MIP6_RH2_LEN));
    g_assert_true(packet_ip6_equal(&home, &want));
    at += MIP6_RH2_LEN;
    g_assert_true(mip6_icmp_parse(&m, &agent, &home, at,
                                  f->packet + f->len - at));
    g_assert_cmpint(m.type, ==, MIP6_ICMP_PREFIX_ADVERT);
    return m;
}

/* Let time pass until something is sent, or for @s seconds. */
static int64_t pass(AgentFixture *f, int64_t s)
{
    int64_t begin = f->now, end = begin + s * SECOND;

    f->packets = 0;
    while (!f->packets && mip6_agent_deadline(&f->a) <= end) {
        f->now = MAX(f->now, mip6_agent_deadline(&f->a));
        mip6_agent_tick(&f->a, f->now);
    }
    f->now = f->packets ? f->now : end;
    return (f->now - begin) / SECOND;
}

static void bind_long(AgentFixture *f)
{
    Mip6Mh bu;

    f->a.config.lifetime_max = 65535;
    bu = agent_usual_update(f, CARE_OF, 65535);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_nonnull(agent_binding(f, HOME));
}

static void test_solicited(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Icmp m;

    hear(f, 3600, 1800);
    /* No answer without a binding, or from another address. */
    solicit(f, CARE_OF, HOME, 7);
    g_assert_cmpint(f->packet[6], ==, PACKET_PROTO_MH);
    agent_bind(f, HOME, CARE_OF);
    solicit(f, NEXT, HOME, 7);
    g_assert_cmpint(f->packet[6], ==, PACKET_PROTO_MH);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 2);
    f->now += 10 * SECOND;
    solicit(f, CARE_OF, HOME, 8);
    m = advertised(f, CARE_OF);
    g_assert_cmpint(m.id, ==, 8);
    g_assert_cmpint(m.prefixes, ==, 1);
    g_assert_cmpint(m.prefix[0].len, ==, 64);
    g_assert_true(m.prefix[0].autonomous);
    /* The rest of it. */
    g_assert_cmpuint(m.prefix[0].valid, ==, 3590);
    g_assert_cmpuint(m.prefix[0].preferred, ==, 1790);
    g_assert_cmpuint(f->a.solicited, ==, 1);
    agent_end(f);
}

/* Section 10.6.2: repeated until the node answers; meanwhile status 1. */
static void test_changed(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Icmp m;
    Mip6Mh bu;

    hear(f, 2592000, 604800);
    bind_long(f);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 65535);
    /* Repeated advertisements, and passing time, are no changes. */
    f->now += 100 * SECOND;
    hear(f, 2592000, 604800);
    f->now += 100 * SECOND;
    hear(f, 2591900, 604700);
    g_assert_cmpuint(f->a.link.version, ==, 0);
    hear(f, 86400, 43200);
    g_assert_cmpuint(f->a.link.version, ==, 1);
    bu = agent_usual_update(f, CARE_OF, 15);
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_PREFIX_DISCOVERY, f->sequence, 15);
    bind_long(f);
    g_assert_cmpint(pass(f, 3600), <=, 600);
    m = advertised(f, CARE_OF);
    g_assert_cmpuint(m.prefix[0].valid, <=, 86400);
    g_assert_cmpint(pass(f, 3600), ==, 3);
    g_assert_cmpint(pass(f, 3600), ==, 6);
    /* It answers. */
    solicit(f, CARE_OF, HOME, m.id);
    advertised(f, CARE_OF);
    g_assert_cmpuint(f->a.advertised, ==, 3);
    g_assert_cmpint(pass(f, 500), ==, 500);
    g_assert_cmpuint(f->a.unheard, ==, 0);
    agent_end(f);
}

static void test_unheard(void)
{
    AgentFixture *f = agent_begin(NULL);

    hear(f, 2592000, 604800);
    bind_long(f);
    g_assert_cmpint(pass(f, 90000), ==, 600);
    pass(f, 100);
    pass(f, 100);
    g_assert_cmpuint(f->a.advertised, ==, 3);
    g_assert_cmpint(pass(f, 100), ==, 100);
    g_assert_cmpuint(f->a.unheard, ==, 1);
    agent_end(f);
}

/* A deleted prefix is advertised at once, and its bindings end. */
static void test_gone(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Icmp m;
    Mip6Mh bu;

    hear(f, 2592000, 604800);
    bind_long(f);
    hear(f, 0, 0);
    g_assert_cmpint(pass(f, 100), <=, 10);
    m = advertised(f, CARE_OF);
    g_assert_cmpuint(m.prefix[0].valid, ==, 0);
    bu = agent_usual_update(f, CARE_OF, 15);
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_NOT_HOME_SUBNET, f->sequence, 0);
    agent_end(f);
}

/* Section 10.3.1: no binding lasts longer than its prefix. */
static void test_lifetime(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu = agent_usual_update(f, CARE_OF, 15);

    hear(f, 40, 20);
    agent_update(f, HOME, CARE_OF, &bu);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 10);
    agent_end(f);
}

/* The configuration has priority, and changes are advertised. */
static void test_configured(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6AgentConfig config = f->a.config;
    PacketNd nd = router("fe80::1", 100, 50);
    Mip6Icmp m;

    config.prefixes = 2;
    config.prefix_info[0] = nd.ra.prefix[0];
    config.prefix_info[0].valid = 7200;
    config.prefix_info[0].preferred = 3600;
    config.prefix_info[1] = config.prefix_info[0];
    config.prefix_info[1].prefix.s6_addr[5] = 1;
    mip6_agent_configure(&f->a, f->now, &config);
    bind_long(f);
    mip6_agent_heard(&f->a, f->now, &nd);
    f->now += 20 * SECOND;
    solicit(f, CARE_OF, HOME, 1);
    m = advertised(f, CARE_OF);
    g_assert_cmpuint(m.prefix[0].valid, ==, 7200);
    config.prefixes = 0;
    mip6_agent_configure(&f->a, f->now, &config);
    pass(f, 3600);
    m = advertised(f, CARE_OF);
    g_assert_cmpint(m.prefixes, ==, 2);
    g_assert_cmpuint(m.prefix[1].valid, ==, 0);
    /* The home prefix has the configured lifetime. */
    g_assert_cmpuint(m.prefix[0].valid, >, 0);
    g_assert_cmpuint(m.prefix[0].valid, <, 7200);
    agent_end(f);
}

static Mip6Icmp discovered(AgentFixture *f)
{
    Mip6Icmp m = { .type = MIP6_ICMP_AGENT_REQUEST, .id = 0x4321 };
    struct in6_addr src = agent_address(CARE_OF), dst = f->a.anycast;
    uint8_t packet[64];
    PacketIp6 ip = { .src = src, .dst = dst, .next = PACKET_PROTO_ICMP6,
                     .hops = 64 };

    ip.payload = mip6_icmp_build(packet + PACKET_IP6_LEN, &src, &dst, &m);
    packet_ip6_build(packet, &ip);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, PACKET_IP6_LEN + ip.payload);
    g_assert_cmpint(f->packets, ==, 1);
    dst = agent_address(AGENT);
    g_assert_true(mip6_icmp_parse(&m, &dst, &src, f->packet + PACKET_IP6_LEN,
                                  f->len - PACKET_IP6_LEN));
    g_assert_cmpint(m.id, ==, 0x4321);
    return m;
}

/*
 * Section 10.5: agents that advertise with H and R, by preference, for their
 * lifetime.
 */
static void test_agents(void)
{
    AgentFixture *f = agent_begin(NULL);
    PacketNd peer = router("fe80::2", 3600, 1800);
    PacketNd third = router("fe80::3", 3600, 1800);
    struct in6_addr agent = agent_address(AGENT), two = agent_address(PEER);
    struct in6_addr three = agent_address(THIRD);
    Mip6Icmp m;

    peer.ra.prefix[0].prefix = two;
    peer.ra.prefix[0].router_address = true;
    third.ra.prefix[0].prefix = three;
    third.ra.prefix[0].router_address = true;
    mip6_agent_heard(&f->a, f->now, &peer);     /* no home agent */
    g_assert_cmpint(discovered(f).agents, ==, 1);
    peer.ra.home_agent = third.ra.home_agent = true;
    peer.ra.has_ha_info = third.ra.has_ha_info = true;
    peer.ra.ha_preference = -5;
    third.ra.ha_preference = 5;
    peer.ra.ha_lifetime = 60;
    third.ra.ha_lifetime = 30;
    mip6_agent_heard(&f->a, f->now, &peer);
    mip6_agent_heard(&f->a, f->now, &third);
    m = discovered(f);
    g_assert_cmpint(m.agents, ==, 3);
    g_assert_true(packet_ip6_equal(&m.agent[0], &three));
    g_assert_true(packet_ip6_equal(&m.agent[1], &agent));
    g_assert_true(packet_ip6_equal(&m.agent[2], &two));
    f->now += 30 * SECOND;
    g_assert_cmpint(discovered(f).agents, ==, 2);
    /* A lifetime of 0, and an agent that becomes a mere router. */
    peer.ra.ha_lifetime = 0;
    mip6_agent_heard(&f->a, f->now, &peer);
    g_assert_cmpint(discovered(f).agents, ==, 1);
    /* Without R its address is unknown. */
    third.ra.prefix[0].router_address = false;
    mip6_agent_heard(&f->a, f->now, &third);
    g_assert_cmpint(discovered(f).agents, ==, 1);
    /* Without the option: the router's lifetime, preference 0. */
    third.ra.prefix[0].router_address = true;
    third.ra.has_ha_info = false;
    mip6_agent_heard(&f->a, f->now, &third);
    g_assert_cmpint(discovered(f).agents, ==, 2);
    f->now += 1800 * SECOND;
    g_assert_cmpint(discovered(f).agents, ==, 1);
    /* More agents than fit. */
    for (unsigned i = 0; i < 40; i++) {
        peer.ra.ha_lifetime = 60;
        peer.src.s6_addr[15] = i + 10;
        peer.ra.prefix[0].prefix.s6_addr[15] = i + 10;
        mip6_agent_heard(&f->a, f->now, &peer);
    }
    g_assert_cmpint(discovered(f).agents, ==, MIP6_ICMP_AGENTS_MAX);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/adverts/solicited", test_solicited);
    g_test_add_func("/mip6/adverts/changed", test_changed);
    g_test_add_func("/mip6/adverts/unheard", test_unheard);
    g_test_add_func("/mip6/adverts/gone", test_gone);
    g_test_add_func("/mip6/adverts/lifetime", test_lifetime);
    g_test_add_func("/mip6/adverts/configured", test_configured);
    g_test_add_func("/mip6/adverts/agents", test_agents);
    return g_test_run();
}
