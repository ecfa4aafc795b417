/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 Ready, mobile node: address generation and movement detection */
#include <arpa/inet.h>
#include <glib.h>

#include "tests/fixtures/mip6-ready.h"

/* Solicitation and probes first; an update only from a checked address. */
static void test_form(void)
{
    World *w = ready_begin();
    struct in6_addr care_of;
    PacketNd nd;

    pass(w, 0);
    g_assert_cmpint(ready_nd(w, PACKET_ND_RS, &nd), ==, 1);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_cmpint(w->port.place, ==, MIP6_PLACE_UNKNOWN);
    ready_forget(w);
    advertise(w, FOREIGN, router_mac);
    g_assert_cmpint(ready_nd(w, PACKET_ND_NS, &nd), ==, 1);
    care_of = packet_ip6_from_mac(&(struct in6_addr) { 0 }, own_mac);
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&nd.src));
    g_assert_cmpmem(nd.target.s6_addr + 8, 8, care_of.s6_addr + 8, 8);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    pass(w, 990 * MS);
    g_assert_cmpint(ready_updates(w), ==, 0);
    pass(w, 20 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    g_assert_true(ready_care_of_in(w, FOREIGN));
    world_free(w);
}

/* A second node with the address: another address, never that one. */
static void test_collision(void)
{
    World *w = ready_begin();
    struct in6_addr first, used, router = packet_ip6_link_local(router_mac);
    uint8_t frame[128];
    size_t len;

    advertise(w, FOREIGN, router_mac);
    first = w->port.careof.address[0].addr;
    len = packet_nd_build_na(frame + PACKET_ETH_LEN, &first,
                             &packet_ip6_all_nodes, &first,
                             PACKET_NA_OVERRIDE, router_2_mac);
    packet_eth_build(frame, (uint8_t[]) { 0x33, 0x33, 0, 0, 0, 1 },
                     router_2_mac, PACKET_ETH_IP6);
    from_link(w, frame, PACKET_ETH_LEN + len);
    pass(w, 3 * SECOND);
    g_assert_cmpint(ready_updates(w), >=, 1);
    used = ready_update(w).ip.src;
    g_assert_false(packet_ip6_equal(&used, &first));
    g_assert_true(ready_care_of_in(w, FOREIGN));
    /* Solicitations for it are not answered, either. */
    ready_forget(w);
    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &router,
                             &packet_ip6_all_nodes, &first, router_mac);
    from_link(w, frame, PACKET_ETH_LEN + len);
    g_assert_cmpint(w->to_link, ==, 0);
    world_free(w);
}

/* Prefixes that make no address. */
static void test_no_address(void)
{
    World *w = ready_begin();
    PacketNdRa ra = {
        .lifetime = 1800, .prefixes = 1,
        .prefix[0] = { address(FOREIGN), 64, true, false, false, 7200, 3600 },
    };

    advertise_ra(w, &ra, router_mac);           /* A = 0 */
    ra.prefix[0].autonomous = true;
    ra.prefix[0].len = 63;
    advertise_ra(w, &ra, router_mac);
    ra.prefix[0].len = 64;
    ra.prefix[0].valid = 0;
    advertise_ra(w, &ra, router_mac);
    ra.prefix[0].valid = 3599;                  /* less than preferred */
    advertise_ra(w, &ra, router_mac);
    pass(w, 3 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, 0);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_CARE_OF);
    /* A prefix without a default router: an address, but no next hop. */
    ra.lifetime = 0;
    ra.prefix[0].valid = 7200;
    advertise_ra(w, &ra, router_mac);
    pass(w, 3 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    world_free(w);
}

/* Home, away, another link, home: detected by advertisements. */
static void test_by_advertisement(void)
{
    World *w = ready_begin();

    advertise(w, HOME_PREFIX, home_router_mac);
    pass(w, SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    g_assert_cmpint(ready_updates(w), ==, 0);
    advertise(w, FOREIGN, router_mac);
    pass(w, 13 * SECOND);       /* nobody says the home prefix any more */
    advertise(w, FOREIGN, router_mac);
    pass(w, 1100 * MS);
    g_assert_cmpint(ready_updates(w), >=, 1);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);

    w = ready_returning();
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_HOME);
    world_free(w);
}

/*
 * Another foreign link: its router advertises, the old one answers no probe
 * (NUD), and its prefix is given up.
 */
static void test_other_link(void)
{
    World *w = ready_bound();
    PacketNd nd;
    Update u;

    w->alive = false;
    advertise(w, FOREIGN_2, router_2_mac);
    pass(w, 500 * MS);
    g_assert_cmpint(ready_nd(w, PACKET_ND_NS, &nd), >=, 2);
    g_assert_true(ready_care_of_in(w, FOREIGN));
    pass(w, 3 * SECOND);
    g_assert_cmpint(ready_updates(w), >=, 1);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    u = ready_update(w);
    g_assert_cmpmem(&u.mh.alternate, 16, &w->port.binding[0].care_of, 16);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* A second router of the same link moves nobody: the first one answers. */
static void test_second_router(void)
{
    World *w = ready_bound();

    for (unsigned i = 0; i < 3; i++) {
        advertise(w, FOREIGN_2, router_2_mac);
        pass(w, 8 * SECOND);
        advertise(w, FOREIGN, router_mac);
        pass(w, 5 * SECOND);
    }
    g_assert_cmpint(ready_updates(w), ==, 0);
    g_assert_true(ready_care_of_in(w, FOREIGN));
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/*
 * The router ends: nothing is sent, routers are solicited, the next one is
 * used.
 */
static void test_router_ends(void)
{
    World *w = ready_bound();
    PacketNd nd;

    ready_advertise(w, router_mac, 0, FOREIGN, 7200, 3600);
    pass(w, 10 * MS);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    g_assert_cmpint(ready_nd(w, PACKET_ND_RS, &nd), ==, 1);
    pass(w, 20 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, 0);
    g_assert_cmpint(ready_nd(w, PACKET_ND_RS, &nd), >=, 3);
    advertise(w, FOREIGN_2, router_2_mac);
    pass(w, 1100 * MS);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    g_assert_cmpint(ready_updates(w), >=, 1);
    world_free(w);
}

/* Renumbering: the old prefix is deprecated, the new one is registered. */
static void test_renumber(void)
{
    World *w = ready_bound();
    PacketNdRa ra = {
        .lifetime = 1800, .prefixes = 2,
        .prefix[0] = { address(FOREIGN), 64, true, true, false, 7200, 0 },
        .prefix[1] = { address(FOREIGN_2), 64, true, true, false, 7200,
                       3600 },
    };

    advertise_ra(w, &ra, router_mac);
    g_assert_true(ready_care_of_in(w, FOREIGN));    /* until it is checked */
    pass(w, 1100 * MS);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    g_assert_cmpint(ready_updates(w), >=, 1);
    world_free(w);
}

/*
 * A router came back with another prefix and did not withdraw the old one,
 * which is not routed any more: the new one is tried, then the old one again.
 */
static void test_not_withdrawn(void)
{
    World *w = ready_bound();

    ready_advertise(w, router_mac, 1800, FOREIGN_2, 7200, 3600);
    pass(w, 2 * SECOND);
    g_assert_true(ready_care_of_in(w, FOREIGN));    /* it works */
    mip6_binding_refresh(&w->port.binding[0], w->now);
    pass(w, 5 * SECOND);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    pass(w, 10 * SECOND);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    world_free(w);
}

/* While nobody answers, updates get rare, and each address has its turn. */
static void test_turns(void)
{
    World *w = ready_bound();
    unsigned turns = 0;
    bool second = false;

    w->alive = true;
    ready_advertise(w, router_mac, 9000, FOREIGN_2, 7200, 3600);
    pass(w, 2 * SECOND);
    ready_forget(w);
    mip6_binding_refresh(&w->port.binding[0], w->now);
    for (unsigned i = 0; i < 600; i++) {
        pass(w, SECOND);
        if (ready_care_of_in(w, FOREIGN_2) != second) {
            second = !second;
            turns++;
        }
    }
    g_assert_cmpint(turns, >=, 3);
    g_assert_cmpint(turns, <=, 10);
    world_free(w);
}

/* Only a deprecated prefix is better than none. */
static void test_deprecated(void)
{
    World *w = ready_begin();

    ready_advertise(w, router_mac, 1800, FOREIGN, 7200, 0);
    pass(w, 1100 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    g_assert_true(ready_care_of_in(w, FOREIGN));
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/address/form", test_form);
    g_test_add_func("/mip6/ready/address/collision", test_collision);
    g_test_add_func("/mip6/ready/address/none", test_no_address);
    g_test_add_func("/mip6/ready/movement/advertisement",
                    test_by_advertisement);
    g_test_add_func("/mip6/ready/movement/other-link", test_other_link);
    g_test_add_func("/mip6/ready/movement/second-router", test_second_router);
    g_test_add_func("/mip6/ready/movement/router-ends", test_router_ends);
    g_test_add_func("/mip6/ready/movement/renumber", test_renumber);
    g_test_add_func("/mip6/ready/movement/not-withdrawn", test_not_withdrawn);
    g_test_add_func("/mip6/ready/movement/turns", test_turns);
    g_test_add_func("/mip6/ready/movement/deprecated", test_deprecated);
    return g_test_run();
}
