/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time slices of threads on a processor that others use, too */
#ifndef DNSD_SERVER_HOST_SCHEDULER_H
#define DNSD_SERVER_HOST_SCHEDULER_H

/**
 * dnsd_scheduler_short: give the calling thread short time slices
 *
 * Its share of the processor stays the same.  Since Linux 6.12, a thread with
 * shorter slices runs first when it wakes; earlier versions ignore this.
 */
void dnsd_scheduler_short(void);

/**
 * dnsd_scheduler_long: the calling thread, and threads that it starts
 * afterwards, preempt no other when they wake (SCHED_BATCH);
 * dnsd_scheduler_short() ends it
 */
void dnsd_scheduler_long(void);

#endif /* DNSD_SERVER_HOST_SCHEDULER_H */
