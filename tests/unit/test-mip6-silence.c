/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bound, and nothing comes back: is the home agent still there? */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/mip6-world.h"

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
    world_free(w);
}

#define ROUTER  "2001:db8:5::1"

/* Takes a packet that went into the tunnel, without its Ethernet header. */
static size_t tunnelled(World *w, uint8_t outer[2048])
{
    size_t len;

    send_one(w);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(outer, w->link.buf + PACKET_ETH_LEN, len);
    return len;
}

/* Errors that Linux and others send for a tunnel that they do not have. */
static const uint8_t refusals[][2] = {
    { PACKET_ICMP6_UNREACHABLE, 1 }, { PACKET_ICMP6_UNREACHABLE, 3 },
    { PACKET_ICMP6_UNREACHABLE, 4 }, { PACKET_ICMP6_PARAMETER, 1 },
};

/* The agent has restarted without its bindings: it gets the binding again. */
static void test_agent_forgot(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
        World *w = away();
        uint16_t sequence = binding(w)->sequence;
        uint8_t outer[2048];
        size_t len = tunnelled(w, outer);

        pass(w, SECOND);
        w->deaf = true;         /* the update is under way */
        give_error_from(w, AGENT, refusals[i][0], refusals[i][1], 0, outer,
                        len);
        g_assert_cmpint(binding(w)->sequence, ==, sequence + 1);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_TUNNEL_REFUSED);
        w->deaf = false;
        pass(w, SECOND);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
        world_free(w);
    }
}

/* An agent that goes on refusing is asked less and less often. */
static void test_refusal_goes_on(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;
    uint8_t outer[2048];

    for (unsigned i = 0; i < 60; i++) {
        size_t len = tunnelled(w, outer);

        for (unsigned j = 0; j < 20; j++) {
            give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer,
                            len);
        }
        pass(w, SECOND);
        deliver(w);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    }
    /* After 0, 1, 3, 7, 15, 31 s; each 10 s of silence; two refreshes. */
    g_assert_cmpint(binding(w)->sequence, >=, sequence + 6);
    g_assert_cmpint(binding(w)->sequence, <=, sequence + 15);
    /* What comes out of the tunnel ends the alarm. */
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer,
                    tunnelled(w, outer));
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_TUNNEL_REFUSED);
    hear_one(w);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/*
 * What proves nothing: an error of another node, about a packet that was not
 * sent or sent long ago, while the tunnel works, or of a VM that is paused.
 */
static void test_no_refusal(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;
    uint8_t outer[2048], other[2048];
    size_t len = tunnelled(w, outer);

    give_error_from(w, ROUTER, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    memcpy(other, outer, len);
    other[PACKET_IP6_LEN + 39] ^= 1;    /* another correspondent */
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, other, len);
    memcpy(other, outer, len);
    other[PACKET_IP6_LEN + 3] ^= 1;     /* another flow label */
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, other, len);
    hear_one(w);
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    pass(w, SECOND - 1);
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    mip6_port_pause(&w->port);
    pass(w, SECOND);
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    pass(w, 30 * SECOND);
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    sequence = binding(w)->sequence;
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/*
 * The agent's daemon starts later than its kernel: an update that the kernel
 * refuses is repeated after a second, not after half a minute.
 */
static void test_daemon_is_late(void)
{
    World *w = away();
    uint16_t sequence = binding(w)->sequence;
    uint8_t outer[2048];
    size_t len = tunnelled(w, outer);

    pass(w, SECOND);
    w->deaf = true;
    give_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, outer, len);
    g_assert_cmpint(binding(w)->sequence, ==, sequence + 1);
    give_error_from(w, AGENT, PACKET_ICMP6_PARAMETER, 1, 40,
                    w->link.buf + PACKET_ETH_LEN, w->link.len - PACKET_ETH_LEN);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_UNSUPPORTED);
    w->deaf = false;
    pass(w, SECOND);
    g_assert_cmpint(binding(w)->sequence, ==, sequence + 2);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* The path to the agent is cut, and a router of it tells. */
static void test_unreachable(void)
{
    static const uint8_t errors[][2] = {
        { PACKET_ICMP6_UNREACHABLE, 0 }, { PACKET_ICMP6_UNREACHABLE, 3 },
        { PACKET_ICMP6_TIME_EXCEEDED, 0 },
    };
    World *w = away();
    uint16_t sequence = binding(w)->sequence;
    uint8_t outer[2048];
    size_t len = tunnelled(w, outer);

    /* The wrong flow label; lost fragments. */
    outer[PACKET_IP6_LEN + 3] ^= 1;
    give_error_from(w, ROUTER, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, len);
    outer[PACKET_IP6_LEN + 3] ^= 1;
    give_error_from(w, ROUTER, PACKET_ICMP6_TIME_EXCEEDED, 1, 0, outer, len);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        give_error_from(w, ROUTER, errors[i][0], errors[i][1], 0, outer, len);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_UNREACHABLE);
        hear_one(w);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
        pass(w, SECOND);
    }
    g_assert_cmpint(binding(w)->sequence, ==, sequence);
    world_free(w);
}

/* The MAC address of the foreign link's router is unknown for a while. */
static void test_no_next_hop(void)
{
    World *w = away();
    struct in6_addr router = packet_ip6_link_local(router_mac);

    for (unsigned i = 0; i < MIP6_CAREOF_NEIGHBOURS; i++) {
        w->port.careof.neighbour[i].has_mac = false;
    }
    send_one(w);
    g_assert_cmpuint(w->port.dropped[MIP6_DROP_NO_NEXT_HOP], ==, 1);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NO_NEXT_HOP);
    answer_for(w, &router);
    send_one(w);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/silence/unreachable", test_unreachable);
    g_test_add_func("/mip6/silence/no-next-hop", test_no_next_hop);
    g_test_add_func("/mip6/silence/agent-forgot", test_agent_forgot);
    g_test_add_func("/mip6/silence/refusal-goes-on", test_refusal_goes_on);
    g_test_add_func("/mip6/silence/no-refusal", test_no_refusal);
    g_test_add_func("/mip6/silence/daemon-is-late", test_daemon_is_late);
    g_test_add_func("/mip6/silence/lost", test_lost);
    g_test_add_func("/mip6/silence/renumbered", test_renumbered);
    g_test_add_func("/mip6/silence/one-way", test_one_way);
    g_test_add_func("/mip6/silence/two-ways", test_two_ways);
    g_test_add_func("/mip6/silence/stopped", test_stopped);
    g_test_add_func("/mip6/silence/paused", test_paused);
    return g_test_run();
}
