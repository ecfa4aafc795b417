/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of a zone: docs/dns-journal.md
 *
 * There are at most two files: the current one, and the one before it.
 */
#ifndef DNSD_UPDATE_STORE_JOURNAL_H
#define DNSD_UPDATE_STORE_JOURNAL_H

#include "dnsd/update/store/journal-types.h"

typedef struct Journal Journal;

/**
 * journal_open: read the files and replay the changes
 *
 * The first change that does not fit ends the history: it and all later ones
 * are left, see journal_left(), and all writes fail with -EROFS until
 * journal_set_aside().
 *
 * Returns: NULL; @error has the reason and the file.
 */
Journal *journal_open(const JournalAbout *about, JournalReplay *replay,
                      void *opaque, char error[JOURNAL_ERROR_MAX]);

void journal_close(Journal *journal);

/** journal_is_anew: did journal_open() put that of another image aside? */
bool journal_is_anew(const Journal *journal);

/** journal_left: what journal_open() left */
const JournalLeft *journal_left(const Journal *journal);

/** journal_position: the position of the last change */
uint64_t journal_position(const Journal *journal);

/** journal_base_position: the position of the last change in the image */
uint64_t journal_base_position(const Journal *journal);

/** journal_len: octets of both files */
uint64_t journal_len(const Journal *journal);

/**
 * journal_append: append complete records, which are not sealed; they are
 * durable on return
 *
 * Returns: 0 or a negative errno.  If the contents of the disk are unknown
 * then, all later calls fail with -EROFS, as durability cannot be guaranteed.
 */
int journal_append(Journal *journal, uint8_t *records, size_t len);

/**
 * journal_base: note that an image has all changes up to @position; durable on
 * return
 *
 * After that the image is renamed, and then journal_based() is called.
 */
int journal_base(Journal *journal, uint64_t identity, uint64_t position);
void journal_based(Journal *journal, uint64_t identity, uint64_t position);

/**
 * journal_rotate: begin another file if this one is large and the changes in
 * the one before are not needed any more
 */
int journal_rotate(Journal *journal);

/**
 * journal_set_aside: rename files that take no more writes, to *.left, and begin
 * anew
 *
 * Does nothing if they take writes.  Returns 0 or a negative errno.
 */
int journal_set_aside(Journal *journal);

/** journal_restart: drop the history; another image is at @position */
int journal_restart(Journal *journal, uint64_t identity, uint64_t position);

/*
 * A position in the history from which changes are read; holds the files open
 */
typedef struct JournalReader {
    int fd[2];                  /* -1: no file */
    uint64_t at[2];
    uint64_t end[2];
    unsigned file;
    uint64_t octets;            /* of the records from here to the end */
    uint64_t position;          /* before the next change */
} JournalReader;

/**
 * journal_read_from: begin at a serial
 *
 * Returns: 0; -ENOENT if the history does not have it; or a negative errno.
 */
int journal_read_from(Journal *journal, uint32_t serial,
                      JournalReader *reader);

/**
 * journal_read_next: read the next change; any thread may call this
 * @buffer: for the change; its former contents are dropped
 *
 * Returns: 1; 0 behind the change that was the last one at journal_read_from();
 * -EIO; -ENOMEM.
 */
int journal_read_next(JournalReader *reader, DnsBuffer *buffer,
                      JournalRecord *record);

void journal_reader_close(JournalReader *reader);

/** dns_store_sync_folder_of: fsync() of the folder of a file; 0, or -errno */
int dns_store_sync_folder_of(const char *path);

#endif /* DNSD_UPDATE_STORE_JOURNAL_H */
