/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a zone: reading from a serial on, for IXFR */
#include <fcntl.h>
#include <unistd.h>

#include "dnsd/update/store/journal-internal.h"
#include "dnsd/update/store/journal.h"

static int read_at(int fd, void *to, size_t len, uint64_t at)
{
    ssize_t n = pread(fd, to, len, at);

    return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* The last place at or before @position */
static const JournalPlace *find_place(const JournalFile *file,
                                      uint64_t position)
{
    size_t low = 0, high = file->places;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if ((int64_t)(file->place[middle].before - position) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return file->places && (int64_t)(file->place[low].before - position) <= 0
           ? &file->place[low] : NULL;
}

/* Go from a place to the change that begins at @position; 1 if it is found. */
static int seek(const JournalFile *file, const JournalPlace *place,
                uint64_t position, uint64_t *offset)
{
    uint64_t before = place->before;
    uint8_t head[JOURNAL_R_OCTETS];
    JournalRecord record;

    for (*offset = place->offset; *offset < file->len; *offset += record.len) {
        int ret = read_at(file->fd, head, sizeof(head), *offset);

        if (ret || !journal_record_head(head, &record)) {
            return ret ? ret : -EIO;
        }
        if (record.kind != JOURNAL_CHANGE) {
            continue;
        }
        if (before == position) {
            return 1;
        }
        before = record.position;
    }
    return 0;
}

int journal_read_from(Journal *j, uint32_t serial, JournalReader *r)
{
    uint64_t position = j->position - (uint32_t)((uint32_t)j->position -
                                                 serial);
    int ret = 0;

    *r = (JournalReader) { .fd = { -1, -1 }, .position = position };
    for (unsigned i = JOURNAL_FILES; i-- > 0 && !ret;) {
        const JournalFile *file = &j->file[i];
        const JournalPlace *place = find_place(file, position);

        ret = place ? seek(file, place, position, &r->at[i]) : 0;
        r->file = i;
    }
    if (ret <= 0) {
        return ret ? ret : -ENOENT;
    }
    for (unsigned i = r->file; i < JOURNAL_FILES; i++) {
        const JournalFile *file = &j->file[i];

        r->at[i] = i == r->file ? r->at[i] : JOURNAL_HEADER;
        r->end[i] = file->len;
        r->fd[i] = file->fd < 0 ? -1 : fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
        if (r->fd[i] < 0 && file->fd >= 0) {
            journal_reader_close(r);
            return -errno;
        }
        r->octets += r->fd[i] < 0 ? 0 : r->end[i] - r->at[i];
    }
    return 0;
}

int journal_read_next(JournalReader *r, DnsBuffer *buffer,
                      JournalRecord *record)
{
    for (;;) {
        uint8_t *to;
        int ret;

        while (r->file < JOURNAL_FILES &&
               (r->fd[r->file] < 0 || r->at[r->file] >= r->end[r->file])) {
            r->file++;
        }
        if (r->file == JOURNAL_FILES) {
            return 0;
        }
        buffer->len = 0;
        to = dns_buffer_room(buffer, JOURNAL_R_OCTETS);
        ret = !to ? -ENOMEM : read_at(r->fd[r->file], to, JOURNAL_R_OCTETS,
                                      r->at[r->file]);
        if (ret || !journal_record_head(to, record)) {
            return ret ? ret : -EIO;
        }
        to = dns_buffer_room(buffer, record->len);
        ret = !to ? -ENOMEM : read_at(r->fd[r->file], to, record->len,
                                      r->at[r->file]);
        if (ret || journal_record_read(to, record->len, record)) {
            return ret ? ret : -EIO;
        }
        r->at[r->file] += record->len;
        if (record->kind == JOURNAL_CHANGE) {
            r->position = record->position;
            return 1;
        }
    }
}

void journal_reader_close(JournalReader *r)
{
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        if (r->fd[i] >= 0) {
            close(r->fd[i]);
        }
        r->fd[i] = -1;
    }
}
