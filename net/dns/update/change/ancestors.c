/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that exist because of others: RFC 4592 section 2.2.2
 *
 * To know whether a name has others below it, its part of the zone is walked
 * until one is found.  Those that were deleted are in the way, and when many
 * names go one after the other, there are more and more of them.  So the walk
 * goes on in two places by turns, from the beginning and from behind the name
 * that has just gone: whichever order they go in, one of both is short.
 */
#include <errno.h>

#include "net/dns/update/change/edit-internal.h"
#include "net/dns/update/change/walk.h"
#include "net/dns/zone/order.h"

/* A walk over view and overlay together */
typedef struct Walk {
    ViewWalk view;
    bool view_has;              /* view.node is the next one of the view */
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
    FOUND_ONE,                  /* that exists */
    FOUND_GONE,                 /* go on */
    FOUND_END,                  /* there are no more below the name */
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

/* The node above a wildcard has a flag that says so; it is written anew. */
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
