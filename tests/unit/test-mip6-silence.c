/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bound, and nothing comes back: is the home agent still there? */
#include <glib.h>
#include <string.h>

#include "mip6-world.h"

static const Mip6Binding *binding(const World *w)
{
    return &w->port.binding[0];
}

static void send_one(World *w)
{
    uint8_t frame[256];

    g_assert_cmpint(from_guest(w, frame, packet(frame, HOME, FAR, 8)), ==,
                    MIP6_DONE);
}

/* A packet for the guest comes through the tunnel. */
static void hear_one(World *w)
{
    uint8_t frame[256], inner[128];
    size_t len = packet(inner, FAR, HOME, 8) - PACKET_ETH_LEN;

    memcpy(frame + PACKET_ETH_LEN + PACKET_IP6_LEN, inner + PACKET_ETH_LEN,
           len);
    from_link(w, frame, to_care_of(w, frame, AGENT, PACKET_PROTO_IP6, len));
}

/* The path to the agent is lost, long before the binding ends. */
static void test_lost(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;

    w->deaf = true;
    send_one(w);
    pass(w, 10 * SECOND - 1);
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    pass(w, 1);
    g_assert_cmpint(binding(w)->sequence, ==, sequence + 1);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    pass(w, SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NO_ANSWER);
    /* The update is repeated, and its answer ends the alarm. */
    w->deaf = false;
    pass(w, 2 * SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* Only the care-of address is lost: the next one is bound. */
static void test_renumbered(void)
{
    World *w = away();
    struct in6_addr first = binding(w)->care_of;

    advertise(w, "2001:db8:3001::", router_mac);
    pass(w, 2 * SECOND);
    w->deaf = true;
    send_one(w);
    pass(w, 14 * SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_REGISTERING);
    g_assert_false(packet_ip6_equal(&binding(w)->care_of, &first));
    w->deaf = false;
    pass(w, 4 * SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_false(packet_ip6_equal(&binding(w)->care_of, &first));
    world_free(w);
}

/* One-way traffic: the agent answers, so nothing is wrong. */
static void test_one_way(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;

    for (unsigned i = 0; i < 60; i++) {
        send_one(w);
        pass(w, SECOND);
        deliver(w);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    }
    g_assert_cmpint(binding(w)->sequence, >, sequence + 3);
    g_assert_cmpint(binding(w)->sequence, <=, sequence + 6);
    world_free(w);
}

/* A guest that hears something, or that is silent itself, asks for nothing. */
static void test_two_ways(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;

    w->deaf = true;
    for (unsigned i = 0; i < 30; i++) {
        send_one(w);
        pass(w, SECOND);
        if (i % 9 == 8) {
            hear_one(w);
        }
    }
    g_assert_cmpuint(w->port.received, ==, 3);
    hear_one(w);
    pass(w, 15 * SECOND);       /* the refresh is 50 s after the first */
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* The VM stops: what it has sent asks for nothing, here or at home. */
static void test_stopped(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;

    send_one(w);
    mip6_port_pause(&w->port);
    pass(w, 30 * SECOND);
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    pass(w, SECOND);
    g_assert_cmpint(binding(w)->sequence, ==, sequence + 1);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* Paused for longer than the lifetime: it is not bound, and is again at once. */
static void test_paused(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;

    w->alive = true;
    mip6_port_pause(&w->port);
    pass(w, 59 * SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    pass(w, 2 * SECOND);
    g_assert_cmpint(binding(w)->state, ==, MIP6_REGISTERING);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_EXPIRED);
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    pass(w, 60 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(binding(w)->sequence, ==, sequence + 1);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/silence/lost", test_lost);
    g_test_add_func("/mip6/silence/renumbered", test_renumbered);
    g_test_add_func("/mip6/silence/one-way", test_one_way);
    g_test_add_func("/mip6/silence/two-ways", test_two_ways);
    g_test_add_func("/mip6/silence/stopped", test_stopped);
    g_test_add_func("/mip6/silence/paused", test_paused);
    return g_test_run();
}
