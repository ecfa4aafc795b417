/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timestamps of the host's kernel, as moments of its monotonic clock
 */
#ifndef HW_VMRPC_CLOCK_H
#define HW_VMRPC_CLOCK_H

#include <stdint.h>

/*
 * The difference between the host's CLOCK_REALTIME, which makes timestamps, and
 * its CLOCK_MONOTONIC, which nobody can set.  Nanoseconds.  All 0 initially.
 */
typedef struct VmrpcClock {
    int64_t seen;               /* monotonic: time of the last reading */
    int64_t offset;             /* real less monotonic time at that reading */
    int64_t before;             /* the offset before the latest step */
    int64_t stepped;            /* monotonic: the step was not before this */
} VmrpcClock;

/**
 * vmrpc_clock_see: give a reading of both clocks
 * @real: CLOCK_REALTIME, ns
 * @mono: CLOCK_MONOTONIC, ns; never less than in the call before
 *
 * Call it often enough to notice a step of real time before the next one.
 */
void vmrpc_clock_see(VmrpcClock *clock, int64_t real, int64_t mono);

/**
 * vmrpc_clock_moment: the moment of a timestamp
 * @clock: has just got a reading
 * @s: seconds of real time, any value
 * @ns: and nanoseconds, any value
 *
 * Also for timestamps of before the latest step of real time.  If no reading
 * was between timestamp and step, the moment can be wrong by the step.
 *
 * Returns: CLOCK_MONOTONIC, ns, 1 .. @clock->seen; @clock->seen for a timestamp
 * that seems to be in the future.
 */
int64_t vmrpc_clock_moment(const VmrpcClock *clock, int64_t s, int64_t ns);

#endif /* HW_VMRPC_CLOCK_H */
