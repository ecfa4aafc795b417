/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One change set in the making: the zone as it is, and what becomes of it
 *
 * An edit is over a view and over the edits before it that are not in an image
 * yet.  Empty non-terminals and wildcards follow by themselves.
 */
#ifndef NET_DNS_UPDATE_CHANGE_EDIT_H
#define NET_DNS_UPDATE_CHANGE_EDIT_H

#include "net/dns/update/change/records.h"

typedef struct DnsEdit DnsEdit;

/**
 * dns_edit_node: the records of a name as they are now
 *
 * Returns: NULL if the name has none (it may be an empty non-terminal); errno
 * is 0 then, and ENOMEM or EIO where the node cannot be read.  Valid until the
 * name is changed.
 */
const DnsNode *dns_edit_node(DnsEdit *edit, const DnsName *name);

/** dns_edit_exists: has the name records, or has a name below it? */
bool dns_edit_exists(DnsEdit *edit, const DnsName *name);

/**
 * dns_edit_add: a record, which the name does not have
 *
 * The RRset takes its TTL (RFC 2181 section 5.2).
 *
 * Returns: 0; -EEXIST if the name has it, with that TTL; -ENOMEM, -EIO,
 * -ENOSPC where a node or an RRset would be larger than an image can hold.
 */
int dns_edit_add(DnsEdit *edit, const DnsName *name, const ZoneRecord *record);

/** dns_edit_remove: a record, whatever its TTL; -ENOENT if it is not there. */
int dns_edit_remove(DnsEdit *edit, const DnsName *name,
                    const ZoneRecord *record);

/** dns_edit_set: all records of a name; NULL or an empty one: none. */
int dns_edit_set(DnsEdit *edit, const DnsName *name, DnsNode *node);

const DnsName *dns_edit_origin(const DnsEdit *edit);

#endif /* NET_DNS_UPDATE_CHANGE_EDIT_H */
