/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies: matching and parsing */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/client/core/reply.h"

typedef struct Reply {
    DnsQuestion question;
    DnsBuilder b;
    uint8_t msg[DNS_MSG_MAX];
} Reply;

static DnsName name(const char *text)
{
    DnsName n;

    g_assert_cmpint(dns_name_from_text(&n, text), ==, 0);
    return n;
}

static Reply *begin(const char *owner, uint16_t type, unsigned rcode)
{
    Reply *r = g_new0(Reply, 1);

    r->question = (DnsQuestion){ name(owner), type, DNS_CLASS_IN };
    dns_builder_init(&r->b, r->msg, sizeof(r->msg), 7,
                     DNS_FLAG_QR | DNS_FLAG_RA | rcode);
    g_assert_cmpint(dns_builder_question(&r->b, &r->question), ==, 0);
    return r;
}

static void add_a(Reply *r, const char *owner, uint32_t ttl, const char *addr)
{
    DnsName n = name(owner);

    g_assert_cmpint(dns_builder_a(&r->b, DNS_SECTION_ANSWER, &n, ttl,
                    (struct in_addr){ inet_addr(addr) }), ==, 0);
}

static void add_name(Reply *r, DnsSection section, const char *owner,
                     uint16_t type, uint32_t ttl, const char *target)
{
    DnsName n = name(owner), t = name(target);

    g_assert_cmpint(dns_builder_name(&r->b, section, &n, type, ttl, &t), ==,
                    0);
}

static void add_soa(Reply *r, const char *owner, uint32_t ttl,
                    uint32_t minimum)
{
    DnsName n = name(owner);
    DnsSoa soa = { .mname = n, .rname = n, .minimum = minimum };

    g_assert_cmpint(dns_builder_soa(&r->b, DNS_SECTION_AUTHORITY, &n, ttl,
                                    &soa), ==, 0);
}

/* Frees the reply */
static DnscResult *read_reply(Reply *r)
{
    DnscResult *result;

    g_assert_cmpint(dnsc_reply_match(r->msg, r->b.len, 7, &r->question, true),
                    ==, DNSC_MATCH);
    g_assert_cmpint(dnsc_reply_read(r->msg, r->b.len, &r->question, &result),
                    ==, 0);
    g_free(r);
    return result;
}

static void assert_canonical(const DnscResult *result, const char *expected)
{
    char text[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&result->canonical, text);
    g_assert_cmpstr(text, ==, expected);
}

static void test_match(void)
{
    Reply *r = begin("www.Example", DNS_TYPE_A, 0);
    DnsQuestion other = r->question, lower = r->question;
    size_t len = r->b.len;

    lower.name = name("www.example");
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &lower, false), ==,
                    DNSC_MATCH);
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &lower, true), ==,
                    DNSC_MATCH_WRONG_QUESTION);
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 8, &lower, false), ==,
                    DNSC_MATCH_WRONG_ID);
    other.type = DNS_TYPE_AAAA;
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &other, false), ==,
                    DNSC_MATCH_WRONG_QUESTION);
    other = r->question;
    other.name = name("ww.example");
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &other, false), ==,
                    DNSC_MATCH_WRONG_QUESTION);
    g_assert_cmpint(dnsc_reply_match(r->msg, 11, 7, &lower, false), ==,
                    DNSC_MATCH_NOT_REPLY);
    g_assert_cmpint(dnsc_reply_match(r->msg, len - 1, 7, &lower, false), ==,
                    DNSC_MATCH_WRONG_QUESTION);
    r->msg[2] &= 0x7f;
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &lower, false), ==,
                    DNSC_MATCH_NOT_REPLY);
    r->msg[2] |= 0xa8;
    g_assert_cmpint(dnsc_reply_match(r->msg, len, 7, &lower, false), ==,
                    DNSC_MATCH_NOT_REPLY);
    g_free(r);
}

/* FORMERR may come without the question, an answer may not. */
static void test_match_without_question(void)
{
    uint8_t msg[DNS_HEADER_LEN] = { 0, 7, 0x80, DNS_RCODE_FORMERR };
    DnsQuestion q = { name("www.example"), DNS_TYPE_A, DNS_CLASS_IN };

    g_assert_cmpint(dnsc_reply_match(msg, sizeof(msg), 7, &q, true), ==,
                    DNSC_MATCH);
    msg[3] = DNS_RCODE_NXDOMAIN;
    g_assert_cmpint(dnsc_reply_match(msg, sizeof(msg), 7, &q, true), ==,
                    DNSC_MATCH_WRONG_QUESTION);
    msg[3] = DNS_RCODE_NOERROR;
    g_assert_cmpint(dnsc_reply_match(msg, sizeof(msg), 7, &q, true), ==,
                    DNSC_MATCH_WRONG_QUESTION);
}

/* The records may be in any order, and unrelated records are ignored. */
static void test_chain(void)
{
    Reply *r = begin("www.example", DNS_TYPE_A, 0);
    DnscResult *result;

    add_a(r, "c.example.net", 300, "192.0.2.1");
    add_a(r, "evil.example", 300, "192.0.2.66");
    add_name(r, DNS_SECTION_ANSWER, "b.example", DNS_TYPE_CNAME, 20,
             "c.example.net");
    add_name(r, DNS_SECTION_ANSWER, "WWW.example", DNS_TYPE_CNAME, 400,
             "b.example");
    add_a(r, "c.EXAMPLE.net", 300, "192.0.2.2");
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_OK);
    g_assert_cmpuint(result->count, ==, 2);
    g_assert_cmpuint(result->records[1].rdata[3], ==, 2);
    g_assert_cmpuint(result->ttl, ==, 20);
    assert_canonical(result, "c.example.net");
    dnsc_result_unref(result);
}

static void test_dname(void)
{
    Reply *r = begin("a.b.old.example", DNS_TYPE_A, 0);
    DnscResult *result;

    add_name(r, DNS_SECTION_ANSWER, "old.example", DNS_TYPE_DNAME, 60,
             "new.example.org");
    add_a(r, "a.b.new.example.org", 60, "192.0.2.1");
    result = read_reply(r);
    g_assert_cmpuint(result->count, ==, 1);
    assert_canonical(result, "a.b.new.example.org");
    dnsc_result_unref(result);
}

static void test_loop(void)
{
    Reply *r = begin("a.example", DNS_TYPE_A, 0);
    DnscResult *result;

    add_name(r, DNS_SECTION_ANSWER, "a.example", DNS_TYPE_CNAME, 60,
             "b.example");
    add_name(r, DNS_SECTION_ANSWER, "b.example", DNS_TYPE_CNAME, 60,
             "a.example");
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_CHAIN);
    g_assert_cmpuint(result->count, ==, 0);
    dnsc_result_unref(result);
}

/* A server that does not follow an alias to another zone: ask for its target */
static void test_follow(void)
{
    Reply *r = begin("a.example", DNS_TYPE_A, 0);
    DnscResult *result;

    add_name(r, DNS_SECTION_ANSWER, "a.example", DNS_TYPE_CNAME, 60,
             "b.example.net");
    result = read_reply(r);
    g_assert_true(result->follow);
    assert_canonical(result, "b.example.net");
    dnsc_result_unref(result);
}

static void test_negative(void)
{
    Reply *r = begin("x.example", DNS_TYPE_A, DNS_RCODE_NXDOMAIN);
    DnscResult *result;

    add_soa(r, "example", 900, 300);
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_NO_NAME);
    g_assert_cmpuint(result->ttl, ==, 300);
    dnsc_result_unref(result);

    r = begin("x.example", DNS_TYPE_A, 0);
    add_soa(r, "example", 900000, 900000);
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_NO_DATA);
    g_assert_cmpuint(result->ttl, ==, DNSC_NEGATIVE_TTL_MAX);
    dnsc_result_unref(result);

    /* A SOA of another zone gives no TTL for the denial. */
    r = begin("x.example", DNS_TYPE_A, DNS_RCODE_NXDOMAIN);
    add_soa(r, "other", 900, 300);
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_NO_NAME);
    g_assert_cmpuint(result->ttl, ==, 0);
    dnsc_result_unref(result);
}

static void test_referral(void)
{
    Reply *r = begin("x.example", DNS_TYPE_A, 0);
    DnscResult *result;

    r->msg[3] &= ~DNS_FLAG_RA;
    add_name(r, DNS_SECTION_AUTHORITY, "example", DNS_TYPE_NS, 60,
             "ns.example");
    result = read_reply(r);
    g_assert_cmpint(result->error, ==, VMMNET_DNS_FAILED);
    dnsc_result_unref(result);
}

/* Names in RDATA are uncompressed, also where no server may compress them. */
static void test_uncompressed(void)
{
#define SIG     "\0\1\15\2\0\0\1\54\0\0\0\1\0\0\0\1\0\1"
#define BYTES(s) (const uint8_t *)s, sizeof(s) - 1
    static const struct {
        uint16_t type;
        const uint8_t *sent;
        size_t sent_len;
        const uint8_t *got;     /* NULL: it is malformed */
        size_t got_len;
    } cases[] = {
        { DNS_TYPE_MX, BYTES("\0\12\2mx\xc0\x0c"),
          BYTES("\0\12\2mx\7example\0") },
        { 36, BYTES("\0\12\xc0\x0c"), BYTES("\0\12\7example\0") },
        { DNS_TYPE_SVCB, BYTES("\0\1\xc0\x0c\0\3\0\2\1\273"),
          BYTES("\0\1\7example\0\0\3\0\2\1\273") },
        { DNS_TYPE_HTTPS, BYTES("\0\0\xc0\x0c"),
          BYTES("\0\0\7example\0") },
        { DNS_TYPE_NSEC, BYTES("\xc0\x0c\0\1\x40"),
          BYTES("\7example\0\0\1\x40") },
        { DNS_TYPE_RRSIG, BYTES(SIG "\xc0\x0csignature"),
          BYTES(SIG "\7example\0signature") },
        { 35, BYTES("\0\1\0\2\1u\3sip\0\xc0\x0c"),
          BYTES("\0\1\0\2\1u\3sip\0\7example\0") },
        { 35, BYTES("\0\1\0\2\1u\7sip"), NULL, 0 },
        { DNS_TYPE_SVCB, BYTES("\0\1\xc0\xff"), NULL, 0 },
        { 99, BYTES("\3abc"), BYTES("\3abc") },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Reply *r = begin("example", cases[i].type, 0);
        DnsName n = name("example");
        DnscResult *result;

        dns_builder_raw(&r->b, DNS_SECTION_ANSWER, &n, cases[i].type,
                        DNS_CLASS_IN, 60, cases[i].sent, cases[i].sent_len);
        if (!cases[i].got) {
            g_assert_cmpint(dnsc_reply_read(r->msg, r->b.len, &r->question,
                                            &result), ==, -EBADMSG);
            g_free(r);
            continue;
        }
        result = read_reply(r);
        g_assert_cmpmem(result->records[0].rdata, result->records[0].len,
                        cases[i].got, cases[i].got_len);
        dnsc_result_unref(result);
    }
}

static void test_malformed(void)
{
    Reply *r = begin("example", DNS_TYPE_A, 0);
    DnsName n = name("example");
    DnscResult *result;

    dns_builder_raw(&r->b, DNS_SECTION_ANSWER, &n, DNS_TYPE_A, DNS_CLASS_IN,
                    60, "\1\2\3\4\5", 5);
    g_assert_cmpint(dnsc_reply_read(r->msg, r->b.len, &r->question, &result),
                    ==, -EBADMSG);
    g_free(r);

    r = begin("example", DNS_TYPE_A, 0);
    add_a(r, "example", 60, "192.0.2.1");
    for (size_t len = DNS_HEADER_LEN; len < r->b.len; len++) {
        g_assert_cmpint(dnsc_reply_read(r->msg, len, &r->question, &result),
                        ==, -EBADMSG);
    }
    g_free(r);
}

static void test_ede(void)
{
    Reply *r = begin("example", DNS_TYPE_A, DNS_RCODE_SERVFAIL);
    DnsEdns edns = { .udp_size = 1232, .has_ede = true, .ede = 22 };
    DnscLook look;

    g_assert_cmpint(dns_builder_edns(&r->b, &edns), ==, 0);
    g_assert_cmpint(dnsc_reply_look(r->msg, r->b.len, &look), ==, 0);
    g_assert_cmpuint(look.rcode, ==, DNS_RCODE_SERVFAIL);
    g_assert_cmpint(look.ede, ==, 22);
    g_assert_cmpuint(look.ede_text_len, ==, 0);
    g_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/reply/match", test_match);
    g_test_add_func("/dns-client/reply/no-question",
                    test_match_without_question);
    g_test_add_func("/dns-client/reply/chain", test_chain);
    g_test_add_func("/dns-client/reply/dname", test_dname);
    g_test_add_func("/dns-client/reply/loop", test_loop);
    g_test_add_func("/dns-client/reply/follow", test_follow);
    g_test_add_func("/dns-client/reply/negative", test_negative);
    g_test_add_func("/dns-client/reply/referral", test_referral);
    g_test_add_func("/dns-client/reply/uncompressed", test_uncompressed);
    g_test_add_func("/dns-client/reply/malformed", test_malformed);
    g_test_add_func("/dns-client/reply/ede", test_ede);
    return g_test_run();
}
