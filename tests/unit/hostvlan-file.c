/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An LNID table in a folder of its own: see hostvlan-file.h */

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "hostvlan-file.h"

HvFile hv_begin(uint32_t buckets, uint32_t words)
{
    HvFile fx = {
        .dir = g_build_filename(hv_tmp(), "XXXXXX", NULL),
    };

    g_assert_nonnull(g_mkdtemp(fx.dir));
    fx.path = g_build_filename(fx.dir, "table", NULL);
    fx.w = hv_create(fx.path, buckets, words);
    return fx;
}

void hv_end(HvFile *fx)
{
    if (fx->w) {
        hv_close(fx->w);
    }
    g_unlink(fx->path);
    g_assert_cmpint(g_rmdir(fx->dir), ==, 0);
    g_free(fx->path);
    g_free(fx->dir);
}

HostvlanTable *hv_open(const char *path)
{
    g_autoptr(GError) err = NULL;
    HostvlanTable *t = hostvlan_table_open(path, &err);

    g_assert_no_error(err);
    g_assert_nonnull(t);
    return t;
}

unsigned hv_lnids_of(const HostvlanTable *t, uint64_t mac,
                     HostvlanLnids *lnids)
{
    return hostvlan_table_lnids(t, hostvlan_table_lookup(t, mac), lnids);
}

void hv_resize(HvWriter *w, off_t size)
{
    g_assert_cmpint(truncate(w->path, size), ==, 0);
}

void hv_assert_refused(const char *path, int code)
{
    g_autoptr(GError) err = NULL;

    g_assert_null(hostvlan_table_open(path, &err));
    g_assert_error(err, HOSTVLAN_TABLE_ERROR, code);
    g_assert_nonnull(strstr(err->message, path));
}
