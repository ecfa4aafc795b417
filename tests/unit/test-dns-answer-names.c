/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wildcards (RFC 4592), DNAME (RFC 6672), chains of aliases, deltas */
#include <string.h>

#include "tests/fixtures/answer-fixture.h"

#define SOA(zone) \
    zone " 3600 SOA ns.test root.test 1 7200 600 3600000 900\n"
#define NEGATIVE(zone) \
    "au " zone " 900 SOA ns.test root.test 1 7200 600 3600000 900\n"

/* RFC 4592 section 2.2.1 */
static const char wild_zone[] =
    SOA("example")
    "example 3600 NS ns.example.com\n"
    "*.example 3600 TXT wildcard\n"
    "*.example 3600 MX 10 host1.example\n"
    "sub.*.example 3600 TXT no-wildcard\n"
    "host1.example 3600 A 192.0.2.1\n"
    "_ssh._tcp.host1.example 3600 SRV 0 0 22 host1.example\n"
    "_ssh._tcp.host2.example 3600 SRV 0 0 22 host2.example\n"
    "subdel.example 3600 NS ns.example.com\n"
    "subdel.example 3600 NS ns.example.net\n";

static void test_wildcards(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", wild_zone, false);
    bed_expect(&bed, "host3.example MX",
               "NOERROR aa\nan host3.example 3600 MX 10 host1.example\n");
    g_assert_true(bed.info.wildcard);
    g_assert_cmpuint(bed.info.common_at, ==, 6);
    bed_expect(&bed, "host3.example A", "NOERROR aa\n" NEGATIVE("example"));
    bed_expect(&bed, "foo.bar.example TXT",
               "NOERROR aa\nan foo.bar.example 3600 TXT wildcard\n");
    bed_expect(&bed, "host1.example MX", "NOERROR aa\n" NEGATIVE("example"));
    g_assert_false(bed.info.wildcard);
    bed_expect(&bed, "sub.*.example MX", "NOERROR aa\n" NEGATIVE("example"));
    bed_expect(&bed, "_telnet._tcp.host1.example SRV",
               "NXDOMAIN aa\n" NEGATIVE("example"));
    bed_expect(&bed, "host.subdel.example A",
               "NOERROR\n"
               "au subdel.example 3600 NS ns.example.com\n"
               "au subdel.example 3600 NS ns.example.net\n");
    bed_expect(&bed, "ghost.*.example MX",
               "NXDOMAIN aa\n" NEGATIVE("example"));
    bed_expect(&bed, "*.example MX",
               "NOERROR aa\nan *.example 3600 MX 10 host1.example\n");
    bed_clear(&bed);
}

/* Names in the records of a wildcard may end in the wildcard's own name. */
static void test_wildcard_records(void)
{
    static const char zone[] =
        SOA("example")
        "*.deep.example 3600 MX 1 a.deep.example\n"
        "*.deep.example 3600 MX 2 b.a.deep.example\n"
        "*.deep.example 3600 MX 3 example\n"
        "*.star.example 3600 MX 1 *.star.example\n"
        "*.star.example 3600 MX 2 x.*.star.example\n"
        "*.star.example 3600 MX 3 host.alias.example\n"
        "*.alias.example 3600 CNAME host.alias.example\n"
        "*.old.example 3600 TYPE14 0161076578616d706c6500"
        "0162036f6c64076578616d706c6500\n"
        "host.alias.example 3600 A 192.0.2.1\n";
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", zone, false);
    bed_expect(&bed, "long-name.of.two.deep.example MX",
               "NOERROR aa\n"
               "an long-name.of.two.deep.example 3600 MX 1 a.deep.example\n"
               "an long-name.of.two.deep.example 3600 MX 2 b.a.deep.example\n"
               "an long-name.of.two.deep.example 3600 MX 3 example\n");
    bed.answerer.flags = 0;
    bed_expect(&bed, "q.star.example MX",
               "NOERROR aa\n"
               "an q.star.example 3600 MX 1 *.star.example\n"
               "an q.star.example 3600 MX 2 x.*.star.example\n"
               "an q.star.example 3600 MX 3 host.alias.example\n"
               "ad host.alias.example 3600 A 192.0.2.1\n");
    /* MINFO "a.example" "b.old.example": pointers to octets 20 and 16 */
    bed_expect(&bed, "www.old.example TYPE14",
               "NOERROR aa\n"
               "an www.old.example 3600 TYPE14 0161c0140162c010\n");
    bed_expect(&bed, "www.alias.example A",
               "NOERROR aa\n"
               "an www.alias.example 3600 CNAME host.alias.example\n"
               "an host.alias.example 3600 A 192.0.2.1\n");
    bed_clear(&bed);
}

static const char dname_zone[] =
    SOA("example")
    "example 3600 NSEC frobozz.example SOA NSEC\n"
    "frobozz.example 600 DNAME frobozz-division.acme.example\n"
    "frobozz.example 3600 MX 10 mailhub.acme.example\n"
    "away.example 60 DNAME acme.test\n"
    "www.frobozz-division.acme.example 3600 A 192.0.2.7\n"
    "long.acme.example 3600 DNAME"
    " 012345678901234567890123456789012345678901234567890123456789012"
    ".012345678901234567890123456789012345678901234567890123456789012"
    ".012345678901234567890123456789012345678901234567890123456789012\n";

static void test_dname(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", dname_zone, false);
    bed_add_zone(&bed, "acme.test", SOA("acme.test"), false);
    /* RFC 6672 section 3.1 */
    bed_expect(&bed, "WWW.frobozz.example A",
               "NOERROR aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an WWW.frobozz.example 600 CNAME"
               " WWW.frobozz-division.acme.example\n"
               "an WWW.frobozz-division.acme.example 3600 A 192.0.2.7\n");
    bed_expect(&bed, "no.frobozz.example A",
               "NXDOMAIN aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an no.frobozz.example 600 CNAME"
               " no.frobozz-division.acme.example\n"
               NEGATIVE("example"));
    /* The synthesized CNAME answers a question for CNAME. */
    bed_expect(&bed, "www.frobozz.example CNAME",
               "NOERROR aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an www.frobozz.example 600 CNAME"
               " www.frobozz-division.acme.example\n");
    bed_expect(&bed, "www.away.example A",
               "NOERROR aa\n"
               "an away.example 60 DNAME acme.test\n"
               "an www.away.example 60 CNAME www.acme.test\n");
    /* The owner itself is not redirected (section 2.3). */
    bed_expect(&bed, "frobozz.example MX",
               "NOERROR aa\n"
               "an frobozz.example 3600 MX 10 mailhub.acme.example\n");
    bed_expect(&bed, "frobozz.example DNAME",
               "NOERROR aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n");
    /* Too long (section 2.2) */
    bed_expect(&bed, "0123456789012345678901234567890123456789012345678901234"
               "56789012.long.acme.example A",
               "YXDOMAIN aa\n"
               "an long.acme.example 3600 DNAME"
               " 012345678901234567890123456789012345678901234567890123456789"
               "012"
               ".012345678901234567890123456789012345678901234567890123456789"
               "012"
               ".012345678901234567890123456789012345678901234567890123456789"
               "012\n");
    g_assert_cmpuint(bed.info.rcode, ==, DNS_RCODE_YXDOMAIN);
    bed_clear(&bed);
}

/* The target of the CNAME ends in the target of the DNAME, before it. */
static void test_dname_compressed(void)
{
    static const char zone[] =
        SOA("example")
        "frobozz.example 600 DNAME frobozz-division.acme.example\n"
        "two.example 60 DNAME frobozz.example\n"
        "*.frobozz-division.acme.example 3600 A 192.0.2.7\n";
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", zone, false);
    bed_expect(&bed, "www.frobozz.example CNAME",
               "NOERROR aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an www.frobozz.example 600 CNAME"
               " www.frobozz-division.acme.example\n");
    /* Header, question, DNAME, and CNAME: a label and a pointer */
    g_assert_cmpuint(bed.len, ==, 12 + 25 + (12 + 31) + (12 + 6));
    bed_expect(&bed, "www.two.example A",
               "NOERROR aa\n"
               "an two.example 60 DNAME frobozz.example\n"
               "an www.two.example 60 CNAME www.frobozz.example\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an www.frobozz.example 600 CNAME"
               " www.frobozz-division.acme.example\n"
               "an www.frobozz-division.acme.example 3600 A 192.0.2.7\n");
    bed_clear(&bed);
}

/*
 * A target below the DNAME makes longer and longer names.  One step is enough,
 * and it fits without EDNS.  A target above the DNAME ends by itself.
 */
static void test_dname_below_itself(void)
{
    static const char zone[] =
        SOA("example")
        "loop.example 60 DNAME x.loop.example\n"
        "self.example 60 DNAME self.example\n"
        "a.up.example 60 DNAME up.example\n"
        "x.up.example 60 A 192.0.2.1\n";
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", zone, false);
    bed_expect(&bed, "www.loop.example A",
               "NOERROR aa\n"
               "an loop.example 60 DNAME x.loop.example\n"
               "an www.loop.example 60 CNAME www.x.loop.example\n");
    bed_expect(&bed, "www.self.example A",
               "NOERROR aa\n"
               "an self.example 60 DNAME self.example\n"
               "an www.self.example 60 CNAME www.self.example\n");
    bed_expect(&bed, "x.a.a.up.example A",
               "NOERROR aa\n"
               "an a.up.example 60 DNAME up.example\n"
               "an x.a.a.up.example 60 CNAME x.a.up.example\n"
               "an x.a.up.example 60 CNAME x.up.example\n"
               "an x.up.example 60 A 192.0.2.1\n");
    bed_clear(&bed);
}

/* A chain may use a DNAME several times; the reply has it once. */
static void test_dname_again(void)
{
    static const char zone[] =
        SOA("example")
        "one.example 60 DNAME two.example\n"
        "a.two.example 60 CNAME b.one.example\n"
        "b.two.example 60 CNAME c.one.example\n"
        "c.two.example 60 A 192.0.2.9\n";
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", zone, true);
    bed_expect(&bed, "a.one.example A",
               "NOERROR aa\n"
               "an one.example 60 DNAME two.example\n"
               "an a.one.example 60 CNAME a.two.example\n"
               "an a.two.example 60 CNAME b.one.example\n"
               "an b.one.example 60 CNAME b.two.example\n"
               "an b.two.example 60 CNAME c.one.example\n"
               "an c.one.example 60 CNAME c.two.example\n"
               "an c.two.example 60 A 192.0.2.9\n");
    bed_expect(&bed, "a.one.example A DO",
               "NOERROR aa\n"
               "an one.example 60 DNAME two.example\n"
               "an one.example 60 RRSIG DNAME 2\n"
               "an a.one.example 60 CNAME a.two.example\n"
               "an a.two.example 60 CNAME b.one.example\n"
               "an a.two.example 60 RRSIG CNAME 3\n"
               "an b.one.example 60 CNAME b.two.example\n"
               "an b.two.example 60 CNAME c.one.example\n"
               "an b.two.example 60 RRSIG CNAME 3\n"
               "an c.one.example 60 CNAME c.two.example\n"
               "an c.two.example 60 A 192.0.2.9\n"
               "an c.two.example 60 RRSIG A 3\n");
    bed_clear(&bed);
}

/* The DNAME is signed, the synthesized CNAME is not (section 5.3.1). */
static void test_dname_signed(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", dname_zone, true);
    bed_expect(&bed, "www.frobozz.example A DO",
               "NOERROR aa\n"
               "an frobozz.example 600 DNAME frobozz-division.acme.example\n"
               "an frobozz.example 600 RRSIG DNAME 2\n"
               "an www.frobozz.example 600 CNAME"
               " www.frobozz-division.acme.example\n"
               "an www.frobozz-division.acme.example 3600 A 192.0.2.7\n"
               "an www.frobozz-division.acme.example 3600 RRSIG A 4\n");
    bed_clear(&bed);
}

static const char alias_zone[] =
    SOA("one.test")
    "a.one.test 60 CNAME b.one.test\n"
    "b.one.test 60 CNAME c.b.one.test\n"
    "c.b.one.test 60 AAAA 2001:db8::1\n"
    "gone.one.test 60 CNAME nothing.one.test\n"
    "empty.one.test 60 CNAME c.b.one.test\n"
    "away.one.test 60 CNAME www.elsewhere.invalid\n"
    "below.one.test 60 CNAME www.sub.one.test\n"
    "sub.one.test 60 NS ns.sub.one.test\n"
    "ns.sub.one.test 60 A 192.0.2.1\n"
    "loop.one.test 60 CNAME pool.one.test\n"
    "pool.one.test 60 CNAME loop.one.test\n"
    "self.one.test 60 CNAME self.one.test\n"
    "other.one.test 60 CNAME www.two.test\n";

static const char other_zone[] =
    SOA("two.test")
    "www.two.test 60 A 192.0.2.2\n";

static void test_aliases(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "one.test", alias_zone, false);
    bed_add_zone(&bed, "two.test", other_zone, false);
    bed_expect(&bed, "a.one.test AAAA",
               "NOERROR aa\n"
               "an a.one.test 60 CNAME b.one.test\n"
               "an b.one.test 60 CNAME c.b.one.test\n"
               "an c.b.one.test 60 AAAA 2001:db8::1\n");
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_RECORDS);
    /* RFC 6604 section 3: the RCODE is that of the last name. */
    bed_expect(&bed, "gone.one.test A",
               "NXDOMAIN aa\n"
               "an gone.one.test 60 CNAME nothing.one.test\n"
               NEGATIVE("one.test"));
    bed_expect(&bed, "empty.one.test A",
               "NOERROR aa\n"
               "an empty.one.test 60 CNAME c.b.one.test\n"
               NEGATIVE("one.test"));
    bed_expect(&bed, "below.one.test A",
               "NOERROR aa\n"
               "an below.one.test 60 CNAME www.sub.one.test\n"
               "au sub.one.test 60 NS ns.sub.one.test\n"
               "ad ns.sub.one.test 60 A 192.0.2.1\n");
    /*
     * Types beside a CNAME are not looked up at its target: RFC 4035 section
     * 2.5.
     */
    bed_expect(&bed, "away.one.test NSEC", "NOERROR aa\n" NEGATIVE("one.test"));
    bed_expect(&bed, "away.one.test A",
               "NOERROR aa\nan away.one.test 60 CNAME www.elsewhere.invalid\n");
    bed_expect(&bed, "other.one.test A",
               "NOERROR aa\nan other.one.test 60 CNAME www.two.test\n");
    bed_expect(&bed, "loop.one.test A",
               "NOERROR aa\n"
               "an loop.one.test 60 CNAME pool.one.test\n"
               "an pool.one.test 60 CNAME loop.one.test\n");
    bed_expect(&bed, "self.one.test A",
               "NOERROR aa\nan self.one.test 60 CNAME self.one.test\n");
    bed_clear(&bed);
}

static void test_long_chain(void)
{
    g_autoptr(GString) zone = g_string_new(SOA("test"));
    AnswerBed bed = { 0 };
    char *line, *reply;
    unsigned lines = 0;

    for (unsigned i = 0; i < 40; i++) {
        g_string_append_printf(zone, "n%u.test 60 CNAME n%u.test\n", i, i + 1);
    }
    bed_add_zone(&bed, "test", zone->str, false);
    reply = bed_ask(&bed, "n0.test A");
    for (line = reply; (line = strchr(line, '\n')); line++) {
        lines++;
    }
    g_assert_true(g_str_has_prefix(reply, "NOERROR aa\n"));
    g_assert_cmpuint(lines, ==, 1 + 17);
    g_free(reply);
    bed_clear(&bed);
}

/* --- deltas --------------------------------------------------------------- */

static const char signed_zone[] =
    SOA("d.test")
    "d.test 3600 NSEC a.d.test SOA RRSIG NSEC\n"
    "a.d.test 60 A 192.0.2.1\n"
    "a.d.test 60 NSEC c.d.test A RRSIG NSEC\n"
    "c.d.test 60 A 192.0.2.3\n"
    "c.d.test 60 NSEC sub.d.test A RRSIG NSEC\n"
    "sub.d.test 60 NS ns.sub.d.test\n"
    "sub.d.test 60 NSEC d.test NS RRSIG NSEC\n"
    "ns.sub.d.test 60 A 192.0.2.53\n";

/* "b" is new, "c" is deleted, and the glue has changed. */
static const char delta[] =
    "a.d.test 60 A 192.0.2.1\n"
    "a.d.test 60 NSEC b.d.test A RRSIG NSEC\n"
    "b.d.test 60 A 192.0.2.2\n"
    "b.d.test 60 NSEC sub.d.test A RRSIG NSEC\n"
    "c.d.test GONE\n"
    "ns.sub.d.test 60 AAAA 2001:db8::53\n";

#define SIGNED_NEGATIVE NEGATIVE("d.test") "au d.test 900 RRSIG SOA 2\n"
#define NSEC(owner, next, types, labels) \
    "au " owner " NSEC " next " " types "\n" \
    "au " owner " RRSIG NSEC " labels "\n"

static void test_deltas(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "d.test", signed_zone, true);
    bed_expect(&bed, "d.d.test A DO",
               "NXDOMAIN aa\n" SIGNED_NEGATIVE
               NSEC("c.d.test 60", "sub.d.test", "A RRSIG NSEC", "3")
               NSEC("d.test 3600", "a.d.test", "SOA RRSIG NSEC", "2"));
    bed_add_delta(&bed, delta, true);
    bed_expect(&bed, "b.d.test A",
               "NOERROR aa\nan b.d.test 60 A 192.0.2.2\n");
    bed_expect(&bed, "c.d.test A DO",
               "NXDOMAIN aa\n" SIGNED_NEGATIVE
               NSEC("b.d.test 60", "sub.d.test", "A RRSIG NSEC", "3")
               NSEC("d.test 3600", "a.d.test", "SOA RRSIG NSEC", "2"));
    bed_expect(&bed, "d.d.test A DO",
               "NXDOMAIN aa\n" SIGNED_NEGATIVE
               NSEC("b.d.test 60", "sub.d.test", "A RRSIG NSEC", "3")
               NSEC("d.test 3600", "a.d.test", "SOA RRSIG NSEC", "2"));
    bed_expect(&bed, "aa.d.test A DO",
               "NXDOMAIN aa\n" SIGNED_NEGATIVE
               NSEC("a.d.test 60", "b.d.test", "A RRSIG NSEC", "3")
               NSEC("d.test 3600", "a.d.test", "SOA RRSIG NSEC", "2"));
    bed_expect(&bed, "zz.d.test A DO",
               "NXDOMAIN aa\n" SIGNED_NEGATIVE
               NSEC("sub.d.test 60", "d.test", "NS RRSIG NSEC", "3")
               NSEC("d.test 3600", "a.d.test", "SOA RRSIG NSEC", "2"));
    bed_expect(&bed, "www.sub.d.test A",
               "NOERROR\n"
               "au sub.d.test 60 NS ns.sub.d.test\n"
               "ad ns.sub.d.test 60 AAAA 2001:db8::53\n");
    bed_clear(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-answer/rfc4592", test_wildcards);
    g_test_add_func("/dns-answer/wildcard-records", test_wildcard_records);
    g_test_add_func("/dns-answer/rfc6672", test_dname);
    g_test_add_func("/dns-answer/rfc6672/compressed", test_dname_compressed);
    g_test_add_func("/dns-answer/rfc6672/below-itself",
                    test_dname_below_itself);
    g_test_add_func("/dns-answer/rfc6672/again", test_dname_again);
    g_test_add_func("/dns-answer/rfc6672-signed", test_dname_signed);
    g_test_add_func("/dns-answer/aliases", test_aliases);
    g_test_add_func("/dns-answer/long-chain", test_long_chain);
    g_test_add_func("/dns-answer/deltas", test_deltas);
    return g_test_run();
}
