/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of an outgoing transfer, in their order */
#ifndef DNSD_UPDATE_XFR_SOURCE_H
#define DNSD_UPDATE_XFR_SOURCE_H

#include "dnsd/update/change/changes.h"
#include "dnsd/update/change/walk.h"
#include "dnsd/update/store/journal.h"

typedef enum XfrSourceState {
    XFR_FIRST,                  /* the SOA at the beginning */
    XFR_BETWEEN,
    XFR_LAST,                   /* the SOA at the end */
    XFR_END,
} XfrSourceState;

typedef struct XfrSource {
    XfrSourceState state;
    bool has_changes;           /* records of the journal, not of the view */
    DnsNode *apex;
    const ZoneRecord *soa;
    DnsName origin;
    /* The current record */
    DnsName name;
    const ZoneRecord *record;
    /* For a view */
    ViewWalk walk;
    DnsNode *node;
    size_t next;
    /* For a journal */
    JournalReader reader;
    DnsBuffer buffer;
    DnsChangeCursor cursor;
} XfrSource;

/**
 * xfr_source_begin: begin with the zone as it is
 *
 * Then call xfr_source_view() or xfr_source_changes(); otherwise there is only
 * the SOA.
 *
 * Returns: 0, -EIO, -ENOMEM.
 */
int xfr_source_begin(XfrSource *source, const ZoneView *view);
void xfr_source_view(XfrSource *source, const ZoneView *view);
/* The source takes over the reader. */
void xfr_source_changes(XfrSource *source, const JournalReader *reader);

/**
 * xfr_source_next: set source->name and source->record, valid until the next
 * call
 *
 * Returns: 1; 0 behind the last one; -EIO, -ENOMEM.
 */
int xfr_source_next(XfrSource *source);

void xfr_source_end(XfrSource *source);

#endif /* DNSD_UPDATE_XFR_SOURCE_H */
