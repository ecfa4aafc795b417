/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journals that are torn, damaged, of another zone, or long */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fixtures/dns-store-fixture.h"
#include "net/packet/crc32c.h"

#define CHANGES 20

/* The n-th change adds this. */
static ZoneLine line_of(unsigned n)
{
    static char owner[2][32];
    static unsigned turn;
    char *text = owner[++turn % 2];

    g_snprintf(text, sizeof(owner[0]), "h%u.example", n);
    return (ZoneLine) { text, DNS_TYPE_A, "192.0.2.1" };
}

static void add_changes(StoreBed *bed, unsigned from, unsigned to)
{
    for (unsigned n = from; n < to; n++) {
        ZoneLine line = line_of(n);

        g_assert_cmpint(store_bed_add(bed, &line), ==, 0);
        g_assert_cmpint(dns_store_commit(bed->store), ==, 0);
    }
}

static void assert_changes(const StoreBed *bed, unsigned count)
{
    for (unsigned n = 0; n < CHANGES; n++) {
        ZoneLine line = line_of(n);

        g_assert_cmpint(store_bed_has(bed, &line), ==, n < count);
    }
    g_assert_cmpuint(dns_store_serial(bed->store), ==, 1 + count);
}

static char *journal_of(const StoreBed *bed)
{
    return g_strdup_printf("%s.jnl", bed->image);
}

/* A closed zone with changes in its journal */
static void make(StoreBed *bed, gchar **octets, gsize *len)
{
    g_autofree char *path = NULL;

    store_bed_make(bed, "example", NULL, 0);
    store_bed_close(bed);
    bed->rebase_len = 1 << 30;
    store_bed_open(bed);
    add_changes(bed, 0, CHANGES);
    store_bed_close(bed);
    path = journal_of(bed);
    g_assert_true(g_file_get_contents(path, octets, len, NULL));
}

static void put(const StoreBed *bed, const char *octets, size_t len)
{
    g_autofree char *path = journal_of(bed);

    g_assert_true(g_file_set_contents(path, octets, len, NULL));
}

static void test_replay(void)
{
    g_autofree char *octets = NULL;
    DnsStoreStats stats;
    StoreBed bed;
    gsize len;

    make(&bed, &octets, &len);
    store_bed_open(&bed);
    assert_changes(&bed, CHANGES);
    dns_store_stats(bed.store, &stats);
    g_assert_cmpuint(stats.replayed, ==, CHANGES);
    store_bed_free(&bed);
}

/* For each length of the file, the zone has all complete changes. */
static void test_torn(void)
{
    g_autofree char *octets = NULL;
    uint32_t last = CHANGES;
    StoreBed bed;
    gsize len;

    make(&bed, &octets, &len);
    for (gsize end = len; end >= 512 + 48; end -= 56) {
        uint32_t count;

        put(&bed, octets, end);
        store_bed_open(&bed);
        count = dns_store_serial(bed.store) - 1;
        assert_changes(&bed, count);
        g_assert_cmpuint(count + 1, >=, last);
        g_assert_cmpuint(count, <=, last);
        last = count;
        /* New changes can be added. */
        add_changes(&bed, count, MIN(count + 1, CHANGES));
        assert_changes(&bed, MIN(count + 1, CHANGES));
        store_bed_close(&bed);
    }
    g_assert_cmpuint(last, <=, 1);
    store_bed_free(&bed);
}

/* A flipped octet in the middle is not mistaken for the end. */
static void test_damaged(void)
{
    g_autofree char *octets = NULL;
    StoreBed bed;
    gsize len;

    make(&bed, &octets, &len);
    for (gsize at = 512 + 48; at < len / 2; at += 61) {
        g_autofree char *error = NULL;

        octets[at] ^= 1;
        put(&bed, octets, len);
        error = store_bed_try(&bed);
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error, "zone.vzi.jnl: at octet "));
        g_assert_nonnull(strstr(error, "acknowledged are lost"));
        octets[at] ^= 1;
    }
    store_bed_free(&bed);
}

static void test_of_others(void)
{
    static const ZoneLine other = { "x.example", DNS_TYPE_A, "192.0.2.1" };
    g_autofree char *octets = NULL, *error = NULL, *path = NULL;
    StoreBed bed, compiled;
    gsize len;

    make(&bed, &octets, &len);
    octets[24 + 1] ^= 1;        /* the origin */
    put(&bed, octets, len);
    error = store_bed_try(&bed);
    g_assert_nonnull(strstr(error, "this is no journal of the zone"));
    octets[24 + 1] ^= 1;
    put(&bed, octets, len);
    g_free(error);

    /* The image is compiled anew. */
    store_bed_make(&compiled, "example", &other, 1);
    g_assert_cmpint(dns_store_commit(compiled.store), ==, 0);
    store_bed_close(&compiled);
    g_free(octets);
    g_assert_true(g_file_get_contents(compiled.image, &octets, &len, NULL));
    octets[24] ^= 1;            /* the identity, under the checksum */
    put_le32((uint8_t *)octets + 12, 0);
    put_le32((uint8_t *)octets + 12, packet_crc32c(0, octets, ZONE_PAGE));
    g_assert_true(g_file_set_contents(bed.image, octets, len, NULL));
    error = store_bed_try(&bed);
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error, "of another image; remove it"));
    path = journal_of(&bed);
    g_assert_cmpint(g_unlink(path), ==, 0);
    store_bed_open(&bed);
    g_assert_true(store_bed_has(&bed, &other));
    store_bed_free(&bed);
    store_bed_free(&compiled);
}

/* --- history -------------------------------------------------------------- */

static void assert_history(StoreBed *bed, uint32_t from)
{
    DnsBuffer buffer = { 0 };
    uint32_t serial = from;
    JournalReader reader;
    JournalRecord record;
    int ret;

    g_assert_cmpint(dns_store_history(bed->store, from, &reader), ==, 0);
    while ((ret = journal_read_next(&reader, &buffer, &record)) > 0) {
        DnsChangeCursor cursor;

        g_assert_cmpuint(record.changes.from, ==, serial);
        serial = record.changes.to;
        dns_changes_first(&record.changes, &cursor);
        while ((ret = dns_changes_next(&cursor)) > 0) {
            continue;
        }
        g_assert_cmpint(ret, ==, 0);
    }
    g_assert_cmpint(ret, ==, 0);
    g_assert_cmpuint(serial, ==, dns_store_serial(bed->store));
    journal_reader_close(&reader);
    dns_buffer_free(&buffer);
}

static void test_history(void)
{
    g_autofree char *octets = NULL;
    JournalReader reader;
    StoreBed bed;
    gsize len;

    make(&bed, &octets, &len);
    store_bed_open(&bed);
    for (uint32_t from = 1; from < 1 + CHANGES; from++) {
        assert_history(&bed, from);
    }
    g_assert_cmpint(dns_store_history(bed.store, 0, &reader), ==, -ENOENT);
    g_assert_cmpint(dns_store_history(bed.store, 1000, &reader), ==, -ENOENT);
    store_bed_free(&bed);
}

/* New images and a short history: both files come and go. */
static void test_rotation(void)
{
    JournalReader reader;
    DnsStoreStats stats;
    unsigned goes_back = 0;
    StoreBed bed;

    store_bed_make(&bed, "example", NULL, 0);
    store_bed_close(&bed);
    bed.history_max = 16384;
    bed.seal_nodes = 4;
    store_bed_open(&bed);
    for (unsigned n = 0; n < 200; n++) {
        add_changes(&bed, n, n + 1);
        if (n % 10 == 9) {
            dns_merger_wait(bed.merger);
        }
    }
    dns_store_stats(bed.store, &stats);
    g_assert_cmpuint(stats.rebases, >, 5);
    g_assert_cmpuint(stats.journal_len, <, 3 * bed.history_max);
    for (uint32_t from = 200; from > 0; from--) {
        if (dns_store_history(bed.store, from, &reader)) {
            break;
        }
        journal_reader_close(&reader);
        assert_history(&bed, from);
        goes_back++;
    }
    g_assert_cmpuint(goes_back, >, 20);
    g_assert_cmpuint(goes_back, <, 200);
    store_bed_close(&bed);
    store_bed_open(&bed);
    assert_history(&bed, 200 - goes_back + 1);
    store_bed_free(&bed);
}

/* --- changes that do not fit ---------------------------------------------- */

#define FITS            10      /* changes before the one that does not */

/* Let the change after FITS add what the one before it has added. */
static void spoil(const StoreBed *bed, uint8_t *octets, size_t len)
{
    JournalRecord record;
    unsigned changes = 0;

    for (size_t at = JOURNAL_HEADER; at < len; at += record.len) {
        uint8_t *end = octets + at;
        char *owner;

        g_assert_cmpint(journal_record_read(octets + at, len - at, &record), ==,
                        0);
        if (record.kind != JOURNAL_CHANGE || changes++ != FITS + 1) {
            continue;
        }
        end += record.len;
        for (owner = (char *)octets + at; memcmp(owner, "\3h11", 4); owner++) {
            g_assert_true((uint8_t *)owner < end);
        }
        memcpy(owner, "\3h10", 4);
        journal_record_seal(octets + at, record.durable);
    }
    put(bed, (char *)octets, len);
}

/* The zone is served up to it; the file stays, and nothing is added to it. */
static void test_left(void)
{
    g_autofree char *octets = NULL, *now = NULL, *path = NULL, *aside = NULL;
    g_autofree char *image = NULL, *copy = NULL;
    DnsStoreError error;
    gsize len, now_len;
    ZoneLine line;
    StoreBed bed;

    make(&bed, &octets, &len);
    copy = g_build_filename(bed.folder, "copy", NULL);
    g_assert_true(g_file_get_contents(bed.image, &image, &now_len, NULL));
    g_assert_true(g_file_set_contents(copy, image, now_len, NULL));
    spoil(&bed, (uint8_t *)octets, len);
    store_bed_open(&bed);
    assert_changes(&bed, FITS + 1);
    assert_history(&bed, 1);
    g_assert_nonnull(strstr(bed.last_log, "the change after serial 12, at "));
    g_assert_nonnull(strstr(bed.last_log, "keeps 9 changes, up to serial 21"));
    line = line_of(0);
    g_assert_cmpint(store_bed_remove(&bed, &line), ==, 0);
    g_assert_cmpint(dns_store_commit(bed.store), ==, -EROFS);
    assert_changes(&bed, FITS + 1);
    store_bed_close(&bed);
    path = journal_of(&bed);
    g_assert_true(g_file_get_contents(path, &now, &now_len, NULL));
    g_assert_cmpmem(now, now_len, octets, len);

    /* Another image, as a secondary gets it: the file is put aside. */
    store_bed_open(&bed);
    g_assert_cmpint(dns_store_replace(bed.store, copy, &error), ==, 0);
    line = line_of(0);
    g_assert_cmpint(store_bed_add(&bed, &line), ==, 0);
    g_assert_cmpint(dns_store_commit(bed.store), ==, 0);
    store_bed_close(&bed);
    store_bed_open(&bed);
    g_assert_true(store_bed_has(&bed, &line));
    aside = g_strdup_printf("%s.left", path);
    g_free(now);
    g_assert_true(g_file_get_contents(aside, &now, &now_len, NULL));
    g_assert_cmpmem(now, now_len, octets, len);
    store_bed_free(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-journal/replay", test_replay);
    g_test_add_func("/dns-journal/torn", test_torn);
    g_test_add_func("/dns-journal/damaged", test_damaged);
    g_test_add_func("/dns-journal/of-others", test_of_others);
    g_test_add_func("/dns-journal/left", test_left);
    g_test_add_func("/dns-journal/history", test_history);
    g_test_add_func("/dns-journal/rotation", test_rotation);
    return g_test_run();
}
