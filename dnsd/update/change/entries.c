/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edits of a zone: entries of the overlay, and how they are undone
 *
 * An edit saves the state of an entry before it changes it.  Undoing an edit
 * costs as much as the edit did.
 */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/update/change/edit-internal.h"
#include "dnsd/update/change/entries.h"

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

/* Entries that were read but not changed are not kept. */
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

/* Read the records of the name from the view. */
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
    /* Save it at once, so that the end of the edit finds it. */
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
