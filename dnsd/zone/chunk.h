/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of the input in memory, which is sorted */
#ifndef DNSD_ZONE_CHUNK_H
#define DNSD_ZONE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "dnsd/zone/bundle.h"

#define CHUNK_MIN       (1u << 20)

typedef struct ChunkEntry {
    uint64_t prefix;            /* bundle_prefix() */
    uint64_t at;                /* offset of the bundle in the chunk */
} ChunkEntry;

/* Bundles grow from the start of the memory, entries from its end. */
typedef struct Chunk {
    uint8_t *base;
    size_t size;
    size_t used;
    ChunkEntry *entries;        /* after sorting in the order of names */
    size_t count;
    Bundle *open;               /* the bundle to add to; NULL: none */
} Chunk;

typedef struct ChunkRecord {
    const DnsName *owner;
    const uint8_t *rdata;
    ZonePlace place;
    uint32_t ttl;
    uint32_t piece;
    uint16_t type;
    uint16_t rdlength;
} ChunkRecord;

/** chunk_init: @size is at least CHUNK_MIN.  Returns: false without memory */
bool chunk_init(Chunk *chunk, size_t size);

void chunk_destroy(Chunk *chunk);

/** chunk_clear: remove all entries and keep the memory */
void chunk_clear(Chunk *chunk);

/**
 * chunk_add: add a record
 * @above: labels that all owners have in common
 *
 * Returns: false if the chunk is full, and nothing has changed.
 */
bool chunk_add(Chunk *chunk, const ChunkRecord *record, unsigned above);

/**
 * chunk_sort: sort entries by name; equal names keep their order
 * @scratch: memory for half of the entries, rounded up
 */
void chunk_sort(Chunk *chunk, ChunkEntry *scratch);

/** chunk_close: close the open bundle, so that no record is added to it */
void chunk_close(Chunk *chunk);

static inline const Bundle *chunk_bundle(const Chunk *chunk, size_t index)
{
    return (const Bundle *)(chunk->base + chunk->entries[index].at);
}

#endif /* DNSD_ZONE_CHUNK_H */
