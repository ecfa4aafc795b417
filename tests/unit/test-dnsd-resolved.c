/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The resolver's answers as replies: for which clients, with which records */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/server/serve/serve.h"
#include "tests/fixtures/zone-fixture.h"

static const uint64_t key[2] = { 9, 10 };

typedef struct Fixture {
    DnsdConfig *config;
    DnsdServing serving;
    DnsdThreadState thread;
    DnsdClient client;
    uint8_t query[DNS_QUERY_MAX];
    size_t len;
    DnsQuery parsed;
    uint8_t reply[DNS_MSG_MAX];
    size_t reply_len;
} Fixture;

static Fixture *begin(const char *more)
{
    static DnsdErrors errors;
    g_autofree char *text = g_strconcat("resolver:\n  allow: [192.0.2.1]\n",
                                        more, NULL);
    Fixture *f = g_new0(Fixture, 1);
    DnsdRange range;

    f->config = dnsd_config_read("f", text, strlen(text), &errors);
    g_assert_nonnull(f->config);
    f->serving = (DnsdServing) {
        .config = f->config,
        .udp = { dns_zone_table_new(key, NULL, 0), 0, 1232 },
        .generation = 1,
    };
    f->serving.tcp = f->serving.udp;
    f->serving.tcp.flags = DNS_ANSWER_STREAM;
    f->thread.replies = dnsd_replies_new(key);
    g_assert_null(dnsd_range_read(&range, "192.0.2.1"));
    f->client = (DnsdClient) { .addr = range.first, .now_ms = 1000000 };
    return f;
}

static void end(Fixture *f)
{
    dns_zone_table_free((DnsZoneTable *)f->serving.udp.zones);
    dnsd_replies_free(f->thread.replies);
    dnsd_config_free(f->config);
    g_free(f);
}

static DnsQuestion question_of(const char *name, uint16_t type)
{
    return (DnsQuestion) { zone_name(name), type, DNS_CLASS_IN };
}

static DnsdOutcome ask(Fixture *f, const char *name, uint16_t type,
                       uint16_t flags, bool dnssec_ok)
{
    DnsQuestion question = question_of(name, type);

    f->len = dns_query_build(f->query, &question, flags, dnssec_ok);
    dns_query_read(f->query, f->len, &f->parsed);
    return dnsd_serve(&f->serving, &f->thread, &f->client, &f->parsed,
                      f->reply, DNSD_UDP_MAX, &f->reply_len);
}

static DnsdOutcome tell_of(Fixture *f, DnsdResolved *found,
                           uint32_t generation)
{
    DnsdOutcome outcome = dnsd_serve_resolved(
        &f->serving, &f->thread, &f->client, &f->parsed, found, generation,
        f->reply, DNSD_UDP_MAX, &f->reply_len);

    free(found);
    return outcome;
}

static DnsdOutcome tell(Fixture *f, DnsdResolved *found)
{
    return tell_of(f, found, 1);
}

static uint16_t flags_of(const Fixture *f)
{
    return get_be16(f->reply + 2);
}

/* "TYPE owner ttl;" for each record of the reply but OPT */
static char *text_of(const uint8_t *msg, size_t len)
{
    GString *text = g_string_new("");
    char name[DNS_NAME_TEXT_MAX];
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    g_assert_cmpint(dns_cursor_init(&cursor, msg, len), ==, 0);
    while ((ret = dns_cursor_rr(&cursor, &rr)) == 1) {
        if (rr.type != DNS_TYPE_OPT) {
            dns_name_to_text(&rr.name, name);
            g_string_append_printf(text, "%u %s %u;", rr.type, name, rr.ttl);
        }
    }
    g_assert_cmpint(ret, ==, 0);
    return g_string_free(text, false);
}

static const uint8_t sig[] = {
    0, 6, 13, 1, 0, 0, 0, 60, 0, 0, 0, 9, 0, 0, 0, 1, 0, 7, 0, 1, 2, 3,
};
static const uint8_t nsec[] = "\1z\7example\0\0\1\x40";

/*
 * A denial as a validator has it: NSEC stands before SOA, whose owner is a
 * pointer into that of NSEC.
 */
static size_t make_denial(uint8_t *msg)
{
    DnsQuestion question = question_of("nothing.a.example", DNS_TYPE_A);
    DnsName a = zone_name("a.example"), zone = zone_name("example");
    DnsSoa soa = {
        .mname = zone_name("ns.example"), .rname = zone_name("h.example"),
    };
    const DnsEdns edns = { .udp_size = 1232, .dnssec_ok = true };
    DnsBuilder b;

    dns_builder_init(&b, msg, 4096, 0, DNS_FLAG_QR | DNS_RCODE_NXDOMAIN);
    dns_builder_question(&b, &question);
    dns_builder_raw(&b, DNS_SECTION_AUTHORITY, &a, DNS_TYPE_NSEC, 1, 50, nsec,
                    sizeof(nsec) - 1);
    dns_builder_soa(&b, DNS_SECTION_AUTHORITY, &zone, 60, &soa);
    dns_builder_raw(&b, DNS_SECTION_AUTHORITY, &zone, DNS_TYPE_RRSIG, 1, 60,
                    sig, sizeof(sig));
    dns_builder_edns(&b, &edns);
    return b.len;
}

static DnsdResolved *denial_of(bool dnssec_ok)
{
    DnsQuestion question = question_of("nothing.a.example", DNS_TYPE_A);
    uint8_t msg[4096];
    size_t len = make_denial(msg);
    DnsdResolved *found = dnsd_resolved_new(&question, msg, len, dnssec_ok);

    g_assert_nonnull(found);
    found->security = DNSD_SECURE;
    return found;
}

static void test_denial(void)
{
    Fixture *f = begin("");
    g_autofree char *with = NULL, *without = NULL;

    g_assert_cmpint(ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD,
                        false), ==, DNSD_RESOLVE);
    g_assert_cmpint(tell(f, denial_of(false)), ==, DNSD_REPLY);
    without = text_of(f->reply, f->reply_len);
    g_assert_cmpstr(without, ==, "6 example 60;");
    g_assert_cmphex(flags_of(f), ==, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA |
                    DNS_RCODE_NXDOMAIN);
    g_assert_cmpint(ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD, true),
                    ==, DNSD_RESOLVE);
    g_assert_cmpint(tell(f, denial_of(true)), ==, DNSD_REPLY);
    with = text_of(f->reply, f->reply_len);
    g_assert_cmpstr(with, ==, "47 a.example 50;6 example 60;46 example 60;");
    g_assert_true(flags_of(f) & DNS_FLAG_AD);
    end(f);
}

/*
 * The same answer twice, except for its age, and AD only for clients that ask
 * for it
 */
static void test_kept(void)
{
    Fixture *f = begin("");
    g_autofree char *text = NULL;

    ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD, false);
    tell(f, denial_of(false));
    f->client.now_ms += 7500;
    g_assert_cmpint(ask(f, "Nothing.A.example", DNS_TYPE_A, DNS_FLAG_RD |
                        DNS_FLAG_AD, false), ==, DNSD_REPLY);
    text = text_of(f->reply, f->reply_len);
    g_assert_cmpstr(text, ==, "6 example 53;");
    g_assert_cmpmem(f->reply + DNS_HEADER_LEN, 8, "\7Nothing", 8);
    g_assert_true(flags_of(f) & DNS_FLAG_AD);
    f->client.now_ms += 60000;
    g_assert_cmpint(ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD,
                        false), ==, DNSD_RESOLVE);
    g_assert_cmpuint(f->thread.counters.n[DNSD_COUNT_RESOLVER_KEPT], ==, 1);
    end(f);
}

static DnsdOutcome ask_denied(Fixture *f)
{
    return ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD, false);
}

/*
 * An answer for a deleted cache is delivered, but not kept, and hides no other.
 */
static void test_late(void)
{
    Fixture *f = begin("");

    g_assert_cmpint(ask_denied(f), ==, DNSD_RESOLVE);
    f->serving.generation = 2;
    g_assert_cmpint(tell_of(f, denial_of(false), 1), ==, DNSD_REPLY);
    g_assert_cmpint(ask_denied(f), ==, DNSD_RESOLVE);
    g_assert_cmpint(tell_of(f, denial_of(false), 2), ==, DNSD_REPLY);
    g_assert_cmpint(ask_denied(f), ==, DNSD_REPLY);
    g_assert_cmpint(tell_of(f, denial_of(false), 1), ==, DNSD_REPLY);
    g_assert_cmpint(ask_denied(f), ==, DNSD_REPLY);
    f->serving.generation = 3;
    g_assert_cmpint(ask_denied(f), ==, DNSD_RESOLVE);
    end(f);
}

static DnsdResolved *bogus(void)
{
    DnsdResolved *found = denial_of(false);

    found->security = DNSD_BOGUS;
    found->ede = DNS_EDE_SIGNATURE_EXPIRED;
    return found;
}

static unsigned rcode_told(Fixture *f, uint16_t flags)
{
    ask(f, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD | flags, false);
    g_assert_cmpint(tell(f, bogus()), ==, DNSD_REPLY);
    g_assert_cmphex(flags_of(f) & (DNS_FLAG_CD | DNS_FLAG_AD), ==, flags);
    g_assert_true(flags_of(f) & DNS_FLAG_RA);
    return flags_of(f) & DNS_FLAGS_RCODE;
}

static void test_bogus(void)
{
    Fixture *strict = begin(""), *permissive = begin("  dnssec: permissive\n");

    g_assert_cmpuint(rcode_told(strict, 0), ==, DNS_RCODE_SERVFAIL);
    g_assert_cmpuint(rcode_told(strict, DNS_FLAG_CD), ==, DNS_RCODE_NXDOMAIN);
    /* It is not kept: the next one is checked again. */
    g_assert_cmpint(ask(strict, "nothing.a.example", DNS_TYPE_A, DNS_FLAG_RD,
                        false), ==, DNSD_RESOLVE);
    g_assert_cmpuint(rcode_told(permissive, 0), ==, DNS_RCODE_NXDOMAIN);
    end(strict);
    end(permissive);
}

static void test_access(void)
{
    Fixture *f = begin("");

    g_assert_cmpint(ask(f, "www.example", DNS_TYPE_A, 0, false), ==,
                    DNSD_REPLY);
    g_assert_cmphex(flags_of(f), ==, DNS_FLAG_QR | DNS_FLAG_RA |
                    DNS_RCODE_REFUSED);
    g_assert_cmpint(ask(f, "www.example", DNS_TYPE_TKEY, DNS_FLAG_RD, false),
                    ==, DNSD_REPLY);
    f->client.addr.octets[15] = 2;
    g_assert_cmpint(ask(f, "www.example", DNS_TYPE_A, DNS_FLAG_RD, false), ==,
                    DNSD_REPLY);
    g_assert_cmphex(flags_of(f), ==, DNS_FLAG_QR | DNS_FLAG_RD |
                    DNS_RCODE_REFUSED);
    g_assert_cmpuint(f->thread.counters.n[DNSD_COUNT_DENIED], ==, 1);
    end(f);
}

/* An answer of many records: TC over UDP, whole over TCP */
static void test_long(void)
{
    Fixture *f = begin("");
    DnsQuestion question = question_of("www.example", DNS_TYPE_A);
    uint8_t msg[4096];
    DnsdResolved *found;
    DnsBuilder b;

    dns_builder_init(&b, msg, sizeof(msg), 0, DNS_FLAG_QR);
    dns_builder_question(&b, &question);
    for (unsigned i = 0; i < 100; i++) {
        dns_builder_a(&b, DNS_SECTION_ANSWER, &question.name, 300,
                      (struct in_addr) { i });
    }
    found = dnsd_resolved_new(&question, msg, b.len, false);
    ask(f, "www.example", DNS_TYPE_A, DNS_FLAG_RD, false);
    dnsd_serve_resolved(&f->serving, &f->thread, &f->client, &f->parsed,
                        found, 1, f->reply, DNSD_UDP_MAX, &f->reply_len);
    g_assert_true(flags_of(f) & DNS_FLAG_TC && flags_of(f) & DNS_FLAG_RA);
    g_assert_cmpuint(get_be16(f->reply + 6), ==, 0);
    f->client.is_stream = true;
    dnsd_serve_resolved(&f->serving, &f->thread, &f->client, &f->parsed,
                        found, 1, f->reply, DNS_MSG_MAX, &f->reply_len);
    g_assert_false(flags_of(f) & DNS_FLAG_TC);
    g_assert_cmpuint(get_be16(f->reply + 6), ==, 100);
    free(found);
    end(f);
}

/* A truncated message, or one for another question, is not accepted. */
static void test_malformed(void)
{
    DnsQuestion question = question_of("nothing.a.example", DNS_TYPE_A);
    DnsQuestion other = question_of("other.a.example", DNS_TYPE_A);
    uint8_t msg[4096];
    size_t len = make_denial(msg);

    for (size_t cut = 0; cut < len; cut++) {
        g_autofree uint8_t *part = g_memdup2(msg, cut);

        g_assert_null(dnsd_resolved_new(&question, part, cut, true));
        g_assert_null(dnsd_resolved_new(&question, part, cut, false));
    }
    g_assert_null(dnsd_resolved_new(&other, msg, len, true));
    put_be16(msg + 4, 2);
    g_assert_null(dnsd_resolved_new(&question, msg, len, true));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/resolved/denial", test_denial);
    g_test_add_func("/dnsd/resolved/kept", test_kept);
    g_test_add_func("/dnsd/resolved/late", test_late);
    g_test_add_func("/dnsd/resolved/bogus", test_bogus);
    g_test_add_func("/dnsd/resolved/access", test_access);
    g_test_add_func("/dnsd/resolved/long", test_long);
    g_test_add_func("/dnsd/resolved/malformed", test_malformed);
    return g_test_run();
}
