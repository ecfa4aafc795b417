/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent's errors about packets that it cannot accept */
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
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
    put_be16(mh + 4, packet_sum_fold(packet_sum_add(sum, mh, 8)));
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

static void expect_problem(const AgentFixture *f, uint8_t code,
                           uint32_t pointer)
{
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, f->packet, f->len));
    g_assert_cmpuint(ip.next, ==, PACKET_PROTO_ICMP6);
    g_assert_cmpuint(f->packet[PACKET_IP6_LEN], ==, PACKET_ICMP6_PARAMETER);
    g_assert_cmpuint(f->packet[PACKET_IP6_LEN + 1], ==, code);
    g_assert_cmpuint(get_be32(f->packet + PACKET_IP6_LEN + 4), ==, pointer);
}

static void expect_parameter(const AgentFixture *f, uint32_t pointer)
{
    expect_problem(f, PACKET_IP6_WRONG_FIELD, pointer);
}

/* A good Binding Update behind @head, a header of type @next. */
static void update_behind(AgentFixture *f, uint8_t next, const uint8_t *head,
                          size_t head_len)
{
    struct in6_addr home = agent_address(HOME), agent = agent_address(AGENT);
    Mip6Mh bu = agent_usual_update(f, CARE_OF, 15);
    uint8_t payload[256];
    size_t len = head_len;

    memcpy(payload, head, head_len);
    payload[0] = PACKET_PROTO_DSTOPTS;
    len += mip6_hao_build(payload + len, PACKET_PROTO_MH, &home);
    len += mip6_mh_build(payload + len, sizeof(payload) - len, &home, &agent,
                         &bu);
    give(f, CARE_OF, next, payload, len);
}

#define SILENT  0xff            /* dropped without an error */
#define TAKEN   0xfe            /* there is a binding */

/* RFC 8200 sections 4.2 and 4.4, RFC 5095: what other headers want. */
static void test_extensions(void)
{
    static const struct {
        uint8_t next, head[24], len, code, pointer;
    } cases[] = {
        /* options: skip, discard, tell, tell unless to a group */
        { PACKET_PROTO_DSTOPTS, { 0, 0, 0x03, 4 }, 8, TAKEN, 0 },
        { PACKET_PROTO_DSTOPTS, { 0, 0, 0x43, 4 }, 8, SILENT, 0 },
        { PACKET_PROTO_DSTOPTS, { 0, 0, 0x83, 4 }, 8, 2, 42 },
        { PACKET_PROTO_DSTOPTS, { 0, 0, 0xc3, 4 }, 8, 2, 42 },
        { PACKET_PROTO_DSTOPTS, { 0, 0, 1, 0, 0xc3, 2 }, 8, 2, 44 },
        { PACKET_PROTO_DSTOPTS, { 0, 0, 0x03, 5 }, 8, SILENT, 0 },
        { PACKET_PROTO_HOPOPTS, { 0, 0, 0x03, 4 }, 8, TAKEN, 0 },
        { PACKET_PROTO_HOPOPTS, { 0, 0, 0x43, 4 }, 8, SILENT, 0 },
        { PACKET_PROTO_HOPOPTS, { 0, 0, 0xc3, 4 }, 8, 2, 42 },
        /* the Home Address option: not there, not twice */
        { PACKET_PROTO_HOPOPTS, { 0, 2, 1, 2, 0, 0, MIP6_OPTION_HAO, 16 }, 24,
          2, 46 },
        { PACKET_PROTO_DSTOPTS, { 0, 2, 1, 2, 0, 0, MIP6_OPTION_HAO, 16 }, 24,
          SILENT, 0 },
        /* routing headers of type 0, 2, 4 and 253; segments left or none */
        { PACKET_PROTO_ROUTING, { 0, 2, 0, 1 }, 24, 0, 42 },
        { PACKET_PROTO_ROUTING, { 0, 2, 0, 0 }, 24, TAKEN, 0 },
        { PACKET_PROTO_ROUTING, { 0, 2, 2, 1 }, 24, 0, 42 },
        { PACKET_PROTO_ROUTING, { 0, 2, 4, 1 }, 24, 0, 42 },
        { PACKET_PROTO_ROUTING, { 0, 2, 253, 255 }, 24, 0, 42 },
        { PACKET_PROTO_ROUTING, { 0, 0, 253, 0 }, 8, TAKEN, 0 },
        /* nobody verifies it */
        { PACKET_PROTO_AH, { 0, 4 }, 24, 1, 6 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        AgentFixture *f = begin(0);
        bool taken = cases[i].code == TAKEN;

        update_behind(f, cases[i].next, cases[i].head, cases[i].len);
        g_assert_cmpint(agent_binding(f, HOME) != NULL, ==, taken);
        g_assert_cmpuint(f->packets, ==, cases[i].code != SILENT);
        g_assert_cmpuint(f->a.dropped[MIP6_AGENT_EXTENSION], ==, !taken);
        if (cases[i].code < TAKEN) {
            expect_problem(f, cases[i].code, cases[i].pointer);
        }
        agent_end(f);
    }
}

/* The same for tunnelled packets and for those to the anycast address. */
static void test_extensions_of_others(void)
{
    AgentFixture *f = begin(0);
    uint8_t packet[PACKET_IP6_LEN + 8 + PACKET_IP6_LEN] = { 0 };
    PacketIp6 ip = {
        .src = agent_address(CARE_OF), .dst = f->a.anycast,
        .next = PACKET_PROTO_DSTOPTS, .hops = 64, .payload = 16,
    }, inner = {
        .src = agent_address(HOME), .dst = agent_address(FAR),
        .next = PACKET_PROTO_NONE, .hops = 64,
    };
    uint8_t *head = packet + PACKET_IP6_LEN;
    unsigned before;

    agent_bind(f, HOME, CARE_OF);
    before = f->packets;
    packet_ip6_build(packet, &ip);
    head[0] = PACKET_PROTO_ICMP6;
    head[2] = 0xc3;
    head[3] = 4;
    head[8] = PACKET_ICMP6_ECHO;
    mip6_agent_packet(&f->a, f->now, packet, PACKET_IP6_LEN + 16);
    g_assert_cmpuint(f->packets, ==, ++before);
    expect_problem(f, 2, 42);

    head[0] = PACKET_PROTO_IP6;
    packet_ip6_build(head + 8, &inner);
    give(f, CARE_OF, PACKET_PROTO_DSTOPTS, head, 8 + PACKET_IP6_LEN);
    g_assert_cmpuint(f->packets, ==, ++before);
    expect_problem(f, 2, 42);
    head[2] = 0x04;             /* the tunnel's own limit (RFC 2473) */
    give(f, CARE_OF, PACKET_PROTO_DSTOPTS, head, 8 + PACKET_IP6_LEN);
    g_assert_cmpuint(f->packets, ==, ++before);
    g_assert_cmpuint(f->len, ==, PACKET_IP6_LEN);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_EXTENSION], ==, 2);
    agent_end(f);
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
    g_test_add_func("/mip6-errors/extensions", test_extensions);
    g_test_add_func("/mip6-errors/extensions-of-others",
                    test_extensions_of_others);
    g_test_add_func("/mip6-errors/silent", test_silent);
    g_test_add_func("/mip6-errors/refresh", test_refresh);
    return g_test_run();
}
