/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: flags, EDNS, hostile queries and replies, bounds */

#include <errno.h>

#include "tests/fixtures/dns-proxy-fixture.h"

/*** Flags and EDNS ***/

static uint16_t sent_flags(World *w, size_t i)
{
    DnsHeader header;

    dns_header_parse(w->sent[i].query, w->sent[i].len, &header);
    return header.flags;
}

static void test_flags(void)
{
    World *w = world_new();
    DnsHeader header;

    begin_query("a.example", DNS_TYPE_A);
    msg.buf[2] = 0x00;                          /* no RD */
    msg.buf[3] = DNS_FLAG_CD | DNS_FLAG_AD;
    add_edns(1232, false, 0);
    query(w);
    /* AD asks for a verdict on data that will be replaced: not passed */
    g_assert_cmphex(sent_flags(w, 0), ==, DNS_FLAG_CD);
    begin_reply(w, 0, 0x80b0);
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 0, DNS_UPSTREAM_OK);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmphex(header.flags, ==,
                    DNS_FLAG_QR | DNS_FLAG_RA | DNS_FLAG_CD);
    assert_records(w, "a.example 60 1 198.18.0.1;"
                      "OPT 1232 high=0 ede=-1;");

    begin_query("a.example", DNS_TYPE_TXT);
    msg.buf[3] = DNS_FLAG_AD;
    query(w);
    g_assert_cmphex(sent_flags(w, 1), ==, DNS_FLAG_RD | DNS_FLAG_AD);
    world_free(w);
}

static void test_badvers(void)
{
    World *w = world_new();

    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 1);
    query(w);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=1 ede=-1;");
    g_assert_cmpuint(COUNTER(w, badvers), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    world_free(w);
}

static void test_upstream_failures(void)
{
    static const struct {
        DnsUpstreamStatus status;
        const char *edns;
    } cases[] = {
        { DNS_UPSTREAM_TIMEOUT, "OPT 1232 high=0 ede=22;" },
        { DNS_UPSTREAM_REFUSED, "OPT 1232 high=0 ede=22;" },
        { DNS_UPSTREAM_NETWORK, "OPT 1232 high=0 ede=23;" },
        { DNS_UPSTREAM_BADREPLY, "OPT 1232 high=0 ede=0;" },
        { DNS_UPSTREAM_CANCELLED, "OPT 1232 high=0 ede=0;" },
    };
    static const uint16_t types[] = {
        DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT,
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (size_t t = 0; t < G_N_ELEMENTS(types); t++) {
            begin_query("a.example", types[t]);
            add_edns(1232, false, 0);
            query(w);
            deliver(w, w->sent_count - 1, cases[i].status);
            assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", types[t]);
            assert_records(w, cases[i].edns);
        }
    }
    /* Without EDNS, there is no EDE */
    ask(w, "a.example", DNS_TYPE_A);
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_TIMEOUT);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    /* The upstream's reason passes */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    begin_reply(w, w->sent_count - 1, 0x8182);
    {
        DnsEdns edns = { .udp_size = 512, .has_ede = true, .ede = 6 };

        dns_builder_edns(&msg.b, &edns);
    }
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=6;");
    /* Cannot be sent */
    w->send_error = -ENETUNREACH;
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=23;");
    /* Fails while being sent, the first of two or both */
    w->send_error = 0;
    w->timeout_at_once = true;
    w->nat64 = true;
    w->answers = 0;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->answers, ==, 1);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_balance(w, 0);
    world_free(w);
}

/* The AAAA ends the request while it is sent: A is not asked any more */
static void test_reply_at_once(void)
{
    World *w = world_new();

    w->nat64 = true;
    w->nxdomain_at_once = true;
    ask(w, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 1);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/*** Hostile and invalid queries ***/

static void assert_header_only(World *w, uint16_t flags)
{
    DnsHeader header;

    g_assert_cmpuint(w->answer_len, ==, DNS_HEADER_LEN);
    dns_header_parse(w->answer, w->answer_len, &header);
    g_assert_cmphex(header.id, ==, 0xbeef);
    g_assert_cmphex(header.flags, ==, flags);
}

static void test_bad_queries(void)
{
    World *w = world_new();
    size_t len;

    /* Shorter than a header: no reply */
    begin_query("a.example", DNS_TYPE_A);
    for (len = 0; len < DNS_HEADER_LEN; len++) {
        dns_proxy_query(w->proxy, msg.buf, len, DNS_TRANSPORT_UDP, w);
    }
    g_assert_cmpuint(COUNTER(w, dropped_short), ==, DNS_HEADER_LEN);
    /* A response: a reply could cause an endless loop */
    msg.buf[2] |= 0x80;
    query(w);
    g_assert_cmpuint(COUNTER(w, dropped_response), ==, 1);
    g_assert_cmpuint(w->answers, ==, 0);
    /* Cut within the question */
    begin_query("a.example", DNS_TYPE_A);
    for (len = DNS_HEADER_LEN; len < msg.b.len; len++) {
        dns_proxy_query(w->proxy, msg.buf, len, DNS_TRANSPORT_UDP, w);
        assert_header_only(w, 0x8181);
    }
    /* No question, two questions */
    for (int qdcount = 0; qdcount <= 2; qdcount += 2) {
        begin_query("a.example", DNS_TYPE_A);
        msg.buf[5] = qdcount;
        w->rejected = DNS_RCODE_NOERROR;
        query(w);
        assert_header_only(w, 0x8181);
        g_assert_cmpint(w->rejected, ==, DNS_RCODE_FORMERR);
    }
    /* Fewer records than the header says */
    begin_query("a.example", DNS_TYPE_A);
    msg.buf[11] = 1;
    query(w);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_A);
    /* Two OPTs */
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_A);
    assert_records(w, "");
    /* OPT as a question */
    ask(w, "a.example", DNS_TYPE_OPT);
    assert_answer(w, DNS_RCODE_FORMERR, "a.example", DNS_TYPE_OPT);
    /* UPDATE */
    begin_query("a.example", DNS_TYPE_A);
    msg.buf[2] = 5 << 3;
    query(w);
    assert_header_only(w, 0x8180 + (5 << 11) + 4 - DNS_FLAG_RD);
    /* CHAOS, transfers */
    begin_query("version.bind", DNS_TYPE_TXT);
    msg.buf[msg.b.len - 1] = 3;
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "version.bind", DNS_TYPE_TXT);
    ask(w, "a.example", DNS_TYPE_AXFR);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_AXFR);
    g_assert_cmpuint(COUNTER(w, refused), ==, 2);
    g_assert_cmpuint(COUNTER(w, notimp), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

static void test_bad_replies(void)
{
    World *w = world_new();
    size_t full;

    /* Cut anywhere */
    ask(w, "a.example", DNS_TYPE_A);
    begin_reply(w, 0, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    full = msg.b.len;
    for (size_t len = 0; len < full; len++) {
        size_t i = w->sent_count - 1;
        g_autofree uint8_t *cut = NULL;

        begin_reply(w, i, 0x8180);
        add_aaaa("a.example", 60, "2001:db8::1");
        cut = g_memdup2(msg.buf, MAX(len, 1));
        w->sent[i].reply(w->sent[i].opaque, w->sent[i].request,
                         DNS_UPSTREAM_OK, cut, len);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
        ask(w, "a.example", DNS_TYPE_A);
    }
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, full);
    g_assert_cmpuint(w->pool_used, ==, 0);
    /* Not a response; with TC; to another question; two OPTs */
    for (int what = 0; what < 5; what++) {
        size_t i = w->sent_count - 1;

        begin_reply(w, i, what == 0 ? 0x0180 : what == 1 ? 0x8380 : 0x8180);
        if (what == 2) {
            msg.buf[DNS_HEADER_LEN + 1] = 'b';
        } else if (what == 3) {
            msg.buf[msg.b.len - 3] = DNS_TYPE_A;
        } else if (what == 4) {
            add_edns(1232, false, 0);
            add_edns(1232, false, 0);
        }
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
        ask(w, "a.example", DNS_TYPE_A);
    }
    /* AAAA of a class other than IN is none */
    {
        DnsName name = name_of("a.example");

        begin_reply(w, w->sent_count - 1, 0x8180);
        add_aaaa("b.example", 60, "2001:db8::1");
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_AAAA, 3,
                        60, "0123456789abcdef", 16);
        deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
        assert_answer(w, 0, "a.example", DNS_TYPE_A);
        assert_records(w, "");
    }
    assert_balance(w, 0);
    world_free(w);
}

/* A reply with malformed RDATA fails; it is not NODATA. */
static void test_bad_rdata(void)
{
    static const struct {
        uint16_t asked;
        uint16_t type;
        const char *rdata;
        size_t len;
    } cases[] = {
        { DNS_TYPE_A, DNS_TYPE_AAAA, "1234", 4 },
        { DNS_TYPE_A, DNS_TYPE_AAAA, "0123456789abcde", 15 },
        { DNS_TYPE_A, DNS_TYPE_AAAA, "0123456789abcdefg", 17 },
        { DNS_TYPE_A, DNS_TYPE_AAAA, "", 0 },
        { DNS_TYPE_A, DNS_TYPE_CNAME, "\1b", 2 },
        { DNS_TYPE_A, DNS_TYPE_CNAME, "\1b\0\0", 4 },
        { DNS_TYPE_A, DNS_TYPE_SOA, "\1b\0\1b\0", 6 },
        { DNS_TYPE_AAAA, DNS_TYPE_AAAA, "1234", 4 },
        { DNS_TYPE_ANY, DNS_TYPE_AAAA, "1234", 4 },
        { DNS_TYPE_PTR, DNS_TYPE_PTR, "\1b", 2 },
        { DNS_TYPE_HTTPS, DNS_TYPE_HTTPS, "\0\1", 2 },
        { DNS_TYPE_MX, DNS_TYPE_MX, "\0\5", 2 },
    };
    World *w = world_new();

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        DnsName name = name_of("a.example");

        ask(w, "a.example", cases[i / 2].asked);
        begin_reply(w, i, 0x8180);
        /* A valid record beside it makes no difference. */
        if (i % 2) {
            add_aaaa("a.example", 60, "2001:db8::1");
        }
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, cases[i / 2].type,
                        1, 60, cases[i / 2].rdata, cases[i / 2].len);
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", cases[i / 2].asked);
    }
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, w->sent_count);
    g_assert_cmpuint(w->pool_used, ==, 0);

    /* The malformed reply may contain an A, so NODATA could be wrong */
    w->nat64 = true;
    w->sent_count = 0;
    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, false);
    begin_reply(w, 1, 0x8180);
    {
        DnsName name = name_of("a.example");

        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, DNS_TYPE_A, 1, 60,
                        "0123456789abcdef", 16);
    }
    deliver(w, 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_balance(w, 0);
    world_free(w);
}

/*** Bounds and cancelling ***/

/* The only limit is the table, for one token or for many. */
static void test_limits(void)
{
    enum { MINE = 2000 };
    World *w = world_new();
    size_t i;

    g_assert_cmpuint(dns_proxy_room(w->proxy), ==, DNS_PROXY_MAX_REQUESTS);
    begin_query("a.example", DNS_TYPE_A);
    for (i = 0; i < MINE; i++) {
        query(w);
    }
    g_assert_cmpuint(w->answers, ==, 0);
    for (; i < DNS_PROXY_MAX_REQUESTS; i++) {
        g_assert_cmpuint(dns_proxy_room(w->proxy), ==,
                         DNS_PROXY_MAX_REQUESTS - i);
        dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_UDP,
                        GSIZE_TO_POINTER(i));
    }
    g_assert_cmpuint(dns_proxy_room(w->proxy), ==, 0);
    g_assert_cmpuint(w->answers, ==, 0);
    query(w);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, servfail_table_full), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, DNS_PROXY_MAX_REQUESTS);
    assert_balance(w, DNS_PROXY_MAX_REQUESTS);

    /*
     * The socket is closed: its slots are free, its upstream requests
     * cancelled.
     */
    dns_proxy_cancel(w->proxy, w);
    g_assert_cmpuint(COUNTER(w, dropped_cancelled), ==, MINE);
    g_assert_cmpuint(dns_proxy_room(w->proxy), ==, MINE);
    for (i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        g_assert_cmpint(w->sent[i].cancelled, ==, i < MINE);
    }
    /* A slot that is used again does not take the reply for the old request. */
    begin_query("b.example", DNS_TYPE_A);
    query(w);
    g_assert_cmpuint(w->answers, ==, 1);
    for (i = 0; i < MINE; i++) {
        deliver(w, i, DNS_UPSTREAM_TIMEOUT);
    }
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, MINE);
    /* Free cancels the rest */
    dns_proxy_free(w->proxy);
    for (i = 0; i < w->sent_count; i++) {
        g_assert_true(w->sent[i].cancelled);
    }
    g_assert_cmpuint(w->answers, ==, 1);
    g_free(w);
}

static void test_duplicate_reply(void)
{
    World *w = world_new();

    ask(w, "a.example", DNS_TYPE_A);
    reply_aaaa(w, true);
    reply_aaaa(w, true);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, replies_late), ==, 1);
    world_free(w);
}

static void test_cancel_in_answer(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (int i = 0; i < 10; i++) {
        ask(w, "a.example", DNS_TYPE_A);
        begin_reply(w, 2 * i + 1, 0x8180);
        add_a("a.example", 70, "192.0.2.1");
        deliver(w, 2 * i + 1, DNS_UPSTREAM_OK);
    }
    w->cancel_in_answer = w;
    w->now += 50;
    dns_proxy_process_timeouts(w->proxy);
    g_assert_cmpuint(w->answers, ==, 1);
    g_assert_cmpuint(COUNTER(w, dropped_cancelled), ==, 9);
    g_assert_cmpint(dns_proxy_timeout_ms(w->proxy), ==, -1);
    assert_balance(w, 0);
    world_free(w);
}

/* A 60,000 octet reply with an A, to a new query; false if it was held */
static bool hold_large(World *w)
{
    static const uint8_t text[60000];
    DnsName name = name_of("a.example");
    size_t i = w->sent_count, before = w->answers;

    begin_query("a.example", DNS_TYPE_A);
    dns_proxy_query(w->proxy, msg.buf, msg.b.len, DNS_TRANSPORT_TCP,
                    GSIZE_TO_POINTER(i));
    begin_reply(w, i + 1, 0x8180);
    add_a("a.example", 70, "192.0.2.1");
    dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &name, 99, 1, 1, text,
                    sizeof(text));
    deliver(w, i + 1, DNS_UPSTREAM_OK);
    return w->answers > before;
}

/* The owner decides whether a query is admitted. */
static void test_admit(void)
{
    World *w = world_new();

    w->admit = -EACCES;
    begin_query("a.example", DNS_TYPE_TXT);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_TXT);
    assert_records(w, "OPT 1232 high=0 ede=15;");
    g_assert_cmpuint(COUNTER(w, refused_name), ==, 1);
    ask(w, "a.example", DNS_TYPE_A);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    w->admit = -EBUSY;
    begin_query("a.example", DNS_TYPE_A);
    add_edns(1232, false, 0);
    query(w);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=-1;");
    g_assert_cmpuint(COUNTER(w, refused_rate), ==, 1);
    g_assert_cmpuint(w->sent_count, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/* Held replies share a limit; beyond it no reply is held. */
static void test_held_bound(void)
{
    World *w = world_new();

    w->nat64 = true;
    for (int round = 1; round <= 2; round++) {
        size_t held = 0;

        while (!hold_large(w)) {
            held++;
        }
        g_assert_cmpuint(held, ==, (4 << 20) / 60000);
        g_assert_cmpuint(COUNTER(w, plain_after_delay), ==,
                         held * (round - 1) + round);
        w->now += 50;
        dns_proxy_process_timeouts(w->proxy);
        g_assert_cmpuint(w->answers, ==, (held + 1) * round);
    }
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/admit", test_admit);
    g_test_add_func("/dns/proxy/flags", test_flags);
    g_test_add_func("/dns/proxy/badvers", test_badvers);
    g_test_add_func("/dns/proxy/upstream-failures", test_upstream_failures);
    g_test_add_func("/dns/proxy/reply-at-once", test_reply_at_once);
    g_test_add_func("/dns/proxy/bad-queries", test_bad_queries);
    g_test_add_func("/dns/proxy/bad-replies", test_bad_replies);
    g_test_add_func("/dns/proxy/bad-rdata", test_bad_rdata);
    g_test_add_func("/dns/proxy/limits", test_limits);
    g_test_add_func("/dns/proxy/duplicate-reply", test_duplicate_reply);
    g_test_add_func("/dns/proxy/cancel-in-answer", test_cancel_in_answer);
    g_test_add_func("/dns/proxy/held-bound", test_held_bound);
    return g_test_run();
}
