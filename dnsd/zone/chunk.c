/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of the input in memory, which is sorted */
#include <sys/mman.h>

#include "dnsd/zone/chunk.h"

#define SMALL   12      /* so many entries: sort by insertion */

bool chunk_init(Chunk *chunk, size_t size)
{
    *chunk = (Chunk) { .size = size & ~(sizeof(ChunkEntry) - 1) };
    chunk->base = mmap(NULL, chunk->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->base == MAP_FAILED) {
        chunk->base = NULL;
        return false;
    }
    madvise(chunk->base, chunk->size, MADV_HUGEPAGE);
    chunk_clear(chunk);
    return true;
}

void chunk_destroy(Chunk *chunk)
{
    if (chunk->base) {
        munmap(chunk->base, chunk->size);
    }
    *chunk = (Chunk) { 0 };
}

void chunk_clear(Chunk *chunk)
{
    chunk->used = 0;
    chunk->count = 0;
    chunk->open = NULL;
    chunk->entries = (ChunkEntry *)(chunk->base + chunk->size);
}

/* --- adding --------------------------------------------------------------- */

static size_t left(const Chunk *chunk)
{
    return (uint8_t *)chunk->entries - chunk->base - chunk->used;
}

void chunk_close(Chunk *chunk)
{
    Bundle *open = chunk->open;

    if (open) {
        chunk->used = (chunk->used + BUNDLE_ALIGN - 1) &
                      ~(size_t)(BUNDLE_ALIGN - 1);
        open->len = chunk->base + chunk->used - (uint8_t *)open;
        chunk->open = NULL;
    }
}

static bool is_of_open(const Chunk *chunk, const ChunkRecord *record)
{
    const Bundle *open = chunk->open;

    return open && open->name_len == record->owner->len &&
           open->piece == record->piece &&
           chunk->base + chunk->used - (uint8_t *)open < BUNDLE_LONG &&
           !memcmp(bundle_name(open), record->owner->wire, open->name_len);
}

static bool open_bundle(Chunk *chunk, const ChunkRecord *record,
                        unsigned above)
{
    const DnsName *owner = record->owner;
    size_t most = sizeof(Bundle) + ZONE_KEY_MAX + DNS_NAME_MAX +
                  sizeof(Bundled) + record->rdlength + 2 * BUNDLE_ALIGN +
                  sizeof(ChunkEntry);
    Bundle *bundle;

    if (left(chunk) < most) {
        return false;
    }
    chunk_close(chunk);
    bundle = (Bundle *)(chunk->base + chunk->used);
    bundle->count = 0;
    bundle->piece = record->piece;
    bundle->name_len = owner->len;
    bundle->labels = owner->labels;
    bundle->key_len = zone_name_key(owner, above, bundle->octets);
    memcpy(bundle->octets + bundle->key_len, owner->wire, owner->len);
    *--chunk->entries = (ChunkEntry) {
        bundle_prefix(bundle), chunk->used,
    };
    chunk->count++;
    chunk->used = bundle_records(bundle) - chunk->base;
    chunk->open = bundle;
    return true;
}

bool chunk_add(Chunk *chunk, const ChunkRecord *record, unsigned above)
{
    const Bundled head = {
        .ttl = record->ttl,
        .line = record->place.line,
        .file = record->place.file,
        .type = record->type,
        .rdlength = record->rdlength,
    };
    size_t len = sizeof(head) + record->rdlength;

    if (!is_of_open(chunk, record)) {
        if (!open_bundle(chunk, record, above)) {
            return false;
        }
    } else if (left(chunk) < len + BUNDLE_ALIGN) {
        return false;
    }
    memcpy(chunk->base + chunk->used, &head, sizeof(head));
    memcpy(chunk->base + chunk->used + sizeof(head), record->rdata,
           record->rdlength);
    chunk->used += len;
    chunk->open->count++;
    return true;
}

/* --- sorting -------------------------------------------------------------- */

static bool is_less(const Chunk *chunk, const ChunkEntry *a,
                    const ChunkEntry *b)
{
    int differ;

    if (a->prefix != b->prefix) {
        return a->prefix < b->prefix;
    }
    differ = bundle_compare((const Bundle *)(chunk->base + a->at),
                            (const Bundle *)(chunk->base + b->at));
    return differ ? differ < 0 : a->at < b->at;
}

static void insert(const Chunk *chunk, ChunkEntry *e, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        ChunkEntry moving = e[i];
        size_t to = i;

        for (; to && is_less(chunk, &moving, &e[to - 1]); to--) {
            e[to] = e[to - 1];
        }
        e[to] = moving;
    }
}

/*
 * The first half waits in the scratch memory.  Input that is in order, for
 * example a zone that was transferred or printed, takes one comparison.
 */
static void merge_sort(const Chunk *chunk, ChunkEntry *e, size_t count,
                       ChunkEntry *scratch)
{
    size_t half = count / 2, a = 0, b = half, to = 0;

    if (count <= SMALL) {
        insert(chunk, e, count);
        return;
    }
    merge_sort(chunk, e, half, scratch);
    merge_sort(chunk, e + half, count - half, scratch);
    if (!is_less(chunk, &e[half], &e[half - 1])) {
        return;
    }
    memcpy(scratch, e, half * sizeof(*e));
    while (a < half && b < count) {
        e[to++] = is_less(chunk, &e[b], &scratch[a]) ? e[b++] : scratch[a++];
    }
    memcpy(e + to, scratch + a, (half - a) * sizeof(*e));
}

void chunk_sort(Chunk *chunk, ChunkEntry *scratch)
{
    ChunkEntry *e = chunk->entries;

    /* The entries grew downwards, so the last one is first: reverse them. */
    for (size_t i = 0; i < chunk->count / 2; i++) {
        ChunkEntry other = e[i];

        e[i] = e[chunk->count - 1 - i];
        e[chunk->count - 1 - i] = other;
    }
    merge_sort(chunk, e, chunk->count, scratch);
}
