/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edits of a zone
 *
 * Theory of operation
 * ===================
 *
 * The overlay has the names that edits touched, each with all its records. A
 * name that is not in it is as the view has it.  An edit changes the overlay
 * in place and remembers what was there, so undoing it costs what it did.
 *
 * A name exists if it has records or a name below it does (RFC 4592 section
 * 2.2.2).  So when a name gets its first record, ancestors may begin to exist;
 * when it loses its last one, ancestors without records may cease to, if
 * nothing else is below them (ancestors.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "net/dns/fields.h"
#include "net/dns/update/change/edit-internal.h"

#define RRSETS_MAX      UINT8_MAX
/* Octets of an RRset: what a message can hold, and an image's targets */
#define RRSET_LEN_MAX   65000
#define RR_HEAD         12

/* --- life ----------------------------------------------------------------- */

DnsEdit *dns_edit_create(Overlay *overlay, const DnsName *origin)
{
    DnsEdit *edit = calloc(1, sizeof(*edit));

    if (edit) {
        edit->overlay = overlay;
        edit->origin = *origin;
        edit->number = 1;
    }
    return edit;
}

void dns_edit_destroy(DnsEdit *edit)
{
    if (edit) {
        dns_edit_undo(edit);
        free(edit->saved);
        free(edit);
    }
}

void dns_edit_over(DnsEdit *edit, const ZoneView *view)
{
    edit->view = view;
}

const DnsName *dns_edit_origin(const DnsEdit *edit)
{
    return &edit->origin;
}

/* Nodes that were read but not changed are of no use later. */
static void forget_unchanged(DnsEdit *edit)
{
    for (size_t i = 0; i < edit->count; i++) {
        OverlayEntry *entry = edit->saved[i].entry;

        if (!entry->now.is_changed) {
            overlay_remove(edit->overlay, entry);
        }
    }
    edit->count = 0;
    edit->number++;
}

void dns_edit_undo(DnsEdit *edit)
{
    for (size_t i = 0; i < edit->count; i++) {
        EditSaved *saved = &edit->saved[i];

        if (saved->entry->now.node != saved->was.node) {
            free(saved->entry->now.node);
        }
        saved->entry->now = saved->was;
    }
    forget_unchanged(edit);
}

void dns_edit_keep(DnsEdit *edit)
{
    for (size_t i = 0; i < edit->count; i++) {
        EditSaved *saved = &edit->saved[i];

        if (saved->entry->now.node != saved->was.node) {
            free(saved->was.node);
        }
    }
    forget_unchanged(edit);
}

/* --- entries -------------------------------------------------------------- */

static int save(DnsEdit *edit, OverlayEntry *entry)
{
    if (entry->edit == edit->number) {
        return 0;
    }
    if (edit->count == edit->room) {
        size_t room = edit->room ? 2 * edit->room : 64;
        EditSaved *more = realloc(edit->saved, room * sizeof(*more));

        if (!more) {
            return -ENOMEM;
        }
        edit->saved = more;
        edit->room = room;
    }
    entry->edit = edit->number;
    entry->saved = edit->count;
    edit->saved[edit->count++] = (EditSaved) { entry, entry->now };
    return 0;
}

int edit_touch(DnsEdit *edit, OverlayEntry *entry)
{
    int ret = save(edit, entry);

    if (!ret) {
        entry->now.is_changed = true;
    }
    return ret;
}

/* The view's records of the name */
static int read_view(DnsEdit *edit, const DnsName *name, OverlayState *state)
{
    ZoneNode node;

    *state = (OverlayState) { 0 };
    if (zone_find_exact(edit->view, name->wire, name->len, &node)) {
        state->exists = true;
        state->node = node.rrsets ? dns_node_read(&node) : NULL;
        if (node.rrsets && !state->node) {
            return -errno;
        }
    }
    return zone_view_failed(edit->view) ? -EIO : 0;
}

OverlayEntry *edit_load(DnsEdit *edit, const DnsName *name)
{
    OverlayEntry *entry;
    OverlayState state;
    NameKey key;
    int ret;

    name_key_init(&key, name->wire);
    entry = overlay_find(edit->overlay, &key);
    if (entry) {
        return entry;
    }
    ret = read_view(edit, name, &state);
    entry = ret ? NULL : overlay_add(edit->overlay, name, &key);
    if (!entry) {
        free(state.node);
        errno = ret ? -ret : ENOMEM;
        return NULL;
    }
    entry->now = state;
    /* Saved at once, so that the end of the edit finds it. */
    if (save(edit, entry)) {
        overlay_remove(edit->overlay, entry);
        errno = ENOMEM;
        return NULL;
    }
    return entry;
}

const DnsNode *dns_edit_node(DnsEdit *edit, const DnsName *name)
{
    OverlayEntry *entry = edit_load(edit, name);

    if (entry) {
        errno = 0;
    }
    return entry ? entry->now.node : NULL;
}

bool dns_edit_exists(DnsEdit *edit, const DnsName *name)
{
    OverlayEntry *entry;
    ZoneNode node;
    NameKey key;

    name_key_init(&key, name->wire);
    entry = overlay_find(edit->overlay, &key);
    return entry ? entry->now.exists
                 : zone_find_exact(edit->view, name->wire, name->len, &node);
}

/* --- records -------------------------------------------------------------- */

static bool fits(const DnsNode *node)
{
    unsigned rrsets = 0;
    size_t len = 0;

    for (size_t i = 0; i < node->count; i++) {
        const ZoneRecord *record = &node->record[i];
        bool is_first = !i || record->type != record[-1].type ||
                        dns_record_covers(record) !=
                        dns_record_covers(record - 1);

        rrsets += is_first;
        len = (is_first ? 0 : len) + RR_HEAD + record->rdlength;
        if (len > RRSET_LEN_MAX) {
            return false;
        }
    }
    return rrsets <= RRSETS_MAX;
}

int dns_edit_set(DnsEdit *edit, const DnsName *name, DnsNode *node)
{
    OverlayEntry *entry = edit_load(edit, name);
    bool existed;
    int ret;

    if (node && !node->count) {
        free(node);
        node = NULL;
    }
    ret = !entry ? -errno : node && !fits(node) ? -ENOSPC
                                                : edit_touch(edit, entry);
    if (ret) {
        free(node);
        return ret;
    }
    /* The node that was there before the edit is kept with what is saved. */
    if (edit->saved[entry->saved].was.node != entry->now.node) {
        free(entry->now.node);
    }
    existed = entry->now.exists;
    entry->now.node = node;
    ret = node ? 1 : edit_has_below(edit, entry->key, NULL);
    if (ret < 0) {
        return ret;
    }
    entry->now.exists = ret;
    if (existed == entry->now.exists) {
        return 0;
    }
    return existed ? edit_prune_ancestors(edit, name)
                   : edit_raise_ancestors(edit, name);
}

static int rebuild(DnsEdit *edit, const DnsName *name, const DnsNode *node,
                   const ZoneRecord *without, const ZoneRecord *with)
{
    DnsNode *made = dns_node_change(node, without, with);

    return made ? dns_edit_set(edit, name, made) : -ENOMEM;
}

int dns_edit_add(DnsEdit *edit, const DnsName *name, const ZoneRecord *record)
{
    const DnsNode *node = dns_edit_node(edit, name);
    const ZoneRecord *twin;

    if (!node && errno) {
        return -errno;
    }
    twin = dns_node_has(node, record);
    if (twin && twin->ttl == record->ttl) {
        return -EEXIST;
    }
    return rebuild(edit, name, node, twin, record);
}

int dns_edit_remove(DnsEdit *edit, const DnsName *name,
                    const ZoneRecord *record)
{
    const DnsNode *node = dns_edit_node(edit, name);
    const ZoneRecord *twin = dns_node_has(node, record);

    if (!node && errno) {
        return -errno;
    }
    return twin ? rebuild(edit, name, node, twin, NULL) : -ENOENT;
}
