/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of an outgoing transfer, in their order */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/update/xfr/source.h"

int xfr_source_begin(XfrSource *s, const ZoneView *view)
{
    size_t count;
    ZoneNode node;

    memset(s, 0, offsetof(XfrSource, walk));
    s->node = NULL;
    s->reader = (JournalReader) { .fd = { -1, -1 } };
    s->buffer = (DnsBuffer) { 0 };
    s->cursor = (DnsChangeCursor) { 0 };
    s->origin = view->layer[view->layers - 1]->origin;
    if (!zone_find_exact(view, s->origin.wire, s->origin.len, &node)) {
        return -EIO;
    }
    s->apex = dns_node_read(&node);
    if (!s->apex) {
        return -errno;
    }
    s->soa = dns_node_find(s->apex, DNS_TYPE_SOA, &count);
    return s->soa ? 0 : -EIO;
}

void xfr_source_view(XfrSource *s, const ZoneView *view)
{
    view_walk_begin(&s->walk, view, NULL, false);
}

void xfr_source_changes(XfrSource *s, const JournalReader *reader)
{
    s->has_changes = true;
    s->reader = *reader;
}

void xfr_source_end(XfrSource *s)
{
    free(s->apex);
    free(s->node);
    s->apex = s->node = NULL;
    journal_reader_close(&s->reader);
    dns_buffer_free(&s->buffer);
}

/* --- the sequence --------------------------------------------------------- */

static int put_soa(XfrSource *s, XfrSourceState next)
{
    s->name = s->origin;
    s->record = s->soa;
    s->state = next;
    return 1;
}

static int next_node(XfrSource *s)
{
    free(s->node);
    s->node = NULL;
    s->next = 0;
    do {
        if (!view_walk_next(&s->walk)) {
            return s->walk.has_failed ? -EIO : 0;
        }
    } while (s->walk.node.flags & ZONE_NODE_GONE);
    s->node = dns_node_read(&s->walk.node);
    s->name = (DnsName) { .len = s->walk.node.name_len,
                          .labels = s->walk.node.labels };
    memcpy(s->name.wire, s->walk.node.name, s->name.len);
    return s->node ? 1 : -errno;
}

static int next_of_view(XfrSource *s)
{
    int ret;

    for (;;) {
        while (s->node && s->next < s->node->count) {
            s->record = &s->node->record[s->next++];
            if (s->record->type != DNS_TYPE_SOA) {
                return 1;
            }
        }
        ret = next_node(s);
        if (ret <= 0) {
            return ret ? ret : put_soa(s, XFR_END);
        }
    }
}

static int next_of_changes(XfrSource *s)
{
    JournalRecord record;
    int ret;

    while ((ret = dns_changes_next(&s->cursor)) == 0) {
        ret = journal_read_next(&s->reader, &s->buffer, &record);
        if (ret <= 0) {
            return ret ? ret : put_soa(s, XFR_END);
        }
        dns_changes_first(&record.changes, &s->cursor);
    }
    s->name = s->cursor.name;
    s->record = &s->cursor.record;
    return ret < 0 ? -EIO : 1;
}

int xfr_source_next(XfrSource *s)
{
    switch (s->state) {
    case XFR_FIRST:
        return put_soa(s, XFR_BETWEEN);
    case XFR_BETWEEN:
        return s->has_changes ? next_of_changes(s) : next_of_view(s);
    case XFR_LAST:
        return put_soa(s, XFR_END);
    default:
        return 0;
    }
}
