/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change sets: how they are read, and made from an edit */
#include "dnsd/update/change/changes.h"
#include "base/octets.h"
#include "dnsd/update/change/edit-internal.h"
#include "net/dns/zone/records.h"

#define RR_FIXED        10      /* type, class, TTL, length */
#define SOA_NUMBERS     20
#define SOA_LEN_MIN     (SOA_NUMBERS + 2)

uint32_t dns_soa_serial(const ZoneRecord *soa)
{
    return soa->rdlength < SOA_LEN_MIN ? 0
           : get_be32(soa->rdata + soa->rdlength - SOA_NUMBERS);
}

/* --- read ----------------------------------------------------------------- */

void dns_changes_first(const DnsChanges *changes, DnsChangeCursor *cursor)
{
    *cursor = (DnsChangeCursor) {
        .at = changes->octets,
        .end = changes->octets + changes->len,
        .gone = changes->gone,
        .come = changes->come,
    };
}

int dns_changes_next(DnsChangeCursor *c)
{
    const uint8_t *head;
    size_t left;

    if (!c->gone && !c->come) {
        return 0;
    }
    if (zone_wire_name(c->at, c->end - c->at, &c->name)) {
        return -EBADMSG;
    }
    head = c->at + c->name.len;
    left = c->end - head;
    if (left < RR_FIXED || left - RR_FIXED < get_be16(head + 8)) {
        return -EBADMSG;
    }
    c->rrclass = get_be16(head + 2);
    c->record = (ZoneRecord) {
        .type = get_be16(head),
        .ttl = get_be32(head + 4),
        .rdlength = get_be16(head + 8),
        .rdata = head + RR_FIXED,
    };
    c->at = c->record.rdata + c->record.rdlength;
    c->is_gone = c->gone > 0;
    c->gone -= c->is_gone;
    c->come -= !c->is_gone;
    return 1;
}

/* --- construction --------------------------------------------------------- */

typedef struct Collect {
    DnsEdit *edit;
    DnsBuffer *buffer;
    uint16_t rrclass;
    uint32_t count;
} Collect;

static int put(Collect *c, const DnsName *name, const ZoneRecord *record)
{
    uint8_t head[RR_FIXED];
    int ret = dns_buffer_add(c->buffer, name->wire, name->len);

    put_be16(head, record->type);
    put_be16(head + 2, c->rrclass);
    put_be32(head + 4, record->ttl);
    put_be16(head + 8, record->rdlength);
    ret = ret ? ret : dns_buffer_add(c->buffer, head, sizeof(head));
    ret = ret ? ret : dns_buffer_add(c->buffer, record->rdata,
                                     record->rdlength);
    c->count++;
    return ret;
}

/*
 * Put the records of @in that @not_in does not have, or has with another TTL.
 */
static int put_missing(Collect *c, const DnsName *name, const DnsNode *in,
                       const DnsNode *not_in)
{
    size_t count = in ? in->count : 0, others = not_in ? not_in->count : 0;
    int ret = 0;

    for (size_t i = 0, k = 0; i < count && !ret; i++) {
        const ZoneRecord *record = &in->record[i];
        int differ = -1;

        while (k < others && (differ = dns_record_compare(
                                  &not_in->record[k], record)) < 0) {
            k++;
        }
        if (k < others && differ == 0 &&
            not_in->record[k].ttl == record->ttl) {
            continue;
        }
        if (record->type != DNS_TYPE_SOA) {
            ret = put(c, name, record);
        }
    }
    return ret;
}

static int put_side(Collect *c, const ZoneRecord *soa, bool is_gone)
{
    int ret = put(c, &c->edit->origin, soa);

    for (size_t i = 0; i < c->edit->count && !ret; i++) {
        const EditSaved *s = &c->edit->saved[i];
        const DnsNode *was = s->was.node, *now = s->entry->now.node;

        if (was != now) {
            ret = put_missing(c, &s->entry->name, is_gone ? was : now,
                              is_gone ? now : was);
        }
    }
    return ret;
}

/* --- validity of the zone ------------------------------------------------- */

static bool is_signed_only(const DnsNode *node, const ZoneRecord *sig)
{
    size_t count;

    return !dns_node_find(node, dns_record_covers(sig), &count);
}

static bool node_is_right(const DnsEdit *edit, const OverlayEntry *entry)
{
    bool is_apex = entry->name.labels == edit->origin.labels;
    const DnsNode *node = entry->now.node;

    for (size_t i = 0; node && i < node->count; i++) {
        const ZoneRecord *record = &node->record[i];

        if ((record->type == DNS_TYPE_SOA && !is_apex) ||
            (record->type == DNS_TYPE_RRSIG &&
             is_signed_only(node, record))) {
            return false;
        }
    }
    return true;
}

bool dns_changes_any(const DnsEdit *edit)
{
    for (size_t i = 0; i < edit->count; i++) {
        const EditSaved *saved = &edit->saved[i];

        if (dns_node_differs(saved->was.node, saved->entry->now.node)) {
            return true;
        }
    }
    return false;
}

/* Find the SOA before and after the edit; false if either is missing. */
static bool find_soas(const DnsEdit *edit, const OverlayEntry *apex,
                      const ZoneRecord **was, const ZoneRecord **now)
{
    size_t was_count, now_count, ns_count;

    *was = dns_node_find(edit->saved[apex->saved].was.node, DNS_TYPE_SOA,
                         &was_count);
    *now = dns_node_find(apex->now.node, DNS_TYPE_SOA, &now_count);
    return was_count == 1 && now_count == 1 &&
           (*now)->rdlength >= SOA_LEN_MIN &&
           dns_node_find(apex->now.node, DNS_TYPE_NS, &ns_count);
}

int dns_changes_collect(DnsEdit *edit, uint16_t rrclass, DnsBuffer *buffer,
                        DnsChanges *changes)
{
    Collect gone = { edit, buffer, rrclass, 0 }, come = gone;
    const ZoneRecord *was, *now;
    OverlayEntry *apex;
    int ret;

    if (!dns_changes_any(edit)) {
        return 0;
    }
    apex = edit_load(edit, &edit->origin);
    ret = apex ? edit_touch(edit, apex) : -errno;
    if (ret) {
        return ret;
    }
    for (size_t i = 0; i < edit->count; i++) {
        if (!node_is_right(edit, edit->saved[i].entry)) {
            return -EINVAL;
        }
    }
    if (!find_soas(edit, apex, &was, &now)) {
        return -EINVAL;
    }
    *changes = (DnsChanges) {
        .from = dns_soa_serial(was),
        .to = dns_soa_serial(now),
    };
    ret = put_side(&gone, was, true);
    ret = ret ? ret : put_side(&come, now, false);
    if (ret) {
        return ret;
    }
    changes->gone = gone.count;
    changes->come = come.count;
    return changes->to - changes->from - 1 < INT32_MAX ? 1 : -EINVAL;
}

int dns_changes_bump(DnsEdit *edit)
{
    const DnsNode *apex = dns_edit_node(edit, &edit->origin);
    size_t count;
    const ZoneRecord *soa = dns_node_find(apex, DNS_TYPE_SOA, &count);
    uint32_t serial;
    ZoneRecord next;
    uint8_t *rdata;
    int ret;

    if (!soa || soa->rdlength < SOA_LEN_MIN) {
        return -EINVAL;
    }
    rdata = malloc(soa->rdlength);
    if (!rdata) {
        return -ENOMEM;
    }
    memcpy(rdata, soa->rdata, soa->rdlength);
    serial = dns_soa_serial(soa) + 1;
    put_be32(rdata + soa->rdlength - SOA_NUMBERS, serial ? serial : 1);
    next = *soa;
    next.rdata = rdata;
    ret = dns_edit_remove(edit, &edit->origin, soa);
    ret = ret ? ret : dns_edit_add(edit, &edit->origin, &next);
    free(rdata);
    return ret;
}

/* --- done ----------------------------------------------------------------- */

int dns_changes_apply(DnsEdit *edit, const DnsChanges *changes)
{
    DnsChangeCursor cursor;
    int ret;

    dns_changes_first(changes, &cursor);
    while ((ret = dns_changes_next(&cursor)) > 0) {
        if (!dns_name_within(&cursor.name, dns_edit_origin(edit))) {
            return -EINVAL;
        }
        ret = cursor.is_gone
              ? dns_edit_remove(edit, &cursor.name, &cursor.record)
              : dns_edit_add(edit, &cursor.name, &cursor.record);
        if (ret) {
            return ret == -ENOENT || ret == -EEXIST ? -EINVAL : ret;
        }
    }
    return ret ? -EINVAL : 0;
}
