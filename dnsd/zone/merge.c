/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All runs as one: a heap, whose top is the run with the first name */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/zone/merge.h"

/* Memory for the buffers of runs in the file, if the chunks leave no more */
#define BUFFER_MIN      (256u << 10)
#define BUFFER_MAX      (8u << 20)

/* --- one run -------------------------------------------------------------- */

/* Memory of a run that is merged is for the image, which grows meanwhile. */
static void go_to_entry(Source *source)
{
    Chunk *chunk = &source->run->chunk;

    if (source->next == chunk->count) {
        source->bundle = NULL;
        chunk_destroy(chunk);
        return;
    }
    source->bundle = chunk_bundle(chunk, source->next);
    source->prefix = chunk->entries[source->next].prefix;
    source->next++;
}

/* Read octets of the run from source->next on, as many as fit the buffer. */
static int refill(const Merge *merge, Source *source)
{
    uint64_t left = source->run->len - source->read;
    size_t kept = source->held - source->next;
    size_t more = merge->buffer_len - kept;
    int ret;

    more = more > left ? left : more;
    memmove(source->buffer, source->buffer + source->next, kept);
    ret = spill_read(merge->spill, source->buffer + kept, more,
                     source->run->offset + source->read);
    source->read += more;
    source->held = kept + more;
    source->next = 0;
    return ret;
}

static int go_to_octets(const Merge *merge, Source *source)
{
    const Bundle *bundle = (const Bundle *)(source->buffer + source->next);
    size_t held = source->held - source->next;

    if ((held < sizeof(*bundle) || held < bundle->len) &&
        source->read < source->run->len) {
        int ret = refill(merge, source);

        if (ret) {
            return ret;
        }
        bundle = (const Bundle *)source->buffer;
    }
    if (source->next == source->held) {
        source->bundle = NULL;
        return 0;
    }
    source->bundle = bundle;
    source->prefix = bundle_prefix(bundle);
    source->next += bundle->len;
    return 0;
}

static int advance(const Merge *merge, Source *source)
{
    if (source->buffer) {
        return go_to_octets(merge, source);
    }
    go_to_entry(source);
    return 0;
}

/* --- heap ----------------------------------------------------------------- */

static bool is_before(const Source *a, const Source *b)
{
    int differ;

    if (a->prefix != b->prefix) {
        return a->prefix < b->prefix;
    }
    differ = bundle_compare(a->bundle, b->bundle);
    if (differ) {
        return differ < 0;
    }
    if (a->bundle->piece != b->bundle->piece) {
        return a->bundle->piece < b->bundle->piece;
    }
    /* One thread read a piece, so the runs of a piece are in order. */
    return a < b;
}

static void sink(Merge *merge, size_t at)
{
    Source *moving = merge->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= merge->heaped) {
            break;
        }
        if (child + 1 < merge->heaped &&
            is_before(merge->heap[child + 1], merge->heap[child])) {
            child++;
        }
        if (is_before(moving, merge->heap[child])) {
            break;
        }
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = moving;
}

int merge_next(Merge *merge, const Bundle **bundle)
{
    int ret;

    if (merge->begun && merge->heaped) {
        ret = advance(merge, merge->heap[0]);
        if (ret) {
            return ret;
        }
        if (!merge->heap[0]->bundle) {
            merge->heap[0] = merge->heap[--merge->heaped];
        }
        if (merge->heaped) {
            sink(merge, 0);
        }
    }
    merge->begun = true;
    *bundle = merge->heaped ? merge->heap[0]->bundle : NULL;
    return merge->heaped ? 1 : 0;
}

/* --- life ----------------------------------------------------------------- */

static size_t buffer_len(const Runs *runs)
{
    uint64_t kept = runs->kept * (uint64_t)runs->chunk_size;
    size_t spilled = runs->count - runs->kept;
    uint64_t each = runs->memory > kept && spilled ?
                    (runs->memory - kept) / spilled : 0;

    return each < BUFFER_MIN ? BUFFER_MIN :
           each > BUFFER_MAX ? BUFFER_MAX : each;
}

static int open_source(Merge *merge, Run *run)
{
    Source *source = &merge->source[merge->sources++];
    int ret;

    source->run = run;
    if (!run->chunk.base) {
        source->buffer = malloc(merge->buffer_len);
        if (!source->buffer) {
            return -ENOMEM;
        }
    }
    ret = advance(merge, source);
    if (!ret && source->bundle) {
        merge->heap[merge->heaped++] = source;
    }
    return ret;
}

int merge_init(Merge *merge, Runs *runs)
{
    size_t room = runs->count + 1;

    *merge = (Merge) {
        .spill = &runs->spill,
        .source = calloc(room, sizeof(Source)),
        .heap = calloc(room, sizeof(Source *)),
        .buffer_len = buffer_len(runs),
    };
    if (!merge->source || !merge->heap) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < runs->count; i++) {
        int ret = open_source(merge, &runs->run[i]);

        if (ret) {
            return ret;
        }
    }
    for (size_t i = merge->heaped / 2; i-- > 0;) {
        sink(merge, i);
    }
    return 0;
}

void merge_destroy(Merge *merge)
{
    for (size_t i = 0; i < merge->sources; i++) {
        free(merge->source[i].buffer);
    }
    free(merge->source);
    free(merge->heap);
}
