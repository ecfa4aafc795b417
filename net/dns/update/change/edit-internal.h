/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of edits, and the store's side of them */
#ifndef NET_DNS_UPDATE_CHANGE_EDIT_INTERNAL_H
#define NET_DNS_UPDATE_CHANGE_EDIT_INTERNAL_H

#include "net/dns/update/change/edit.h"
#include "net/dns/update/change/overlay.h"
#include "net/dns/zone/find.h"

/* An entry before this edit; it owns the node */
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

/* Over another view that has the same names; no edit is open. */
void dns_edit_over(DnsEdit *edit, const ZoneView *view);

/* Put back all that was before. */
void dns_edit_undo(DnsEdit *edit);

/* Forget what was before. */
void dns_edit_keep(DnsEdit *edit);

/* --- between the files --- */

/*
 * The state of a name, an entry that is not changed yet if there was none
 * NULL and errno: ENOMEM, EIO
 */
OverlayEntry *edit_load(DnsEdit *edit, const DnsName *name);

/* Remember what it was, and say that it is changed; 0 or -ENOMEM. */
int edit_touch(DnsEdit *edit, OverlayEntry *entry);

/* 1: a name below this one exists; 0; or -EIO. @near: one below to begin at */
int edit_has_below(DnsEdit *edit, const NameKey *key, const NameKey *near);

/* The ancestors of a name that has begun, or ceased, to exist */
int edit_raise_ancestors(DnsEdit *edit, const DnsName *name);
int edit_prune_ancestors(DnsEdit *edit, const DnsName *name);

#endif /* NET_DNS_UPDATE_CHANGE_EDIT_INTERNAL_H */
