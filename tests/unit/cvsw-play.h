/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random commands and frames, for CVSW's flow table and the naive one at once
 */
#ifndef TESTS_UNIT_CVSW_PLAY_H
#define TESTS_UNIT_CVSW_PLAY_H

#include "tests/unit/cvsw-naive.h"

/* The source of choices: octets as long as there are any, or random numbers. */
typedef struct PlaySource {
    GRand *rand;                /* NULL: of @data */
    const uint8_t *data;
    size_t size;
} PlaySource;

typedef struct Play {
    PlaySource source;
    CvswTable *table;
    NaiveTable *naive;
    GArray *removed;            /* NaiveRemoved: what @table has told */
    uint64_t now_ms;
} Play;

/** play_choose: a number below @num; 0 once the octets are used up */
unsigned play_choose(PlaySource *source, unsigned num);

/**
 * play_flow: a frame with few addresses and numbers, so that many match
 *
 * Headers may be missing, and frames may be later fragments.
 */
void play_flow(PlaySource *source, PacketFlow *flow);

/** play_match: some fields of a frame, with their prerequisites */
void play_match(PlaySource *source, NaiveFields *match,
                const NaiveFields *frame);

/** play_begin: empty tables; all of @play but its source is set */
void play_begin(Play *play, unsigned entries_max, unsigned masks_max);

/** play_step: do one operation with both, and compare the results */
void play_step(Play *play);

/** play_end: compare all entries, and free both tables */
void play_end(Play *play);

#endif /* TESTS_UNIT_CVSW_PLAY_H */
