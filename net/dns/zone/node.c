/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of a zone image, read with bounds checked */
#include "net/dns/zone/node.h"

static uint32_t align_up(uint32_t len, uint32_t to)
{
    return (len + to - 1) & ~(to - 1);
}

static bool refuse(ZoneImage *image)
{
    zone_image_fail(image);
    return false;
}

/* The labels of a wire name of exactly @len octets, without the root; or -1 */
static int count_labels(const uint8_t *name, size_t len)
{
    size_t at = 0;
    int labels = 0;

    while (at < len && name[at]) {
        if (name[at] > DNS_LABEL_MAX) {
            return -1;
        }
        at += 1 + name[at];
        labels++;
    }
    return at + 1 == len ? labels : -1;
}

bool zone_node_get(ZoneImage *image, uint32_t ref, ZoneNode *node)
{
    uint64_t offset = (uint64_t)(ref - 1) << ZONE_REF_SHIFT;
    const uint8_t *at = ref ? zone_image_get(image, ZONE_NODES, offset,
                                             ZONE_N_NAME) : NULL;

    if (!at) {
        return refuse(image);
    }
    *node = (ZoneNode) {
        .image = image,
        .ref = ref,
        .len = get_le32(at + ZONE_N_LEN),
        .at = at,
        .name = at + ZONE_N_NAME,
        .name_len = at[ZONE_N_NAME_LEN],
        .labels = at[ZONE_N_LABELS],
        .rrsets = at[ZONE_N_RRSETS],
        .flags = at[ZONE_N_FLAGS],
    };
    if (node->len % ZONE_NODE_ALIGN ||
        node->len < (uint32_t)ZONE_N_NAME + node->name_len ||
        !zone_image_get(image, ZONE_NODES, offset, node->len) ||
        count_labels(node->name, node->name_len) != node->labels) {
        return refuse(image);
    }
    return true;
}

uint32_t zone_node_next(const ZoneNode *node)
{
    uint64_t end = ((uint64_t)(node->ref - 1) << ZONE_REF_SHIFT) + node->len;

    return end < node->image->section[ZONE_NODES].len ?
           (end >> ZONE_REF_SHIFT) + 1 : 0;
}

/* --- RRsets --------------------------------------------------------------- */

void zone_rrset_first(const ZoneNode *node, ZoneCursor *cursor)
{
    *cursor = (ZoneCursor) {
        .node = node,
        .next = align_up(ZONE_N_NAME + node->name_len, ZONE_RRSET_ALIGN),
        .left = node->rrsets,
    };
}

static bool targets_are_within(const ZoneRrset *rrset)
{
    for (unsigned i = 0; i < rrset->targets; i++) {
        if (zone_rrset_target(rrset, i).at >= rrset->len) {
            return false;
        }
    }
    return true;
}

bool zone_rrset_next(ZoneCursor *cursor, ZoneRrset *rrset)
{
    const ZoneNode *node = cursor->node;
    const uint8_t *at = node->at + cursor->next;
    uint32_t room;
    uint64_t size;

    if (!cursor->left) {
        return false;
    }
    room = node->len - cursor->next;
    if (cursor->next > node->len || room < ZONE_R_SIZE) {
        return refuse(node->image);
    }
    *rrset = (ZoneRrset) {
        .type = get_le16(at + ZONE_R_TYPE),
        .records = get_le16(at + ZONE_R_RECORDS),
        .sigs = get_le16(at + ZONE_R_SIGS),
        .targets = get_le16(at + ZONE_R_TARGETS),
        .len = get_le32(at + ZONE_R_LEN),
        .sigs_len = get_le32(at + ZONE_R_SIGS_LEN),
        .targets_at = at + ZONE_R_SIZE,
    };
    rrset->at = rrset->targets_at + rrset->targets * ZONE_T_SIZE;
    size = ZONE_R_SIZE + rrset->targets * ZONE_T_SIZE +
           (uint64_t)rrset->len + rrset->sigs_len;
    if (size > room) {
        return refuse(node->image);
    }
    rrset->sigs_at = rrset->at + rrset->len;
    if (!targets_are_within(rrset)) {
        return refuse(node->image);
    }
    cursor->next += align_up(size, ZONE_RRSET_ALIGN);
    cursor->left--;
    return true;
}

bool zone_rrset_find(const ZoneNode *node, uint16_t type, ZoneRrset *rrset)
{
    ZoneCursor cursor;

    zone_rrset_first(node, &cursor);
    while (zone_rrset_next(&cursor, rrset) && rrset->type <= type) {
        if (rrset->type == type) {
            return true;
        }
    }
    return false;
}

/*
 * The name may end in the records, or in the owner name by a pointer below the
 * base.  As in a message, a pointer leads backwards only.
 */
bool zone_rrset_name(const ZoneNode *node, const ZoneRrset *rrset,
                     uint32_t at, DnsName *name)
{
    unsigned base = zone_rrset_base(node);
    const uint8_t *in = rrset->at;
    uint32_t end = rrset->len;

    name->len = name->labels = 0;
    while (at < end) {
        uint8_t head = in[at];

        if (head >= 0xc0) {
            uint32_t to = end - at < 2 ? 0 : (head & 0x3f) << 8 | in[at + 1];

            if (to >= base && to - base < at) {
                end = at;
                at = to - base;
            } else if (to >= DNS_HEADER_LEN && to < base && in == rrset->at) {
                in = node->name;
                end = node->name_len;
                at = to - DNS_HEADER_LEN;
            } else {
                break;
            }
            continue;
        }
        if (head > DNS_LABEL_MAX || end - at < 1u + head ||
            name->len + 1 + head + !!head > DNS_NAME_MAX) {
            break;
        }
        memcpy(name->wire + name->len, in + at, 1 + head);
        name->len += 1 + head;
        at += 1 + head;
        if (!head) {
            return true;
        }
        name->labels++;
    }
    return refuse(node->image);
}

ZoneTarget zone_rrset_target(const ZoneRrset *rrset, unsigned index)
{
    const uint8_t *at = rrset->targets_at + index * ZONE_T_SIZE;

    return (ZoneTarget) {
        .ref = get_le32(at + ZONE_T_REF),
        .at = get_le16(at + ZONE_T_AT),
        .is_glue = get_le16(at + ZONE_T_FLAGS) & ZONE_TARGET_GLUE,
    };
}
