/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a zone image
 *
 * Theory of operation
 *
 * Nodes are appended as they come.  The writer only keeps the positions of the
 * ancestors of the last node: if a child is a wildcard, its parent is updated
 * at once.  So writing a zone takes the memory of its file, which may be mapped,
 * and of the hashes of its names.
 *
 * At the end these hashes make the hash and the order.  After that
 * the image can be read like any other, and the names that records refer to are
 * looked up in it (ZoneTarget).  The checksums come last.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/dns/zone/order.h"
#include "net/dns/zone/records.h"
#include "net/dns/zone/write-internal.h"
#include "net/dns/zone/write.h"

#define RRSETS_MAX      UINT8_MAX
#define NODES_MAX       (UINT32_MAX - 1)

static uint8_t *node_at(const ZoneWriter *w, uint32_t ref)
{
    return w->out->base + ZONE_PAGE + ((uint64_t)(ref - 1) << ZONE_REF_SHIFT);
}

/* --- nodes ---------------------------------------------------------------- */

static void tell_parent(ZoneWriter *w, const DnsName *owner)
{
    if (!w->about.is_delta && owner->labels > w->about.origin.labels &&
        owner->wire[0] == 1 && owner->wire[1] == '*') {
        node_at(w, w->ref[owner->labels - 1])[ZONE_N_FLAGS] |=
            ZONE_NODE_WILDCARD;
    }
}

void zone_writer_wildcard(ZoneWriter *w)
{
    node_at(w, w->ref[w->last.labels])[ZONE_N_FLAGS] |= ZONE_NODE_WILDCARD;
}

uint64_t zone_writer_end(const ZoneWriter *w)
{
    return w->end;
}

uint32_t zone_writer_next(const ZoneWriter *w)
{
    return ((w->end - ZONE_PAGE) >> ZONE_REF_SHIFT) + 1;
}

static int room_for_name(ZoneWriter *w)
{
    uint64_t room = w->names_room ? 2 * w->names_room : 64;
    ZoneHashed *more;

    if (w->nodes < w->names_room) {
        return 0;
    }
    more = realloc(w->names, room * sizeof(*more));
    if (!more) {
        return -ENOMEM;
    }
    w->names = more;
    w->names_room = room;
    return 0;
}

/* Write the head of a node; zone_end_node() writes its length. */
static int begin_node(ZoneWriter *w, const DnsName *owner)
{
    uint64_t offset = w->end - ZONE_PAGE;
    uint8_t below = owner->labels - w->about.origin.labels;
    int ret;

    if (offset >> ZONE_REF_SHIFT >= NODES_MAX) {
        return -EFBIG;
    }
    ret = zone_writer_room(w, ZONE_N_NAME + DNS_NAME_MAX + ZONE_NODE_ALIGN);
    ret = ret ? ret : room_for_name(w);
    if (ret) {
        return ret;
    }
    w->last = *owner;
    w->ref[owner->labels] = zone_writer_next(w);
    w->labels_max = below > w->labels_max ? below : w->labels_max;
    zone_writer_here(w)[ZONE_N_NAME_LEN] = owner->len;
    zone_writer_here(w)[ZONE_N_LABELS] = owner->labels;
    memcpy(zone_writer_here(w) + ZONE_N_NAME, owner->wire, owner->len);
    w->names[w->nodes++] = zone_hashed(w->about.seed, zone_writer_here(w),
                                       w->ref[owner->labels]);
    w->end = zone_align_up(w->end + ZONE_N_NAME + owner->len, ZONE_RRSET_ALIGN);
    tell_parent(w, owner);
    return 0;
}

static int end_node(ZoneWriter *w, uint32_t ref, uint8_t flags, uint8_t rrsets)
{
    uint8_t *node = node_at(w, ref);
    uint64_t len;

    w->end = zone_align_up(w->end, ZONE_NODE_ALIGN);
    len = zone_writer_here(w) - node;
    if (len > UINT32_MAX - ZONE_NODE_ALIGN) {
        return -EFBIG;
    }
    put_le32(node + ZONE_N_LEN, len);
    node[ZONE_N_FLAGS] |= flags;
    node[ZONE_N_RRSETS] = rrsets;
    return 0;
}

static int put_empty_node(ZoneWriter *w, const DnsName *owner, uint8_t flags)
{
    int ret = begin_node(w, owner);

    return ret ? ret : end_node(w, w->ref[owner->labels], flags, 0);
}

/* Add the ancestors that are missing: RFC 4592 section 2.2.2. */
static int put_non_terminals(ZoneWriter *w, const DnsName *owner,
                             unsigned common)
{
    for (unsigned labels = common + 1; labels < owner->labels; labels++) {
        DnsName up = zone_name_ancestor(owner, labels);
        int ret = put_empty_node(w, &up, 0);

        if (ret) {
            return ret;
        }
    }
    return 0;
}

static int go_to(ZoneWriter *w, const DnsName *owner)
{
    unsigned common;

    if (!w->nodes && !w->about.is_delta) {
        return dns_name_equal(owner, &w->about.origin) ? 0 : -EINVAL;
    }
    if (!dns_name_within(owner, &w->about.origin)) {
        return -EINVAL;
    }
    if (w->nodes && zone_name_compare(owner, &w->last, &common) <= 0) {
        return -EINVAL;
    }
    /* For a delta, the ancestors may be in the image below it. */
    return w->about.is_delta ? 0 : put_non_terminals(w, owner, common);
}

/* --- a node with its records ---------------------------------------------- */

static uint16_t covered(const ZoneRecord *record)
{
    return record->rdlength < 2 ? 0 : record->rdata[0] << 8 | record->rdata[1];
}

/* Take the RRSIG records of a type; they are sorted among the other types. */
static ZoneGroup take_sigs(const ZoneRecord *records, size_t count)
{
    ZoneGroup all = { 0 };

    for (size_t i = 0; i < count; i++) {
        if (records[i].type == DNS_TYPE_RRSIG) {
            all.sigs = all.sigs_count++ ? all.sigs : &records[i];
        }
    }
    return all;
}

static void next_group(ZoneGroup *g, ZoneGroup *sigs, const ZoneRecord *records,
                       size_t count)
{
    *g = (ZoneGroup) { .records = records, .sigs = sigs->sigs };
    while (g->count < count && records[g->count].type == records->type) {
        g->count++;
    }
    while (g->sigs_count < sigs->sigs_count &&
           covered(&sigs->sigs[g->sigs_count]) == records->type) {
        g->sigs_count++;
    }
    if (g->sigs_count) {
        sigs->sigs += g->sigs_count;
        sigs->sigs_count -= g->sigs_count;
    }
}

static uint8_t flag_of(ZoneWriter *w, const DnsName *owner, uint16_t type)
{
    switch (type) {
    case DNS_TYPE_NS:
        return owner->labels > w->about.origin.labels ? ZONE_NODE_CUT : 0;
    case DNS_TYPE_DNAME:
        return ZONE_NODE_DNAME;
    case DNS_TYPE_NSEC:
        w->flags |= ZONE_HAS_NSEC;
        return ZONE_NODE_NSEC;
    case DNS_TYPE_NSEC3:
        w->flags |= ZONE_HAS_NSEC3;
        return ZONE_NODE_NSEC3;
    default:
        return 0;
    }
}

static int note_soa(ZoneWriter *w, const DnsName *owner, const ZoneGroup *g)
{
    const ZoneRecord *soa = g->records;
    const uint8_t *serial = soa->rdata + soa->rdlength - 20;

    if (soa->type != DNS_TYPE_SOA) {
        return 0;
    }
    if (g->count != 1 || soa->rdlength < 22 ||
        !dns_name_equal(owner, &w->about.origin)) {
        return -EINVAL;
    }
    w->serial = (uint32_t)serial[0] << 24 | serial[1] << 16 | serial[2] << 8 |
                serial[3];
    w->has_soa = true;
    return 0;
}

static int put_groups(ZoneWriter *w, const DnsName *owner,
                      const ZoneRecord *records, size_t count, uint8_t *flags)
{
    ZoneGroup sigs = take_sigs(records, count);
    uint16_t last = 0;
    int rrsets = 0;
    ZoneGroup g;

    for (size_t i = 0; i < count; i += g.count) {
        int ret;

        next_group(&g, &sigs, records + i, count - i);
        if (g.records->type == DNS_TYPE_RRSIG) {
            continue;
        }
        if (g.records->type <= last || rrsets == RRSETS_MAX) {
            return g.records->type <= last ? -EINVAL : -EFBIG;
        }
        ret = note_soa(w, owner, &g);
        ret = ret ? ret : zone_writer_rrset(w, owner, &g);
        if (ret) {
            return ret;
        }
        last = g.records->type;
        *flags |= flag_of(w, owner, last);
        rrsets++;
    }
    return sigs.sigs_count ? -EINVAL : rrsets;
}

int zone_writer_node(ZoneWriter *w, const DnsName *owner,
                     const ZoneRecord *records, size_t count)
{
    int ret = go_to(w, owner);
    uint8_t flags = 0;
    int rrsets;

    ret = ret ? ret : begin_node(w, owner);
    if (ret) {
        return ret;
    }
    rrsets = put_groups(w, owner, records, count, &flags);
    return rrsets < 0 ? rrsets : end_node(w, w->ref[owner->labels], flags,
                                          rrsets);
}

int zone_writer_gone(ZoneWriter *w, const DnsName *owner)
{
    int ret = w->about.is_delta ? go_to(w, owner) : -EINVAL;

    return ret ? ret : put_empty_node(w, owner, ZONE_NODE_GONE);
}

/* --- life ----------------------------------------------------------------- */

ZoneWriter *zone_writer_new(const ZoneAbout *about, ZoneOut *out)
{
    ZoneWriter *w = calloc(1, sizeof(*w));

    if (w) {
        w->about = *about;
        w->out = out;
        w->end = ZONE_PAGE;
    }
    return w;
}

void zone_writer_free(ZoneWriter *w)
{
    if (w) {
        free(w->names);
    }
    free(w);
}
