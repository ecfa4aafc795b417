/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of edits, and the store's side of them */
#ifndef DNSD_UPDATE_CHANGE_EDIT_INTERNAL_H
#define DNSD_UPDATE_CHANGE_EDIT_INTERNAL_H

#include "dnsd/update/change/overlay.h"
#include "net/dns/zone/find.h"

typedef struct DnsEdit DnsEdit;

/* The state of an entry before this edit; it owns the node */
typedef struct EditSaved {
    OverlayEntry *entry;
    OverlayState was;
} EditSaved;

struct DnsEdit {
    Overlay *overlay;
    const ZoneView *view;       /* below the overlay */
    DnsName origin;
    uint64_t number;
    size_t count;
    size_t room;
    EditSaved *saved;
};

/* --- the store's side --- */

DnsEdit *dns_edit_create(Overlay *overlay, const DnsName *origin);
void dns_edit_destroy(DnsEdit *edit);

/* Use another view with the same names.  No edit may be open. */
void dns_edit_over(DnsEdit *edit, const ZoneView *view);

/* Restore the state before the edit. */
void dns_edit_undo(DnsEdit *edit);

/* Keep the changes of the edit. */
void dns_edit_keep(DnsEdit *edit);

/* --- between the files --- */

/*
 * The entry of a name.  If there is none, it is made from the view, unchanged.
 * NULL, and errno is ENOMEM or EIO.
 */
OverlayEntry *edit_load(DnsEdit *edit, const DnsName *name);

/* Save the state of an entry and mark it as changed.  Returns 0 or -ENOMEM. */
int edit_touch(DnsEdit *edit, OverlayEntry *entry);

/*
 * Does a name below this one exist?  Returns 1, 0 or -EIO.  @near: a name below
 * it where a second walk starts, or NULL.
 */
int edit_has_below(DnsEdit *edit, const NameKey *key, const NameKey *near);

/* Update the ancestors of a name that was created, or deleted. */
int edit_raise_ancestors(DnsEdit *edit, const DnsName *name);
int edit_prune_ancestors(DnsEdit *edit, const DnsName *name);

#endif /* DNSD_UPDATE_CHANGE_EDIT_INTERNAL_H */
