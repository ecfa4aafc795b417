/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of an outgoing transfer, in their order */
#ifndef NET_DNS_UPDATE_XFR_SOURCE_H
#define NET_DNS_UPDATE_XFR_SOURCE_H

#include "net/dns/update/change/changes.h"
#include "net/dns/update/change/walk.h"
#include "net/dns/update/store/journal.h"

typedef enum XfrSourceState {
    XFR_FIRST,                  /* the SOA that a transfer begins with */
    XFR_BETWEEN,
    XFR_LAST,                   /* the SOA that it ends with */
    XFR_END,
} XfrSourceState;

typedef struct XfrSource {
    XfrSourceState state;
    bool has_changes;           /* the journal's, otherwise the view's */
    DnsNode *apex;
    const ZoneRecord *soa;
    DnsName origin;
    /* The record at hand */
    DnsName name;
    const ZoneRecord *record;
    /* A view's */
    ViewWalk walk;
    DnsNode *node;
    size_t next;
    /* A journal's */
    JournalReader reader;
    DnsBuffer buffer;
    DnsChangeCursor cursor;
} XfrSource;

/**
 * xfr_source_begin: of a zone as it is; xfr_source_view() or
 * xfr_source_changes() comes next, or there is nothing but the SOA
 *
 * Returns: 0, -EIO, -ENOMEM.
 */
int xfr_source_begin(XfrSource *source, const ZoneView *view);
void xfr_source_view(XfrSource *source, const ZoneView *view);
/* The reader is taken over. */
void xfr_source_changes(XfrSource *source, const JournalReader *reader);

/** xfr_source_only_soa: end behind the first record. */
void xfr_source_only_soa(XfrSource *source);

/**
 * xfr_source_next: source->name and source->record, valid until the next call
 *
 * Returns: 1; 0 behind the last one; -EIO, -ENOMEM.
 */
int xfr_source_next(XfrSource *source);

void xfr_source_end(XfrSource *source);

#endif /* NET_DNS_UPDATE_XFR_SOURCE_H */
