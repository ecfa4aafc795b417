/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From sorted runs to the nodes of an image
 *
 * Theory of operation
 *
 * One thread merges the runs, collects the records of each name and checks
 * them.  Another thread writes the nodes into the image.  Batches of nodes pass
 * from the first to the second, and return empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dnsd/text/print.h"
#include "net/dns/zone/format.h"
#include "net/dns/zone/records.h"
#include "dnsd/zone/build.h"
#include "dnsd/zone/merge.h"

#define BATCHES     8
/* Pages for what follows: at most AHEAD, so many octets at a time */
#define AHEAD       (16u << 20)
#define POPULATED   (2u << 20)

/* Batches that wait for a thread; the queue has room for all */
typedef struct Queue {
    Batch *batch[BATCHES];
    unsigned first;
    unsigned count;
} Queue;

typedef struct Builder {
    const Build *build;
    Merge merge;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Queue full;
    Queue empty;
    bool no_more;
    int failed;                 /* the error of the writer */
    uint8_t *free;              /* the image behind the nodes that are written */
    uint8_t *free_end;
    /* Used by the thread that merges */
    Batch *batch;
    uint8_t *populated;         /* the end of the pages that exist */
    uint8_t key[ZONE_KEY_MAX];
    int key_len;                /* of the open node; -1: no node is open */
    /* Used by the thread that writes */
    ZoneRecord *records;
    size_t room;
} Builder;

/* --- queues --------------------------------------------------------------- */

/* The caller holds the lock. */
static void push(Queue *queue, Batch *batch)
{
    queue->batch[(queue->first + queue->count++) % BATCHES] = batch;
}

static Batch *pop(Queue *queue)
{
    Batch *batch = queue->batch[queue->first];

    queue->first = (queue->first + 1) % BATCHES;
    queue->count--;
    return batch;
}

static void hand(Builder *b, Queue *queue, Batch *batch)
{
    pthread_mutex_lock(&b->lock);
    push(queue, batch);
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

/*
 * The image is a mapped file, and to make a page of it takes as long as to fill
 * it; so the thread that merges makes some when it is ahead.  If the image
 * moves meanwhile, pages of nothing or of other memory are made, which does no
 * harm.
 */
static void populate(Builder *b, uint8_t *from, uint8_t *end)
{
    uint8_t *most = end - from > AHEAD ? from + AHEAD : end;

    if (b->populated >= from && b->populated < end) {
        from = b->populated;
    }
    from = (uint8_t *)((uintptr_t)from & ~(uintptr_t)(ZONE_PAGE - 1));
    if (from < most) {
        most = most - from > POPULATED ? from + POPULATED : most;
        madvise(from, most - from, MADV_POPULATE_WRITE);
        b->populated = most;
    }
}

static Batch *wait_for_empty(Builder *b)
{
    uint8_t *from, *end;
    bool is_ahead;
    Batch *batch;

    pthread_mutex_lock(&b->lock);
    is_ahead = b->full.count > BATCHES / 2;
    while (!b->empty.count) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    batch = pop(&b->empty);
    from = b->free;
    end = b->free_end;
    pthread_mutex_unlock(&b->lock);
    if (is_ahead) {
        populate(b, from, end);
    }
    batch->used = batch->items = batch->nodes = 0;
    return batch;
}

/* Returns: NULL behind the last one. */
static Batch *wait_for_full(Builder *b)
{
    Batch *batch = NULL;

    pthread_mutex_lock(&b->lock);
    while (!b->full.count && !b->no_more) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    if (b->full.count) {
        batch = pop(&b->full);
    }
    pthread_mutex_unlock(&b->lock);
    return batch;
}

/* --- writing -------------------------------------------------------------- */

static int take_records(Builder *b, const Batch *batch, const BatchNode *node)
{
    if (node->count > b->room) {
        ZoneRecord *more = realloc(b->records, 2 * node->count *
                                   sizeof(*more));

        if (!more) {
            return -ENOMEM;
        }
        b->records = more;
        b->room = 2 * node->count;
    }
    for (size_t i = 0; i < node->count; i++) {
        const Bundled *from = batch_record(batch,
                                           &batch->item[node->first + i]);

        b->records[i] = (ZoneRecord) {
            from->type, from->rdlength, from->ttl, from->rdata,
        };
        b->build->places->has_dname |= from->type == DNS_TYPE_DNAME;
        if (zone_target_of(&b->records[i]) >= 0) {
            int ret = places_add(b->build->places, bundled_place(from));

            if (ret) {
                return ret;
            }
        }
    }
    return 0;
}

static void refuse_node(Builder *b, const Batch *batch, const BatchNode *node,
                        const DnsName *owner, int error)
{
    char text[DNS_PRINT_NAME_MAX];

    dns_print_name(owner, text);
    report_at(b->build->report, SEVERITY_ERROR,
              bundled_place(batch_record(batch, &batch->item[node->first])),
              "%s: %s", text, error == -EFBIG
              ? "its records are more than an image can hold: 255 types, "
                "65535 records of a type, and 64 KB of those that name hosts"
              : "an image cannot have its records together");
}

static int write_node(Builder *b, const Batch *batch, const BatchNode *node)
{
    DnsName owner = batch_name(batch, node);
    int ret = take_records(b, batch, node);

    ret = ret ? ret : zone_writer_node(b->build->writer, &owner, b->records,
                                       node->count);
    if (ret == -EFBIG || ret == -EINVAL) {
        refuse_node(b, batch, node, &owner, ret);
        return 0;
    }
    return ret;
}

static int write_batch(Builder *b, const Batch *batch)
{
    int ret = batch->nodes ? places_mark(b->build->places,
                                         zone_writer_next(b->build->writer))
                           : 0;

    for (size_t i = 0; i < batch->nodes && !ret; i++) {
        if (report_failed(b->build->report)) {
            return 0;
        }
        ret = write_node(b, batch, &batch->node[i]);
    }
    progress_add(b->build->progress, batch->items);
    return ret;
}

static void note_free(Builder *b)
{
    const ZoneOut *out = b->build->out;

    pthread_mutex_lock(&b->lock);
    b->free = out->base + zone_writer_end(b->build->writer);
    b->free_end = out->base + out->room;
    pthread_mutex_unlock(&b->lock);
}

static void *write_batches(void *opaque)
{
    Builder *b = opaque;
    int failed = 0;
    Batch *batch;

    while ((batch = wait_for_full(b))) {
        failed = failed ? failed : write_batch(b, batch);
        note_free(b);
        hand(b, &b->empty, batch);
    }
    b->failed = failed;
    return NULL;
}

/* --- merging -------------------------------------------------------------- */

static void settle(Builder *b)
{
    const Build *build = b->build;

    if (b->key_len >= 0) {
        const BatchNode *node = &b->batch->node[b->batch->nodes - 1];

        batch_settle(b->batch, build->rules->rrclass, build->report);
        if (node->count || node->labels == build->rules->origin.labels) {
            check_settled_node(build->rules, b->batch, node, build->report);
        }
        b->batch->nodes -= !node->count;
    }
    b->key_len = -1;
}

static int take_bundle(Builder *b, const Bundle *bundle)
{
    bool is_new = bundle->key_len != b->key_len ||
                  memcmp(bundle->octets, b->key, bundle->key_len);

    if (is_new) {
        settle(b);
        if (batch_is_full(b->batch)) {
            hand(b, &b->full, b->batch);
            b->batch = wait_for_empty(b);
        }
        memcpy(b->key, bundle->octets, bundle->key_len);
        b->key_len = bundle->key_len;
    }
    return batch_bundle(b->batch, bundle, is_new);
}

/* Report an origin without records. */
static void miss_origin(Builder *b)
{
    char origin[DNS_PRINT_NAME_MAX];

    dns_print_name(&b->build->rules->origin, origin);
    report_at(b->build->report, SEVERITY_ERROR, (ZonePlace) { 0 },
              "there is no SOA record at %s: a zone has one at its origin; is "
              "this the zone's name?", origin);
}

static int merge_bundles(Builder *b)
{
    const Bundle *bundle;
    bool is_first = true;
    int ret;

    while ((ret = merge_next(&b->merge, &bundle)) > 0) {
        if (is_first && bundle->key_len) {
            miss_origin(b);
        }
        is_first = false;
        ret = take_bundle(b, bundle);
        if (ret) {
            return ret;
        }
    }
    if (is_first) {
        miss_origin(b);
    }
    settle(b);
    return ret;
}

/* --- both ----------------------------------------------------------------- */

static int begin(Builder *b, const Build *build)
{
    *b = (Builder) { .build = build, .key_len = -1 };
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    for (unsigned i = 0; i < BATCHES; i++) {
        Batch *batch = batch_new();

        if (!batch) {
            return -ENOMEM;
        }
        push(&b->empty, batch);
    }
    b->batch = pop(&b->empty);
    return merge_init(&b->merge, build->runs);
}

static void end(Builder *b)
{
    merge_destroy(&b->merge);
    batch_free(b->batch);
    while (b->empty.count) {
        batch_free(pop(&b->empty));
    }
    free(b->records);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}

static int run(Builder *b)
{
    pthread_t writer;
    int ret = pthread_create(&writer, NULL, write_batches, b);

    if (ret) {
        return -ret;
    }
    ret = merge_bundles(b);
    hand(b, &b->full, b->batch);
    b->batch = NULL;
    pthread_mutex_lock(&b->lock);
    b->no_more = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(writer, NULL);
    return ret ? ret : b->failed;
}

int build_nodes(const Build *build)
{
    Builder b;
    int ret = begin(&b, build);

    ret = ret ? ret : run(&b);
    end(&b);
    return ret;
}
