/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the host's kernel has stamped a packet, whatever its clock is set to
 *
 * Theory of operation
 *
 * Real time less monotonic time changes only when real time is set: to slew
 * one is to slew both. So a stamp less that difference, as it was when the
 * stamp was made, is its moment on the monotonic clock. There are two
 * candidates for the difference: that of now, and that of before the latest
 * step. The one of now is wrong if the stamp would be of the future by it, or
 * of a time when the other was in force still.
 */
#include <glib.h>

#include "hw/vmrpc/wire/clock.h"

#define NS_PER_S        INT64_C(1000000000)

/* Two readings of one moment differ by less; a step by more. */
#define STEP_MIN_NS     INT64_C(1000000)

/* Until 2116; less another one of these, it does not overflow. */
#define STAMP_MAX_S     (INT64_MAX / 2 / NS_PER_S)

void vmrpc_clock_see(VmrpcClock *clock, int64_t real, int64_t mono)
{
    int64_t offset = real - mono;

    if (!clock->seen) {
        clock->before = offset;
        clock->stepped = mono;
    } else if (ABS(offset - clock->offset) > STEP_MIN_NS) {
        clock->before = clock->offset;
        clock->stepped = clock->seen;
    }
    clock->offset = offset;
    clock->seen = mono;
}

int64_t vmrpc_clock_moment(const VmrpcClock *clock, int64_t s, int64_t ns)
{
    int64_t stamp = CLAMP(s, 0, STAMP_MAX_S) * NS_PER_S +
                    CLAMP(ns, 0, NS_PER_S - 1);
    int64_t moment = stamp - clock->offset;

    if (moment > clock->seen || moment < clock->stepped) {
        moment = stamp - clock->before;
    }
    return MIN(MAX(moment, 1), clock->seen);
}
