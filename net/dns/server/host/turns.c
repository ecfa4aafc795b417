/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The turns that threads have on a processor that others want, too
 *
 * A kernel that does not know of it, or a container that forbids it, is no
 * reason not to serve: nothing is told.
 */
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/dns/server/host/turns.h"

#define SHORT_NS    100000      /* the least that Linux takes */

/*
 * sched_setattr(2), as it was first; <linux/sched/types.h> and <sched.h> clash
 */
typedef struct Attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} Attr;

void dnsd_turns_short(void)
{
    Attr attr;

    /* Whoever has given it a policy of real time, or a nice value, knows. */
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
        (attr.policy != SCHED_OTHER && attr.policy != SCHED_BATCH)) {
        return;
    }
    attr.policy = SCHED_OTHER;
    attr.runtime = SHORT_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

void dnsd_turns_long(void)
{
    const struct sched_param none = { 0 };

    if (sched_getscheduler(0) == SCHED_OTHER) {
        sched_setscheduler(0, SCHED_BATCH, &none);
    }
}
