/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options and the results of a journal */
#ifndef DNSD_UPDATE_STORE_JOURNAL_TYPES_H
#define DNSD_UPDATE_STORE_JOURNAL_TYPES_H

#include "dnsd/update/store/record.h"

#define JOURNAL_ERROR_MAX   256

typedef struct JournalAbout {
    const char *image;          /* path, from which the journal's is made */
    DnsName origin;
    uint16_t rrclass;
    uint64_t identity;          /* of the image */
    uint32_t serial;            /* of the image */
    uint64_t history_max;
    /*
     * The journal of another image, which has all of its changes, is renamed to
     * *.left, and another one begins
     */
    bool is_static;
} JournalAbout;

/*
 * Called for each change that the image lacks.  Returns 0; -EINVAL or -ENOSPC if
 * it does not fit the zone; another negative errno stops.
 */
typedef int JournalReplay(void *opaque, const JournalRecord *change);

/* Acknowledged changes that do not fit the zone; the file keeps them. */
typedef struct JournalLeft {
    uint64_t changes;           /* 0: there are none */
    uint32_t from;              /* serial before the first */
    uint32_t to;                /* serial after the last */
    unsigned file;              /* of the first: 0: .jnl.old, 1: .jnl */
    uint64_t offset;            /* of the first, in that file */
} JournalLeft;

#endif /* DNSD_UPDATE_STORE_JOURNAL_TYPES_H */
