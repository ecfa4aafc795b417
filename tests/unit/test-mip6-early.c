/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM is registered before it leaves home: the agent finds no other node with
 * the address while the guest is there; the binding ends if the VM stays
 */
#include <glib.h>

#include "tests/fixtures/mip6-early.h"

/* While it is at home, it registers from an address on the home link. */
static void test_registers(void)
{
    World *w = prepared(MIP6_AGENT_DAD_STRICT);
    struct in6_addr prefix = address("2001:db8:2000::");

    w->to_guest = 0;
    go(w, 900 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_null(registered(w));
    g_assert_true(passes(w));
    go(w, 200 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_nonnull(registered(w));
    g_assert_true(packet_ip6_in_prefix(&registered(w)->care_of, &prefix, 64));
    g_assert_true(mip6_careof_owns(&w->port.careof, &registered(w)->care_of));
    g_assert_cmpint(w->port.binding[0].status, ==, MIP6_BA_ACCEPTED);
    g_assert_cmpint(w->to_guest, ==, 0);
    /*
     * Packets that the agent intercepts reach the guest; the guest sends as
     * before.
     */
    to_agent(w, 8);
    deliver(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf, 6, guest_mac, 6);
    g_assert_true(passes(w));
    /* It holds as long as the migration takes. */
    go(w, 300 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_nonnull(registered(w));
    g_assert_cmpint(w->to_guest, ==, 1);
    world_free(w);
}

/* An agent with optimistic binding would revoke it. */
static void test_optimistic(void)
{
    World *w = prepared(MIP6_AGENT_DAD_OPTIMISTIC);

    go(w, 100 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_false(asked(w, "2001:db8:2000::2", router_mac, false));
    go(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_nonnull(registered(w));
    world_free(w);
}

/*
 * The agent's host is a router, too: its solicitation would count as a
 * duplicate.
 */
static void test_quiet(void)
{
    World *w = prepared(MIP6_AGENT_DAD_STRICT);
    uint8_t frame[128];
    size_t len;

    go(w, 100 * MS);
    g_assert_false(asked(w, "2001:db8:2000::2", router_mac, false));
    len = solicitation(frame, "2001:db8:2000::2", HOME, router_mac, guest_mac);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    g_assert_false(mip6_port_passes(&w->port, true, router_mac));
    /* An answer to an earlier solicitation. */
    g_assert_cmpint(guest_claims(w, "2001:db8:2000::2", router_mac), ==,
                    MIP6_DONE);
    g_assert_true(asked(w, "2001:db8:2000::7", node_mac, false));
    g_assert_true(asked(w, "2001:db8:2000::7", node_mac, true));
    len = solicitation(frame, "2001:db8:2000::2", "2001:db8:2000::99",
                       router_mac, NULL);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_PASS);
    go(w, 2 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_true(asked(w, "2001:db8:2000::2", router_mac, true));
    g_assert_true(mip6_port_passes(&w->port, true, router_mac));
    world_free(w);
}

/* The guest gets no claim of its address, and the agent does not defend it. */
static void test_guests_address(void)
{
    World *w = bound();
    uint8_t frame[128];
    size_t len = advertisement(frame, "ff02::1", HOME, router_mac, NULL);

    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_DONE);
    len = advertisement(frame, "ff02::1", "2001:db8:2000::99", node_mac, NULL);
    g_assert_cmpint(from_link(w, frame, len), ==, MIP6_PASS);
    len = solicitation(frame, "::", HOME, guest_mac, NULL);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    len = solicitation(frame, "::", "2001:db8:2000::99", guest_mac, NULL);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_PASS);
    len = solicitation(frame, HOME, "2001:db8:2000::99", guest_mac, NULL);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_PASS);
    world_free(w);
}

/*
 * Another node probes the address: the guest keeps it, and the agent refuses.
 */
static void test_wanted(void)
{
    World *w = prepared(MIP6_AGENT_DAD_STRICT);
    uint8_t frame[128];
    size_t len;

    go(w, 100 * MS);
    g_assert_true(asked(w, "::", node_mac, false));
    go(w, 3 * SECOND);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_REFUSED);
    g_assert_cmpint(w->port.binding[0].status, ==, MIP6_BA_DAD_FAILED);
    g_assert_true(passes(w));
    len = solicitation(frame, "::", HOME, guest_mac, NULL);
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_PASS);
    mip6_port_stay(&w->port, w->now);
    go(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    world_free(w);
}

/* Ended from home, by RFC 6275 section 11.5.5. */
static void test_cancelled(void)
{
    World *w = bound();

    w->on_home = 0;
    w->deaf = true;
    mip6_port_stay(&w->port, w->now);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    to_agent(w, 8);             /* which has not received it yet */
    deliver(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_true(passes(w));
    w->deaf = false;
    go(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(registered(w));
    g_assert_false(agent_proxies());
    g_assert_cmpint(w->on_home, ==, 1);         /* announced on the link */
    g_assert_cmpmem(w->link.buf + 6, 6, guest_mac, 6);
    g_assert_true(passes(w));
    g_assert_true(asked(w, "::", node_mac, false));
    /* Once more. */
    mip6_port_prepare(&w->port, w->now);
    go(w, 2 * SECOND);
    g_assert_nonnull(registered(w));
    world_free(w);
}

/* Before the agent has answered: it makes no binding afterwards. */
static void test_cancelled_soon(void)
{
    World *w = prepared(MIP6_AGENT_DAD_STRICT);

    go(w, 500 * MS);
    mip6_port_stay(&w->port, w->now);
    go(w, 3 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(registered(w));
    world_free(w);
}

/* The VM stops and goes on meanwhile; it may stand when all is cancelled. */
static void test_stops(void)
{
    World *w = bound();
    uint8_t frame[256];

    mip6_port_pause(&w->port);
    to_agent(w, 8);
    g_assert_cmpint(from_link(w, frame, packet(frame, FAR, HOME, 8)), ==,
                    MIP6_HELD);
    w->queued = 0;
    mip6_port_run(&w->port, w->now);
    go(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_nonnull(registered(w));
    mip6_port_pause(&w->port);
    mip6_port_stay(&w->port, w->now);
    go(w, SECOND);
    g_assert_nonnull(registered(w));
    mip6_port_run(&w->port, w->now);
    go(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(registered(w));
    world_free(w);
}

/* Without the option, or away from home, there is no early registration. */
static void test_not_wanted(void)
{
    World *w = at_home(MIP6_AGENT_DAD_STRICT, false);

    mip6_port_prepare(&w->port, w->now);
    answer_for(w, &w->port.config.agent);
    go(w, 3 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_true(asked(w, "::", router_mac, false));
    mip6_port_stay(&w->port, w->now);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_null(registered(w));
    world_free(w);

    w = away();
    w->port.config.early_registration = true;
    mip6_port_prepare(&w->port, w->now);
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].sequence, ==, 1001);
    mip6_port_stay(&w->port, w->now);
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* An address learned from the guest is registered, too, and ended again. */
static void test_heard(void)
{
    World *w = at_home(MIP6_AGENT_DAD_STRICT, true);
    struct in6_addr heard = address("2001:db8:2000::11");
    uint8_t frame[128];

    w->port.config.heard_addresses = true;
    from_guest(w, frame, advertisement(frame, "ff02::1", "2001:db8:2000::11",
                                       guest_mac, NULL));
    mip6_port_prepare(&w->port, w->now);
    answer_for(w, &w->port.config.agent);
    go(w, 3 * SECOND);
    g_assert_cmpint(w->port.bindings, ==, 2);
    g_assert_cmpint(w->port.binding[1].state, ==, MIP6_BOUND);
    g_assert_nonnull(mip6_agent_binding(&w->agent, &heard));
    g_assert_nonnull(registered(w));
    mip6_port_stay(&w->port, w->now);
    go(w, 3 * SECOND);
    g_assert_cmpint(w->port.bindings, ==, 1);
    g_assert_null(mip6_agent_binding(&w->agent, &heard));
    g_assert_null(registered(w));
    world_free(w);
}

/* No router of the home link offers an address: this is reported. */
static void test_no_address(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, false);

    w->port.config.early_registration = true;
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    advertise_home(w, false);
    pass(w, 5 * SECOND);
    mip6_port_prepare(&w->port, w->now);
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_CARE_OF);
    g_assert_true(passes(w));
    mip6_port_stay(&w->port, w->now);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/early/registers", test_registers);
    g_test_add_func("/mip6/early/optimistic", test_optimistic);
    g_test_add_func("/mip6/early/quiet", test_quiet);
    g_test_add_func("/mip6/early/guests-address", test_guests_address);
    g_test_add_func("/mip6/early/wanted", test_wanted);
    g_test_add_func("/mip6/early/cancelled", test_cancelled);
    g_test_add_func("/mip6/early/cancelled-soon", test_cancelled_soon);
    g_test_add_func("/mip6/early/stops", test_stops);
    g_test_add_func("/mip6/early/not-wanted", test_not_wanted);
    g_test_add_func("/mip6/early/heard", test_heard);
    g_test_add_func("/mip6/early/no-address", test_no_address);
    return g_test_run();
}
