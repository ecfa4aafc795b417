/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The states of a port: what may follow what, and each change is traced */
#include <glib.h>

#include "net/mip6/port/internal.h"
#include "tests/fixtures/mip6-world.h"

static GString *moves;          /* "what from to" lines */

static void moved(void *opaque, const char *what, const char *from,
                  const char *to)
{
    g_string_append_printf(moves, "%s %s %s\n", what, from, to);
}

static Mip6PortOps traced_ops;

/* A port that traces; @moves is empty. */
static World *traced_world(Mip6Location location, bool arriving)
{
    World *w = world_new(location, arriving);

    traced_ops = *w->port.ops;
    traced_ops.moved = moved;
    w->port.ops = &traced_ops;
    moves = g_string_new(NULL);
    return w;
}

static void traced_free(World *w)
{
    world_free(w);
    g_string_free(moves, TRUE);
}

static void expect_moves(const char *expected)
{
    g_assert_cmpstr(moves->str, ==, expected);
    g_string_truncate(moves, 0);
}

static void test_first(void)
{
    const struct {
        Mip6Location location;
        bool arriving;
        Mip6Place place;
    } cases[] = {
        { MIP6_LOCATION_AUTO, true, MIP6_PLACE_UNKNOWN },
        { MIP6_LOCATION_AUTO, false, MIP6_PLACE_ASSUMED },
        { MIP6_LOCATION_HOME, true, MIP6_PLACE_HOME },
        { MIP6_LOCATION_HOME, false, MIP6_PLACE_HOME },
        { MIP6_LOCATION_AWAY, true, MIP6_PLACE_AWAY },
        { MIP6_LOCATION_AWAY, false, MIP6_PLACE_AWAY },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = world_new(cases[i].location, cases[i].arriving);

        g_assert_cmpint(w->port.place, ==, cases[i].place);
        g_assert_cmpint(w->port.presence, ==, MIP6_PRESENCE_STOPPED);
        world_free(w);
    }
}

static void test_places(void)
{
    World *w = traced_world(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    expect_moves("place assumed home\n");
    advertise(w, "2001:db8:2000::", home_router_mac);
    expect_moves("");
    advertise(w, "2001:db8:3000::", router_mac);
    advertise(w, "2001:db8:3000::", router_mac);
    expect_moves("place home doubted\n");
    advertise(w, "2001:db8:2000::", home_router_mac);
    expect_moves("place doubted home\n");
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 13 * SECOND);
    expect_moves("place home doubted\nplace doubted away\n");
    advertise(w, "2001:db8:3000::", router_mac);
    expect_moves("");
    advertise(w, "2001:db8:2000::", home_router_mac);
    expect_moves("place away home\n");
    traced_free(w);

    w = traced_world(MIP6_LOCATION_AUTO, true);
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    expect_moves("place unknown away\n");
    traced_free(w);
}

static void test_presences(void)
{
    World *w = traced_world(MIP6_LOCATION_AUTO, false);

    mip6_port_start(&w->port, w->now);
    mip6_port_pause(&w->port);
    expect_moves("");
    mip6_port_run(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    mip6_port_leave(&w->port, w->now);      /* a VM that runs is here */
    expect_moves("presence stopped running\n");
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    mip6_port_leave(&w->port, w->now);
    mip6_port_pause(&w->port);
    expect_moves("presence running stopped\npresence stopped left\n");
    g_assert_true(mip6_port_has_left(&w->port));
    mip6_port_run(&w->port, w->now);        /* it comes back */
    expect_moves("presence left running\n");
    g_assert_false(mip6_port_has_left(&w->port));
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    pass(w, 11 * SECOND);
    expect_moves("presence running stopped\npresence stopped left\n"
                 "presence left released\n");
    g_assert_true(mip6_port_has_left(&w->port));
    mip6_port_run(&w->port, w->now);
    expect_moves("presence released running\n");
    traced_free(w);
}

/* A bug ends the program: it does not go on with a state that is impossible. */
static void test_impossible(void)
{
    const struct {
        Mip6Place from, to;
    } places[] = {
        { MIP6_PLACE_AWAY, MIP6_PLACE_DOUBTED },
        { MIP6_PLACE_HOME, MIP6_PLACE_AWAY },
        { MIP6_PLACE_HOME, MIP6_PLACE_UNKNOWN },
        { MIP6_PLACE_DOUBTED, MIP6_PLACE_DOUBTED },
    };
    const struct {
        Mip6Presence from, to;
    } presences[] = {
        { MIP6_PRESENCE_RUNNING, MIP6_PRESENCE_LEFT },
        { MIP6_PRESENCE_STOPPED, MIP6_PRESENCE_RELEASED },
        { MIP6_PRESENCE_LEFT, MIP6_PRESENCE_STOPPED },
    };
    const char *which = g_getenv("MIP6_IMPOSSIBLE");

    if (g_test_subprocess()) {
        World *w = world_new(MIP6_LOCATION_AUTO, true);
        unsigned i = atoi(which);

        if (i < G_N_ELEMENTS(places)) {
            w->port.place = places[i].from;
            mip6_port_set_place(&w->port, places[i].to);
        } else {
            i -= G_N_ELEMENTS(places);
            w->port.presence = presences[i].from;
            mip6_port_set_presence(&w->port, presences[i].to);
        }
        return;
    }
    for (unsigned i = 0;
         i < G_N_ELEMENTS(places) + G_N_ELEMENTS(presences); i++) {
        g_autofree char *number = g_strdup_printf("%u", i);

        g_setenv("MIP6_IMPOSSIBLE", number, true);
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr("*assertion failed*next*");
    }
    g_unsetenv("MIP6_IMPOSSIBLE");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/moves/first", test_first);
    g_test_add_func("/mip6/moves/places", test_places);
    g_test_add_func("/mip6/moves/presences", test_presences);
    g_test_add_func("/mip6/moves/impossible", test_impossible);
    return g_test_run();
}
