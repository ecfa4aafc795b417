/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timestamps of the host's kernel, as moments of its monotonic clock
 *
 * Theory of operation
 *
 * Real time less monotonic time changes only when real time is set; both are
 * slewed together.  So a timestamp less that offset, as it was when the
 * timestamp was made, is a moment of the monotonic clock.  There are two
 * candidates for the offset: the present one, and the one before the latest
 * step.  The present one is wrong if it puts the moment into the future, or to
 * a time when the other one was still in force.
 */
#include <glib.h>

#include "hw/vmrpc/wire/clock.h"
#include "base/units.h"

/* The offset of two readings without a step differs by less. */
#define STEP_MIN_NS     MS

/* Until 2116; the difference of two such values does not overflow. */
#define STAMP_MAX_S     (INT64_MAX / 2 / SECOND)

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
    int64_t stamp = CLAMP(s, 0, STAMP_MAX_S) * SECOND +
                    CLAMP(ns, 0, SECOND - 1);
    int64_t moment = stamp - clock->offset;

    if (moment > clock->seen || moment < clock->stepped) {
        moment = stamp - clock->before;
    }
    return MIN(MAX(moment, 1), clock->seen);
}
