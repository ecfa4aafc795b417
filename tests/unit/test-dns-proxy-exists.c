/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: a name exists for all types or for none, RFC 8020 */

#include <arpa/inet.h>

#include "tests/fixtures/dns-proxy-fixture.h"

#define REVERSE "1.0.18.198.in-addr.arpa"
#define IP6_ARPA_1 "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
                   "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
#define HINFO "13 9 octets;"

static const uint16_t types[] = {
    DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT, DNS_TYPE_HTTPS, DNS_TYPE_SOA,
    DNS_TYPE_CNAME,
};

/* Replies to all queries since @since */
static void reply_all(World *w, size_t since, uint16_t flags, const char *zone)
{
    for (size_t i = since; i < w->sent_count; i++) {
        if (!w->sent[i].cancelled) {
            begin_reply(w, i, flags);
            add_soa(zone, 300);
            deliver(w, i, DNS_UPSTREAM_OK);
        }
    }
}

/*** ANY ***/

/* A name without addresses still has some record, as it exists. */
static void test_any(void)
{
    World *w = world_new();

    for (int nat64 = 0; nat64 < 2; nat64++) {
        size_t sent = w->sent_count;

        w->nat64 = nat64;
        begin_query("txt.example", DNS_TYPE_ANY);
        add_edns(1232, nat64, 0);
        query(w);
        reply_all(w, sent, 0x8180, "example");
        assert_answer(w, 0, "txt.example", DNS_TYPE_ANY);
        assert_records(w, nat64
                       ? "txt.example 60 " HINFO "OPT 1232 DO high=0 ede=-1;"
                       : "txt.example 60 " HINFO "OPT 1232 high=0 ede=-1;");
    }
    w->nat64 = false;
    g_assert_cmpuint(COUNTER(w, answers_any), ==, 2);
    g_assert_cmpuint(COUNTER(w, nodata), ==, 0);
    ask(w, "no.example", DNS_TYPE_ANY);
    reply_all(w, w->sent_count - 1, 0x8183, "example");
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example", DNS_TYPE_ANY);
    assert_balance(w, 0);
    world_free(w);
}

/* Octet for octet as RFC 8482 section 4.2 has it */
static void test_hinfo(void)
{
    World *w = world_new();
    DnsCursor cursor;
    DnsRr rr;

    ask(w, "txt.example", DNS_TYPE_ANY);
    reply_all(w, 0, 0x8180, "example");
    dns_cursor_init(&cursor, w->answer, w->answer_len);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpmem(w->answer + rr.rdata, rr.rdlength, "\7RFC8482\0", 9);
    world_free(w);
}

/* An alias exists, with any target. */
static void test_any_alias(void)
{
    World *w = world_new();

    for (int rcode = 0; rcode <= DNS_RCODE_NXDOMAIN;
         rcode += DNS_RCODE_NXDOMAIN) {
        ask(w, "a.example", DNS_TYPE_ANY);
        begin_reply(w, w->sent_count - 1, 0x8180 | rcode);
        add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
        add_soa("example", 300);
        deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
        assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
        assert_records(w, "a.example 5 5 b.example;");
    }
    assert_balance(w, 0);
    world_free(w);
}

/* Withheld addresses do not make the name nonexistent. */
static void test_any_private(void)
{
    World *w = world_new();

    begin_query("a.example", DNS_TYPE_ANY);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 3600, "fd00::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
    assert_records(w, "a.example 60 " HINFO "OPT 1232 high=0 ede=15;");
    assert_balance(w, 0);
    world_free(w);
}

/*** Names of virtual addresses ***/

static World *world_with_address(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    return w;
}

static void test_reverse(void)
{
    World *w = world_with_address();

    w->nat64 = true;
    w->lease = 50;
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        ask(w, REVERSE, types[i]);
        assert_sent(w, w->sent_count - 1, IP6_ARPA_1, DNS_TYPE_PTR);
        begin_reply(w, w->sent_count - 1, 0x8180);
        add_name(IP6_ARPA_1, DNS_TYPE_PTR, i ? 3600 : 40, "a.example");
        deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
        assert_answer(w, 0, REVERSE, types[i]);
        assert_records(w, i ? REVERSE " 50 6 invalid 50;"
                            : REVERSE " 40 6 invalid 40;");
    }
    g_assert_cmpuint(COUNTER(w, nodata), ==, G_N_ELEMENTS(types));
    ask(w, REVERSE, DNS_TYPE_ANY);
    begin_reply(w, w->sent_count - 1, 0x8180);
    add_name(IP6_ARPA_1, DNS_TYPE_PTR, 3600, "a.example");
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, REVERSE, DNS_TYPE_ANY);
    assert_records(w, REVERSE " 50 12 a.example;");
    g_assert_cmpuint(COUNTER(w, answers_ptr), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

/* Neither a PTR nor anything else */
static void test_reverse_none(void)
{
    World *w = world_with_address();

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        size_t sent = w->sent_count;

        ask(w, REVERSE, types[i]);
        reply_all(w, sent, 0x8183, "ip6.arpa");
        assert_answer(w, DNS_RCODE_NXDOMAIN, REVERSE, types[i]);
        ask(w, "9.0.18.198.in-addr.arpa", types[i]);
        g_assert_cmpuint(w->sent_count, ==, sent + 1);
        assert_answer(w, DNS_RCODE_NXDOMAIN, "9.0.18.198.in-addr.arpa",
                      types[i]);
    }
    assert_balance(w, 0);
    world_free(w);
}

/* A validator gets the servers' answers, except for PTR. */
static void test_reverse_validator(void)
{
    World *w = world_with_address();

    begin_query(REVERSE, DNS_TYPE_DS);
    msg.buf[3] |= DNS_FLAG_CD;
    add_edns(1232, true, 0);
    query(w);
    assert_sent(w, 1, REVERSE, DNS_TYPE_DS);
    world_free(w);
}

/*** Names above locally answered ones ***/

static const char *const above[] = {
    "0.18.198.in-addr.arpa", "18.198.in-addr.arpa", "198.in-addr.arpa",
    "in-addr.arpa",
    /* local-names.c */
    "0.0.192.in-addr.arpa", "0.0.0.0.0.0.0.0.ip6.arpa", "arpa", ".",
    /* a zone of the host */
    "corp",
};

static void test_above(void)
{
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(above) * G_N_ELEMENTS(types); i++) {
        const char *name = above[i / G_N_ELEMENTS(types)];
        uint16_t type = types[i % G_N_ELEMENTS(types)];
        size_t sent = w->sent_count;

        begin_query(name, type);
        add_edns(1232, i % 2, 0);
        w->nat64 = i % 3;
        query(w);
        reply_all(w, sent, 0x8183, ".");
        assert_answer(w, 0, name, type);
        assert_records(w, i % 2 ? ". 77 6 . 77;OPT 1232 DO high=0 ede=-1;"
                                : ". 77 6 . 77;OPT 1232 high=0 ede=-1;");
    }
    g_assert_cmpuint(COUNTER(w, nxdomain), ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/*
 * A server's answer for such a name passes; the rule is for names above only.
 */
static void test_not_above(void)
{
    static const char *const others[] = {
        "1.18.198.in-addr.arpa", "198.198.in-addr.arpa", "17.in-addr.arpa",
        "ownx.corp", "example", "1.ip6.arpa", "no.onion.example",
    };
    World *w = world_new();

    ask(w, "198.in-addr.arpa", DNS_TYPE_NS);
    begin_reply(w, 0, 0x8180);
    add_name("198.in-addr.arpa", DNS_TYPE_NS, 60, "ns.example");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "198.in-addr.arpa", DNS_TYPE_NS);
    g_assert_cmpuint(COUNTER(w, passed), ==, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        ask(w, others[i], DNS_TYPE_TXT);
        reply_all(w, i + 1, 0x8183, ".");
        assert_answer(w, DNS_RCODE_NXDOMAIN, others[i], DNS_TYPE_TXT);
    }
    /* an alias to such a name is not above */
    ask(w, "corp", DNS_TYPE_TXT);
    begin_reply(w, w->sent_count - 1, 0x8183);
    add_name("corp", DNS_TYPE_CNAME, 60, "no.example");
    add_soa("example", 300);
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "corp", DNS_TYPE_TXT);
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/exists/any", test_any);
    g_test_add_func("/dns/proxy/exists/hinfo", test_hinfo);
    g_test_add_func("/dns/proxy/exists/any-alias", test_any_alias);
    g_test_add_func("/dns/proxy/exists/any-private", test_any_private);
    g_test_add_func("/dns/proxy/exists/reverse", test_reverse);
    g_test_add_func("/dns/proxy/exists/reverse-none", test_reverse_none);
    g_test_add_func("/dns/proxy/exists/reverse-validator",
                    test_reverse_validator);
    g_test_add_func("/dns/proxy/exists/above", test_above);
    g_test_add_func("/dns/proxy/exists/not-above", test_not_above);
    return g_test_run();
}
