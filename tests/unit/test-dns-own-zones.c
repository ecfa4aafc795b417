/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones of the host before its servers, which the test simulates */
#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/own/zones.h"
#include "tests/fixtures/zone-fixture.h"

static const ZoneLine lines[] = {
    { "example", DNS_TYPE_NS, "ns.example" },
    { "example", DNS_TYPE_SOA, "4711" },
    { "alias.example", DNS_TYPE_CNAME, "www.example" },
    { "away.example", DNS_TYPE_CNAME, "cdn.test" },
    { "ns.example", DNS_TYPE_AAAA, "2001:db8::53" },
    { "sub.example", DNS_TYPE_NS, "ns.sub.example" },
    { "ns.sub.example", DNS_TYPE_AAAA, "2001:db8::54" },
    { "www.example", DNS_TYPE_AAAA, "2001:db8::80" },
};

/* The simulated servers, and the proxy */
typedef struct Bed {
    DnsOwnZones *zones;
    unsigned asked;             /* of the servers */
    unsigned cancelled;
    DnsQuestion question;       /* the last of those */
    DnsReplyFn *reply;
    void *opaque;
    uint64_t request;
    unsigned replies;           /* that have come */
    DnsUpstreamStatus status;
    uint8_t msg[1024];
    size_t len;
} Bed;

static int servers_send(void *upstream, const uint8_t *query, size_t len,
                        DnsReplyFn *reply, void *opaque, uint64_t request)
{
    Bed *bed = upstream;
    DnsCursor cursor;

    g_assert_cmpint(dns_cursor_init(&cursor, query, len), ==, 0);
    g_assert_cmpint(dns_cursor_question(&cursor, &bed->question), ==, 1);
    bed->asked++;
    bed->reply = reply;
    bed->opaque = opaque;
    bed->request = request;
    return 0;
}

static void servers_cancel(void *upstream, void *opaque, uint64_t request)
{
    Bed *bed = upstream;

    g_assert_true(opaque == bed->opaque && request == bed->request);
    bed->cancelled++;
}

static const DnsUpstreamOps servers = {
    .send = servers_send,
    .cancel = servers_cancel,
};

static void take_reply(void *opaque, uint64_t request,
                       DnsUpstreamStatus status, const uint8_t *msg,
                       size_t len)
{
    Bed *bed = opaque;

    g_assert_cmpuint(request, ==, 7);
    g_assert_cmpuint(len, <=, sizeof(bed->msg));
    bed->replies++;
    bed->status = status;
    bed->len = len;
    if (len) {
        memcpy(bed->msg, msg, len);
    }
}

static char *write_image(const uint8_t *octets, size_t len)
{
    g_autoptr(GError) err = NULL;
    char *path;
    int fd = g_file_open_tmp("own-zone-XXXXXX", &path, &err);

    g_assert_no_error(err);
    close(fd);
    g_file_set_contents(path, (const char *)octets, len, &err);
    g_assert_no_error(err);
    return path;
}

static DnsOwnZone *read_image(const uint8_t *octets, size_t len, GError **err)
{
    g_autofree char *path = write_image(octets, len);
    DnsOwnZone *zone = dns_own_zone_read(path, err);

    g_unlink(path);
    return zone;
}

static DnsOwnZone *make_zone(const char *origin, const ZoneLine *of,
                             size_t count)
{
    g_autoptr(GError) err = NULL;
    ZoneMade made = zone_make(origin, of, count);
    DnsOwnZone *zone = read_image(made.file, made.len, &err);

    g_assert_no_error(err);
    g_free(made.file);
    return zone;
}

static void bed_init(Bed *bed)
{
    *bed = (Bed) { .zones = dns_own_zones_new(&servers, bed) };
    g_assert_null(dns_own_zones_set(
        bed->zones, 0, make_zone("example", lines, G_N_ELEMENTS(lines)),
        NULL));
}

static void bed_clear(Bed *bed)
{
    dns_own_zones_free(bed->zones);
}

static void ask(Bed *bed, const char *name, uint16_t type)
{
    DnsQuestion question = {
        .name = zone_name(name), .type = type, .qclass = DNS_CLASS_IN,
    };
    uint8_t query[DNS_QUERY_MAX];
    size_t len = dns_query_build(query, &question, DNS_FLAG_RD, false);

    g_assert_cmpint(dns_own_zones_ops.send(bed->zones, query, len, take_reply,
                                           bed, 7), ==, 0);
}

/* "owner type rdata" of each record of the answer section, and the RCODE */
static char *answer_of(const Bed *bed)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char owner[DNS_NAME_TEXT_MAX], more[DNS_NAME_TEXT_MAX];
    DnsQuestion question;
    struct in6_addr addr;
    DnsCursor cursor;
    DnsName name;
    DnsRr rr;

    g_assert_cmpint(dns_cursor_init(&cursor, bed->msg, bed->len), ==, 0);
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 1);
    dns_name_to_text(&question.name, owner);
    g_string_append_printf(text, "%s? %u", owner,
                           bed->msg[3] & DNS_FLAGS_RCODE);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.section != DNS_SECTION_ANSWER) {
            continue;
        }
        dns_name_to_text(&rr.name, owner);
        if (rr.type == DNS_TYPE_CNAME) {
            g_assert_cmpint(dns_rdata_name(&cursor, &rr, &name), ==, 0);
            dns_name_to_text(&name, more);
        } else {
            g_assert_cmpint(dns_rdata_aaaa(&cursor, &rr, &addr), ==, 0);
            inet_ntop(AF_INET6, &addr, more, sizeof(more));
        }
        g_string_append_printf(text, "; %s %s", owner, more);
    }
    return g_strdup(text->str);
}

static void assert_reply(Bed *bed, const char *want)
{
    g_autofree char *text = NULL;

    g_assert_cmpuint(bed->replies, ==, 1);
    g_assert_cmpint(bed->status, ==, DNS_UPSTREAM_OK);
    text = answer_of(bed);
    g_assert_cmpstr(text, ==, want);
    bed->replies = 0;
}

/* The servers answer their last query. */
static void serve(Bed *bed, DnsRcode rcode, const char *addr)
{
    uint8_t out[512];
    struct in6_addr addr6;
    DnsBuilder b;

    dns_builder_init(&b, out, sizeof(out), 1,
                     DNS_FLAG_QR | DNS_FLAG_RA | DNS_FLAG_AD | rcode);
    g_assert_cmpint(dns_builder_question(&b, &bed->question), ==, 0);
    if (addr) {
        inet_pton(AF_INET6, addr, &addr6);
        g_assert_cmpint(dns_builder_aaaa(&b, DNS_SECTION_ANSWER,
                                         &bed->question.name, 60, &addr6),
                        ==, 0);
    }
    bed->reply(bed->opaque, bed->request, DNS_UPSTREAM_OK, out, b.len);
}

static void test_within(void)
{
    Bed bed;

    bed_init(&bed);
    ask(&bed, "www.example", DNS_TYPE_AAAA);
    assert_reply(&bed, "www.example? 0; www.example 2001:db8::80");
    ask(&bed, "alias.example", DNS_TYPE_AAAA);
    assert_reply(&bed, "alias.example? 0; alias.example www.example; "
                 "www.example 2001:db8::80");
    /* it exists, and has none */
    ask(&bed, "alias.example", DNS_TYPE_A);
    assert_reply(&bed, "alias.example? 0; alias.example www.example");
    ask(&bed, "none.example", DNS_TYPE_AAAA);
    assert_reply(&bed, "none.example? 3");
    g_assert_cmpuint(bed.asked, ==, 0);
    g_assert_cmpuint(dns_own_zones_counters(bed.zones)->answers, ==, 4);
    bed_clear(&bed);
}

/* A name above a zone exists, even if servers deny it: RFC 8020. */
static void test_above(void)
{
    static const char *const others[] = {
        "example", "www.example", "ample", "test",
    };
    DnsName name;
    Bed bed;

    bed_init(&bed);
    dns_name_from_text(&name, ".");
    g_assert_true(dns_own_zones_is_above(bed.zones, &name));
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        dns_name_from_text(&name, others[i]);
        g_assert_false(dns_own_zones_is_above(bed.zones, &name));
    }
    bed_clear(&bed);
}

static void test_outside(void)
{
    Bed bed;

    bed_init(&bed);
    ask(&bed, "www.test", DNS_TYPE_AAAA);
    g_assert_cmpuint(bed.asked, ==, 1);
    serve(&bed, DNS_RCODE_NOERROR, "2001:db8::1");
    assert_reply(&bed, "www.test? 0; www.test 2001:db8::1");
    /* a delegation is for the servers to follow */
    ask(&bed, "www.sub.example", DNS_TYPE_AAAA);
    g_assert_cmpuint(bed.asked, ==, 2);
    g_assert_cmpuint(dns_own_zones_counters(bed.zones)->referrals, ==, 1);
    dns_own_zones_ops.cancel(bed.zones, &bed, 7);
    g_assert_cmpuint(bed.cancelled, ==, 1);
    bed_clear(&bed);
}

static void test_alias_leads_out(void)
{
    Bed bed;

    bed_init(&bed);
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    g_assert_cmpuint(bed.replies, ==, 0);
    serve(&bed, DNS_RCODE_NOERROR, "2001:db8::c");
    assert_reply(&bed, "away.example? 0; away.example cdn.test; "
                 "cdn.test 2001:db8::c");
    /* of the zone nothing is validated */
    g_assert_cmphex(bed.msg[3] & DNS_FLAG_AD, ==, 0);
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    serve(&bed, DNS_RCODE_NXDOMAIN, NULL);
    assert_reply(&bed, "away.example? 3; away.example cdn.test");
    /* The question is for the alias itself. */
    ask(&bed, "away.example", DNS_TYPE_CNAME);
    assert_reply(&bed, "away.example? 0; away.example cdn.test");
    g_assert_cmpuint(bed.asked, ==, 2);
    bed_clear(&bed);
}

static void test_alias_to_another_zone(void)
{
    static const ZoneLine more[] = {
        { "test", DNS_TYPE_NS, "ns.example" },
        { "test", DNS_TYPE_SOA, "1" },
        { "back.test", DNS_TYPE_CNAME, "round.example" },
        { "cdn.test", DNS_TYPE_AAAA, "2001:db8::cd" },
        { "far.test", DNS_TYPE_CNAME, "away.example" },
    };
    static const ZoneLine round[] = {
        { "example", DNS_TYPE_NS, "ns.example" },
        { "example", DNS_TYPE_SOA, "4712" },
        { "away.example", DNS_TYPE_CNAME, "cdn.test" },
        { "out.example", DNS_TYPE_CNAME, "www.far.test" },
        { "round.example", DNS_TYPE_CNAME, "back.test" },
    };
    uint8_t query[DNS_QUERY_MAX];
    DnsQuestion question = { .name = zone_name("round.example"),
                             .type = DNS_TYPE_AAAA, .qclass = DNS_CLASS_IN };
    Bed bed;

    bed_init(&bed);
    dns_own_zone_free(dns_own_zones_set(
        bed.zones, 0, make_zone("example", round, G_N_ELEMENTS(round)), NULL));
    dns_own_zones_set(bed.zones, 1,
                      make_zone("test", more, G_N_ELEMENTS(more)), NULL);
    ask(&bed, "far.test", DNS_TYPE_AAAA);
    assert_reply(&bed, "far.test? 0; far.test away.example; "
                 "away.example cdn.test; cdn.test 2001:db8::cd");
    /* an endless loop */
    g_assert_cmpint(dns_own_zones_ops.send(
                        bed.zones, query,
                        dns_query_build(query, &question, 0, false),
                        take_reply, &bed, 7), ==, -ELOOP);
    g_assert_cmpuint(bed.asked, ==, 0);
    g_assert_cmpuint(bed.replies, ==, 0);
    bed_clear(&bed);
}

static void test_alias_ends(void)
{
    static const uint8_t garbage[5];
    Bed bed;

    bed_init(&bed);
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    bed.reply(bed.opaque, bed.request, DNS_UPSTREAM_TIMEOUT, NULL, 0);
    g_assert_cmpint(bed.status, ==, DNS_UPSTREAM_TIMEOUT);
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    bed.reply(bed.opaque, bed.request, DNS_UPSTREAM_OK, garbage,
              sizeof(garbage));
    g_assert_cmpint(bed.status, ==, DNS_UPSTREAM_BADREPLY);
    g_assert_cmpuint(bed.replies, ==, 2);
    /* The asker has cancelled. */
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    dns_own_zones_ops.cancel(bed.zones, &bed, 7);
    g_assert_cmpuint(bed.cancelled, ==, 1);
    /* Freeing the zones does the same. */
    ask(&bed, "away.example", DNS_TYPE_AAAA);
    bed_clear(&bed);
    g_assert_cmpuint(bed.cancelled, ==, 2);
    g_assert_cmpuint(bed.replies, ==, 2);
}

static void test_change(void)
{
    static const ZoneLine newer[] = {
        { "example", DNS_TYPE_NS, "ns.example" },
        { "example", DNS_TYPE_SOA, "4712" },
        { "www.example", DNS_TYPE_AAAA, "2001:db8::81" },
    };
    g_autoptr(GError) err = NULL;
    DnsOwnZone *zone;
    Bed bed;

    bed_init(&bed);
    zone = make_zone("example", newer, G_N_ELEMENTS(newer));
    g_assert_true(dns_own_zones_set(bed.zones, 1, zone, &err) == zone);
    g_assert_cmpstr(err->message, ==, "another file is of the same zone");
    ask(&bed, "www.example", DNS_TYPE_AAAA);
    assert_reply(&bed, "www.example? 0; www.example 2001:db8::80");
    dns_own_zone_free(dns_own_zones_set(bed.zones, 0, zone, NULL));
    ask(&bed, "www.example", DNS_TYPE_AAAA);
    assert_reply(&bed, "www.example? 0; www.example 2001:db8::81");
    bed_clear(&bed);
}

static void assert_wrong(const uint8_t *octets, size_t len, const char *why)
{
    g_autoptr(GError) err = NULL;

    g_assert_null(read_image(octets, len, &err));
    g_assert_cmpstr(err->message, ==, why);
}

static void test_wrong_files(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneMade delta = zone_make_delta("example", lines, G_N_ELEMENTS(lines));
    g_autoptr(GError) err = NULL;

    g_assert_null(dns_own_zone_read("/nonexistent", &err));
    g_assert_cmpstr(err->message, ==, "No such file or directory");
    g_clear_error(&err);
    g_assert_null(dns_own_zone_read("/dev/zero", &err));
    g_assert_cmpstr(err->message, ==, "this is no regular file");
    assert_wrong(made.file, 0, "the file has 0 octets; an image has some, and "
                 "at most 268435456 to be served to a guest");
    assert_wrong(delta.file, delta.len,
                 "these are changes to a zone and no whole one");
    made.file[ZONE_PAGE + 1] ^= 1;
    assert_wrong(made.file, made.len,
                 "NODES at offset 4096: the page's checksum is wrong");
    g_free(made.file);
    g_free(delta.file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/own-zones/within", test_within);
    g_test_add_func("/own-zones/above", test_above);
    g_test_add_func("/own-zones/outside", test_outside);
    g_test_add_func("/own-zones/alias-leads-out", test_alias_leads_out);
    g_test_add_func("/own-zones/alias-to-another-zone",
                    test_alias_to_another_zone);
    g_test_add_func("/own-zones/alias-ends", test_alias_ends);
    g_test_add_func("/own-zones/change", test_change);
    g_test_add_func("/own-zones/wrong-files", test_wrong_files);
    return g_test_run();
}
