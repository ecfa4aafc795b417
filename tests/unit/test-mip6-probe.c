/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the path to the home agent lets through, and what a user is told */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-world.h"

static const Mip6Binding *binding(const World *w)
{
    return &w->port.binding[0];
}

static Mip6ProbeResult result(const World *w, Mip6ProbeKind kind)
{
    return w->port.probe.result[kind];
}

static void send_one(World *w)
{
    uint8_t frame[256];

    g_assert_cmpint(from_guest(w, frame, packet(frame, HOME, FAR, 8)), ==,
                    MIP6_DONE);
}

static void drop(World *w, uint8_t next)
{
    w->lost = next;
}

/* A node on a foreign link, not registered yet. */
static World *arrived(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    w->alive = true;
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    return w;
}

/* A path that takes everything: two packets, and the guest gets none. */
static void test_good(void)
{
    World *w = away();
    const Mip6Probe *p = &w->port.probe;

    w->to_guest = 0;
    pass(w, 5 * SECOND);
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        bool tried = i != MIP6_PROBE_OPTIONS;   /* the update has passed */

        g_assert_cmpint(result(w, i), ==, tried ? MIP6_PROBE_ANSWERED
                                                : MIP6_PROBE_UNTRIED);
        g_assert_cmpuint(p->sent[i], ==, tried);
        g_assert_cmpuint(p->answered[i], ==, tried);
    }
    g_assert_cmpuint(w->to_guest, ==, 0);
    g_assert_cmpuint(w->port.received, ==, 0);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    g_assert_cmpint(mip6_probe_deadline(p), ==, INT64_MAX);
    world_free(w);
}

/* Protocol 41 is lost: bound, and a word. It ends with the fault. */
static void test_no_tunnel(void)
{
    World *w = arrived();

    drop(w, PACKET_PROTO_IP6);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    pass(w, 7 * SECOND);
    g_assert_cmpint(result(w, MIP6_PROBE_ECHO), ==, MIP6_PROBE_ANSWERED);
    g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_SILENT);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_TUNNEL_SILENT);
    /* An answered update proves nothing about the tunnel. */
    for (unsigned i = 0; i < 40; i++) {
        send_one(w);
        pass(w, SECOND);
        deliver(w);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_TUNNEL_SILENT);
    }
    g_assert_cmpuint(w->port.probe.sent[MIP6_PROBE_TUNNEL], <=, 6);
    drop(w, 0);
    pass(w, 31 * SECOND);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* No answer to updates: each of what may be lost. */
static void test_no_answer(void)
{
    static const struct {
        bool deaf;
        uint8_t lost;
        Mip6Why why;
    } cases[] = {
        { true, 0, MIP6_WHY_NO_ANSWER },
        { false, PACKET_PROTO_DSTOPTS, MIP6_WHY_OPTIONS_DROPPED },
        { false, PACKET_PROTO_ROUTING, MIP6_WHY_UPDATE_UNANSWERED },
        { false, PACKET_PROTO_MH, MIP6_WHY_UPDATE_UNANSWERED },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        World *w = arrived();

        w->deaf = cases[i].deaf;
        drop(w, cases[i].lost);
        mip6_port_run(&w->port, w->now);
        deliver(w);
        pass(w, 3 * SECOND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NO_ANSWER);
        pass(w, 30 * SECOND);
        g_assert_cmpint(binding(w)->state, ==, MIP6_REGISTERING);
        g_assert_cmpint(binding(w)->why, ==, cases[i].why);
        g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_UNTRIED);
        g_assert_cmpuint(w->port.probe.sent[MIP6_PROBE_ECHO], <=, 3);
        drop(w, 0);
        w->deaf = false;
        pass(w, 40 * SECOND);
        g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
        g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
        world_free(w);
    }
}

/* An agent that answers no pings proves nothing. */
static void test_no_pings(void)
{
    World *w = arrived();

    mip6_port_run(&w->port, w->now);
    deliver(w);
    g_assert_cmpint(binding(w)->state, ==, MIP6_BOUND);
    w->deaf = true;
    pass(w, 10 * SECOND);
    g_assert_cmpint(result(w, MIP6_PROBE_ECHO), ==, MIP6_PROBE_SILENT);
    g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_SILENT);
    g_assert_cmpint(binding(w)->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* Nobody who does not see the probes can answer them. */
static void test_forged(void)
{
    World *w = arrived();
    uint8_t frame[256] = { 0 }, *icmp = frame + 54;

    mip6_port_run(&w->port, w->now);
    deliver(w);
    drop(w, PACKET_PROTO_IP6);
    pass(w, 3 * SECOND);
    g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_WAITING);
    packet(frame + 40, HOME, HOME, 8);
    icmp[6] = PACKET_PROTO_NONE;
    put_be32(icmp + 40, w->port.probe.token + 1);
    put_be32(icmp + 44, ~(w->port.probe.token + 1));
    from_link(w, frame, to_care_of(w, frame, AGENT, PACKET_PROTO_IP6, 48));
    g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_WAITING);
    put_be32(icmp + 40, w->port.probe.token);
    put_be32(icmp + 44, ~w->port.probe.token);
    from_link(w, frame, to_care_of(w, frame, FAR, PACKET_PROTO_IP6, 48));
    g_assert_cmpint(result(w, MIP6_PROBE_TUNNEL), ==, MIP6_PROBE_WAITING);
    world_free(w);
}

/* A VM that is at home, or paused, probes nothing. */
static void test_stopped(void)
{
    World *w = away();

    mip6_port_pause(&w->port);
    pass(w, 10 * SECOND);
    g_assert_cmpuint(w->port.probe.sent[MIP6_PROBE_ECHO], ==, 0);
    mip6_port_run(&w->port, w->now);
    advertise(w, "2001:db8:2000::", home_router_mac);
    pass(w, 10 * SECOND);
    g_assert_cmpuint(w->port.probe.sent[MIP6_PROBE_ECHO], ==, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/probe/good", test_good);
    g_test_add_func("/mip6/probe/no-tunnel", test_no_tunnel);
    g_test_add_func("/mip6/probe/no-answer", test_no_answer);
    g_test_add_func("/mip6/probe/no-pings", test_no_pings);
    g_test_add_func("/mip6/probe/forged", test_forged);
    g_test_add_func("/mip6/probe/stopped", test_stopped);
    return g_test_run();
}
