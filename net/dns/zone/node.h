/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of a zone image: owner names, their RRsets, and targets */
#ifndef NET_DNS_ZONE_NODE_H
#define NET_DNS_ZONE_NODE_H

#include "net/dns/zone/image.h"

typedef struct ZoneNode {
    ZoneImage *image;
    uint32_t ref;
    uint32_t len;               /* octets of the node */
    const uint8_t *at;
    const uint8_t *name;        /* wire form */
    uint8_t name_len;
    uint8_t labels;
    uint8_t rrsets;
    uint8_t flags;              /* ZONE_NODE_... */
} ZoneNode;

typedef struct ZoneRrset {
    uint16_t type;
    uint16_t records;
    uint16_t sigs;
    uint16_t targets;
    uint32_t len;
    uint32_t sigs_len;
    const uint8_t *at;          /* the records, as docs/dns-image.md says */
    const uint8_t *sigs_at;     /* the RRSIG records */
    const uint8_t *targets_at;
} ZoneRrset;

typedef struct ZoneTarget {
    uint32_t ref;
    uint16_t at;                /* offset of the name in the records */
    bool is_glue;
} ZoneTarget;

/* A position between the RRsets of a node */
typedef struct ZoneCursor {
    const ZoneNode *node;
    uint32_t next;
    uint8_t left;
} ZoneCursor;

/**
 * zone_node_get: read the node of a reference
 *
 * Returns: false if there is no valid node, and then the image has failed.
 */
bool zone_node_get(ZoneImage *image, uint32_t ref, ZoneNode *node);

#define ZONE_NODE_LINES     4   /* cache lines; most nodes have no more */

/**
 * zone_node_expect: prefetch the node of a reference
 *
 * Nothing is checked, and a wrong reference is harmless.
 */
static inline void zone_node_expect(const ZoneImage *image, uint32_t ref)
{
    const ZoneSpan *span = &image->section[ZONE_NODES];
    uint64_t offset = ((uint64_t)ref - 1) << ZONE_REF_SHIFT;

    if (offset < span->len) {
        const uint8_t *at = image->file + span->offset + offset;

        for (unsigned i = 0; i < ZONE_NODE_LINES; i++) {
            __builtin_prefetch(at + i * 64);
        }
    }
}

/** zone_node_next: the reference of the next node; 0 behind the last one */
uint32_t zone_node_next(const ZoneNode *node);

/**
 * zone_rrset_first, zone_rrset_next: RRsets in the order of their types
 *
 * Returns (_next): false behind the last one, or if the node is inconsistent.
 * In the latter case the image has failed.
 */
void zone_rrset_first(const ZoneNode *node, ZoneCursor *cursor);
bool zone_rrset_next(ZoneCursor *cursor, ZoneRrset *rrset);

/** zone_rrset_find: the RRset of a type; false if the node has none. */
bool zone_rrset_find(const ZoneNode *node, uint16_t type, ZoneRrset *rrset);

/**
 * zone_rrset_target: the target with number @index of the RRset
 *
 * Its offset is within the records.
 */
ZoneTarget zone_rrset_target(const ZoneRrset *rrset, unsigned index);

/**
 * zone_rrset_name: read the name at offset @at of the records
 *
 * Returns: false if there is no valid name, and then the image has failed.
 */
bool zone_rrset_name(const ZoneNode *node, const ZoneRrset *rrset,
                     uint32_t at, DnsName *name);

/**
 * zone_rrset_base: the offset in a message that the records of @node are made
 * for
 *
 * Their compression pointers are right at that offset (docs/dns-image.md,
 * Records): behind a header and a question for the name of the node.
 */
static inline unsigned zone_rrset_base(const ZoneNode *node)
{
    return DNS_HEADER_LEN + node->name_len + 4;
}

#endif /* NET_DNS_ZONE_NODE_H */
