/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changed nodes that are not in an image yet, in canonical order
 *
 * A skip list: names come in any order, are looked up, walked, and removed.
 */
#ifndef DNSD_UPDATE_CHANGE_OVERLAY_H
#define DNSD_UPDATE_CHANGE_OVERLAY_H

#include "dnsd/update/change/key.h"
#include "dnsd/update/change/records.h"

typedef struct OverlayState {
    bool exists;                /* the name exists in the zone */
    bool is_changed;            /* if not set, it is a copy of the view */
    DnsNode *node;              /* NULL: it has no records */
} OverlayState;

typedef struct OverlayEntry {
    DnsName name;
    const NameKey *key;         /* only its len octets are valid */
    OverlayState now;
    /*
     * For the editor: the last edit that saved the entry, and the index there
     */
    uint64_t edit;
    size_t saved;
    unsigned levels;
    struct OverlayEntry *next[];
} OverlayEntry;

typedef struct Overlay Overlay;

Overlay *overlay_new(void);
void overlay_free(Overlay *overlay);

/** overlay_find: the entry of a name, or NULL */
OverlayEntry *overlay_find(const Overlay *overlay, const NameKey *key);

/** overlay_from: the first entry at or behind @key; NULL: the first of all */
OverlayEntry *overlay_from(const Overlay *overlay, const NameKey *key);

static inline OverlayEntry *overlay_next(const OverlayEntry *entry)
{
    return entry->next[0];
}

/** overlay_add: add a name that is missing, without state; NULL: no memory */
OverlayEntry *overlay_add(Overlay *overlay, const DnsName *name,
                          const NameKey *key);

/** overlay_remove: remove the entry and its node */
void overlay_remove(Overlay *overlay, OverlayEntry *entry);

/** overlay_clear: remove all entries */
void overlay_clear(Overlay *overlay);

size_t overlay_count(const Overlay *overlay);

#endif /* DNSD_UPDATE_CHANGE_OVERLAY_H */
