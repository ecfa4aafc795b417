// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When it was, on the guest's clock, that the host's kernel stamped a packet
 *
 * Theory of operation
 * ===================
 *
 * The host gives a moment on its monotonic clock, and the reading of that clock
 * as it made the answer (struct vmrpc_moment).  It read the clock after we had
 * submitted the request and before we took the answer off the ring.  So our raw
 * monotonic time less the host's monotonic time, the offset, has two bounds:
 *
 *   asked - now <= offset <= answered - now
 *
 * We use the upper bound: it errs to the late side, by the time that the answer
 * took to reach us.  So no stamp is before the event, nor after the present.  A
 * preempted CPU makes the answer slow; hence we keep the least upper bound so far,
 * which also keeps stamps in order.  It grows with time, faster than two clocks
 * drift apart.  If it is below the lower bound, the guest has migrated: the host's
 * clock is another one.
 *
 * The stamp is the present real time less the time since the moment, at the rate
 * at which real time passes now.  If the guest's clock was set while the packet
 * waited to be read, this is what the clock as it is now would have said.
 */
#include "internal.h"

/* Two clocks drift apart by less than one in 2^10. */
#define DRIFT_SHIFT		10

#define RATE_SHIFT		20

/**
 * vmrpc_clock_init - nothing is known yet
 * @clock: the host's
 */
void vmrpc_clock_init(struct vmrpc_clock *clock)
{
	spin_lock_init(&clock->lock);
	clock->at = 0;
	clock->offset = 0;
}

/* Returns the offset.  @now: the host's reading, of any value. */
static s64 learn(struct vmrpc_clock *clock, const struct vmrpc_call *call,
		 u64 now)
{
	u64 least = call->asked.raw - now, most = call->answered.raw - now;
	u64 offset;
	s64 passed;

	spin_lock(&clock->lock);
	/* Another CPU may have had a later answer. */
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
 * How much faster real time passes than raw time, in parts of 2^RATE_SHIFT.  A
 * clock is slewed by a tenth at most.
 */
static s64 slew(const struct vmrpc_call *call)
{
	const struct system_time_snapshot *a = &call->asked;
	const struct system_time_snapshot *b = &call->answered;
	s64 raw = b->raw - a->raw, more = b->real - a->real - raw;

	/* Shorter is too coarse; a larger difference is a step, not a rate. */
	if (raw < NSEC_PER_USEC || raw > NSEC_PER_SEC || abs(more) > raw / 8 ||
	    a->clock_was_set_seq != b->clock_was_set_seq)
		return 0;
	return div64_s64(more << RATE_SHIFT, raw);
}

/* Raw time as real time; @ns is not negative. */
static s64 slewed(s64 ns, s64 part)
{
	s64 low = ns & (s64)(BIT(RATE_SHIFT) - 1);

	return ns + (ns >> RATE_SHIFT) * part + ((low * part) >> RATE_SHIFT);
}

/**
 * vmrpc_clock_real - the guest's real time at a moment that the host tells of
 * @call: answered, and the moment is of its ancillary data
 * @moment: from the host
 *
 * Returns 0 if the host knows no time, at most the time of the answer.
 */
ktime_t vmrpc_clock_real(struct vmrpc_call *call,
			 const struct vmrpc_moment *moment)
{
	u64 ns = le64_to_cpu(moment->ns);
	s64 ago;

	if (!ns)
		return 0;
	/* The program has changed its mind meanwhile; nothing is known of before. */
	if (!call->timed) {
		ktime_get_snapshot(&call->answered);
		call->asked.raw = 0;
		call->timed = true;
	}
	ns += learn(&call->dev->clock, call, le64_to_cpu(moment->now));
	ago = call->answered.raw - ns;
	ago = clamp_t(s64, ago, 0, call->answered.real);
	return call->answered.real - min_t(s64, slewed(ago, slew(call)),
					   call->answered.real);
}
