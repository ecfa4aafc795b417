/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of a zone image: owner names, their RRsets, the names they refer to */
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
    uint16_t at;                /* of the name, in the records */
    bool is_glue;
} ZoneTarget;

/* A place between the RRsets of a node */
typedef struct ZoneCursor {
    const ZoneNode *node;
    uint32_t next;
    uint8_t left;
} ZoneCursor;

/**
 * zone_node_get: the node that @ref refers to
 *
 * Returns: false if there is none, or what is there is no node; the image has
 * failed then.
 */
bool zone_node_get(ZoneImage *image, uint32_t ref, ZoneNode *node);

#define ZONE_NODE_LINES     4   /* of cache; most nodes have no more */

/**
 * zone_node_expect: the node that @ref refers to will be read soon
 *
 * The processor fetches it meanwhile; nothing is checked, and a reference that
 * is wrong does no harm.
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

/** zone_node_next: the reference behind @node's; 0 behind the last. */
uint32_t zone_node_next(const ZoneNode *node);

/**
 * zone_rrset_first, zone_rrset_next: RRsets in the order of their types
 *
 * Returns of _next: false at the end, or when the node contradicts itself; the
 * image has failed then.
 */
void zone_rrset_first(const ZoneNode *node, ZoneCursor *cursor);
bool zone_rrset_next(ZoneCursor *cursor, ZoneRrset *rrset);

/** zone_rrset_find: the RRset of a type; false if the node has none. */
bool zone_rrset_find(const ZoneNode *node, uint16_t type, ZoneRrset *rrset);

/**
 * zone_rrset_target: the @index-th of rrset->targets
 *
 * Its position is within the records.
 */
ZoneTarget zone_rrset_target(const ZoneRrset *rrset, unsigned index);

/**
 * zone_rrset_name: the name at @at octets from the beginning of the records
 *
 * Returns: false if there is none; the image has failed then.
 */
bool zone_rrset_name(const ZoneNode *node, const ZoneRrset *rrset,
                     uint32_t at, DnsName *name);

/**
 * zone_rrset_base: where in a message the records of @node are meant to be
 *
 * Compression pointers in them are for that place (docs/dns-image.md,
 * Records): behind a header and a question for the node's name.
 */
static inline unsigned zone_rrset_base(const ZoneNode *node)
{
    return DNS_HEADER_LEN + node->name_len + 4;
}

#endif /* NET_DNS_ZONE_NODE_H */
