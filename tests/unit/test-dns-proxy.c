/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: A from AAAA, and every other kind of question */

#include <arpa/inet.h>
#include <errno.h>

#include "tests/fixtures/dns-proxy-fixture.h"

/*** A from AAAA ***/

static void test_a(void)
{
    World *w = world_new();

    ask(w, "www.Example.com", DNS_TYPE_A);
    g_assert_cmpuint(w->sent_count, ==, 1);
    assert_sent(w, 0, "www.Example.com", DNS_TYPE_AAAA);
    g_assert_cmpuint(w->answers, ==, 0);
    begin_reply(w, 0, 0x81a0);      /* the upstream says AD */
    add_aaaa("www.example.COM", 60, "2001:db8::2");
    add_aaaa("www.example.com", 50, "2001:db8::1");
    add_edns(4096, false, 0);
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmphex(assert_answer(w, 0, "www.Example.com", DNS_TYPE_A) &
                    (DNS_FLAG_AD | DNS_FLAG_TC | DNS_FLAG_AA), ==, 0);
    assert_records(w, "www.Example.com 50 1 198.18.0.1;"
                      "www.Example.com 50 1 198.18.0.2;");
    g_assert_cmpuint(COUNTER(w, answers_virtual), ==, 1);

    /* The same addresses again, in another order */
    ask(w, "www.example.com", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("www.example.com", 60, "2001:db8::1");
    add_aaaa("www.example.com", 60, "2001:db8::2");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_records(w, "www.example.com 60 1 198.18.0.2;"
                      "www.example.com 60 1 198.18.0.1;");
    assert_balance(w, 0);
    world_free(w);
}

static void test_a_golden(void)
{
    static const uint8_t expected[] =
        "\xbe\xef\x81\x80\0\1\0\1\0\0\0\1\1a\7example\0\0\1\0\1"
        "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1"
        "\0\0\x29\4\xd0\0\0\0\0\0";
    World *w = world_new();

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1400, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_cmpmem(w->answer, w->answer_len, expected, sizeof(expected));
    world_free(w);
}

static void test_lease_limits_ttl(void)
{
    World *w = world_new();

    w->lease = 30;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 86400, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 30 1 198.18.0.1;");
    world_free(w);
}

/* A chain, out of order, with unrelated records in between */
static void test_cname(void)
{
    World *w = world_new();

    ask(w, "www.a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("evil.example", 60, "2001:db8::bad");
    add_aaaa("c.example", 60, "2001:db8::1");
    add_name("b.example", DNS_TYPE_CNAME, 20, "c.example");
    add_name("evil.example", DNS_TYPE_CNAME, 20, "other.example");
    add_name("www.a.example", DNS_TYPE_CNAME, 10, "b.example");
    add_aaaa("www.a.example", 60, "2001:db8::bad");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "www.a.example", DNS_TYPE_A);
    assert_records(w, "www.a.example 10 5 b.example;"
                      "b.example 20 5 c.example;"
                      "c.example 60 1 198.18.0.1;");
    g_assert_cmpuint(w->pool_used, ==, 1);
    world_free(w);
}

#define IP6_ARPA_0 "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
                   "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa"

static void test_cname_loop(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 10, "b.example");
    add_name("b.example", DNS_TYPE_CNAME, 10, "a.example");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, 1);

    ask(w, "a.example", DNS_TYPE_AAAA);
    begin_reply(w, 1, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 10, "a.example");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_AAAA);

    w->pool_used = 1;
    w->pool[0] = in6addr_any;
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 2, 0x8180);
    add_name(IP6_ARPA_0, DNS_TYPE_CNAME, 10, IP6_ARPA_0);
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "1.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, 3);
    assert_balance(w, 0);
    world_free(w);
}

static void test_unusable(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "fe80::1");
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    g_assert_cmpuint(COUNTER(w, addresses_unusable), ==, 1);
    g_assert_cmpstr(w->unusable, ==, "fe80::1, ");

    /* No usable address: NODATA, not an error */
    ask(w, "b.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("b.example", 60, "::1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "b.example", DNS_TYPE_A);
    assert_records(w, "b.example 60 6 invalid 60;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);

    /* A map that fails for another reason than being full */
    w->map_error = -EINVAL;
    ask(w, "c.example", DNS_TYPE_A);
    begin_reply(w, 2, 0x8180);
    add_aaaa("c.example", 60, "2001:db8::3");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "c.example", DNS_TYPE_A);
    assert_records(w, "c.example 60 6 invalid 60;");
    assert_balance(w, 0);
    world_free(w);
}

static void test_pool_full(void)
{
    World *w = world_new();

    w->pool_size = 1;
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    add_aaaa("a.example", 60, "2001:db8::2");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    g_assert_cmpuint(COUNTER(w, addresses_pool_full), ==, 1);

    ask(w, "b.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_aaaa("b.example", 60, "2001:db8::3");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "b.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, servfail_pool_full), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

static void add_many_aaaa(const char *owner, int count)
{
    for (int i = 1; i <= count; i++) {
        g_autofree char *text = g_strdup_printf("2001:db8::%x", i);

        add_aaaa(owner, 60, text);
    }
}

static void test_many_addresses(void)
{
    World *w = world_new();
    DnsHeader header;

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, 0, 0x8180);
    add_many_aaaa("a.example", 40);
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, DNS_PROXY_MAX_ADDRESSES);
    g_assert_cmpuint(w->pool_used, ==, DNS_PROXY_MAX_ADDRESSES);
    g_assert_cmpuint(COUNTER(w, addresses_over_limit), ==, 8);
    world_free(w);
}

static void test_negative(void)
{
    World *w = world_new();

    ask(w, "no.a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8183);
    add_soa("a.example", 300);
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.a.example", DNS_TYPE_A);
    assert_records(w, "a.example 77 6 a.example 77;");
    g_assert_cmpuint(COUNTER(w, nxdomain), ==, 1);

    ask(w, "v4.a.example", DNS_TYPE_A);
    begin_reply(w, 1, 0x8180);
    add_name("v4.a.example", DNS_TYPE_CNAME, 9, "b.example");
    add_soa("b.example", 301);
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "v4.a.example", DNS_TYPE_A);
    assert_records(w, "v4.a.example 9 5 b.example;"
                      "b.example 77 6 b.example 77;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

/*** Other types ***/

static void test_aaaa(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    begin_reply(w, 0, 0x81a0);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
    add_aaaa("b.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_AAAA) &
                   DNS_FLAG_AD);
    assert_records(w, "a.example 5 5 b.example;"
                      "b.example 60 6 invalid 60;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 1);
    g_assert_cmpuint(w->pool_used, ==, 0);

    ask(w, "no.example", DNS_TYPE_AAAA);
    begin_reply(w, 1, 0x8183);
    add_soa("example", 300);
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example", DNS_TYPE_AAAA);
    assert_records(w, "example 77 6 example 77;");
    assert_balance(w, 0);
    world_free(w);
}

/* A guest that uses IPv6 addresses gets those that lead somewhere. */
static void test_aaaa_used(void)
{
    World *w = world_new();

    w->uses_ipv6 = true;
    ask(w, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    begin_reply(w, 0, 0x8180);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.example");
    add_aaaa("b.example", 60, "2001:db8::2");
    add_aaaa("b.example", 50, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_records(w, "a.example 5 5 b.example;"
                      "b.example 60 28 16 octets;"
                      "b.example 50 28 16 octets;");
    g_assert_cmpstr(w->resolved, ==,
                    "a.example 2001:db8::2 5 2001:db8::1 5;");
    g_assert_cmpuint(w->pool_used, ==, 0);

    /* some of them do not */
    w->resolved[0] = 0;
    ask(w, "a.example", DNS_TYPE_AAAA);
    begin_reply(w, 1, 0x81a0);
    add_aaaa("a.example", 60, "fe80::1");
    add_aaaa("a.example", 50, "2001:db8::1");
    add_aaaa("a.example", 40, "fd00::1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_AAAA) &
                   DNS_FLAG_AD);
    assert_records(w, "a.example 50 28 16 octets;");
    g_assert_cmpstr(w->resolved, ==, "a.example 2001:db8::1 50;");
    g_assert_cmpstr(w->blocked, ==, "fd00::1, ");

    /* none of them does, or there are none */
    w->resolved[0] = 0;
    for (size_t i = 2; i < 4; i++) {
        ask(w, "a.example", DNS_TYPE_AAAA);
        begin_reply(w, i, 0x8180);
        if (i == 2) {
            add_aaaa("a.example", 60, "fe80::1");
        } else {
            add_soa("example", 300);
        }
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, 0, "a.example", DNS_TYPE_AAAA);
        assert_records(w, i == 2 ? "a.example 60 6 invalid 60;"
                                 : "example 77 6 example 77;");
    }
    g_assert_cmpstr(w->resolved, ==, "");

    ask(w, "no.example", DNS_TYPE_AAAA);
    begin_reply(w, 4, 0x8183);
    add_soa("example", 300);
    deliver(w, 4, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example", DNS_TYPE_AAAA);
    g_assert_cmpuint(COUNTER(w, passed), ==, 2);
    g_assert_cmpuint(COUNTER(w, nodata), ==, 2);
    assert_balance(w, 0);
    world_free(w);
}

static void test_any(void)
{
    World *w = world_new();

    w->nat64 = true;
    ask(w, "a.example", DNS_TYPE_ANY);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_sent(w, 1, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
    assert_records(w, "a.example 60 1 198.18.0.1;");
    reply_a(w, true);

    /* The plain message has another question than the guest's */
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_ANY);
    reply_aaaa(w, false);
    reply_a(w, true);
    assert_answer(w, 0, "a.example", DNS_TYPE_ANY);
    assert_records(w, "a.example 70 1 192.0.2.1;example 300 6 example 77;");
    world_free(w);
}

#define IP6_ARPA_1 "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." \
                   "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"

static void test_ptr(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    w->lease = 100;

    ask(w, "1.0.18.198.in-ADDR.arpa", DNS_TYPE_PTR);
    assert_sent(w, 1, IP6_ARPA_1, DNS_TYPE_PTR);
    begin_reply(w, 1, 0x8180);
    add_name(IP6_ARPA_1, DNS_TYPE_PTR, 3600, "a.example");
    add_name(IP6_ARPA_1, DNS_TYPE_PTR, 3600, "b.example");
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "1.0.18.198.in-ADDR.arpa", DNS_TYPE_PTR);
    assert_records(w, "1.0.18.198.in-ADDR.arpa 100 12 a.example;"
                      "1.0.18.198.in-ADDR.arpa 100 12 b.example;");
    g_assert_cmpuint(COUNTER(w, answers_ptr), ==, 1);

    /* Through an alias */
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 2, 0x8180);
    add_name(IP6_ARPA_1, DNS_TYPE_CNAME, 7, "1.rev.example");
    add_name("1.rev.example", DNS_TYPE_PTR, 3600, "a.example");
    deliver(w, 2, DNS_UPSTREAM_OK);
    assert_records(w, "1.0.18.198.in-addr.arpa 7 12 a.example;");

    /* No name there; its SOA belongs to another tree, and says how long */
    ask(w, "1.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    begin_reply(w, 3, 0x8183);
    add_soa("ip6.arpa", 300);
    deliver(w, 3, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "1.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    assert_records(w, "1.0.18.198.in-addr.arpa 77 6 invalid 77;");

    /* An unused pool address: not sent to servers */
    ask(w, "9.0.18.198.in-addr.arpa", DNS_TYPE_PTR);
    g_assert_cmpuint(w->sent_count, ==, 4);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "9.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    assert_records(w, "9.0.18.198.in-addr.arpa 5 6 invalid 5;");

    /* Other addresses, and no address at all: passed */
    ask(w, "1.2.0.192.in-addr.arpa", DNS_TYPE_PTR);
    assert_sent(w, 4, "1.2.0.192.in-addr.arpa", DNS_TYPE_PTR);
    ask(w, "_http._tcp.example", DNS_TYPE_PTR);
    assert_sent(w, 5, "_http._tcp.example", DNS_TYPE_PTR);
    begin_reply(w, 5, 0x8180);
    add_name("_http._tcp.example", DNS_TYPE_PTR, 8, "x.example");
    deliver(w, 5, DNS_UPSTREAM_OK);
    assert_records(w, "_http._tcp.example 8 12 x.example;");
    assert_balance(w, 1);
    world_free(w);
}

static void test_pass(void)
{
    World *w = world_new();
    Msg *reply;
    DnsName name = name_of("a.example"), glue = name_of("mx.example");
    struct in_addr addr = { htonl(0xc0000201) };

    /* Guest without EDNS: no OPT, and no addresses that it did not ask for */
    ask(w, "a.example", DNS_TYPE_MX);
    assert_sent(w, 0, "a.example", DNS_TYPE_MX);
    begin_reply(w, 0, 0x8590);
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_MX, 1, 60,
                    "\0\5\2mx\7example", 14);
    reply = g_memdup2(&msg, sizeof(msg));
    dns_builder_a(&msg.b, DNS_SECTION_ADDITIONAL, &glue, 60, addr);
    add_edns(4096, false, 0);
    dns_builder_a(&msg.b, DNS_SECTION_ADDITIONAL, &glue, 61, addr);
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_msg_set_id(reply->buf, 0xbeef);
    g_assert_cmpmem(w->answer, w->answer_len, reply->buf, reply->b.len);
    g_assert_cmpuint(COUNTER(w, passed), ==, 1);
    g_free(reply);

    /* Guest with EDNS and DO: the upstream is asked with DO, ours comes back */
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(4096, true, 0);
    query(w);
    {
        DnsCursor cursor;
        DnsEdns edns;
        DnsRr rr;

        dns_cursor_init(&cursor, w->sent[1].query, w->sent[1].len);
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        dns_rdata_edns(&cursor, &rr, &edns);
        g_assert_true(edns.dnssec_ok);
        g_assert_cmpuint(edns.udp_size, ==, DNS_UDP_ADVERTISED);
    }
    begin_reply(w, 1, 0x81a0);
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_TXT, 1, 60,
                    "\2hi", 3);
    add_edns(512, true, 0);
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                  DNS_FLAG_AD);
    assert_records(w, "a.example 60 16 3 octets;OPT 1232 DO high=0 ede=-1;");

    /* Errors pass, too, with the reason, and so do unusual RCODEs */
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(4096, false, 0);
    query(w);
    begin_reply(w, 2, 0x8182);
    {
        DnsEdns edns = { .udp_size = 512, .has_ede = true, .ede = 6 };

        dns_builder_edns(&msg.b, &edns);
    }
    w->sent[2].reply(w->sent[2].opaque, w->sent[2].request,
                     DNS_UPSTREAM_REFUSED, msg.buf, msg.b.len);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_TXT);
    assert_records(w, "OPT 1232 high=0 ede=6;");

    /* An extended RCODE needs OPT */
    ask(w, "a.example", DNS_TYPE_TXT);
    begin_reply(w, 3, 0x8187);
    {
        DnsEdns edns = { .udp_size = 512, .rcode_high = 1 };

        dns_builder_edns(&msg.b, &edns);
    }
    deliver(w, 3, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_TXT);
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/a", test_a);
    g_test_add_func("/dns/proxy/a-golden", test_a_golden);
    g_test_add_func("/dns/proxy/lease-limits-ttl", test_lease_limits_ttl);
    g_test_add_func("/dns/proxy/cname", test_cname);
    g_test_add_func("/dns/proxy/cname-loop", test_cname_loop);
    g_test_add_func("/dns/proxy/unusable", test_unusable);
    g_test_add_func("/dns/proxy/pool-full", test_pool_full);
    g_test_add_func("/dns/proxy/many-addresses", test_many_addresses);
    g_test_add_func("/dns/proxy/negative", test_negative);
    g_test_add_func("/dns/proxy/aaaa", test_aaaa);
    g_test_add_func("/dns/proxy/aaaa-used", test_aaaa_used);
    g_test_add_func("/dns/proxy/any", test_any);
    g_test_add_func("/dns/proxy/ptr", test_ptr);
    g_test_add_func("/dns/proxy/pass", test_pass);
    return g_test_run();
}
