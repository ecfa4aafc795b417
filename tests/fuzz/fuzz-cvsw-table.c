/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands and frames for CVSW's flow table, which must behave as the naive one
 *
 * The first octet is how many entries there may be, the second how many masks;
 * the others choose what is done (tests/fixtures/cvsw-play.c).
 */
#include "tests/fixtures/cvsw-play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Play play = { .source = { NULL, data, size } };
    unsigned entries = 1 + play_choose(&play.source, 32);
    unsigned masks = 1 + play_choose(&play.source, 16);

    play_begin(&play, entries, masks);
    while (play.source.size) {
        play_step(&play);
    }
    play_end(&play);
    return 0;
}
