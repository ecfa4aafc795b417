/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The indexes of a zone image, made from its nodes */
#include <errno.h>

#include "net/dns/zone/find.h"
#include "net/dns/zone/index.h"

#define REF_LEN         4

/*
 * References in a bucket, in tenths.  With 6, all of four million names nearly
 * always fit within the reach; with 6.4 nearly never.
 */
#define FULL_OF_TEN     6

/* Buckets of a large zone are in no cache: fetch so many at the same time. */
#define AHEAD           16

/* A walk over the nodes, which are not checked as the writer made them */
typedef struct Walk {
    const ZoneNodes *nodes;
    uint64_t offset;
} Walk;

static const uint8_t *step(Walk *walk, uint32_t *ref)
{
    const uint8_t *node = walk->nodes->at + walk->offset;

    if (walk->offset >= walk->nodes->len) {
        return NULL;
    }
    *ref = (walk->offset >> ZONE_REF_SHIFT) + 1;
    walk->offset += get_le32(node + ZONE_N_LEN);
    return node;
}

ZoneHashed zone_hashed(uint64_t seed, const uint8_t *node, uint32_t ref)
{
    const uint64_t key[2] = { seed, seed << 32 | seed >> 32 };
    uint64_t value = zone_name_hash(key, node + ZONE_N_NAME,
                                    node[ZONE_N_NAME_LEN]);

    return (ZoneHashed) { value >> 32, ref, value };
}

uint32_t zone_hash_buckets(uint64_t nodes)
{
    return nodes / FULL_OF_TEN + 1;
}

static bool put_into(uint8_t *bucket, uint32_t ref, uint16_t tag)
{
    for (unsigned way = 0; way < ZONE_B_WAYS; way++) {
        uint8_t *to = bucket + ZONE_B_REFS + way * REF_LEN;

        if (!get_le32(to)) {
            put_le32(to, ref);
            put_le16(bucket + ZONE_B_TAGS + way * 2, tag);
            return true;
        }
    }
    return false;
}

static uint64_t bucket_of(const ZoneHashed *name, uint32_t buckets)
{
    return (uint64_t)name->high * buckets >> 32;
}

static bool put(uint8_t *hash, uint32_t buckets, const ZoneHashed *name)
{
    uint64_t at = bucket_of(name, buckets);

    for (unsigned far = 0; far <= ZONE_B_REACH; far++) {
        uint8_t *bucket = hash + at * ZONE_B_SIZE;

        if (put_into(bucket, name->ref, name->tag)) {
            return true;
        }
        put_le16(bucket + ZONE_B_SPILLS, 1);
        at = at + 1 < buckets ? at + 1 : 0;
    }
    return false;
}

int zone_hash_fill(const ZoneHashed *names, uint64_t count, uint8_t *hash,
                   uint32_t buckets)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            __builtin_prefetch(hash + bucket_of(&names[i + AHEAD], buckets) *
                               ZONE_B_SIZE, 1);
        }
        if (!put(hash, buckets, &names[i])) {
            return -ENOSPC;
        }
    }
    return 0;
}

void zone_order_fill(const ZoneHashed *names, uint64_t count, uint8_t *order)
{
    for (uint64_t i = 0; i < count; i += ZONE_ORDER_EVERY) {
        put_le32(order, names[i].ref);
        order += REF_LEN;
    }
}

uint64_t zone_nsec3_fill(const ZoneNodes *nodes, uint8_t *refs)
{
    Walk walk = { nodes, 0 };
    const uint8_t *node;
    uint64_t count = 0;
    uint32_t ref;

    while ((node = step(&walk, &ref))) {
        if (node[ZONE_N_FLAGS] & ZONE_NODE_NSEC3) {
            if (refs) {
                put_le32(refs + count * REF_LEN, ref);
            }
            count++;
        }
    }
    return count;
}
