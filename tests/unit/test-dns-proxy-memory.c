/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: cached answers to an identical query */

#include <errno.h>
#include <string.h>

#include "tests/fixtures/dns-proxy-fixture.h"

/* An upstream that answers at once, by the first label */
static void know(World *w, size_t i)
{
    char name[DNS_NAME_TEXT_MAX];
    DnsQuestion q;
    DnsCursor cursor;
    DnsName asked;

    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    dns_name_to_text(&q.name, name);
    begin_reply(w, i, g_str_has_prefix(name, "no.") ? 0x8183 : 0x8180);
    if (g_str_has_prefix(name, "no.")) {
        add_soa("example", 300);
    } else if (q.type == DNS_TYPE_AAAA) {
        add_aaaa(name, 60, "2001:db8::1");
        add_aaaa(name, 30, g_str_has_prefix(name, "bad.") ? "fe80::1"
                           : g_str_has_prefix(name, "private.") ? "fd00::1"
                           : "2001:db8::2");
    } else if (!g_str_has_prefix(name, "bare.")) {
        asked = name_of(name);
        dns_builder_raw(&msg.b, DNS_SECTION_ANSWER, &asked, q.type,
                        DNS_CLASS_IN, g_str_has_prefix(name, "zero.") ? 0 : 45,
                        "\2hi", 3);
    }
    deliver(w, i, DNS_UPSTREAM_OK);
}

static World *knowing_world(void)
{
    World *w = world_new();

    w->at_once = know;
    return w;
}

/* The number of upstream queries for this question */
static size_t asks(World *w, const char *name, uint16_t type)
{
    size_t before = w->sent_count;

    ask(w, name, type);
    g_assert_cmpuint(w->answer_len, >, 0);
    return w->sent_count - before;
}

/* So has AAAA, if the guest gets it. */
static void test_aaaa_again(void)
{
    World *w = knowing_world();

    w->uses_ipv6 = true;
    w->now = 1000000;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_AAAA), ==, 1);
    w->resolved[0] = 0;
    w->now += 12900;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_AAAA), ==, 0);
    assert_answer(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_records(w, "a.example 48 28 16 octets;"
                      "a.example 18 28 16 octets;");
    g_assert_cmpstr(w->resolved, ==,
                    "a.example 2001:db8::1 48 2001:db8::2 18;");
    g_assert_cmpuint(COUNTER(w, passed), ==, 2);
    /* An address that is withheld can be allowed later. */
    g_assert_cmpuint(asks(w, "bad.example", DNS_TYPE_AAAA), ==, 1);
    g_assert_cmpuint(asks(w, "bad.example", DNS_TYPE_AAAA), ==, 1);
    world_free(w);
}

/* The answer has the new id and its age, and the owner is notified. */
static void test_again(void)
{
    World *w = knowing_world();

    w->now = 1000000;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 1);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 30 1 198.18.0.1;a.example 30 1 198.18.0.2;");
    w->resolved[0] = 0;
    w->now += 12900;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 0);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    assert_records(w, "a.example 18 1 198.18.0.1;a.example 18 1 198.18.0.2;");
    g_assert_cmpstr(w->resolved, ==,
                    "a.example 2001:db8::1 48 2001:db8::2 18;");
    begin_query("a.example", DNS_TYPE_A);
    dns_msg_set_id(msg.buf, 0x77aa);
    query(w);
    g_assert_cmphex(w->answer[0] << 8 | w->answer[1], ==, 0x77aa);
    g_assert_cmpuint(w->sent_count, ==, 1);
    g_assert_cmpuint(COUNTER(w, answers_virtual), ==, 3);
    g_assert_cmpuint(COUNTER(w, remembered), ==, 2);
    /* the first TTL is over */
    w->now = 1030000;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 1);
    assert_records(w, "a.example 30 1 198.18.0.1;a.example 30 1 198.18.0.2;");
    assert_balance(w, 0);
    world_free(w);
}

static void test_kinds(void)
{
    static const struct {
        const char *name;
        uint16_t type;
        bool again;
    } cases[] = {
        { "a.example", DNS_TYPE_AAAA, true },
        { "a.example", DNS_TYPE_TXT, true },
        { "no.example", DNS_TYPE_A, true },
        { "no.example", DNS_TYPE_TXT, true },
        /* A TTL of 0 */
        { "zero.example", DNS_TYPE_TXT, false },
        { "bare.example", DNS_TYPE_TXT, false },
        /* An omitted address is counted and reported each time */
        { "bad.example", DNS_TYPE_A, false },
        { "private.example", DNS_TYPE_A, false },
    };
    World *w = knowing_world();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpuint(asks(w, cases[i].name, cases[i].type), ==, 1);
        g_assert_cmpuint(asks(w, cases[i].name, cases[i].type), ==,
                         !cases[i].again);
    }
    g_assert_cmpstr(w->blocked, ==, "fd00::1, fd00::1, ");
    /* With a NAT64, A is asked for beside */
    w->nat64 = true;
    g_assert_cmpuint(asks(w, "64.example", DNS_TYPE_A), ==, 2);
    g_assert_cmpuint(asks(w, "64.example", DNS_TYPE_A), ==, 2);
    assert_balance(w, 0);
    world_free(w);
}

/* A query with any difference has an answer of its own. */
static void test_same(void)
{
    World *w = knowing_world();
    size_t sent;

    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_TXT), ==, 1);
    g_assert_cmpuint(asks(w, "A.example", DNS_TYPE_TXT), ==, 1);
    for (int i = 0; i < 3; i++) {
        begin_query("a.example", DNS_TYPE_TXT);
        add_edns(i == 2 ? 512 : 4096, i == 1, 0);
        query(w);
        assert_records(w, i == 1 ? "a.example 45 16 3 octets;"
                                   "OPT 1232 DO high=0 ede=-1;"
                       : "a.example 45 16 3 octets;OPT 1232 high=0 ede=-1;");
    }
    g_assert_cmpuint(COUNTER(w, remembered), ==, 0);
    sent = w->sent_count;
    begin_query("a.example", DNS_TYPE_TXT);
    {
        g_autofree uint8_t *asked = g_memdup2(msg.buf, msg.b.len);

        dns_proxy_query(w->proxy, asked, msg.b.len, DNS_TRANSPORT_TCP, w);
    }
    g_assert_cmpuint(w->sent_count, ==, sent + 1);
    world_free(w);
}

/* The owner admits each query; forgotten answers are asked again. */
static void test_owner(void)
{
    World *w = knowing_world();

    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 1);
    w->admit = -EACCES;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 0);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    w->admit = -EBUSY;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 0);
    assert_answer(w, DNS_RCODE_REFUSED, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, refused_name), ==, 1);
    g_assert_cmpuint(COUNTER(w, refused_rate), ==, 1);
    w->admit = 0;
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 0);
    dns_proxy_forget(w->proxy);
    g_assert_cmpuint(asks(w, "a.example", DNS_TYPE_A), ==, 1);
    assert_balance(w, 0);
    world_free(w);
}

/* More queries than cache entries are answered correctly. */
static void test_many(void)
{
    World *w = knowing_world();

    for (int i = 0; i < 8000; i++) {
        g_autofree char *name = g_strdup_printf("n%d.example", i % 4000);

        w->sent_count = 0;
        asks(w, name, DNS_TYPE_TXT);
        assert_answer(w, 0, name, DNS_TYPE_TXT);
    }
    g_assert_cmpuint(COUNTER(w, remembered), >, 0);
    g_assert_cmpuint(COUNTER(w, passed), ==, 8000);
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/memory/again", test_again);
    g_test_add_func("/dns/proxy/memory/aaaa-again", test_aaaa_again);
    g_test_add_func("/dns/proxy/memory/kinds", test_kinds);
    g_test_add_func("/dns/proxy/memory/same", test_same);
    g_test_add_func("/dns/proxy/memory/owner", test_owner);
    g_test_add_func("/dns/proxy/memory/many", test_many);
    return g_test_run();
}
