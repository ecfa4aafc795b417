/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan: changes of the table */
#include "qemu/osdep.h"

#include <glib/gstdio.h>

#include "hostvlan-bed.h"
#include "net/watch/watch.h"

/* A change of the table counts for the next frame. */
static void test_changes(void)
{
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    received_from(&bed, OTHER, "other-tenant");
    hv_set_lnids(bed.table, GUEST, 2, 1, 2);
    received_from(&bed, OTHER, "passed");
    received_from(&bed, PEER, "passed");
    hv_set_lnids(bed.table, OTHER, 1, 3);
    received_from(&bed, OTHER, "other-tenant");
    hv_remove(bed.table, PEER);
    received_from(&bed, PEER, "unknown-source");
    hv_set_lnids(bed.table, STRANGER, 1, 2);
    received_from(&bed, STRANGER, "passed");
    hv_remove(bed.table, GUEST);
    received_from(&bed, STRANGER, "no-port");
    sent_as(&bed, GUEST, "passed");
    bed_end(&bed);
}

/* A flipped bit, in an LNID or elsewhere: the entry is not used. */
static void test_wrong_bit(void)
{
    HvEntry e = {
        .num_lnids = 2, .lnid = { 1, 2 }, .num_ip4 = 1, .ip4 = { 0xc0000201u },
    };
    struct hostvlan_slot *other, *guest;
    uint32_t *record;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on");
    other = hv_slot(bed.table, OTHER);
    other->value ^= 2;                  /* LNID 2 becomes 0, the global one */
    received_from(&bed, OTHER, "damaged");
    other->value ^= 2;
    received_from(&bed, OTHER, "other-tenant");
    other->key ^= 1ull << 17;
    received_from(&bed, OTHER, "damaged");
    other->key ^= 1ull << 17;
    received_from(&bed, PEER, "passed");

    /* In the port's own entry: its addresses affect frames that it sends. */
    g_assert_true(hv_set(bed.table, GUEST, &e));
    guest = hv_slot(bed.table, GUEST);
    record = bed.table->word + hostvlan_value_number(guest->value);
    received_from(&bed, OTHER, "passed");
    record[4] ^= 1;                     /* the address */
    sent_as(&bed, GUEST, "damaged");
    received_from(&bed, PEER, "passed");
    record[4] ^= 1;
    sent_as(&bed, GUEST, "passed");
    record[2] ^= 1u << 31;              /* an LNID */
    sent_as(&bed, GUEST, "damaged");
    received_from(&bed, PEER, "damaged");
    record[2] ^= 1u << 31;
    bed_end(&bed);
}

/* Also as another file. */
static void test_replaced(void)
{
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    bed_converse(&bed);
    for (unsigned i = 1; i < 20; i++) {
        uint8_t frame[100];

        /* One more frame waits before the other file exists. */
        frame_make(frame, sizeof(frame), PEER, GUEST, ETHERTYPE);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 2 : 1);
        bed.table = hv_replace(bed.table, 64 + i, 1024);
        frame_received(&bed, frame, sizeof(frame),
                       i & 1 ? "other-tenant" : "passed");
    }
    bed_end(&bed);
}

/* Buckets of 64 octets: the next event happens during their check. */
#define BIG     (1u << 20)

/* Waits until QEMU has begun to handle the folder's change. */
static void let_it_begin(Bed *bed)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
}

/* Replaced again during the check of the first one: the last one counts. */
static void test_replaced_twice(void)
{
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    bed_converse(&bed);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t frame[100];

        frame_make(frame, sizeof(frame), PEER, GUEST, ETHERTYPE);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 2 : 1);
        bed.table = hv_replace(bed.table, BIG, 1024);
        let_it_begin(&bed);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 1 : 2);
        bed.table = hv_replace(bed.table, 64, 1024);
        frame_received(&bed, frame, sizeof(frame),
                       i & 1 ? "passed" : "other-tenant");
    }
    bed_end(&bed);
}

/* The same without a mark in the replaced file, as with mv(1). */
static void test_moved_twice(void)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;
    int64_t generation = 0;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    hv_close(bed.table);
    hv_close(hv_create(bed.path, BIG, 0));
    let_it_begin(&bed);
    bed.table = bed_make_table(bed.path);
    hv_set_lnids(bed.table, STRANGER, 1, 2);
    while (generation != bed.table->header->generation) {
        QDict *info = bed_query(&bed);

        generation = qdict_get_try_int(info, "generation", 0);
        qobject_unref(info);
        g_assert_cmpint(g_get_monotonic_time(), <, late);
    }
    bed_converse(&bed);
    bed_end(&bed);
}

/* A port is removed, and QEMU ends, during the check of a table. */
static void test_gone_while_checked(void)
{
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    qtest_qmp_assert_success(
        bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
        "'hubport', 'id': 'net1', 'hubid': 1 } }");
    for (unsigned i = 0; i < 3; i++) {
        qtest_qmp_assert_success(
            bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
            "'hostvlan', 'id': 'hv1', 'netdev': 'net1', 'table': %s } }",
            bed.path);
        bed.table = hv_replace(bed.table, BIG, 1024);
        let_it_begin(&bed);
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                                 "'arguments': { 'id': 'hv1' } }");
        /* Its frames wait until the check for hv0 has ended. */
        bed_converse(&bed);
    }
    bed.table = hv_replace(bed.table, BIG, 1024);
    let_it_begin(&bed);
    bed_end(&bed);
}

/* A file of this name in a folder deeper than any watch. */
static char *unwatched(const char *name)
{
    g_autoptr(GString) path = g_string_new(hv_tmp());

    for (unsigned i = 0; i < PATH_WATCH_MAX; i++) {
        g_string_append(path, "/d");
    }
    g_assert_cmpint(g_mkdir_with_parents(path->str, 0700), ==, 0);
    g_string_append_printf(path, "/%s", name);
    return g_strdup(path->str);
}

/*
 * Without a watch, the table's own mark shows that it is superseded, and the
 * new one counts for the next frame.
 */
static void test_superseded(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *real = NULL;
    uint8_t frame[100];

    bed_make_place(&bed);
    real = unwatched("superseded");
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    g_assert_cmpint(symlink(real, bed.path), ==, 0);
    bed.table = bed_make_table(real);
    bed_start(&bed, bed.kind->driver, "");
    frame_make(frame, sizeof(frame), PEER, GUEST, ETHERTYPE);
    frame_received(&bed, frame, sizeof(frame), "passed");
    for (unsigned i = 0; i < 10; i++) {
        HvWriter *old = bed.table;

        bed.table = bed_make_table(real);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 1 : 2);
        __atomic_store_n(&old->header->superseded, 1, __ATOMIC_RELEASE);
        frame_received(&bed, frame, sizeof(frame),
                       i & 1 ? "passed" : "other-tenant");
        hv_close(old);
    }
    bed_end(&bed);
}

/* --- tables that come, go, and are wrong ---------------------------------- */

/* Waits until the file at the path is in force, or refused. */
static void wait_error(Bed *bed, const char *says)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;

    for (;;) {
        QDict *info = bed_query(bed);
        g_autofree char *error = g_strdup(qdict_get_try_str(info, "error"));

        qobject_unref(info);
        if (says ? error && strstr(error, says) : !error) {
            return;
        }
        if (g_get_monotonic_time() > late) {
            g_error("error is '%s', not '%s'", error, says);
        }
    }
}

static void assert_in_force(Bed *bed, bool is)
{
    QDict *info = bed_query(bed);

    g_assert_cmpint(qdict_haskey(info, "generation"), ==, is);
    g_assert_cmpint(qdict_haskey(info, "macs"), ==, is);
    qobject_unref(info);
}

static void test_appears(void)
{
    Bed bed = { .kind = &nic_virtio12 };

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed_start(&bed, bed.kind->driver, "");
    wait_error(&bed, "No such file");
    assert_in_force(&bed, false);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    bed.table = bed_make_table(bed.path);
    wait_error(&bed, NULL);
    assert_in_force(&bed, true);
    bed_converse(&bed);
    /* A removed table stays in force. */
    g_unlink(bed.path);
    wait_error(&bed, "No such file");
    assert_in_force(&bed, true);
    bed_converse(&bed);
    bed_end(&bed);
}

/* The folder is created later, moved away, and created again. */
static void test_folder(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *away = NULL;

    bed_make_place(&bed);
    away = g_strdup_printf("%s.away", bed.dir);
    bed_start(&bed, bed.kind->driver, "");
    sent_as(&bed, GUEST, "no-table");
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    wait_error(&bed, NULL);
    bed_converse(&bed);
    g_assert_cmpint(g_rename(bed.dir, away), ==, 0);
    wait_error(&bed, "No such file");
    bed_converse(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    hv_close(bed.table);
    bed.table = bed_make_table(bed.path);
    hv_set_lnids(bed.table, PEER, 1, 2);
    wait_error(&bed, NULL);
    received_from(&bed, PEER, "other-tenant");
    bed_end(&bed);
}

static void wait_macs(Bed *bed, int64_t macs)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;
    int64_t now;

    do {
        QDict *info = bed_query(bed);

        now = qdict_get_try_int(info, "macs", -1);
        qobject_unref(info);
        g_assert_cmpint(g_get_monotonic_time(), <, late);
    } while (now != macs);
}

/* Kubernetes: the table is in a folder that a link leads to. */
static void test_links(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *data = NULL, *data_new = NULL;
    char *table[2];

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    data = g_strdup_printf("%s/..data", bed.dir);
    data_new = g_strdup_printf("%s/..data_tmp", bed.dir);
    for (int i = 0; i < 2; i++) {
        g_autofree char *dir = g_strdup_printf("%s/..%d", bed.dir, i);
        HvWriter *w;

        g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
        table[i] = g_strdup_printf("%s/table", dir);
        w = bed_make_table(table[i]);
        if (i) {
            hv_set_lnids(w, STRANGER, 1, 1);
        }
        hv_close(w);
    }
    g_assert_cmpint(symlink("..0", data), ==, 0);
    g_assert_cmpint(symlink("..data/table", bed.path), ==, 0);
    bed_start(&bed, bed.kind->driver, "");
    wait_macs(&bed, 4);
    received_from(&bed, STRANGER, "unknown-source");
    g_assert_cmpint(symlink("..1", data_new), ==, 0);
    g_assert_cmpint(g_rename(data_new, data), ==, 0);
    wait_macs(&bed, 5);
    received_from(&bed, STRANGER, "passed");
    g_assert_cmpint(symlink("..0", data_new), ==, 0);
    g_assert_cmpint(g_rename(data_new, data), ==, 0);
    wait_macs(&bed, 4);
    received_from(&bed, STRANGER, "unknown-source");
    bed_end(&bed);
    g_free(table[0]);
    g_free(table[1]);
}

/* With an invalid table the previous one stays in force. */
static void test_damaged(void)
{
    g_autofree char *other = NULL;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    other = g_strdup_printf("%s.other", bed.path);
    bed_converse(&bed);
    hv_close(bed.table);
    bed.table = bed_make_table(other);
    bed.table->header->version = HOSTVLAN_VERSION + 1;
    g_assert_cmpint(g_rename(other, bed.path), ==, 0);
    wait_error(&bed, "version 5");
    assert_in_force(&bed, true);
    bed_converse(&bed);
    received_from(&bed, OTHER, "other-tenant");
    hv_close(bed.table);
    bed.table = bed_make_table(bed.path);
    hv_set_lnids(bed.table, OTHER, 1, 1);
    wait_error(&bed, NULL);
    received_from(&bed, OTHER, "passed");
    bed_end(&bed);
}

/* Without a previous one, nothing passes. */
static void test_damaged_first(void)
{
    Bed bed = { .kind = &nic_virtio12 };

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    bed.table->header->magic[0] = 'v';
    bed_start(&bed, bed.kind->driver, "");
    wait_error(&bed, "not an LNID table");
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    bed_end(&bed);
}

/* The file in force is truncated: the watch detects it. */
static void test_truncated(void)
{
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    bed_converse(&bed);
    g_assert_cmpint(truncate(bed.path, 4096), ==, 0);
    wait_error(&bed, "4096 octets");
    assert_in_force(&bed, false);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    hv_close(bed.table);
    bed.table = bed_make_table(bed.path);
    wait_error(&bed, NULL);
    bed_converse(&bed);
    bed_end(&bed);
}

/*
 * The first frame detects it, as there is no watch, and the second between two
 * checks is not over: QEMU reads beyond the end of the file.
 */
static void test_truncated_unseen(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *real = NULL;

    bed_make_place(&bed);
    real = unwatched("elsewhere");
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    g_assert_cmpint(symlink(real, bed.path), ==, 0);
    bed.table = bed_make_table(real);
    bed_start(&bed, bed.kind->driver, "");
    bed_converse(&bed);
    g_assert_cmpint(truncate(real, 0), ==, 0);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    wait_error(&bed, "0 octets");
    hv_close(bed.table);
    bed.table = bed_make_table(real);
    wait_error(&bed, NULL);
    bed_converse(&bed);
    bed_end(&bed);
}

static void add_tests(void)
{
    qtest_add_func("/hostvlan/changes", test_changes);
    qtest_add_func("/hostvlan/wrong-bit", test_wrong_bit);
    qtest_add_func("/hostvlan/replaced", test_replaced);
    qtest_add_func("/hostvlan/replaced-twice", test_replaced_twice);
    qtest_add_func("/hostvlan/moved-twice", test_moved_twice);
    qtest_add_func("/hostvlan/gone-while-checked", test_gone_while_checked);
    qtest_add_func("/hostvlan/superseded", test_superseded);
    qtest_add_func("/hostvlan/appears", test_appears);
    qtest_add_func("/hostvlan/folder", test_folder);
    qtest_add_func("/hostvlan/links", test_links);
    qtest_add_func("/hostvlan/damaged", test_damaged);
    qtest_add_func("/hostvlan/damaged-first", test_damaged_first);
    qtest_add_func("/hostvlan/truncated", test_truncated);
    qtest_add_func("/hostvlan/truncated-unseen", test_truncated_unseen);
}

int main(int argc, char **argv)
{
    return hostvlan_test_main(argc, argv, add_tests);
}
