/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 Ready, mobile node: sending Binding Updates, retransmission, refresh */
#include <arpa/inet.h>
#include <glib.h>

#include "tests/fixtures/mip6-ready.h"

/* RFC 6275 sections 6.1.7, 11.7.1: each field of a home registration. */
static void test_format(void)
{
    World *w = ready_begin();
    struct in6_addr home = address(HOME), agent = address(AGENT);
    Update u;

    advertise(w, FOREIGN, router_mac);
    pass(w, 1100 * MS);
    u = ready_update(w);
    g_assert_cmpmem(&u.ip.dst, 16, &agent, 16);
    g_assert_cmpmem(&u.ip.src, 16, &w->port.binding[0].care_of, 16);
    g_assert_true(u.has_hao);
    g_assert_cmpmem(&u.home, 16, &home, 16);
    g_assert_cmphex(u.mh.flags, ==, MIP6_BU_ACK | MIP6_BU_HOME);
    g_assert_cmpint(u.mh.lifetime, ==, 15);
    g_assert_true(u.mh.has_alternate);
    g_assert_cmpmem(&u.mh.alternate, 16, &u.ip.src, 16);
    /* Those are for correspondents (section 6.2). */
    g_assert_false(u.mh.has_nonces);
    g_assert_false(u.mh.has_authenticator);
    world_free(w);
}

/* Section 11.7.1: not longer than the care-of address is valid. */
static void test_lifetime(void)
{
    World *w = ready_begin();

    ready_advertise(w, router_mac, 1800, FOREIGN, 31, 31);
    pass(w, 1100 * MS);
    g_assert_cmpint(ready_update(w).mh.lifetime, ==, 7);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].expires, <=,
                    ready_update(w).at + 28 * SECOND);
    /* It is prolonged, and so is the next binding. */
    ready_advertise(w, router_mac, 1800, FOREIGN, 7200, 3600);
    ready_forget(w);
    pass(w, 28 * SECOND);
    g_assert_cmpint(ready_update(w).mh.lifetime, ==, 15);
    world_free(w);
    /* The last seconds are one unit. */
    w = ready_begin();
    ready_advertise(w, router_mac, 1800, FOREIGN, 3, 3);
    pass(w, 1100 * MS);
    g_assert_cmpint(ready_update(w).mh.lifetime, ==, 1);
    pass(w, 10 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_ACQUIRING);
    world_free(w);
}

/* Sections 11.8, 12: 1.5 s, doubled, up to 32 s; a new sequence each time. */
static void test_retransmit(void)
{
    static const int64_t gaps[] = { 1500, 3000, 6000, 12000, 24000, 32000,
                                    32000, 32000 };
    World *w = ready_begin();
    Update last, next;

    advertise(w, FOREIGN, router_mac);
    pass(w, 160 * SECOND);
    last = ready_update_at(w, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(gaps); i++) {
        if (i + 1 == ready_updates(w)) {
            pass(w, 40 * SECOND);
        }
        next = ready_update_at(w, i + 1);
        g_assert_cmpint((next.at - last.at) / MS, ==, gaps[i]);
        g_assert_cmpint(next.mh.sequence, ==,
                        (uint16_t)(last.mh.sequence + 1));
        last = next;
    }
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_ANSWER);
    world_free(w);
}

/* With a binding the first wait is one second; the binding stays. */
static void test_refresh(void)
{
    World *w = ready_bound();
    Update first;

    pass(w, 55 * SECOND);
    g_assert_cmpint(ready_updates(w), >=, 2);
    first = ready_update_at(w, 0);
    g_assert_cmpint((ready_update_at(w, 1).at - first.at) / MS, ==, 1000);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    pass(w, 10 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    world_free(w);
}

/* MAX_UPDATE_RATE (3), for any cause of updates. */
static void test_rate(void)
{
    World *w = ready_bound();
    Mip6Mh ba = { .type = MIP6_MH_BA, .status = MIP6_BA_SEQUENCE };
    struct in6_addr home = address(HOME);

    mip6_binding_refresh(&w->port.binding[0], w->now);
    for (unsigned i = 0; i < 1000; i++) {
        ba.sequence = w->port.binding[0].sequence + 100;
        ready_give_mh(w, AGENT, &w->port.binding[0].care_of, &home, &home, &ba);
        pass(w, 2 * MS);
    }
    g_assert_cmpint(ready_updates(w), >=, 6);
    g_assert_cmpint(ready_updates(w), <=, 7);   /* of 2 s */
    world_free(w);
}

/* The sequence wraps around (section 9.5.1: modulo 2^16). */
static void test_wrap(void)
{
    World *w = ready_bound();

    w->port.binding[0].sequence = 0xfffe;
    for (unsigned i = 0; i < 3; i++) {
        pass(w, SECOND);
        mip6_binding_refresh(&w->port.binding[0], w->now);
        g_assert_cmpint(ready_update(w).mh.sequence, ==,
                        (uint16_t)(0xffff + i));
        ready_accept(w);
        g_assert_cmpint(w->port.binding[0].tries, ==, 0);
    }
    world_free(w);
}

/* A new care-of address is registered at once, also while one is being. */
static void test_moved_meanwhile(void)
{
    World *w = ready_begin();

    advertise(w, FOREIGN, router_mac);
    pass(w, 2 * SECOND);
    g_assert_cmpint(ready_updates(w), ==, 1);
    ready_advertise(w, router_mac, 0, FOREIGN, 0, 0);
    advertise(w, FOREIGN_2, router_2_mac);
    ready_forget(w);
    pass(w, 1100 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    g_assert_true(ready_care_of_in(w, FOREIGN_2));
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/update/format", test_format);
    g_test_add_func("/mip6/ready/update/lifetime", test_lifetime);
    g_test_add_func("/mip6/ready/update/retransmit", test_retransmit);
    g_test_add_func("/mip6/ready/update/refresh", test_refresh);
    g_test_add_func("/mip6/ready/update/rate", test_rate);
    g_test_add_func("/mip6/ready/update/wrap", test_wrap);
    g_test_add_func("/mip6/ready/update/moved-meanwhile",
                    test_moved_meanwhile);
    return g_test_run();
}
