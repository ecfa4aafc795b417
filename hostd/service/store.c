/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file */
#include "hostd/core/state.h"
#include "hostd/service/store.h"

#define MODE            0600
#define WARNINGS        10u     /* maximum number for one file */

static void warn_of_damage(const char *path, const char *text, size_t len,
                           const GPtrArray *damage)
{
    g_autofree char *copy = g_strconcat(path, ".damaged", NULL);
    g_autoptr(GError) err = NULL;

    for (guint i = 0; i < MIN(damage->len, WARNINGS); i++) {
        g_warning("%s", (const char *)g_ptr_array_index(damage, i));
    }
    if (!damage->len) {
        return;
    }
    if (g_file_set_contents_full(copy, text, len, G_FILE_SET_CONTENTS_NONE,
                                 MODE, &err)) {
        g_warning("%s: %u damaged lines, and the VMs in them, are ignored; "
                  "'%s' is a copy of the file", path, damage->len, copy);
    } else {
        g_warning("%s: %u damaged lines, and the VMs in them, are ignored; "
                  "%s", path, damage->len, err->message);
    }
}

bool hostd_store_load(const char *path, HostdRegistry *r, GError **errp)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    gsize len;

    if (!g_file_get_contents(path, &text, &len, &err)) {
        if (g_error_matches(err, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
            return true;
        }
        g_propagate_error(errp, g_steal_pointer(&err));
        return false;
    }
    if (!hostd_state_read(r, text, len, path, damage, errp)) {
        return false;
    }
    warn_of_damage(path, text, len, damage);
    return true;
}

bool hostd_store_save(const char *path, const HostdRegistry *r, GError **errp)
{
    g_autoptr(GString) text = g_string_new(NULL);

    hostd_state_write(r, text);
    return g_file_set_contents_full(path, text->str, text->len,
                                    G_FILE_SET_CONTENTS_CONSISTENT, MODE,
                                    errp);
}
