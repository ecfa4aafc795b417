/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorted runs of the input
 *
 * Theory of operation
 *
 * A feed fills a chunk, sorts it and adds it to the runs.  As long as all
 * chunks fit into the allowed memory, they stay there, and the only file that
 * is written is the image.  Otherwise the chunk is written to a file and is
 * filled again, so no thread waits for another.
 *
 * One fifth of the memory is for what sorting takes besides the chunks.
 */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/zone/runs.h"

#define CHUNK_BEST      (64u << 20)
#define CHUNKS_LEAST    4           /* in each feed */

void runs_init(Runs *runs, uint64_t memory, unsigned feeds, const char *dir)
{
    uint64_t size = memory / 5 * 4 / (CHUNKS_LEAST * feeds);

    *runs = (Runs) { .spill.fd = -1, .dir = dir, .memory = memory };
    pthread_mutex_init(&runs->lock, NULL);
    size = size > CHUNK_BEST ? CHUNK_BEST : size;
    runs->chunk_size = size < CHUNK_MIN ? CHUNK_MIN : size;
    runs->kept_max = memory / 5 * 4 / runs->chunk_size;
    runs->kept_max = runs->kept_max > feeds ? runs->kept_max - feeds : 0;
}

void runs_destroy(Runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        chunk_destroy(&runs->run[i].chunk);
    }
    free(runs->run);
    spill_close(&runs->spill);
    pthread_mutex_destroy(&runs->lock);
}

/* The caller holds the lock.  Returns: NULL without memory. */
static Run *add_run(Runs *runs)
{
    if (runs->count == runs->room) {
        size_t room = runs->room ? 2 * runs->room : 64;
        Run *run = realloc(runs->run, room * sizeof(*run));

        if (!run) {
            return NULL;
        }
        runs->run = run;
        runs->room = room;
    }
    runs->run[runs->count] = (Run) { 0 };
    return &runs->run[runs->count++];
}

/* If this chunk may stay in memory, pass it to the runs. */
static int keep(Feed *feed, bool *kept)
{
    Runs *runs = feed->runs;
    int ret = 0;
    Run *run;

    pthread_mutex_lock(&runs->lock);
    runs->bundles += feed->chunk.count;
    *kept = runs->kept < runs->kept_max;
    if (*kept) {
        run = add_run(runs);
        if (run) {
            run->chunk = feed->chunk;
            runs->kept++;
        }
        ret = run ? 0 : -ENOMEM;
    } else if (runs->spill.fd < 0) {
        ret = spill_open(&runs->spill, runs->dir);
    }
    pthread_mutex_unlock(&runs->lock);
    if (*kept && !ret) {
        feed->chunk = (Chunk) { 0 };
    }
    return ret;
}

static int spill(Feed *feed)
{
    Runs *runs = feed->runs;
    uint64_t offset, len;
    int ret = spill_chunk(&runs->spill, &feed->chunk, &offset, &len);
    Run *run;

    if (ret) {
        return ret;
    }
    pthread_mutex_lock(&runs->lock);
    run = add_run(runs);
    if (run) {
        run->offset = offset;
        run->len = len;
    }
    pthread_mutex_unlock(&runs->lock);
    return run ? 0 : -ENOMEM;
}

static int sort(Feed *feed)
{
    size_t need = (feed->chunk.count + 1) / 2;

    if (feed->scratch_count < need) {
        ChunkEntry *more = realloc(feed->scratch, need * sizeof(*more));

        if (!more) {
            return -ENOMEM;
        }
        feed->scratch = more;
        feed->scratch_count = need;
    }
    chunk_sort(&feed->chunk, feed->scratch);
    return 0;
}

static int hand_over(Feed *feed)
{
    bool kept = false;
    int ret;

    chunk_close(&feed->chunk);
    ret = sort(feed);
    ret = ret ? ret : keep(feed, &kept);
    if (ret || kept) {
        return ret;
    }
    ret = spill(feed);
    chunk_clear(&feed->chunk);
    return ret;
}

int feed_init(Feed *feed, Runs *runs, unsigned above)
{
    *feed = (Feed) { .runs = runs, .above = above };
    return chunk_init(&feed->chunk, runs->chunk_size) ? 0 : -ENOMEM;
}

int feed_add(Feed *feed, const ChunkRecord *record)
{
    feed->records++;
    while (!chunk_add(&feed->chunk, record, feed->above)) {
        int ret = hand_over(feed);

        if (ret) {
            return ret;
        }
        if (!feed->chunk.base &&
            !chunk_init(&feed->chunk, feed->runs->chunk_size)) {
            return -ENOMEM;
        }
    }
    return 0;
}

int feed_finish(Feed *feed)
{
    pthread_mutex_lock(&feed->runs->lock);
    feed->runs->records += feed->records;
    pthread_mutex_unlock(&feed->runs->lock);
    return feed->chunk.count ? hand_over(feed) : 0;
}

void feed_destroy(Feed *feed)
{
    chunk_destroy(&feed->chunk);
    free(feed->scratch);
}
