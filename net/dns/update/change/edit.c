/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edits of a zone
 *
 * Theory of operation
 *
 * The overlay has the names that edits have touched, each with all its records.
 * For all other names the view is valid.  An edit changes the overlay in place
 * and saves the former state, so undoing it costs as much as the edit did.
 *
 * A name exists if it has records, or if a name below it exists (RFC 4592
 * section 2.2.2).  So the first record of a name may create ancestors.  The
 * removal of its last record may delete ancestors that have no records and no
 * other names below them (ancestors.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "net/dns/update/change/edit-internal.h"
#include "net/dns/wire/fields.h"

#define RRSETS_MAX      UINT8_MAX
/* Octets of an RRset that fit into a message, and into an image's targets */
#define RRSET_LEN_MAX   65000
#define RR_HEAD         12

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
    /* The node from before the edit is kept in edit->saved. */
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
