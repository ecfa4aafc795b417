/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: signatures and their verdict, RFC 6147 section 5.5 */

#include <string.h>

#include "tests/fixtures/dns-proxy-fixture.h"

#define TYPE_NSEC 47

/* Asks with EDNS, and these flags beside RD */
static void ask_with(World *w, const char *name, uint16_t type, bool dnssec_ok,
                     uint16_t flags)
{
    begin_query(name, type);
    msg.buf[3] |= flags;
    add_edns(4096, dnssec_ok, 0);
    query(w);
}

static void add_raw(DnsSection section, const char *owner, uint16_t type,
                    const char *rdata, size_t len)
{
    DnsName name = name_of(owner);

    dns_builder_raw(&msg.b, section, &name, type, DNS_CLASS_IN, 60, rdata,
                    len);
}

static void add_proof(const char *owner)
{
    add_soa("example", 300);
    add_raw(DNS_SECTION_AUTHORITY, "example", DNS_TYPE_RRSIG, "sig", 3);
    add_raw(DNS_SECTION_AUTHORITY, owner, TYPE_NSEC, "proof", 5);
}

#define PROOF(owner) "example 300 6 example 77;example 60 46 3 octets;" \
                     owner " 60 47 5 octets;"
#define OPT "OPT 1232 DO high=0 ede=-1;"

static void assert_sent_with(World *w, size_t i, uint16_t flags,
                             bool dnssec_ok)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;

    dns_header_parse(w->sent[i].query, w->sent[i].len, &header);
    g_assert_cmphex(header.flags, ==, DNS_FLAG_RD | flags);
    dns_cursor_init(&cursor, w->sent[i].query, w->sent[i].len);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
    g_assert_cmpint(edns.dnssec_ok, ==, dnssec_ok);
}

/* A validator gets the upstream's reply with its signatures. */
static void test_validator(void)
{
    static const struct {
        uint16_t type;
        const char *rdata;
        size_t len;
        const char *records;
    } cases[] = {
        { DNS_TYPE_A, "\xc0\0\2\1", 4, "a.example 60 1 192.0.2.1;" },
        { DNS_TYPE_AAAA, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16,
          "a.example 60 28 16 octets;" },
        /* ipv4hint=192.0.2.1, and no parameters */
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0\4\xc0\0\2\1", 11,
          "a.example 60 65 00010000040004c0000201;" },
        { DNS_TYPE_SVCB, "\0\0\1a\0", 5, "a.example 60 64 0000016100;" },
        { DNS_TYPE_ANY, "\xc0\0\2\1", 4, "a.example 60 255 4 octets;" },
    };
    World *w = world_new();

    w->nat64 = true;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *expected = g_strconcat(cases[i].records,
                                                "a.example 60 46 3 octets;"
                                                OPT, NULL);

        ask_with(w, "a.example", cases[i].type, true, DNS_FLAG_CD);
        g_assert_cmpuint(w->sent_count, ==, i + 1);
        assert_sent(w, i, "a.example", cases[i].type);
        assert_sent_with(w, i, DNS_FLAG_CD, true);
        begin_reply(w, i, 0x81b0);
        add_raw(DNS_SECTION_ANSWER, "a.example", cases[i].type,
                cases[i].rdata, cases[i].len);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_RRSIG, "sig", 3);
        deliver(w, i, DNS_UPSTREAM_OK);
        g_assert_true(assert_answer(w, 0, "a.example", cases[i].type) &
                      DNS_FLAG_AD);
        assert_records(w, expected);
    }
    g_assert_cmpuint(w->pool_used, ==, 0);
    g_assert_cmpuint(COUNTER(w, passed), ==, G_N_ELEMENTS(cases));
    /* the policy by name knows the A, which is reached through the NAT64 */
    g_assert_cmpstr(w->resolved, ==, "a.example ::ffff:192.0.2.1 60;");
    assert_balance(w, 0);
    world_free(w);
}

/* Negative answers have all proofs. */
static void test_validator_negative(void)
{
    static const uint16_t types[] = {
        DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_HTTPS, DNS_TYPE_TXT,
    };
    World *w = world_new();

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(types); i++) {
        uint16_t type = types[i / 2];
        uint16_t rcode = i % 2 ? DNS_RCODE_NXDOMAIN : 0;

        ask_with(w, "a.example", type, true, DNS_FLAG_CD);
        begin_reply(w, i, 0x8190 | rcode);
        add_proof("a.example");
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, rcode, "a.example", type);
        assert_records(w, PROOF("a.example") OPT);
    }
    world_free(w);
}

/* If an address is not allowed, the whole reply is dropped. */
static void test_validator_addresses(void)
{
    static const struct {
        uint16_t type;
        const char *rdata;
        size_t len;
        bool blocked;
    } cases[] = {
        { DNS_TYPE_A, "\x7f\0\0\1", 4, false },
        { DNS_TYPE_A, "\xc6\x12\0\1", 4, false },
        { DNS_TYPE_A, "\xa\0\0\1", 4, true },
        { DNS_TYPE_AAAA, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, true },
        { DNS_TYPE_AAAA, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, false },
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0\4\xa\0\0\1", 11, true },
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0\10\xc0\0\2\1\xa\0\0\1", 15, true },
        { DNS_TYPE_HTTPS, "\0\1\0\0\6\0\20\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1",
          23, true },
        { DNS_TYPE_SVCB, "\0\1\1a\0\0\3\0\2\0\x50\0\4\0\4\xa\0\0\1", 19, true },
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t blocked = COUNTER(w, addresses_private);

        ask_with(w, "a.example", cases[i].type, true, DNS_FLAG_CD);
        begin_reply(w, i, 0x81b0);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_RRSIG, "sig", 3);
        add_raw(DNS_SECTION_ANSWER, "a.example", cases[i].type,
                cases[i].rdata, cases[i].len);
        deliver(w, i, DNS_UPSTREAM_OK);
        g_assert_false(assert_answer(w, 0, "a.example", cases[i].type) &
                       DNS_FLAG_AD);
        assert_records(w, cases[i].blocked
                       ? "a.example 60 6 invalid 60;"
                         "OPT 1232 DO high=0 ede=15;"
                       : "a.example 60 6 invalid 60;" OPT);
        g_assert_cmpuint(COUNTER(w, addresses_private) - blocked, ==,
                         cases[i].blocked);
    }
    g_assert_cmpuint(COUNTER(w, nodata), ==, G_N_ELEMENTS(cases));
    g_assert_cmpstr(w->resolved, ==, "");
    /* ANY has all of them; the owner does not matter */
    ask_with(w, "a.example", DNS_TYPE_ANY, true, DNS_FLAG_CD);
    begin_reply(w, w->sent_count - 1, 0x8180);
    add_a("other.example", 70, "192.0.2.1");
    add_aaaa("a.example", 70, "fd00::1");
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 6 invalid 60;OPT 1232 DO high=0 ede=15;");
    /* more hints than the parser reads */
    ask_with(w, "a.example", DNS_TYPE_HTTPS, true, DNS_FLAG_CD);
    begin_reply(w, w->sent_count - 1, 0x8180);
    {
        uint8_t hints[7 + 4 * 1025] = { 0, 1, 0, 0, 4, 16, 4 };

        memset(hints + 7, 1, sizeof(hints) - 7);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_HTTPS,
                (const char *)hints, sizeof(hints));
    }
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_records(w, "a.example 60 6 invalid 60;" OPT);
    /* an error with addresses is not passed */
    ask_with(w, "a.example", DNS_TYPE_A, true, DNS_FLAG_CD);
    begin_reply(w, w->sent_count - 1, 0x8183);
    add_a("a.example", 70, "10.0.0.1");
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    /* addresses of a private domain's name pass */
    ask_with(w, "a.corp", DNS_TYPE_A, true, DNS_FLAG_CD);
    begin_reply(w, w->sent_count - 1, 0x8180);
    add_a("a.corp", 70, "10.0.0.1");
    deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
    assert_records(w, "a.corp 70 1 10.0.0.1;" OPT);
    assert_balance(w, 0);
    world_free(w);
}

/* A validator wants signatures: a record with keys for ECH has none without. */
static void test_validator_ech(void)
{
    static const char ech[] = "\0\1\0\0\1\0\3\2h2\0\5\0\4\xfe\xd\0\0";
    static const char none[] = "\0\1\0\0\1\0\3\2h2";
    static const struct {
        const char *rdata;
        size_t len;
        bool hides, passes;
    } cases[] = {
        { ech, sizeof(ech) - 1, false, true },
        { ech, sizeof(ech) - 1, true, false },
        { none, sizeof(none) - 1, true, true },
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t passed = COUNTER(w, passed);

        w->hides_ech = cases[i].hides;
        ask_with(w, "a.example", DNS_TYPE_HTTPS, true, DNS_FLAG_CD);
        begin_reply(w, w->sent_count - 1, 0x81b0);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_HTTPS,
                cases[i].rdata, cases[i].len);
        deliver(w, w->sent_count - 1, DNS_UPSTREAM_OK);
        assert_answer(w, 0, "a.example", DNS_TYPE_HTTPS);
        g_assert_cmpuint(COUNTER(w, passed) - passed, ==, cases[i].passes);
        if (!cases[i].passes) {
            assert_records(w, "a.example 60 6 invalid 60;" OPT);
        }
        dns_proxy_forget(w->proxy);
    }
    assert_balance(w, 0);
    world_free(w);
}

/* A malformed reply neither passes, nor becomes NODATA. */
static void test_validator_malformed(void)
{
    static const struct {
        uint16_t type;
        const char *rdata;
        size_t len;
    } cases[] = {
        { DNS_TYPE_A, "\xc0\0\2\1\0", 5 },
        { DNS_TYPE_AAAA, "\x20\1\xd\xb8", 4 },
        { DNS_TYPE_HTTPS, "\0", 1 },
        { DNS_TYPE_HTTPS, "\0\1\5a", 4 },
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0\5\xc0\0\2\1\0", 12 },
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0\5\xc0\0\2\1", 11 },
        { DNS_TYPE_HTTPS, "\0\1\0\0\4\0", 6 },
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ask_with(w, "a.example", cases[i].type, true, DNS_FLAG_CD);
        begin_reply(w, i, 0x81b0);
        add_raw(DNS_SECTION_ANSWER, "a.example", cases[i].type,
                cases[i].rdata, cases[i].len);
        deliver(w, i, DNS_UPSTREAM_OK);
        assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", cases[i].type);
        assert_records(w, "OPT 1232 DO high=0 ede=0;");
    }
    g_assert_cmpuint(COUNTER(w, replies_bad), ==, G_N_ELEMENTS(cases));
    assert_balance(w, 0);
    world_free(w);
}

/* Only the proxy knows PTR of the pool's addresses. */
static void test_validator_ptr(void)
{
    World *w = world_new();

    ask_with(w, "9.0.18.198.in-addr.arpa", DNS_TYPE_PTR, true, DNS_FLAG_CD);
    g_assert_cmpuint(w->sent_count, ==, 0);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "9.0.18.198.in-addr.arpa",
                  DNS_TYPE_PTR);
    world_free(w);
}

/* With DO alone addresses are translated, and never have AD. */
static void test_made(void)
{
    World *w = world_new();

    ask_with(w, "a.example", DNS_TYPE_A, true, DNS_FLAG_AD);
    assert_sent(w, 0, "a.example", DNS_TYPE_AAAA);
    assert_sent_with(w, 0, 0, true);
    begin_reply(w, 0, 0x81a0);
    add_aaaa("a.example", 60, "2001:db8::1");
    add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_RRSIG, "sig", 3);
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_A) &
                   DNS_FLAG_AD);
    assert_records(w, "a.example 60 1 198.18.0.1;" OPT);

    /* bogus data is not translated */
    ask_with(w, "a.example", DNS_TYPE_A, true, 0);
    begin_reply(w, 1, 0x8182);
    w->sent[1].reply(w->sent[1].opaque, w->sent[1].request,
                     DNS_UPSTREAM_REFUSED, msg.buf, msg.b.len);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);

    /* AAAA exists, so its denial has no proof */
    ask_with(w, "a.example", DNS_TYPE_AAAA, true, 0);
    begin_reply(w, 2, 0x81a0);
    add_aaaa("a.example", 60, "2001:db8::1");
    add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_RRSIG, "sig", 3);
    deliver(w, 2, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_AAAA) &
                   DNS_FLAG_AD);
    assert_records(w, "a.example 60 6 invalid 60;" OPT);
    world_free(w);
}

/* An unchanged answer has its proof, and AD. */
static void test_proof(void)
{
    World *w = world_new();

    /* NXDOMAIN is for every type */
    ask_with(w, "no.example", DNS_TYPE_A, true, 0);
    begin_reply(w, 0, 0x81a3);
    add_proof("no.example");
    deliver(w, 0, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example",
                                DNS_TYPE_A) & DNS_FLAG_AD);
    assert_records(w, PROOF("no.example") OPT);
    g_assert_cmpuint(COUNTER(w, nxdomain), ==, 1);

    /* the proof of no AAAA may show that there is an A */
    ask_with(w, "a.example", DNS_TYPE_A, true, 0);
    begin_reply(w, 1, 0x81a0);
    add_proof("a.example");
    deliver(w, 1, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_A) &
                   DNS_FLAG_AD);
    assert_records(w, "example 77 6 example 77;" OPT);
    ask_with(w, "a.example", DNS_TYPE_AAAA, true, 0);
    begin_reply(w, 2, 0x81a0);
    add_proof("a.example");
    deliver(w, 2, DNS_UPSTREAM_OK);
    g_assert_true(assert_answer(w, 0, "a.example", DNS_TYPE_AAAA) &
                  DNS_FLAG_AD);
    assert_records(w, PROOF("a.example") OPT);

    /* with a NAT64 A was asked as well */
    w->nat64 = true;
    ask_with(w, "a.example", DNS_TYPE_A, true, 0);
    begin_reply(w, 3, 0x81a0);
    add_proof("b.example");
    deliver(w, 3, DNS_UPSTREAM_OK);
    begin_reply(w, 4, 0x81a0);
    add_proof("a.example");
    deliver(w, 4, DNS_UPSTREAM_OK);
    assert_records(w, PROOF("a.example") OPT);
    w->nat64 = false;

    /* a denial with addresses is not passed unchanged */
    ask_with(w, "a.example", DNS_TYPE_A, true, 0);
    begin_reply(w, 5, 0x81a3);
    add_a("a.example", 70, "10.0.0.1");
    add_proof("a.example");
    deliver(w, 5, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_NXDOMAIN, "a.example", DNS_TYPE_A);
    assert_records(w, "example 77 6 example 77;" OPT);

    /* without DO there are no signatures to pass */
    ask_with(w, "no.example", DNS_TYPE_A, false, 0);
    begin_reply(w, 6, 0x81a3);
    add_proof("no.example");
    deliver(w, 6, DNS_UPSTREAM_OK);
    g_assert_false(assert_answer(w, DNS_RCODE_NXDOMAIN, "no.example",
                                 DNS_TYPE_A) & DNS_FLAG_AD);
    assert_records(w, "example 77 6 example 77;OPT 1232 high=0 ede=-1;");
    assert_balance(w, 0);
    world_free(w);
}

/* AD is passed to clients that ask for it, RFC 6840 section 5.8. */
static void test_ad(void)
{
    static const struct {
        bool dnssec_ok;
        uint16_t flags;
        bool told;
    } cases[] = {
        { false, 0, false },
        { false, DNS_FLAG_CD, false },
        { false, DNS_FLAG_AD, true },
        { true, 0, true },
        { true, DNS_FLAG_CD, true },
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ask_with(w, "a.example", DNS_TYPE_TXT, cases[i].dnssec_ok,
                 cases[i].flags);
        assert_sent_with(w, 2 * i, cases[i].flags, cases[i].dnssec_ok);
        /* a server that sets AD without a request */
        begin_reply(w, 2 * i, 0x81a0);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_TXT, "\2hi", 3);
        deliver(w, 2 * i, DNS_UPSTREAM_OK);
        g_assert_cmpint(!!(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                           DNS_FLAG_AD), ==, cases[i].told);
        /* no AD without the server's AD */
        ask_with(w, "a.example", DNS_TYPE_TXT, cases[i].dnssec_ok,
                 cases[i].flags);
        begin_reply(w, 2 * i + 1, 0x8180);
        add_raw(DNS_SECTION_ANSWER, "a.example", DNS_TYPE_TXT, "\2hi", 3);
        deliver(w, 2 * i + 1, DNS_UPSTREAM_OK);
        g_assert_false(assert_answer(w, 0, "a.example", DNS_TYPE_TXT) &
                       DNS_FLAG_AD);
    }
    world_free(w);
}

/* Bogus, with the Extended DNS Error that says why */
static void deliver_bogus(World *w, size_t i, int ede)
{
    DnsEdns edns = { .udp_size = 1232, .has_ede = true, .ede = ede };

    begin_reply(w, i, 0x8182);
    dns_builder_edns(&msg.b, &edns);
    deliver(w, i, DNS_UPSTREAM_BOGUS);
}

/* A bogus reply becomes SERVFAIL with its reason, for every type. */
static void test_bogus(void)
{
    static const uint16_t types[] = {
        DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT, DNS_TYPE_HTTPS,
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        ask_with(w, "a.example", types[i], false, DNS_FLAG_AD);
        deliver_bogus(w, i, DNS_EDE_SIGNATURE_EXPIRED);
        g_assert_false(assert_answer(w, DNS_RCODE_SERVFAIL, "a.example",
                                     types[i]) & DNS_FLAG_AD);
        assert_records(w, "OPT 1232 high=0 ede=7;");
    }
    /* to a client without EDNS */
    ask(w, "b.example", DNS_TYPE_A);
    deliver_bogus(w, 4, DNS_EDE_RRSIGS_MISSING);
    assert_answer(w, DNS_RCODE_SERVFAIL, "b.example", DNS_TYPE_A);
    assert_records(w, "");
    g_assert_cmpuint(COUNTER(w, servfail_bogus), ==, 5);
    g_assert_cmpuint(w->pool_used, ==, 0);
    assert_balance(w, 0);
    world_free(w);
}

/*
 * RFC 6147 section 5.5, 2: a bogus AAAA does not count as missing, so A does
 * not replace it.  A bogus A beside AAAA is ignored.
 */
static void test_bogus_beside(void)
{
    World *w = world_new();

    w->nat64 = true;
    ask_with(w, "a.example", DNS_TYPE_A, false, 0);
    begin_reply(w, 1, 0x8180);
    add_a("a.example", 60, "192.0.2.1");
    deliver(w, 1, DNS_UPSTREAM_OK);
    deliver_bogus(w, 0, DNS_EDE_DNSSEC_BOGUS);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=6;");

    ask_with(w, "a.example", DNS_TYPE_A, false, 0);
    deliver_bogus(w, 2, DNS_EDE_DNSSEC_BOGUS);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    g_assert_true(w->sent[3].cancelled);

    ask_with(w, "a.example", DNS_TYPE_A, false, 0);
    deliver_bogus(w, 5, DNS_EDE_DNSSEC_BOGUS);
    begin_reply(w, 4, 0x8180);
    add_aaaa("a.example", 60, "2001:db8::1");
    deliver(w, 4, DNS_UPSTREAM_OK);
    assert_answer(w, 0, "a.example", DNS_TYPE_A);
    g_assert_cmpuint(w->pool_used, ==, 1);

    ask_with(w, "a.example", DNS_TYPE_A, false, 0);
    deliver_bogus(w, 7, DNS_EDE_DNSSEC_BOGUS);
    begin_reply(w, 6, 0x8180);
    deliver(w, 6, DNS_UPSTREAM_OK);
    assert_answer(w, DNS_RCODE_SERVFAIL, "a.example", DNS_TYPE_A);
    assert_records(w, "OPT 1232 high=0 ede=6;");
    g_assert_cmpuint(COUNTER(w, servfail_bogus), ==, 2);
    assert_balance(w, 0);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/dnssec/validator", test_validator);
    g_test_add_func("/dns/proxy/dnssec/validator-negative",
                    test_validator_negative);
    g_test_add_func("/dns/proxy/dnssec/validator-addresses",
                    test_validator_addresses);
    g_test_add_func("/dns/proxy/dnssec/validator-ech", test_validator_ech);
    g_test_add_func("/dns/proxy/dnssec/validator-malformed",
                    test_validator_malformed);
    g_test_add_func("/dns/proxy/dnssec/validator-ptr", test_validator_ptr);
    g_test_add_func("/dns/proxy/dnssec/made", test_made);
    g_test_add_func("/dns/proxy/dnssec/proof", test_proof);
    g_test_add_func("/dns/proxy/dnssec/ad", test_ad);
    g_test_add_func("/dns/proxy/dnssec/bogus", test_bogus);
    g_test_add_func("/dns/proxy/dnssec/bogus-beside", test_bogus_beside);
    return g_test_run();
}
