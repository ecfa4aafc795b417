/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All runs as one, in the order of names */
#ifndef DNSD_ZONE_MERGE_H
#define DNSD_ZONE_MERGE_H

#include "dnsd/zone/runs.h"

typedef struct Source {
    Run *run;
    const Bundle *bundle;       /* the next one; NULL: no more */
    uint64_t prefix;
    /* entry of the chunk; or offset in the buffer */
    size_t next;
    uint8_t *buffer;            /* of a run in the file */
    size_t held;                /* octets in the buffer */
    uint64_t read;              /* octets of the run that were read */
} Source;

typedef struct Merge {
    const Spill *spill;
    Source *source;
    Source **heap;
    size_t sources;
    size_t heaped;
    size_t buffer_len;          /* for each run in the file */
    bool begun;
} Merge;

/**
 * merge_init: begin at the first bundle
 * @runs: complete, and must outlive it; of each, the memory is freed behind the
 * last bundle
 *
 * Returns: 0 or a negative errno.
 */
int merge_init(Merge *merge, Runs *runs);

void merge_destroy(Merge *merge);

/**
 * merge_next: read the next bundle
 *
 * Bundles with the same name come in the order of the input.
 *
 * Returns: 1, and *bundle is valid until the next call; 0 behind the last
 * bundle; or a negative errno.
 */
int merge_next(Merge *merge, const Bundle **bundle);

#endif /* DNSD_ZONE_MERGE_H */
