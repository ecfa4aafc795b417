/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The moment of a stamp, whatever the host's clock is set to meanwhile
 */

#include <glib.h>

#include "base/units.h"
#include "hw/vmrpc/wire/clock.h"

#define S               SECOND

/* Real time less monotonic time, about. */
#define OFFSET          (1700000000 * S)

static int64_t age(const VmrpcClock *clock, int64_t stamp)
{
    return clock->seen - vmrpc_clock_moment(clock, stamp / S, stamp % S);
}

static void test_age(void)
{
    VmrpcClock clock = { };
    int64_t real = OFFSET + 100 * S;

    vmrpc_clock_see(&clock, real, 100 * S);
    g_assert_cmpint(age(&clock, real), ==, 0);
    g_assert_cmpint(age(&clock, real - 1), ==, 1);
    g_assert_cmpint(age(&clock, real - 70 * S - 5), ==, 70 * S + 5);
    /* there is nothing before the machine */
    g_assert_cmpint(age(&clock, real - 1000 * S), ==, 100 * S - 1);
    vmrpc_clock_see(&clock, real + 7 * S, 107 * S);
    g_assert_cmpint(age(&clock, real), ==, 7 * S);
    /* two readings are not of the same moment quite */
    vmrpc_clock_see(&clock, real + 8 * S - MS / 2, 108 * S);
    g_assert_cmpint(age(&clock, real + 8 * S), ==, 0);
    g_assert_cmpint(age(&clock, real + 7 * S), ==, 1 * S - MS / 2);
}

/* A stamp of 1 s before a step of the host's clock, and one of 1 s after. */
static void step(int64_t by)
{
    VmrpcClock clock = { };
    int64_t before = OFFSET + 100 * S, after = OFFSET + 103 * S + by;

    vmrpc_clock_see(&clock, OFFSET + 90 * S, 90 * S);
    vmrpc_clock_see(&clock, OFFSET + 101 * S, 101 * S);
    /* at 102 s it is set */
    vmrpc_clock_see(&clock, OFFSET + 104 * S + by, 104 * S);
    g_assert_cmpint(age(&clock, before), ==, 4 * S);
    g_assert_cmpint(age(&clock, after), ==, 1 * S);
    vmrpc_clock_see(&clock, OFFSET + 110 * S + by, 110 * S);
    g_assert_cmpint(age(&clock, before), ==, 10 * S);
    g_assert_cmpint(age(&clock, after), ==, 7 * S);
}

static void test_step(void)
{
    static const int64_t by[] = { 4, 30, 3600, 1000000, -30, -3600, -1000000 };

    for (size_t i = 0; i < G_N_ELEMENTS(by); i++) {
        step(by[i] * S);
    }
}

/* Less than the time for which nobody has looked: wrong by it at most. */
static void test_small_step(void)
{
    static const int64_t by[] = { 2 * MS, S / 2, -2 * MS, -S / 2 };

    for (size_t i = 0; i < G_N_ELEMENTS(by); i++) {
        VmrpcClock clock = { };
        int64_t got;

        vmrpc_clock_see(&clock, OFFSET + 100 * S, 100 * S);
        vmrpc_clock_see(&clock, OFFSET + 110 * S + by[i], 110 * S);
        got = age(&clock, OFFSET + 105 * S);
        g_assert_cmpint(ABS(got - 5 * S), <=, ABS(by[i]));
    }
}

/* Each step is the latest for those who come after it. */
static void test_steps(void)
{
    VmrpcClock clock = { };
    int64_t offset = OFFSET;

    vmrpc_clock_see(&clock, offset + 1 * S, 1 * S);
    for (int64_t now = 2; now < 100; now++) {
        int64_t stamp = offset + now * S - S / 4;

        vmrpc_clock_see(&clock, offset + now * S, now * S);
        g_assert_cmpint(age(&clock, stamp), ==, S / 4);
        offset += (now % 2 ? 3600 : -60) * S;
        vmrpc_clock_see(&clock, offset + now * S + S / 2, now * S + S / 2);
        g_assert_cmpint(age(&clock, stamp), ==, S * 3 / 4);
    }
}

static void assert_bounded(const VmrpcClock *clock, int64_t s, int64_t ns)
{
    int64_t moment = vmrpc_clock_moment(clock, s, ns);

    g_assert_cmpint(moment, >=, 1);
    g_assert_cmpint(moment, <=, clock->seen);
}

/* Nothing that a stamp could be leads out of the range. */
static void test_extremes(void)
{
    static const int64_t value[] = {
        INT64_MIN, INT64_MIN + 1, -S, -1, 0, 1, S - 1, S, INT64_MAX / 2,
        INT64_MAX - 1, INT64_MAX,
    };
    static const int64_t real[] = { 0, 1, OFFSET, INT64_MAX / 2 };
    static const int64_t mono[] = { 1, 2, 1000 * S, INT64_MAX / 4 };
    enum { N = G_N_ELEMENTS(value) };

    for (size_t i = 0; i < G_N_ELEMENTS(real) * G_N_ELEMENTS(mono); i++) {
        VmrpcClock clock = { };

        vmrpc_clock_see(&clock, real[i / 4], mono[i % 4]);
        for (size_t k = 0; k < N * N; k++) {
            assert_bounded(&clock, value[k / N], value[k % N]);
        }
        vmrpc_clock_see(&clock, real[3 - i / 4], mono[i % 4]);
        for (size_t k = 0; k < N * N; k++) {
            assert_bounded(&clock, value[k / N], value[k % N]);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/age", test_age);
    g_test_add_func("/clock/step", test_step);
    g_test_add_func("/clock/small-step", test_small_step);
    g_test_add_func("/clock/steps", test_steps);
    g_test_add_func("/clock/extremes", test_extremes);
    return g_test_run();
}
