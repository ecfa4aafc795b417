/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verification of an image against docs/dns-image.md
 *
 * Theory of operation
 *
 * One walk visits the nodes in their order and compares each with the one
 * before it.  When the walk leaves a parent, it knows all its children and
 * checks what the parent says of them.  The walk compares ORDER and NSEC3 with
 * the nodes, and looks up each name.  If all names are found, and HASH has no
 * more references than there are nodes, HASH is right.  A second walk checks
 * the records.
 */
#include "net/dns/zone/verify-internal.h"
#include "net/dns/zone/verify.h"

#define REF_LEN     4

static bool header_fault(ZoneVerify *v, const char *what, uint64_t offset)
{
    *v->fault = (ZoneFault) { what, "header", offset };
    return false;
}

static bool is_zero(const uint8_t *at, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++) {
        if (at[i]) {
            return false;
        }
    }
    return true;
}

/* --- octets outside of the nodes ------------------------------------------ */

static bool check_unused(ZoneVerify *v)
{
    const ZoneImage *image = v->image;
    uint64_t end = ZONE_H_SECTIONS + ZONE_SECTIONS * ZONE_S_SIZE;

    if (!is_zero(image->file + ZONE_H_BUCKETS + 4, 4)) {
        return header_fault(v, "the reserved octets are not 0",
                            ZONE_H_BUCKETS + 4);
    }
    if (!is_zero(image->file + ZONE_H_ORIGIN + image->origin.len,
                 ZONE_H_SECTIONS - ZONE_H_ORIGIN - image->origin.len)) {
        return header_fault(v, "the octets behind the origin are not 0",
                            ZONE_H_ORIGIN + image->origin.len);
    }
    if (!is_zero(image->file + end, ZONE_PAGE - end)) {
        return header_fault(v, "the rest of the page is not 0", end);
    }
    for (ZoneSection s = 0; s < ZONE_SECTIONS; s++) {
        uint64_t next = s + 1 < ZONE_SECTIONS ? image->section[s + 1].offset
                                              : image->len;
        uint64_t used = image->section[s].offset + image->section[s].len;

        if (!is_zero(image->file + used, next - used)) {
            return zone_verify_fault(v, "the padding of the last page is not "
                                     "0", s, image->section[s].len);
        }
    }
    return true;
}

/* --- order ---------------------------------------------------------------- */

static DnsName name_of(const ZoneNode *node)
{
    DnsName name = { .len = node->name_len, .labels = node->labels };

    memcpy(name.wire, node->name, node->name_len);
    return name;
}

static bool check_place(ZoneVerify *v, const ZoneNode *node,
                        const DnsName *name, uint64_t at)
{
    bool is_delta = v->image->flags & ZONE_IS_DELTA;
    unsigned common = 0;

    if (!dns_name_within(name, &v->image->origin)) {
        return zone_verify_fault(v, "the node's name is not within the origin",
                                 ZONE_NODES, at);
    }
    if (!v->nodes) {
        return is_delta || dns_name_equal(name, &v->image->origin) ? true :
               zone_verify_fault(v, "the first node is not the origin's",
                                 ZONE_NODES, at);
    }
    if (zone_name_compare(name, &v->last, &common) <= 0) {
        return zone_verify_fault(v, "the node's name does not come behind the "
                                 "one before", ZONE_NODES, at);
    }
    if (!is_delta && common + 1 < name->labels) {
        return zone_verify_fault(v, "the node's name has no parent",
                                 ZONE_NODES, at);
    }
    return true;
}

/* The parent's flag must be set if, and only if, it has a child "*". */
static bool check_wildcards(ZoneVerify *v, unsigned above)
{
    if (v->image->flags & ZONE_IS_DELTA) {
        return true;
    }
    for (unsigned i = above; i <= v->last.labels; i++) {
        if (v->says_wildcard[i] != v->has_wildcard[i]) {
            return zone_verify_fault(v, v->says_wildcard[i] ?
                                     "the node has the flag for a child '*', "
                                     "but no such child" :
                                     "the node has a child '*', but not the "
                                     "flag for it", ZONE_NODES, v->at[i]);
        }
    }
    return true;
}

static bool enter(ZoneVerify *v, const ZoneNode *node, const DnsName *name,
                  uint64_t at)
{
    bool is_wildcard = name->wire[0] == 1 && name->wire[1] == '*';

    if (v->nodes && !check_wildcards(v, name->labels)) {
        return false;
    }
    v->at[name->labels] = at;
    v->says_wildcard[name->labels] = node->flags & ZONE_NODE_WILDCARD;
    v->has_wildcard[name->labels] = false;
    if (is_wildcard && name->labels > v->image->origin.labels) {
        v->has_wildcard[name->labels - 1] = true;
    }
    v->last = *name;
    return true;
}

/* --- indexes -------------------------------------------------------------- */

static bool check_order(ZoneVerify *v, uint32_t ref)
{
    uint64_t at = v->nodes / ZONE_ORDER_EVERY * REF_LEN;
    const uint8_t *entry;

    if (v->nodes % ZONE_ORDER_EVERY) {
        return true;
    }
    if (at >= v->image->section[ZONE_ORDER].len) {
        return zone_verify_fault(v, "it ends before the nodes do", ZONE_ORDER,
                                 at);
    }
    entry = zone_image_get(v->image, ZONE_ORDER, at, REF_LEN);
    return entry && get_le32(entry) == ref ? true :
           zone_verify_fault(v, "the reference is not that of the 16th node "
                             "behind the one before", ZONE_ORDER, at);
}

static bool check_nsec3(ZoneVerify *v, const ZoneNode *node)
{
    uint64_t at = v->nsec3 * REF_LEN;
    const uint8_t *entry;

    if (!(node->flags & ZONE_NODE_NSEC3)) {
        return true;
    }
    v->nsec3++;
    if (at >= v->image->section[ZONE_NSEC3].len) {
        return zone_verify_fault(v, "it ends before the NSEC3 records do",
                                 ZONE_NSEC3, at);
    }
    entry = zone_image_get(v->image, ZONE_NSEC3, at, REF_LEN);
    return entry && get_le32(entry) == node->ref ? true :
           zone_verify_fault(v, "the reference is not that of the next NSEC3 "
                             "record", ZONE_NSEC3, at);
}

static bool check_lookup(ZoneVerify *v, const ZoneNode *node, uint64_t at)
{
    ZoneNode found;

    if (node->flags & ZONE_NODE_GONE) {
        return true;
    }
    return zone_find_exact(&v->view, node->name, node->name_len, &found) &&
           found.ref == node->ref ? true :
           zone_verify_fault(v, "the node is not found by its name",
                             ZONE_NODES, at);
}

static bool check_buckets(ZoneVerify *v)
{
    uint64_t refs = 0;

    for (uint64_t i = 0; i < v->image->buckets; i++) {
        const uint8_t *bucket = zone_image_get(v->image, ZONE_HASH,
                                               i * ZONE_B_SIZE, ZONE_B_SIZE);

        if (!bucket) {
            return zone_verify_fault(v, "the bucket cannot be read", ZONE_HASH,
                                     i * ZONE_B_SIZE);
        }
        for (unsigned way = 0; way < ZONE_B_WAYS; way++) {
            refs += get_le32(bucket + ZONE_B_REFS + way * REF_LEN) != 0;
        }
        if (get_le16(bucket + ZONE_B_SPILLS) > 1 ||
            get_le16(bucket + ZONE_B_SPILLS + 2)) {
            return zone_verify_fault(v, "the end of the bucket is neither 0 "
                                     "nor 1", ZONE_HASH, i * ZONE_B_SIZE +
                                     ZONE_B_SPILLS);
        }
    }
    return refs == v->nodes ? true :
           zone_verify_fault(v, "there are not as many references as nodes",
                             ZONE_HASH, 0);
}

/* --- the image ------------------------------------------------------------ */

static bool check_node(ZoneVerify *v, const ZoneNode *node)
{
    uint64_t at = (uint64_t)(node->ref - 1) << ZONE_REF_SHIFT;
    DnsName name = name_of(node);
    unsigned below = name.labels - v->image->origin.labels;

    if (!check_place(v, node, &name, at) || !enter(v, node, &name, at) ||
        !check_order(v, node->ref) || !check_nsec3(v, node) ||
        !check_lookup(v, node, at)) {
        return false;
    }
    v->labels_max = below > v->labels_max ? below : v->labels_max;
    v->nodes++;
    return true;
}

static bool check_nodes(ZoneVerify *v)
{
    uint64_t len = v->image->section[ZONE_NODES].len;
    ZoneNode node;

    for (uint64_t at = 0; at < len; at += node.len) {
        if (!zone_node_get(v->image, (at >> ZONE_REF_SHIFT) + 1, &node) ||
            !node.len) {
            return zone_verify_fault(v, "there is no node, where the one "
                                     "before ends", ZONE_NODES, at);
        }
        if (!check_node(v, &node)) {
            return false;
        }
    }
    return !v->nodes || check_wildcards(v, v->image->origin.labels);
}

/* Records refer to other nodes, so all nodes are checked before. */
static bool check_records(ZoneVerify *v)
{
    ZoneNode node;

    for (uint32_t ref = v->nodes ? 1 : 0; ref; ref = zone_node_next(&node)) {
        if (!zone_node_get(v->image, ref, &node) ||
            !zone_verify_records(v, &node,
                                 (uint64_t)(ref - 1) << ZONE_REF_SHIFT)) {
            return false;
        }
    }
    return true;
}

static bool check_numbers(ZoneVerify *v)
{
    const ZoneImage *image = v->image;
    uint32_t apex = image->flags & ZONE_IS_DELTA ? 0 : 1;
    const struct {
        bool is_right;
        uint64_t at;
        const char *what;
    } numbers[] = {
        { v->nodes == image->nodes, ZONE_H_NODES,
          "the number of nodes is wrong" },
        { v->rrsets == image->rrsets, ZONE_H_RRSETS,
          "the number of RRsets is wrong" },
        { v->records == image->records, ZONE_H_RECORDS,
          "the number of records is wrong" },
        { v->labels_max == image->labels_max, ZONE_H_LABELS,
          "the number of labels of the longest name is wrong" },
        { image->apex == apex, ZONE_H_APEX,
          "the reference of the apex is not that of the first node" },
        { (v->flags | (image->flags & ZONE_IS_DELTA)) == image->flags,
          ZONE_H_FLAGS, "the flags are not those of the nodes" },
        { v->has_soa || !apex, ZONE_H_SERIAL, "the zone has no SOA record" },
        { !v->has_soa || v->serial == image->serial, ZONE_H_SERIAL,
          "the serial is not that of the SOA record" },
    };

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (!numbers[i].is_right) {
            return header_fault(v, numbers[i].what, numbers[i].at);
        }
    }
    if (v->nsec3 * REF_LEN != image->section[ZONE_NSEC3].len) {
        return zone_verify_fault(v, "there are more references than NSEC3 "
                                 "records", ZONE_NSEC3, v->nsec3 * REF_LEN);
    }
    return true;
}

bool zone_image_verify(ZoneImage *image, ZoneFault *fault)
{
    ZoneVerify v = {
        .image = image,
        .view = { .layers = 1, .layer = { image } },
        .fault = fault,
    };

    return zone_image_check_pages(image, fault) && check_unused(&v) &&
           check_nodes(&v) && check_records(&v) && check_numbers(&v) &&
           check_buckets(&v);
}
