/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a journal in memory */
#ifndef DNSD_UPDATE_STORE_RECORD_H
#define DNSD_UPDATE_STORE_RECORD_H

#include "dnsd/update/change/changes.h"
#include "dnsd/update/store/journal-format.h"

typedef struct JournalRecord {
    uint32_t kind;              /* JOURNAL_CHANGE or _BASE */
    uint32_t len;               /* octets in the file */
    uint64_t position;
    uint64_t durable;
    uint64_t identity;          /* of a base */
    uint32_t serial;            /* of a base */
    DnsChanges changes;         /* of a change; points into the file */
} JournalRecord;

/**
 * journal_record_read: read the record at the start of @len octets
 *
 * Returns: 0; -ENODATA if there is no complete record.
 */
int journal_record_read(const uint8_t *at, size_t len, JournalRecord *record);

/**
 * journal_record_head: read the fixed part without checking the checksum
 *
 * Returns: false if it is not a record.
 */
bool journal_record_head(const uint8_t at[JOURNAL_R_OCTETS],
                         JournalRecord *record);

/**
 * journal_record_begin, journal_record_end: append a change
 *
 * The caller appends the octets of the change set between both calls; _end()
 * reads record->changes.  journal_record_seal() sets the checksum.
 *
 * Returns: 0, -ENOMEM, or -EFBIG.
 */
int journal_record_begin(DnsBuffer *to);
int journal_record_end(DnsBuffer *to, size_t begin,
                       const JournalRecord *record);

/** journal_record_seal: set the durable offset and the checksum */
void journal_record_seal(uint8_t *at, uint64_t durable);

/** journal_record_base: make a base, which is not sealed yet */
void journal_record_base(uint8_t at[JOURNAL_R_OCTETS], uint64_t identity,
                         uint64_t position);

/** journal_header_put, journal_header_is: write or check a file's header */
void journal_header_put(uint8_t at[JOURNAL_HEADER], const DnsName *origin,
                        uint16_t rrclass);
bool journal_header_is(const uint8_t at[JOURNAL_HEADER], const DnsName *origin,
                       uint16_t rrclass);

#endif /* DNSD_UPDATE_STORE_RECORD_H */
