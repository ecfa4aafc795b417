/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers from one store into another */
#include <glib.h>

#include "dns-xfr-fixture.h"
#include "net/dns/update/change/walk.h"

#define NOW             1700000000
#define ID              77


static void make_keys(XfrPair *p)
{
    TsigKey key = { .name = zone_name("k.example"), .mac_len = 32,
                    .algorithm = TSIG_HMAC_SHA256, .secret_len = 16 };

    p->keys = tsig_keys_new();
    g_assert_cmpint(tsig_keys_add(p->keys, &key), ==, 0);
}

void xfr_pair_make(XfrPair *p)
{
    static const ZoneLine lines[] = {
        { "*.example", DNS_TYPE_A, "192.0.2.1" },
        { "a.b.c.example", DNS_TYPE_CNAME, "host.example" },
        { "mail.example", 15, "host.example" },
        { "sub.example", DNS_TYPE_NS, "ns.sub.example" },
        { "ns.sub.example", DNS_TYPE_A, "192.0.2.53" },
    };

    *p = (XfrPair) { .room = DNS_MSG_MAX };
    make_keys(p);
    store_bed_make(&p->primary, "example", lines, G_N_ELEMENTS(lines));
    store_bed_make(&p->secondary, "example", NULL, 0);
    p->path = g_strconcat(p->secondary.image, ".axfr", NULL);
}

void xfr_pair_free(XfrPair *p)
{
    store_bed_free(&p->primary);
    store_bed_free(&p->secondary);
    tsig_keys_free(p->keys);
    g_free(p->path);
    g_free(p->why);
}

void xfr_add_hosts(StoreBed *bed, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        g_autofree char *owner = g_strdup_printf("h%u.example", i);
        ZoneLine line = { owner, DNS_TYPE_TXT, owner };

        g_assert_cmpint(store_bed_add(bed, &line), ==, 0);
    }
    g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
}

/* --- one transfer --------------------------------------------------------- */

static DnsXfrState pump(XfrPair *p, DnsXfrOut *out, DnsXfrIn *in)
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

DnsXfrState xfr_transfer(XfrPair *p)
{
    DnsXfrInOptions options = {
        .zone = zone_name("example"),
        .rrclass = DNS_CLASS_IN,
        .ask = p->force_axfr ? DNS_XFR_ASK_AXFR : DNS_XFR_ASK_IXFR,
        .len_max = p->len_max,
        .serial = dns_store_serial(p->secondary.store),
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
    state = state == DNS_XFR_CHANGES
            ? dns_xfr_in_apply(in, p->secondary.store) : state;
    p->kind = dns_xfr_out_kind(out);
    g_free(p->why);
    p->why = g_strdup(dns_xfr_in_why(in));
    p->reason = dns_xfr_in_reason(in);
    dns_xfr_out_free(out);
    dns_xfr_in_free(in);
    return state;
}

void xfr_replace(XfrPair *p)
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

bool xfr_is_same(const XfrPair *p)
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
