/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of a zone: reading when it is opened
 *
 * Each file is scanned twice: first for its last complete record and for the
 * base of the image, then for the changes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/update/store/journal-internal.h"

typedef struct Scan {
    Journal *journal;
    char *error;
    const uint8_t *map[JOURNAL_FILES];
    size_t map_len[JOURNAL_FILES];
    bool has_base;              /* a base of this image was found */
    bool has_chain;             /* a change was found */
    uint64_t last_base;         /* positions of the last records */
    uint64_t last_change;
} Scan;

static int journal_fail(Scan *s, unsigned file, const char *what)
{
    snprintf(s->error, JOURNAL_ERROR_MAX, "%.150s: %s",
             s->journal->path[file], what);
    return -1;
}

static int fail_at(Scan *s, unsigned file, uint64_t offset, const char *what)
{
    char text[96];

    snprintf(text, sizeof(text), "at octet %llu: %s",
             (unsigned long long)offset, what);
    return journal_fail(s, file, text);
}

/* --- files ---------------------------------------------------------------- */

/* Returns: 0 even if the file does not exist. */
static int map_file(Scan *s, unsigned i)
{
    JournalFile *file = &s->journal->file[i];
    struct stat st;
    void *map;

    file->fd = open(s->journal->path[i], O_RDWR | O_CLOEXEC);
    if (file->fd < 0) {
        return errno == ENOENT ? 0 : journal_fail(s, i, strerror(errno));
    }
    if (fstat(file->fd, &st)) {
        return journal_fail(s, i, strerror(errno));
    }
    if (st.st_size < JOURNAL_HEADER) {
        return journal_fail(s, i, "the file ends within its header");
    }
    map = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED) {
        return journal_fail(s, i, strerror(errno));
    }
    s->map[i] = map;
    s->map_len[i] = st.st_size;
    if (!journal_header_is(map, &s->journal->about.origin,
                           s->journal->about.rrclass)) {
        return journal_fail(s, i, "this is no journal of the zone");
    }
    return 0;
}

/* Does a complete record behind @offset prove that @offset was durable? */
static bool was_durable(const Scan *s, unsigned i, uint64_t offset)
{
    const uint8_t *map = s->map[i];
    JournalRecord record;

    for (uint64_t at = offset; s->map_len[i] - at >= JOURNAL_R_OCTETS;
         at += JOURNAL_ALIGN) {
        if (get_le32(map + at) == JOURNAL_MARK &&
            !journal_record_read(map + at, s->map_len[i] - at, &record) &&
            record.durable > offset) {
            return true;
        }
    }
    return false;
}

static int end_at(Scan *s, unsigned i, uint64_t offset)
{
    JournalFile *file = &s->journal->file[i];

    file->len = offset;
    if (offset == s->map_len[i]) {
        return 0;
    }
    if (i == JOURNAL_OLD || was_durable(s, i, offset)) {
        return fail_at(s, i, offset, "the journal is damaged: changes that "
                       "were acknowledged are lost");
    }
    if (ftruncate(file->fd, offset) || fdatasync(file->fd)) {
        return journal_fail(s, i, strerror(errno));
    }
    return 0;
}

/* Find the base of the image, and the end of the file. */
static int scan_records(Scan *s, unsigned i)
{
    Journal *j = s->journal;
    uint64_t at = JOURNAL_HEADER;
    JournalRecord record;

    if (!s->map[i]) {
        return 0;
    }
    while (!journal_record_read(s->map[i] + at, s->map_len[i] - at, &record)) {
        if (record.kind == JOURNAL_CHANGE) {
            s->last_change = record.position;
        } else if (record.kind == JOURNAL_BASE) {
            s->last_base = record.position;
        }
        if (record.kind == JOURNAL_BASE &&
            record.identity == j->about.identity) {
            s->has_base = true;
            j->base = record.position;
        }
        at += record.len;
    }
    return end_at(s, i, at);
}

/* --- changes -------------------------------------------------------------- */

/* Forget changes that do not lead to the current position. */
static void forget_history(Journal *j)
{
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        j->file[i].changes = j->file[i].places = 0;
    }
}

/*
 * A change that does not fit was acknowledged.  It is left in the file with all
 * that follow, and nothing more is written.
 */
static void leave_change(Scan *s, unsigned i, uint64_t at,
                         const JournalRecord *record)
{
    JournalLeft *left = &s->journal->left;

    if (!left->changes) {
        left->file = i;
        left->offset = at;
        left->from = record->changes.from;
    }
    left->changes++;
    left->to = record->changes.to;
    s->journal->is_unknown = true;
}

static int take_change(Scan *s, unsigned i, uint64_t at,
                       const JournalRecord *record, JournalReplay *replay,
                       void *opaque)
{
    Journal *j = s->journal;
    uint64_t before = record->position -
                      (uint32_t)(record->changes.to - record->changes.from);
    bool is_lacking = (int64_t)(record->position - j->base) > 0;
    int ret;

    if (j->left.changes) {
        leave_change(s, i, at, record);
        return 0;
    }
    if (s->has_chain && before != j->position) {
        if (is_lacking) {
            return fail_at(s, i, at, "a change is missing before this one");
        }
        forget_history(j);
    }
    if (is_lacking && (!s->has_chain || before != j->position) &&
        before != j->base) {
        return fail_at(s, i, at, "the change does not follow the image");
    }
    ret = is_lacking ? replay(opaque, record) : 0;
    if (ret == -EINVAL || ret == -ENOSPC) {
        leave_change(s, i, at, record);
        return 0;
    }
    s->has_chain = true;
    if (ret || journal_index(&j->file[i], before, at)) {
        return journal_fail(s, i, strerror(ret ? -ret : ENOMEM));
    }
    j->position = record->position;
    return 0;
}

static int scan_changes(Scan *s, unsigned i, JournalReplay *replay,
                        void *opaque)
{
    JournalFile *file = &s->journal->file[i];
    uint64_t at = JOURNAL_HEADER;
    JournalRecord record;
    int ret = 0;

    file->begin = s->journal->position;
    for (; !ret && at < file->len; at += record.len) {
        journal_record_head(s->map[i] + at, &record);
        record.changes.octets = s->map[i] + at + JOURNAL_R_OCTETS;
        if (record.kind == JOURNAL_CHANGE) {
            ret = take_change(s, i, at, &record, replay, opaque);
        }
    }
    if (s->journal->left.changes && file->fd >= 0) {
        file->len = s->journal->left.file == i ? s->journal->left.offset
                                               : JOURNAL_HEADER;
    }
    return ret;
}

static int scan_all(Scan *s, JournalReplay *replay, void *opaque)
{
    Journal *j = s->journal;
    int ret = 0;

    for (unsigned i = 0; i < JOURNAL_FILES && !ret; i++) {
        ret = map_file(s, i);
        ret = ret ? ret : scan_records(s, i);
    }
    if (ret) {
        return ret;
    }
    if (!s->has_base && (s->map[JOURNAL_OLD] || s->map[JOURNAL_NOW])) {
        /* Updates that are in no image stay: the operator decides. */
        if (j->about.is_static &&
            (int64_t)(s->last_change - s->last_base) <= 0) {
            j->is_foreign = true;
            j->position = j->base;
            return 0;
        }
        return journal_fail(s, s->map[JOURNAL_NOW] ? JOURNAL_NOW : JOURNAL_OLD,
                            "this is the journal of another image; remove it if "
                            "its changes are no longer wanted");
    }
    if ((uint32_t)j->base != j->about.serial) {
        return journal_fail(s, JOURNAL_NOW, "the image does not have the "
                            "serial that the journal says");
    }
    j->position = j->base;
    for (unsigned i = 0; i < JOURNAL_FILES && !ret; i++) {
        ret = scan_changes(s, i, replay, opaque);
    }
    /* If the image has all changes, the history ends at the image. */
    if (!ret && (int64_t)(j->position - j->base) < 0) {
        forget_history(j);
        j->position = j->base;
    }
    return ret;
}

int journal_scan(Journal *j, JournalReplay *replay, void *opaque,
                 char error[JOURNAL_ERROR_MAX])
{
    Scan s = { .journal = j, .error = error };
    int ret;

    j->base = j->about.serial;
    ret = scan_all(&s, replay, opaque);
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        if (s.map[i]) {
            munmap((void *)s.map[i], s.map_len[i]);
        }
    }
    return ret;
}
