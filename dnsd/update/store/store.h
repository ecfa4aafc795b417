/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes: the image, its journal, and the views of readers
 *
 * docs/dns-journal.md has the design.  All functions are for one thread, the
 * control thread.  Readers only use the ZoneViews that are published.  A view
 * and its images do not change.  They exist until the daemon reports that no
 * reader uses them any more.
 */
#ifndef DNSD_UPDATE_STORE_STORE_H
#define DNSD_UPDATE_STORE_STORE_H

#include "dnsd/update/store/store-types.h"

typedef struct DnsStore DnsStore;

/**
 * dns_store_open: map the image, replay the journal, and publish the first view
 *
 * If there is no journal, the first change creates it.
 *
 * Returns: NULL, and @error is set: the image or the journal is damaged, or the
 * journal belongs to another image.
 */
DnsStore *dns_store_open(const DnsStoreOptions *options,
                         const DnsStoreOps *ops, void *opaque,
                         DnsStoreError *error);

/**
 * dns_store_close: close the store and drop uncommitted changes
 *
 * No reader may use a view of it any more.  Waits for a running merge.
 */
void dns_store_close(DnsStore *store);

/** dns_store_path: of its image */
const char *dns_store_path(const DnsStore *store);

/** dns_store_view: the published view */
const ZoneView *dns_store_view(const DnsStore *store);

/**
 * dns_store_pin: keep the published view, for example for a transfer
 *
 * Returns: NULL without memory.  Call dns_store_unpin() in the control thread.
 */
typedef struct DnsVersion DnsVersion;
DnsVersion *dns_store_pin(DnsStore *store);
void dns_store_unpin(DnsVersion *version);
const ZoneView *dns_version_view(const DnsVersion *version);

/**
 * dns_store_history: the changes from a serial up to the published view
 *
 * Returns: 0; -ENOENT if the journal does not have that serial.
 */
int dns_store_history(DnsStore *store, uint32_t serial,
                      JournalReader *reader);

/** dns_store_serial: the serial with all edits, including uncommitted ones */
uint32_t dns_store_serial(const DnsStore *store);

/**
 * dns_store_begin: begin an edit of the zone
 *
 * Only one edit is open at a time.  It sees earlier edits, even uncommitted
 * ones.  dns_store_end() ends it.
 */
DnsEdit *dns_store_begin(DnsStore *store);

/**
 * dns_store_end: keep the edit for the next commit, or undo it
 * @keep: false: undo it
 *
 * If anything has changed, the serial of the new SOA must be greater than the
 * old one (RFC 1982).
 *
 * Returns: 0; -EINVAL if it is not, or if the result would not be a zone (no
 * SOA or NS at the apex); or -ENOMEM.  On error the edit is undone.
 */
int dns_store_end(DnsStore *store, bool keep);

/**
 * dns_store_commit: make all edits since the last commit durable, then visible
 *
 * For a group commit, take all waiting requests, end their edits, commit once,
 * and then send the replies.
 *
 * Returns: 0, also if there is nothing to do; or a negative errno.  Then all
 * edits are undone, and the requests get SERVFAIL.
 */
int dns_store_commit(DnsStore *store);

/** dns_store_abandon: undo all uncommitted edits */
void dns_store_abandon(DnsStore *store);

/**
 * dns_store_replace: replace the image, for example after AXFR
 * @path: a complete image in the same folder, which is renamed
 *
 * There must be no uncommitted edit.
 *
 * Returns: 0; or a negative errno and @error, and the zone is unchanged.
 */
int dns_store_replace(DnsStore *store, const char *path, DnsStoreError *error);

/**
 * dns_store_follow: serve the image that has been put in the place of ours
 *
 * Its difference from the zone becomes a change of the journal.  A large one,
 * or a serial that is not greater, ends the history.  There must be no
 * uncommitted edit.
 *
 * Returns: 0; or a negative errno and @error, and the zone is unchanged: -EBUSY
 * if there were updates since our image.
 */
int dns_store_follow(DnsStore *store, DnsStoreError *error);

/**
 * dns_store_is_merging: would dns_store_replace() wait for a merge?
 *
 * That may take as long as writing the image.
 */
bool dns_store_is_merging(const DnsStore *store);

void dns_store_stats(const DnsStore *store, DnsStoreStats *stats);

#endif /* DNSD_UPDATE_STORE_STORE_H */
