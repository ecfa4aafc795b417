/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the journal */
#ifndef DNSD_UPDATE_STORE_JOURNAL_INTERNAL_H
#define DNSD_UPDATE_STORE_JOURNAL_INTERNAL_H

#include "dnsd/update/store/journal-types.h"

#define JOURNAL_INDEX_EVERY 64  /* changes */

typedef struct Journal Journal;

/* The offset of a change, and the position before it */
typedef struct JournalPlace {
    uint64_t before;
    uint64_t offset;
} JournalPlace;

typedef struct JournalFile {
    int fd;                     /* -1: no file */
    uint64_t len;               /* all of it is durable */
    uint64_t changes;
    uint64_t begin;             /* position before its first change */
    size_t places;
    size_t room;
    JournalPlace *place;        /* every JOURNAL_INDEX_EVERY-th change */
} JournalFile;

enum {
    JOURNAL_OLD,
    JOURNAL_NOW,
    JOURNAL_FILES,
};

struct Journal {
    JournalAbout about;
    char *path[JOURNAL_FILES];
    char *path_new;             /* of a new file, before it is renamed */
    char *folder;
    JournalFile file[JOURNAL_FILES];
    uint64_t position;          /* of the last change */
    uint64_t base;              /* position of the image */
    bool is_unknown;            /* nothing may be written */
    JournalLeft left;
    bool is_foreign;            /* of another image; to be begun anew */
};

/* Count a change at @offset of the file, and perhaps add it to the index. */
int journal_index(JournalFile *file, uint64_t before, uint64_t offset);

/* Close the file and clear the index. */
void journal_forget(JournalFile *file);

/*
 * Read both files when the journal is opened.  Sets file[], position and base.
 * Returns 0, or -1 and @error.
 */
int journal_scan(Journal *journal, JournalReplay *replay, void *opaque,
                 char error[JOURNAL_ERROR_MAX]);

#endif /* DNSD_UPDATE_STORE_JOURNAL_INTERNAL_H */
