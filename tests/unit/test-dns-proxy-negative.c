/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: the TTL of negative answers, RFC 2308 */

#include "tests/fixtures/dns-proxy-fixture.h"

static void begin_noerror(World *w, const char *name, uint16_t type)
{
    ask(w, name, type);
    begin_reply(w, w->sent_count - 1, 0x8180);
}

static void deliver_last(World *w)
{
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
}

/* Negative answers that the proxy makes although the upstream has records */
static void test_made_up(void)
{
    World *w = world_new();

    begin_noerror(w, "a.example", DNS_TYPE_AAAA);
    add_aaaa("a.example", 3600, "2001:db8::1");
    deliver_last(w);
    assert_answer(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_records(w, "a.example 60 6 invalid 60;");
    /* no address that could be used */
    begin_noerror(w, "a.example", DNS_TYPE_A);
    add_aaaa("a.example", 3600, "fe80::1");
    deliver_last(w);
    assert_records(w, "a.example 60 6 invalid 60;");
    /* no longer than the replaced records */
    begin_noerror(w, "a.example", DNS_TYPE_AAAA);
    add_aaaa("a.example", 7, "2001:db8::1");
    deliver_last(w);
    assert_records(w, "a.example 7 6 invalid 7;");
    /* at the end of the aliases */
    begin_noerror(w, "a.example", DNS_TYPE_AAAA);
    add_name("a.example", DNS_TYPE_CNAME, 5, "b.other");
    add_name("b.other", DNS_TYPE_CNAME, 6, "c.example");
    add_aaaa("c.example", 9, "2001:db8::1");
    deliver_last(w);
    assert_records(w, "a.example 5 5 b.other;b.other 6 5 c.example;"
                      "c.example 9 6 invalid 9;");
    g_assert_cmpuint(COUNTER(w, nodata), ==, 4);
    assert_balance(w, 0);
    world_free(w);
}

/* The upstream's SOA is used, limited by its minimum. */
static void test_of_the_zone(void)
{
    World *w = world_new();

    begin_noerror(w, "a.example", DNS_TYPE_A);
    add_soa("example", 300);
    deliver_last(w);
    assert_records(w, "example 77 6 example 77;");
    begin_noerror(w, "a.example", DNS_TYPE_A);
    add_soa("A.Example", 30);
    deliver_last(w);
    assert_records(w, "a.example 30 6 a.example 77;");
    begin_noerror(w, "a.example", DNS_TYPE_HTTPS);
    add_soa(".", 30);
    deliver_last(w);
    assert_records(w, ". 30 6 . 77;");
    /* also with records that are withheld */
    begin_noerror(w, "a.example", DNS_TYPE_AAAA);
    add_aaaa("a.example", 9, "2001:db8::1");
    add_soa("example", 300);
    deliver_last(w);
    assert_records(w, "example 77 6 example 77;");
    /* the zone of the last name */
    begin_noerror(w, "www.a.example", DNS_TYPE_A);
    add_name("www.a.example", DNS_TYPE_CNAME, 5, "b.other");
    add_soa("a.example", 300);
    add_soa("ther", 300);
    add_soa("c.b.other", 300);
    add_soa("other", 301);
    deliver_last(w);
    assert_records(w, "www.a.example 5 5 b.other;other 77 6 other 77;");
    assert_balance(w, 0);
    world_free(w);
}

/* A negative answer without SOA is not cached. */
static void test_without(void)
{
    World *w = world_new();

    begin_noerror(w, "a.example", DNS_TYPE_A);
    deliver_last(w);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, w->sent_count - 1, 0x8183);
    add_soa("b.example", 300);
    deliver_last(w);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    world_free(w);
}

/* Other types pass, and so does their SOA. */
static void test_passed(void)
{
    World *w = world_new();

    begin_noerror(w, "a.example", DNS_TYPE_TXT);
    add_soa("example", 300);
    deliver_last(w);
    assert_answer(w, 0, "a.example", DNS_TYPE_TXT);
    assert_records(w, "example 300 6 example 77;");
    ask(w, "a.example", DNS_TYPE_MX);
    begin_reply(w, w->sent_count - 1, 0x8183);
    add_soa("example", 300);
    deliver_last(w);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_MX);
    assert_records(w, "example 300 6 example 77;");
    world_free(w);
}

/* Without room for the SOA the reply has TC, and is not cached in part. */
static void test_room(void)
{
    World *w = world_new();
    g_autofree char *label = g_strnfill(60, 'a');
    g_autofree char *long_name = g_strdup_printf("%s.%s.%s.%s", label, label,
                                                 label, label);
    DnsHeader header;

    begin_noerror(w, long_name, DNS_TYPE_AAAA);
    add_name(long_name, DNS_TYPE_CNAME, 5, "b.example");
    for (int i = 0; i < 13; i++) {
        g_autofree char *from = g_strdup_printf("%c.example", 'b' + i);
        g_autofree char *to = g_strdup_printf("%c.example", 'c' + i);

        add_name(from, DNS_TYPE_CNAME, 5, to);
    }
    add_aaaa("o.example", 9, "2001:db8::1");
    deliver_last(w);
    g_assert_true(assert_answer(w, 0, long_name, DNS_TYPE_AAAA) &
                  DNS_FLAG_TC);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, 14);
    g_assert_cmpuint(header.nscount, ==, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/negative/made-up", test_made_up);
    g_test_add_func("/dns/proxy/negative/of-the-zone", test_of_the_zone);
    g_test_add_func("/dns/proxy/negative/without", test_without);
    g_test_add_func("/dns/proxy/negative/passed", test_passed);
    g_test_add_func("/dns/proxy/negative/room", test_room);
    return g_test_run();
}
