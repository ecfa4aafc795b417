/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies that do not fit, queries that are malformed, and refusals */
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/answer-fixture.h"

#define SOA \
    "test 3600 SOA ns.test root.test 1 7200 600 3600000 900\n"
#define HEAD(question) (DNS_HEADER_LEN + sizeof(question) + 1 + 4)

static const char zone[] =
    SOA
    "test 3600 NS ns.test\n"
    "ns.test 3600 A 192.0.2.53\n"
    "www.test 3600 A 192.0.2.1\n"
    "www.test 3600 AAAA 2001:db8::1\n"
    "sub.test 3600 NS ns1.sub.test\n"
    "sub.test 3600 NS ns.sibling.test\n"
    "ns1.sub.test 3600 A 192.0.2.2\n"
    "ns1.sub.test 3600 AAAA 2001:db8::2\n"
    "sibling.test 3600 NS ns.sibling.test\n"
    "ns.sibling.test 3600 AAAA 2001:db8::3\n"
    "mail.test 3600 MX 10 www.test\n"
    "mail.test 3600 MX 20 www.test\n";

static void begin(AnswerBed *bed, bool is_signed)
{
    memset(bed, 0, sizeof(*bed));
    bed_add_zone(bed, "test", zone, is_signed);
}

/* Ask with a limit of @size octets, which may be below the limits of UDP. */
static char *ask_within(AnswerBed *bed, const char *question, size_t size)
{
    uint8_t message[DNS_QUERY_MAX];
    size_t len = bed_query(question, message);

    bed_send(bed, message, len, DNS_UDP_MIN - size);
    g_assert_cmpuint(bed->len, <=, size);
    return bed_text(bed);
}

static void expect_within(AnswerBed *bed, const char *question, size_t size,
                          const char *want)
{
    g_autofree char *text = ask_within(bed, question, size);

    g_test_message("%s in %zu octets", question, size);
    g_assert_cmpstr(text, ==, want);
}

/* --- truncation ----------------------------------------------------------- */

/* RFC 2181 section 9: an RRset is sent whole or not at all. */
static void test_answer_truncated(void)
{
    size_t whole = HEAD("www.test") + 16;
    AnswerBed bed;

    begin(&bed, false);
    expect_within(&bed, "www.test A", whole,
                  "NOERROR aa\nan www.test 3600 A 192.0.2.1\n");
    g_assert_false(bed.info.truncated);
    g_assert_cmpuint(bed.len, ==, whole);
    expect_within(&bed, "www.test A", whole - 1, "NOERROR aa tc\n");
    g_assert_true(bed.info.truncated);
    /* The records that must accompany a negative answer must fit, too. */
    expect_within(&bed, "no.test A", HEAD("no.test") + 40,
                  "NXDOMAIN aa tc\n");
    bed_clear(&bed);
}

/* RFC 9471: glue below the delegation must be sent. */
static void test_glue_truncated(void)
{
    const char ns[] = "au sub.test 3600 NS ns1.sub.test\n"
                      "au sub.test 3600 NS ns.sibling.test\n";
    size_t referral = HEAD("sub.test") + 12 + 6 + 12 + 13;
    g_autofree char *bare = g_strdup_printf("NOERROR tc\n%s", ns);
    g_autofree char *half = g_strdup_printf(
        "NOERROR tc\n%sad ns1.sub.test 3600 A 192.0.2.2\n", ns);
    g_autofree char *own = g_strdup_printf(
        "NOERROR\n%sad ns1.sub.test 3600 A 192.0.2.2\n"
        "ad ns1.sub.test 3600 AAAA 2001:db8::2\n", ns);
    g_autofree char *all = g_strdup_printf(
        "%sad ns.sibling.test 3600 AAAA 2001:db8::3\n", own);
    AnswerBed bed;

    begin(&bed, false);
    expect_within(&bed, "sub.test A", referral - 1, "NOERROR tc\n");
    expect_within(&bed, "sub.test A", referral, bare);
    expect_within(&bed, "sub.test A", referral + 16, half);
    expect_within(&bed, "sub.test A", referral + 16 + 27, half);
    expect_within(&bed, "sub.test A", referral + 16 + 28, own);
    g_assert_false(bed.info.truncated);
    /* Glue of a sibling is optional (section 3.2). */
    expect_within(&bed, "sub.test A", referral + 16 + 28 + 27, own);
    expect_within(&bed, "sub.test A", referral + 16 + 28 + 28, all);
    bed_clear(&bed);
}

/* Optional addresses are omitted without TC, and are sent once. */
static void test_courtesy(void)
{
    const char mx[] = "NOERROR aa\n"
                      "an mail.test 3600 MX 10 www.test\n"
                      "an mail.test 3600 MX 20 www.test\n";
    size_t answer = HEAD("mail.test") + 14 + 2 + 4 + 14 + 2;
    g_autofree char *some = g_strdup_printf(
        "%sad www.test 3600 A 192.0.2.1\n", mx);
    g_autofree char *all = g_strdup_printf(
        "%sad www.test 3600 AAAA 2001:db8::1\n", some);
    AnswerBed bed;

    begin(&bed, false);
    bed.answerer.flags = 0;
    expect_within(&bed, "mail.test MX", answer, mx);
    g_assert_false(bed.info.truncated);
    expect_within(&bed, "mail.test MX", answer + 16, some);
    expect_within(&bed, "mail.test MX", answer + 16 + 28, all);
    bed.answerer.flags = DNS_ANSWER_MINIMAL;
    bed_expect(&bed, "mail.test MX", mx);
    /* Priming, RFC 8109 section 4 */
    bed_expect(&bed, "test NS",
               "NOERROR aa\n"
               "an test 3600 NS ns.test\n"
               "ad ns.test 3600 A 192.0.2.53\n");
    bed_clear(&bed);
}

/* The client's size, the server's, and those that are too small */
static void test_sizes(void)
{
    g_autoptr(GString) text = g_string_new(SOA);
    AnswerBed bed = { 0 };
    static const struct {
        const char *question;
        size_t limit;
    } cases[] = {
        { "big.test TYPE300", 512 },
        { "big.test TYPE300 EDNS=512", 512 },
        { "big.test TYPE300 EDNS=100", 512 },
        { "big.test TYPE300 EDNS=4096", 1232 },
        { "big.test TYPE300 EDNS=700", 700 },
    };

    for (unsigned len = 1; len <= 1300; len += 7) {
        g_string_append_printf(text, "n%u.test 60 TYPE300 ", len);
        for (unsigned i = 0; i < len; i++) {
            g_string_append(text, "5a");
        }
        g_string_append_c(text, '\n');
    }
    bed_add_zone(&bed, "test", text->str, false);
    for (unsigned len = 1; len <= 1300; len += 7) {
        for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
            const char *how = cases[i].question + strlen("big.test");
            g_autofree char *question = g_strdup_printf("n%u.test%s", len,
                                                        how);
            g_autofree char *reply = bed_ask(&bed, question);
            size_t need = bed.info.truncated ? 0 : bed.len;

            g_assert_cmpuint(bed.len, <=, cases[i].limit);
            g_assert_cmpuint(need == 0, ==, strstr(reply, " tc") != NULL);
            /* Not a single octet is left unused. */
            g_assert_cmpuint(bed.len + (need ? 0 : 12 + len) >
                             cases[i].limit, ==, need == 0);
        }
    }
    bed.answerer.flags |= DNS_ANSWER_STREAM;
    g_free(bed_ask(&bed, "n1296.test TYPE300"));
    g_assert_false(bed.info.truncated);
    bed_clear(&bed);
}

/* Names beyond the reach of a pointer are uncompressed. */
static void test_beyond_pointers(void)
{
    g_autoptr(GString) text = g_string_new(SOA);
    g_autofree char *reply = NULL;
    AnswerBed bed = { 0 };

    for (unsigned i = 0; i < 1500; i++) {
        g_string_append_printf(text, "many.test 60 MX %u n%u.test\n", i, i);
        g_string_append_printf(text, "n%u.test 60 A 192.0.2.%u\n", i, i % 256);
    }
    bed_add_zone(&bed, "test", text->str, false);
    bed.answerer.flags = DNS_ANSWER_STREAM;
    reply = bed_ask(&bed, "many.test MX");
    g_assert_cmpuint(bed.len, >, 1500 * (20 + 16));
    g_assert_nonnull(strstr(reply, "\nan many.test 60 MX 1499 n1499.test\n"));
    g_assert_nonnull(strstr(reply, "\nad n1499.test 60 A 192.0.2.219\n"));
    bed_clear(&bed);
}

/* --- errors --------------------------------------------------------------- */

static void expect_rcode(AnswerBed *bed, const uint8_t *message, size_t len,
                         uint16_t rcode)
{
    bed_send(bed, message, len, 0);
    g_assert_cmpuint(bed->len, >=, DNS_HEADER_LEN);
    g_assert_cmpuint(bed->info.rcode, ==, rcode);
    g_assert_cmpuint(get_be16(bed->reply), ==, get_be16(message));
    g_assert_cmpuint(bed->reply[3] & 15, ==, rcode & 15);
    g_assert_cmpuint(bed->reply[2] & 0x80, ==, 0x80);
}

static uint16_t ede_of(AnswerBed *bed)
{
    const uint8_t *opt = bed->reply + bed->info.opt_at;
    DnsOption option;

    g_assert_cmpuint(bed->info.opt_at, !=, 0);
    g_assert_true(dns_edns_find(opt + DNS_OPT_LEN, get_be16(opt + 9),
                                DNS_OPTION_EDE, &option));
    g_assert_cmpuint(option.len, ==, 2);
    return get_be16(option.data);
}

static void test_refused(void)
{
    AnswerBed bed;

    begin(&bed, false);
    bed_expect(&bed, "www.invalid A", "REFUSED\n");
    g_assert_cmpuint(bed.info.opt_at, ==, 0);
    g_assert_null(bed.info.zone);
    bed_expect(&bed, "www.invalid A EDNS=1232", "REFUSED\n");
    g_assert_cmpuint(ede_of(&bed), ==, DNS_EDE_NOT_AUTHORITATIVE);
    bed_expect(&bed, "www.test A CLASS=3", "REFUSED\n");
    bed_add_nothing(&bed, "soon.test");
    bed_expect(&bed, "www.soon.test A EDNS=1232", "SERVFAIL\n");
    g_assert_cmpuint(ede_of(&bed), ==, DNS_EDE_NOT_READY);
    /* The parent zone must not answer in its place. */
    bed_expect(&bed, "soon.test DS", "NXDOMAIN aa\n"
               "au test 900 SOA ns.test root.test 1 7200 600 3600000 900\n");
    zone_image_fail(bed.zone[0].view.layer[0]);
    bed_expect(&bed, "www.test A EDNS=1232", "SERVFAIL\n");
    g_assert_cmpuint(ede_of(&bed), ==, DNS_EDE_INVALID_DATA);
    bed_clear(&bed);
}

static void test_malformed(void)
{
    uint8_t message[DNS_QUERY_MAX + 64];
    AnswerBed bed;
    size_t len;

    begin(&bed, false);
    len = bed_query("www.test A EDNS=1232", message);
    /* Messages without a reply: too short for a header, and responses */
    for (size_t cut = 0; cut < DNS_HEADER_LEN; cut++) {
        bed_send(&bed, message, cut, 0);
        g_assert_cmpuint(bed.len, ==, 0);
        g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_NONE);
    }
    message[2] |= 0x80;
    bed_send(&bed, message, len, 0);
    g_assert_cmpuint(bed.len, ==, 0);
    message[2] &= 0x7f;
    for (size_t cut = DNS_HEADER_LEN; cut < len; cut++) {
        expect_rcode(&bed, message, cut, DNS_RCODE_FORMERR);
        /* The question is repeated if the query has it. */
        g_assert_cmpuint(bed.reply[5], ==, cut >= len - DNS_OPT_LEN);
    }
    message[5] = 2;
    expect_rcode(&bed, message, len, DNS_RCODE_FORMERR);
    message[5] = 0;
    expect_rcode(&bed, message, len, DNS_RCODE_FORMERR);
    message[5] = 1;
    memcpy(message + len, message + len - DNS_OPT_LEN, DNS_OPT_LEN);
    message[11] = 2;
    expect_rcode(&bed, message, len + DNS_OPT_LEN, DNS_RCODE_FORMERR);
    message[11] = 1;
    message[len - 5] = 1;
    expect_rcode(&bed, message, len, DNS_RCODE_BADVERS);
    g_assert_cmpuint(bed.reply[bed.info.opt_at + 5], ==, 1);
    message[len - 5] = 0;
    message[2] = 2 << 3;
    expect_rcode(&bed, message, len, DNS_RCODE_NOTIMP);
    /* OPT answers OPT, whatever the opcode: RFC 6891 section 6.1.1. */
    g_assert_cmpuint(bed.info.opt_at, ==, len - DNS_OPT_LEN);
    g_assert_cmpuint(bed.reply[5], ==, 1);
    /* If the opcode is not QUERY, the question need not be one. */
    expect_rcode(&bed, message, len - 1, DNS_RCODE_NOTIMP);
    g_assert_cmpuint(bed.info.opt_at, ==, 0);
    g_assert_cmpuint(bed.len, ==, DNS_HEADER_LEN);
    bed_clear(&bed);
}

static void test_types(void)
{
    AnswerBed bed;

    begin(&bed, true);
    bed_expect(&bed, "www.test OPT", "FORMERR\n");
    bed_expect(&bed, "www.test TKEY", "NOTIMP\n");
    bed_expect(&bed, "www.test TYPE254", "NOTIMP\n");
    bed_expect(&bed, "www.test RRSIG",
               "NOERROR aa\nan www.test 3600 RRSIG A 2\n");
    bed_expect(&bed, "www.test ANY DO",
               "NOERROR aa\nan www.test 3600 A 192.0.2.1\n"
               "an www.test 3600 RRSIG A 2\n");
    bed.answerer.flags |= DNS_ANSWER_STREAM;
    bed_expect(&bed, "www.test RRSIG",
               "NOERROR aa\nan www.test 3600 RRSIG A 2\n"
               "an www.test 3600 RRSIG AAAA 2\n");
    bed_clear(&bed);
}

/* --- the caller's work ---------------------------------------------------- */

static void test_handed_out(void)
{
    uint8_t message[DNS_QUERY_MAX];
    AnswerBed bed;
    size_t len;

    begin(&bed, false);
    bed_expect(&bed, "test AXFR", "");
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_TRANSFER);
    g_assert_true(bed.info.zone == dns_zone_table_find(
        bed.table, DNS_CLASS_IN, &(ZoneKey) { 6, 1, { 0, 5 }, "\4test" }, 1));
    bed_expect(&bed, "www.test IXFR", "");
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_TRANSFER);
    g_assert_null(bed.info.zone);
    len = bed_query("test SOA", message);
    message[2] = DNS_OPCODE_NOTIFY << 3;
    bed_send(&bed, message, len, 0);
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_NOTIFY);
    message[2] = DNS_OPCODE_UPDATE << 3;
    bed_send(&bed, message, len, 0);
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_UPDATE);
    g_assert_nonnull(bed.info.zone);
    bed_clear(&bed);
}

/* Options of the caller go into the OPT of the reply. */
static void test_options(void)
{
    uint8_t message[DNS_QUERY_MAX + 12], cookie[24] = { 1, 2, 3 };
    AnswerBed bed;
    DnsOption option;
    size_t len;

    begin(&bed, false);
    /* A cookie without a question, RFC 7873 section 5.4 */
    len = bed_query("www.test A EDNS=1232", message);
    memmove(message + 12, message + len - DNS_OPT_LEN, DNS_OPT_LEN);
    len = dns_edns_append(message, 12 + DNS_OPT_LEN, sizeof(message), 12,
                          DNS_OPTION_COOKIE, cookie, 8);
    message[5] = 0;
    bed_send(&bed, message, len, sizeof(cookie) + DNS_OPTION_HEAD);
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_EMPTY);
    g_assert_cmpuint(bed.len, ==, DNS_HEADER_LEN + DNS_OPT_LEN);
    bed.len = dns_edns_append(bed.reply, bed.len, sizeof(bed.reply),
                              bed.info.opt_at, DNS_OPTION_COOKIE, cookie,
                              sizeof(cookie));
    bed.len = dns_edns_append_keepalive(bed.reply, bed.len,
                                        sizeof(bed.reply), bed.info.opt_at,
                                        100);
    g_free(bed_text(&bed));
    g_assert_true(dns_edns_find(bed.reply + bed.info.opt_at + DNS_OPT_LEN,
                                bed.len - bed.info.opt_at - DNS_OPT_LEN,
                                DNS_OPTION_KEEPALIVE, &option));
    g_assert_cmpmem(option.data, option.len, "\0\x64", 2);
    /* An option that is longer than OPT is malformed. */
    message[12 + DNS_OPT_LEN + 3] = 9;
    expect_rcode(&bed, message, len, DNS_RCODE_FORMERR);
    bed_clear(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-answer/truncated", test_answer_truncated);
    g_test_add_func("/dns-answer/glue", test_glue_truncated);
    g_test_add_func("/dns-answer/courtesy", test_courtesy);
    g_test_add_func("/dns-answer/sizes", test_sizes);
    g_test_add_func("/dns-answer/beyond-pointers", test_beyond_pointers);
    g_test_add_func("/dns-answer/refused", test_refused);
    g_test_add_func("/dns-answer/malformed", test_malformed);
    g_test_add_func("/dns-answer/types", test_types);
    g_test_add_func("/dns-answer/handed-out", test_handed_out);
    g_test_add_func("/dns-answer/options", test_options);
    return g_test_run();
}
