/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers from one store to another */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/dns-xfr-fixture.h"

#define HOSTS           300

/* --- AXFR ----------------------------------------------------------------- */

static void axfr(XfrPair *p)
{
    p->force_axfr = true;
    g_assert_cmpint(xfr_transfer(p), ==, DNS_XFR_IMAGE);
    g_assert_cmpint(p->kind, ==, DNS_XFR_AXFR);
    g_assert_false(xfr_is_same(p));
    xfr_replace(p);
    g_assert_true(xfr_is_same(p));
    p->force_axfr = false;
}

static void test_axfr(void)
{
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, HOSTS);
    axfr(&p);
    g_assert_cmpuint(p.messages, ==, 1);
    xfr_pair_free(&p);
}

static void test_axfr_signed_many(void)
{
    XfrPair p;

    xfr_pair_make(&p);
    for (unsigned turn = 0; turn < 2; turn++) {
        DnsName name = zone_name("k.example");

        xfr_add_hosts(&p.primary, turn * HOSTS, (turn + 1) * HOSTS);
        p.key = turn ? tsig_keys_find(p.keys, &name) : NULL;
        p.room = 1500;
        axfr(&p);
        g_assert_cmpuint(p.messages, >, 5);
    }
    xfr_pair_free(&p);
}

/* The zone changes during the transfer, which still sends the old version. */
static XfrPair *changing;

static void change_primary(unsigned number, uint8_t *msg, size_t *len)
{
    xfr_add_hosts(&changing->primary, HOSTS + number, HOSTS + number + 1);
    dns_merger_wait(changing->primary.merger);
}

static void test_axfr_of_a_moment(void)
{
    ZoneLine last = { "h299.example", DNS_TYPE_TXT, "h299.example" };
    ZoneLine later = { "h300.example", DNS_TYPE_TXT, "h300.example" };
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, HOSTS);
    changing = &p;
    p.spoil = change_primary;
    p.room = 1500;
    p.force_axfr = true;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_IMAGE);
    xfr_replace(&p);
    g_assert_true(store_bed_has(&p.secondary, &last));
    g_assert_false(store_bed_has(&p.secondary, &later));
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, HOSTS + 1);
    /* The missed changes come by IXFR. */
    p.spoil = NULL;
    p.force_axfr = false;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_CHANGED);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(xfr_is_same(&p));
    xfr_pair_free(&p);
}

/* --- IXFR ----------------------------------------------------------------- */

static void begin_alike(XfrPair *p)
{
    xfr_pair_make(p);
    p->primary.history_max = 1 << 24;
    store_bed_close(&p->primary);
    store_bed_open(&p->primary);
    xfr_add_hosts(&p->primary, 0, 10);
    axfr(p);
}

static void test_ixfr(void)
{
    static const ZoneLine gone = { "h3.example", DNS_TYPE_TXT, "h3.example" };
    DnsName key = zone_name("k.example");
    XfrPair p;

    begin_alike(&p);
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_CURRENT);
    g_assert_cmpint(p.kind, ==, DNS_XFR_SOA);
    for (unsigned turn = 0; turn < 3; turn++) {
        p.key = turn == 1 ? tsig_keys_find(p.keys, &key) : NULL;
        p.room = turn == 2 ? 700 : DNS_MSG_MAX;
        xfr_add_hosts(&p.primary, 10 + 10 * turn, 20 + 10 * turn);
        if (turn == 0) {
            g_assert_cmpint(store_bed_remove(&p.primary, &gone), ==, 0);
            g_assert_cmpint(dns_store_commit(p.primary.store), ==, 0);
        }
        g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_CHANGED);
        g_assert_cmpint(p.kind, ==, DNS_XFR_IXFR);
        g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
        g_assert_true(xfr_is_same(&p));
    }
    g_assert_cmpuint(p.messages, >, 1);
    xfr_pair_free(&p);
}

/* The journal does not have such old changes. */
static void test_ixfr_as_axfr(void)
{
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, 10);
    store_bed_close(&p.secondary);
    store_bed_open(&p.secondary);
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_CHANGED);
    dns_store_abandon(p.secondary.store);
    p.primary.history_max = 1;
    store_bed_close(&p.primary);
    store_bed_open(&p.primary);
    xfr_add_hosts(&p.primary, 10, 30);
    dns_merger_wait(p.primary.merger);
    xfr_add_hosts(&p.primary, 30, 50);
    dns_merger_wait(p.primary.merger);
    xfr_add_hosts(&p.primary, 50, 60);
    dns_merger_wait(p.primary.merger);
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_IMAGE);
    g_assert_cmpint(p.kind, ==, DNS_XFR_AS_AXFR);
    xfr_replace(&p);
    g_assert_true(xfr_is_same(&p));
    xfr_pair_free(&p);
}

static void test_ixfr_udp(void)
{
    XfrPair p;

    begin_alike(&p);
    p.is_udp = true;
    p.room = DNS_UDP_MIN;
    xfr_add_hosts(&p.primary, 10, 11);
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_CHANGED);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(xfr_is_same(&p));
    /* An answer that does not fit is the SOA alone. */
    xfr_add_hosts(&p.primary, 11, 40);
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_MORE);
    g_assert_cmpint(p.kind, ==, DNS_XFR_SOA);
    g_assert_cmpuint(p.messages, ==, 1);
    xfr_pair_free(&p);
}

/* --- what is wrong -------------------------------------------------------- */

/* The last A of an answer becomes another one. */
static void spoil_change(unsigned number, uint8_t *msg, size_t *len)
{
    for (size_t i = DNS_HEADER_LEN; i + 4 < *len; i++) {
        if (!memcmp(msg + i, "h5.ex", 5)) {
            msg[i + 1] = '6';
        }
    }
}

static void test_changes_that_do_not_fit(void)
{
    static const ZoneLine gone = { "h5.example", DNS_TYPE_TXT, "h5.example" };
    uint32_t before;
    XfrPair p;

    begin_alike(&p);
    before = dns_store_serial(p.secondary.store);
    xfr_add_hosts(&p.primary, 10, 12);
    g_assert_cmpint(store_bed_remove(&p.primary, &gone), ==, 0);
    g_assert_cmpint(dns_store_commit(p.primary.store), ==, 0);
    p.spoil = spoil_change;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_AGAIN);
    g_assert_cmpstr(p.why, ==, "the changes do not fit the zone");
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, before);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(store_bed_has(&p.secondary, &gone));
    p.spoil = NULL;
    p.force_axfr = true;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_IMAGE);
    xfr_replace(&p);
    g_assert_true(xfr_is_same(&p));
    xfr_pair_free(&p);
}

static void flip_second(unsigned number, uint8_t *msg, size_t *len)
{
    msg[*len / 2] ^= number == 1;
}

static void be_refused(unsigned number, uint8_t *msg, size_t *len)
{
    put_be16(msg + 2, get_be16(msg + 2) | DNS_RCODE_REFUSED);
}

static void have_no_ixfr(unsigned number, uint8_t *msg, size_t *len)
{
    put_be16(msg + 2, get_be16(msg + 2) | DNS_RCODE_NOTIMP);
}

static void have_other_id(unsigned number, uint8_t *msg, size_t *len)
{
    msg[0] ^= 1;
}

static void be_cut(unsigned number, uint8_t *msg, size_t *len)
{
    *len -= number == 1 ? 3 : 0;
}

/* The number of the SOA's serial, counted from 0, becomes another one. */
static void spoil_serial(uint8_t *msg, size_t len, unsigned number,
                         uint32_t serial)
{
    DnsCursor cursor;
    DnsRr rr;

    g_assert_cmpint(dns_cursor_init(&cursor, msg, len), ==, 0);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.type == DNS_TYPE_SOA && number-- == 0) {
            put_be32(msg + rr.rdata + rr.rdlength - 20, serial);
            return;
        }
    }
    g_assert_not_reached();
}

/* The changes begin at another serial than was asked for. */
static void begin_elsewhere(unsigned number, uint8_t *msg, size_t *len)
{
    spoil_serial(msg, *len, 1, 2);
}

/* They end at 3, where the first and the last SOA say 4. */
static void end_early(unsigned number, uint8_t *msg, size_t *len)
{
    spoil_serial(msg, *len, 0, 4);
    spoil_serial(msg, *len, 5, 4);
}

static void assert_misled(void (*spoil)(unsigned, uint8_t *, size_t *),
                          const char *why)
{
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, 2);
    p.spoil = spoil;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_AGAIN);
    g_assert_cmpstr(p.why, ==, why);
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, 1);
    xfr_pair_free(&p);
}

static void test_misled(void)
{
    assert_misled(begin_elsewhere, "there is another SOA");
    assert_misled(end_early,
                  "the changes do not lead to the serial of its SOA");
}

static void assert_spoilt(void (*spoil)(unsigned, uint8_t *, size_t *),
                          bool is_signed, bool force_axfr, DnsXfrState state)
{
    DnsName key = zone_name("k.example");
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, HOSTS);
    p.key = is_signed ? tsig_keys_find(p.keys, &key) : NULL;
    p.room = 1500;
    p.force_axfr = force_axfr;
    p.spoil = spoil;
    g_assert_cmpint(xfr_transfer(&p), ==, state);
    g_assert_cmpstr(p.why, !=, "");
    g_assert_false(g_file_test(p.path, G_FILE_TEST_EXISTS));
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, 1);
    xfr_pair_free(&p);
}

static void test_spoilt(void)
{
    assert_spoilt(flip_second, true, true, DNS_XFR_FAILED);
    assert_spoilt(flip_second, true, false, DNS_XFR_FAILED);
    assert_spoilt(be_refused, false, true, DNS_XFR_FAILED);
    assert_spoilt(have_no_ixfr, false, false, DNS_XFR_AGAIN);
    assert_spoilt(have_no_ixfr, false, true, DNS_XFR_FAILED);
    assert_spoilt(be_refused, false, false, DNS_XFR_AGAIN);
    assert_spoilt(have_other_id, false, true, DNS_XFR_FAILED);
    assert_spoilt(be_cut, false, true, DNS_XFR_FAILED);
    assert_spoilt(be_cut, false, false, DNS_XFR_AGAIN);
}

/* --- which serial, and how much ------------------------------------------- */

/* The state behind an answer that is an SOA with this serial, or nothing */
static DnsXfrState ask_soa(uint32_t ours, uint32_t theirs, uint16_t flags)
{
    DnsXfrInOptions options = {
        .zone = zone_name("example"), .rrclass = DNS_CLASS_IN,
        .ask = DNS_XFR_ASK_SOA, .serial = ours,
    };
    DnsSoa soa = {
        .mname = zone_name("ns.example"), .rname = zone_name("h.example"),
        .serial = theirs,
    };
    DnsXfrIn *in = dns_xfr_in_new(&options, 7);
    DnsQuestion question;
    uint8_t msg[512];
    DnsBuilder builder;
    DnsCursor cursor;
    DnsXfrState state;
    int len = dns_xfr_in_query(in, msg, sizeof(msg), 0);

    g_assert_cmpint(len, >, 0);
    g_assert_cmpint(dns_cursor_init(&cursor, msg, len), ==, 0);
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 1);
    g_assert_cmpuint(question.type, ==, DNS_TYPE_SOA);
    dns_builder_init(&builder, msg, sizeof(msg), 7, DNS_FLAG_QR | flags);
    dns_builder_question(&builder, &question);
    if (theirs) {
        dns_builder_soa(&builder, DNS_SECTION_ANSWER, &options.zone, 300,
                        &soa);
    }
    state = dns_xfr_in_message(in, msg, builder.len, 0);
    g_assert_cmpuint(dns_xfr_in_serial(in), ==,
                     state == DNS_XFR_FAILED ? 0 : theirs);
    dns_xfr_in_free(in);
    return state;
}

static void test_soa(void)
{
    g_assert_cmpint(ask_soa(5, 5, DNS_FLAG_AA), ==, DNS_XFR_CURRENT);
    g_assert_cmpint(ask_soa(5, 6, DNS_FLAG_AA), ==, DNS_XFR_NEWER);
    g_assert_cmpint(ask_soa(5, 4, DNS_FLAG_AA), ==, DNS_XFR_OLDER);
    /* RFC 1982: the serial has wrapped around. */
    g_assert_cmpint(ask_soa(4294967295, 1, DNS_FLAG_AA), ==, DNS_XFR_NEWER);
    g_assert_cmpint(ask_soa(1, 4294967295, DNS_FLAG_AA), ==, DNS_XFR_OLDER);
    /* A server without authority, or without the zone, is not trusted. */
    g_assert_cmpint(ask_soa(5, 6, 0), ==, DNS_XFR_FAILED);
    g_assert_cmpint(ask_soa(5, 0, DNS_FLAG_AA), ==, DNS_XFR_FAILED);
    g_assert_cmpint(ask_soa(5, 6, DNS_FLAG_AA | DNS_RCODE_REFUSED), ==,
                    DNS_XFR_FAILED);
}

static void ignore(unsigned number, uint8_t *msg, size_t *len)
{
}

static void test_too_large(void)
{
    XfrPair p;

    xfr_pair_make(&p);
    xfr_add_hosts(&p.primary, 0, HOSTS);
    p.len_max = 1000;
    p.force_axfr = true;
    p.spoil = ignore;
    g_assert_cmpint(xfr_transfer(&p), ==, DNS_XFR_FAILED);
    g_assert_cmpint(p.reason, ==, DNS_XFR_TOO_LARGE);
    g_assert_false(g_file_test(p.path, G_FILE_TEST_EXISTS));
    xfr_pair_free(&p);
}

static void test_refused_queries(void)
{
    static const struct {
        const char *name;
        uint16_t type;
        bool is_udp;
        uint16_t rcode;
    } cases[] = {
        { "other", DNS_TYPE_AXFR, false, DNS_RCODE_NOTAUTH },
        { "a.example", DNS_TYPE_AXFR, false, DNS_RCODE_NOTAUTH },
        { "example", DNS_TYPE_AXFR, true, DNS_RCODE_NOTIMP },
        { "example", DNS_TYPE_IXFR, false, DNS_RCODE_FORMERR },
        { "example", DNS_TYPE_A, false, DNS_RCODE_FORMERR },
    };
    XfrPair p;

    xfr_pair_make(&p);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        DnsQuestion q = { zone_name(cases[i].name), cases[i].type, 1 };
        uint8_t query[DNS_QUERY_MAX];
        size_t len = dns_query_build(query, &q, 0, false);

        g_assert_null(dns_xfr_out_new(p.primary.store, query, len, NULL,
                                      cases[i].is_udp, &p.rcode));
        g_assert_cmpuint(p.rcode, ==, cases[i].rcode);
    }
    xfr_pair_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-xfr/axfr", test_axfr);
    g_test_add_func("/dns-xfr/axfr-signed-many", test_axfr_signed_many);
    g_test_add_func("/dns-xfr/axfr-of-a-moment", test_axfr_of_a_moment);
    g_test_add_func("/dns-xfr/ixfr", test_ixfr);
    g_test_add_func("/dns-xfr/soa", test_soa);
    g_test_add_func("/dns-xfr/too-large", test_too_large);
    g_test_add_func("/dns-xfr/ixfr-as-axfr", test_ixfr_as_axfr);
    g_test_add_func("/dns-xfr/ixfr-udp", test_ixfr_udp);
    g_test_add_func("/dns-xfr/changes-that-do-not-fit",
                    test_changes_that_do_not_fit);
    g_test_add_func("/dns-xfr/spoilt", test_spoilt);
    g_test_add_func("/dns-xfr/misled", test_misled);
    g_test_add_func("/dns-xfr/refused-queries", test_refused_queries);
    return g_test_run();
}
