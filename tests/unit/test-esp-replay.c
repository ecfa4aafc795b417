/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The anti-replay window, compared with a list of all accepted numbers */
#include <glib.h>
#include <string.h>

#include "net/esp/replay.h"

static const uint32_t sizes[] = { 64, 128, 320, 1024 };

/* As a packet with a good ICV: checked with its low half, then accepted. */
static bool take(EspReplay *r, uint64_t sequence)
{
    uint64_t found;

    if (!esp_replay_check(r, sequence, &found) || found != sequence) {
        return false;
    }
    esp_replay_accept(r, sequence);
    return true;
}

/* A window with only the highest number @top. */
static void at(EspReplay *r, uint32_t size, bool esn, uint64_t top)
{
    EspReplayState state = { .top = top, .seen = { 1 } };

    g_assert_true(esp_replay_init(r, size, esn));
    g_assert_true(esp_replay_load(r, &state));
}

static void test_sizes(void)
{
    static const uint32_t bad[] = { 1, 32, 63, 65, 100, 1025, 1088, 1u << 31 };
    EspReplay r;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(esp_replay_init(&r, bad[i], false));
    }
    g_assert_true(esp_replay_init(&r, 0, false));
    g_assert_false(esp_replay_init(&r, 0, true));
}

static void test_table(void)
{
    static const struct {
        uint64_t sequence;
        bool is_new;
    } steps[] = {
        { 0, false }, { 1, true }, { 1, false }, { 3, true }, { 2, true },
        { 2, false }, { 64, true }, { 65, true }, { 66, true },
        /* 1 to 2 have left it; 3 is its bottom, and seen; 4 is not */
        { 1, false }, { 3, false }, { 4, true }, { 4, false },
        { 66 + 63, true }, { 66, false }, { 67, true },
        { 66 + 63 + 64, true }, { 66 + 63, false }, { 66 + 64, true },
        { 1000000, true }, { 1000000 - 64, false }, { 1000000 - 63, true },
        { 1000000 - 63, false }, { 1000000, false },
        { UINT32_MAX - 1, true }, { UINT32_MAX, true }, { UINT32_MAX, false },
        { UINT32_MAX - 1, false }, { UINT32_MAX - 2, true },
        /* numbers never begin again */
        { 0, false }, { 1, false },
    };
    EspReplay r;

    g_assert_true(esp_replay_init(&r, 64, false));
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_test_message("number %" G_GUINT64_FORMAT, steps[i].sequence);
        g_assert_cmpint(take(&r, steps[i].sequence), ==, steps[i].is_new);
    }
}

/* An unauthenticated packet with any number changes nothing. */
static void test_check_changes_nothing(void)
{
    EspReplay r, before;
    uint64_t found;

    for (int esn = 0; esn < 2; esn++) {
        at(&r, 128, esn, 5000);
        before = r;
        for (uint64_t n = 0; n < 1ull << 32; n += 65521) {
            esp_replay_check(&r, n, &found);
        }
        g_assert_cmpmem(&r, sizeof(r), &before, sizeof(before));
    }
}

/* Appendix A2: the upper half of a number, and whether it may be new. */
static void test_upper_half(void)
{
    static const struct {
        uint64_t top;
        uint32_t low;
        uint64_t sequence;
        bool is_new;
    } rows[] = {
        /* case A: the window in one subspace */
        { 0x500000100, 0x100, 0x500000100, false },
        { 0x500000100, 0x0ff, 0x5000000ff, true },
        { 0x500000100, 0x0c1, 0x5000000c1, true },      /* its bottom */
        { 0x500000100, 0x0c0, 0x6000000c0, true },      /* the next one's */
        { 0x500000100, 0x101, 0x500000101, true },
        { 0x500000100, 0xffffffff, 0x5ffffffff, true },
        { 0x500000100, 0, 0x600000000, true },
        { 0x50000003f, 0, 0x500000000, true },          /* begins with it */
        { 0x5ffffffff, 0, 0x600000000, true },
        { 0x5ffffffff, 0xffffffc0, 0x5ffffffc0, true },
        { 0x5ffffffff, 0xffffffbf, 0x6ffffffbf, true },
        /* case B: in two */
        { 0x50000003e, 0xffffffff, 0x4ffffffff, true },
        { 0x500000000, 0xffffffff, 0x4ffffffff, true },
        { 0x500000000, 0xffffffc1, 0x4ffffffc1, true },
        { 0x500000000, 0xffffffc0, 0x5ffffffc0, true },
        { 0x500000000, 0, 0x500000000, false },
        { 0x500000000, 1, 0x500000001, true },
        /* at the beginning there is no subspace before */
        { 1, 0, 0, false },
        { 1, 2, 2, true },
        { 1, 0xffffffff, 0xffffffff, true },
        { 62, 0xffffffff, 0xffffffff, true },
        /* and at the end none behind */
        { 0xffffffffffffffff, 0xfffffffe, 0xfffffffffffffffe, true },
        { 0xffffffffffffffff, 0xffffffff, 0xffffffffffffffff, false },
    };
    uint64_t found;
    EspReplay r;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("top %" G_GINT64_MODIFIER "x, low %x", rows[i].top,
                       rows[i].low);
        at(&r, 64, true, rows[i].top);
        g_assert_cmpint(esp_replay_check(&r, rows[i].low, &found), ==,
                        rows[i].is_new);
        g_assert_cmphex(found, ==, rows[i].sequence);
    }
    at(&r, 64, true, UINT64_MAX);
    g_assert_false(esp_replay_check(&r, 0, &found));
}

/* Every number around a step of the upper half comes once, in any order. */
static void test_across_2_32(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        uint64_t first = 0x2ffffff00 - sizes[i], last = 0x300000100;
        int32_t half = sizes[i] / 2;
        EspReplay r;

        at(&r, sizes[i], true, first - 1);
        for (uint64_t n = first; n < last; n += half) {
            for (int32_t k = half - 1; k >= 0; k--) {
                g_assert_true(take(&r, n + k));
                g_assert_false(take(&r, n + k));
            }
            for (int32_t k = 0; k < half; k++) {
                g_assert_false(take(&r, n + k));
            }
        }
    }
}

/* A plain list of everything that was accepted. */
static void against_list(uint32_t size, bool esn, uint64_t start, GRand *rand)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, g_free, NULL);
    uint64_t top = start, n;
    bool is_new;
    EspReplay r;

    at(&r, size, esn, start);
    g_hash_table_add(seen, g_memdup2(&start, sizeof(start)));
    for (int i = 0; i < 20000; i++) {
        n = g_rand_int_range(rand, 0, 50) ?
            top + g_rand_int_range(rand, 0, 3 * size / 2) - size - size / 4 :
            top + g_rand_int_range(rand, 0, 5 * size);
        if (n > top + 5 * size || (!esn && n > UINT32_MAX)) {
            continue;           /* below 0, or too far */
        }
        is_new = n && (n > top || top - n < size) &&
                 !g_hash_table_contains(seen, &n);
        g_assert_cmpint(take(&r, n), ==, is_new);
        if (is_new) {
            g_hash_table_add(seen, g_memdup2(&n, sizeof(n)));
            top = MAX(top, n);
        }
        g_assert_cmpint(r.top, ==, top);
    }
}

static void test_against_list(void)
{
    static const uint64_t starts[] = {
        1, 0xffff0000, 0xfffffff0, 0x7fffff800,
    };
    g_autoptr(GRand) rand = g_rand_new_with_seed(4303);

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(starts); j++) {
            against_list(sizes[i], true, starts[j], rand);
            if (starts[j] <= UINT32_MAX) {
                against_list(sizes[i], false, starts[j], rand);
            }
        }
    }
}

static void test_no_window(void)
{
    EspReplay r;
    uint64_t n;

    g_assert_true(esp_replay_init(&r, 0, false));
    for (int i = 0; i < 2; i++) {
        for (uint32_t low = 0; low < 200; low++) {
            g_assert_true(esp_replay_check(&r, low, &n));
            esp_replay_accept(&r, n);
        }
    }
    g_assert_cmpint(r.top, ==, 199);
}

/* A migrated window gives the same verdict for every number, at any size. */
static void travel(uint32_t from, uint32_t to, uint64_t top, GRand *rand)
{
    EspReplayState state;
    uint64_t found;
    EspReplay a, b;

    at(&a, from, true, top - 600);
    for (int i = 0; i < 400; i++) {
        take(&a, top - g_rand_int_range(rand, 0, 600));
    }
    esp_replay_save(&a, &state);
    g_assert_true(esp_replay_init(&b, to, true));
    g_assert_true(esp_replay_load(&b, &state));
    g_assert_cmpint(a.top, ==, b.top);
    for (uint64_t n = a.top + 10; n > a.top - MIN(from, to); n--) {
        g_assert_cmpint(esp_replay_check(&a, n, &found), ==,
                        esp_replay_check(&b, n, &found));
    }
    /* The larger window treats numbers below the smaller one as seen. */
    for (uint64_t n = a.top - MIN(from, to); n > a.top - to; n--) {
        g_assert_false(esp_replay_check(&b, n, &found) && found == n);
    }
}

static void test_travel(void)
{
    static const uint64_t tops[] = { 700, 0x100000010, 0x1ffffffff };
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(sizes); j++) {
            for (size_t k = 0; k < G_N_ELEMENTS(tops); k++) {
                travel(sizes[i], sizes[j], tops[k], rand);
            }
        }
    }
}

/* The result contains both windows, in either order. */
static void test_load_never_goes_back(void)
{
    static const int64_t ahead[] = {
        -5000, -1100, -100, -10, 0, 10, 100, 5000,
    };
    EspReplayState state;
    EspReplay a, b;

    for (size_t i = 0; i < G_N_ELEMENTS(ahead); i++) {
        uint64_t top = 1ull << 32;

        at(&a, 1024, true, top + ahead[i]);
        at(&b, 128, true, top);
        take(&a, top + ahead[i] - 3);
        take(&b, top - 5);
        esp_replay_save(&a, &state);
        g_assert_true(esp_replay_load(&b, &state));
        g_assert_cmpint(b.top, ==, MAX(top, top + ahead[i]));
        g_assert_false(take(&b, top));
        g_assert_false(take(&b, top - 5));
        g_assert_false(take(&b, top + ahead[i]));
        g_assert_false(take(&b, top + ahead[i] - 3));
        g_assert_true(take(&b, b.top - 1));
        g_assert_true(take(&b, b.top + 1));
    }
}

static void test_load_refused(void)
{
    EspReplayState state = { .top = 1ull << 32 };
    EspReplay r, before;

    at(&r, 64, false, 7);
    before = r;
    g_assert_false(esp_replay_load(&r, &state));
    g_assert_cmpmem(&r, sizeof(r), &before, sizeof(before));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/esp/replay/sizes", test_sizes);
    g_test_add_func("/esp/replay/table", test_table);
    g_test_add_func("/esp/replay/check-changes-nothing",
                    test_check_changes_nothing);
    g_test_add_func("/esp/replay/upper-half", test_upper_half);
    g_test_add_func("/esp/replay/across-2-32", test_across_2_32);
    g_test_add_func("/esp/replay/against-list", test_against_list);
    g_test_add_func("/esp/replay/no-window", test_no_window);
    g_test_add_func("/esp/replay/travel", test_travel);
    g_test_add_func("/esp/replay/load-never-goes-back",
                    test_load_never_goes_back);
    g_test_add_func("/esp/replay/load-refused", test_load_refused);
    return g_test_run();
}
