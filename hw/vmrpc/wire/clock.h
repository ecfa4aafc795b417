/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the host's kernel has stamped a packet, whatever its clock is set to
 */
#ifndef HW_VMRPC_CLOCK_H
#define HW_VMRPC_CLOCK_H

#include <stdint.h>

/*
 * The state of the host's CLOCK_REALTIME, which makes the stamps, beside
 * its CLOCK_MONOTONIC, which nobody sets. Nanoseconds.
 */
typedef struct VmrpcClock {
    int64_t seen;               /* monotonic: when it was looked at last */
    int64_t offset;             /* then: real time less monotonic time */
    int64_t before;             /* that before the latest step */
    int64_t stepped;            /* monotonic: it was not before this */
} VmrpcClock;

/**
 * vmrpc_clock_see: look at the clocks
 * @real: CLOCK_REALTIME now, ns
 * @mono: CLOCK_MONOTONIC now, ns; never less than the time before
 *
 * A clock that is all 0 is a new one. To be called often enough to notice a
 * step of real time before the next one comes.
 */
void vmrpc_clock_see(VmrpcClock *clock, int64_t real, int64_t mono);

/**
 * vmrpc_clock_moment: when was this stamp made?
 * @clock: has just been seen
 * @s: seconds of real time, any value
 * @ns: and nanoseconds, any value
 *
 * Of a stamp of before a step of real time, too. Which are of before, @clock
 * knows from when it was seen: if it was not between stamp and step, the
 * moment can be wrong by the step.
 *
 * Returns: CLOCK_MONOTONIC, nanoseconds, 1 .. @clock->seen; that for what seems
 * to be in the future
 */
int64_t vmrpc_clock_moment(const VmrpcClock *clock, int64_t s, int64_t ns);

#endif /* HW_VMRPC_CLOCK_H */
