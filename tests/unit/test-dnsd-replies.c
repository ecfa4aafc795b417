/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's cache: matching questions, and lifetimes */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/serve/replies.h"
#include "tests/fixtures/zone-fixture.h"

static const uint64_t key[2] = { 7, 8 };

typedef struct Fixture {
    DnsdReplies *replies;
    uint8_t msg[DNS_QUERY_MAX];
    DnsQuery query;
} Fixture;

static void ask(Fixture *f, const char *name, uint16_t type, bool dnssec_ok)
{
    DnsQuestion question = { zone_name(name), type, DNS_CLASS_IN };

    dns_query_read(f->msg, dns_query_build(f->msg, &question, DNS_FLAG_RD,
                                           dnssec_ok), &f->query);
}

static DnsdResolved *found_of(uint32_t ttl, uint32_t len, uint8_t mark)
{
    DnsdResolved *r = calloc(1, sizeof(*r) + len);

    r->ttl = ttl;
    r->len = len;
    memset(r->records, mark, len);
    return r;
}

static void put(Fixture *f, uint32_t ttl, uint32_t len, uint8_t mark,
                uint64_t now_ms)
{
    DnsdResolved *r = found_of(ttl, len, mark);

    dnsd_replies_put(f->replies, &f->query, r, 1, now_ms);
    free(r);
}

/* The mark of what is found; 0 for nothing */
static unsigned find(Fixture *f, uint64_t now_ms)
{
    uint32_t age;
    const DnsdResolved *r = dnsd_replies_find(f->replies, &f->query, 1,
                                              now_ms, &age);

    return r ? r->records[0] : 0;
}

static void test_question(void)
{
    Fixture f = { .replies = dnsd_replies_new(key) };

    ask(&f, "www.example", DNS_TYPE_A, false);
    put(&f, 60, 4, 1, 1000);
    ask(&f, "www.example", DNS_TYPE_AAAA, false);
    g_assert_cmpuint(find(&f, 1000), ==, 0);
    put(&f, 60, 4, 2, 1000);
    ask(&f, "www.example", DNS_TYPE_A, true);
    g_assert_cmpuint(find(&f, 1000), ==, 0);
    put(&f, 60, 4, 3, 1000);
    ask(&f, "ww.example", DNS_TYPE_A, false);
    g_assert_cmpuint(find(&f, 1000), ==, 0);
    ask(&f, "WWW.Example", DNS_TYPE_A, false);
    g_assert_cmpuint(find(&f, 1000), ==, 1);
    ask(&f, "www.example", DNS_TYPE_AAAA, false);
    g_assert_cmpuint(find(&f, 1000), ==, 2);
    ask(&f, "www.example", DNS_TYPE_A, true);
    g_assert_cmpuint(find(&f, 1000), ==, 3);
    put(&f, 60, 4, 4, 1000);
    g_assert_cmpuint(find(&f, 1000), ==, 4);
    dnsd_replies_free(f.replies);
}

static void test_time(void)
{
    Fixture f = { .replies = dnsd_replies_new(key) };
    uint32_t age;

    ask(&f, "www.example", DNS_TYPE_A, false);
    put(&f, 60, 4, 1, 1000);
    g_assert_nonnull(dnsd_replies_find(f.replies, &f.query, 1, 60999, &age));
    g_assert_cmpuint(age, ==, 59);
    g_assert_cmpuint(find(&f, 61000), ==, 0);
    put(&f, 60, 4, 1, 61000);
    /* Of another cache */
    g_assert_null(dnsd_replies_find(f.replies, &f.query, 2, 61000, &age));
    /* That must not be kept */
    ask(&f, "zero.example", DNS_TYPE_A, false);
    put(&f, 0, 4, 1, 1000);
    g_assert_cmpuint(find(&f, 1000), ==, 0);
    dnsd_replies_free(f.replies);
}

static void test_length(void)
{
    Fixture f = { .replies = dnsd_replies_new(key) };
    unsigned kept = 0;

    for (uint32_t len = 1; len < 2000; len++) {
        g_autofree char *name = g_strdup_printf("%u.example", len);

        ask(&f, name, DNS_TYPE_A, true);
        put(&f, 60, len, 9, 1000);
        kept += find(&f, 1000) == 9;
    }
    g_assert_cmpuint(kept, >, 800);
    g_assert_cmpuint(kept, <, 1024);
    dnsd_replies_free(f.replies);
}

/* Answers in use stay during a flood of single questions. */
static void test_flood(void)
{
    Fixture f = { .replies = dnsd_replies_new(key) };
    uint64_t now = 1000;

    ask(&f, "www.example", DNS_TYPE_A, false);
    put(&f, 3600, 4, 1, now);
    for (unsigned i = 0; i < 100000; i++) {
        g_autofree char *name = g_strdup_printf("%u.example", i);

        now++;
        ask(&f, name, DNS_TYPE_A, false);
        put(&f, 3600, 4, 2, now);
        if (i % 64 == 0) {
            ask(&f, "www.example", DNS_TYPE_A, false);
            g_assert_cmpuint(find(&f, now), ==, 1);
        }
    }
    dnsd_replies_free(f.replies);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/replies/question", test_question);
    g_test_add_func("/dnsd/replies/time", test_time);
    g_test_add_func("/dnsd/replies/length", test_length);
    g_test_add_func("/dnsd/replies/flood", test_flood);
    return g_test_run();
}
