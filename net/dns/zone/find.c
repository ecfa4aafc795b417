/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find a name in a zone
 *
 * Theory of operation
 *
 * A look-up walks from the origin downwards: to each ancestor of the name, then
 * to the name itself.  Empty non-terminals are nodes, so the walk ends at the
 * first ancestor that is missing, and the last node found is the closest
 * encloser.  The walk also ends at a delegation or a DNAME.  So the cost is
 * bounded by the depth of the zone, however many labels the name has.
 *
 * One step is a hash and a bucket, which is one cache line.  Tags of 16 bits
 * tell which nodes of the bucket may match.  Deltas are searched first, unless
 * the filter of the view excludes the name.
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

/* One bit for each way.  There are no branches, as a name may be in any way. */
static unsigned ways_of(const uint8_t *bucket, uint16_t tag)
{
    unsigned ways = 0;

    for (unsigned way = 0; way < ZONE_B_WAYS; way++) {
        ways |= (get_le16(bucket + ZONE_B_TAGS + way * 2) == tag) << way;
    }
    return ways;
}

static bool look_into_bucket(ZoneImage *image, const uint8_t *bucket,
                             uint16_t tag, const uint8_t *folded, size_t len,
                             ZoneNode *node)
{
    for (unsigned ways = ways_of(bucket, tag); ways; ways &= ways - 1) {
        unsigned way = __builtin_ctz(ways);
        uint32_t ref = get_le32(bucket + ZONE_B_REFS + way * 4);

        zone_node_expect(image, ref);
        if (ref && zone_node_get(image, ref, node) &&
            node->name_len == len && zone_same(node->name, folded, len)) {
            return true;
        }
    }
    return false;
}

static uint64_t bucket_of(const ZoneImage *image, uint64_t hash)
{
    return (hash >> 32) * image->buckets >> 32;
}

static bool look_into_image(ZoneImage *image, uint64_t hash,
                            const uint8_t *folded, size_t len, ZoneNode *node)
{
    uint64_t at = bucket_of(image, hash);

    for (unsigned step = 0; step <= ZONE_B_REACH; step++) {
        const uint8_t *bucket = zone_image_get(image, ZONE_HASH,
                                               at * ZONE_B_SIZE, ZONE_B_SIZE);

        if (!bucket) {
            return false;
        }
        if (look_into_bucket(image, bucket, hash, folded, len, node)) {
            return true;
        }
        if (!get_le16(bucket + ZONE_B_SPILLS)) {
            return false;
        }
        at = at + 1 < image->buckets ? at + 1 : 0;
    }
    return false;
}

/* --- all layers ----------------------------------------------------------- */

/*
 * The first layer to search: the image, if no delta has the name.  The filter
 * costs one cache line; the bucket of the image is fetched meanwhile.
 */
static unsigned first_of(const ZoneView *view, uint64_t hash)
{
    unsigned last = view->layers - 1;
    const ZoneImage *image = view->layer[last];

    __builtin_prefetch(image->file + image->section[ZONE_HASH].offset +
                       bucket_of(image, hash) * ZONE_B_SIZE);
    return zone_filter_has(view->filter, hash) ? 0 : last;
}

/* A delta that was made with the key of the image shares its hash. */
static bool look(const ZoneView *view, const uint8_t *folded, size_t len,
                 ZoneNode *node)
{
    const uint64_t *key = NULL;
    uint64_t hash = 0;
    unsigned first = 0;

    if (view->filter) {
        key = view->filter->key;
        hash = siphash_1_3(key, folded, len);
        first = first_of(view, hash);
    }
    for (unsigned i = first; i < view->layers; i++) {
        ZoneImage *image = view->layer[i];

        if (!key || key[0] != image->key[0]) {
            key = image->key;
            hash = siphash_1_3(key, folded, len);
        }
        if (look_into_image(image, hash, folded, len, node)) {
            return !(node->flags & ZONE_NODE_GONE);
        }
    }
    return false;
}

/* The apex of a delta is its first node, if it is in the delta. */
static bool has_apex(ZoneImage *image, ZoneNode *node)
{
    return image->nodes && zone_node_get(image, 1, node) &&
           node->name_len == image->origin.len;
}

/* The header of the image has the reference of the apex. */
bool zone_find_apex(const ZoneView *view, ZoneNode *node)
{
    unsigned last = view->layers - 1;
    ZoneImage *image = view->layer[last];

    for (unsigned i = 0; i < last; i++) {
        if (has_apex(view->layer[i], node)) {
            return true;
        }
    }
    if (!zone_node_get(image, image->apex, node)) {
        return false;
    }
    if (node->name_len != image->origin.len) {
        zone_image_fail(image);
        return false;
    }
    return true;
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
    /* The fence puts earlier loads before the flags (dnsd's fault.c). */
    atomic_thread_fence(memory_order_acquire);
    for (unsigned i = 0; i < view->layers; i++) {
        if (atomic_load_explicit(&view->layer[i]->failed,
                                 memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Look for "*" below the closest encloser, RFC 4592 section 3.3.1. */
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

bool zone_key_read(ZoneKey *key, const uint8_t *wire, size_t len)
{
    unsigned at = 0;

    len = len < DNS_NAME_MAX ? len : DNS_NAME_MAX;
    for (key->labels = 0; at < len; key->labels++) {
        key->start[key->labels] = at;
        if (wire[at] > DNS_LABEL_MAX) {
            return false;
        }
        if (!wire[at]) {
            key->len = at + 1;
            zone_fold(key->wire, wire, key->len);
            return true;
        }
        at += 1 + wire[at];
    }
    return false;
}

/* The result at a node where the walk stops: the name, or a cut */
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

/* RFC 5155 section 7.2.8: a node with only NSEC3 is not a name of the zone. */
static bool is_only_a_hash(const ZoneNode *node)
{
    return node->flags & ZONE_NODE_NSEC3 && node->rrsets == 1;
}

/*
 * Walk from the origin, which has @above labels less than the name, downwards.
 */
static ZoneFind walk_down(const ZoneView *view, const ZoneKey *key,
                          unsigned above, ZoneFound *found)
{
    for (unsigned i = above + 1; i-- > 0;) {
        const uint8_t *suffix = key->wire + key->start[i];
        bool is_there = i == above ?
                        zone_find_apex(view, &found->node) :
                        look(view, suffix, key->len - key->start[i],
                             &found->node);
        ZoneFind stop;

        if (!is_there || is_only_a_hash(&found->node)) {
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

ZoneFind zone_find_key(const ZoneView *view, const ZoneKey *key,
                       ZoneFound *found)
{
    const DnsName *origin = &view->layer[view->layers - 1]->origin;
    ZoneFind result;

    found->encloser.name = NULL;
    found->encloser.name_len = 0;
    found->encloser.flags = 0;
    result = walk_down(view, key, key->labels - origin->labels, found);
    return zone_view_failed(view) || !found->encloser.name
           ? ZONE_FIND_FAILED : result;
}

ZoneFind zone_find(const ZoneView *view, const DnsName *name,
                   ZoneFound *found)
{
    ZoneKey key;

    if (!dns_name_within(name, &view->layer[view->layers - 1]->origin) ||
        !zone_key_read(&key, name->wire, name->len)) {
        return ZONE_FIND_OUTSIDE;
    }
    return zone_find_key(view, &key, found);
}
