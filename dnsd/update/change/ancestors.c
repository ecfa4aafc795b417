/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ancestors of names: they exist because of names below them, RFC 4592 section
 * 2.2.2
 *
 * To find whether a name has others below it, that part of the zone is walked
 * until one is found.  Deleted names are in the way, and if many names are
 * deleted one after the other, their number grows.  So two walks alternate, one
 * from the beginning, and one from the name that was just deleted.  In
 * ascending and in descending order, one of them is short.
 */
#include <errno.h>

#include "dnsd/update/change/edit-internal.h"
#include "dnsd/update/change/walk.h"
#include "net/dns/zone/order.h"
#include "dnsd/update/change/entries.h"

/* A walk over the view and the overlay, merged */
typedef struct Walk {
    ViewWalk view;
    bool view_has;              /* view.node is valid */
    OverlayEntry *entry;
} Walk;

static void begin(Walk *walk, DnsEdit *edit, const NameKey *behind)
{
    view_walk_begin(&walk->view, edit->view, behind, true);
    walk->view_has = view_walk_next(&walk->view);
    walk->entry = overlay_from(edit->overlay, behind);
    if (walk->entry && !name_key_compare(walk->entry->key, behind)) {
        walk->entry = overlay_next(walk->entry);
    }
}

typedef enum Found {
    FOUND_ONE,                  /* a name that exists */
    FOUND_GONE,                 /* a deleted name: continue */
    FOUND_END,                  /* no more names below */
} Found;

static Found step(Walk *walk, const NameKey *above)
{
    int differ = !walk->view_has ? 1 : !walk->entry ? -1
                 : name_key_compare(&walk->view.key, walk->entry->key);
    const NameKey *key = differ < 0 ? &walk->view.key
                         : walk->entry ? walk->entry->key : NULL;
    bool exists;

    if (!key || !name_key_is_below(key, above)) {
        return FOUND_END;
    }
    exists = differ < 0 ? !(walk->view.node.flags & ZONE_NODE_GONE)
                        : walk->entry->now.exists;
    if (exists) {
        return FOUND_ONE;
    }
    if (differ >= 0) {
        walk->entry = overlay_next(walk->entry);
    }
    if (differ <= 0) {
        walk->view_has = view_walk_next(&walk->view);
    }
    return FOUND_GONE;
}

int edit_has_below(DnsEdit *edit, const NameKey *key, const NameKey *near)
{
    Found first = FOUND_GONE, second = near ? FOUND_GONE : FOUND_END;
    Walk from_first, from_near;

    begin(&from_first, edit, key);
    if (near) {
        begin(&from_near, edit, near);
    }
    while (first == FOUND_GONE) {
        first = step(&from_first, key);
        if (second == FOUND_GONE) {
            second = step(&from_near, key);
        }
        if (second == FOUND_ONE) {
            break;
        }
    }
    if (from_first.view.has_failed || (near && from_near.view.has_failed)) {
        return -EIO;
    }
    return first == FOUND_ONE || second == FOUND_ONE;
}

/* The parent of a wildcard has a flag for it, so the parent is rewritten. */
static int touch_parent(DnsEdit *edit, const DnsName *name)
{
    DnsName up;
    OverlayEntry *entry;

    if (name->wire[0] != 1 || name->wire[1] != '*' ||
        name->labels <= edit->origin.labels) {
        return 0;
    }
    up = zone_name_ancestor(name, name->labels - 1);
    entry = edit_load(edit, &up);
    return entry ? edit_touch(edit, entry) : -errno;
}

int edit_raise_ancestors(DnsEdit *edit, const DnsName *name)
{
    int ret = touch_parent(edit, name);

    for (unsigned labels = name->labels - 1;
         !ret && labels > edit->origin.labels; labels--) {
        DnsName up = zone_name_ancestor(name, labels);
        OverlayEntry *entry;

        if (dns_edit_exists(edit, &up)) {
            break;
        }
        entry = edit_load(edit, &up);
        ret = entry ? edit_touch(edit, entry) : -errno;
        if (!ret) {
            entry->now.exists = true;
            ret = touch_parent(edit, &up);
        }
    }
    return ret;
}

int edit_prune_ancestors(DnsEdit *edit, const DnsName *name)
{
    int ret = touch_parent(edit, name);
    NameKey near;

    name_key_init(&near, name->wire);
    for (unsigned labels = name->labels - 1;
         !ret && labels > edit->origin.labels; labels--) {
        DnsName up = zone_name_ancestor(name, labels);
        OverlayEntry *entry = edit_load(edit, &up);

        if (!entry || entry->now.node) {
            return entry ? 0 : -errno;
        }
        ret = edit_has_below(edit, entry->key, &near);
        if (ret) {
            return ret < 0 ? ret : 0;
        }
        ret = edit_touch(edit, entry);
        entry->now.exists = false;
        ret = ret ? ret : touch_parent(edit, &up);
    }
    return ret;
}
