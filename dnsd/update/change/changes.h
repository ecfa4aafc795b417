/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change sets: the records that are deleted from a zone and added to it between
 * two serials
 *
 * The journal and IXFR have the same form: records in wire form, uncompressed.
 * First come the deleted ones, beginning with the old SOA, then the added ones,
 * beginning with the new SOA.
 */
#ifndef DNSD_UPDATE_CHANGE_CHANGES_H
#define DNSD_UPDATE_CHANGE_CHANGES_H

#include "dnsd/update/change/buffer.h"
#include "dnsd/update/change/edit.h"

typedef struct DnsChanges {
    uint32_t from;              /* serials */
    uint32_t to;
    uint32_t gone;              /* deleted records, with the SOA */
    uint32_t come;
    const uint8_t *octets;
    size_t len;
} DnsChanges;

typedef struct DnsChangeCursor {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t gone;              /* unread records */
    uint32_t come;
    bool is_gone;               /* the current record is deleted */
    DnsName name;
    uint16_t rrclass;
    ZoneRecord record;          /* RDATA is in the change set */
} DnsChangeCursor;

/**
 * dns_changes_first, dns_changes_next: the records in their order
 *
 * Returns (_next): 1; 0 behind the last one; -EBADMSG if the octets are not
 * such records.
 */
void dns_changes_first(const DnsChanges *changes, DnsChangeCursor *cursor);
int dns_changes_next(DnsChangeCursor *cursor);

/** dns_changes_any: has the edit changed anything so far? */
bool dns_changes_any(const DnsEdit *edit);

/**
 * dns_changes_bump: increase the serial of the SOA by 1; 0 is skipped
 *
 * Returns: 0; -EINVAL if there is no SOA; or an error of edits.
 */
int dns_changes_bump(DnsEdit *edit);

/**
 * dns_changes_collect: make a change set from the edit so far
 * @buffer: the records are appended; changes->octets is not set
 *
 * Returns: 1; 0 if nothing has changed; -EINVAL if the result is not a zone:
 * not exactly one SOA, or no NS, at the apex, an SOA elsewhere, a signature of
 * an RRset that does not exist, or a serial that is not greater (RFC 1982);
 * -ENOMEM, -EIO.
 */
int dns_changes_collect(DnsEdit *edit, uint16_t rrclass, DnsBuffer *buffer,
                        DnsChanges *changes);

/**
 * dns_changes_apply: apply a change set to an edit
 *
 * Returns: 0; -EINVAL if it does not fit: a deleted record is missing, or an
 * added one exists; or another error of edits.  On error undo the edit.
 */
int dns_changes_apply(DnsEdit *edit, const DnsChanges *changes);

/** dns_soa_serial: the serial in RDATA of an SOA record; 0 if it is invalid */
uint32_t dns_soa_serial(const ZoneRecord *soa);

#endif /* DNSD_UPDATE_CHANGE_CHANGES_H */
