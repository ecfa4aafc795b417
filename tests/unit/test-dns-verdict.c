/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Validated messages as replies: RFC 4035 section 3.2, RFC 8914 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/upstream/verdict.h"

#define NO_EDE VMMNET_DNS_NO_EDE

typedef struct Bed {
    DnscQuery query;
    DnsBuilder b;
    uint8_t msg[DNS_MSG_MAX];
    uint8_t buf[DNS_MSG_MAX];
    DnscResult *reply;
} Bed;

static DnsName name(const char *text)
{
    DnsName n;

    g_assert_cmpint(dns_name_from_text(&n, text), ==, 0);
    return n;
}

/* A query with RD, and the validator's message about it, with its flags */
static Bed *begin(const char *owner, uint16_t type, bool dnssec_ok,
                  unsigned rcode)
{
    Bed *bed = g_new0(Bed, 1);

    bed->query = (DnscQuery) {
        .question = { name(owner), type, DNS_CLASS_IN },
        .flags = DNS_FLAG_RD, .dnssec_ok = dnssec_ok,
    };
    dns_builder_init(&bed->b, bed->msg, sizeof(bed->msg), 4711,
                     DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA | DNS_FLAG_AD |
                     rcode);
    dns_builder_question(&bed->b, &bed->query.question);
    return bed;
}

static void end(Bed *bed)
{
    dnsc_result_unref(bed->reply);
    g_free(bed);
}

static void add_a(Bed *bed, const char *owner, const char *addr)
{
    DnsName n = name(owner);

    dns_builder_a(&bed->b, DNS_SECTION_ANSWER, &n, 300,
                  (struct in_addr){ inet_addr(addr) });
}

static void add_name(Bed *bed, DnsSection section, const char *owner,
                     uint16_t type, const char *target)
{
    DnsName n = name(owner), t = name(target);

    dns_builder_name(&bed->b, section, &n, type, 300, &t);
}

static void add_raw(Bed *bed, DnsSection section, const char *owner,
                    uint16_t type, const void *rdata, size_t len)
{
    DnsName n = name(owner);

    dns_builder_raw(&bed->b, section, &n, type, DNS_CLASS_IN, 300, rdata, len);
}

static void add_proof(Bed *bed, const char *zone)
{
    DnsName n = name(zone), target = name("ns.example");
    DnsSoa soa = { .mname = target, .rname = target, .minimum = 60 };

    dns_builder_soa(&bed->b, DNS_SECTION_AUTHORITY, &n, 300, &soa);
    add_raw(bed, DNS_SECTION_AUTHORITY, zone, DNS_TYPE_RRSIG, "sig", 3);
    add_raw(bed, DNS_SECTION_AUTHORITY, zone, DNS_TYPE_NSEC, "nsec", 4);
    add_raw(bed, DNS_SECTION_AUTHORITY, zone, DNS_TYPE_NSEC3, "nsec3", 5);
}

static void judge(Bed *bed, VmmnetDnsSecurity security, int ede,
                  DnsDnssec mode)
{
    DnsEdns edns = { .udp_size = 1232, .dnssec_ok = true };
    DnscResult *judged = NULL;

    dns_builder_edns(&bed->b, &edns);
    g_assert_cmpint(dnsc_whole_read(bed->msg, bed->b.len, &judged), ==, 0);
    judged->security = security;
    judged->ede = ede;
    dnsc_result_set_reason(judged, "why", 3);
    if (security == VMMNET_DNS_BOGUS_DATA) {
        judged->error = VMMNET_DNS_BOGUS;
    }
    bed->reply = dns_verdict(&bed->query, judged, mode, bed->buf);
    g_assert_cmpint(bed->reply->security, ==, security);
    g_assert_cmpint(bed->reply->ede, ==, ede);
    g_assert_cmpstr(bed->reply->reason, ==, "why");
}

static const DnsDnssec modes[] = {
    DNS_DNSSEC_PERMISSIVE, DNS_DNSSEC_STRICT,
};

static void expect_flags(const Bed *bed, uint16_t flags)
{
    DnsHeader header;

    g_assert_cmpint(dns_header_parse(bed->reply->whole, bed->reply->whole_len,
                                     &header), ==, 0);
    g_assert_cmphex(header.flags, ==, DNS_FLAG_QR | DNS_FLAG_RA | flags);
}

/* "owner TYPE ttl, " of all records, of OPT DO and the EDE */
static void expect_records(const Bed *bed, const char *expected)
{
    g_autoptr(GString) found = g_string_new("");
    char text[DNS_NAME_TEXT_MAX];
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;

    dns_cursor_init(&cursor, bed->reply->whole, bed->reply->whole_len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.type == DNS_TYPE_OPT) {
            g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
            g_string_append_printf(found, "OPT%s %d",
                                   edns.dnssec_ok ? " DO" : "",
                                   edns.has_ede ? edns.ede : NO_EDE);
            continue;
        }
        dns_name_to_text(&rr.name, text);
        g_string_append_printf(found, "%s %u %u, ", text, rr.type, rr.ttl);
    }
    g_assert_cmpstr(found->str, ==, expected);
}

/* AD is set for secure replies only, in both modes. */
static void test_ad(void)
{
    static const struct {
        VmmnetDnsSecurity security;
        uint16_t ad;
    } cases[] = {
        { VMMNET_DNS_SECURE, DNS_FLAG_AD },
        { VMMNET_DNS_INSECURE, 0 },
        { VMMNET_DNS_INDETERMINATE, 0 },
    };

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        bool is_unknown = cases[i / 2].security == VMMNET_DNS_INDETERMINATE;
        Bed *bed = begin("a.example", DNS_TYPE_A, false, 0);

        bed->query.flags = i % 2 ? DNS_FLAG_RD : 0;
        add_a(bed, "a.example", "192.0.2.1");
        judge(bed, cases[i / 2].security, NO_EDE, modes[i % 2]);
        g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_OK);
        g_assert_cmpuint(bed->reply->ttl, ==, 300);
        expect_flags(bed, bed->query.flags | cases[i / 2].ad);
        expect_records(bed, is_unknown ? "a.example 1 300, OPT 5"
                                       : "a.example 1 300, OPT -1");
        end(bed);
    }
}

/* Signatures and proofs are for DO, and for queries for these types. */
static void test_do(void)
{
    static const struct {
        uint16_t type;
        bool dnssec_ok;
        const char *records;
    } cases[] = {
        { DNS_TYPE_A, true, "example 6 300, example 46 300, "
          "example 47 300, example 50 300, OPT DO -1" },
        { DNS_TYPE_A, false, "example 6 300, OPT -1" },
        { DNS_TYPE_NSEC, false, "example 6 300, example 47 300, OPT -1" },
        { DNS_TYPE_RRSIG, false, "example 6 300, example 46 300, OPT -1" },
        { DNS_TYPE_ANY, false, "example 6 300, example 46 300, "
          "example 47 300, example 50 300, OPT -1" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Bed *bed = begin("no.example", cases[i].type, cases[i].dnssec_ok,
                         DNS_RCODE_NXDOMAIN);

        add_proof(bed, "example");
        judge(bed, VMMNET_DNS_SECURE, NO_EDE, DNS_DNSSEC_STRICT);
        g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_NO_NAME);
        g_assert_cmpuint(bed->reply->ttl, ==, 60);
        expect_flags(bed, DNS_FLAG_RD | DNS_FLAG_AD | DNS_RCODE_NXDOMAIN);
        expect_records(bed, cases[i].records);
        end(bed);
    }
}

/* Names that pointed into removed records are uncompressed. */
static void test_names(void)
{
    static const struct {
        uint16_t type;
        const char *before;     /* octets of RDATA before the name */
        size_t before_len;
    } cases[] = {
        { DNS_TYPE_MX, "\0\12", 2 },
        { DNS_TYPE_CNAME, "", 0 },
        { DNS_TYPE_NS, "", 0 },
        { 7, "", 0 },           /* MB */
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Bed *bed = begin("a.example", cases[i].type, false, 0);
        uint8_t rdata[16];
        DnsName expected = name("m.far.test");
        DnsCursor cursor;
        DnsName found;
        size_t at;
        DnsRr rr;

        add_raw(bed, DNS_SECTION_ANSWER, "far.test", DNS_TYPE_RRSIG, "sig", 3);
        memcpy(rdata, cases[i].before, cases[i].before_len);
        /* behind the question: 12 octets, the name, type and class */
        memcpy(rdata + cases[i].before_len, "\1m\xc0", 3);
        rdata[cases[i].before_len + 3] = 12 + bed->query.question.name.len + 4;
        add_raw(bed, DNS_SECTION_ANSWER, "a.example", cases[i].type, rdata,
                cases[i].before_len + 4);
        judge(bed, VMMNET_DNS_SECURE, NO_EDE, DNS_DNSSEC_STRICT);
        dns_cursor_init(&cursor, bed->reply->whole, bed->reply->whole_len);
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        g_assert_cmpuint(rr.type, ==, cases[i].type);
        at = rr.rdata + cases[i].before_len;
        g_assert_cmpint(dns_name_parse(cursor.msg, cursor.len, &at, &found),
                        ==, 0);
        g_assert_true(dns_name_equal(&found, &expected));
        g_assert_cmpuint(at, ==, rr.rdata + rr.rdlength);
        end(bed);
    }
}

static Bed *bogus(bool dnssec_ok, int ede, DnsDnssec mode)
{
    Bed *bed = begin("a.example", DNS_TYPE_A, dnssec_ok, 0);

    add_name(bed, DNS_SECTION_ANSWER, "a.example", DNS_TYPE_CNAME,
             "b.example");
    add_a(bed, "b.example", "192.0.2.1");
    add_raw(bed, DNS_SECTION_ANSWER, "b.example", DNS_TYPE_RRSIG, "sig", 3);
    judge(bed, VMMNET_DNS_BOGUS_DATA, ede, mode);
    return bed;
}

/* Strict: only the reason, with a short TTL */
static void test_strict(void)
{
    Bed *bed = bogus(true, DNS_EDE_SIGNATURE_EXPIRED, DNS_DNSSEC_STRICT);

    g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_BOGUS);
    g_assert_cmpuint(bed->reply->ttl, ==, 0);
    expect_flags(bed, DNS_FLAG_RD | DNS_RCODE_SERVFAIL);
    expect_records(bed, "OPT DO 7");
    end(bed);
}

/* Permissive: all records, with the reason, without AD, with a short TTL */
static void test_permissive(void)
{
    Bed *bed = bogus(true, DNS_EDE_RRSIGS_MISSING, DNS_DNSSEC_PERMISSIVE);

    g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_OK);
    g_assert_cmpuint(bed->reply->ttl, ==, DNS_BOGUS_TTL);
    expect_flags(bed, DNS_FLAG_RD);
    expect_records(bed, "a.example 5 5, b.example 1 5, b.example 46 5, "
                   "OPT DO 10");
    end(bed);

    bed = bogus(false, DNS_EDE_DNSSEC_BOGUS, DNS_DNSSEC_PERMISSIVE);
    expect_records(bed, "a.example 5 5, b.example 1 5, OPT 6");
    end(bed);
}

/* Without a message the reply is a failure. */
static void test_failure(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        Bed *bed = begin("a.example", DNS_TYPE_A, false, 0);

        bed->reply = dns_verdict(&bed->query,
                                 dnsc_result_error(VMMNET_DNS_TIMEOUT, "late"),
                                 modes[i], bed->buf);
        g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_TIMEOUT);
        g_assert_null(bed->reply->whole);
        end(bed);
    }
}

/* A message for another question is no answer. */
static void test_other(void)
{
    Bed *bed = begin("a.example", DNS_TYPE_A, false, 0);

    bed->query.question.name = name("b.example");
    add_a(bed, "a.example", "192.0.2.1");
    judge(bed, VMMNET_DNS_SECURE, NO_EDE, DNS_DNSSEC_STRICT);
    g_assert_cmpint(bed->reply->error, ==, VMMNET_DNS_FAILED);
    g_assert_null(bed->reply->whole);
    end(bed);
}

/* A second question would move the records behind the first one. */
static void test_questions(void)
{
    static const uint8_t msg[] = {
        0, 0, 0x80, 0, 0, 2, 0, 1, 0, 0, 0, 0,
        0, 0, 1, 0, 1,  0, 0, 1, 0, 1,
        0, 0, 47, 0, 1, 0, 0, 0, 60, 0, 0,
    };
    DnscResult *judged = NULL;

    g_assert_cmpint(dnsc_whole_read(msg, sizeof(msg), &judged), ==, -EBADMSG);
    g_assert_null(judged);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/verdict/ad", test_ad);
    g_test_add_func("/dns/verdict/do", test_do);
    g_test_add_func("/dns/verdict/names", test_names);
    g_test_add_func("/dns/verdict/strict", test_strict);
    g_test_add_func("/dns/verdict/permissive", test_permissive);
    g_test_add_func("/dns/verdict/failure", test_failure);
    g_test_add_func("/dns/verdict/other", test_other);
    g_test_add_func("/dns/verdict/questions", test_questions);
    return g_test_run();
}
