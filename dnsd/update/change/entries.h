/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of a zone during an edit */
#ifndef DNSD_UPDATE_CHANGE_ENTRIES_H
#define DNSD_UPDATE_CHANGE_ENTRIES_H

#include "dnsd/update/change/records.h"

typedef struct DnsEdit DnsEdit;

const DnsName *dns_edit_origin(const DnsEdit *edit);

/**
 * dns_edit_node: the records of a name at this time
 *
 * Returns: NULL if the name has none, for example an empty non-terminal.  errno
 * is 0 then; ENOMEM or EIO mean that the node cannot be read.  The node is
 * valid until the name is changed.
 */
const DnsNode *dns_edit_node(DnsEdit *edit, const DnsName *name);

/** dns_edit_exists: has the name records, or has a name below it? */
bool dns_edit_exists(DnsEdit *edit, const DnsName *name);

#endif /* DNSD_UPDATE_CHANGE_ENTRIES_H */
