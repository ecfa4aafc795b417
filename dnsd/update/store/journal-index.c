/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of a zone's journal, and the index of the changes in it */
#include <unistd.h>

#include "dnsd/update/store/journal-internal.h"

void journal_forget(JournalFile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file->place);
    *file = (JournalFile) { .fd = -1 };
}

int journal_index(JournalFile *file, uint64_t before, uint64_t offset)
{
    if (!file->changes) {
        file->begin = before;
    }
    if (file->changes++ % JOURNAL_INDEX_EVERY) {
        return 0;
    }
    if (file->places == file->room) {
        size_t room = file->room ? 2 * file->room : 64;
        JournalPlace *more = realloc(file->place, room * sizeof(*more));

        if (!more) {
            return -ENOMEM;
        }
        file->place = more;
        file->room = room;
    }
    file->place[file->places++] = (JournalPlace) { before, offset };
    return 0;
}
