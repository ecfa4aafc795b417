/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The indexes of a zone image, made from its nodes */
#ifndef NET_DNS_ZONE_INDEX_H
#define NET_DNS_ZONE_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* The nodes in the order of the file */
typedef struct ZoneNodes {
    const uint8_t *at;
    uint64_t len;
    uint64_t count;
} ZoneNodes;

/* A node and the hash of its name, in the order of the nodes */
typedef struct ZoneHashed {
    uint32_t high;              /* of the hash: chooses the bucket */
    uint32_t ref;
    uint16_t tag;
} ZoneHashed;

/** zone_hashed: hash the name of a node with @seed, ZONE_H_SEED */
ZoneHashed zone_hashed(uint64_t seed, const uint8_t *node, uint32_t ref);

/** zone_hash_buckets: the number that suffices for most keys; at least 1 */
uint32_t zone_hash_buckets(uint64_t nodes);

/**
 * zone_hash_fill: put every node into a bucket
 * @hash: ZONE_B_SIZE * @buckets octets of zeros
 *
 * Returns: 0; or -ENOSPC if a node would be further than ZONE_B_REACH from its
 * bucket.  Then try another seed, or more buckets.
 */
int zone_hash_fill(const ZoneHashed *names, uint64_t count, uint8_t *hash,
                   uint32_t buckets);

/** zone_order_fill: write the reference of every ZONE_ORDER_EVERY-th node */
void zone_order_fill(const ZoneHashed *names, uint64_t count, uint8_t *order);

/**
 * zone_nsec3_fill: write the references of nodes with NSEC3 records
 * @refs: NULL to only count them
 *
 * Returns: their number.
 */
uint64_t zone_nsec3_fill(const ZoneNodes *nodes, uint8_t *refs);

#endif /* NET_DNS_ZONE_INDEX_H */
