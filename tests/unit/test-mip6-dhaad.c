/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mobile node's requests for home agents, and the replies that it accepts */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "net/mip6/core/dhaad.h"
#include "net/packet/ip6.h"

#define HOME    "2001:db8:2000::10"
#define ANYCAST "2001:db8:2000:0:fdff:ffff:ffff:fffe"

typedef struct Fixture {
    Mip6Dhaad d;
    int64_t now;
    unsigned sent;
    int64_t at[64];
    uint16_t id[64];
    uint32_t random;
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void request(void *opaque, uint16_t id)
{
    Fixture *f = opaque;

    g_assert_cmpint(f->sent, <, G_N_ELEMENTS(f->at));
    f->at[f->sent] = f->now;
    f->id[f->sent++] = id;
}

static uint32_t next_random(void *opaque)
{
    Fixture *f = opaque;

    return ++f->random;
}

static bool is_own(void *opaque, const struct in6_addr *addr)
{
    struct in6_addr home = address(HOME);

    return packet_ip6_equal(addr, &home);
}

static const Mip6DhaadOps ops = {
    .request = request,
    .random = next_random,
    .is_own = is_own,
};

static Fixture *begin(void)
{
    Fixture *f = g_new0(Fixture, 1);
    struct in6_addr home = address(HOME);

    f->now = 1000 * SECOND;
    mip6_dhaad_init(&f->d, &home, 64, &ops, f);
    return f;
}

static void ask(Fixture *f, const char *care_of)
{
    struct in6_addr addr = address(care_of);

    mip6_dhaad_ask(&f->d, f->now, &addr);
}

static void pass(Fixture *f, int64_t ns)
{
    int64_t end = f->now + ns;

    while (mip6_dhaad_deadline(&f->d) <= end) {
        f->now = MAX(f->now, mip6_dhaad_deadline(&f->d));
        mip6_dhaad_tick(&f->d, f->now);
    }
    f->now = end;
}

/* @list: addresses, and NULL at the end */
static bool reply(Fixture *f, uint16_t id, const char *const *list)
{
    Mip6Icmp m = { .type = MIP6_ICMP_AGENT_REPLY, .id = id };

    for (; *list; list++) {
        m.agent[m.agents++] = address(*list);
    }
    return mip6_dhaad_reply(&f->d, f->now, &m);
}

static void expect_agent(const Fixture *f, unsigned which, const char *text)
{
    struct in6_addr addr = address(text);

    g_assert_cmpint(which, <, f->d.agents);
    g_assert_true(packet_ip6_equal(&f->d.agent[which], &addr));
}

/* RFC 2526 section 2: of 64 bits, and of other lengths. */
static void test_anycast(void)
{
    const struct {
        const char *prefix;
        unsigned len;
        const char *anycast;
    } cases[] = {
        { HOME, 64, ANYCAST },
        { "2001:db8::", 112, "2001:db8::fffe" },
        { "2001:db8::", 120, "2001:db8::fe" },
        { "2001:db8::", 121, "::" },
        { "2001:db8::", 52, "2001:db8:0:fff:ffff:ffff:ffff:fffe" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct in6_addr prefix = address(cases[i].prefix);
        struct in6_addr expected = address(cases[i].anycast), found;

        found = mip6_icmp_anycast(&prefix, cases[i].len);
        g_assert_cmpmem(&found, 16, &expected, 16);
    }
}

/* RFC 6275 sections 11.4.1, 12: the same request 4 times; then another one. */
static void test_retransmission(void)
{
    static const int gaps[] = { 3, 6, 12, 24, 48, 48, 48 };
    Fixture *f = begin();

    g_assert_cmpint(mip6_dhaad_deadline(&f->d), ==, INT64_MAX);
    ask(f, "2001:db8:3000::b");
    g_assert_cmpint(f->sent, ==, 1);
    ask(f, "2001:db8:3000::b");         /* goes on */
    pass(f, 200 * SECOND);
    g_assert_cmpint(f->sent, ==, 8);
    for (unsigned i = 0; i < G_N_ELEMENTS(gaps); i++) {
        g_assert_cmpint(f->at[i + 1] - f->at[i], ==, gaps[i] * SECOND);
        g_assert_true((f->id[i + 1] == f->id[i]) == (i < 4));
    }
    mip6_dhaad_stop(&f->d);
    g_assert_cmpint(mip6_dhaad_deadline(&f->d), ==, INT64_MAX);
    g_free(f);
}

/* Another care-of address: another request at once, but not too many. */
static void test_moves(void)
{
    Fixture *f = begin();
    const char *const list[] = { "2001:db8:2000::1", NULL };

    ask(f, "2001:db8:3000::b");
    pass(f, 2 * SECOND);
    ask(f, "2001:db8:4000::b");
    g_assert_cmpint(f->sent, ==, 2);
    g_assert_cmpint(f->id[0], !=, f->id[1]);
    for (unsigned i = 0; i < 50; i++) {
        ask(f, i % 2 ? "2001:db8:4000::b" : "2001:db8:3000::b");
        pass(f, SECOND / 50);
    }
    g_assert_cmpint(f->sent, <=, 3);
    g_assert_false(reply(f, f->id[0], list));   /* of the link before */
    g_free(f);
}

/* Replies to no request of ours, and replies without an agent. */
static void test_refused(void)
{
    const char *const good[] = { "2001:db8:2000::1", NULL };
    const char *const bad[] = {
        HOME, "2001:db8:2000::", ANYCAST, "2001:db8:2001::1", "::",
        "fe80::1", "ff02::1", "::1", NULL
    };
    const char *const empty[] = { NULL };
    Fixture *f = begin();

    g_assert_false(reply(f, 0, good));          /* nothing was asked */
    ask(f, "2001:db8:3000::b");
    g_assert_false(reply(f, f->id[0] + 1, good));
    g_assert_false(reply(f, f->id[0], bad));
    g_assert_false(reply(f, f->id[0], empty));
    g_assert_cmpint(f->d.agents, ==, 0);
    pass(f, 3 * SECOND);
    g_assert_cmpint(f->sent, ==, 2);            /* it is still asking */
    g_assert_true(reply(f, f->id[1], good));
    g_assert_false(reply(f, f->id[1], good));   /* once */
    pass(f, 1000 * SECOND);
    g_assert_cmpint(f->sent, ==, 2);
    g_free(f);
}

/*
 * The order of the reply is kept; invalid and duplicate addresses are omitted.
 */
static void test_list(void)
{
    const char *const list[] = {
        "2001:db8:2000::3", HOME, "2001:db8:2000::1", "2001:db8:2000::3",
        "2001:db8:2001::5", "2001:db8:2000::2", NULL
    };
    Fixture *f = begin();
    Mip6Icmp m = { .type = MIP6_ICMP_AGENT_REPLY };

    g_assert_false(mip6_dhaad_next(&f->d));
    ask(f, "2001:db8:3000::b");
    g_assert_true(reply(f, f->id[0], list));
    g_assert_cmpint(f->d.agents, ==, 3);
    expect_agent(f, 0, "2001:db8:2000::3");
    expect_agent(f, 1, "2001:db8:2000::1");
    expect_agent(f, 2, "2001:db8:2000::2");
    g_assert_cmpint(f->d.current, ==, 0);
    g_assert_true(mip6_dhaad_next(&f->d));
    g_assert_true(mip6_dhaad_next(&f->d));
    g_assert_cmpint(f->d.current, ==, 2);
    g_assert_false(mip6_dhaad_next(&f->d));
    g_assert_cmpint(f->d.current, ==, 2);

    /* All refuse: requested again, but not at once. */
    ask(f, "2001:db8:3000::b");
    ask(f, "2001:db8:4000::b");
    g_assert_cmpint(f->sent, ==, 1);
    pass(f, 31 * SECOND);
    g_assert_cmpint(f->sent, ==, 1);
    pass(f, 2 * SECOND);
    g_assert_cmpint(f->sent, ==, 2);

    /* As many as fit. */
    m.id = f->id[1];
    m.agents = MIP6_ICMP_AGENTS_MAX;
    for (unsigned i = 0; i < m.agents; i++) {
        m.agent[i] = address("2001:db8:2000::100");
        m.agent[i].s6_addr[15] = i;
    }
    g_assert_true(mip6_dhaad_reply(&f->d, f->now, &m));
    g_assert_cmpint(f->d.agents, ==, MIP6_ICMP_AGENTS_MAX);
    g_assert_cmpint(f->d.current, ==, 0);
    g_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/dhaad/anycast", test_anycast);
    g_test_add_func("/mip6/dhaad/retransmission", test_retransmission);
    g_test_add_func("/mip6/dhaad/moves", test_moves);
    g_test_add_func("/mip6/dhaad/refused", test_refused);
    g_test_add_func("/mip6/dhaad/list", test_list);
    return g_test_run();
}
