/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Bloom filter of the names in the deltas of a view
 *
 * Most names that are asked for are only in the image.  One cache line shows
 * that, whatever the number of deltas: a name sets one bit in each word of one
 * block (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
 * Filters", 2007).
 *
 * One thread adds names while others read.  The names of a view are added
 * before the view is published, so its readers find all of them.
 *
 * Memory order.  All words are relaxed.  The store that publishes the view
 * releases them, and the load of dns_served_view() acquires them.  A bit that a
 * reader of an older view sees costs it one search.
 */
#ifndef NET_DNS_ZONE_FILTER_H
#define NET_DNS_ZONE_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ZONE_FILTER_WORDS   8
/* At this number, one absent name in a thousand seems present. */
#define ZONE_FILTER_NAMES   32      /* per block */

typedef struct ZoneFilterBlock {
    _Alignas(64) atomic_uint_least64_t word[ZONE_FILTER_WORDS];
} ZoneFilterBlock;

typedef struct ZoneFilter {
    uint64_t key[2];            /* of the hashes, the same as ZoneImage.key */
    uint32_t blocks;
    ZoneFilterBlock *block;
} ZoneFilter;

static inline ZoneFilterBlock *zone_filter_block(const ZoneFilter *filter,
                                                 uint64_t hash)
{
    return &filter->block[(hash >> 32) * filter->blocks >> 32];
}

/* The bits that do not choose the block; 6 of them choose a bit in a word. */
static inline uint64_t zone_filter_bits(uint64_t hash)
{
    return (hash & UINT32_MAX) * UINT64_C(0x9e3779b97f4a7c15);
}

/** zone_filter_has: false if no delta has a name with this hash */
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

/** zone_filter_add: for one thread; false if nothing has changed */
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
