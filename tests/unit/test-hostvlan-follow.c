/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table in force: the file at a path, as long as it is valid */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "tests/fixtures/hostvlan-file.h"
#include "net/hostvlan/follow.h"

static void assert_kept(HostvlanFollow *f, int code)
{
    g_assert_cmpint(hostvlan_follow_look(f), ==, HOSTVLAN_FOLLOW_KEPT);
    g_assert_error(f->error, HOSTVLAN_TABLE_ERROR, code);
    g_assert_nonnull(f->table);
    g_assert_false(hostvlan_follow_is_settled(f));
    /* It is not checked twice. */
    g_assert_cmpint(hostvlan_follow_look(f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_due(f));
}

static void test_follow(void)
{
    HvFile fx = hv_begin(16, 64);
    HostvlanFollow f;

    hv_close(g_steal_pointer(&fx.w));
    g_unlink(fx.path);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
    g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, HOSTVLAN_TABLE_ERROR_MISSING);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_settled(&f));
    g_assert_false(hostvlan_follow_is_due(&f));

    /* It appears, and in-place changes need no check. */
    fx.w = hv_create(fx.path, 16, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_no_error(f.error);
    g_assert_true(hostvlan_follow_is_settled(&f));
    hv_set_lnids(fx.w, MAC_A, 1, 1);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);

    /* A bigger one replaces it. */
    fx.w = hv_replace(fx.w, 32, 64);
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);

    /* Another one is invalid, is corrected, and is removed. */
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 32, 64);
    fx.w->header->checksum ^= 1;
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_CHECKSUM);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 32, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_unlink(fx.path);
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_MISSING);
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

/* The invalid file is corrected in place. */
static void test_follow_mended(void)
{
    HvFile fx = hv_begin(16, 64);
    HostvlanFollow f;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 16, 64);
    g_assert_cmpint(truncate(fx.path, 5000), ==, 0);
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_SIZE);
    g_assert_cmpint(truncate(fx.path, fx.w->size), ==, 0);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

/* Superseded without a newer file: it stays, and reports once. */
static void test_follow_old(void)
{
    HvFile fx = hv_begin(16, 64);
    HostvlanFollow f;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    fx.w->header->superseded = 1;
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_false(hostvlan_follow_is_settled(&f));
    g_assert_nonnull(f.table);
    fx.w = hv_replace(fx.w, 16, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_true(hostvlan_follow_is_settled(&f));
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

/* Checked in another thread: until its end no other check starts. */
static void test_follow_halves(void)
{
    HvFile fx = hv_begin(16, 64);
    HostvlanFollow f;
    HostvlanFollowResult result;
    HostvlanTable *t;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_false(hostvlan_follow_begin(&f, &result));
    g_assert_cmpint(result, ==, HOSTVLAN_FOLLOW_NOTHING);
    hv_set_lnids(fx.w, MAC_A, 1, 1);
    fx.w = hv_replace(fx.w, 16, 64);
    g_assert_true(hostvlan_follow_begin(&f, &result));
    t = hv_open(f.path);
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_end(&f, t, NULL), ==,
                    HOSTVLAN_FOLLOW_TAKEN);
    g_assert_true(f.table == t);
    g_assert_false(hostvlan_follow_is_due(&f));
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

/*
 * Superseded after a check found no change: the new file has come to the path
 * since, so the old table must not stay in force.
 */
static void test_follow_late_mark(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autofree char *away = g_strdup_printf("%s.away", fx.path);
    HostvlanFollow f;
    HostvlanFollowResult result;
    GError *err = NULL;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpint(g_rename(fx.path, away), ==, 0);
    g_assert_true(hostvlan_follow_begin(&f, &result));
    g_assert_null(hostvlan_table_open(f.path, &err));
    fx.w = hv_replace(fx.w, 16, 64);
    g_assert_cmpint(hostvlan_follow_end(&f, NULL, err), ==,
                    HOSTVLAN_FOLLOW_KEPT);
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hostvlan_follow_destroy(&f);
    g_unlink(away);
    hv_end(&fx);
}

/* --- what becomes of the file in force ------------------------------------ */

/*
 * No reader has used it since, but the check finds that it is shorter, or
 * changed.
 */
static void test_shortened_seen(void)
{
    static const int codes[] = {
        HOSTVLAN_TABLE_ERROR_SIZE, HOSTVLAN_TABLE_ERROR_VERSION,
    };

    for (int other = 0; other < 2; other++) {
        HvFile fx = hv_begin(4096, 0);
        HostvlanFollow f;

        hv_set_lnids(fx.w, MAC_A, 1, 1);
        hostvlan_follow_init(&f, fx.path);
        g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
        if (other) {
            fx.w->header->version = HOSTVLAN_VERSION + 1;
        } else {
            hv_resize(fx.w, fx.w->size - 4096);
        }
        g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
        g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, codes[other]);
        g_assert_null(f.table);
        hostvlan_follow_destroy(&f);
        hv_end(&fx);
    }
}

/* Overwritten by "cp" with the same size: the header shows it. */
static void test_overwritten(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autofree char *other = g_strdup_printf("%s.other", fx.path);
    HvWriter *w = hv_create(other, 8, 64 + 8 * 16);
    g_autofree char *bytes = NULL;
    HostvlanFollow f;
    gsize size;
    int fd;

    hv_set_lnids(fx.w, MAC_A, 1, 1);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(w->size, ==, fx.w->size);
    hv_close(w);
    g_assert_true(g_file_get_contents(other, &bytes, &size, NULL));
    fd = open(fx.path, O_WRONLY);
    g_assert_cmpint(write(fd, bytes, size), ==, size);
    close(fd);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_assert_false(hostvlan_table_lost(f.table));
    g_unlink(other);
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/table/shortened-seen", test_shortened_seen);
    g_test_add_func("/hostvlan/table/overwritten", test_overwritten);
    g_test_add_func("/hostvlan/follow", test_follow);
    g_test_add_func("/hostvlan/follow/mended", test_follow_mended);
    g_test_add_func("/hostvlan/follow/old", test_follow_old);
    g_test_add_func("/hostvlan/follow/halves", test_follow_halves);
    g_test_add_func("/hostvlan/follow/late-mark", test_follow_late_mark);
    return g_test_run();
}
