/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much one VM may take of the host, in virtual time */

#include <glib.h>

#include "hw/vmrpc/policy/limits.h"

#define LEAST VMRPC_LIMITS_BUFFER_LEAST
#define MIB   (UINT64_C(1) << 20)
#define S     1000000           /* microseconds */

static VmrpcLimits with_rate(uint32_t per_s, uint32_t burst, int64_t now)
{
    VmrpcLimitsConfig config = { .connections = { per_s, burst } };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, now);
    return limits;
}

static VmrpcLimits with_buffers(uint64_t bytes)
{
    VmrpcLimitsConfig config = { .buffers = bytes };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, 0);
    return limits;
}

/* How many of @tries connections at @now are let through. */
static unsigned passed(VmrpcLimits *limits, unsigned tries, int64_t now)
{
    unsigned n = 0;

    while (tries--) {
        n += vmrpc_limits_connection(limits, now);
    }
    return n;
}

static void test_none(void)
{
    VmrpcLimits limits;
    int i;

    vmrpc_limits_init(&limits, NULL, 0);
    for (i = 0; i < 5000; i++) {
        g_assert_true(vmrpc_limits_connection(&limits, 0));
        g_assert_true(vmrpc_limits_dns(&limits, 0));
        g_assert_true(vmrpc_limits_socket(&limits, UINT32_MAX));
        g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, UINT32_MAX), ==,
                         UINT32_MAX);
    }
    g_assert_cmpuint(limits.buffers, ==, UINT64_C(5000) * UINT32_MAX);
}

/* A burst, then what the rate gives, exactly. */
static void test_rate(void)
{
    VmrpcLimits limits = with_rate(500, 1000, 7);

    g_assert_cmpuint(passed(&limits, 3000, 7), ==, 1000);
    g_assert_cmpuint(passed(&limits, 10, 7 + 1999), ==, 0);
    g_assert_cmpuint(passed(&limits, 10, 7 + 2000), ==, 1);
    g_assert_cmpuint(passed(&limits, 1000, 7 + 102000), ==, 50);
    /* never more than a burst, after any pause */
    g_assert_cmpuint(passed(&limits, 3000, 1000 * S), ==, 1000);
    g_assert_cmpuint(passed(&limits, 3000, 1002 * S - 1), ==, 999);
}

/* No rounding: who asks all the time gets all of the rate, at any rate. */
static void test_rate_exact(void)
{
    static const uint32_t rates[] = { 1, 3, 7, 333, 1000, 1001, 99991, 999983,
                                      VMRPC_LIMITS_MAX_RATE };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(rates); i++) {
        uint64_t rate = rates[i], burst = rate / 500 + 2;
        VmrpcLimits limits = with_rate(rate, burst, 0);
        uint64_t total = passed(&limits, 2 * burst, 0);
        int64_t now;

        g_assert_cmpuint(total, ==, burst);
        for (now = 997; now <= 3 * S; now += 997) {
            total += passed(&limits, rate / 1000 + 2, now);
            g_assert_cmpuint(total, ==, burst + rate * now / S);
        }
    }
}

/* A burst of 1 slows nobody down who keeps to the rate. */
static void test_rate_even(void)
{
    VmrpcLimits limits = with_rate(999, 1, 0);
    unsigned total = 0;
    int64_t now;

    for (now = 0; now < 10 * S; now++) {
        total += vmrpc_limits_connection(&limits, now);
    }
    g_assert_cmpuint(total, >=, 9980);
    g_assert_cmpuint(total, <=, 9991);
}

/*
 * Whatever the guest's timing: in any span of t seconds at most burst +
 * per_s * t pass.
 */
static void test_rate_any_time(void)
{
    enum { EVENTS = 400 };
    static int64_t at[EVENTS];
    VmrpcLimits limits = with_rate(37, 11, 0);
    int i, j, n = 0;
    int64_t now = 0;

    while (n < EVENTS) {
        now += g_test_rand_int_range(0, 8) ? g_test_rand_int_range(0, 40000)
                                           : g_test_rand_int_range(0, 900000);
        if (vmrpc_limits_connection(&limits, now)) {
            at[n++] = now;
        }
    }
    for (i = 0; i < EVENTS; i++) {
        for (j = i; j < EVENTS; j++) {
            g_assert_cmpint(j - i + 1, <=, 11 + (at[j] - at[i]) * 37 / S);
        }
    }
}

/* Clocks and times that could break the arithmetic. */
static void test_time(void)
{
    VmrpcLimits limits = with_rate(10, 5, S);

    /* back: nothing is given, nothing is lost, and no time counts twice */
    g_assert_cmpuint(passed(&limits, 9, S), ==, 5);
    g_assert_cmpuint(passed(&limits, 9, S + 100000), ==, 1);
    g_assert_cmpuint(passed(&limits, 9, 0), ==, 0);
    g_assert_cmpuint(passed(&limits, 9, INT64_MIN), ==, 0);
    g_assert_cmpuint(passed(&limits, 9, S + 100000), ==, 0);
    g_assert_cmpuint(passed(&limits, 9, S + 200000), ==, 1);

    /* the longest pause there is */
    limits = with_rate(VMRPC_LIMITS_MAX_RATE, VMRPC_LIMITS_MAX_RATE,
                       INT64_MIN);
    g_assert_cmpuint(passed(&limits, 2 * VMRPC_LIMITS_MAX_RATE, INT64_MIN),
                     ==, VMRPC_LIMITS_MAX_RATE);
    g_assert_cmpuint(passed(&limits, 2 * VMRPC_LIMITS_MAX_RATE, INT64_MAX),
                     ==, VMRPC_LIMITS_MAX_RATE);
    /* a token that is not whole yet */
    limits = with_rate(999983, 1, 0);
    g_assert_cmpuint(passed(&limits, 5, 0), ==, 1);
    g_assert_cmpuint(passed(&limits, 5, 1), ==, 0);
    g_assert_cmpuint(passed(&limits, 5, 2), ==, 1);
    limits = with_rate(1, 1, -5);
    g_assert_cmpuint(passed(&limits, 5, -5), ==, 1);
    g_assert_cmpuint(passed(&limits, 5, S - 6), ==, 0);
    g_assert_cmpuint(passed(&limits, 5, S - 5), ==, 1);
}

static void test_dns(void)
{
    VmrpcLimitsConfig config = { .connections = { 1, 1 }, .dns = { 100, 2 } };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, 0);
    g_assert_true(vmrpc_limits_dns(&limits, 0));
    g_assert_true(vmrpc_limits_dns(&limits, 0));
    g_assert_false(vmrpc_limits_dns(&limits, 9999));
    g_assert_true(vmrpc_limits_dns(&limits, 10000));
    /* each has a bucket of its own */
    g_assert_cmpuint(passed(&limits, 2, 10000), ==, 1);
}

static void test_sockets(void)
{
    VmrpcLimitsConfig config = { .sockets = 3 };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, 0);
    g_assert_true(vmrpc_limits_socket(&limits, 0));
    g_assert_true(vmrpc_limits_socket(&limits, 2));
    g_assert_false(vmrpc_limits_socket(&limits, 3));
    g_assert_false(vmrpc_limits_socket(&limits, UINT32_MAX));
}

static void test_buffers(void)
{
    VmrpcLimits limits = with_buffers(1 * MIB);

    /* as asked, as long as there is room */
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 600000), ==, 600000);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 400000), ==, 400000);
    /* the rest of it */
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 100000), ==, 48576);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 1), ==, 0);
    /* one that cannot grow keeps what it has; one can always get smaller */
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 48576, 48577), ==, 48576);
    g_assert_cmpuint(limits.buffers, ==, 1 * MIB);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 600000, 500000), ==,
                     500000);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 400000, 600000), ==,
                     500000);
    /* all is given back */
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 500000, 0), ==, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 500000, 0), ==, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 48576, 0), ==, 0);
    g_assert_cmpuint(limits.buffers, ==, 0);
}

/* What is left must be of some use to a new socket. */
static void test_buffers_least(void)
{
    VmrpcLimits limits = with_buffers(64 * 1024);
    uint64_t most = 64 * 1024 - LEAST;

    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, most), ==, most);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 1 * MIB), ==, LEAST);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, LEAST, 0), ==, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, most, most + 1), ==,
                     most + 1);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 1 * MIB), ==, 0);
    /* who asks for less than that gets it */
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, LEAST - 1), ==,
                     LEAST - 1);
    g_assert_cmpuint(limits.buffers, ==, 64 * 1024);
}

/* Whatever is asked for, the sum is right and within the limit. */
static void test_buffers_random(void)
{
    VmrpcLimits limits = with_buffers(10 * MIB);
    uint64_t held[64] = { 0 };
    int i;

    for (i = 0; i < 20000; i++) {
        int n = g_test_rand_int_range(0, G_N_ELEMENTS(held));
        uint64_t asked = g_test_rand_int_range(0, 4) ?
                         g_test_rand_int_range(0, 1 << 20) : 0;
        uint64_t before = held[n], sum = 0;
        size_t j;

        held[n] = vmrpc_limits_buffer(&limits, before, asked);
        g_assert_cmpuint(held[n], <=, MAX(before, asked));
        g_assert_cmpuint(held[n], >=, MIN(before, asked));
        for (j = 0; j < G_N_ELEMENTS(held); j++) {
            sum += held[j];
        }
        g_assert_cmpuint(limits.buffers, ==, sum);
        g_assert_cmpuint(sum, <=, 10 * MIB);
    }
}

/* A reload. */
static void test_change(void)
{
    VmrpcLimitsConfig config = { .connections = { 10, 100 },
                                 .sockets = 10, .buffers = 1 * MIB };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, NULL, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 2 * MIB), ==, 2 * MIB);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, 4 * MIB), ==, 4 * MIB);

    /* limits that come: a whole burst, and what is held stays held */
    vmrpc_limits_change(&limits, &config, 5);
    g_assert_cmpuint(passed(&limits, 40, 5), ==, 40);
    g_assert_false(vmrpc_limits_socket(&limits, 11));
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, LEAST), ==, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 4 * MIB, 3 * MIB), ==,
                     3 * MIB);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 3 * MIB, 0), ==, 0);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 2 * MIB, 3 * MIB), ==,
                     2 * MIB);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 2 * MIB, MIB / 2), ==,
                     MIB / 2);
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, MIB), ==, MIB / 2);

    /* the same again changes nothing; time until now counts at the old rate */
    vmrpc_limits_change(&limits, &config, 5);
    config.connections = (VmrpcRate) { 1, 1000 };
    vmrpc_limits_change(&limits, &config, 5 + S);
    g_assert_cmpuint(passed(&limits, 200, 5 + S), ==, 60 + 10);
    g_assert_cmpuint(passed(&limits, 200, 5 + 2 * S), ==, 1);

    /* a smaller burst takes what is above it */
    config.connections = (VmrpcRate) { 1000, 1000 };
    vmrpc_limits_change(&limits, &config, 5 + 2 * S);
    config.connections = (VmrpcRate) { 1000, 3 };
    vmrpc_limits_change(&limits, &config, 5 + 3 * S);
    g_assert_cmpuint(passed(&limits, 200, 5 + 3 * S), ==, 3);

    /* limits that go, and come back */
    vmrpc_limits_change(&limits, NULL, 5 + 3 * S);
    g_assert_cmpuint(passed(&limits, 5000, 5 + 3 * S), ==, 5000);
    g_assert_true(vmrpc_limits_socket(&limits, 11));
    g_assert_cmpuint(vmrpc_limits_buffer(&limits, 0, MIB), ==, MIB);
    vmrpc_limits_change(&limits, &config, 5 + 3 * S);
    g_assert_cmpuint(passed(&limits, 5000, 5 + 3 * S), ==, 3);
}

/* Octets: one call may overdraw; then all wait until the debt has passed. */
static void test_flow(void)
{
    VmrpcLimitsConfig config = {
        .flow[VMRPC_FLOW_SENT] = { .per_s = MIB, .burst = 2 * MIB },
    };
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, 0);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, 0), ==, 0);
    vmrpc_limits_passed(&limits, VMRPC_FLOW_SENT, 2 * MIB - 1);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, 0), ==, 0);
    vmrpc_limits_passed(&limits, VMRPC_FLOW_SENT, MIB + 1);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, 0), ==,
                    S + 1);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, S / 4), ==,
                    3 * S / 4 + 1);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, S), ==, 1);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, S + 1), ==,
                    0);
    /* The other direction is free. */
    vmrpc_limits_passed(&limits, VMRPC_FLOW_RECEIVED, UINT32_MAX);
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_RECEIVED, 0), ==,
                    0);
}

/* The fastest, and a VM that was paused for years: nothing overflows. */
static void test_flow_extremes(void)
{
    VmrpcRate most = { VMRPC_LIMITS_MAX_BUFFERS, VMRPC_LIMITS_MAX_BUFFERS };
    VmrpcLimitsConfig config = { .flow = { most, most } };
    int64_t year = INT64_C(365) * 86400 * S;
    VmrpcLimits limits;

    vmrpc_limits_init(&limits, &config, 1);
    for (int i = 0; i < 5; i++) {
        vmrpc_limits_passed(&limits, VMRPC_FLOW_SENT, UINT32_MAX);
    }
    g_assert_cmpint(vmrpc_limits_wait_us(&limits, VMRPC_FLOW_SENT, 100 * year),
                    ==, 0);
    g_assert_cmpint(limits.flow[VMRPC_FLOW_SENT].level, ==,
                    (int64_t)(VMRPC_LIMITS_MAX_BUFFERS * S));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/limits/none", test_none);
    g_test_add_func("/limits/rate", test_rate);
    g_test_add_func("/limits/rate-exact", test_rate_exact);
    g_test_add_func("/limits/rate-even", test_rate_even);
    g_test_add_func("/limits/rate-any-time", test_rate_any_time);
    g_test_add_func("/limits/time", test_time);
    g_test_add_func("/limits/dns", test_dns);
    g_test_add_func("/limits/sockets", test_sockets);
    g_test_add_func("/limits/buffers", test_buffers);
    g_test_add_func("/limits/buffers-least", test_buffers_least);
    g_test_add_func("/limits/buffers-random", test_buffers_random);
    g_test_add_func("/limits/change", test_change);
    g_test_add_func("/vmrpc/limits/flow", test_flow);
    g_test_add_func("/vmrpc/limits/flow-extremes", test_flow_extremes);
    return g_test_run();
}
