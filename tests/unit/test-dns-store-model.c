/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random changes to a zone, compared with a model that is a plain list of
 * records
 *
 * After each commit all names that the zone may have are compared: whether they
 * exist, their records, and their wildcard flag.  The same is done after
 * merges, after a new image, and after a restart from the journal.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/dns-store-fixture.h"
#include "dnsd/update/change/walk.h"

#define ROUNDS          400
#define RDATA_KINDS     6
#define TTLS            2

/* Names with descendants, wildcards, cuts, and in different case */
static const char *const names[] = {
    "example", "a.example", "b.example", "*.example", "c.a.example",
    "d.c.a.example", "*.c.a.example", "*.d.c.a.example", "x.y.z.example",
    "y.z.example", "q.x.y.z.example", "*.w.example", "e.*.w.example",
    "f.e.*.w.example", "sub.example", "ns.sub.example", "z-.example",
    "\\000.example", "\\001.example", "\\000.\\000.example", "a\\000.example",
    "aa.example", "a.a.example", "0.example", "0.0.0.0.0.example",
};

static const ZoneLine rdata_kinds[RDATA_KINDS] = {
    { NULL, DNS_TYPE_A, "192.0.2.1" },
    { NULL, DNS_TYPE_A, "192.0.2.2" },
    { NULL, DNS_TYPE_NS, "ns.sub.example" },
    { NULL, DNS_TYPE_NS, "NS.elsewhere.test" },
    { NULL, DNS_TYPE_TXT, "hello" },
    { NULL, DNS_TYPE_PTR, "a.example" },
};

/* has[name][kind]: 0, or the TTL */
typedef struct Model {
    unsigned has[G_N_ELEMENTS(names)][RDATA_KINDS];
    uint32_t serial;
} Model;

static DnsName name_of[G_N_ELEMENTS(names)];

/* --- the model ------------------------------------------------------------ */

static bool model_has_records(const Model *m, unsigned n)
{
    for (unsigned k = 0; k < RDATA_KINDS; k++) {
        if (m->has[n][k]) {
            return true;
        }
    }
    return n == 0;
}

static bool model_exists(const Model *m, const DnsName *name)
{
    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
        if (model_has_records(m, n) && dns_name_within(&name_of[n], name)) {
            return true;
        }
    }
    return false;
}

static void model_add(Model *m, unsigned n, unsigned kind, unsigned ttl)
{
    for (unsigned k = 0; k < RDATA_KINDS; k++) {
        if (m->has[n][k] && rdata_kinds[k].type == rdata_kinds[kind].type) {
            m->has[n][k] = ttl;
        }
    }
    m->has[n][kind] = ttl;
}

/* --- compared with the view ----------------------------------------------- */

static void compare_records(const Model *m, unsigned n, const ZoneNode *node)
{
    DnsNode *read = dns_node_read(node);
    size_t count = 0;

    g_assert_nonnull(read);
    for (unsigned k = 0; k < RDATA_KINDS; k++) {
        uint8_t rdata[DNS_NAME_MAX];
        ZoneRecord want = store_record(&rdata_kinds[k], rdata);
        bool found = false;

        for (size_t i = 0; i < read->count; i++) {
            if (!dns_record_compare(&read->record[i], &want)) {
                g_assert_cmpuint(read->record[i].ttl, ==, m->has[n][k]);
                found = true;
            }
        }
        g_assert_cmpint(found, ==, m->has[n][k] != 0);
        count += found;
    }
    /* The apex has a SOA and an NS of its own. */
    g_assert_cmpuint(read->count, ==, count + (n ? 0 : 2));
    g_free(read);
}

static void compare_name(const Model *m, const ZoneView *view, unsigned n)
{
    DnsName star = { .len = name_of[n].len + 2, .wire = { 1, '*' },
                     .labels = name_of[n].labels + 1 };
    bool exists = model_exists(m, &name_of[n]);
    ZoneNode node;

    memcpy(star.wire + 2, name_of[n].wire, name_of[n].len);
    g_assert_cmpint(zone_find_exact(view, name_of[n].wire, name_of[n].len,
                                    &node), ==, exists);
    if (exists) {
        compare_records(m, n, &node);
        g_assert_cmpint(!!(node.flags & ZONE_NODE_WILDCARD), ==,
                        model_exists(m, &star));
    }
}

/* The view has only names of the model, in order. */
static void compare_walk(const Model *m, const ZoneView *view)
{
    NameKey last = { 0 };
    ViewWalk walk;

    view_walk_begin(&walk, view, NULL, false);
    while (view_walk_next(&walk)) {
        DnsName name = { .len = walk.node.name_len,
                         .labels = walk.node.labels };

        memcpy(name.wire, walk.node.name, name.len);
        g_assert_cmpint(name_key_compare(&last, &walk.key), <, 0);
        g_assert_cmpint(model_exists(m, &name), ==,
                        !(walk.node.flags & ZONE_NODE_GONE));
        last = walk.key;
    }
    g_assert_false(walk.has_failed);
}

static void compare(const Model *m, const StoreBed *bed)
{
    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
        compare_name(m, bed->view, n);
    }
    compare_walk(m, bed->view);
    g_assert_false(zone_view_failed(bed->view));
    g_assert_cmpuint(dns_store_serial(bed->store), ==, m->serial);
}

/* --- random changes ------------------------------------------------------- */

static void change_one(GRand *rand, Model *m, DnsEdit *edit)
{
    unsigned n = g_rand_int_range(rand, 0, G_N_ELEMENTS(names));
    unsigned kind = g_rand_int_range(rand, 0, RDATA_KINDS);
    unsigned ttl = 300 * g_rand_int_range(rand, 1, TTLS + 1);
    uint8_t rdata[DNS_NAME_MAX];
    ZoneRecord record = store_record(&rdata_kinds[kind], rdata);
    int ret;

    record.ttl = ttl;
    switch (g_rand_int_range(rand, 0, 5)) {
    case 0:
    case 1:
        /* The apex's own NS would take the TTL, too. */
        if (n || record.type != DNS_TYPE_NS) {
            ret = dns_edit_add(edit, &name_of[n], &record);
            g_assert_cmpint(ret, ==, m->has[n][kind] == ttl ? -EEXIST : 0);
            model_add(m, n, kind, ttl);
        }
        break;
    case 2:
    case 3:
        ret = dns_edit_remove(edit, &name_of[n], &record);
        g_assert_cmpint(ret, ==, m->has[n][kind] ? 0 : -ENOENT);
        m->has[n][kind] = 0;
        break;
    default:
        if (n) {
            g_assert_cmpint(dns_edit_set(edit, &name_of[n], NULL), ==, 0);
            memset(m->has[n], 0, sizeof(m->has[n]));
        }
    }
}

static void change(GRand *rand, Model *m, StoreBed *bed)
{
    DnsEdit *edit = dns_store_begin(bed->store);
    unsigned changes = g_rand_int_range(rand, 1, 8);
    bool keep = g_rand_int_range(rand, 0, 5);
    Model next = *m;

    while (changes-- > 0) {
        change_one(rand, &next, edit);
    }
    if (memcmp(&next, m, sizeof(next))) {
        g_assert_true(dns_changes_any(edit));
        g_assert_cmpint(dns_changes_bump(edit), ==, 0);
        next.serial++;
    } else {
        g_assert_false(dns_changes_any(edit));
    }
    g_assert_cmpint(dns_store_end(bed->store, keep), ==, 0);
    *m = keep ? next : *m;
}

static void run(unsigned seed, bool close_often)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    Model model = { .serial = 1 }, committed = model;
    DnsStoreStats stats = { 0 }, sum = { 0 };
    StoreBed bed;

    store_bed_make(&bed, "example", NULL, 0);
    bed.rebase_len = seed % 2 ? 1 : 1 << 20;
    bed.history_max = 20000;
    store_bed_close(&bed);
    store_bed_open(&bed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        change(rand, &model, &bed);
        if (g_rand_int_range(rand, 0, 3) == 0) {
            g_assert_cmpint(dns_store_commit(bed.store), ==, 0);
            committed = model;
            compare(&committed, &bed);
        }
        if (g_rand_int_range(rand, 0, 12) == 0) {
            dns_store_abandon(bed.store);
            model = committed;
        }
        dns_merger_run(bed.merger);
        if (g_rand_int_range(rand, 0, close_often ? 10 : 200) == 0) {
            dns_store_stats(bed.store, &stats);
            sum.merges += stats.merges;
            sum.rebases += stats.rebases;
            store_bed_close(&bed);
            store_bed_open(&bed);
            model = committed;
            compare(&committed, &bed);
        }
    }
    g_assert_cmpint(dns_store_commit(bed.store), ==, 0);
    dns_merger_wait(bed.merger);
    compare(&model, &bed);
    dns_store_stats(bed.store, &stats);
    g_assert_cmpuint(stats.layers, <=, ZONE_LAYERS_MAX);
    g_test_message("merges %u, new images %u",
                   (unsigned)(sum.merges + stats.merges),
                   (unsigned)(sum.rebases + stats.rebases));
    g_assert_cmpuint(seed % 2 ? sum.rebases + stats.rebases
                              : sum.merges + stats.merges, >, 0);
    store_bed_free(&bed);
}

static void test_long_lived(void)
{
    for (unsigned seed = 1; seed <= 5; seed++) {
        run(seed, false);
    }
}

static void test_restarted(void)
{
    for (unsigned seed = 11; seed <= 13; seed++) {
        run(seed, true);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
        name_of[n] = zone_name(names[n]);
    }
    g_test_add_func("/dns-store/model/long-lived", test_long_lived);
    g_test_add_func("/dns-store/model/restarted", test_restarted);
    return g_test_run();
}
