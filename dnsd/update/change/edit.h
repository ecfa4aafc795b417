/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One change set under construction: the zone before it, and the zone after it
 *
 * An edit applies to a view and to earlier edits that are not in an image yet.
 * Empty non-terminals and wildcards are maintained automatically.
 */
#ifndef DNSD_UPDATE_CHANGE_EDIT_H
#define DNSD_UPDATE_CHANGE_EDIT_H

#include "dnsd/update/change/entries.h"

/**
 * dns_edit_add: add a record to a name
 *
 * The whole RRset gets its TTL (RFC 2181 section 5.2).
 *
 * Returns: 0; -EEXIST if the name has it with that TTL; -ENOMEM, -EIO; or
 * -ENOSPC if a node or an RRset would exceed the limits of an image, and what
 * it was before the edit.
 */
int dns_edit_add(DnsEdit *edit, const DnsName *name, const ZoneRecord *record);

/**
 * dns_edit_remove: delete a record; its TTL is ignored; -ENOENT if it is
 * missing
 */
int dns_edit_remove(DnsEdit *edit, const DnsName *name,
                    const ZoneRecord *record);

/** dns_edit_set: replace all records of a name; NULL or empty: delete them */
int dns_edit_set(DnsEdit *edit, const DnsName *name, DnsNode *node);

#endif /* DNSD_UPDATE_CHANGE_EDIT_H */
