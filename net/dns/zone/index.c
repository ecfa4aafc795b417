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

static uint64_t bucket_of(uint64_t value, uint32_t buckets)
{
    return (value >> 32) * buckets >> 32;
}

static bool put(uint8_t *hash, uint32_t buckets, uint64_t value, uint32_t ref)
{
    uint64_t at = bucket_of(value, buckets);

    for (unsigned far = 0; far <= ZONE_B_REACH; far++) {
        uint8_t *bucket = hash + at * ZONE_B_SIZE;

        if (put_into(bucket, ref, value)) {
            return true;
        }
        put_le16(bucket + ZONE_B_SPILLS, 1);
        at = at + 1 < buckets ? at + 1 : 0;
    }
    return false;
}

int zone_hash_fill(const ZoneNodes *nodes, uint64_t seed, uint8_t *hash,
                   uint32_t buckets)
{
    const uint64_t key[2] = { seed, seed << 32 | seed >> 32 };
    Walk walk = { nodes, 0 };
    struct {
        uint64_t value;
        uint32_t ref;
    } ahead[AHEAD];
    unsigned count;

    do {
        const uint8_t *node;

        for (count = 0; count < AHEAD &&
             (node = step(&walk, &ahead[count].ref)); count++) {
            uint64_t value = zone_name_hash(key, node + ZONE_N_NAME,
                                            node[ZONE_N_NAME_LEN]);

            ahead[count].value = value;
            __builtin_prefetch(hash + bucket_of(value, buckets) * ZONE_B_SIZE,
                               1);
        }
        for (unsigned i = 0; i < count; i++) {
            if (!put(hash, buckets, ahead[i].value, ahead[i].ref)) {
                return -ENOSPC;
            }
        }
    } while (count == AHEAD);
    return 0;
}

void zone_order_fill(const ZoneNodes *nodes, uint8_t *order)
{
    Walk walk = { nodes, 0 };
    uint64_t number = 0;
    uint32_t ref;

    while (step(&walk, &ref)) {
        if (number++ % ZONE_ORDER_EVERY == 0) {
            put_le32(order, ref);
            order += REF_LEN;
        }
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
