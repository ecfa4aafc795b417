/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state file: a line for each change, and rewritten from time to time
 *
 * A line is written before the mobile node gets its acknowledgement, so nothing
 * is lost if the process is killed. The file is replaced with rename(), so
 * there is a complete file at any time. It is synced only at start and at the
 * end, because registrations must not wait for the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ha/service/journal.h"
#include "base/clock.h"

#define BOOT_ID         "/proc/sys/kernel/random/boot_id"
#define NO_BOOT_ID      "00000000-0000-0000-0000-000000000000"
#define WARNINGS        10u     /* maximum number for one file */
#define SLACK           1000u   /* lines besides those of bindings */
#define SENT_AHEAD      16u     /* numbers */

int64_t mip6_ha_clock(void)
{
    return base_clock(CLOCK_BOOTTIME);
}

static Mip6HaClock clock_of(const Mip6HaJournal *j)
{
    Mip6HaClock clock = {
        .boot = base_clock(CLOCK_BOOTTIME),
        .wall = base_clock(CLOCK_REALTIME),
    };

    memcpy(clock.boot_id, j->boot_id, sizeof(clock.boot_id));
    return clock;
}

static void read_boot_id(char id[MIP6_HA_BOOT_ID_LEN + 1])
{
    g_autofree char *text = NULL;
    bool known = g_file_get_contents(BOOT_ID, &text, NULL, NULL) &&
                 strlen(g_strchomp(text)) == MIP6_HA_BOOT_ID_LEN;

    memcpy(id, known ? text : NO_BOOT_ID, MIP6_HA_BOOT_ID_LEN + 1);
}

void mip6_ha_journal_init(Mip6HaJournal *j, const char *path)
{
    memset(j, 0, sizeof(*j));
    j->path = g_strdup(path);
    j->fd = -1;
    j->line = g_string_sized_new(256);
    read_boot_id(j->boot_id);
}

void mip6_ha_journal_destroy(Mip6HaJournal *j)
{
    if (j->fd >= 0) {
        close(j->fd);
    }
    g_string_free(j->line, TRUE);
    g_free(j->path);
}

static void warn_of_damage(const Mip6HaJournal *j, const char *text, size_t len,
                           const GPtrArray *damage)
{
    g_autofree char *copy = g_strconcat(j->path, ".damaged", NULL);
    g_autoptr(GError) err = NULL;

    for (guint i = 0; i < MIN(damage->len, WARNINGS); i++) {
        g_warning("%s", (const char *)g_ptr_array_index(damage, i));
    }
    if (!damage->len) {
        return;
    }
    if (g_file_set_contents_full(copy, text, len, G_FILE_SET_CONTENTS_NONE,
                                 0600, &err)) {
        g_warning("%s: %u damaged lines are ignored; a copy of the file is "
                  "'%s'", j->path, damage->len, copy);
    } else {
        g_warning("%s: %u damaged lines are ignored; %s", j->path,
                  damage->len, err->message);
    }
}

GHashTable *mip6_ha_journal_load(Mip6HaJournal *j, GArray *seen,
                                 GError **errp)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    Mip6HaClock clock = clock_of(j);
    GHashTable *found;
    gsize len;

    if (!j->path || (!g_file_get_contents(j->path, &text, &len, &err) &&
                     g_error_matches(err, G_FILE_ERROR, G_FILE_ERROR_NOENT))) {
        return g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, NULL,
                                     g_free);
    }
    if (err) {
        g_propagate_error(errp, g_steal_pointer(&err));
        return NULL;
    }
    found = mip6_ha_state_parse(text, len, j->path, &clock, seen, &j->sent,
                                damage, errp);
    warn_of_damage(j, text, len, damage);
    return found;
}

static bool write_all(int fd, const GString *text)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t len = write(fd, text->str + done, text->len - done);

        if (len < 0 && errno != EINTR) {
            return false;
        }
        done += MAX(len, 0);
    }
    return true;
}

static void put_seen(void *opaque, const Mip6Keys *keys)
{
    mip6_ha_state_seen(opaque, keys);
}

static GString *whole(const Mip6HaJournal *j, const Mip6Agent *a)
{
    GString *out = g_string_sized_new(4096);
    Mip6HaClock clock = clock_of(j);
    GHashTableIter iter;
    gpointer value;

    mip6_ha_state_head(out, &clock);
    g_hash_table_iter_init(&iter, a->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Mip6AgentBinding *b = value;

        if (!b->tentative) {
            mip6_ha_state_bind(out, b, &clock);
        }
    }
    mip6_keyring_each(a->config.keys, put_seen, out);
    if (j->sent) {
        mip6_ha_state_sent(out, j->sent);
    }
    return out;
}

/* Syncs the directory entry. */
static bool sync_folder(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return done;
}

bool mip6_ha_journal_renew(Mip6HaJournal *j, const Mip6Agent *a, bool durable,
                           GError **errp)
{
    g_autofree char *part = NULL;
    GString *text;
    bool done;
    int fd;

    if (!j->path) {
        return true;
    }
    part = g_strconcat(j->path, ".part", NULL);
    text = whole(j, a);
    fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    done = fd >= 0 && write_all(fd, text) && (!durable || fsync(fd) == 0) &&
           rename(part, j->path) == 0 && (!durable || sync_folder(j->path));
    if (!done) {
        g_set_error(errp, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "cannot write state '%s': %s", j->path, strerror(errno));
    }
    g_string_free(text, TRUE);
    if (!done) {
        if (fd >= 0) {
            close(fd);
        }
        j->behind = true;
        return false;
    }
    if (j->fd >= 0) {
        close(j->fd);
    }
    j->fd = fd;
    j->lines = 0;
    j->behind = false;
    return true;
}

/* Appends the line. */
static void append(Mip6HaJournal *j)
{
    j->behind = !write_all(j->fd, j->line);
    j->lines++;
}

void mip6_ha_journal_seen(Mip6HaJournal *j, const Mip6Keys *keys)
{
    if (j->fd >= 0 && !j->behind) {
        g_string_truncate(j->line, 0);
        mip6_ha_state_seen(j->line, keys);
        append(j);
    }
}

void mip6_ha_journal_sent(Mip6HaJournal *j, uint64_t number)
{
    if (number <= j->sent) {
        return;
    }
    j->sent = MIN(number + SENT_AHEAD, UINT32_MAX);
    if (j->fd >= 0 && !j->behind) {
        g_string_truncate(j->line, 0);
        mip6_ha_state_sent(j->line, j->sent);
        append(j);
    }
}

void mip6_ha_journal_append(Mip6HaJournal *j, const Mip6AgentBinding *b)
{
    Mip6HaClock clock;

    if (j->fd < 0 || j->behind) {
        return;
    }
    g_string_truncate(j->line, 0);
    if (b->lifetime) {
        clock = clock_of(j);
        mip6_ha_state_bind(j->line, b, &clock);
    } else {
        mip6_ha_state_end(j->line, &b->home);
    }
    append(j);
}

bool mip6_ha_journal_is_lost(const Mip6HaJournal *j)
{
    struct stat ours, there;

    if (j->fd < 0 || fstat(j->fd, &ours) < 0) {
        return false;
    }
    return stat(j->path, &there) < 0
           ? errno == ENOENT
           : there.st_ino != ours.st_ino || there.st_dev != ours.st_dev;
}

bool mip6_ha_journal_wants(const Mip6HaJournal *j, const Mip6Agent *a)
{
    return j->path &&
           (j->behind ||
            j->lines > 2 * g_hash_table_size(a->bindings) + SLACK);
}
