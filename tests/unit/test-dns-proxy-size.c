/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: answers that do not fit the guest's datagram */

#include <string.h>

#include "tests/fixtures/dns-proxy-fixture.h"

#define A_LEN       16      /* of a record whose owner is a pointer */
#define TEXT_LEN    100

static void add_many_aaaa(const char *owner, int count)
{
    for (int i = 1; i <= count; i++) {
        g_autofree char *text = g_strdup_printf("2001:db8::%x", i);

        add_aaaa(owner, 60, text);
    }
}

static void add_texts(const char *owner, int count)
{
    uint8_t text[TEXT_LEN] = { TEXT_LEN - 1 };
    DnsName name = name_of(owner);

    for (int i = 0; i < count; i++) {
        text[1] = i;
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_TXT,
                        DNS_CLASS_IN, 60, text, sizeof(text));
    }
}

/* An upstream that has 30 addresses, and 10 texts, of each name */
static void know(World *w, size_t i)
{
    DnsCursor cursor;
    DnsQuestion q;
    char name[DNS_NAME_TEXT_MAX];

    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    dns_name_to_text(&q.name, name);
    begin_reply(w, i, 0x8180);
    if (q.type == DNS_TYPE_TXT) {
        add_texts(name, 10);
    } else {
        add_many_aaaa(name, 30);
    }
    deliver(w, i, DNS_UPSTREAM_OK);
}

static World *knowing_world(void)
{
    World *w = world_new();

    w->at_once = know;
    return w;
}

/* edns: the size that the guest offers, 0: without EDNS */
static void ask_sized(World *w, const char *name, uint16_t type,
                      uint16_t edns, DnsTransport transport)
{
    g_autofree uint8_t *asked = NULL;
    size_t len;

    begin_query(name, type);
    if (edns) {
        add_edns(edns, true, 0);
    }
    len = msg.b.len;
    asked = g_memdup2(msg.buf, len);
    dns_proxy_query(w->proxy, asked, len, transport, w);
}

/*
 * Check the number of complete records; TC if some are missing; OPT if the
 * query had it
 */
static void assert_has(World *w, const char *name, uint16_t type,
                       uint16_t edns, unsigned num, unsigned all)
{
    uint16_t flags = assert_answer(w, 0, name, type);
    DnsHeader header;
    DnsCursor cursor;
    unsigned found = 0, opt = 0;
    DnsRr rr;

    g_assert_cmpint(!!(flags & DNS_FLAG_TC), ==, num < all);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmpuint(header.ancount, ==, num);
    dns_cursor_init(&cursor, w->answer, w->answer_len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        found += rr.type == type;
        opt += rr.type == DNS_TYPE_OPT && rr.section == DNS_SECTION_ADDITIONAL;
    }
    g_assert_cmpuint(found, ==, num);
    g_assert_cmpuint(opt, ==, edns != 0);
}

/* A client like musl before 1.2.4: 512 octets, without EDNS and TCP */
static void test_without_edns(void)
{
    World *w = knowing_world();

    ask_sized(w, "a.example", DNS_TYPE_A, 0, DNS_TRANSPORT_UDP);
    /* 12 + 15 + 30 * 16 = 507: these fit */
    assert_has(w, "a.example", DNS_TYPE_A, 0, 30, 30);
    ask_sized(w, "a-longer-name.example", DNS_TYPE_A, 0, DNS_TRANSPORT_UDP);
    assert_has(w, "a-longer-name.example", DNS_TYPE_A, 0, 29, 30);
    g_assert_cmpuint(w->answer_len, ==, 12 + 27 + 29 * A_LEN);
    ask_sized(w, "a.example", DNS_TYPE_TXT, 0, DNS_TRANSPORT_UDP);
    assert_has(w, "a.example", DNS_TYPE_TXT, 0, 4, 10);
    g_assert_cmpuint(COUNTER(w, truncated), ==, 2);
    assert_balance(w, 0);
    world_free(w);
}

/* The size in EDNS is respected, including OPT (RFC 6891 6.2.3). */
static void test_edns(void)
{
    static const uint16_t sizes[] = {
        1, 511, 512, 513, 520, 528, 600, 1100, 1231, 1232, 4096,
    };
    static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_TXT };
    World *w = knowing_world();

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(sizes); i++) {
        uint16_t type = types[i % 2], size = sizes[i / 2];
        size_t room = MAX(size, 512) - 12 - 15 - 11;
        unsigned all = type == DNS_TYPE_A ? 30 : 10;
        unsigned fit = room / (type == DNS_TYPE_A ? A_LEN : 12 + TEXT_LEN);

        ask_sized(w, "a.example", type, size, DNS_TRANSPORT_UDP);
        assert_has(w, "a.example", type, size, MIN(fit, all), all);
        g_assert_cmpuint(w->answer_len, <=, MAX(size, 512));
    }
    assert_balance(w, 0);
    world_free(w);
}

static void test_tcp(void)
{
    World *w = knowing_world();

    ask_sized(w, "a.example", DNS_TYPE_TXT, 0, DNS_TRANSPORT_TCP);
    assert_has(w, "a.example", DNS_TYPE_TXT, 0, 10, 10);
    ask_sized(w, "a.example", DNS_TYPE_TXT, 512, DNS_TRANSPORT_TCP);
    assert_has(w, "a.example", DNS_TYPE_TXT, 512, 10, 10);
    world_free(w);
}

/* The reason is dropped before a record is. */
static void test_reason(void)
{
    static const DnsEdns why = { .udp_size = 1232, .has_ede = true, .ede = 3 };
    DnsName name = name_of("a.example");
    World *w = world_new();

    for (int spare = 0; spare <= 6; spare++) {
        /* Question, record, OPT: 512 octets, without a reserve */
        uint8_t text[512 - 12 - 15 - 12 - 11] = { 255, [256] = 205 };
        g_autofree char *expected = NULL;

        text[256] -= spare;
        begin_query("a.example", DNS_TYPE_TXT);
        add_edns(512, false, 0);
        query(w);
        begin_reply(w, spare, 0x8180);
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_TXT,
                        DNS_CLASS_IN, 60, text, sizeof(text) - spare);
        dns_builder_edns(&msg.b, &why);
        deliver(w, spare, DNS_UPSTREAM_OK);
        expected = g_strdup_printf("a.example 60 16 %zu octets;"
                                   "OPT 1232 high=0 ede=%d;",
                                   sizeof(text) - spare,
                                   spare == 6 ? 3 : NO_EDE);
        g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                       DNS_FLAG_TC);
        assert_records(w, expected);
    }
    world_free(w);
}

/*
 * A truncated answer is not cached, not even for the same query.  A client with
 * more room, or over TCP, gets all records.
 */
static void test_remembered(void)
{
    static const struct {
        uint16_t edns;
        DnsTransport transport;
        unsigned texts;
    } asks[] = {
        { 0, DNS_TRANSPORT_UDP, 4 },
        { 512, DNS_TRANSPORT_UDP, 4 },
        { 600, DNS_TRANSPORT_UDP, 5 },
        { 1232, DNS_TRANSPORT_UDP, 10 },
        { 0, DNS_TRANSPORT_TCP, 10 },
        { 512, DNS_TRANSPORT_TCP, 10 },
        { 1232, DNS_TRANSPORT_UDP, 10 },
        { 512, DNS_TRANSPORT_UDP, 4 },
        { 0, DNS_TRANSPORT_UDP, 4 },
    };
    World *w = knowing_world();

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(asks); i++) {
        uint16_t edns = asks[i / 2].edns;

        ask_sized(w, "a.example", DNS_TYPE_TXT, edns, asks[i / 2].transport);
        assert_has(w, "a.example", DNS_TYPE_TXT, edns, asks[i / 2].texts, 10);
    }
    g_assert_cmpuint(COUNTER(w, remembered), ==, 0);
    /* a complete answer is cached for its size */
    for (int i = 0; i < 4; i++) {
        ask_sized(w, "a.example", DNS_TYPE_A, i % 2 ? 4096 : 0,
                  DNS_TRANSPORT_UDP);
        assert_has(w, "a.example", DNS_TYPE_A, i % 2 ? 4096 : 0, 30, 30);
    }
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/size/without-edns", test_without_edns);
    g_test_add_func("/dns/proxy/size/edns", test_edns);
    g_test_add_func("/dns/proxy/size/tcp", test_tcp);
    g_test_add_func("/dns/proxy/size/reason", test_reason);
    g_test_add_func("/dns/proxy/size/remembered", test_remembered);
    return g_test_run();
}
