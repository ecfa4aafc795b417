/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random commands and frames: CVSW's flow table behaves as the naive one */
#include "tests/fixtures/cvsw-play.h"

/* Limits that are often reached, and others that are not. */
static const struct Limits {
    unsigned entries, masks;
} small = { 12, 5 }, few_entries = { 12, 1000 }, few_masks = { 300, 5 },
  wide = { 300, 1000 };

static void test_play(const void *data)
{
    const struct Limits *limits = data;

    for (unsigned seed = 0; seed < 2; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Play play = { .source.rand = rand };

        play_begin(&play, limits->entries, limits->masks);
        for (unsigned i = 0; i < 3000; i++) {
            play_step(&play);
        }
        play_end(&play);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/cvsw/play/small", &small, test_play);
    g_test_add_data_func("/cvsw/play/few-entries", &few_entries, test_play);
    g_test_add_data_func("/cvsw/play/few-masks", &few_masks, test_play);
    g_test_add_data_func("/cvsw/play/wide", &wide, test_play);
    return g_test_run();
}
