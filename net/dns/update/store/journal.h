/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of a zone: docs/dns-journal.md
 *
 * Two files at most: the one that is written, and the one before.
 */
#ifndef NET_DNS_UPDATE_STORE_JOURNAL_H
#define NET_DNS_UPDATE_STORE_JOURNAL_H

#include "net/dns/update/store/record.h"

#define JOURNAL_ERROR_MAX   256

typedef struct JournalAbout {
    const char *image;          /* path; the journal's is made of it */
    DnsName origin;
    uint16_t rrclass;
    uint64_t identity;          /* of the image */
    uint32_t serial;            /* of the image */
    uint64_t history_max;
} JournalAbout;

/* Called for each change that the image lacks; not 0 ends the replay. */
typedef int JournalReplay(void *opaque, const JournalRecord *change);

typedef struct Journal Journal;

/**
 * journal_open: read what there is, and replay
 *
 * Returns: NULL; @error says why, and which file.
 */
Journal *journal_open(const JournalAbout *about, JournalReplay *replay,
                      void *opaque, char error[JOURNAL_ERROR_MAX]);

void journal_close(Journal *journal);

/** journal_position: of the last change */
uint64_t journal_position(const Journal *journal);

/** journal_base_position: of the last change that the image has */
uint64_t journal_base_position(const Journal *journal);

/** journal_len: octets in the files */
uint64_t journal_len(const Journal *journal);

/**
 * journal_append: whole change records, not sealed yet; durable on return
 *
 * Returns: 0 or a negative errno; if what is on disk is not known then, all
 * later calls fail with -EROFS, as a promise could not be kept.
 */
int journal_append(Journal *journal, uint8_t *records, size_t len);

/**
 * journal_base: an image has all changes up to @position; durable on return
 *
 * The image gets its name after that, and then journal_based() is called.
 */
int journal_base(Journal *journal, uint64_t identity, uint64_t position);
void journal_based(Journal *journal, uint64_t identity, uint64_t position);

/**
 * journal_rotate: begin another file if this one is large, and the changes of
 * the one before are no longer needed
 */
int journal_rotate(Journal *journal);

/** journal_restart: no history; the image is another one, at @position. */
int journal_restart(Journal *journal, uint64_t identity, uint64_t position);

/* A place in the history, to read changes from; it holds the files. */
typedef struct JournalReader {
    int fd[2];                  /* -1: none */
    uint64_t at[2];
    uint64_t end[2];
    unsigned file;
    uint64_t octets;            /* of records from here to the end */
    uint64_t position;          /* before the next change */
} JournalReader;

/**
 * journal_read_from: the changes behind a serial
 *
 * Returns: 0; -ENOENT if the history does not have it; or a negative errno.
 */
int journal_read_from(Journal *journal, uint32_t serial,
                      JournalReader *reader);

/**
 * journal_read_next: the next change; any one thread may call this
 * @buffer: where it is read to; what is in it before goes
 *
 * Returns: 1; 0 behind the last change that there was; -EIO; -ENOMEM.
 */
int journal_read_next(JournalReader *reader, DnsBuffer *buffer,
                      JournalRecord *record);

void journal_reader_close(JournalReader *reader);

#endif /* NET_DNS_UPDATE_STORE_JOURNAL_H */
