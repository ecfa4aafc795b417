/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last steps of writing an image: indexes, targets, checksums */
#include <errno.h>

#include "base/threads.h"
#include "net/dns/zone/find.h"
#include "net/dns/zone/index.h"
#include "net/dns/zone/write-internal.h"
#include "net/packet/crc32c.h"
#include "net/dns/zone/write.h"

#define SEEDS_MAX       2
#define SETTLED_AT_ONCE (8u << 20)

/* --- indexes, checksums, header ------------------------------------------- */

/* Begin the next section, of @len zeros.  w->end is behind its padding then. */
static int begin_section(ZoneWriter *w, ZoneSection section, uint64_t len)
{
    uint64_t filled = zone_align_up(len, ZONE_PAGE);
    int ret = zone_writer_room(w, filled);

    if (ret) {
        return ret;
    }
    w->section[section] = (ZoneSpan) { w->end, len };
    w->end += filled;
    return 0;
}

static uint8_t *section_at(const ZoneWriter *w, ZoneSection section)
{
    return w->out->base + w->section[section].offset;
}

static ZoneNodes nodes_of(const ZoneWriter *w)
{
    return (ZoneNodes) {
        .at = section_at(w, ZONE_NODES),
        .len = w->section[ZONE_NODES].len,
        .count = w->nodes,
    };
}

static void hash_again(ZoneWriter *w)
{
    const uint8_t *nodes = section_at(w, ZONE_NODES);

    for (uint64_t i = 0; i < w->nodes; i++) {
        uint32_t ref = w->names[i].ref;

        w->names[i] = zone_hashed(w->about.seed, nodes +
                                  ((uint64_t)(ref - 1) << ZONE_REF_SHIFT),
                                  ref);
    }
}

/* Try another seed first.  If that fails, more buckets help. */
static int fill_hash(ZoneWriter *w)
{
    uint8_t *hash = section_at(w, ZONE_HASH);
    int ret = -ENOSPC;

    for (unsigned try = 0; ret && try < SEEDS_MAX; try++) {
        memset(hash, 0, w->section[ZONE_HASH].len);
        if (try) {
            w->about.seed += try;
            hash_again(w);
        }
        ret = zone_hash_fill(w->names, w->nodes, hash, w->buckets);
    }
    return ret;
}

static int make_hash(ZoneWriter *w)
{
    uint64_t begin = w->end;
    int ret = -ENOSPC;

    for (w->buckets = zone_hash_buckets(w->nodes); ret == -ENOSPC;
         w->buckets += w->buckets / 8 + 1) {
        w->end = begin;
        ret = begin_section(w, ZONE_HASH, (uint64_t)w->buckets * ZONE_B_SIZE);
        ret = ret ? ret : fill_hash(w);
        if (!ret) {
            break;
        }
    }
    return ret;
}

static int make_indexes(ZoneWriter *w)
{
    uint64_t order = (w->nodes + ZONE_ORDER_EVERY - 1) / ZONE_ORDER_EVERY;
    ZoneNodes nodes = nodes_of(w);
    uint64_t hashed = w->flags & ZONE_HAS_NSEC3 ?
                      zone_nsec3_fill(&nodes, NULL) : 0;
    int ret = make_hash(w);

    ret = ret ? ret : begin_section(w, ZONE_ORDER, order * sizeof(uint32_t));
    ret = ret ? ret : begin_section(w, ZONE_NSEC3, hashed * sizeof(uint32_t));
    ret = ret ? ret : begin_section(w, ZONE_SUMS, (w->end / ZONE_PAGE - 1) *
                                    sizeof(uint32_t));
    if (ret) {
        return ret;
    }
    nodes = nodes_of(w);
    zone_order_fill(w->names, w->nodes, section_at(w, ZONE_ORDER));
    if (hashed) {
        zone_nsec3_fill(&nodes, section_at(w, ZONE_NSEC3));
    }
    return 0;
}

static void put_header(const ZoneWriter *w)
{
    uint8_t *h = w->out->base;
    const uint8_t *sums = section_at(w, ZONE_SUMS);

    memset(h, 0, ZONE_PAGE);
    memcpy(h, ZONE_MAGIC, ZONE_MAGIC_LEN);
    put_le32(h + ZONE_H_VERSION, ZONE_VERSION);
    put_le64(h + ZONE_H_FILE_LEN, w->end);
    put_le64(h + ZONE_H_IDENTITY, w->about.identity);
    put_le64(h + ZONE_H_MADE, w->about.made);
    put_le32(h + ZONE_H_SERIAL, w->serial);
    put_le16(h + ZONE_H_CLASS, w->about.rrclass);
    h[ZONE_H_LABELS] = w->labels_max;
    h[ZONE_H_ORIGIN_LEN] = w->about.origin.len;
    put_le64(h + ZONE_H_NODES, w->nodes);
    put_le64(h + ZONE_H_RRSETS, w->rrsets);
    put_le64(h + ZONE_H_RECORDS, w->records);
    put_le64(h + ZONE_H_SEED, w->about.seed);
    put_le32(h + ZONE_H_APEX, w->about.is_delta ? 0 : 1);
    put_le32(h + ZONE_H_FLAGS, w->flags |
             (w->about.is_delta ? ZONE_IS_DELTA : 0));
    put_le32(h + ZONE_H_BUCKETS, w->buckets);
    memcpy(h + ZONE_H_ORIGIN, w->about.origin.wire, w->about.origin.len);
    for (ZoneSection s = 0; s < ZONE_SECTIONS; s++) {
        uint8_t *entry = h + ZONE_H_SECTIONS + s * ZONE_S_SIZE;

        put_le64(entry + ZONE_S_OFFSET, w->section[s].offset);
        put_le64(entry + ZONE_S_LEN, w->section[s].len);
    }
    put_le32(h + ZONE_H_SECTIONS + ZONE_SUMS * ZONE_S_SIZE +
             ZONE_S_CHECKSUM, packet_crc32c(0, sums, w->end -
                                           w->section[ZONE_SUMS].offset));
    put_le32(h + ZONE_H_CHECKSUM, packet_crc32c(0, h, ZONE_PAGE));
}

/* The pages that one thread sums up */
typedef struct Pages {
    const ZoneWriter *w;
    uint64_t first;
    uint64_t end;               /* the first page behind them */
} Pages;

static void *sum_pages(void *opaque)
{
    const Pages *pages = opaque;
    uint8_t *sum = section_at(pages->w, ZONE_SUMS);

    for (uint64_t page = pages->first; page < pages->end; page++) {
        put_le32(sum + (page - 1) * sizeof(uint32_t),
                 packet_crc32c(0, pages->w->out->base + page * ZONE_PAGE,
                               ZONE_PAGE));
    }
    return NULL;
}

static unsigned threads_for(const ZoneWriter *w, uint64_t work)
{
    uint64_t threads = w->about.threads ? w->about.threads : 1;

    threads = threads > work ? work : threads;
    return threads > THREADS_MAX ? THREADS_MAX : threads;
}

static void put_sums(const ZoneWriter *w)
{
    uint64_t count = w->section[ZONE_SUMS].offset / ZONE_PAGE - 1;
    unsigned threads = threads_for(w, count);
    Pages parts[THREADS_MAX];

    for (unsigned i = 0; i < threads; i++) {
        parts[i] = (Pages) {
            w, 1 + count * i / threads, 1 + count * (i + 1) / threads,
        };
    }
    threads_run(sum_pages, parts, sizeof(*parts), threads);
}

/* --- names that records refer to ------------------------------------------ */

static bool has_addresses(const ZoneView *view, const DnsName *name,
                          ZoneNode *node)
{
    ZoneRrset rrset;

    return zone_find_exact(view, name->wire, name->len, node) &&
           (zone_rrset_find(node, DNS_TYPE_A, &rrset) ||
            zone_rrset_find(node, DNS_TYPE_AAAA, &rrset));
}

static void link_rrset(ZoneWriter *w, const ZoneView *view,
                       const ZoneNode *node, const ZoneRrset *rrset)
{
    for (unsigned i = 0; i < rrset->targets; i++) {
        ptrdiff_t at = rrset->targets_at + i * ZONE_T_SIZE - w->out->base;
        ZoneNode there;
        DnsName name;

        if (zone_rrset_name(node, rrset, zone_rrset_target(rrset, i).at,
                            &name) && has_addresses(view, &name, &there)) {
            put_le32(w->out->base + at + ZONE_T_REF, there.ref);
        }
    }
}

/* The nodes that one thread links */
typedef struct Part {
    ZoneWriter *w;
    const ZoneView *view;
    uint32_t ref;               /* of the first node */
    uint32_t end;               /* of the first node behind the part; 0: none */
} Part;

static uint64_t offset_of(const ZoneWriter *w, uint32_t ref)
{
    return ref ? ZONE_PAGE + ((uint64_t)(ref - 1) << ZONE_REF_SHIFT)
               : w->section[ZONE_HASH].offset;
}

/* Whole pages of nodes from @from on; returns the end of these. */
static uint64_t settle(const ZoneWriter *w, uint64_t from, uint64_t end)
{
    ZoneOut *out = w->out;

    from = zone_align_up(from, ZONE_PAGE);
    end &= ~(uint64_t)(ZONE_PAGE - 1);
    if (out->settled && end > from) {
        out->settled(out, from, end - from);
    }
    return end;
}

static void *link_part(void *opaque)
{
    const Part *part = opaque;
    uint64_t settled = offset_of(part->w, part->ref);
    ZoneCursor cursor;
    ZoneRrset rrset;
    ZoneNode node;

    for (uint32_t ref = part->ref; ref != part->end;
         ref = zone_node_next(&node)) {
        if (!zone_node_get(part->view->layer[0], ref, &node)) {
            break;
        }
        if (offset_of(part->w, ref) > settled + SETTLED_AT_ONCE) {
            settled = settle(part->w, settled, offset_of(part->w, ref));
        }
        zone_rrset_first(&node, &cursor);
        while (zone_rrset_next(&cursor, &rrset)) {
            link_rrset(part->w, part->view, &node, &rrset);
        }
    }
    settle(part->w, settled, offset_of(part->w, part->end));
    return NULL;
}

/* The first node of part @number of @count, by ORDER; 0 behind the last one */
static uint32_t part_begins(const ZoneWriter *w, unsigned number,
                            unsigned count)
{
    uint64_t entries = w->section[ZONE_ORDER].len / sizeof(uint32_t);

    return number == count ? 0 :
           get_le32(section_at(w, ZONE_ORDER) +
                    entries * number / count * sizeof(uint32_t));
}

/*
 * Each thread writes only to its own nodes, and there only to octets that no
 * other thread reads.
 */
static void link_parts(ZoneWriter *w, const ZoneView *view, unsigned count)
{
    Part parts[THREADS_MAX];

    for (unsigned i = 0; i < count; i++) {
        parts[i] = (Part) {
            w, view, part_begins(w, i, count), part_begins(w, i + 1, count),
        };
    }
    threads_run(link_part, parts, sizeof(*parts), count);
}

static int link_targets(ZoneWriter *w)
{
    uint64_t entries = w->section[ZONE_ORDER].len / sizeof(uint32_t);
    ZoneFault fault;
    ZoneImage *image = zone_image_open(w->out->base, w->end, &fault);
    ZoneView view = { .layers = 1, .layer = { image } };

    if (!image) {
        return -ENOMEM;
    }
    zone_image_trust(image);
    link_parts(w, &view, threads_for(w, entries));
    zone_image_free(image);
    return 0;
}

/* --- life ----------------------------------------------------------------- */

int zone_writer_finish(ZoneWriter *w, uint64_t *len)
{
    int ret;

    if (!w->has_soa && !w->about.is_delta) {
        return -EINVAL;
    }
    w->section[ZONE_NODES] = (ZoneSpan) { ZONE_PAGE, w->end - ZONE_PAGE };
    ret = zone_writer_room(w, ZONE_PAGE);
    if (ret) {
        return ret;
    }
    w->end = zone_align_up(w->end, ZONE_PAGE);
    ret = make_indexes(w);
    if (ret) {
        return ret;
    }
    put_header(w);
    ret = link_targets(w);
    if (ret) {
        return ret;
    }
    put_sums(w);
    put_header(w);
    *len = w->end;
    return 0;
}
