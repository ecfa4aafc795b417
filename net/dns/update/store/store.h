/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes: the image, its journal, and the views that readers have
 *
 * docs/dns-journal.md has the design.  All functions are for one thread, the
 * control thread.  Readers have nothing but the ZoneViews that are published;
 * a view and its images do not change, and live until the daemon says that no
 * reader has them any more.
 */
#ifndef NET_DNS_UPDATE_STORE_STORE_H
#define NET_DNS_UPDATE_STORE_STORE_H

#include "net/dns/update/change/edit.h"
#include "net/dns/update/store/journal.h"
#include "net/dns/update/store/layer.h"
#include "net/dns/update/store/merger.h"
#include "net/dns/zone/find.h"

/* The daemon's services for a store */
typedef struct DnsStoreOps {
    /*
     * Readers get @view from now on.  It is valid until the release() of a
     * later retire().
     */
    void (*publish)(void *opaque, const ZoneView *view);
    /*
     * Call release(@what) in the control thread when no reader can have a
     * view that was published before the last publish().  With no readers
     * that may be at once.
     */
    void (*retire)(void *opaque, void (*release)(void *what), void *what);
    /* For people: merges, rotations, faults */
    void (*log)(void *opaque, const char *text);
} DnsStoreOps;

typedef struct DnsStoreOptions {
    const char *image;          /* path; the journal is beside it: + ".jnl" */
    uint64_t history_max;       /* octets of changes kept for IXFR; 0: 64 MiB */
    DnsMerger *merger;          /* outlives the store */
    const DnsMapOps *maps;      /* or NULL; a constant */
    /* For tests; 0: 512 nodes, and 1 MiB or an eighth of the image */
    size_t seal_nodes;
    uint64_t rebase_len;
} DnsStoreOptions;

typedef struct DnsStoreError {
    char text[256];             /* names the file, says what would be right */
} DnsStoreError;

typedef struct DnsStoreStats {
    uint64_t changes;           /* change sets since the start */
    uint64_t commits;           /* that is, calls of fdatasync() */
    uint64_t replayed;          /* change sets at the start */
    uint64_t merges;            /* of deltas into one */
    uint64_t rebases;           /* of deltas into the image */
    uint64_t journal_len;       /* octets */
    uint64_t delta_len;         /* octets of memory in deltas */
    unsigned layers;
    uint32_t serial;            /* published */
} DnsStoreStats;

typedef struct DnsStore DnsStore;

/**
 * dns_store_open: map the image, replay the journal, publish the first view
 *
 * Without a journal there will be one with the first change.
 *
 * Returns: NULL, and @error: the image or the journal is damaged, or the
 * journal is of another image.
 */
DnsStore *dns_store_open(const DnsStoreOptions *options,
                         const DnsStoreOps *ops, void *opaque,
                         DnsStoreError *error);

/**
 * dns_store_close: what is not committed is dropped
 *
 * No reader may have a view of it any more.  Waits for a merge that runs.
 */
void dns_store_close(DnsStore *store);

/** dns_store_view: what is published */
const ZoneView *dns_store_view(const DnsStore *store);

/**
 * dns_store_pin: keep the published view for longer, as a transfer does
 *
 * Returns: NULL without memory. dns_store_unpin() in the control thread.
 */
typedef struct DnsVersion DnsVersion;
DnsVersion *dns_store_pin(DnsStore *store);
void dns_store_unpin(DnsVersion *version);
const ZoneView *dns_version_view(const DnsVersion *version);

/**
 * dns_store_history: the changes from a serial to what is published
 *
 * Returns: 0; -ENOENT if the journal does not go back to it.
 */
int dns_store_history(DnsStore *store, uint32_t serial,
                      JournalReader *reader);

/** dns_store_serial: the zone's with all edits, also those not committed. */
uint32_t dns_store_serial(const DnsStore *store);

/**
 * dns_store_begin: the zone as it is with all edits so far, to be changed
 *
 * There is one edit at a time.  It sees what earlier edits did, also what is
 * not committed yet.  dns_store_end() ends it.
 */
DnsEdit *dns_store_begin(DnsStore *store);

/**
 * dns_store_end: keep the edit for the next commit, or undo it
 * @keep: false undoes all of it
 *
 * The new SOA's serial must be greater than the old one's (RFC 1982) where
 * anything has changed.
 *
 * Returns: 0; -EINVAL if that is not so, or if the zone would be none (no SOA
 * or NS at the apex), and all is undone; -ENOMEM, likewise.
 */
int dns_store_end(DnsStore *store, bool keep);

/**
 * dns_store_commit: make all edits since the last commit durable, then visible
 *
 * Group commit: take what requests there are, end their edits, commit once,
 * then send the replies.
 *
 * Returns: 0, also if there is nothing to do; or a negative errno: the edits
 * are undone, all of them, and the requests get SERVFAIL.
 */
int dns_store_commit(DnsStore *store);

/** dns_store_abandon: drop all edits that are not committed. */
void dns_store_abandon(DnsStore *store);

/**
 * dns_store_replace: another image, as from AXFR
 * @path: a whole image in the same folder; it is renamed
 *
 * There must be no edit that is not committed.
 *
 * Returns: 0, or a negative errno and @error; the zone is the old one then.
 */
int dns_store_replace(DnsStore *store, const char *path, DnsStoreError *error);

/**
 * dns_store_is_merging: dns_store_replace() would wait for a thread, which may
 * take as long as it takes to write the image
 */
bool dns_store_is_merging(const DnsStore *store);

void dns_store_stats(const DnsStore *store, DnsStoreStats *stats);

#endif /* NET_DNS_UPDATE_STORE_STORE_H */
