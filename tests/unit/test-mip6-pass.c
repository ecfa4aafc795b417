/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bindings that the home agent lets its host forward itself, and their end */
#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define LIFETIME        (60 * SECOND)   /* what agent_bind() gets */
#define PATH_LIVES      (600 * SECOND)

/* The host may forward for @home, by @care_of; whose path is as configured. */
static void expect_pass(const AgentFixture *f, const char *home,
                        const char *care_of, int64_t expires)
{
    struct in6_addr h = agent_address(home), c = agent_address(care_of);

    g_assert_cmpmem(&f->pass.home, 16, &h, 16);
    g_assert_cmpmem(&f->pass.care_of, 16, &c, 16);
    g_assert_cmpint(f->pass.expires, ==, expires);
    g_assert_cmpuint(f->pass.room, ==, 1460);
    g_assert_cmpint(f->pass.path_until, <=, f->now);
}

static void expect_stopped(const AgentFixture *f, const char *home,
                           unsigned times)
{
    struct in6_addr h = agent_address(home);

    g_assert_cmpuint(f->stopped, ==, times);
    g_assert_cmpmem(&f->stopped_home, 16, &h, 16);
}

static void test_begins_and_moves(void)
{
    AgentFixture *f = agent_begin(NULL);

    agent_bind(f, HOME, CARE_OF);
    expect_pass(f, HOME, CARE_OF, f->now + LIFETIME);
    f->now += 5 * SECOND;
    agent_bind(f, HOME, CARE_OF);
    expect_pass(f, HOME, CARE_OF, f->now + LIFETIME);
    agent_bind(f, HOME, NEXT);
    expect_pass(f, HOME, NEXT, f->now + LIFETIME);
    agent_bind(f, OTHER, NEXT);
    expect_pass(f, OTHER, NEXT, f->now + LIFETIME);
    g_assert_cmpuint(f->let, ==, 4);
    g_assert_cmpuint(f->stopped, ==, 0);
    agent_end(f);
}

static void test_ends(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;

    agent_bind(f, HOME, CARE_OF);
    bu = agent_usual_update(f, CARE_OF, 0);
    agent_update(f, HOME, CARE_OF, &bu);
    expect_stopped(f, HOME, 1);

    agent_bind(f, OTHER, CARE_OF);
    f->now += LIFETIME;
    mip6_agent_tick(&f->a, f->now);
    expect_stopped(f, OTHER, 2);
    g_assert_cmpuint(f->let, ==, 2);
    agent_end(f);
}

/* Refused updates change nothing. */
static void test_refused(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6Mh bu;

    f->refuses = true;
    bu = agent_usual_update(f, CARE_OF, 15);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_cmpuint(f->let, ==, 0);
    f->refuses = false;
    agent_bind(f, HOME, CARE_OF);
    f->sequence -= 2;
    bu = agent_usual_update(f, NEXT, 15);
    agent_update(f, HOME, NEXT, &bu);
    g_assert_cmpuint(f->let, ==, 1);
    g_assert_cmpuint(f->stopped, ==, 0);
    agent_end(f);
}

static void test_duplicate(void)
{
    Mip6AgentConfig config = agent_usual_config();
    struct in6_addr home = agent_address(HOME);
    AgentFixture *f;
    Mip6Mh bu;

    config.dad = MIP6_AGENT_DAD_OPTIMISTIC;
    f = agent_begin_as(&config);
    agent_bind(f, HOME, CARE_OF);
    mip6_agent_claimed(&f->a, f->now, &home);
    expect_stopped(f, HOME, 1);
    agent_end(f);

    config.dad = MIP6_AGENT_DAD_STRICT;
    f = agent_begin_as(&config);
    bu = agent_usual_update(f, CARE_OF, 15);
    agent_update(f, HOME, CARE_OF, &bu);
    g_assert_cmpuint(f->let, ==, 0);
    f->now += SECOND;
    mip6_agent_tick(&f->a, f->now);
    expect_pass(f, HOME, CARE_OF, f->now + LIFETIME);
    g_assert_cmpuint(f->let, ==, 1);
    agent_end(f);
}

static void test_restored(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6AgentBinding saved = {
        .home = agent_address(HOME), .care_of = agent_address(CARE_OF),
        .lifetime = 15, .expires = f->now + 7 * SECOND,
    };

    g_assert_cmpint(mip6_agent_restore(&f->a, f->now, &saved), ==,
                    MIP6_BA_ACCEPTED);
    expect_pass(f, HOME, CARE_OF, f->now + 7 * SECOND);
    agent_end(f);
}

/* The path has a smaller MTU; another path is unaffected. */
static void test_path(void)
{
    AgentFixture *f = agent_begin(NULL);
    uint8_t packet[2048], error[PACKET_IP6_MTU_MIN];
    struct in6_addr router = agent_address("2001:db8:3000::ffff");
    size_t len;

    agent_bind(f, HOME, CARE_OF);
    len = agent_build_packet(packet, FAR, HOME, 1420);
    mip6_agent_packet(&f->a, f->now, packet, len);
    len = packet_icmp6_error(error, sizeof(error), &router, 64,
                             PACKET_ICMP6_TOO_BIG, 0, 1300, f->packet, f->len);
    mip6_agent_packet(&f->a, f->now, error, len);
    g_assert_cmpuint(f->let, ==, 2);
    g_assert_cmpuint(f->pass.room, ==, 1460);
    g_assert_cmpuint(f->pass.path_room, ==, 1260);
    g_assert_cmpint(f->pass.path_until, ==, f->now + PATH_LIVES);
    agent_bind(f, HOME, CARE_OF);
    g_assert_cmpuint(f->pass.path_room, ==, 1260);
    g_assert_cmpint(f->pass.path_until, ==, f->now + PATH_LIVES);
    agent_bind(f, HOME, NEXT);
    expect_pass(f, HOME, NEXT, f->now + LIFETIME);
    agent_end(f);
}

/* ESP is the agent's own work; what has passed before still counts. */
static void test_keys(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6ProtectConfig keys = agent_protect(false, 0);

    agent_bind(f, HOME, CARE_OF);
    agent_set_keys(f, &keys);
    expect_stopped(f, HOME, 1);
    g_assert_cmpuint(agent_binding(f, HOME)->sent, ==, 2);
    g_assert_cmpuint(agent_binding(f, HOME)->received, ==, 3);
    agent_bind(f, OTHER, CARE_OF);
    expect_pass(f, OTHER, CARE_OF, f->now + LIFETIME);
    agent_set_keys(f, &keys);
    expect_pass(f, OTHER, CARE_OF, f->now + LIFETIME);
    g_assert_cmpuint(f->stopped, ==, 1);
    agent_end(f);
}

/* SIGHUP: another MTU, and addresses that are not allowed any more. */
static void test_configured(void)
{
    g_autoptr(GHashTable) allowed = g_hash_table_new(mip6_addr_hash,
                                                     mip6_addr_equal);
    AgentFixture *f = agent_begin(NULL);
    Mip6AgentConfig config = f->a.config;

    agent_bind(f, HOME, CARE_OF);
    config.mtu = 1400;
    mip6_agent_configure(&f->a, f->now, &config);
    g_assert_cmpuint(f->pass.room, ==, 1360);
    config.allowed = allowed;
    mip6_agent_configure(&f->a, f->now, &config);
    expect_stopped(f, HOME, 1);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-pass/begins-and-moves", test_begins_and_moves);
    g_test_add_func("/mip6-pass/ends", test_ends);
    g_test_add_func("/mip6-pass/refused", test_refused);
    g_test_add_func("/mip6-pass/duplicate", test_duplicate);
    g_test_add_func("/mip6-pass/restored", test_restored);
    g_test_add_func("/mip6-pass/path", test_path);
    g_test_add_func("/mip6-pass/keys", test_keys);
    g_test_add_func("/mip6-pass/configured", test_configured);
    return g_test_run();
}
