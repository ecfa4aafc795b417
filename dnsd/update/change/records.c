/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of one name, read from an image */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/update/change/records.h"
#include "base/octets.h"
#include "net/dns/wire/fields.h"

#define RR_HEAD         12      /* as docs/dns-image.md defines */
#define NAMES_MAX       2       /* compressed names in one RDATA: SOA */

uint16_t dns_record_covers(const ZoneRecord *record)
{
    return record->type == DNS_TYPE_RRSIG && record->rdlength >= 2
           ? get_be16(record->rdata) : record->type;
}

int dns_record_compare(const ZoneRecord *a, const ZoneRecord *b)
{
    int differ = a->type - b->type;

    differ = differ ? differ : dns_record_covers(a) - dns_record_covers(b);
    return differ ? differ
                  : dns_rdata_compare(a->type, DNS_CLASS_IN, a->rdata,
                                      a->rdlength, b->rdata, b->rdlength);
}

const ZoneRecord *dns_node_find(const DnsNode *node, uint16_t type,
                                size_t *count)
{
    const ZoneRecord *first = NULL;

    *count = 0;
    for (size_t i = 0; node && i < node->count; i++) {
        if (node->record[i].type == type) {
            first = first ? first : &node->record[i];
            ++*count;
        }
    }
    return first;
}

/* A node under construction */
typedef struct Filling {
    DnsNode *node;
    uint8_t *to;                /* address of the next RDATA */
} Filling;

bool dns_node_differs(const DnsNode *a, const DnsNode *b)
{
    size_t count = a ? a->count : 0;

    if (a == b || count != (b ? b->count : 0)) {
        return a != b;
    }
    for (size_t i = 0; i < count; i++) {
        if (a->record[i].ttl != b->record[i].ttl ||
            dns_record_compare(&a->record[i], &b->record[i])) {
            return true;
        }
    }
    return false;
}

/* --- made from records ---------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return dns_record_compare(a, b);
}

static DnsNode *alloc_node(size_t count, size_t octets)
{
    return malloc(sizeof(DnsNode) + count * sizeof(ZoneRecord) + octets);
}

static size_t drop_twins(ZoneRecord *record, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!kept || dns_record_compare(&record[kept - 1], &record[i])) {
            record[kept++] = record[i];
        }
    }
    return kept;
}

DnsNode *dns_node_new(const ZoneRecord *records, size_t count)
{
    size_t octets = 0;
    DnsNode *node;
    uint8_t *to;

    for (size_t i = 0; i < count; i++) {
        octets += records[i].rdlength;
    }
    node = alloc_node(count, octets);
    if (!node) {
        return NULL;
    }
    to = (uint8_t *)&node->record[count];
    for (size_t i = 0; i < count; i++) {
        node->record[i] = records[i];
        node->record[i].rdata = to;
        if (records[i].rdlength) {
            memcpy(to, records[i].rdata, records[i].rdlength);
        }
        to += records[i].rdlength;
    }
    qsort(node->record, count, sizeof(*node->record), compare);
    node->count = drop_twins(node->record, count);
    return node;
}

/* The index of the first record that does not precede this one */
static size_t place_of(const DnsNode *node, const ZoneRecord *record)
{
    size_t low = 0, high = node ? node->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dns_record_compare(&node->record[middle], record) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const ZoneRecord *dns_node_has(const DnsNode *node, const ZoneRecord *record)
{
    size_t at = place_of(node, record);

    return node && at < node->count &&
           !dns_record_compare(&node->record[at], record) ? &node->record[at]
                                                          : NULL;
}

static void put_record(Filling *f, const ZoneRecord *record)
{
    ZoneRecord *to = &f->node->record[f->node->count++];

    *to = *record;
    to->rdata = f->to;
    if (record->rdlength) {
        memcpy(f->to, record->rdata, record->rdlength);
    }
    f->to += record->rdlength;
}

DnsNode *dns_node_change(const DnsNode *node, const ZoneRecord *without,
                         const ZoneRecord *with)
{
    size_t have = node ? node->count : 0, octets = with ? with->rdlength : 0;
    size_t place = with ? place_of(node, with) : have + 1;
    Filling f;

    for (size_t i = 0; i < have; i++) {
        octets += node->record[i].rdlength;
    }
    f.node = alloc_node(have + 1, octets);
    if (!f.node) {
        return NULL;
    }
    f.node->count = 0;
    f.to = (uint8_t *)&f.node->record[have + 1];
    for (size_t i = 0; i <= have; i++) {
        if (i == place) {
            put_record(&f, with);
        }
        if (i == have || &node->record[i] == without) {
            continue;
        }
        put_record(&f, &node->record[i]);
        if (with && node->record[i].type == with->type &&
            dns_record_covers(&node->record[i]) == dns_record_covers(with)) {
            f.node->record[f.node->count - 1].ttl = with->ttl;
        }
    }
    return f.node;
}

/* --- read from an image --------------------------------------------------- */

/* RDATA with compressible names: octets, names, octets (RFC 1035) */
static bool is_compressed(uint16_t type, unsigned *before, unsigned *names)
{
    *before = type == DNS_TYPE_MX ? 2 : 0;
    *names = type == DNS_TYPE_SOA ? 2 : 1;
    return type == DNS_TYPE_NS || type == DNS_TYPE_CNAME ||
           type == DNS_TYPE_SOA || type == DNS_TYPE_PTR || type == DNS_TYPE_MX;
}

/* Octets that a name takes in place; 0 if it exceeds @left */
static uint32_t name_extent(const uint8_t *at, uint32_t left)
{
    uint32_t len = 0;

    while (len < left) {
        if (at[len] >= 0xc0) {
            return len + 2;
        }
        if (!at[len]) {
            return len + 1;
        }
        len += 1 + at[len];
    }
    return 0;
}

/* Uncompress RDATA at @at of the records of an RRset.  Returns octets or -1. */
static int unpack(const ZoneNode *node, const ZoneRrset *rrset, uint32_t at,
                  uint16_t rdlength, uint8_t *to)
{
    unsigned before, names, out, in;

    if (!is_compressed(rrset->type, &before, &names)) {
        memcpy(to, rrset->at + at, rdlength);
        return rdlength;
    }
    if (before > rdlength) {
        return -1;
    }
    memcpy(to, rrset->at + at, before);
    for (in = out = before; names; names--) {
        uint32_t len = name_extent(rrset->at + at + in, rdlength - in);
        DnsName name;

        if (!len || len > rdlength - in ||
            !zone_rrset_name(node, rrset, at + in, &name)) {
            return -1;
        }
        memcpy(to + out, name.wire, name.len);
        out += name.len;
        in += len;
    }
    memcpy(to + out, rrset->at + at + in, rdlength - in);
    return out + rdlength - in;
}

/* Take the records of an RRset, which follow each other in wire form. */
static bool take_records(Filling *f, const ZoneNode *node,
                         const ZoneRrset *rrset, bool sigs)
{
    ZoneRrset all = *rrset;
    uint16_t count = sigs ? rrset->sigs : rrset->records;
    uint32_t at = 0;

    if (sigs) {
        all.at = rrset->sigs_at;
        all.len = rrset->sigs_len;
        all.type = DNS_TYPE_RRSIG;
    }
    for (unsigned i = 0; i < count; i++) {
        ZoneRecord *record = &f->node->record[f->node->count];
        uint16_t rdlength;
        int len;

        if (all.len - at < RR_HEAD) {
            return false;
        }
        rdlength = get_be16(all.at + at + 10);
        if (all.len - at - RR_HEAD < rdlength) {
            return false;
        }
        len = unpack(node, &all, at + RR_HEAD, rdlength, f->to);
        if (len < 0) {
            return false;
        }
        *record = (ZoneRecord) { all.type, len,
                                 get_be32(all.at + at + 6), f->to };
        f->node->count++;
        f->to += len;
        at += RR_HEAD + rdlength;
    }
    return at == all.len;
}

static bool fill(Filling *f, const ZoneNode *node, bool sigs)
{
    ZoneCursor cursor;
    ZoneRrset rrset;

    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        if (!take_records(f, node, &rrset, sigs)) {
            return false;
        }
    }
    return true;
}

/* Compute the memory for a node: records, and the most octets. */
static void measure(const ZoneNode *node, size_t *count, size_t *octets)
{
    ZoneCursor cursor;
    ZoneRrset rrset;
    unsigned before, names;

    *count = *octets = 0;
    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, &rrset)) {
        *count += rrset.records + rrset.sigs;
        *octets += (size_t)rrset.len + rrset.sigs_len;
        if (is_compressed(rrset.type, &before, &names)) {
            *octets += (size_t)rrset.records * NAMES_MAX * DNS_NAME_MAX;
        }
    }
}

DnsNode *dns_node_read(const ZoneNode *node)
{
    size_t count, octets;
    Filling f;

    measure(node, &count, &octets);
    f.node = alloc_node(count, octets);
    if (!f.node) {
        errno = ENOMEM;
        return NULL;
    }
    f.node->count = 0;
    f.to = (uint8_t *)&f.node->record[count];
    if (!fill(&f, node, false) || !fill(&f, node, true)) {
        zone_image_fail(node->image);
        free(f.node);
        errno = EIO;
        return NULL;
    }
    qsort(f.node->record, f.node->count, sizeof(*f.node->record), compare);
    return f.node;
}
