/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Duplicate address detection of the home agent: at once, or only then */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/mip6/ha/agent/agent.h"
#include "net/packet/ip6.h"

#define SECOND  1000000000ll
#define AGENT   "2001:db8:2000::1"
#define HOME    "2001:db8:2000::10"
#define COA     "2001:db8:3000::b"

typedef struct World {
    Mip6Agent agent;
    int64_t now;
    unsigned probes, changes;
    int proxied;
    bool full;                  /* the host takes no address */
    unsigned answers;
    Mip6Mh last;                /* of the answers */
    unsigned forwarded;         /* what else came out */
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
    struct in6_addr home = address(HOME);
    PacketIp6Ext ext;
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, packet, len));
    g_assert_true(packet_ip6_walk(&ext, packet, len));
    if (ext.next != PACKET_PROTO_MH) {
        w->forwarded++;
        return;
    }
    g_assert_cmpint(mip6_mh_parse(&w->last, &ip.src, &home,
                                  (const uint8_t *)packet + ext.offset,
                                  len - ext.offset), ==, MIP6_MH_GOOD);
    w->answers++;
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    World *w = opaque;

    if (w->full && on) {
        return false;
    }
    w->proxied += on ? 1 : -1;
    return true;
}

static void probe(void *opaque, const struct in6_addr *home)
{
    World *w = opaque;

    w->probes++;
}

static void changed(void *opaque, const Mip6AgentBinding *b)
{
    World *w = opaque;

    g_assert_false(b->tentative);
    w->changes++;
}

static const Mip6AgentOps ops = {
    .forward = forward,
    .proxy = proxy,
    .probe = probe,
    .changed = changed,
};

static World *world_new(Mip6AgentDad dad)
{
    World *w = g_new0(World, 1);
    Mip6AgentConfig config = {
        .address = address(AGENT),
        .prefix = address(AGENT),
        .prefix_len = 64,
        .lifetime_max = 15,
        .bindings_max = 10,
        .mtu = 1500,
        .dad = dad,
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

static void update(World *w, uint16_t sequence, uint16_t lifetime)
{
    struct in6_addr home = address(HOME), agent = address(AGENT);
    uint8_t packet[256], *at = packet + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = address(COA),
        .dst = agent,
        .next = PACKET_PROTO_DSTOPTS,
        .hops = 64,
    };
    Mip6Mh bu = {
        .type = MIP6_MH_BU,
        .sequence = sequence,
        .lifetime = lifetime,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
    };

    at += mip6_hao_build(at, PACKET_PROTO_MH, &home);
    at += mip6_mh_build(at, packet + sizeof(packet) - at, &home, &agent, &bu);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    mip6_agent_packet(&w->agent, w->now, packet, at - packet);
}

static void claim(World *w, const char *text)
{
    struct in6_addr addr = address(text);

    mip6_agent_claimed(&w->agent, w->now, &addr);
}

static const Mip6AgentBinding *binding(World *w)
{
    struct in6_addr home = address(HOME);

    return mip6_agent_binding(&w->agent, &home);
}

static void pass(World *w, int64_t time)
{
    w->now += time;
    mip6_agent_tick(&w->agent, w->now);
}

/* Packets to the home address that come out for one that comes in. */
static unsigned tunnelled(World *w)
{
    uint8_t packet[PACKET_IP6_LEN];
    PacketIp6 ip = {
        .src = address("2001:db8:9000::c"),
        .dst = address(HOME),
        .next = PACKET_PROTO_NONE,
        .hops = 64,
    };
    unsigned before = w->forwarded;

    packet_ip6_build(packet, &ip);
    mip6_agent_packet(&w->agent, w->now, packet, sizeof(packet));
    return w->forwarded - before;
}

static void expect_answer(World *w, uint8_t status, uint16_t sequence)
{
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(w->last.type, ==, MIP6_MH_BA);
    g_assert_cmpuint(w->last.status, ==, status);
    g_assert_cmpuint(w->last.sequence, ==, sequence);
    g_assert_cmpuint(w->last.lifetime, ==, mip6_ba_accepted(status) ? 15 : 0);
    w->answers = 0;
}

static void test_optimistic(void)
{
    World *w = world_new(MIP6_AGENT_DAD_OPTIMISTIC);

    update(w, 1, 15);
    expect_answer(w, MIP6_BA_ACCEPTED, 1);
    g_assert_cmpuint(w->probes, ==, 1);
    g_assert_cmpuint(tunnelled(w), ==, 1);
    claim(w, "2001:db8:2000::11");
    g_assert_nonnull(binding(w));

    pass(w, SECOND - 1);
    claim(w, HOME);
    expect_answer(w, MIP6_BA_DAD_FAILED, 1);
    g_assert_null(binding(w));
    g_assert_cmpint(w->proxied, ==, 0);
    g_assert_cmpuint(w->changes, ==, 2);
    g_assert_cmpuint(tunnelled(w), ==, 0);
    world_free(w);
}

/* The time for claims is over, and a refreshed binding has no new one. */
static void test_late_claim(void)
{
    World *w = world_new(MIP6_AGENT_DAD_OPTIMISTIC);

    update(w, 1, 15);
    pass(w, SECOND);
    update(w, 2, 15);
    claim(w, HOME);
    g_assert_cmpuint(w->answers, ==, 2);
    g_assert_cmpuint(w->probes, ==, 1);
    g_assert_nonnull(binding(w));
    world_free(w);
}

static void test_strict(void)
{
    World *w = world_new(MIP6_AGENT_DAD_STRICT);

    update(w, 1, 15);
    g_assert_cmpuint(w->answers, ==, 0);
    g_assert_cmpint(w->proxied, ==, 0);
    g_assert_null(binding(w));
    g_assert_cmpuint(tunnelled(w), ==, 0);
    g_assert_cmpint(mip6_agent_deadline(&w->agent), ==, w->now + SECOND);

    /* It asks again, and the later number is answered. */
    pass(w, SECOND / 2);
    update(w, 2, 15);
    g_assert_cmpuint(w->answers, ==, 0);
    g_assert_cmpuint(w->probes, ==, 1);
    pass(w, SECOND / 2);
    expect_answer(w, MIP6_BA_ACCEPTED, 2);
    g_assert_cmpuint(tunnelled(w), ==, 1);
    g_assert_cmpint(w->proxied, ==, 1);
    g_assert_cmpuint(w->changes, ==, 1);
    /* The lifetime begins with the binding. */
    g_assert_cmpint(binding(w)->expires, ==, w->now + 60 * SECOND);

    pass(w, 60 * SECOND);
    g_assert_null(binding(w));
    g_assert_cmpint(w->proxied, ==, 0);
    world_free(w);
}

static void test_strict_claimed(void)
{
    World *w = world_new(MIP6_AGENT_DAD_STRICT);

    update(w, 1, 15);
    claim(w, HOME);
    expect_answer(w, MIP6_BA_DAD_FAILED, 1);
    pass(w, 2 * SECOND);
    g_assert_cmpuint(w->answers, ==, 0);
    g_assert_cmpuint(w->changes, ==, 0);
    g_assert_cmpint(w->proxied, ==, 0);
    g_assert_cmpint(mip6_agent_deadline(&w->agent), ==, INT64_MAX);
    world_free(w);
}

/* De-registered, or refused by the host, before it has held. */
static void test_strict_ends_early(void)
{
    World *w = world_new(MIP6_AGENT_DAD_STRICT);

    update(w, 1, 15);
    update(w, 2, 0);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(w->last.status, ==, MIP6_BA_ACCEPTED);
    w->answers = 0;
    pass(w, 2 * SECOND);
    g_assert_cmpuint(w->answers, ==, 0);

    w->full = true;
    update(w, 3, 15);
    pass(w, SECOND);
    expect_answer(w, MIP6_BA_RESOURCES, 3);
    g_assert_cmpint(w->proxied, ==, 0);
    g_assert_cmpuint(w->changes, ==, 0);
    world_free(w);
}

static void test_off(void)
{
    World *w = world_new(MIP6_AGENT_DAD_OFF);

    update(w, 1, 15);
    claim(w, HOME);
    expect_answer(w, MIP6_BA_ACCEPTED, 1);
    g_assert_cmpuint(w->probes, ==, 0);
    g_assert_nonnull(binding(w));
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-dad/optimistic", test_optimistic);
    g_test_add_func("/mip6-dad/late-claim", test_late_claim);
    g_test_add_func("/mip6-dad/strict", test_strict);
    g_test_add_func("/mip6-dad/strict-claimed", test_strict_claimed);
    g_test_add_func("/mip6-dad/strict-ends-early", test_strict_ends_early);
    g_test_add_func("/mip6-dad/off", test_off);
    return g_test_run();
}
