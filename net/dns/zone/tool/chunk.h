/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of the input in memory, to be sorted */
#ifndef NET_DNS_ZONE_TOOL_CHUNK_H
#define NET_DNS_ZONE_TOOL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "net/dns/zone/tool/bundle.h"

#define CHUNK_MIN       (1u << 20)

typedef struct ChunkEntry {
    uint64_t prefix;            /* bundle_prefix() */
    uint64_t at;                /* of the bundle in the chunk */
} ChunkEntry;

/* Bundles grow from the beginning, entries from the end. */
typedef struct Chunk {
    uint8_t *base;
    size_t size;
    size_t used;
    ChunkEntry *entries;        /* in the order of names when sorted */
    size_t count;
    Bundle *open;               /* that records are added to; NULL: none */
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

/** chunk_init: @size is CHUNK_MIN or more.  Returns: false without memory. */
bool chunk_init(Chunk *chunk, size_t size);

void chunk_destroy(Chunk *chunk);

/** chunk_clear: for what comes next; its memory is kept. */
void chunk_clear(Chunk *chunk);

/**
 * chunk_add: one record more
 * @above: labels that all owners have in common
 *
 * Returns: false if the chunk is full, and nothing has changed.
 */
bool chunk_add(Chunk *chunk, const ChunkRecord *record, unsigned above);

/**
 * chunk_sort: entries into the order of names, equal ones as they came
 * @scratch: room for half of the entries, rounded up
 */
void chunk_sort(Chunk *chunk, ChunkEntry *scratch);

/** chunk_close: no record is added to the bundle that is open. */
void chunk_close(Chunk *chunk);

static inline const Bundle *chunk_bundle(const Chunk *chunk, size_t index)
{
    return (const Bundle *)(chunk->base + chunk->entries[index].at);
}

#endif /* NET_DNS_ZONE_TOOL_CHUNK_H */
