/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time slices of threads on a processor that others use, too
 *
 * If the kernel does not support this, or a container forbids it, the server
 * still works, so no error is reported.
 */
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dnsd/server/host/scheduler.h"

#define SHORT_NS    100000      /* the shortest that Linux accepts */

/* sched_setattr(2), first version; <linux/sched/types.h> and <sched.h> clash */
typedef struct Attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} Attr;

void dnsd_scheduler_short(void)
{
    Attr attr;

    /* A real-time policy or a nice value was set on purpose: keep it. */
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
        (attr.policy != SCHED_OTHER && attr.policy != SCHED_BATCH)) {
        return;
    }
    attr.policy = SCHED_OTHER;
    attr.runtime = SHORT_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

void dnsd_scheduler_long(void)
{
    const struct sched_param none = { 0 };

    if (sched_getscheduler(0) == SCHED_OTHER) {
        sched_setscheduler(0, SCHED_BATCH, &none);
    }
}
