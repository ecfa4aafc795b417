/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorted runs of the input, in memory, and in a file if memory is short
 *
 * Each thread that reads input has a feed of its own; all share the runs.
 */
#ifndef DNSD_ZONE_RUNS_H
#define DNSD_ZONE_RUNS_H

#include <pthread.h>

#include "dnsd/zone/spill.h"

#define RUNS_MEMORY_MIN     (16u << 20)

typedef struct Run {
    Chunk chunk;                /* base is NULL if the run is in the file */
    uint64_t offset;
    uint64_t len;
} Run;

typedef struct Runs {
    pthread_mutex_t lock;
    Run *run;
    size_t count;
    size_t room;
    Spill spill;
    const char *dir;
    uint64_t memory;
    size_t chunk_size;
    size_t kept_max;            /* limit of the runs in memory */
    size_t kept;
    uint64_t bundles;
    uint64_t records;
} Runs;

typedef struct Feed {
    Runs *runs;
    unsigned above;             /* labels of the origin */
    Chunk chunk;
    ChunkEntry *scratch;
    size_t scratch_count;
    uint64_t records;
} Feed;

/**
 * runs_init: begin the runs of @feeds feeds
 * @memory: octets that the runs may take; RUNS_MEMORY_MIN or more
 * @dir: the folder of the file; must outlive the runs
 */
void runs_init(Runs *runs, uint64_t memory, unsigned feeds, const char *dir);

void runs_destroy(Runs *runs);

/** feed_init: @above is the labels of the origin; 0 or -ENOMEM */
int feed_init(Feed *feed, Runs *runs, unsigned above);

/** feed_add: add a record within the origin; 0 or a negative errno */
int feed_add(Feed *feed, const ChunkRecord *record);

/** feed_finish: make a run of the remaining records; 0 or a negative errno */
int feed_finish(Feed *feed);

void feed_destroy(Feed *feed);

#endif /* DNSD_ZONE_RUNS_H */
