/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter of views: no false negatives for names in deltas, few false
 * positives
 */
#include <glib.h>

#include "tests/fixtures/dns-store-fixture.h"

#define NAMES       2000
#define STRANGERS   100000

static const ZoneLine in_image = { "old.example", DNS_TYPE_A, "192.0.2.1" };

static void begin(StoreBed *bed, uint64_t rebase_len)
{
    store_bed_make(bed, "example", &in_image, 1);
    store_bed_close(bed);
    bed->seal_nodes = 100;
    bed->rebase_len = rebase_len;
    store_bed_open(bed);
}

static void add_names(StoreBed *bed, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        g_autofree char *name = g_strdup_printf("n%u.example", i);
        ZoneLine line = { name, DNS_TYPE_A, "192.0.2.2" };

        g_assert_cmpint(store_bed_add(bed, &line), ==, 0);
        if (i % 50 == 49) {
            g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
            dns_merger_run(bed->merger);
        }
    }
    g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
}

static bool may_have(const ZoneFilter *filter, const char *format, unsigned i)
{
    g_autofree char *text = g_strdup_printf(format, i);
    DnsName name = zone_name(text);

    return zone_filter_has(filter, zone_name_hash(filter->key, name.wire,
                                                  name.len));
}

static void check_names(const StoreBed *bed, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        g_autofree char *name = g_strdup_printf("N%u.example", i);
        ZoneLine line = { name, DNS_TYPE_A, "192.0.2.2" };

        g_assert_true(store_bed_has(bed, &line));
    }
}

static unsigned count_strangers(const ZoneFilter *filter)
{
    unsigned count = 0;

    for (unsigned i = 0; i < STRANGERS; i++) {
        count += may_have(filter, "s%u.example", i);
    }
    return count;
}

/* While deltas grow, are sealed and merged, and the filter is made larger */
static void test_names(void)
{
    StoreBed bed;

    begin(&bed, UINT64_MAX / 16);
    g_assert_null(bed.view->filter);
    add_names(&bed, 0, NAMES);
    dns_merger_wait(bed.merger);
    g_assert_cmpuint(bed.view->layers, >, 1);
    g_assert_nonnull(bed.view->filter);
    check_names(&bed, 0, NAMES);
    g_assert_cmpuint(count_strangers(bed.view->filter), <, STRANGERS / 100);
    add_names(&bed, NAMES, 12 * NAMES);
    check_names(&bed, 0, 12 * NAMES);
    g_assert_cmpuint(count_strangers(bed.view->filter), <, STRANGERS / 100);
    store_bed_free(&bed);
}

/* Deltas are not searched for names that the filter excludes. */
static void test_is_heeded(void)
{
    static ZoneFilterBlock empty;
    ZoneFilter none = { .blocks = 1, .block = &empty };
    ZoneLine line = { "n1.example", DNS_TYPE_A, "192.0.2.2" };
    StoreBed bed;
    ZoneView view;

    begin(&bed, 0);
    add_names(&bed, 0, 50);
    g_assert_true(store_bed_has(&bed, &line));
    g_assert_true(store_bed_has(&bed, &in_image));
    view = *bed.view;
    memcpy(none.key, view.filter->key, sizeof(none.key));
    view.filter = &none;
    bed.view = &view;
    g_assert_false(store_bed_has(&bed, &line));
    g_assert_true(store_bed_has(&bed, &in_image));
    store_bed_free(&bed);
}

/* A new image contains the names, so the filter for new deltas is empty. */
static void test_new_image(void)
{
    StoreBed bed;
    DnsStoreStats stats;

    begin(&bed, 1);
    add_names(&bed, 0, 200);
    dns_merger_wait(bed.merger);
    dns_store_stats(bed.store, &stats);
    g_assert_cmpuint(stats.rebases, >, 0);
    check_names(&bed, 0, 200);
    add_names(&bed, 200, 201);
    g_assert_nonnull(bed.view->filter);
    g_assert_false(may_have(bed.view->filter, "n%u.example", 0));
    g_assert_true(may_have(bed.view->filter, "n%u.example", 200));
    store_bed_free(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-store/filter/names", test_names);
    g_test_add_func("/dns-store/filter/is-heeded", test_is_heeded);
    g_test_add_func("/dns-store/filter/new-image", test_new_image);
    return g_test_run();
}
