/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: private addresses are for names of private domains */

#include "tests/fixtures/dns-proxy-fixture.h"

static void test_aaaa(void)
{
    World *w = world_new();

    /* alone: a denial with its reason */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 3600, "fd00::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 60 6 invalid 60;OPT 1232 high=0 ede=15;");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 1);
    g_assert_cmpuint(COUNTER(w, addresses_unusable), ==, 0);
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    g_assert_cmpstr(w->blocked, ==, "fd00::1, ");
    g_assert_cmpstr(w->resolved, ==, "");

    /* beside others: only it is omitted */
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("a.example", 3600, "fd00::2");
    add_aaaa("a.example", 3600, "2001:db8::1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 3600 1 198.18.0.1;");
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 3600;");
    g_assert_cmpstr(w->blocked, ==, "fd00::1, fd00::2, ");

    ask(w, "a.corp", DNS_TYPE_A);
    begin_reply(w, 2, 0x8180);
    add_aaaa("a.corp", 3600, "fd00::3");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_records(w, "a.corp 3600 1 198.18.0.2;");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 2);
    assert_balance(w, 0);
    world_free(w);
}

/* The name of the question decides, not its aliases. */
static void test_alias(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.corp");
    add_aaaa("b.corp", 3600, "fd00::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 5 5 b.corp;b.corp 60 6 invalid 60;");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 1);

    ask(w, "b.corp", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_name("b.corp", DNS_TYPE_CNAME, 5, "c.example");
    add_aaaa("c.example", 3600, "fd00::1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_records(w, "b.corp 5 5 c.example;c.example 3600 1 198.18.0.1;");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 1);
    world_free(w);
}

/* Behind a NAT64 it is the A record that may be private. */
static void test_nat64(void)
{
    World *w = world_new();

    w->nat64 = true;
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    reply_aaaa(w, false);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "10.0.0.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 60 6 invalid 60;OPT 1232 high=0 ede=15;");
    g_assert_cmpstr(w->blocked, ==, "::ffff:10.0.0.1, ");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 1);
    g_assert_cmpstr(w->resolved, ==, "");

    /* beside another, and held until AAAA comes: counted once */
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "10.0.0.2");
    add_a("a.example", 70, "192.0.2.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    reply_aaaa(w, false);
    assert_records(w, "a.example 70 1 192.0.2.1;");
    g_assert_cmpstr(w->resolved, ==, "a.example ::ffff:192.0.2.1 70;");
    g_assert_cmpuint(COUNTER(w, addresses_private), ==, 2);
    g_assert_cmpstr(w->blocked, ==, "::ffff:10.0.0.1, ::ffff:10.0.0.2, ");

    /* a private AAAA leaves the A, and the other way round */
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 3600, "fd00::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    reply_a(w, true);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 70 1 192.0.2.1;example 300 6 example 77;");
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "10.0.0.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    reply_aaaa(w, true);
    assert_records(w, "a.example 60 1 198.18.0.1;");

    /* a late private A does not count, either */
    w->sent_count = 0;
    w->resolved[0] = 0;
    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "10.0.0.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;");
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/rebinding/aaaa", test_aaaa);
    g_test_add_func("/dns/proxy/rebinding/alias", test_alias);
    g_test_add_func("/dns/proxy/rebinding/nat64", test_nat64);
    return g_test_run();
}
