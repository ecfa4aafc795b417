/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes that are changed and not in an image yet, in canonical order
 *
 * A skip list: names come in any order, and are looked up, walked, and taken
 * out again.
 */
#ifndef NET_DNS_UPDATE_CHANGE_OVERLAY_H
#define NET_DNS_UPDATE_CHANGE_OVERLAY_H

#include "net/dns/update/change/key.h"
#include "net/dns/update/change/records.h"

typedef struct OverlayState {
    bool exists;                /* in the zone */
    bool is_changed;            /* else it is only what the view has */
    DnsNode *node;              /* NULL: it has no records */
} OverlayState;

typedef struct OverlayEntry {
    DnsName name;
    const NameKey *key;         /* no longer than its len says */
    OverlayState now;
    /* The editor's: the edit that saved it last, and where */
    uint64_t edit;
    size_t saved;
    unsigned levels;
    struct OverlayEntry *next[];
} OverlayEntry;

typedef struct Overlay Overlay;

Overlay *overlay_new(void);
void overlay_free(Overlay *overlay);

/** overlay_find: NULL if it is not there */
OverlayEntry *overlay_find(const Overlay *overlay, const NameKey *key);

/** overlay_from: the first that is not before @key; NULL: the first. */
OverlayEntry *overlay_from(const Overlay *overlay, const NameKey *key);

static inline OverlayEntry *overlay_next(const OverlayEntry *entry)
{
    return entry->next[0];
}

/** overlay_add: a name that is not there, without state; NULL: no memory. */
OverlayEntry *overlay_add(Overlay *overlay, const DnsName *name,
                          const NameKey *key);

/** overlay_remove: the entry and its node */
void overlay_remove(Overlay *overlay, OverlayEntry *entry);

/** overlay_clear: all of them */
void overlay_clear(Overlay *overlay);

size_t overlay_count(const Overlay *overlay);

#endif /* NET_DNS_UPDATE_CHANGE_OVERLAY_H */
