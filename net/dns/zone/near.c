/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NSEC or NSEC3 record that covers a name which the zone does not have
 *
 * Names are searched by bisection of ORDER, then from node to node.  Hashes are
 * distributed evenly, so the value of a hash gives its approximate place in
 * NSEC3, and a few steps find it.  If a file has other hashes, bisection finds
 * it.
 */
#include "base/octets.h"
#include "net/dns/zone/fold.h"
#include "net/dns/zone/near.h"

#define REF_LEN         4
#define GUESSES         12      /* then bisection: at most 32 steps more */
#define RR_HEAD         12
#define SHA1            1       /* RFC 5155 section 11 */

/* The first characters of a hash as a number, 5 bits each */
#define PREFIX_CHARS    12
#define PREFIX_BITS     (5 * PREFIX_CHARS)

/* --- names ---------------------------------------------------------------- */

static int compare_labels(const uint8_t *a, const uint8_t *folded)
{
    unsigned len = *a < *folded ? *a : *folded;

    for (unsigned i = 1; i <= len; i++) {
        int differ = zone_lower(a[i]) - folded[i];

        if (differ) {
            return differ;
        }
    }
    return *a - *folded;
}

/* RFC 4034 section 6.1; the last @same labels are known to be equal. */
static int compare(const ZoneNode *node, const ZoneKey *key, unsigned same)
{
    uint8_t start[DNS_LABELS_MAX + 1];
    unsigned least = node->labels < key->labels ? node->labels : key->labels;
    unsigned at = 0;

    for (unsigned i = 0; i < node->labels; i++) {
        start[i] = at;
        at += 1 + node->name[at];
    }
    for (unsigned n = same + 1; n <= least; n++) {
        int differ = compare_labels(node->name + start[node->labels - n],
                                    key->wire + key->start[key->labels - n]);

        if (differ) {
            return differ;
        }
    }
    return node->labels - key->labels;
}

static bool node_of(ZoneImage *image, ZoneSection section, uint64_t index,
                    ZoneNode *node)
{
    const uint8_t *ref = zone_image_get(image, section, index * REF_LEN,
                                        REF_LEN);

    return ref && zone_node_get(image, get_le32(ref), node);
}

/* The end of a search: a name, which is included or not */
typedef struct UpTo {
    ZoneKey key;
    bool with_it;
} UpTo;

static bool is_up_to(const ZoneNode *node, const UpTo *to)
{
    int differ = compare(node, &to->key, node->image->origin.labels);

    return differ < 0 || (differ == 0 && to->with_it);
}

/* Walk from an entry of ORDER to the last node before the next entry. */
static bool walk_up_to(const UpTo *to, ZoneNode *node)
{
    for (unsigned i = 1; i < ZONE_ORDER_EVERY; i++) {
        uint32_t ref = zone_node_next(node);
        ZoneNode next;

        if (!ref) {
            break;
        }
        if (!zone_node_get(node->image, ref, &next)) {
            return false;
        }
        if (!is_up_to(&next, to)) {
            break;
        }
        *node = next;
    }
    return true;
}

static bool last_in_image(ZoneImage *image, const UpTo *to, ZoneNode *node)
{
    uint64_t low = 0, high = image->section[ZONE_ORDER].len / REF_LEN;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!node_of(image, ZONE_ORDER, middle, node)) {
            return false;
        }
        if (is_up_to(node, to)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low && node_of(image, ZONE_ORDER, low - 1, node) &&
           walk_up_to(to, node);
}

static void key_of(const ZoneNode *node, ZoneKey *key)
{
    /* zone_node_get() has checked that it is a name. */
    zone_key_read(key, node->name, node->name_len);
}

/* If two layers have the same name, the node of the younger layer is valid. */
static bool last_in_view(const ZoneView *view, const UpTo *to, ZoneNode *node)
{
    bool is_there = false;
    ZoneKey best;

    for (unsigned i = 0; i < view->layers; i++) {
        ZoneNode other;

        if (last_in_image(view->layer[i], to, &other) &&
            (!is_there || compare(&other, &best, 0) > 0)) {
            *node = other;
            is_there = true;
            if (i + 1 < view->layers) {
                key_of(node, &best);
            }
        }
    }
    return is_there;
}

/*
 * Step back to a name with NSEC.  A name without NSEC is an empty non-terminal,
 * and a row of these is at most as long as a name has labels; or it is below a
 * delegation, whose NSEC covers all names there.
 */
static bool has_nsec(const ZoneView *view, ZoneNode *node)
{
    ZoneFound found;
    ZoneKey key;

    if (node->flags & (ZONE_NODE_GONE | ZONE_NODE_NSEC)) {
        return !(node->flags & ZONE_NODE_GONE);
    }
    key_of(node, &key);
    if (zone_find_key(view, &key, &found) != ZONE_FIND_CUT) {
        return false;
    }
    *node = found.node;
    return node->flags & ZONE_NODE_NSEC;
}

bool zone_nsec_before(const ZoneView *view, const ZoneKey *key,
                      ZoneNode *node)
{
    UpTo to;

    to.key = *key;
    to.with_it = true;
    for (unsigned i = 0; i < ZONE_NEAR_STEPS; i++) {
        if (!last_in_view(view, &to, node)) {
            return false;
        }
        if (has_nsec(view, node)) {
            return true;
        }
        key_of(node, &to.key);
        to.with_it = false;
    }
    return false;
}

/* --- hashes --------------------------------------------------------------- */

bool zone_nsec3_param(const ZoneNode *apex, ZoneNsec3 *param)
{
    ZoneRrset rrset;
    uint32_t at = 0;

    if (!zone_rrset_find(apex, DNS_TYPE_NSEC3PARAM, &rrset)) {
        return false;
    }
    while (rrset.len - at >= RR_HEAD + 5) {
        const uint8_t *rdata = rrset.at + at + RR_HEAD;
        uint16_t rdlength = get_be16(rdata - 2);

        if (rrset.len - at - RR_HEAD < rdlength || rdlength < 5 ||
            rdlength - 5 < rdata[4]) {
            break;
        }
        if (rdata[0] == SHA1 && !rdata[1]) {
            *param = (ZoneNsec3) {
                get_be16(rdata + 2), rdata[4], rdata + 5,
            };
            return true;
        }
        at += RR_HEAD + rdlength;
    }
    return false;
}

/* A search for a hash, which is the first label of an owner, and its end */
typedef struct UpToHash {
    uint8_t text[ZONE_HASH_TEXT_LEN];
    bool with_it;
} UpToHash;

static void text_of(const uint8_t hash[ZONE_HASH_LEN], uint8_t *text)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
    unsigned bits = 0, value = 0;

    for (unsigned i = 0; i < ZONE_HASH_LEN; i++) {
        value = value << 8 | hash[i];
        for (bits += 8; bits >= 5; bits -= 5) {
            *text++ = digits[value >> (bits - 5) & 31];
        }
    }
}

static uint64_t prefix_of(const uint8_t *text)
{
    uint64_t prefix = 0;

    for (unsigned i = 0; i < PREFIX_CHARS; i++) {
        uint8_t c = zone_lower(text[i]);

        prefix = prefix << 5 | (((c <= '9' ? c - '0' : c - 'a' + 10)) & 31);
    }
    return prefix;
}

/* Get the node of an entry of NSEC3: its name begins with a hash. */
static bool hash_node_of(ZoneImage *image, uint64_t index, ZoneNode *node)
{
    if (!node_of(image, ZONE_NSEC3, index, node)) {
        return false;
    }
    if (node->name[0] != ZONE_HASH_TEXT_LEN) {
        zone_image_fail(image);
        return false;
    }
    return true;
}

static int compare_text(const ZoneNode *node, const uint8_t *text)
{
    for (unsigned i = 0; i < ZONE_HASH_TEXT_LEN; i++) {
        int differ = zone_lower(node->name[1 + i]) - text[i];

        if (differ) {
            return differ;
        }
    }
    return 0;
}

/* A range of a sorted list, and the prefixes of the hashes at its ends */
typedef struct Range {
    uint64_t low, high;         /* entries; high is behind the last one */
    uint64_t from, to;          /* prefixes */
} Range;

static uint64_t guess(const Range *r, uint64_t prefix)
{
    double part;
    uint64_t at;

    if (prefix <= r->from) {
        return r->low;
    }
    if (prefix >= r->to) {
        return r->high - 1;
    }
    part = (double)(prefix - r->from) / (double)(r->to - r->from);
    at = r->low + (uint64_t)(part * (double)(r->high - r->low));
    return at < r->high ? at : r->high - 1;
}

static bool last_hash_in_image(ZoneImage *image, const UpToHash *to,
                               ZoneNode *node)
{
    Range r = {
        0, image->section[ZONE_NSEC3].len / REF_LEN,
        0, UINT64_C(1) << PREFIX_BITS,
    };
    uint64_t prefix = prefix_of(to->text);

    for (unsigned i = 0; r.low < r.high; i++) {
        uint64_t at = i < GUESSES ? guess(&r, prefix)
                                  : r.low + (r.high - r.low) / 2;
        int differ;

        if (!hash_node_of(image, at, node)) {
            return false;
        }
        differ = compare_text(node, to->text);
        if (differ < 0 || (differ == 0 && to->with_it)) {
            r.low = at + 1;
            r.from = prefix_of(node->name + 1);
        } else {
            r.high = at;
            r.to = prefix_of(node->name + 1);
        }
    }
    return r.low && hash_node_of(image, r.low - 1, node);
}

static bool last_hash_in_view(const ZoneView *view, const UpToHash *to,
                              ZoneNode *node)
{
    uint8_t best[ZONE_HASH_TEXT_LEN];
    bool is_there = false;

    for (unsigned i = 0; i < view->layers; i++) {
        ZoneNode other;

        if (last_hash_in_image(view->layer[i], to, &other) &&
            (!is_there || compare_text(&other, best) > 0)) {
            *node = other;
            is_there = true;
            zone_fold(best, node->name + 1, sizeof(best));
        }
    }
    return is_there;
}

/* Does the view still have this node, in the chain with these parameters? */
static bool is_of_chain(const ZoneView *view, const ZoneNsec3 *param,
                        ZoneNode *node)
{
    const uint8_t *rdata;
    ZoneRrset rrset;

    if (view->layers > 1 &&
        !zone_find_exact(view, node->name, node->name_len, node)) {
        return false;
    }
    if (!zone_rrset_find(node, DNS_TYPE_NSEC3, &rrset) ||
        rrset.len < (uint32_t)RR_HEAD + 5 + param->salt_len) {
        return false;
    }
    rdata = rrset.at + RR_HEAD;
    return rdata[0] == SHA1 &&
           get_be16(rdata + 2) == param->iterations &&
           rdata[4] == param->salt_len &&
           !memcmp(rdata + 5, param->salt, param->salt_len);
}

bool zone_nsec3_before(const ZoneView *view, const ZoneNsec3 *param,
                       const uint8_t hash[ZONE_HASH_LEN], ZoneNode *node,
                       bool *is_match)
{
    UpToHash to = { .with_it = true };
    bool is_round = false;

    text_of(hash, to.text);
    for (unsigned i = 0; i < ZONE_NEAR_STEPS; i++) {
        if (!last_hash_in_view(view, &to, node)) {
            if (is_round) {
                return false;
            }
            is_round = true;
            memset(to.text, 'v', sizeof(to.text));
            to.with_it = true;
            continue;
        }
        if (is_of_chain(view, param, node)) {
            *is_match = !is_round && i == 0 && !compare_text(node, to.text);
            return true;
        }
        zone_fold(to.text, node->name + 1, sizeof(to.text));
        to.with_it = false;
    }
    return false;
}
