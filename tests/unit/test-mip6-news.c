/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent's log: what an operator reads, and how much of it */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/mip6-agent-fixture.h"
#include "ha/service/news.h"

typedef struct World {
    AgentFixture *f;
    Mip6AgentOps ops;
    Mip6HaNews news;
    GString *log;               /* lines */
    unsigned lines;
} World;

/* The host's functions have no other argument. */
static World *world;

static void tell(void *opaque, const Mip6AgentNews *news)
{
    mip6_ha_news_tell(&world->news, world->f->now, news, &world->f->a.link);
}

static void keep_line(const gchar *domain, GLogLevelFlags level,
                      const gchar *message, gpointer opaque)
{
    World *w = opaque;

    g_assert_cmpint(level & G_LOG_LEVEL_MASK, ==,
                    g_str_has_prefix(message, "contested")
                    ? G_LOG_LEVEL_WARNING : G_LOG_LEVEL_MESSAGE);
    g_string_append_printf(w->log, "%s\n", message);
    w->lines++;
}

static void begin(World *w, const Mip6AgentConfig *config)
{
    *w = (World) { .f = agent_begin_as(config), .log = g_string_new("") };
    w->ops = *w->f->a.ops;
    w->ops.tell = tell;
    w->f->a.ops = &w->ops;
    world = w;
    g_log_set_always_fatal(G_LOG_FATAL_MASK);   /* no warning is */
    g_log_set_default_handler(keep_line, w);
}

static void end(World *w)
{
    g_log_set_default_handler(g_log_default_handler, NULL);
    agent_end(w->f);
    g_string_free(w->log, TRUE);
}

/* Since the last call. */
static void expect(World *w, const char *lines)
{
    g_assert_cmpstr(w->log->str, ==, lines);
    g_string_truncate(w->log, 0);
}

static void update(World *w, const char *home, const char *care_of,
                   uint16_t lifetime)
{
    Mip6Mh bu = agent_usual_update(w->f, care_of, lifetime);

    agent_update(w->f, home, care_of, &bu);
}

static void test_bindings(void)
{
    Mip6AgentConfig config = agent_usual_config();
    g_autoptr(GHashTable) allowed =
        g_hash_table_new(mip6_addr_hash, mip6_addr_equal);
    World w;

    begin(&w, &config);
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "bound " HOME " at " CARE_OF "\n");
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "");             /* a refresh is nothing new */
    update(&w, HOME, NEXT, 15);
    expect(&w, "moved " HOME " from " CARE_OF " to " NEXT "\n");
    update(&w, HOME, NEXT, 0);
    expect(&w, "ended " HOME " at " NEXT " by its node\n");
    update(&w, HOME, CARE_OF, 1);
    w.f->now += 5 * SECOND;
    mip6_agent_tick(&w.f->a, w.f->now);
    expect(&w, "bound " HOME " at " CARE_OF "\n"
           "expired " HOME " at " CARE_OF ": no update came\n");
    update(&w, HOME, CARE_OF, 15);
    config.allowed = allowed;
    mip6_agent_configure(&w.f->a, w.f->now, &config);
    expect(&w, "bound " HOME " at " CARE_OF "\n"
           "revoked " HOME " at " CARE_OF ": it is not allowed any more\n");
    end(&w);
}

#define TO_AND_FRO(from, to, times) \
    "contested: " HOME " goes to and fro (" times " times), now from " from \
    " to " to ": do two nodes have this home address?\n"

/* Two nodes with one home address: one line a minute, until one is gone. */
static void test_contested(void)
{
    Mip6AgentConfig config = agent_usual_config();
    const Mip6AgentBinding *b;
    World w;

    begin(&w, &config);
    update(&w, HOME, CARE_OF, 15);
    update(&w, HOME, NEXT, 15);
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "bound " HOME " at " CARE_OF "\n"
           "moved " HOME " from " CARE_OF " to " NEXT "\n"
           "moved " HOME " from " NEXT " to " CARE_OF "\n");
    update(&w, HOME, NEXT, 15);
    expect(&w, TO_AND_FRO(CARE_OF, NEXT, "2"));
    b = agent_binding(w.f, HOME);
    g_assert_cmpint(b->contest.state, ==, MIP6_CONTESTED);
    for (unsigned i = 0; i < 58; i++) {
        w.f->now += SECOND;
        update(&w, HOME, i % 2 ? NEXT : CARE_OF, 15);
        w.f->sequence -= 2;     /* the other's number is an old one */
        update(&w, HOME, i % 2 ? CARE_OF : NEXT, 15);
        w.f->sequence++;
    }
    expect(&w, "");
    w.f->now += 2 * SECOND;
    update(&w, HOME, CARE_OF, 15);
    expect(&w, TO_AND_FRO(NEXT, CARE_OF, "59"));
    w.f->now += 50 * SECOND;
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "");
    w.f->now += 50 * SECOND;
    update(&w, HOME, CARE_OF, 15);
    expect(&w, HOME " stays at " CARE_OF ": it is not contested any more\n");
    g_assert_cmpint(b->contest.state, ==, MIP6_CONTEST_NONE);
    end(&w);
}

/* A node that roams, or comes back much later, is alone. */
static void test_roams(void)
{
    Mip6AgentConfig config = agent_usual_config();
    const char *const places[] = { CARE_OF, NEXT, FAR, CARE_OF, NEXT, CARE_OF };
    World w;

    begin(&w, &config);
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        update(&w, HOME, places[i], 15);
        w.f->now += 40 * SECOND;
        update(&w, HOME, places[i], 15);
        w.f->now += 40 * SECOND;
        mip6_agent_tick(&w.f->a, w.f->now);
    }
    g_assert_null(strstr(w.log->str, "contested"));
    g_assert_cmpuint(w.lines, ==, G_N_ELEMENTS(places));
    end(&w);
}

static void test_strict(void)
{
    Mip6AgentConfig config = agent_usual_config();
    struct in6_addr home = agent_address(HOME);
    World w;

    config.dad = MIP6_AGENT_DAD_STRICT;
    begin(&w, &config);
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "");
    mip6_agent_claimed(&w.f->a, w.f->now, &home);
    expect(&w, "refused " HOME " at " CARE_OF ", status 134: another node of "
           "the home link has the address\n");
    update(&w, HOME, CARE_OF, 15);
    w.f->now += SECOND;
    mip6_agent_tick(&w.f->a, w.f->now);
    expect(&w, "bound " HOME " at " CARE_OF "\n");
    end(&w);
}

static void test_refused(void)
{
    Mip6AgentConfig config = agent_usual_config();
    Mip6ProtectConfig protect = agent_protect(false, 0);
    World w;

    begin(&w, &config);
    update(&w, FAR, CARE_OF, 15);
    expect(&w, "refused " FAR " at " CARE_OF ", status 132: not in the home "
           "prefix, or that is not valid\n");
    update(&w, HOME, CARE_OF, 0);
    expect(&w, "refused " HOME " at " CARE_OF ", status 133: there is no "
           "binding to end\n");
    agent_set_keys(w.f, &protect);
    update(&w, HOME, CARE_OF, 15);
    expect(&w, "ignored a message of " HOME " from " CARE_OF ": the home "
           "address requires ESP\n");
    end(&w);
}

/* Who sends wrong updates does not fill the log. */
static void test_flood(void)
{
    const char *last = "980 refused Binding Updates were not logged\n";
    Mip6AgentConfig config = agent_usual_config();
    World w;

    begin(&w, &config);
    for (unsigned i = 0; i < 1000; i++) {
        update(&w, FAR, CARE_OF, 15);
    }
    g_assert_cmpint(w.f->a.refused, ==, 1000);
    g_assert_cmpint(w.lines, ==, 20);
    mip6_ha_news_tick(&w.news, w.f->now);
    g_assert_cmpint(w.lines, ==, 20);
    /* Others have their own limit. */
    update(&w, HOME, CARE_OF, 15);
    g_assert_cmpint(w.lines, ==, 21);
    w.f->now += SECOND;
    mip6_ha_news_tick(&w.news, w.f->now);
    g_assert_cmpint(w.lines, ==, 22);
    g_assert_true(g_str_has_suffix(w.log->str, last));
    w.f->now += SECOND;
    mip6_ha_news_tick(&w.news, w.f->now);
    g_assert_cmpint(w.lines, ==, 22);
    end(&w);
}

static void hear(World *w, uint32_t valid, uint32_t preferred)
{
    PacketNd nd = {
        .type = PACKET_ND_RA,
        .ra.prefixes = 1,
        .ra.prefix[0] = {
            .prefix = agent_address("2001:db8:2000::"), .len = 64,
            .on_link = true, .autonomous = true,
            .valid = valid, .preferred = preferred,
        },
    };

    mip6_agent_heard(&w->f->a, w->f->now, &nd);
}

static void test_prefixes(void)
{
    Mip6AgentConfig config = agent_usual_config();
    World w;

    begin(&w, &config);
    hear(&w, 7200, 3600);
    expect(&w, "the home link's prefixes: 2001:db8:2000::/64 valid 7200 s, "
           "preferred 3600 s\n");
    hear(&w, 7200, 3600);
    expect(&w, "");
    hear(&w, 7200, 0);
    expect(&w, "the home link's prefixes: 2001:db8:2000::/64 valid 7200 s, "
           "preferred 0 s\n");
    for (unsigned i = 0; i < 100; i++) {
        hear(&w, 7200 + 100 * i, 0);
    }
    g_assert_cmpint(w.lines, ==, 10);
    end(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/news/bindings", test_bindings);
    g_test_add_func("/mip6/news/contested", test_contested);
    g_test_add_func("/mip6/news/roams", test_roams);
    g_test_add_func("/mip6/news/strict", test_strict);
    g_test_add_func("/mip6/news/refused", test_refused);
    g_test_add_func("/mip6/news/flood", test_flood);
    g_test_add_func("/mip6/news/prefixes", test_prefixes);
    return g_test_run();
}
