/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a zone: writing */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/update/store/journal-internal.h"
#include "dnsd/update/store/journal.h"

#define HISTORY_MAX     (UINT64_C(64) << 20)

/* --- files ---------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *data, size_t len, uint64_t at)
{
    while (len) {
        ssize_t n = pwrite(fd, data, len, at);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        n = n < 0 ? 0 : n;
        data += n;
        len -= n;
        at += n;
    }
    return 0;
}

static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int ret = fd < 0 || fsync(fd) ? -errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    return ret;
}

int dns_store_sync_folder_of(const char *path)
{
    char *copy = strdup(path);
    int ret = copy ? sync_folder(dirname(copy)) : -ENOMEM;

    free(copy);
    return ret;
}

/* Make a file with a header and a base, and give it its final name. */
static int make_file(Journal *j, uint64_t identity, uint64_t position,
                     JournalFile *file)
{
    uint8_t begin[JOURNAL_HEADER + JOURNAL_R_OCTETS];
    int ret;

    *file = (JournalFile) {
        .fd = open(j->path_new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
        .len = sizeof(begin),
        .begin = j->position,
    };
    if (file->fd < 0) {
        return -errno;
    }
    journal_header_put(begin, &j->about.origin, j->about.rrclass);
    journal_record_base(begin + JOURNAL_HEADER, identity, position);
    journal_record_seal(begin + JOURNAL_HEADER, 0);
    ret = write_all(file->fd, begin, sizeof(begin), 0);
    ret = ret || !fsync(file->fd) ? ret : -errno;
    ret = ret || !rename(j->path_new, j->path[JOURNAL_NOW]) ? ret : -errno;
    ret = ret ? ret : sync_folder(j->folder);
    if (ret) {
        journal_forget(file);
    }
    return ret;
}

/* --- records -------------------------------------------------------------- */

/*
 * After a failure the contents of the disk are unknown: a failed write may be
 * there in part, and data that was not synced may still be written.
 */
static int append(Journal *j, const uint8_t *data, size_t len)
{
    JournalFile *file = &j->file[JOURNAL_NOW];
    int ret = write_all(file->fd, data, len, file->len);

    if (ret && !ftruncate(file->fd, file->len) && !fdatasync(file->fd)) {
        return ret;
    }
    ret = ret || !fdatasync(file->fd) ? ret : -errno;
    j->is_unknown = ret;
    return ret;
}

static int have_file(Journal *j)
{
    if (j->is_unknown) {
        return -EROFS;
    }
    return j->file[JOURNAL_NOW].fd >= 0 ? 0
           : make_file(j, j->about.identity, j->base, &j->file[JOURNAL_NOW]);
}

int journal_append(Journal *j, uint8_t *records, size_t len)
{
    JournalFile *file = &j->file[JOURNAL_NOW];
    JournalRecord record;
    int ret = have_file(j);

    for (size_t at = 0; !ret && at < len; at += record.len) {
        journal_record_seal(records + at, file->len);
        journal_record_head(records + at, &record);
    }
    ret = ret ? ret : append(j, records, len);
    for (size_t at = 0; !ret && at < len; at += record.len) {
        journal_record_head(records + at, &record);
        if (record.kind == JOURNAL_CHANGE) {
            ret = journal_index(file, j->position, file->len + at);
            j->position = record.position;
        }
    }
    file->len += ret ? 0 : len;
    j->is_unknown |= ret == -ENOMEM;
    return ret;
}

int journal_base(Journal *j, uint64_t identity, uint64_t position)
{
    uint8_t record[JOURNAL_R_OCTETS];
    int ret = have_file(j);

    if (ret) {
        return ret;
    }
    journal_record_base(record, identity, position);
    journal_record_seal(record, j->file[JOURNAL_NOW].len);
    ret = append(j, record, sizeof(record));
    j->file[JOURNAL_NOW].len += ret ? 0 : sizeof(record);
    return ret;
}

void journal_based(Journal *j, uint64_t identity, uint64_t position)
{
    j->about.identity = identity;
    j->base = position;
}

int journal_rotate(Journal *j)
{
    JournalFile *now = &j->file[JOURNAL_NOW];
    int ret;

    if (now->fd < 0 || now->len < j->about.history_max / 2 ||
        (int64_t)(j->base - now->begin) < 0) {
        return 0;
    }
    if (rename(j->path[JOURNAL_NOW], j->path[JOURNAL_OLD])) {
        return -errno;
    }
    journal_forget(&j->file[JOURNAL_OLD]);
    j->file[JOURNAL_OLD] = *now;
    *now = (JournalFile) { .fd = -1 };
    ret = sync_folder(j->folder);
    return ret ? ret : have_file(j);
}

int journal_set_aside(Journal *j)
{
    if (!j->is_unknown) {
        return 0;
    }
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        char *path = NULL;
        int ret = 0;

        if (j->file[i].fd >= 0) {
            ret = asprintf(&path, "%s.left", j->path[i]) < 0 ? -ENOMEM
                  : rename(j->path[i], path) ? -errno : 0;
            free(path);
        }
        if (ret) {
            return ret;
        }
        journal_forget(&j->file[i]);
    }
    j->left = (JournalLeft) { 0 };
    j->is_unknown = false;
    return sync_folder(j->folder);
}

int journal_restart(Journal *j, uint64_t identity, uint64_t position)
{
    JournalFile file;
    int ret;

    j->position = j->base = position;
    j->about.identity = identity;
    ret = make_file(j, identity, position, &file);
    if (ret) {
        j->is_unknown = true;
        return ret;
    }
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        journal_forget(&j->file[i]);
    }
    j->file[JOURNAL_NOW] = file;
    return unlink(j->path[JOURNAL_OLD]) && errno != ENOENT ? -errno : 0;
}

/* --- life ----------------------------------------------------------------- */

bool journal_is_anew(const Journal *j)
{
    return j->is_foreign;
}

const JournalLeft *journal_left(const Journal *j)
{
    return &j->left;
}

uint64_t journal_position(const Journal *j)
{
    return j->position;
}

uint64_t journal_base_position(const Journal *j)
{
    return j->base;
}

uint64_t journal_len(const Journal *j)
{
    return j->file[JOURNAL_OLD].len + j->file[JOURNAL_NOW].len;
}

static bool make_paths(Journal *j)
{
    char *copy = strdup(j->about.image);

    j->folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return j->folder &&
           asprintf(&j->path[JOURNAL_NOW], "%s.jnl", j->about.image) > 0 &&
           asprintf(&j->path[JOURNAL_OLD], "%s.jnl.old", j->about.image) > 0 &&
           asprintf(&j->path_new, "%s.jnl.new", j->about.image) > 0;
}

/* The journal is of another image, which has all of its changes. */
static int begin_anew(Journal *j)
{
    int ret;

    j->is_unknown = true;       /* nothing is added to these files */
    ret = journal_set_aside(j);
    return ret ? ret : journal_restart(j, j->about.identity, j->about.serial);
}

Journal *journal_open(const JournalAbout *about, JournalReplay *replay,
                      void *opaque, char error[JOURNAL_ERROR_MAX])
{
    Journal *j = calloc(1, sizeof(*j));

    if (!j) {
        snprintf(error, JOURNAL_ERROR_MAX, "there is no memory");
        return NULL;
    }
    j->about = *about;
    j->about.history_max = about->history_max ? about->history_max
                                              : HISTORY_MAX;
    j->file[JOURNAL_OLD].fd = j->file[JOURNAL_NOW].fd = -1;
    if (!make_paths(j)) {
        snprintf(error, JOURNAL_ERROR_MAX, "there is no memory");
    } else if (!journal_scan(j, replay, opaque, error)) {
        int ret = j->is_foreign ? begin_anew(j) : 0;

        if (!ret) {
            j->about.image = NULL;
            return j;
        }
        snprintf(error, JOURNAL_ERROR_MAX, "%.150s: %s", j->path[JOURNAL_NOW],
                 strerror(-ret));
    }
    journal_close(j);
    return NULL;
}

void journal_close(Journal *j)
{
    if (j) {
        for (unsigned i = 0; i < JOURNAL_FILES; i++) {
            journal_forget(&j->file[i]);
            free(j->path[i]);
        }
        free(j->path_new);
        free(j->folder);
        free(j);
    }
}
