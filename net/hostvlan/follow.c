/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table in force: the last valid file at a path
 *
 * Theory of operation
 *
 * The user of a HostvlanFollow looks at the path when there is a reason: an
 * event of a watch on the folder, the mark "superseded" in the table in force,
 * or a timer. A look calls stat() first:
 *
 *   the file in force, intact       nothing to do
 *   checked before, and invalid     nothing to do: it is still invalid
 *   anything else                   open the file and check all of it
 *
 * A file that passes the checks comes into force, and only then the previous
 * table is closed. A file that fails the checks changes nothing, with one
 * exception: if the file in force itself was truncated or overwritten, nothing
 * of it can be kept, and no table is in force.
 *
 * A file may be marked as superseded although the path has no newer file, for
 * example after a restore of an old copy. It stays in force, and the mark
 * causes no further looks. This applies only to a mark that was set before the
 * look: a mark that was set later may be about a file that has been put at the
 * path since.
 */
#include <errno.h>
#include <string.h>

#include "net/hostvlan/follow.h"

static HostvlanStamp stamp_of(const struct stat *st)
{
    return (HostvlanStamp) {
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .modified = st->st_mtim,
        .changed = st->st_ctim,
    };
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_stamp(const HostvlanStamp *a, const HostvlanStamp *b)
{
    if (a->error || b->error) {
        return a->error == b->error;
    }
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           same_time(&a->modified, &b->modified) &&
           same_time(&a->changed, &b->changed);
}

void hostvlan_follow_init(HostvlanFollow *f, const char *path)
{
    *f = (HostvlanFollow) { .path = g_canonicalize_filename(path, NULL) };
}

void hostvlan_follow_destroy(HostvlanFollow *f)
{
    hostvlan_table_close(f->table);
    g_clear_error(&f->error);
    g_free(f->path);
    *f = (HostvlanFollow) { 0 };
}

/* The file in force is at the path, and valid. */
static HostvlanFollowResult in_force(HostvlanFollow *f)
{
    bool result = f->error != NULL;

    g_clear_error(&f->error);
    f->keep_superseded = f->was_superseded;
    return result ? HOSTVLAN_FOLLOW_TAKEN : HOSTVLAN_FOLLOW_NOTHING;
}

/*
 * The file at the path was refused; keeps the table in force, unless it is
 * lost.
 */
static HostvlanFollowResult refused(HostvlanFollow *f)
{
    if (f->table && hostvlan_table_lost(f->table)) {
        hostvlan_table_close(f->table);
        f->table = NULL;
    }
    f->keep_superseded = f->table && f->was_superseded;
    return f->table ? HOSTVLAN_FOLLOW_KEPT : HOSTVLAN_FOLLOW_NONE;
}

HostvlanFollowResult hostvlan_follow_end(HostvlanFollow *f,
                                         HostvlanTable *table, GError *error)
{
    g_clear_error(&f->error);
    if (!table) {
        f->error = error;
        return refused(f);
    }
    hostvlan_table_close(f->table);
    f->table = table;
    f->keep_superseded = false;
    return HOSTVLAN_FOLLOW_TAKEN;
}

bool hostvlan_follow_begin(HostvlanFollow *f, HostvlanFollowResult *result)
{
    HostvlanStamp stamp;
    struct stat st;
    bool seen;

    f->was_superseded = f->table && hostvlan_table_superseded(f->table);
    if (stat(f->path, &st) < 0) {
        stamp = (HostvlanStamp) { .error = errno };
    } else {
        stamp = stamp_of(&st);
    }
    seen = f->looked && same_stamp(&stamp, &f->stamp);
    f->looked = true;
    f->stamp = stamp;
    if (!stamp.error && f->table && hostvlan_table_is_current(f->table, &st)) {
        *result = in_force(f);
        return false;
    }
    if (seen && f->error && !(f->table && hostvlan_table_lost(f->table))) {
        f->keep_superseded = f->table && f->was_superseded;
        *result = HOSTVLAN_FOLLOW_NOTHING;
        return false;
    }
    return true;
}

HostvlanFollowResult hostvlan_follow_look(HostvlanFollow *f)
{
    HostvlanFollowResult result;
    HostvlanTable *table;
    GError *error = NULL;

    if (!hostvlan_follow_begin(f, &result)) {
        return result;
    }
    table = hostvlan_table_open(f->path, &error);
    return hostvlan_follow_end(f, table, error);
}
