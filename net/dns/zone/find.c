/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding a name in a zone
 *
 * Theory of operation
 * ===================
 *
 * Names are looked up from the origin downwards: each ancestor of the name,
 * then the name itself.  Empty non-terminals are nodes, so the first one that
 * is missing ends the walk: what was found last is the closest encloser.  A
 * delegation or a DNAME on the way ends it, too.  A name with many labels so
 * costs no more than the zone is deep.
 *
 * One step is a hash and a bucket, which is a line of cache; a tag of 16 bits
 * says which of its nodes are worth a look.  Deltas are asked first, each with
 * the hash under its own key.
 */
#include "net/dns/zone/find.h"
#include "net/dns/zone/fold.h"
#include "net/packet/siphash.h"

uint64_t zone_name_hash(const uint64_t key[2], const uint8_t *name,
                        size_t len)
{
    uint8_t folded[DNS_NAME_MAX];

    zone_fold(folded, name, len);
    return siphash_1_3(key, folded, len);
}

/* --- one image ------------------------------------------------------------ */

static bool look_into_bucket(ZoneImage *image, const uint8_t *bucket,
                             uint16_t tag, const uint8_t *folded, size_t len,
                             ZoneNode *node)
{
    for (unsigned way = 0; way < ZONE_B_WAYS; way++) {
        uint32_t ref = zone_get32(bucket + ZONE_B_REFS + way * 4);

        if (!ref) {
            return false;
        }
        if (zone_get16(bucket + ZONE_B_TAGS + way * 2) == tag &&
            zone_node_get(image, ref, node) && node->name_len == len &&
            zone_same(node->name, folded, len)) {
            return true;
        }
    }
    return false;
}

static bool look_into_image(ZoneImage *image, const uint8_t *folded,
                            size_t len, ZoneNode *node)
{
    uint64_t hash = siphash_1_3(image->key, folded, len);
    uint64_t at = (hash >> 32) * image->buckets >> 32;

    for (unsigned step = 0; step <= ZONE_B_REACH; step++) {
        const uint8_t *bucket = zone_image_get(image, ZONE_HASH,
                                               at * ZONE_B_SIZE, ZONE_B_SIZE);

        if (!bucket) {
            return false;
        }
        if (look_into_bucket(image, bucket, hash, folded, len, node)) {
            return true;
        }
        if (!zone_get16(bucket + ZONE_B_SPILLS)) {
            return false;
        }
        at = at + 1 < image->buckets ? at + 1 : 0;
    }
    return false;
}

/* --- all layers ----------------------------------------------------------- */

static bool look(const ZoneView *view, const uint8_t *folded, size_t len,
                 ZoneNode *node)
{
    for (unsigned i = 0; i < view->layers; i++) {
        if (look_into_image(view->layer[i], folded, len, node)) {
            return !(node->flags & ZONE_NODE_GONE);
        }
    }
    return false;
}

bool zone_find_exact(const ZoneView *view, const uint8_t *name, size_t len,
                     ZoneNode *node)
{
    uint8_t folded[DNS_NAME_MAX];

    zone_fold(folded, name, len);
    return look(view, folded, len, node);
}

bool zone_view_failed(const ZoneView *view)
{
    for (unsigned i = 0; i < view->layers; i++) {
        if (atomic_load_explicit(&view->layer[i]->failed,
                                 memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* "*" below the closest encloser, RFC 4592 section 3.3.1. */
static bool look_for_wildcard(const ZoneView *view, ZoneFound *found)
{
    const ZoneNode *encloser = &found->encloser;
    uint8_t name[2 + DNS_NAME_MAX] = { 1, '*' };

    if (!(encloser->flags & ZONE_NODE_WILDCARD) ||
        encloser->name_len > DNS_NAME_MAX - 2) {
        return false;
    }
    zone_fold(name + 2, encloser->name, encloser->name_len);
    return look(view, name, 2 + encloser->name_len, &found->node);
}

/* Offsets of the suffixes of @name, the longest first. */
static void find_suffixes(const DnsName *name, uint8_t start[])
{
    unsigned at = 0;

    for (unsigned i = 0; i < name->labels; i++) {
        start[i] = at;
        at += 1 + name->wire[at];
    }
    start[name->labels] = at;
}

/* The name is there, or the walk has come to the end of the zone's own. */
static ZoneFind stop_at(const ZoneNode *node, bool is_last)
{
    if (node->flags & ZONE_NODE_CUT) {
        return ZONE_FIND_CUT;
    }
    if (is_last) {
        return ZONE_FIND_EXACT;
    }
    return node->flags & ZONE_NODE_DNAME ? ZONE_FIND_DNAME : ZONE_FIND_NONE;
}

static ZoneFind walk_down(const ZoneView *view, const DnsName *name,
                          unsigned above, ZoneFound *found)
{
    uint8_t folded[DNS_NAME_MAX];
    uint8_t start[DNS_LABELS_MAX + 1];

    zone_fold(folded, name->wire, name->len);
    find_suffixes(name, start);
    for (unsigned i = above + 1; i-- > 0;) {
        const uint8_t *suffix = folded + start[i];
        ZoneFind stop;

        if (!look(view, suffix, name->len - start[i], &found->node) ||
            found->node.flags & ZONE_NODE_NSEC3) {
            return look_for_wildcard(view, found) ? ZONE_FIND_WILDCARD
                                                  : ZONE_FIND_NONE;
        }
        found->encloser = found->node;
        stop = stop_at(&found->node, i == 0);
        if (stop != ZONE_FIND_NONE) {
            return stop;
        }
    }
    return ZONE_FIND_NONE;
}

ZoneFind zone_find(const ZoneView *view, const DnsName *name,
                   ZoneFound *found)
{
    const DnsName *origin = &view->layer[view->layers - 1]->origin;
    ZoneFind result;

    if (!dns_name_within(name, origin)) {
        return ZONE_FIND_OUTSIDE;
    }
    memset(found, 0, sizeof(*found));
    result = walk_down(view, name, name->labels - origin->labels, found);
    return zone_view_failed(view) || !found->encloser.name
           ? ZONE_FIND_FAILED : result;
}
