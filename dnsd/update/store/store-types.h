/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface of a store to its owner */
#ifndef DNSD_UPDATE_STORE_STORE_TYPES_H
#define DNSD_UPDATE_STORE_STORE_TYPES_H

#include "dnsd/update/change/edit.h"
#include "dnsd/update/store/journal.h"
#include "dnsd/update/store/layer.h"
#include "dnsd/update/store/merger.h"
#include "net/dns/zone/find.h"

/* Functions of the daemon for a store */
typedef struct DnsStoreOps {
    /*
     * Give readers @view.  It is valid until the release() of a later retire().
     */
    void (*publish)(void *opaque, const ZoneView *view);
    /*
     * Call release(@what) in the control thread when no reader uses a view from
     * before the last publish() any more.  Without readers it may be called at
     * once.
     */
    void (*retire)(void *opaque, void (*release)(void *what), void *what);
    /* Log merges, rotations and faults. */
    void (*log)(void *opaque, const char *text);
} DnsStoreOps;

typedef struct DnsStoreOptions {
    const char *image;          /* path; the journal's is this + ".jnl" */
    uint64_t history_max;       /* octets of changes kept for IXFR; 0: 64 MiB */
    DnsMerger *merger;          /* must outlive the store */
    const DnsMapOps *maps;      /* or NULL; a constant */
    bool is_static;             /* nobody updates the zone; see JournalAbout */
    /* For tests; 0: 512 nodes; and 1 MiB or an eighth of the image */
    size_t seal_nodes;
    uint64_t rebase_len;
} DnsStoreOptions;

typedef struct DnsStoreError {
    char text[256];             /* the file, and what would be right */
} DnsStoreError;

typedef struct DnsStoreStats {
    uint64_t changes;           /* change sets since the start */
    uint64_t commits;           /* calls of fdatasync() */
    uint64_t replayed;          /* change sets replayed at the start */
    uint64_t merges;            /* of deltas into one */
    uint64_t rebases;           /* of deltas into the image */
    uint64_t journal_len;       /* octets */
    uint64_t delta_len;         /* octets of memory in deltas */
    unsigned layers;
    uint32_t serial;            /* of the published view */
} DnsStoreStats;

#endif /* DNSD_UPDATE_STORE_STORE_TYPES_H */
