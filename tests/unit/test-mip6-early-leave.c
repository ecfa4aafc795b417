/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM with an early registration leaves home: the agent needs no time for the
 * new binding, and packets that reach the old host are not lost
 */
#include <glib.h>
#include <string.h>

#include "tests/fixtures/mip6-early.h"

static const uint8_t guest_at[] = { 0x02, 0xee, 0, 0, 0, 1 };

/* The new host, on a link of @prefix, where the VM of @w goes on. */
static World *new_host(World *w, const char *prefix)
{
    World *d = world_new(MIP6_LOCATION_AUTO, true);
    uint8_t saved[MIP6_PORT_SAVED_MAX];
    size_t len;

    d->deaf = true;
    mip6_port_start(&d->port, d->now);
    advertise(d, prefix, router_mac);
    d->now = w->now;
    mip6_port_tick(&d->port, d->now);
    pass(d, 2 * SECOND);
    w->now = d->now;
    answer_for(d, &d->port.config.agent);
    mip6_port_pause(&w->port);
    len = mip6_port_save(&w->port, w->now, saved);
    g_assert_true(mip6_port_load(&d->port, d->now, saved, len));
    mip6_port_run(&d->port, d->now);
    return d;
}

/* Delivers the new host's packets to the agent. */
static void move(World *w, World *d)
{
    w->queued = 0;
    mip6_agent_packet(&w->agent, w->now, d->link.buf + PACKET_ETH_LEN,
                      d->link.len - PACKET_ETH_LEN);
}

/* It moves a binding, for which the agent needs no time. */
static void test_moves(void)
{
    World *w = bound(), *d;
    struct in6_addr care_of;

    d = new_host(w, "2001:db8:3000::");
    care_of = d->port.binding[0].care_of;
    g_assert_cmpint(d->port.binding[0].state, ==, MIP6_REGISTERING);
    move(w, d);
    g_assert_cmpmem(&registered(w)->care_of, 16, &care_of, 16);
    g_assert_cmpint(w->queued, ==, 1);
    memcpy(d->from_agent[d->queued], w->from_agent[0], w->from_agent_len[0]);
    d->from_agent_len[d->queued++] = w->from_agent_len[0];
    deliver(d);
    g_assert_cmpint(d->port.binding[0].state, ==, MIP6_BOUND);
    world_free(d);
    world_free(w);
}

/* Another host of the home link: the binding ends there, answered or not. */
static void test_moves_at_home(void)
{
    for (unsigned answered = 0; answered < 2; answered++) {
        World *w = answered ? bound() : prepared(MIP6_AGENT_DAD_STRICT), *d;

        g_assert_cmpint(registered(w) != NULL, ==, answered);
        d = new_host(w, "2001:db8:2000::");
        g_assert_cmpint(d->port.binding[0].state, ==, MIP6_RETURNING);
        move(w, d);
        go(w, 2 * SECOND);
        g_assert_null(registered(w));
        world_free(d);
        world_free(w);
    }
}

static unsigned sent_to(const World *w, const uint8_t *mac, size_t payload)
{
    unsigned found = 0;

    for (unsigned i = 0; i < MIN(w->logged, WORLD_LOG); i++) {
        const Frame *f = &w->log[i];

        found += !memcmp(f->buf, mac, 6) && f->len == 54 + payload &&
                 f->buf[20] == PACKET_PROTO_UDP;
    }
    return found;
}

static unsigned announced(const World *w, const uint8_t *mac)
{
    struct in6_addr home = address(HOME);
    unsigned found = 0;
    PacketNd nd;

    for (unsigned i = 0; i < MIN(w->logged, WORLD_LOG); i++) {
        const Frame *f = &w->log[i];

        found += packet_nd_parse(&nd, f->buf + 14, f->len - 14) &&
                 nd.type == PACKET_ND_NA && nd.has_tlla &&
                 packet_ip6_equal(&nd.target, &home) &&
                 nd.flags == PACKET_NA_OVERRIDE && !memcmp(nd.tlla, mac, 6);
    }
    return found;
}

/*
 * No packet is lost in between: packets that reach the old host, by the tunnel
 * or from a neighbour, go to the agent when it has the new binding, and not
 * before.
 */
static void test_late(void)
{
    World *w = bound(), *d;
    uint8_t frame[256];

    d = new_host(w, "2001:db8:3000::");
    mip6_port_leave(&w->port, w->now);
    forget_log(w);
    to_agent(w, 30);            /* it comes back here */
    from_link(w, frame, packet(frame, "2001:db8:2000::7", HOME, 40));
    go(w, 500 * MS);
    g_assert_cmpint(sent_to(w, router_mac, 30), ==, 0);
    g_assert_cmpint(sent_to(w, router_mac, 40), ==, 0);
    g_assert_cmpint(announced(w, router_mac), ==, 0);
    move(w, d);
    w->queued = 0;
    go(w, 200 * MS);
    g_assert_cmpint(sent_to(w, router_mac, 30), ==, 1);
    g_assert_cmpint(sent_to(w, router_mac, 40), ==, 1);
    g_assert_cmpint(w->port.forwarded, ==, 2);
    g_assert_cmpint(announced(w, router_mac), ==, 1);
    from_link(w, frame, packet(frame, FAR, HOME, 50));  /* at once now */
    g_assert_cmpint(sent_to(w, router_mac, 50), ==, 1);
    w->queued = 0;              /* to the new host, in the agent's tunnel */
    go(w, 5 * SECOND);
    g_assert_cmpint(announced(w, router_mac), ==, 3);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 0);
    g_assert_cmpint(w->to_guest, ==, 0);
    world_free(d);
    world_free(w);
}

/* A packet forwarded too early comes back, and is forwarded again. */
static void test_too_soon(void)
{
    World *w = bound(), *d;

    d = new_host(w, "2001:db8:3000::");
    mip6_port_leave(&w->port, w->now);
    forget_log(w);
    to_agent(w, 30);
    deliver(w);
    pass(w, 200 * MS);          /* the agent does not get the probes */
    g_assert_cmpint(sent_to(w, router_mac, 30), ==, 1);
    go(w, 500 * MS);
    g_assert_cmpint(sent_to(w, router_mac, 30), ==, 1);
    move(w, d);
    w->queued = 0;
    go(w, 200 * MS);
    g_assert_cmpint(sent_to(w, router_mac, 30), ==, 2);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 0);
    world_free(d);
    world_free(w);
}

/* On another host of the home link it advertises itself. */
static void test_late_at_home(void)
{
    World *w = bound(), *d;
    uint8_t frame[256];
    size_t len;

    d = new_host(w, "2001:db8:2000::");
    mip6_port_leave(&w->port, w->now);
    forget_log(w);
    to_agent(w, 30);
    deliver(w);
    move(w, d);
    w->queued = 0;
    len = advertisement(frame, "ff02::1", HOME, guest_at, NULL);
    from_link(w, frame, len);
    g_assert_cmpint(sent_to(w, guest_at, 30), ==, 1);
    go(w, 5 * SECOND);
    g_assert_cmpint(announced(w, router_mac), ==, 0);
    world_free(d);
    world_free(w);
}

/* The same if the source had taken the agent for the new owner. */
static void test_late_at_home_again(void)
{
    World *w = bound();
    uint8_t frame[256];
    size_t len;

    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    forget_log(w);
    pass(w, 500 * MS);          /* nobody answers */
    g_assert_cmpint(announced(w, router_mac), ==, 1);
    len = advertisement(frame, "ff02::1", HOME, guest_at, NULL);
    from_link(w, frame, len);
    pass(w, 5 * SECOND);
    g_assert_cmpint(announced(w, router_mac), ==, 1);
    from_link(w, frame, packet(frame, FAR, HOME, 30));
    g_assert_cmpint(sent_to(w, guest_at, 30), ==, 1);
    world_free(w);
}

/* The VM was only saved, and continues here. */
static void test_comes_back(void)
{
    World *w = bound();

    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    go(w, SECOND);
    mip6_port_run(&w->port, w->now);
    go(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(registered(w));
    g_assert_true(passes(w));
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/early/moves", test_moves);
    g_test_add_func("/mip6/early/moves-at-home", test_moves_at_home);
    g_test_add_func("/mip6/early/late", test_late);
    g_test_add_func("/mip6/early/too-soon", test_too_soon);
    g_test_add_func("/mip6/early/late-at-home", test_late_at_home);
    g_test_add_func("/mip6/early/late-at-home-again", test_late_at_home_again);
    g_test_add_func("/mip6/early/comes-back", test_comes_back);
    return g_test_run();
}
