/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent's words to those whose packets it cannot take */
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
#define HOME    "2001:db8:2000::10"
#define COA     "2001:db8:3000::b"

typedef struct World {
    Mip6Agent agent;
    int64_t now;
    unsigned sent;
    uint8_t last[2048];
    size_t last_len;
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

    g_assert_cmpuint(len, <=, sizeof(w->last));
    memcpy(w->last, packet, len);
    w->last_len = len;
    w->sent++;
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static const Mip6AgentOps ops = { .forward = forward, .proxy = proxy };

static World *world_new(uint16_t refresh)
{
    World *w = g_new0(World, 1);
    Mip6AgentConfig config = {
        .address = address(AGENT),
        .prefix = address(AGENT),
        .prefix_len = 64,
        .lifetime_max = 15,
        .refresh = refresh,
        .bindings_max = 10,
        .mtu = 1500,
    };

    w->now = 1000 * SECOND;
    mip6_agent_init(&w->agent, &config, &ops, w);
    return w;
}

static void world_free(World *w)
{
    mip6_agent_destroy(&w->agent);
    g_free(w);
}

static void give(World *w, const char *src, uint8_t next,
                 const uint8_t *payload, size_t len)
{
    uint8_t packet[512];
    PacketIp6 ip = {
        .src = address(src),
        .dst = address(AGENT),
        .next = next,
        .hops = 64,
        .payload = len,
    };

    packet_ip6_build(packet, &ip);
    memcpy(packet + PACKET_IP6_LEN, payload, len);
    mip6_agent_packet(&w->agent, w->now, packet, PACKET_IP6_LEN + len);
}

/* The last packet, as a message of mobility to the care-of address. */
static Mip6Mh last_message(const World *w, const char *pseudo_dst)
{
    struct in6_addr dst = address(pseudo_dst), coa = address(COA);
    PacketIp6Ext ext;
    PacketIp6 ip;
    Mip6Mh mh;

    g_assert_true(packet_ip6_parse(&ip, w->last, w->last_len));
    g_assert_true(packet_ip6_equal(&ip.dst, &coa));
    g_assert_true(packet_ip6_walk(&ext, w->last, w->last_len));
    g_assert_cmpuint(ext.next, ==, PACKET_PROTO_MH);
    g_assert_cmpint(mip6_mh_parse(&mh, &ip.src, &dst, w->last + ext.offset,
                                  w->last_len - ext.offset), ==, MIP6_MH_GOOD);
    return mh;
}

static void tunnel(World *w)
{
    uint8_t inner[PACKET_IP6_LEN];
    PacketIp6 ip = {
        .src = address(HOME),
        .dst = address("2001:db8:9000::c"),
        .next = PACKET_PROTO_NONE,
        .hops = 64,
    };

    packet_ip6_build(inner, &ip);
    give(w, COA, PACKET_PROTO_IP6, inner, sizeof(inner));
}

static void test_unknown_binding(void)
{
    World *w = world_new(0);
    struct in6_addr home = address(HOME);
    Mip6Mh be;

    tunnel(w);
    g_assert_cmpuint(w->sent, ==, 1);
    be = last_message(w, COA);
    g_assert_cmpuint(be.type, ==, MIP6_MH_BE);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_BINDING);
    g_assert_true(packet_ip6_equal(&be.home, &home));
    g_assert_cmpuint(w->agent.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    world_free(w);
}

static void test_rate(void)
{
    World *w = world_new(0);

    for (unsigned i = 0; i < 5000; i++) {
        tunnel(w);
    }
    g_assert_cmpuint(w->sent, ==, 1000);
    g_assert_cmpuint(w->agent.errors, ==, 1000);
    g_assert_cmpuint(w->agent.muted, ==, 4000);
    w->now += SECOND / 100;
    for (unsigned i = 0; i < 100; i++) {
        tunnel(w);
    }
    g_assert_cmpuint(w->sent, ==, 1010);
    world_free(w);
}

/* A message of 8 octets with a right checksum for @src. */
static void message(uint8_t mh[8], const char *src, uint8_t proto, uint8_t type)
{
    struct in6_addr from = address(src), to = address(AGENT);
    uint32_t sum;

    memset(mh, 0, 8);
    mh[0] = proto;
    mh[2] = type;
    sum = packet_sum_pseudo6(&from, &to, PACKET_PROTO_MH, 8);
    packet_put16(mh + 4, packet_sum_fold(packet_sum_add(sum, mh, 8)));
}

static void test_unknown_type(void)
{
    World *w = world_new(0);
    struct in6_addr home = address(HOME);
    uint8_t payload[MIP6_HAO_LEN + 8];
    Mip6Mh be;

    message(payload, COA, 59, 77);
    give(w, COA, PACKET_PROTO_MH, payload, 8);
    be = last_message(w, COA);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_MH);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&be.home));

    mip6_hao_build(payload, PACKET_PROTO_MH, &home);
    message(payload + MIP6_HAO_LEN, HOME, 59, 77);
    give(w, COA, PACKET_PROTO_DSTOPTS, payload, sizeof(payload));
    be = last_message(w, COA);
    g_assert_cmpuint(be.status, ==, MIP6_BE_UNKNOWN_MH);
    g_assert_true(packet_ip6_equal(&be.home, &home));
    g_assert_cmpuint(w->agent.dropped[MIP6_AGENT_UNKNOWN_MH], ==, 2);
    world_free(w);
}

static void expect_parameter(const World *w, uint32_t pointer)
{
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, w->last, w->last_len));
    g_assert_cmpuint(ip.next, ==, PACKET_PROTO_ICMP6);
    g_assert_cmpuint(w->last[PACKET_IP6_LEN], ==, PACKET_ICMP6_PARAMETER);
    g_assert_cmpuint(w->last[PACKET_IP6_LEN + 1], ==, 0);
    g_assert_cmpuint(packet_get32(w->last + PACKET_IP6_LEN + 4), ==, pointer);
}

/* Section 9.2: the pointer is to the field that is wrong. */
static void test_parameter(void)
{
    World *w = world_new(0);
    uint8_t mh[8];

    message(mh, COA, 6, MIP6_MH_BU);
    give(w, COA, PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(w->sent, ==, 1);
    expect_parameter(w, PACKET_IP6_LEN);

    message(mh, COA, 59, MIP6_MH_BU);   /* too short for one */
    give(w, COA, PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(w->sent, ==, 2);
    expect_parameter(w, PACKET_IP6_LEN + 1);
    g_assert_cmpuint(w->agent.dropped[MIP6_AGENT_MALFORMED], ==, 2);
    world_free(w);
}

/*
 * A wrong checksum, a message that is cut, and so has none, and a sender that
 * is a group, are not answered.
 */
static void test_silent(void)
{
    World *w = world_new(0);
    uint8_t mh[8];

    message(mh, HOME, 59, 77);
    give(w, COA, PACKET_PROTO_MH, mh, sizeof(mh));
    message(mh, COA, 59, MIP6_MH_BU);
    mh[1] = 1;                  /* 16 octets */
    give(w, COA, PACKET_PROTO_MH, mh, sizeof(mh));
    give(w, COA, PACKET_PROTO_MH, mh, 4);
    message(mh, "ff02::1", 59, 77);
    give(w, "ff02::1", PACKET_PROTO_MH, mh, sizeof(mh));
    message(mh, "ff02::1", 6, MIP6_MH_BU);
    give(w, "ff02::1", PACKET_PROTO_MH, mh, sizeof(mh));
    g_assert_cmpuint(w->sent, ==, 0);
    g_assert_cmpuint(w->agent.errors + w->agent.muted, ==, 0);
    world_free(w);
}

/* Advice to register again, if that is before the lifetime's end. */
static void test_refresh(void)
{
    const struct {
        uint16_t refresh, lifetime, advised;
    } cases[] = { { 10, 15, 10 }, { 10, 10, 0 }, { 0, 15, 0 } };
    struct in6_addr home = address(HOME), agent = address(AGENT);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = world_new(cases[i].refresh);
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
        give(w, COA, PACKET_PROTO_DSTOPTS, payload, len);
        ba = last_message(w, HOME);
        g_assert_cmpuint(ba.status, ==, MIP6_BA_ACCEPTED);
        g_assert_cmpint(ba.has_refresh, ==, cases[i].advised != 0);
        g_assert_cmpuint(ba.refresh, ==, cases[i].advised);
        world_free(w);
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
