/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent's errors about packets that it cannot accept */
#include <string.h>

#include "mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"
#include "net/packet/sum.h"

static AgentFixture *begin(uint16_t refresh)
{
    Mip6AgentConfig config = agent_usual_config();

    config.refresh = refresh;
    return agent_begin_as(&config);
}

static void give(AgentFixture *f, const char *src, uint8_t next,
                 const uint8_t *payload, size_t len)
{
    uint8_t packet[512];
    PacketIp6 ip = {
        .src = agent_address(src),
        .dst = agent_address(AGENT),
        .next = next,
        .hops = 64,
        .payload = len,
    };

    packet_ip6_build(packet, &ip);
    memcpy(packet + PACKET_IP6_LEN, payload, len);
    mip6_agent_packet(&f->a, f->now, packet, PACKET_IP6_LEN + len);
}

/* The last packet, as a message of mobility to the care-of address. */
static Mip6Mh last_message(const AgentFixture *f, const char *pseudo_dst)
{
    struct in6_addr dst = agent_address(pseudo_dst);
    struct in6_addr coa = agent_address(CARE_OF);
    PacketIp6Ext ext;
    PacketIp6 ip;
    Mip6Mh mh;

    g_assert_true(packet_ip6_parse(&ip, f->packet, f->len));
    g_assert_true(packet_ip6_equal(&ip.dst, &coa));
    g_assert_true(packet_ip6_walk(&ext, f->packet, f->len));
    g_assert_cmpuint(ext.next, ==, PACKET_PROTO_MH);
    g_assert_cmpint(mip6_mh_parse(&mh, &ip.src, &dst, f->packet + ext.offset,
                                  f->len - ext.offset), ==, MIP6_MH_GOOD);
    return mh;
}

static void tunnel(AgentFixture *f)
{
    uint8_t inner[PACKET_IP6_LEN];
    PacketIp6 ip = {
        .src = agent_address(HOME),
        .dst = agent_address("2001:db8:9000::c"),
        .next = PACKET_PROTO_NONE,
        .hops = 64,
    };

    packet_ip6_build(inner, &ip);
    give(f, CARE_OF, PACKET_PROTO_IP6, inner, sizeof(inner));
}

static void test_unknown_binding(void)
{
    AgentFixture *f = begin(0);
    struct in6_addr home = agent_address(HOME);
    Mip6Mh be;

    tunnel(f);
    g_assert_cmpuint(f->packets, ==, 1);
    be = last_message(f, CARE_OF);
    g_assert_cmpuint(be.type, ==, MIP6_MH_BE);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_BINDING);
    g_assert_true(packet_ip6_equal(&be.home, &home));
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    agent_end(f);
}

static void test_rate(void)
{
    AgentFixture *f = begin(0);

    for (unsigned i = 0; i < 5000; i++) {
        tunnel(f);
    }
    g_assert_cmpuint(f->packets, ==, 1000);
    g_assert_cmpuint(f->a.errors, ==, 1000);
    g_assert_cmpuint(f->a.muted, ==, 4000);
    f->now += SECOND / 100;
    for (unsigned i = 0; i < 100; i++) {
        tunnel(f);
    }
    g_assert_cmpuint(f->packets, ==, 1010);
    agent_end(f);
}

/* A message of 8 octets with a right checksum for @src. */
static void message(uint8_t mh[8], const char *src, uint8_t proto, uint8_t type)
{
    struct in6_addr from = agent_address(src), to = agent_address(AGENT);
    uint32_t sum;

    memset(mh, 0, 8);
    mh[0] = proto;
    mh[2] = type;
    sum = packet_sum_pseudo6(&from, &to, PACKET_PROTO_MH, 8);
    packet_put16(mh + 4, packet_sum_fold(packet_sum_add(sum, mh, 8)));
}

static void test_unknown_type(void)
{
    AgentFixture *f = begin(0);
    struct in6_addr home = agent_address(HOME);
    uint8_t payload[MIP6_HAO_LEN + 8];
    Mip6Mh be;

    message(payload, CARE_OF, 59, 77);
    give(f, CARE_OF, PACKET_PROTO_MH, payload, 8);
    be = last_message(f, CARE_OF);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_MH);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&be.home));

    mip6_hao_build(payload, PACKET_PROTO_MH, &home);
    message(payload + MIP6_HAO_LEN, HOME, 59, 77);
    give(f, CARE_OF, PACKET_PROTO_DSTOPTS, payload, sizeof(payload));
    be = last_message(f, CARE_OF);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_MH);
    g_assert_true(packet_ip6_equal(&be.home, &home));
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_UNKNOWN_MH], ==, 2);
    agent_end(f);
}

static void expect_parameter(const AgentFixture *f, uint32_t pointer)
{
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, f->packet, f->len));
    g_assert_cmpuint(ip.next, ==, PACKET_PROTO_ICMP6);
    g_assert_cmpuint(f->packet[PACKET_IP6_LEN], ==, PACKET_ICMP6_PARAMETER);
    g_assert_cmpuint(f->packet[PACKET_IP6_LEN + 1], ==, 0);
    g_assert_cmpuint(packet_get32(f->packet + PACKET_IP6_LEN + 4), ==, pointer);
}

/* Section 9.2: the pointer is to the field that is wrong. */
static void test_parameter(void)
{
    AgentFixture *f = begin(0);
    uint8_t mh[8];

    message(mh, CARE_OF, 6, MIP6_MH_BU);
    give(f, CARE_OF, PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(f->packets, ==, 1);
    expect_parameter(f, PACKET_IP6_LEN);

    message(mh, CARE_OF, 59, MIP6_MH_BU);   /* too short for one */
    give(f, CARE_OF, PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(f->packets, ==, 2);
    expect_parameter(f, PACKET_IP6_LEN + 1);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_MALFORMED], ==, 2);
    agent_end(f);
}

/*
 * No answer to a wrong checksum, to a message cut before its checksum, and to a
 * group as sender.
 */
static void test_silent(void)
{
    AgentFixture *f = begin(0);
    uint8_t mh[8];

    message(mh, HOME, 59, 77);
    give(f, CARE_OF, PACKET_PROTO_MH, mh, sizeof(mh));
    message(mh, CARE_OF, 59, MIP6_MH_BU);
    mh[1] = 1;                  /* 16 octets */
    give(f, CARE_OF, PACKET_PROTO_MH, mh, sizeof(mh));
    give(f, CARE_OF, PACKET_PROTO_MH, mh, 4);
    message(mh, "ff02::1", 59, 77);
    give(f, "ff02::1", PACKET_PROTO_MH, mh, sizeof(mh));
    message(mh, "ff02::1", 6, MIP6_MH_BU);
    give(f, "ff02::1", PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpuint(f->a.errors + f->a.muted, ==, 0);
    agent_end(f);
}

/* Advice to register again, if that is before the lifetime's end. */
static void test_refresh(void)
{
    const struct {
        uint16_t refresh, lifetime, advised;
    } cases[] = { { 10, 15, 10 }, { 10, 10, 0 }, { 0, 15, 0 } };
    struct in6_addr home = agent_address(HOME), agent = agent_address(AGENT);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        AgentFixture *f = begin(cases[i].refresh);
        uint8_t payload[128];
        Mip6Mh bu = {
            .type = MIP6_MH_BU,
            .sequence = 1,
            .lifetime = cases[i].lifetime,
            .flags = MIP6_BU_ACK | MIP6_BU_HOME,
        }, ba;
        size_t len = mip6_hao_build(payload, PACKET_PROTO_MH, &home);

        len += mip6_mh_build(payload + len, sizeof(payload) - len, &home,
                             &agent, &bu);
        give(f, CARE_OF, PACKET_PROTO_DSTOPTS, payload, len);
        ba = last_message(f, HOME);
        g_assert_cmpuint(ba.status, ==, MIP6_BA_ACCEPTED);
        g_assert_cmpint(ba.has_refresh, ==, cases[i].advised != 0);
        g_assert_cmpuint(ba.refresh, ==, cases[i].advised);
        agent_end(f);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-errors/unknown-binding", test_unknown_binding);
    g_test_add_func("/mip6-errors/rate", test_rate);
    g_test_add_func("/mip6-errors/unknown-type", test_unknown_type);
    g_test_add_func("/mip6-errors/parameter", test_parameter);
    g_test_add_func("/mip6-errors/silent", test_silent);
    g_test_add_func("/mip6-errors/refresh", test_refresh);
    return g_test_run();
}
