/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of changes */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/update/change/delta.h"
#include "dnsd/update/change/walk.h"
#include "dnsd/update/change/entries.h"

static DnsName name_of(const ZoneNode *node)
{
    DnsName name = { .len = node->name_len, .labels = node->labels };

    memcpy(name.wire, node->name, node->name_len);
    return name;
}

/* --- the overlay ---------------------------------------------------------- */

static bool has_wildcard(DnsEdit *edit, const DnsName *name)
{
    DnsName star = { .len = name->len + 2, .labels = name->labels + 1,
                     .wire = { 1, '*' } };

    if (name->len > DNS_NAME_MAX - 2) {
        return false;
    }
    memcpy(star.wire + 2, name->wire, name->len);
    return dns_edit_exists(edit, &star);
}

static int put_entry(ZoneWriter *writer, DnsEdit *edit,
                     const OverlayEntry *entry)
{
    const DnsNode *node = entry->now.node;
    int ret;

    if (!entry->now.exists) {
        return zone_writer_gone(writer, &entry->name);
    }
    ret = zone_writer_node(writer, &entry->name, node ? node->record : NULL,
                           node ? node->count : 0);
    if (!ret && has_wildcard(edit, &entry->name)) {
        zone_writer_wildcard(writer);
    }
    return ret;
}

int dns_delta_write(DnsEdit *edit, const ZoneAbout *about, ZoneOut *out,
                    uint64_t *len)
{
    ZoneWriter *writer = zone_writer_new(about, out);
    const OverlayEntry *entry = overlay_from(edit->overlay, NULL);
    int ret = writer ? 0 : -ENOMEM;

    for (; entry && !ret; entry = overlay_next(entry)) {
        ret = put_entry(writer, edit, entry);
    }
    ret = ret ? ret : zone_writer_finish(writer, len);
    zone_writer_free(writer);
    return ret;
}

static int take_node(Overlay *overlay, const ZoneNode *node)
{
    DnsName name = name_of(node);
    OverlayEntry *entry;
    NameKey key;

    name_key_init(&key, name.wire);
    entry = overlay_add(overlay, &name, &key);
    if (!entry) {
        return -ENOMEM;
    }
    entry->now.is_changed = true;
    entry->now.exists = !(node->flags & ZONE_NODE_GONE);
    entry->now.node = node->rrsets ? dns_node_read(node) : NULL;
    return node->rrsets && !entry->now.node ? -errno : 0;
}

int dns_delta_read(Overlay *overlay, ZoneImage *image)
{
    ZoneNode node;
    int ret = 0;

    for (uint32_t ref = image->nodes ? 1 : 0; ref && !ret;
         ref = zone_node_next(&node)) {
        if (!zone_node_get(image, ref, &node)) {
            return -EIO;
        }
        ret = take_node(overlay, &node);
    }
    return ret;
}

/* --- a view --------------------------------------------------------------- */

static int put_node(ZoneWriter *writer, const ZoneNode *node, bool is_delta)
{
    DnsName name = name_of(node);
    DnsNode *read;
    int ret;

    if (node->flags & ZONE_NODE_GONE) {
        return is_delta ? zone_writer_gone(writer, &name) : 0;
    }
    read = dns_node_read(node);
    if (!read) {
        return -errno;
    }
    ret = zone_writer_node(writer, &name, read->record, read->count);
    free(read);
    if (!ret && node->flags & ZONE_NODE_WILDCARD) {
        zone_writer_wildcard(writer);
    }
    return ret;
}

int dns_view_write(const ZoneView *view, const ZoneAbout *about, ZoneOut *out,
                   uint64_t *len)
{
    ZoneWriter *writer = zone_writer_new(about, out);
    ViewWalk *walk = malloc(sizeof(*walk));
    int ret = writer && walk ? 0 : -ENOMEM;

    if (!ret) {
        view_walk_begin(walk, view, NULL, false);
    }
    while (!ret && view_walk_next(walk)) {
        ret = put_node(writer, &walk->node, about->is_delta);
    }
    ret = ret ? ret : walk->has_failed ? -EIO
                                       : zone_writer_finish(writer, len);
    free(walk);
    zone_writer_free(writer);
    return ret;
}
