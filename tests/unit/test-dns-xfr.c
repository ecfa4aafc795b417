/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers from one store into another */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "dns-store-fixture.h"
#include "net/dns/update/change/walk.h"
#include "net/dns/update/xfr/xfr-in.h"
#include "net/dns/update/xfr/xfr-out.h"
#include "net/packet/octets.h"

#define NOW             1700000000
#define ID              77
#define HOSTS           300

typedef struct Pair {
    StoreBed primary;
    StoreBed secondary;
    TsigKeys *keys;
    const TsigKey *key;         /* NULL: unsigned */
    size_t room;                /* of a message */
    bool is_udp;
    bool force_axfr;
    unsigned messages;          /* of the last transfer */
    DnsXfrKind kind;
    uint16_t rcode;
    char *path;
    /* Spoil a message before it arrives */
    void (*spoil)(unsigned number, uint8_t *msg, size_t *len);
    char *why;
} Pair;

static void make_keys(Pair *p)
{
    TsigKey key = { .name = zone_name("k.example"), .mac_len = 32,
                    .algorithm = TSIG_HMAC_SHA256, .secret_len = 16 };

    p->keys = tsig_keys_new();
    g_assert_cmpint(tsig_keys_add(p->keys, &key), ==, 0);
}

static void make_pair(Pair *p)
{
    static const ZoneLine lines[] = {
        { "*.example", DNS_TYPE_A, "192.0.2.1" },
        { "a.b.c.example", DNS_TYPE_CNAME, "host.example" },
        { "mail.example", 15, "host.example" },
        { "sub.example", DNS_TYPE_NS, "ns.sub.example" },
        { "ns.sub.example", DNS_TYPE_A, "192.0.2.53" },
    };

    *p = (Pair) { .room = DNS_MSG_MAX };
    make_keys(p);
    store_bed_make(&p->primary, "example", lines, G_N_ELEMENTS(lines));
    store_bed_make(&p->secondary, "example", NULL, 0);
    p->path = g_strconcat(p->secondary.image, ".axfr", NULL);
}

static void free_pair(Pair *p)
{
    store_bed_free(&p->primary);
    store_bed_free(&p->secondary);
    tsig_keys_free(p->keys);
    g_free(p->path);
    g_free(p->why);
}

static void add_hosts(StoreBed *bed, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        g_autofree char *owner = g_strdup_printf("h%u.example", i);
        ZoneLine line = { owner, DNS_TYPE_TXT, owner };

        g_assert_cmpint(store_bed_add(bed, &line), ==, 0);
    }
    g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
}

/* --- one transfer --------------------------------------------------------- */

static DnsXfrState pump(Pair *p, DnsXfrOut *out, DnsXfrIn *in)
{
    DnsXfrState state = DNS_XFR_MORE;
    g_autofree uint8_t *msg = g_malloc(DNS_MSG_MAX);
    int len;

    while ((len = dns_xfr_out_next(out, msg, p->room, NOW)) > 0) {
        size_t size = len;

        g_assert_cmpuint(size, <=, p->room);
        g_assert_cmpint(state, ==, DNS_XFR_MORE);
        if (p->spoil) {
            p->spoil(p->messages, msg, &size);
        }
        p->messages++;
        state = dns_xfr_in_message(in, msg, size, NOW);
        if (p->spoil && state != DNS_XFR_MORE) {
            return state;
        }
    }
    g_assert_cmpint(len, ==, 0);
    return state;
}

static DnsXfrState transfer(Pair *p)
{
    DnsXfrInOptions options = {
        .zone = zone_name("example"),
        .rrclass = DNS_CLASS_IN,
        .store = p->secondary.store,
        .force_axfr = p->force_axfr,
        .key = p->key,
        .path = p->path,
    };
    DnsXfrIn *in = dns_xfr_in_new(&options, ID);
    g_autofree uint8_t *query = g_malloc(DNS_MSG_MAX);
    int query_len = dns_xfr_in_query(in, query, DNS_MSG_MAX, NOW);
    size_t len = query_len;
    DnsXfrState state;
    DnsXfrOut *out;
    Tsig tsig;

    g_assert_cmpint(query_len, >, 0);
    g_assert_cmpint(tsig_verify_request(&tsig, p->keys, query, &len, NOW), ==,
                    p->key ? TSIG_GOOD : TSIG_NONE);
    out = dns_xfr_out_new(p->primary.store, query, len, &tsig, p->is_udp,
                          &p->rcode);
    g_assert_nonnull(out);
    p->messages = 0;
    state = pump(p, out, in);
    p->kind = dns_xfr_out_kind(out);
    g_free(p->why);
    p->why = g_strdup(dns_xfr_in_why(in));
    dns_xfr_out_free(out);
    dns_xfr_in_free(in);
    return state;
}

static void replace(Pair *p)
{
    DnsStoreError error;

    g_assert_cmpint(dns_store_replace(p->secondary.store, p->path, &error),
                    ==, 0);
}

/* --- are both zones the same? --------------------------------------------- */

static bool next_living(ViewWalk *walk)
{
    while (view_walk_next(walk)) {
        if (!(walk->node.flags & ZONE_NODE_GONE)) {
            return true;
        }
    }
    g_assert_false(walk->has_failed);
    return false;
}

static bool is_same(const Pair *p)
{
    g_autofree ViewWalk *a = g_new(ViewWalk, 1), *b = g_new(ViewWalk, 1);
    bool has_a, has_b, same = true;

    view_walk_begin(a, p->primary.view, NULL, false);
    view_walk_begin(b, p->secondary.view, NULL, false);
    do {
        g_autofree DnsNode *x = NULL, *y = NULL;

        has_a = next_living(a);
        has_b = next_living(b);
        same = has_a == has_b &&
               (!has_a || !name_key_compare(&a->key, &b->key));
        if (same && has_a) {
            x = dns_node_read(&a->node);
            y = dns_node_read(&b->node);
            same = x->count == y->count && a->node.flags == b->node.flags;
            for (size_t i = 0; same && i < x->count; i++) {
                same = !dns_record_compare(&x->record[i], &y->record[i]) &&
                       x->record[i].ttl == y->record[i].ttl;
            }
        }
    } while (same && has_a);
    return same;
}

/* --- AXFR ----------------------------------------------------------------- */

static void axfr(Pair *p)
{
    p->force_axfr = true;
    g_assert_cmpint(transfer(p), ==, DNS_XFR_IMAGE);
    g_assert_cmpint(p->kind, ==, DNS_XFR_AXFR);
    g_assert_false(is_same(p));
    replace(p);
    g_assert_true(is_same(p));
    p->force_axfr = false;
}

static void test_axfr(void)
{
    Pair p;

    make_pair(&p);
    add_hosts(&p.primary, 0, HOSTS);
    axfr(&p);
    g_assert_cmpuint(p.messages, ==, 1);
    free_pair(&p);
}

static void test_axfr_signed_many(void)
{
    Pair p;

    make_pair(&p);
    for (unsigned turn = 0; turn < 2; turn++) {
        DnsName name = zone_name("k.example");

        add_hosts(&p.primary, turn * HOSTS, (turn + 1) * HOSTS);
        p.key = turn ? tsig_keys_find(p.keys, &name) : NULL;
        p.room = 1500;
        axfr(&p);
        g_assert_cmpuint(p.messages, >, 5);
    }
    free_pair(&p);
}

/* The zone changes while it is sent: what is sent does not. */
static Pair *changing;

static void change_primary(unsigned number, uint8_t *msg, size_t *len)
{
    add_hosts(&changing->primary, HOSTS + number, HOSTS + number + 1);
    dns_merger_wait(changing->primary.merger);
}

static void test_axfr_of_a_moment(void)
{
    ZoneLine last = { "h299.example", DNS_TYPE_TXT, "h299.example" };
    ZoneLine later = { "h300.example", DNS_TYPE_TXT, "h300.example" };
    Pair p;

    make_pair(&p);
    add_hosts(&p.primary, 0, HOSTS);
    changing = &p;
    p.spoil = change_primary;
    p.room = 1500;
    p.force_axfr = true;
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_IMAGE);
    replace(&p);
    g_assert_true(store_bed_has(&p.secondary, &last));
    g_assert_false(store_bed_has(&p.secondary, &later));
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, HOSTS + 1);
    /* What it has missed comes by IXFR. */
    p.spoil = NULL;
    p.force_axfr = false;
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_CHANGED);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(is_same(&p));
    free_pair(&p);
}

/* --- IXFR ----------------------------------------------------------------- */

static void begin_alike(Pair *p)
{
    make_pair(p);
    p->primary.history_max = 1 << 24;
    store_bed_close(&p->primary);
    store_bed_open(&p->primary);
    add_hosts(&p->primary, 0, 10);
    axfr(p);
}

static void test_ixfr(void)
{
    static const ZoneLine gone = { "h3.example", DNS_TYPE_TXT, "h3.example" };
    DnsName key = zone_name("k.example");
    Pair p;

    begin_alike(&p);
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_CURRENT);
    g_assert_cmpint(p.kind, ==, DNS_XFR_SOA);
    for (unsigned turn = 0; turn < 3; turn++) {
        p.key = turn == 1 ? tsig_keys_find(p.keys, &key) : NULL;
        p.room = turn == 2 ? 700 : DNS_MSG_MAX;
        add_hosts(&p.primary, 10 + 10 * turn, 20 + 10 * turn);
        if (turn == 0) {
            g_assert_cmpint(store_bed_remove(&p.primary, &gone), ==, 0);
            g_assert_cmpint(dns_store_commit(p.primary.store), ==, 0);
        }
        g_assert_cmpint(transfer(&p), ==, DNS_XFR_CHANGED);
        g_assert_cmpint(p.kind, ==, DNS_XFR_IXFR);
        g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
        g_assert_true(is_same(&p));
    }
    g_assert_cmpuint(p.messages, >, 1);
    free_pair(&p);
}

/* The journal does not go back that far. */
static void test_ixfr_as_axfr(void)
{
    Pair p;

    make_pair(&p);
    add_hosts(&p.primary, 0, 10);
    store_bed_close(&p.secondary);
    store_bed_open(&p.secondary);
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_CHANGED);
    dns_store_abandon(p.secondary.store);
    p.primary.history_max = 1;
    store_bed_close(&p.primary);
    store_bed_open(&p.primary);
    add_hosts(&p.primary, 10, 30);
    dns_merger_wait(p.primary.merger);
    add_hosts(&p.primary, 30, 50);
    dns_merger_wait(p.primary.merger);
    add_hosts(&p.primary, 50, 60);
    dns_merger_wait(p.primary.merger);
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_IMAGE);
    g_assert_cmpint(p.kind, ==, DNS_XFR_AS_AXFR);
    replace(&p);
    g_assert_true(is_same(&p));
    free_pair(&p);
}

static void test_ixfr_udp(void)
{
    Pair p;

    begin_alike(&p);
    p.is_udp = true;
    p.room = DNS_UDP_MIN;
    add_hosts(&p.primary, 10, 11);
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_CHANGED);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(is_same(&p));
    /* What does not fit is the SOA alone. */
    add_hosts(&p.primary, 11, 40);
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_MORE);
    g_assert_cmpint(p.kind, ==, DNS_XFR_SOA);
    g_assert_cmpuint(p.messages, ==, 1);
    free_pair(&p);
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
    Pair p;

    begin_alike(&p);
    before = dns_store_serial(p.secondary.store);
    add_hosts(&p.primary, 10, 12);
    g_assert_cmpint(store_bed_remove(&p.primary, &gone), ==, 0);
    g_assert_cmpint(dns_store_commit(p.primary.store), ==, 0);
    p.spoil = spoil_change;
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_AGAIN);
    g_assert_cmpstr(p.why, ==, "the changes do not fit the zone");
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, before);
    g_assert_cmpint(dns_store_commit(p.secondary.store), ==, 0);
    g_assert_true(store_bed_has(&p.secondary, &gone));
    p.spoil = NULL;
    p.force_axfr = true;
    g_assert_cmpint(transfer(&p), ==, DNS_XFR_IMAGE);
    replace(&p);
    g_assert_true(is_same(&p));
    free_pair(&p);
}

static void flip_second(unsigned number, uint8_t *msg, size_t *len)
{
    msg[*len / 2] ^= number == 1;
}

static void be_refused(unsigned number, uint8_t *msg, size_t *len)
{
    packet_put16(msg + 2, packet_get16(msg + 2) | DNS_RCODE_REFUSED);
}

static void have_no_ixfr(unsigned number, uint8_t *msg, size_t *len)
{
    packet_put16(msg + 2, packet_get16(msg + 2) | DNS_RCODE_NOTIMP);
}

static void have_other_id(unsigned number, uint8_t *msg, size_t *len)
{
    msg[0] ^= 1;
}

static void be_cut(unsigned number, uint8_t *msg, size_t *len)
{
    *len -= number == 1 ? 3 : 0;
}

static void assert_spoilt(void (*spoil)(unsigned, uint8_t *, size_t *),
                          bool is_signed, bool force_axfr, DnsXfrState state)
{
    DnsName key = zone_name("k.example");
    Pair p;

    make_pair(&p);
    add_hosts(&p.primary, 0, HOSTS);
    p.key = is_signed ? tsig_keys_find(p.keys, &key) : NULL;
    p.room = 1500;
    p.force_axfr = force_axfr;
    p.spoil = spoil;
    g_assert_cmpint(transfer(&p), ==, state);
    g_assert_cmpstr(p.why, !=, "");
    g_assert_false(g_file_test(p.path, G_FILE_TEST_EXISTS));
    g_assert_cmpuint(dns_store_serial(p.secondary.store), ==, 1);
    free_pair(&p);
}

static void test_spoilt(void)
{
    assert_spoilt(flip_second, true, true, DNS_XFR_FAILED);
    assert_spoilt(flip_second, true, false, DNS_XFR_FAILED);
    assert_spoilt(be_refused, false, true, DNS_XFR_FAILED);
    assert_spoilt(have_no_ixfr, false, false, DNS_XFR_AGAIN);
    assert_spoilt(have_no_ixfr, false, true, DNS_XFR_FAILED);
    assert_spoilt(have_other_id, false, true, DNS_XFR_FAILED);
    assert_spoilt(be_cut, false, true, DNS_XFR_FAILED);
    assert_spoilt(be_cut, false, false, DNS_XFR_AGAIN);
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
    Pair p;

    make_pair(&p);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        DnsQuestion q = { zone_name(cases[i].name), cases[i].type, 1 };
        uint8_t query[DNS_QUERY_MAX];
        size_t len = dns_query_build(query, &q, 0, false);

        g_assert_null(dns_xfr_out_new(p.primary.store, query, len, NULL,
                                      cases[i].is_udp, &p.rcode));
        g_assert_cmpuint(p.rcode, ==, cases[i].rcode);
    }
    free_pair(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-xfr/axfr", test_axfr);
    g_test_add_func("/dns-xfr/axfr-signed-many", test_axfr_signed_many);
    g_test_add_func("/dns-xfr/axfr-of-a-moment", test_axfr_of_a_moment);
    g_test_add_func("/dns-xfr/ixfr", test_ixfr);
    g_test_add_func("/dns-xfr/ixfr-as-axfr", test_ixfr_as_axfr);
    g_test_add_func("/dns-xfr/ixfr-udp", test_ixfr_udp);
    g_test_add_func("/dns-xfr/changes-that-do-not-fit",
                    test_changes_that_do_not_fit);
    g_test_add_func("/dns-xfr/spoilt", test_spoilt);
    g_test_add_func("/dns-xfr/refused-queries", test_refused_queries);
    return g_test_run();
}
