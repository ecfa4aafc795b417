/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Bloom filter of the names that the deltas of a view have
 *
 * Most names that are asked for are in the image alone.  One line of cache says
 * so, however many deltas there are: the bits of a name are one in each word of
 * a block (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
 * Filters", 2007).
 *
 * One thread adds names while others read.  Who publishes a view has added its
 * names before, so readers of that view miss none of them.
 */
#ifndef NET_DNS_ZONE_FILTER_H
#define NET_DNS_ZONE_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ZONE_FILTER_WORDS   8
/* With so many, one name in a thousand that is not there seems to be. */
#define ZONE_FILTER_NAMES   32      /* a block */

typedef struct ZoneFilterBlock {
    _Alignas(64) atomic_uint_least64_t word[ZONE_FILTER_WORDS];
} ZoneFilterBlock;

typedef struct ZoneFilter {
    uint64_t key[2];            /* of the hashes, as ZoneImage.key */
    uint32_t blocks;
    ZoneFilterBlock *block;
} ZoneFilter;

static inline ZoneFilterBlock *zone_filter_block(const ZoneFilter *filter,
                                                 uint64_t hash)
{
    return &filter->block[(hash >> 32) * filter->blocks >> 32];
}

/* Bits that have not chosen the block; 6 of them choose one in a word. */
static inline uint64_t zone_filter_bits(uint64_t hash)
{
    return (hash & UINT32_MAX) * UINT64_C(0x9e3779b97f4a7c15);
}

/** zone_filter_has: false: no delta has a name with this hash. */
static inline bool zone_filter_has(const ZoneFilter *filter, uint64_t hash)
{
    const ZoneFilterBlock *block = zone_filter_block(filter, hash);
    uint64_t bits = zone_filter_bits(hash), all = 1;

    for (unsigned i = 0; i < ZONE_FILTER_WORDS; i++) {
        all &= atomic_load_explicit(&block->word[i], memory_order_relaxed) >>
               (bits & 63);
        bits >>= 7;
    }
    return all;
}

/** zone_filter_add: by one thread; false if nothing has changed. */
static inline bool zone_filter_add(ZoneFilter *filter, uint64_t hash)
{
    ZoneFilterBlock *block = zone_filter_block(filter, hash);
    uint64_t bits = zone_filter_bits(hash);
    bool is_new = false;

    for (unsigned i = 0; i < ZONE_FILTER_WORDS; i++) {
        uint64_t bit = UINT64_C(1) << (bits & 63);
        uint64_t word = atomic_load_explicit(&block->word[i],
                                             memory_order_relaxed);

        if (!(word & bit)) {
            is_new = true;
            atomic_store_explicit(&block->word[i], word | bit,
                                  memory_order_relaxed);
        }
        bits >>= 7;
    }
    return is_new;
}

#endif /* NET_DNS_ZONE_FILTER_H */
