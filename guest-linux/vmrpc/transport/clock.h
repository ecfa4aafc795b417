/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of the host
 */
#ifndef VMRPC_CLOCK_H
#define VMRPC_CLOCK_H

#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct vmrpc_call;
struct vmrpc_moment;

/**
 * struct vmrpc_clock - what is known about the host's clock
 * @lock: guards the other fields
 * @at: raw monotonic time of the latest answer with a time; 0: none yet
 * @offset: upper bound of raw monotonic time minus the host's monotonic time,
 *          in ns, at @at
 */
struct vmrpc_clock {
	spinlock_t lock;
	ktime_t at;
	s64 offset;
};

void vmrpc_clock_init(struct vmrpc_clock *clock);
ktime_t vmrpc_clock_real(struct vmrpc_call *call,
			 const struct vmrpc_moment *moment);

#endif /* VMRPC_CLOCK_H */
