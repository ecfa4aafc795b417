// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timestamps of the host's kernel in the guest's clock
 *
 * Theory of operation
 * ===================
 *
 * The host gives a moment on its monotonic clock, and the reading of that clock
 * when it made the answer (struct vmrpc_moment).  It read the clock after we
 * had submitted the request and before we took the answer off the ring.  The
 * offset is our raw monotonic time minus the host's monotonic time.  It has two
 * bounds:
 *
 *   asked - now <= offset <= answered - now
 *
 * We use the upper bound.  It makes a timestamp late by the time that the
 * answer took to reach us.  So no timestamp is before the event or in the
 * future.  A preempted CPU makes an answer slow.  Therefore we keep the least
 * upper bound so far, which also keeps timestamps in order.  It grows with
 * time, faster than two clocks drift apart.  If it is below the lower bound,
 * the guest has migrated, and the host has another clock.
 *
 * The timestamp is the present real time minus the time since the moment, at
 * the present rate of real time.  If the guest's clock was set while the packet
 * waited to be read, the timestamp is in the clock as it is after that.
 */
#include <linux/math64.h>

#include "transport/clock.h"
#include "transport/transport.h"

/* Two clocks drift apart by less than one in 2^10. */
#define DRIFT_SHIFT		10

#define RATE_SHIFT		20

/**
 * vmrpc_clock_init - to be called before the first answer
 * @clock: the host's clock
 */
void vmrpc_clock_init(struct vmrpc_clock *clock)
{
	spin_lock_init(&clock->lock);
	clock->at = 0;
	clock->offset = 0;
}

/* Returns the offset.  @now: the host's reading; not checked, any value. */
static s64 learn(struct vmrpc_clock *clock, const struct vmrpc_call *call,
		 u64 now)
{
	u64 least = call->asked.raw - now, most = call->answered.raw - now;
	u64 offset;
	s64 passed;

	spin_lock(&clock->lock);
	/* Another CPU may have seen a later answer. */
	passed = max_t(s64, call->answered.raw - clock->at, 0);
	offset = clock->offset + (passed >> DRIFT_SHIFT);
	if (!clock->at || (s64)(most - offset) < 0 ||
	    (s64)(offset - least) < 0)
		offset = most;
	clock->offset = offset;
	clock->at += passed;
	spin_unlock(&clock->lock);
	return offset;
}

/*
 * How much faster real time passes than raw time, in parts of 2^RATE_SHIFT.
 * The kernel slews a clock by a tenth at most.
 */
static s64 slew(const struct vmrpc_call *call)
{
	const struct vmrpc_times *a = &call->asked;
	const struct vmrpc_times *b = &call->answered;
	s64 raw = b->raw - a->raw, more = b->real - a->real - raw;

	/* A shorter time is too coarse.  A larger difference is a step. */
	if (raw < NSEC_PER_USEC || raw > NSEC_PER_SEC || abs(more) > raw / 8 ||
	    a->clock_was_set_seq != b->clock_was_set_seq)
		return 0;
	return div64_s64(more << RATE_SHIFT, raw);
}

/* Converts raw time to real time; @ns is not negative. */
static s64 slewed(s64 ns, s64 part)
{
	s64 low = ns & (s64)(BIT(RATE_SHIFT) - 1);

	return ns + (ns >> RATE_SHIFT) * part + ((low * part) >> RATE_SHIFT);
}

/**
 * vmrpc_clock_real - the guest's real time at a moment of the host
 * @call: answered; the moment is in its ancillary data
 * @moment: from the host
 *
 * Returns 0 if the host knows no time, and never more than the time of the
 * answer.
 */
ktime_t vmrpc_clock_real(struct vmrpc_call *call,
			 const struct vmrpc_moment *moment)
{
	u64 ns = le64_to_cpu(moment->ns);
	s64 ago;

	if (!ns)
		return 0;
	/* The program has asked for timestamps after the call was submitted. */
	if (!call->timed) {
		vmrpc_times_get(&call->answered);
		call->asked.raw = 0;
		call->timed = true;
	}
	ns += learn(&call->dev->clock, call, le64_to_cpu(moment->now));
	ago = call->answered.raw - ns;
	ago = clamp_t(s64, ago, 0, call->answered.real);
	return call->answered.real - min_t(s64, slewed(ago, slew(call)),
					   call->answered.real);
}
