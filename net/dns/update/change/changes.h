/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change sets: what goes from a zone and what comes, between two serials
 *
 * As the journal has them and IXFR sends them: records in wire form, nothing
 * compressed; those that go first, with the old SOA as the first, then those
 * that come, with the new SOA as the first.
 */
#ifndef NET_DNS_UPDATE_CHANGE_CHANGES_H
#define NET_DNS_UPDATE_CHANGE_CHANGES_H

#include "net/dns/update/change/buffer.h"
#include "net/dns/update/change/edit.h"

typedef struct DnsChanges {
    uint32_t from;              /* serials */
    uint32_t to;
    uint32_t gone;              /* records, with the SOA */
    uint32_t come;
    const uint8_t *octets;
    size_t len;
} DnsChanges;

typedef struct DnsChangeCursor {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t gone;              /* left */
    uint32_t come;
    bool is_gone;               /* the record just read goes */
    DnsName name;
    uint16_t rrclass;
    ZoneRecord record;          /* RDATA is in the change set */
} DnsChangeCursor;

/**
 * dns_changes_first, dns_changes_next: the records in their order
 *
 * Returns of _next: 1; 0 behind the last one; -EBADMSG if the octets are no
 * such records.
 */
void dns_changes_first(const DnsChanges *changes, DnsChangeCursor *cursor);
int dns_changes_next(DnsChangeCursor *cursor);

/** dns_changes_any: has the edit changed anything so far? */
bool dns_changes_any(const DnsEdit *edit);

/**
 * dns_changes_bump: make the SOA's serial greater by 1, never 0
 *
 * Returns: 0, -EINVAL if there is no SOA, or an error of edits.
 */
int dns_changes_bump(DnsEdit *edit);

/**
 * dns_changes_collect: what an edit has changed so far
 * @buffer: the records are appended; changes->octets is not set
 *
 * Returns: 1; 0 if nothing has changed; -EINVAL if the zone would be none: no
 * SOA (one) or NS at the apex, an SOA elsewhere, a signature without what it
 * signs, or a serial that is not greater (RFC 1982); -ENOMEM, -EIO.
 */
int dns_changes_collect(DnsEdit *edit, uint16_t rrclass, DnsBuffer *buffer,
                        DnsChanges *changes);

/**
 * dns_changes_apply: do them
 *
 * Returns: 0; -EINVAL if they do not fit: a record to go that is not there,
 * one to come that is; or another error of edits. The edit is to be undone.
 */
int dns_changes_apply(DnsEdit *edit, const DnsChanges *changes);

/** dns_soa_serial: of the RDATA of an SOA record; 0 if it is none. */
uint32_t dns_soa_serial(const ZoneRecord *soa);

#endif /* NET_DNS_UPDATE_CHANGE_CHANGES_H */
