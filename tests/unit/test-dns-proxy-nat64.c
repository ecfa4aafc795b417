/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: names behind a NAT64 */

#include "tests/fixtures/dns-proxy-fixture.h"

/*** NAT64 ***/

static World *world_with_nat64(void)
{
    World *w = world_new();

    w->nat64 = true;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->sent_count, ==, 2);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 1, "a.example", DNS_TYPE_A);
    return w;
}

static void assert_plain(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 70 1 192.0.2.1;example 300 6 example 77;");
    g_assert_cmpuint(COUNTER(w, answers_plain), ==, 1);
}

static void assert_virtual(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 60 1 198.18.0.1;");
}

static void assert_servfail(World *w)
{
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, servfail_upstream), ==, 1);
}

static void nat64_end(World *w)
{
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    assert_balance(w, 0);
    world_free(w);
}

static void test_nat64_aaaa_first(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, true);
    assert_virtual(w);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;");
    /* the address behind the NAT64 is recorded, even if the client is gone */
    dns_proxy_cancel(w->proxy, w);
    g_assert_false(w->sent[1].cancelled);
    reply_a(w, true);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;"
                    "a.example ::ffff:192.0.2.1 70;");
    reply_a(w, true);       /* late */
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 1);
    nat64_end(w);

    /* no A after all */
    w = world_with_nat64();
    reply_aaaa(w, true);
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpuint(w->answers, ==, 1);
    nat64_end(w);
}

/* A request that only waits for an unneeded A makes room. */
static void test_nat64_room(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        ask(w, "a.example", DNS_TYPE_A);
        begin_reply(w, 2 * i, 0x8180);
        add_aaaa("a.example", 60, "2001:db8::1");
        deliver(w, 2 * i, DNS_UPSTREAM_OK);
        w->resolved[0] = 0;
    }
    g_assert_cmpuint(COUNTER(w, answers_virtual), ==, DNS_PROXY_MAX_REQUESTS);
    g_assert_cmpuint(dns_proxy_room(w->proxy), ==, DNS_PROXY_MAX_REQUESTS);
    ask(w, "b.example", DNS_TYPE_TXT);
    g_assert_cmpuint(COUNTER(w, servfail_table_full), ==, 0);
    g_assert_true(w->sent[1].cancelled);
    g_assert_false(w->sent[3].cancelled);
    g_assert_cmpuint(dns_proxy_room(w->proxy), ==, DNS_PROXY_MAX_REQUESTS - 1);
    assert_balance(w, 1);
    world_free(w);
}

static void test_nat64_a_first(void)
{
    World *w = world_with_nat64();

    reply_a(w, true);
    g_assert_cmpuint(w->answers, ==, 0);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 50);
    w->now += 49;
    dns_proxy_process_timeouts(w->proxy);
    g_assert_cmpuint(w->answers, ==, 0);
    reply_aaaa(w, true);
    assert_virtual(w);
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 60;"
                    "a.example ::ffff:192.0.2.1 70;");
    nat64_end(w);
}

static void test_nat64_aaaa_never(void)
{
    World *w = world_with_nat64();

    reply_a(w, true);
    w->now += 50;
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 0);
    dns_proxy_process_timeouts(w->proxy);
    assert_plain(w);
    g_assert_cmpstr(w->resolved, ==, "a.example ::ffff:192.0.2.1 70;");
    g_assert_cmpuint(COUNTER(w, plain_after_delay), ==, 1);
    g_assert_true(w->sent[0].cancelled);
    nat64_end(w);
}

static void test_nat64_a_only(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, false);
    g_assert_cmpuint(w->answers, ==, 0);
    reply_a(w, true);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, true);
    reply_aaaa(w, false);
    assert_plain(w);
    nat64_end(w);
}

/* The A records are behind an alias */
static void test_nat64_cname(void)
{
    World *w = world_with_nat64();

    begin_reply(w, 1, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
    add_a("b.example", 70, "192.0.2.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, 50);
    reply_aaaa(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 5 5 b.example;b.example 70 1 192.0.2.1;");
    nat64_end(w);
}

static void test_nat64_neither(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, false);
    reply_a(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "example 77 6 example 77;");
    nat64_end(w);

    /* A NODATA first: no hurry for AAAA */
    w = world_with_nat64();
    reply_a(w, false);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    reply_aaaa(w, true);
    assert_virtual(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, false);
    reply_aaaa(w, false);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    nat64_end(w);
}

static void test_nat64_nxdomain(void)
{
    for (size_t i = 0; i < 2; i++) {
        World *w = world_with_nat64();

        begin_reply(w, i, 0x8183);
        add_soa("example", 300);
        deliver(w, i, DNS_UPSTREAM_OK);
        g_assert_cmpuint(w->answers, ==, 1);
        assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
        assert_records(w, "example 77 6 example 77;");
        g_assert_true(w->sent[1 - i].cancelled);
        nat64_end(w);
    }
}

static void test_nat64_failures(void)
{
    World *w = world_with_nat64();

    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);    /* AAAA fails, A has it */
    reply_a(w, true);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();
    reply_a(w, true);
    deliver(w, 0, DNS_UPSTREAM_REFUSED);
    assert_plain(w);
    nat64_end(w);

    w = world_with_nat64();                 /* A fails, AAAA has it */
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    reply_aaaa(w, true);
    assert_virtual(w);
    nat64_end(w);

    w = world_with_nat64();                 /* both fail */
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpuint(w->answers, ==, 0);
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);

    /* One has no address, the other failed: unknown, so no NODATA */
    w = world_with_nat64();
    reply_aaaa(w, false);
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    deliver(w, 1, DNS_UPSTREAM_TIMEOUT);
    reply_aaaa(w, false);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    reply_a(w, false);
    assert_servfail(w);
    nat64_end(w);
    w = world_with_nat64();
    reply_a(w, false);
    deliver(w, 0, DNS_UPSTREAM_TIMEOUT);
    assert_servfail(w);
    nat64_end(w);
}

/* Addresses that pass unchanged have no other meaning in the guest. */
static void test_nat64_addresses(void)
{
    World *w = world_with_nat64();

    reply_aaaa(w, false);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "198.18.0.1");
    add_a("a.example", 70, "192.0.2.1");
    add_a("a.example", 70, "127.0.0.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 70 1 192.0.2.1;");
    g_assert_cmpstr(w->resolved, ==, "a.example ::ffff:192.0.2.1 70;");
    g_assert_cmpuint(COUNTER(w, addresses_unusable), ==, 2);
    g_assert_cmpstr(w->unusable, ==,
                    "::ffff:198.18.0.1, ::ffff:127.0.0.1, ");
    nat64_end(w);

    /* nothing is left */
    w = world_with_nat64();
    reply_aaaa(w, false);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 70, "198.18.0.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 60 6 invalid 60;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    nat64_end(w);

    /* no more than the owner's limit */
    w = world_with_nat64();
    reply_aaaa(w, false);
    begin_reply(w, 1, 0x8180);
    for (unsigned i = 0; i < DNS_PROXY_MAX_ADDRESSES + 2; i++) {
        g_autofree char *text = g_strdup_printf("192.0.2.%u", i);

        add_a("a.example", 70, text);
    }
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_cmpuint(COUNTER(w, addresses_over_limit), ==, 2);
    nat64_end(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/nat64/aaaa-first", test_nat64_aaaa_first);
    g_test_add_func("/dns/proxy/nat64/room", test_nat64_room);
    g_test_add_func("/dns/proxy/nat64/a-first", test_nat64_a_first);
    g_test_add_func("/dns/proxy/nat64/aaaa-never", test_nat64_aaaa_never);
    g_test_add_func("/dns/proxy/nat64/a-only", test_nat64_a_only);
    g_test_add_func("/dns/proxy/nat64/cname", test_nat64_cname);
    g_test_add_func("/dns/proxy/nat64/neither", test_nat64_neither);
    g_test_add_func("/dns/proxy/nat64/nxdomain", test_nat64_nxdomain);
    g_test_add_func("/dns/proxy/nat64/failures", test_nat64_failures);
    g_test_add_func("/dns/proxy/nat64/addresses", test_nat64_addresses);
    return g_test_run();
}
