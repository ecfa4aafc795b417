/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request and its reply: options, access, limits, counters */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/dns/answer/edns.h"
#include "dnsd/server/core/metrics.h"
#include "dnsd/server/serve/serve.h"
#include "tests/fixtures/zone-fixture.h"

static const ZoneLine lines[] = {
    { "example", DNS_TYPE_NS, "ns.example" },
    { "example", DNS_TYPE_SOA, "1" },
    { "ns.example", DNS_TYPE_A, "192.0.2.53" },
    { "www.example", DNS_TYPE_A, "192.0.2.80" },
};

typedef struct Fixture {
    DnsdConfig *config;
    ZoneMade made;
    ZoneImage *image;
    atomic_bool lost;
    DnsdRules rules;
    DnsdServing serving;
    DnsdThreadState thread;
    DnsdClient client;
    uint8_t query[DNS_MSG_MAX];
    size_t len;
    uint8_t reply[DNS_MSG_MAX];
    size_t reply_len;
} Fixture;

static const uint64_t key[2] = { 3, 4 };

static Fixture *begin(const char *text)
{
    static DnsdErrors errors;
    Fixture *f = g_new0(Fixture, 1);
    DnsServedZone zone = { .origin = zone_name("example"), .rrclass = 1 };
    DnsdRange range;

    f->config = dnsd_config_read("f", text, strlen(text), &errors);
    if (!f->config) {
        g_error("%s", errors.text);
    }
    f->made = zone_make("example", lines, G_N_ELEMENTS(lines));
    f->image = zone_open(&f->made);
    f->rules.lost = &f->lost;
    if (f->config->zones) {
        f->rules.allow_query = &f->config->zone[0].allow_query;
    }
    zone.view = (ZoneView) { .layers = 1, .layer = { f->image } };
    zone.opaque = &f->rules;
    f->serving = (DnsdServing) {
        .config = f->config,
        .udp = { dns_zone_table_new(key, &zone, 1), 0, 1232 },
    };
    dnsd_secrets_from(&f->serving.secrets, (const uint8_t *)"0123456789abcdef");
    f->serving.tcp = f->serving.udp;
    f->serving.tcp.flags = DNS_ANSWER_STREAM;
    if (f->config->limit.rate) {
        f->thread.limit = dnsd_limit_new(&f->config->limit, key);
    }
    g_assert_null(dnsd_range_read(&range, "192.0.2.1"));
    f->client = (DnsdClient) {
        .addr = range.first, .now = 1000000, .now_ms = 1000000,
    };
    return f;
}

static void end(Fixture *f)
{
    dns_zone_table_free((DnsZoneTable *)f->serving.udp.zones);
    zone_image_free(f->image);
    g_free(f->made.file);
    dnsd_limit_free(f->thread.limit);
    dnsd_config_free(f->config);
    g_free(f);
}

/* A question, with @options behind OPT if they are not NULL */
static void ask(Fixture *f, const char *name, uint16_t type, uint16_t class,
                const void *options, size_t len)
{
    DnsQuestion question = { zone_name(name), type, class };
    const DnsEdns edns = { .udp_size = 1232 };
    DnsBuilder b;

    dns_builder_init(&b, f->query, sizeof(f->query), 7, 0);
    dns_builder_question(&b, &question);
    f->len = b.len;
    if (options) {
        size_t at = b.len;

        dns_builder_edns(&b, &edns);
        memcpy(f->query + b.len, options, len);
        f->query[at + 9] = len >> 8;
        f->query[at + 10] = len;
        f->len = b.len + len;
    }
}

static DnsdOutcome serve(Fixture *f)
{
    DnsQuery query;

    dns_query_read(f->query, f->len, &query);
    return dnsd_serve(&f->serving, &f->thread, &f->client, &query, f->reply,
                      f->client.is_stream ? DNS_MSG_MAX : DNSD_UDP_MAX,
                      &f->reply_len);
}

/* All 12 bits */
static unsigned rcode_of(const Fixture *f)
{
    unsigned rcode = f->reply[3] & 15;
    DnsCursor cursor;
    DnsRr rr;

    g_assert_cmpint(dns_cursor_init(&cursor, f->reply, f->reply_len), ==, 0);
    while (dns_cursor_rr(&cursor, &rr) == 1) {
        if (rr.type == DNS_TYPE_OPT) {
            rcode |= rr.raw_ttl >> 24 << 4;
        }
    }
    return rcode;
}

static bool option_of(const Fixture *f, uint16_t code, DnsOption *option)
{
    DnsCursor cursor;
    DnsRr rr;

    g_assert_cmpint(dns_cursor_init(&cursor, f->reply, f->reply_len), ==, 0);
    while (dns_cursor_rr(&cursor, &rr) == 1) {
        if (rr.type == DNS_TYPE_OPT) {
            return dns_edns_find(f->reply + rr.rdata, rr.rdlength, code,
                                 option);
        }
    }
    return false;
}

static uint64_t count(const Fixture *f, unsigned which)
{
    return atomic_load(&f->thread.counters.n[which]);
}

static const uint8_t client_cookie[12] = { 0, 10, 0, 8, 1, 2, 3 };

static void test_answer(void)
{
    Fixture *f = begin("");

    ask(f, "www.example", DNS_TYPE_A, 1, NULL, 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, 0);
    g_assert_cmpuint(f->reply[7], ==, 1);
    g_assert_cmpuint(count(f, DNSD_COUNT_UDP), ==, 1);
    g_assert_cmpuint(count(f, DNSD_COUNT_RCODE), ==, 1);
    g_assert_cmpuint(count(f, DNSD_COUNT_KIND + DNS_ANSWER_RECORDS), ==, 1);
    ask(f, "no.example", DNS_TYPE_A, 1, NULL, 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(count(f, DNSD_COUNT_RCODE + 3), ==, 1);
    f->len = 11;
    g_assert_cmpint(serve(f), ==, DNSD_DROP);
    g_assert_cmpuint(count(f, DNSD_DROP_IGNORED), ==, 1);
    end(f);
}

static void test_options(void)
{
    static const uint8_t all[] = {
        0, 3, 0, 0, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 11, 0, 0,
    };
    Fixture *f = begin("server: {nsid: here}\ntcp: {idle-timeout: 30}");
    DnsOption option;

    ask(f, "www.example", DNS_TYPE_A, 1, all, sizeof(all));
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_true(option_of(f, DNS_OPTION_NSID, &option));
    g_assert_cmpmem(option.data, option.len, "here", 4);
    g_assert_true(option_of(f, DNS_OPTION_COOKIE, &option));
    g_assert_cmpuint(option.len, ==, DNSD_COOKIE_LEN);
    g_assert_false(option_of(f, DNS_OPTION_KEEPALIVE, &option));
    f->client.is_stream = true;
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_true(option_of(f, DNS_OPTION_KEEPALIVE, &option));
    g_assert_cmpmem(option.data, option.len, "\1\54", 2);
    ask(f, "www.example", DNS_TYPE_A, 1, "", 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_false(option_of(f, DNS_OPTION_NSID, &option));
    g_assert_false(option_of(f, DNS_OPTION_COOKIE, &option));
    end(f);
}

static void test_wrong_cookie(void)
{
    static const uint8_t wrong[] = { 0, 10, 0, 7, 1, 2, 3, 4, 5, 6, 7 };
    Fixture *f = begin("");

    ask(f, "www.example", DNS_TYPE_A, 1, wrong, sizeof(wrong));
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_FORMERR);
    g_assert_cmpuint(count(f, DNSD_COUNT_COOKIE_MALFORMED), ==, 1);
    end(f);
    f = begin("cookies: {enabled: off}");
    ask(f, "www.example", DNS_TYPE_A, 1, wrong, sizeof(wrong));
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, 0);
    end(f);
}

#define LIMITED "rate-limit: {responses-per-second: 5, slip: 2}"

/* Runs into the limit, and then to the first reply that slips. */
static void run_into_limit(Fixture *f)
{
    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpint(serve(f), ==, DNSD_REPLY);
        g_assert_cmpuint(rcode_of(f), ==, 0);
        g_assert_false(f->reply[2] & 2);
    }
    g_assert_cmpint(serve(f), ==, DNSD_DROP);
    g_assert_cmpuint(count(f, DNSD_DROP_RATE), ==, 1);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
}

static void test_limit_truncates(void)
{
    Fixture *f = begin(LIMITED);

    ask(f, "www.example", DNS_TYPE_A, 1, "", 0);
    run_into_limit(f);
    g_assert_true(f->reply[2] & 2);
    g_assert_cmpuint(f->reply[7], ==, 0);
    g_assert_cmpuint(f->reply_len, <=, f->len);
    g_assert_cmpuint(count(f, DNSD_COUNT_SLIP_TRUNCATED), ==, 1);
    f->client.is_stream = true;
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(f->reply[7], ==, 1);
    end(f);
}

/* A client with the cookie of BADCOOKIE is not limited. */
static void test_limit_badcookie(void)
{
    Fixture *f = begin(LIMITED);
    uint8_t cookie[4 + DNSD_COOKIE_LEN] = { 0, 10, 0, DNSD_COOKIE_LEN };
    DnsOption option;

    ask(f, "www.example", DNS_TYPE_A, 1, client_cookie,
        sizeof(client_cookie));
    run_into_limit(f);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_BADCOOKIE);
    g_assert_true(option_of(f, DNS_OPTION_COOKIE, &option));
    memcpy(cookie + 4, option.data, option.len);
    ask(f, "www.example", DNS_TYPE_A, 1, cookie, sizeof(cookie));
    for (unsigned i = 0; i < 50; i++) {
        g_assert_cmpint(serve(f), ==, DNSD_REPLY);
        g_assert_cmpuint(rcode_of(f), ==, 0);
    }
    end(f);
}

/* All nonexistent names share one account. */
static void test_limit_random_names(void)
{
    Fixture *f = begin(LIMITED);
    unsigned replies = 0;

    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("n%u.example", i);

        ask(f, name, DNS_TYPE_A, 1, NULL, 0);
        replies += serve(f) == DNSD_REPLY && !(f->reply[2] & 2);
    }
    g_assert_cmpuint(replies, ==, 5);
    ask(f, "www.example", DNS_TYPE_A, 1, NULL, 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    end(f);
}

static void test_limit_exempt(void)
{
    Fixture *f = begin("rate-limit: {responses-per-second: 1, slip: 0,\n"
                       "  exempt: [192.0.2.0/25]}");

    ask(f, "www.example", DNS_TYPE_A, 1, NULL, 0);
    for (unsigned i = 0; i < 20; i++) {
        g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    }
    end(f);
}

static void test_access(void)
{
    Fixture *f = begin("zones: [{name: example, image: /x,\n"
                       "  allow-query: [198.51.100.0/24]}]");
    DnsOption option;

    ask(f, "www.example", DNS_TYPE_A, 1, "", 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(f->reply[7], ==, 0);
    g_assert_true(option_of(f, DNS_OPTION_EDE, &option));
    g_assert_cmpuint(option.data[1], ==, DNS_EDE_PROHIBITED);
    g_assert_cmpuint(count(f, DNSD_COUNT_DENIED), ==, 1);
    f->client.addr.octets[12] = 198;
    f->client.addr.octets[13] = 51;
    f->client.addr.octets[14] = 100;
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, 0);
    end(f);
}

static void refuses(Fixture *f, uint64_t denied)
{
    DnsOption option;

    f->query[2] |= DNS_FLAG_RD >> 8;
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_REFUSED);
    g_assert_true(option_of(f, DNS_OPTION_EDE, &option));
    g_assert_cmpuint(option.data[1], ==, DNS_EDE_PROHIBITED);
    g_assert_cmpuint(count(f, DNSD_COUNT_DENIED), ==, denied);
    g_assert_cmpuint(count(f, DNSD_COUNT_RESOLVER_ASKED), ==, 0);
}

/* Who may recurse has no way around the access list of a zone, nor others. */
static void test_access_with_resolver(void)
{
    Fixture *f = begin("zones: [{name: example, image: /x, allow-query: []}]\n"
                       "resolver: {allow: [192.0.2.0/24], dnssec: off}");

    f->thread.replies = dnsd_replies_new(key);
    ask(f, "www.example", DNS_TYPE_A, 1, "", 0);
    refuses(f, 1);
    f->client.addr.octets[15] = 0;
    f->client.addr.octets[14] = 1;
    ask(f, "www.elsewhere", DNS_TYPE_A, 1, "", 0);
    refuses(f, 2);
    f->client.addr.octets[14] = 2;
    g_assert_cmpint(serve(f), ==, DNSD_RESOLVE);
    g_assert_cmpuint(count(f, DNSD_COUNT_RESOLVER_ASKED), ==, 1);
    g_assert_cmpuint(count(f, DNSD_COUNT_DENIED), ==, 2);
    /* A type that is no data is an error, whoever asks. */
    ask(f, "www.elsewhere", DNS_TYPE_OPT, 1, "", 0);
    f->query[2] |= DNS_FLAG_RD >> 8;
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_FORMERR);
    dnsd_replies_free(f->thread.replies);
    end(f);
}

static void test_lost(void)
{
    Fixture *f = begin("");

    ask(f, "www.example", DNS_TYPE_A, 1, NULL, 0);
    atomic_store(&f->lost, true);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_SERVFAIL);
    g_assert_cmpuint(f->reply[7], ==, 0);
    end(f);
}

static void test_chaos(void)
{
    Fixture *f = begin("server: {identity: me}");

    ask(f, "ID.server", DNS_TYPE_TXT, DNS_CLASS_CH, "", 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, 0);
    g_assert_nonnull(memmem(f->reply, f->reply_len, "\2me", 3));
    ask(f, "id.server", DNS_TYPE_A, DNS_CLASS_CH, NULL, 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(f->reply[7], ==, 0);
    ask(f, "version.bind", DNS_TYPE_TXT, DNS_CLASS_CH, NULL, 0);
    g_assert_cmpint(serve(f), ==, DNSD_REPLY);
    g_assert_cmpuint(rcode_of(f), ==, DNS_RCODE_REFUSED);
    end(f);
}

static void check_control(Fixture *f, unsigned opcode, uint16_t type,
                          unsigned rcode)
{
    const DnsdClient client = { .is_stream = false };
    bool is_transfer = type != DNS_TYPE_SOA;
    DnsQuery query;
    size_t len;

    ask(f, "example", type, 1, NULL, 0);
    f->query[2] = opcode << 3;
    g_assert_cmpint(serve(f), ==, is_transfer ? DNSD_TRANSFER : DNSD_CONTROL);
    dns_query_read(f->query, f->len, &query);
    len = dnsd_serve_error(&f->serving, &client, &query, rcode, f->reply,
                           DNSD_UDP_MAX);
    g_assert_cmpuint(len, >=, 12);
    f->reply_len = len;
    g_assert_cmpuint(rcode_of(f), ==, rcode);
}

static void test_control(void)
{
    Fixture *f = begin("");

    check_control(f, DNS_OPCODE_QUERY, DNS_TYPE_AXFR, DNS_RCODE_REFUSED);
    check_control(f, DNS_OPCODE_QUERY, DNS_TYPE_IXFR, DNS_RCODE_REFUSED);
    check_control(f, DNS_OPCODE_NOTIFY, DNS_TYPE_SOA, DNS_RCODE_NOTIMP);
    check_control(f, DNS_OPCODE_UPDATE, DNS_TYPE_SOA, DNS_RCODE_NOTIMP);
    g_assert_cmpuint(count(f, DNSD_COUNT_HANDED_OVER), ==, 4);
    end(f);
}

static void test_metrics(void)
{
    Fixture *f = begin("");
    DnsdNumbers numbers = { .kernel_drops = 77 };
    char out[16384];
    DnsdText text = { .at = out, .room = sizeof(out) };

    ask(f, "www.example", DNS_TYPE_A, 1, NULL, 0);
    serve(f);
    dnsd_counters_add(numbers.sum, &f->thread.counters);
    dnsd_counters_add(numbers.sum, &f->thread.counters);
    dnsd_metrics_server(&text, &numbers);
    dnsd_metrics_states_begin(&text);
    dnsd_metrics_state(&text, "a\\\"", DNSD_ZONE_DAMAGED);
    g_assert_cmpuint(text.len, <, text.room);
    g_assert_nonnull(strstr(out, "requests_total{transport=\"udp\"} 2\n"));
    g_assert_nonnull(strstr(out, "questions_total{type=\"A\"} 2\n"));
    g_assert_nonnull(strstr(out, "replies_total{rcode=\"NOERROR\"} 2\n"));
    g_assert_nonnull(strstr(out, "{reason=\"receive-buffer\"} 77\n"));
    g_assert_nonnull(strstr(out, "zone_state{zone=\"a\\\\\\\"\"} 2\n"));
    end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/serve/answer", test_answer);
    g_test_add_func("/dnsd/serve/options", test_options);
    g_test_add_func("/dnsd/serve/wrong-cookie", test_wrong_cookie);
    g_test_add_func("/dnsd/serve/limit-truncates", test_limit_truncates);
    g_test_add_func("/dnsd/serve/limit-badcookie", test_limit_badcookie);
    g_test_add_func("/dnsd/serve/limit-random", test_limit_random_names);
    g_test_add_func("/dnsd/serve/limit-exempt", test_limit_exempt);
    g_test_add_func("/dnsd/serve/access", test_access);
    g_test_add_func("/dnsd/serve/access-resolver", test_access_with_resolver);
    g_test_add_func("/dnsd/serve/lost", test_lost);
    g_test_add_func("/dnsd/serve/chaos", test_chaos);
    g_test_add_func("/dnsd/serve/control", test_control);
    g_test_add_func("/dnsd/serve/metrics", test_metrics);
    return g_test_run();
}
