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

#include "dnsd/update/change/edit-internal.h"
#include "dnsd/update/change/edit.h"
#include "net/dns/wire/fields.h"

#define RRSETS_MAX      UINT8_MAX
/* Octets of an RRset that fit into a message, and into an image's targets */
#define RRSET_LEN_MAX   65000
#define RR_HEAD         12

/* --- records -------------------------------------------------------------- */

/* The end of the RRset that begins at @from; RRSIGs that cover a type are one */
static size_t rrset_end(const DnsNode *node, size_t from, size_t *len)
{
    const ZoneRecord *first = &node->record[from];
    size_t i = from;

    for (*len = 0; i < node->count && node->record[i].type == first->type &&
         dns_record_covers(&node->record[i]) == dns_record_covers(first);
         i++) {
        *len += RR_HEAD + node->record[i].rdlength;
    }
    return i;
}

static unsigned count_rrsets(const DnsNode *node)
{
    unsigned count = 0;
    size_t len;

    for (size_t i = 0; node && i < node->count; count++) {
        i = rrset_end(node, i, &len);
    }
    return count;
}

/* Octets of the RRset that @record is in, or would be in */
static size_t rrset_len(const DnsNode *node, const ZoneRecord *record)
{
    size_t len, next;

    for (size_t i = 0; node && i < node->count; i = next) {
        next = rrset_end(node, i, &len);
        if (node->record[i].type == record->type &&
            dns_record_covers(&node->record[i]) == dns_record_covers(record)) {
            return len;
        }
    }
    return 0;
}

/*
 * What the zone had before the edit fits: images have larger sets, and those
 * may shrink.  A change is stored as removals, then additions.  No step of them
 * is larger than both ends, so what has passed here also passes when it is
 * replayed.
 */
static bool fits(const DnsNode *node, const DnsNode *was)
{
    unsigned rrsets = count_rrsets(node);
    size_t len, next;

    for (size_t i = 0; i < node->count; i = next) {
        next = rrset_end(node, i, &len);
        if (len > RRSET_LEN_MAX && len > rrset_len(was, &node->record[i])) {
            return false;
        }
    }
    return rrsets <= RRSETS_MAX || rrsets <= count_rrsets(was);
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
    ret = entry ? edit_touch(edit, entry) : -errno;
    if (!ret && node && !fits(node, edit->saved[entry->saved].was.node)) {
        ret = -ENOSPC;
    }
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
