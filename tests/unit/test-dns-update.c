/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFC 2136, sentence by sentence */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/dns-store-fixture.h"
#include "tests/fixtures/dns-update-message.h"
#include "dnsd/update/update.h"

#define LINES_MAX   5
#define NO          { { 0 } }     /* lines */

enum {
    P = DNS_SECTION_ANSWER,
    U = DNS_SECTION_AUTHORITY,
    IN = DNS_CLASS_IN,
    ANY = DNS_CLASS_ANY,
    NONE = DNS_CLASS_NONE,
    A = DNS_TYPE_A,
    NS = DNS_TYPE_NS,
    CNAME = DNS_TYPE_CNAME,
    SOA = DNS_TYPE_SOA,
    TXT = DNS_TYPE_TXT,
    DNSKEY = DNS_TYPE_DNSKEY,
    ALL = DNS_TYPE_ANY,
};

static const ZoneLine zone[] = {
    { "alias.example", CNAME, "host.example" },
    { "deep.below.example", A, "192.0.2.3" },
    { "host.example", A, "192.0.2.1" },
    { "host.example", A, "192.0.2.2" },
    { "host.example", TXT, "hex:0568656c6c6f" },
    { "sub.example", NS, "ns.example" },
};

typedef struct Case {
    const char *what;
    UpdateLine lines[LINES_MAX];
    uint16_t rcode;
    uint32_t serial;            /* afterwards */
    ZoneLine has[LINES_MAX];
    ZoneLine lacks[LINES_MAX];
} Case;

static const Case cases[] = {
    /* --- 3.2: prerequisites --- */
    { "2.4.1 RRset exists", {
          { P, "host.example", ANY, A, 0, NULL },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NOERROR, 2, { { "new.example", A, "192.0.2.9" } }, NO },
    { "2.4.1 RRset does not exist", {
          { P, "host.example", ANY, NS, 0, NULL },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NXRRSET, 1, NO, { { "new.example", A, "192.0.2.9" } } },
    { "2.4.2 RRset with just these values, in any order", {
          { P, "host.example", IN, A, 0, "192.0.2.2" },
          { P, "HOST.example", IN, A, 0, "192.0.2.1" },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NOERROR, 2, NO, NO },
    { "2.4.2 one value is missing", {
          { P, "host.example", IN, A, 0, "192.0.2.2" },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NXRRSET, 1, NO, NO },
    { "2.4.2 one twice is not two", {
          { P, "host.example", IN, A, 0, "192.0.2.2" },
          { P, "host.example", IN, A, 0, "192.0.2.2" },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NXRRSET, 1, NO, NO },
    { "2.4.2 one value is another", {
          { P, "host.example", IN, A, 0, "192.0.2.2" },
          { P, "host.example", IN, A, 0, "192.0.2.7" },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NXRRSET, 1, NO, NO },
    { "2.4.3 RRset exists but must not", {
          { P, "host.example", NONE, A, 0, NULL } },
      DNS_RCODE_YXRRSET, 1, NO, NO },
    { "2.4.3 no such RRset", {
          { P, "host.example", NONE, NS, 0, NULL },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NOERROR, 2, NO, NO },
    { "2.4.4 name in use", {
          { P, "host.example", ANY, ALL, 0, NULL } },
      DNS_RCODE_NOERROR, 1, NO, NO },
    { "2.4.4 an empty non-terminal is not in use", {
          { P, "below.example", ANY, ALL, 0, NULL } },
      DNS_RCODE_NXDOMAIN, 1, NO, NO },
    { "2.4.5 name in use but must not", {
          { P, "host.example", NONE, ALL, 0, NULL } },
      DNS_RCODE_YXDOMAIN, 1, NO, NO },
    { "2.4.5 an empty non-terminal will do", {
          { P, "below.example", NONE, ALL, 0, NULL } },
      DNS_RCODE_NOERROR, 1, NO, NO },
    { "3.2.1 a prerequisite with a TTL", {
          { P, "host.example", ANY, A, 1, NULL } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    { "3.2.1 a prerequisite elsewhere", {
          { P, "host.test", ANY, A, 0, NULL } },
      DNS_RCODE_NOTZONE, 1, NO, NO },
    { "3.2.2 class ANY with RDATA", {
          { P, "host.example", ANY, A, 0, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    { "3.2.3 class NONE with RDATA", {
          { P, "host.example", NONE, A, 0, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    { "3.2.4 another class", {
          { P, "host.example", DNS_CLASS_CH, A, 0, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    /* --- 3.4.1: prescan --- */
    { "3.4.1.2 elsewhere", {
          { U, "new.example", IN, A, 60, "192.0.2.9" },
          { U, "new.test", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NOTZONE, 1, NO, { { "new.example", A, "192.0.2.9" } } },
    { "3.4.1.2 add of a meta type", {
          { U, "new.example", IN, ALL, 60, "192.0.2.9" } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    { "3.4.1.2 removal with a TTL", {
          { U, "host.example", ANY, A, 60, NULL } },
      DNS_RCODE_FORMERR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "3.4.1.2 removal of an RRset with RDATA", {
          { U, "host.example", ANY, A, 0, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "3.4.1.2 removal of a record with a TTL", {
          { U, "host.example", NONE, A, 60, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "3.4.1.2 another class", {
          { U, "host.example", DNS_CLASS_CH, A, 0, "192.0.2.1" } },
      DNS_RCODE_FORMERR, 1, NO, NO },
    { "an A with the RDATA of something else", {
          { U, "new.example", IN, A, 60, "192.0.2.9" },
          { U, "new.example", IN, A, 60, NULL } },
      DNS_RCODE_FORMERR, 1, NO, { { "new.example", A, "192.0.2.9" } } },
    /* --- 3.4.2.2: add --- */
    { "a record that is there is no change", {
          { U, "host.example", IN, A, 300, "192.0.2.1" } },
      DNS_RCODE_NOERROR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "another TTL is one", {
          { U, "host.example", IN, A, 301, "192.0.2.1" } },
      DNS_RCODE_NOERROR, 2, { { "host.example", A, "192.0.2.1" } }, NO },
    { "a CNAME where there are others is ignored", {
          { U, "host.example", IN, CNAME, 300, "x.example" } },
      DNS_RCODE_NOERROR, 1, { { "host.example", A, "192.0.2.1" } },
      { { "host.example", CNAME, "x.example" } } },
    { "others where there is a CNAME are ignored", {
          { U, "alias.example", IN, A, 300, "192.0.2.1" } },
      DNS_RCODE_NOERROR, 1, { { "alias.example", CNAME, "host.example" } },
      { { "alias.example", A, "192.0.2.1" } } },
    { "a CNAME replaces the one that is there", {
          { U, "alias.example", IN, CNAME, 300, "x.example" } },
      DNS_RCODE_NOERROR, 2, { { "alias.example", CNAME, "x.example" } },
      { { "alias.example", CNAME, "host.example" } } },
    { "a SOA with a greater serial replaces it", {
          { U, "example", IN, SOA, 300, "100" } },
      DNS_RCODE_NOERROR, 100, { { "example", SOA, "100" } },
      { { "example", SOA, "1" } } },
    { "a SOA with a lower serial is ignored", {
          { U, "example", IN, SOA, 300, "0" } },
      DNS_RCODE_NOERROR, 1, { { "example", SOA, "1" } }, NO },
    { "a SOA with the same serial is ignored", {
          { U, "example", IN, SOA, 301, "1" } },
      DNS_RCODE_NOERROR, 1, { { "example", SOA, "1" } }, NO },
    { "lower by RFC 1982", {
          { U, "example", IN, SOA, 300, "4000000000" } },
      DNS_RCODE_NOERROR, 1, { { "example", SOA, "1" } }, NO },
    { "neither lower nor greater by RFC 1982", {
          { U, "example", IN, SOA, 300, "2147483649" } },
      DNS_RCODE_NOERROR, 1, { { "example", SOA, "1" } }, NO },
    { "a SOA elsewhere is ignored", {
          { U, "host.example", IN, SOA, 300, "100" } },
      DNS_RCODE_NOERROR, 1, NO, { { "host.example", SOA, "100" } } },
    { "a delegation at a wildcard is ignored", {
          { U, "*.example", IN, NS, 300, "ns.example" } },
      DNS_RCODE_NOERROR, 1, NO, { { "*.example", NS, "ns.example" } } },
    { "an update's own serial is not made greater", {
          { U, "example", IN, SOA, 300, "7" },
          { U, "new.example", IN, A, 60, "192.0.2.9" } },
      DNS_RCODE_NOERROR, 7, { { "new.example", A, "192.0.2.9" } }, NO },
    /* --- 3.4.2.3: remove RRsets --- */
    { "an RRset", {
          { U, "host.example", ANY, A, 0, NULL } },
      DNS_RCODE_NOERROR, 2, { { "host.example", TXT, "hello" } },
      { { "host.example", A, "192.0.2.1" },
        { "host.example", A, "192.0.2.2" } } },
    { "all RRsets of a name", {
          { U, "host.example", ANY, ALL, 0, NULL } },
      DNS_RCODE_NOERROR, 2, NO,
      { { "host.example", A, "192.0.2.1" },
        { "host.example", TXT, "hello" } } },
    { "an RRset that is not there", {
          { U, "host.example", ANY, NS, 0, NULL } },
      DNS_RCODE_NOERROR, 1, NO, NO },
    { "SOA and NS of the apex stay", {
          { U, "example", IN, TXT, 60, "x" },
          { U, "example", ANY, ALL, 0, NULL },
          { U, "example", ANY, NS, 0, NULL },
          { U, "example", ANY, SOA, 0, NULL } },
      DNS_RCODE_NOERROR, 1,
      { { "example", NS, "ns.example" }, { "example", SOA, "1" } },
      { { "example", TXT, "x" } } },
    { "NS elsewhere go", {
          { U, "sub.example", ANY, NS, 0, NULL } },
      DNS_RCODE_NOERROR, 2, NO, { { "sub.example", NS, "ns.example" } } },
    /* --- 3.4.2.4: remove a record --- */
    { "one record", {
          { U, "host.example", NONE, A, 0, "192.0.2.1" } },
      DNS_RCODE_NOERROR, 2, { { "host.example", A, "192.0.2.2" } },
      { { "host.example", A, "192.0.2.1" } } },
    { "one that is not there", {
          { U, "host.example", NONE, A, 0, "192.0.2.7" } },
      DNS_RCODE_NOERROR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "the last NS of the zone stays", {
          { U, "example", NONE, NS, 0, "ns.example" } },
      DNS_RCODE_NOERROR, 1, { { "example", NS, "ns.example" } }, NO },
    { "the last but one goes", {
          { U, "example", IN, NS, 300, "other.example" },
          { U, "example", NONE, NS, 0, "ns.example" } },
      DNS_RCODE_NOERROR, 2, { { "example", NS, "other.example" } },
      { { "example", NS, "ns.example" } } },
    { "the SOA stays", {
          { U, "example", NONE, SOA, 0, "1" } },
      DNS_RCODE_NOERROR, 1, { { "example", SOA, "1" } }, NO },
    /* --- in order --- */
    { "removed, then added again: no change", {
          { U, "host.example", NONE, A, 0, "192.0.2.1" },
          { U, "host.example", IN, A, 300, "192.0.2.1" } },
      DNS_RCODE_NOERROR, 1, { { "host.example", A, "192.0.2.1" } }, NO },
    { "a CNAME in the place of what went before it", {
          { U, "host.example", ANY, ALL, 0, NULL },
          { U, "host.example", IN, CNAME, 300, "x.example" } },
      DNS_RCODE_NOERROR, 2, { { "host.example", CNAME, "x.example" } },
      { { "host.example", A, "192.0.2.1" } } },
    /* --- DNSSEC --- */
    { "records of DNSSEC are refused", {
          { U, "new.example", IN, A, 60, "192.0.2.9" },
          { U, "example", IN, DNSKEY, 60, "x.example" } },
      DNS_RCODE_REFUSED, 1, NO, { { "new.example", A, "192.0.2.9" } } },
};

static DnsUpdateRule all_types;
static DnsUpdatePolicy anybody = { &all_types, 1 };

static void allow_all(void)
{
    static const uint16_t types[] = { A, NS, CNAME, SOA, TXT, DNSKEY };

    all_types = (DnsUpdateRule) {
        .key = zone_name("."),
        .below = zone_name("example"),
        .types = G_N_ELEMENTS(types),
    };
    memcpy(all_types.type, types, sizeof(types));
}

static DnsUpdateResult send_update(StoreBed *bed, const DnsUpdatePolicy *policy,
                                   const char *origin, const UpdateLine *lines)
{
    g_autofree uint8_t *msg = g_malloc(DNS_MSG_MAX);
    size_t len = update_message(msg, origin, lines);
    DnsUpdateResult result;

    dns_update(bed->store, policy, msg, len, NULL, &result);
    g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
    return result;
}

static void test_case(gconstpointer opaque)
{
    const Case *c = opaque;
    DnsUpdateResult result;
    StoreBed bed;

    store_bed_make(&bed, "example", zone, G_N_ELEMENTS(zone));
    result = send_update(&bed, &anybody, "example", c->lines);
    g_assert_cmpuint(result.rcode, ==, c->rcode);
    g_assert_cmpint(result.why != NULL, ==, c->rcode != DNS_RCODE_NOERROR);
    g_assert_cmpint(result.has_changed, ==, c->serial != 1);
    g_assert_cmpuint(dns_store_serial(bed.store), ==, c->serial);
    for (unsigned i = 0; i < LINES_MAX && c->has[i].owner; i++) {
        g_assert_true(store_bed_has(&bed, &c->has[i]));
    }
    for (unsigned i = 0; i < LINES_MAX && c->lacks[i].owner; i++) {
        g_assert_false(store_bed_has(&bed, &c->lacks[i]));
    }
    store_bed_free(&bed);
}

/* --- zones and rights ----------------------------------------------------- */

static void test_zone_section(void)
{
    static const UpdateLine none[] = { { 0 } };
    uint8_t msg[DNS_MSG_MAX];
    size_t len = update_message(msg, "example", none);
    DnsQuestion question;
    DnsUpdateResult result;
    StoreBed bed;

    g_assert_cmpint(dns_update_zone(msg, len, &question), ==, 0);
    msg[len - 3] = A;           /* not SOA */
    g_assert_cmpint(dns_update_zone(msg, len, &question), ==, -EBADMSG);
    msg[len - 3] = SOA;
    put_be16(msg + 4, 2);
    g_assert_cmpint(dns_update_zone(msg, len, &question), ==, -EBADMSG);

    store_bed_make(&bed, "example", zone, G_N_ELEMENTS(zone));
    result = send_update(&bed, &anybody, "test", none);
    g_assert_cmpuint(result.rcode, ==, DNS_RCODE_NOTAUTH);
    store_bed_free(&bed);
}

static DnsUpdateRule rule(const char *key, const char *below, uint16_t type)
{
    return (DnsUpdateRule) {
        .key = zone_name(key),
        .below = zone_name(below),
        .types = type ? 1 : 0,
        .type = { type },
    };
}

static uint16_t try_update(StoreBed *bed, const DnsUpdateRule *rules,
                           size_t count, const TsigKey *key,
                           const char *owner, uint16_t type, const char *rdata)
{
    UpdateLine lines[] = {
        { U, owner, rdata ? IN : ANY, type, rdata ? 60 : 0, rdata }, { 0 },
    };
    DnsUpdatePolicy policy = { rules, count };
    uint8_t msg[DNS_MSG_MAX];
    size_t len = update_message(msg, "example", lines);
    DnsUpdateResult result;

    dns_update(bed->store, &policy, msg, len, key, &result);
    return result.rcode;
}

static void test_policy(void)
{
    TsigKey key = { .name = zone_name("k.example") };
    TsigKey other = { .name = zone_name("other.example") };
    DnsUpdateRule rules[] = {
        rule("k.example", "a.example", 0), rule("k.example", "example", TXT),
    };
    DnsUpdateRule self = rule("k.example", "example", 0);
    StoreBed bed;

    self.only_self = true;
    store_bed_make(&bed, "example", zone, G_N_ELEMENTS(zone));
    /* Unsigned, or by another key */
    g_assert_cmpuint(try_update(&bed, rules, 2, NULL, "a.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(try_update(&bed, rules, 2, &other, "a.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(try_update(&bed, rules, 0, &key, "a.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_REFUSED);
    /* By name, by type */
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "b.a.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_NOERROR);
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "b.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "b.example", TXT, "x"),
                     ==, DNS_RCODE_NOERROR);
    /* All RRsets of a name need a right for each of them. */
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "host.example", ALL,
                                NULL), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "b.example", ALL, NULL),
                     ==, DNS_RCODE_NOERROR);
    /* The apex's NS are not among "all types". */
    rules[1].types = 0;
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "example", NS,
                                "x.example"), ==, DNS_RCODE_REFUSED);
    g_assert_cmpuint(try_update(&bed, rules, 2, &key, "sub.example", NS,
                                "x.example"), ==, DNS_RCODE_NOERROR);
    /* A host that may change its own records */
    g_assert_cmpuint(try_update(&bed, &self, 1, &key, "K.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_NOERROR);
    g_assert_cmpuint(try_update(&bed, &self, 1, &key, "x.k.example", A,
                                "192.0.2.1"), ==, DNS_RCODE_REFUSED);
    store_bed_free(&bed);
}

static void test_signed(void)
{
    static const ZoneLine lines[] = {
        { "example", DNS_TYPE_RRSIG, "6" },
        { "example", DNS_TYPE_NSEC, "hex:0765786d616d706c65000001" },
    };
    static const UpdateLine add[] = {
        { U, "new.example", IN, A, 60, "192.0.2.9" }, { 0 },
    };
    DnsUpdateResult result;
    StoreBed bed;

    store_bed_make(&bed, "example", lines, G_N_ELEMENTS(lines));
    result = send_update(&bed, &anybody, "example", add);
    g_assert_cmpuint(result.rcode, ==, DNS_RCODE_REFUSED);
    g_assert_nonnull(strstr(result.why, "the zone is signed"));
    store_bed_free(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    allow_all();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/dns-update/%s",
                                                cases[i].what);

        g_test_add_data_func(path, &cases[i], test_case);
    }
    g_test_add_func("/dns-update/zone-section", test_zone_section);
    g_test_add_func("/dns-update/policy", test_policy);
    g_test_add_func("/dns-update/signed", test_signed);
    return g_test_run();
}
