/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Duplicate address detection of the home agent: optimistic, or before binding
 */
#include "tests/fixtures/mip6-agent-fixture.h"

static AgentFixture *begin(Mip6AgentDad dad)
{
    Mip6AgentConfig config = agent_usual_config();

    config.dad = dad;
    return agent_begin_as(&config);
}

static void update(AgentFixture *f, uint16_t sequence, uint16_t lifetime)
{
    Mip6Mh bu = {
        .type = MIP6_MH_BU,
        .sequence = sequence,
        .lifetime = lifetime,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
    };

    agent_update(f, HOME, CARE_OF, &bu);
}

static void claim(AgentFixture *f, const char *text)
{
    struct in6_addr addr = agent_address(text);

    f->packets = 0;
    mip6_agent_claimed(&f->a, f->now, &addr);
}

static void pass(AgentFixture *f, int64_t time)
{
    f->packets = 0;
    f->now += time;
    mip6_agent_tick(&f->a, f->now);
}

/* Packets to the home address that come out for one that comes in. */
static unsigned tunnelled(AgentFixture *f)
{
    uint8_t packet[256];
    size_t len = agent_build_packet(packet, FAR, HOME, 0);

    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    return f->packets;
}

static int proxied(const AgentFixture *f)
{
    return (int)f->proxied - (int)f->unproxied;
}

static void expect_answer(const AgentFixture *f, uint8_t status,
                          uint16_t sequence)
{
    agent_expect(f, HOME, CARE_OF, status, sequence,
                 mip6_ba_accepted(status) ? 15 : 0);
}

static void test_optimistic(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_OPTIMISTIC);

    update(f, 1, 15);
    expect_answer(f, MIP6_BA_ACCEPTED, 1);
    g_assert_cmpuint(f->probes, ==, 1);
    g_assert_cmpuint(tunnelled(f), ==, 1);
    claim(f, "2001:db8:2000::11");
    g_assert_nonnull(agent_binding(f, HOME));

    pass(f, SECOND - 1);
    claim(f, HOME);
    expect_answer(f, MIP6_BA_DAD_FAILED, 1);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpint(proxied(f), ==, 0);
    g_assert_cmpuint(f->changes, ==, 2);
    g_assert_cmpuint(tunnelled(f), ==, 0);
    agent_end(f);
}

/* After the time for claims; a refreshed binding gets no new one. */
static void test_late_claim(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_OPTIMISTIC);

    update(f, 1, 15);
    pass(f, SECOND);
    update(f, 2, 15);
    expect_answer(f, MIP6_BA_ACCEPTED, 2);
    claim(f, HOME);
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpuint(f->probes, ==, 1);
    g_assert_nonnull(agent_binding(f, HOME));
    agent_end(f);
}

static void test_strict(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_STRICT);

    update(f, 1, 15);
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpint(proxied(f), ==, 0);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpuint(tunnelled(f), ==, 0);
    g_assert_cmpint(mip6_agent_deadline(&f->a), ==, f->now + SECOND);
    g_assert_cmpint(f->listening, ==, 1);
    g_assert_cmpint(f->heard, ==, 1);

    /* The node repeats its update, and the later number is answered. */
    pass(f, SECOND / 2);
    update(f, 2, 15);
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpuint(f->probes, ==, 1);
    pass(f, SECOND / 2);
    expect_answer(f, MIP6_BA_ACCEPTED, 2);
    g_assert_cmpuint(tunnelled(f), ==, 1);
    g_assert_cmpint(proxied(f), ==, 1);
    g_assert_cmpint(f->listening, ==, 0);
    g_assert_cmpuint(f->changes, ==, 1);
    /* The lifetime begins with the binding. */
    g_assert_cmpint(agent_binding(f, HOME)->expires, ==, f->now + 60 * SECOND);

    pass(f, 60 * SECOND);
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpint(proxied(f), ==, 0);
    agent_end(f);
}

static void test_strict_claimed(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_STRICT);

    update(f, 1, 15);
    claim(f, HOME);
    expect_answer(f, MIP6_BA_DAD_FAILED, 1);
    g_assert_cmpint(f->listening, ==, 0);
    pass(f, 2 * SECOND);
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpuint(f->changes, ==, 0);
    g_assert_cmpint(proxied(f), ==, 0);
    g_assert_cmpint(mip6_agent_deadline(&f->a), ==, INT64_MAX);
    agent_end(f);
}

/* De-registered, or refused by the host, before it has held. */
static void test_strict_ends_early(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_STRICT);

    update(f, 1, 15);
    update(f, 2, 0);
    agent_expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, 2, 0);
    g_assert_cmpint(f->listening, ==, 0);
    pass(f, 2 * SECOND);
    g_assert_cmpuint(f->packets, ==, 0);

    f->refuses = true;
    update(f, 3, 15);
    pass(f, SECOND);
    expect_answer(f, MIP6_BA_RESOURCES, 3);
    g_assert_cmpint(proxied(f), ==, 0);
    g_assert_cmpint(f->listening, ==, 0);
    g_assert_cmpuint(f->changes, ==, 0);
    agent_end(f);
}

static void test_off(void)
{
    AgentFixture *f = begin(MIP6_AGENT_DAD_OFF);

    update(f, 1, 15);
    expect_answer(f, MIP6_BA_ACCEPTED, 1);
    claim(f, HOME);
    g_assert_cmpuint(f->packets, ==, 0);
    g_assert_cmpuint(f->probes, ==, 0);
    g_assert_nonnull(agent_binding(f, HOME));
    agent_end(f);
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
