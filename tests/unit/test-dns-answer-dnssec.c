/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFC 4035 and RFC 5155, appendix B, without what minimal replies leave out */
#include "tests/fixtures/answer-fixture.h"
#include "net/dns/answer/sha1.h"

/* RFC 4035 appendix A */
static const char nsec_zone[] =
    "example 3600 SOA ns1.example bugs.x.w.example 1081539377 3600 300"
    " 3600000 3600\n"
    "example 3600 NS ns1.example\n"
    "example 3600 NS ns2.example\n"
    "example 3600 MX 1 xx.example\n"
    "example 3600 NSEC a.example NS SOA MX RRSIG NSEC DNSKEY\n"
    "example 3600 DNSKEY 256 3 5 aabb\n"
    "a.example 3600 NS ns1.a.example\n"
    "a.example 3600 NS ns2.a.example\n"
    "a.example 3600 DS 57855 5 1 b6dcd485719adca18e5f3d48a2331627fdd3636b\n"
    "a.example 3600 NSEC ai.example NS DS RRSIG NSEC\n"
    "ns1.a.example 3600 A 192.0.2.5\n"
    "ns2.a.example 3600 A 192.0.2.6\n"
    "ai.example 3600 A 192.0.2.9\n"
    "ai.example 3600 HINFO KLH-10 ITS\n"
    "ai.example 3600 AAAA 2001:db8::f00:baa9\n"
    "ai.example 3600 NSEC b.example A HINFO AAAA RRSIG NSEC\n"
    "b.example 3600 NS ns1.b.example\n"
    "b.example 3600 NS ns2.b.example\n"
    "b.example 3600 NSEC ns1.example NS RRSIG NSEC\n"
    "ns1.b.example 3600 A 192.0.2.7\n"
    "ns2.b.example 3600 A 192.0.2.8\n"
    "ns1.example 3600 A 192.0.2.1\n"
    "ns1.example 3600 NSEC ns2.example A RRSIG NSEC\n"
    "ns2.example 3600 A 192.0.2.2\n"
    "ns2.example 3600 NSEC *.w.example A RRSIG NSEC\n"
    "*.w.example 3600 MX 1 ai.example\n"
    "*.w.example 3600 NSEC x.w.example MX RRSIG NSEC\n"
    "x.w.example 3600 MX 1 xx.example\n"
    "x.w.example 3600 NSEC x.y.w.example MX RRSIG NSEC\n"
    "x.y.w.example 3600 MX 1 xx.example\n"
    "x.y.w.example 3600 NSEC xx.example MX RRSIG NSEC\n"
    "xx.example 3600 A 192.0.2.10\n"
    "xx.example 3600 HINFO KLH-10 TOPS-20\n"
    "xx.example 3600 AAAA 2001:db8::f00:baaa\n"
    "xx.example 3600 NSEC example A HINFO AAAA RRSIG NSEC\n";

/* RFC 5155 appendix A */
static const char nsec3_zone[] =
    "example 3600 SOA ns1.example bugs.x.w.example 1 3600 300 3600000"
    " 3600\n"
    "example 3600 NS ns1.example\n"
    "example 3600 NS ns2.example\n"
    "example 3600 MX 1 xx.example\n"
    "example 3600 DNSKEY 256 3 7 aabb\n"
    "example 3600 NSEC3PARAM 1 0 12 aabbccdd\n"
    "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example 3600 A 192.0.2.127\n"
    "a.example 3600 NS ns1.a.example\n"
    "a.example 3600 NS ns2.a.example\n"
    "a.example 3600 DS 58470 5 1 3079f1593ebad6dc121e202a8b766a6a4837206c\n"
    "ns1.a.example 3600 A 192.0.2.5\n"
    "ns2.a.example 3600 A 192.0.2.6\n"
    "ai.example 3600 A 192.0.2.9\n"
    "ai.example 3600 HINFO KLH-10 ITS\n"
    "ai.example 3600 AAAA 2001:db8::f00:baa9\n"
    "c.example 3600 NS ns1.c.example\n"
    "c.example 3600 NS ns2.c.example\n"
    "ns1.c.example 3600 A 192.0.2.7\n"
    "ns2.c.example 3600 A 192.0.2.8\n"
    "ns1.example 3600 A 192.0.2.1\n"
    "ns2.example 3600 A 192.0.2.2\n"
    "*.w.example 3600 MX 1 ai.example\n"
    "x.w.example 3600 MX 1 xx.example\n"
    "x.y.w.example 3600 MX 1 xx.example\n"
    "xx.example 3600 A 192.0.2.10\n"
    "xx.example 3600 HINFO KLH-10 TOPS-20\n"
    "xx.example 3600 AAAA 2001:db8::f00:baaa\n"
    "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example 3600 NSEC3 1 1 12"
    " aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr"
    " MX DNSKEY NS SOA NSEC3PARAM RRSIG\n"
    "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example 3600 NSEC3 1 1 12"
    " aabbccdd 2vptu5timamqttgl4luu9kg21e0aor3s A RRSIG\n"
    "2vptu5timamqttgl4luu9kg21e0aor3s.example 3600 NSEC3 1 1 12"
    " aabbccdd 35mthgpgcu1qg68fab165klnsnk3dpvl MX RRSIG\n"
    "35mthgpgcu1qg68fab165klnsnk3dpvl.example 3600 NSEC3 1 1 12"
    " aabbccdd b4um86eghhds6nea196smvmlo4ors995 NS DS RRSIG\n"
    "b4um86eghhds6nea196smvmlo4ors995.example 3600 NSEC3 1 1 12"
    " aabbccdd gjeqe526plbf1g8mklp59enfd789njgi MX RRSIG\n"
    "gjeqe526plbf1g8mklp59enfd789njgi.example 3600 NSEC3 1 1 12"
    " aabbccdd ji6neoaepv8b5o6k4ev33abha8ht9fgc A HINFO AAAA RRSIG\n"
    "ji6neoaepv8b5o6k4ev33abha8ht9fgc.example 3600 NSEC3 1 1 12"
    " aabbccdd k8udemvp1j2f7eg6jebps17vp3n8i58h\n"
    "k8udemvp1j2f7eg6jebps17vp3n8i58h.example 3600 NSEC3 1 1 12"
    " aabbccdd kohar7mbb8dc2ce8a9qvl8hon4k53uhi\n"
    "kohar7mbb8dc2ce8a9qvl8hon4k53uhi.example 3600 NSEC3 1 1 12"
    " aabbccdd q04jkcevqvmu85r014c7dkba38o0ji5r A RRSIG\n"
    "q04jkcevqvmu85r014c7dkba38o0ji5r.example 3600 NSEC3 1 1 12"
    " aabbccdd r53bq7cc2uvmubfu5ocmm6pers9tk9en A RRSIG\n"
    "r53bq7cc2uvmubfu5ocmm6pers9tk9en.example 3600 NSEC3 1 1 12"
    " aabbccdd t644ebqk9bibcna874givr6joj62mlhv MX RRSIG\n"
    "t644ebqk9bibcna874givr6joj62mlhv.example 3600 NSEC3 1 1 12"
    " aabbccdd 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A HINFO AAAA RRSIG\n";

#define SIG(section, owner, type, labels) \
    section " " owner " 3600 RRSIG " type " " labels "\n"
#define NSEC_SOA \
    "au example 3600 SOA ns1.example bugs.x.w.example" \
    " 1081539377 3600 300 3600000 3600\n" SIG("au", "example", "SOA", "1")
#define NSEC(owner, labels, next, types) \
    "au " owner " 3600 NSEC " next " " types "\n" \
    SIG("au", owner, "NSEC", labels)
#define NSEC3_SOA \
    "au example 3600 SOA ns1.example bugs.x.w.example" \
    " 1 3600 300 3600000 3600\n" SIG("au", "example", "SOA", "1")
#define NSEC3(owner, types) \
    "au " owner ".example 3600 NSEC3" types "\n" \
    SIG("au", owner ".example", "NSEC3", "2")

static void test_nsec(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", nsec_zone, true);
    /* B.1 answer */
    bed_expect(&bed, "x.w.example MX DO",
               "NOERROR aa\n"
               "an x.w.example 3600 MX 1 xx.example\n"
               SIG("an", "x.w.example", "MX", "3"));
    /* B.2 name error */
    bed_expect(&bed, "ml.example A DO",
               "NXDOMAIN aa\n" NSEC_SOA
               NSEC("b.example", "2", "ns1.example", "NS RRSIG NSEC")
               NSEC("example", "1", "a.example",
                    "NS SOA MX RRSIG NSEC DNSKEY"));
    /* B.3 no data */
    bed_expect(&bed, "ns1.example MX DO",
               "NOERROR aa\n" NSEC_SOA
               NSEC("ns1.example", "2", "ns2.example", "A RRSIG NSEC"));
    /* B.4 referral to a signed zone */
    bed_expect(&bed, "mc.a.example MX DO",
               "NOERROR\n"
               "au a.example 3600 NS ns1.a.example\n"
               "au a.example 3600 NS ns2.a.example\n"
               "au a.example 3600 DS 57855 5 1"
               " b6dcd485719adca18e5f3d48a2331627fdd3636b\n"
               SIG("au", "a.example", "DS", "2")
               "ad ns1.a.example 3600 A 192.0.2.5\n"
               "ad ns2.a.example 3600 A 192.0.2.6\n");
    /* B.5 referral to an unsigned zone */
    bed_expect(&bed, "mc.b.example MX DO",
               "NOERROR\n"
               "au b.example 3600 NS ns1.b.example\n"
               "au b.example 3600 NS ns2.b.example\n"
               NSEC("b.example", "2", "ns1.example", "NS RRSIG NSEC")
               "ad ns1.b.example 3600 A 192.0.2.7\n"
               "ad ns2.b.example 3600 A 192.0.2.8\n");
    /* B.6 wildcard expansion */
    bed_expect(&bed, "a.z.w.example MX DO",
               "NOERROR aa\n"
               "an a.z.w.example 3600 MX 1 ai.example\n"
               SIG("an", "a.z.w.example", "MX", "2")
               NSEC("x.y.w.example", "4", "xx.example", "MX RRSIG NSEC"));
    /* B.7 wildcard no data */
    bed_expect(&bed, "a.z.w.example AAAA DO",
               "NOERROR aa\n" NSEC_SOA
               NSEC("x.y.w.example", "4", "xx.example", "MX RRSIG NSEC")
               NSEC("*.w.example", "2", "x.w.example", "MX RRSIG NSEC"));
    /* B.8 DS at the zone itself */
    bed_expect(&bed, "example DS DO",
               "NOERROR aa\n" NSEC_SOA
               NSEC("example", "1", "a.example",
                    "NS SOA MX RRSIG NSEC DNSKEY"));
    /* DS of a delegation, and none: RFC 4035 section 3.1.4.1 */
    bed_expect(&bed, "a.example DS DO",
               "NOERROR aa\n"
               "an a.example 3600 DS 57855 5 1"
               " b6dcd485719adca18e5f3d48a2331627fdd3636b\n"
               SIG("an", "a.example", "DS", "2"));
    bed_expect(&bed, "b.example DS DO",
               "NOERROR aa\n" NSEC_SOA
               NSEC("b.example", "2", "ns1.example", "NS RRSIG NSEC"));
    /* An empty non-terminal: the NSEC record before it */
    bed_expect(&bed, "w.example A DO",
               "NOERROR aa\n" NSEC_SOA
               NSEC("ns2.example", "2", "*.w.example", "A RRSIG NSEC"));
    /* One record proves both. */
    bed_expect(&bed, "zz.example A DO",
               "NXDOMAIN aa\n" NSEC_SOA
               NSEC("xx.example", "2", "example", "A HINFO AAAA RRSIG NSEC")
               NSEC("example", "1", "a.example",
                    "NS SOA MX RRSIG NSEC DNSKEY"));
    bed_expect(&bed, "a.a.x.w.example A DO",
               "NXDOMAIN aa\n" NSEC_SOA
               NSEC("x.w.example", "3", "x.y.w.example", "MX RRSIG NSEC"));
    /* The record before a name below no delegation may be below one. */
    bed_expect(&bed, "c.example A DO",
               "NXDOMAIN aa\n" NSEC_SOA
               NSEC("b.example", "2", "ns1.example", "NS RRSIG NSEC")
               NSEC("example", "1", "a.example",
                    "NS SOA MX RRSIG NSEC DNSKEY"));
    bed_clear(&bed);
}

static void test_nsec3(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, "example", nsec3_zone, true);
    /* B.1 name error */
    bed_expect(&bed, "a.c.x.w.example A DO",
               "NXDOMAIN aa\n" NSEC3_SOA
               NSEC3("b4um86eghhds6nea196smvmlo4ors995", " MX RRSIG")
               NSEC3("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom",
                     " NS SOA MX RRSIG DNSKEY NSEC3PARAM")
               NSEC3("35mthgpgcu1qg68fab165klnsnk3dpvl", " NS DS RRSIG"));
    /* B.2 no data, B.2.1 of an empty non-terminal */
    bed_expect(&bed, "ns1.example MX DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("2t7b4g4vsa5smi47k61mv5bv1a22bojr", " A RRSIG"));
    bed_expect(&bed, "y.w.example A DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("ji6neoaepv8b5o6k4ev33abha8ht9fgc", ""));
    /* B.3 referral to an unsigned zone that opted out */
    bed_expect(&bed, "mc.c.example MX DO",
               "NOERROR\n"
               "au c.example 3600 NS ns1.c.example\n"
               "au c.example 3600 NS ns2.c.example\n"
               NSEC3("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom",
                     " NS SOA MX RRSIG DNSKEY NSEC3PARAM")
               NSEC3("35mthgpgcu1qg68fab165klnsnk3dpvl", " NS DS RRSIG")
               "ad ns1.c.example 3600 A 192.0.2.7\n"
               "ad ns2.c.example 3600 A 192.0.2.8\n");
    /* B.4 wildcard expansion */
    bed_expect(&bed, "a.z.w.example MX DO",
               "NOERROR aa\n"
               "an a.z.w.example 3600 MX 1 ai.example\n"
               SIG("an", "a.z.w.example", "MX", "2")
               NSEC3("q04jkcevqvmu85r014c7dkba38o0ji5r", " A RRSIG"));
    /* B.5 wildcard no data */
    bed_expect(&bed, "a.z.w.example AAAA DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("k8udemvp1j2f7eg6jebps17vp3n8i58h", "")
               NSEC3("q04jkcevqvmu85r014c7dkba38o0ji5r", " A RRSIG")
               NSEC3("r53bq7cc2uvmubfu5ocmm6pers9tk9en", " MX RRSIG"));
    /* B.6 DS at the zone itself */
    bed_expect(&bed, "example DS DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom",
                     " NS SOA MX RRSIG DNSKEY NSEC3PARAM"));
    /* Section 7.2.4: no DS where the zone opts out */
    bed_expect(&bed, "c.example DS DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom",
                     " NS SOA MX RRSIG DNSKEY NSEC3PARAM")
               NSEC3("35mthgpgcu1qg68fab165klnsnk3dpvl", " NS DS RRSIG"));
    /*
     * Section 7.2.8: the owner of an NSEC3 record exists only if it has other
     * records.
     */
    bed_expect(&bed, "35mthgpgcu1qg68fab165klnsnk3dpvl.example NSEC3",
               "NXDOMAIN aa\n"
               "au example 3600 SOA ns1.example bugs.x.w.example"
               " 1 3600 300 3600000 3600\n");
    bed_expect(&bed, "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example A",
               "NOERROR aa\n"
               "an 2t7b4g4vsa5smi47k61mv5bv1a22bojr.example 3600 A"
               " 192.0.2.127\n");
    bed_expect(&bed, "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example NSEC3 DO",
               "NOERROR aa\n" NSEC3_SOA
               NSEC3("kohar7mbb8dc2ce8a9qvl8hon4k53uhi", " A RRSIG"));
    bed_clear(&bed);
}

/* Both implementations of SHA-1 give the same as the library. */
static void test_sha1(void)
{
    uint8_t data[DNS_SHA1_DATA_MAX];

    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = i * 7;
    }
    for (unsigned len = 0; len <= sizeof(data); len++) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
        uint8_t want[DNS_SHA1_LEN], got[DNS_SHA1_LEN];
        gsize want_len = sizeof(want);

        g_checksum_update(sum, data, len);
        g_checksum_get_digest(sum, want, &want_len);
        dns_sha1(data, len, got);
        g_assert_cmpmem(got, sizeof(got), want, want_len);
        dns_sha1_portable(data, len, got);
        g_assert_cmpmem(got, sizeof(got), want, want_len);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-answer/rfc4035", test_nsec);
    g_test_add_func("/dns-answer/rfc5155", test_nsec3);
    g_test_add_func("/dns-answer/sha1", test_sha1);
    return g_test_run();
}
