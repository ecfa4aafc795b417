/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Background threads that merge images, for all stores
 *
 * One thread is for long jobs.  The jobs of a thread run one after the other.
 * Their results are delivered in the control thread.
 */
#ifndef DNSD_UPDATE_STORE_MERGER_H
#define DNSD_UPDATE_STORE_MERGER_H

#include <stdbool.h>

typedef struct DnsMerger DnsMerger;

typedef struct DnsMergeJob {
    /* run it on the thread for long jobs */
    bool is_long;
    void (*run)(struct DnsMergeJob *job);   /* in the background thread */
    void (*done)(struct DnsMergeJob *job);  /* in the control thread */
    struct DnsMergeJob *next;
} DnsMergeJob;

/** dns_merger_new: start the threads; NULL, and errno is set */
DnsMerger *dns_merger_new(void);

/** dns_merger_free: no job may be left */
void dns_merger_free(DnsMerger *merger);

/** dns_merger_fd: an eventfd; if it is readable, call dns_merger_run() */
int dns_merger_fd(const DnsMerger *merger);

/** dns_merger_run: call done() of the completed jobs; does not wait */
void dns_merger_run(DnsMerger *merger);

/** dns_merger_add: add a job, which must exist until done() */
void dns_merger_add(DnsMerger *merger, DnsMergeJob *job);

/** dns_merger_wait: wait for all jobs and call their done() */
void dns_merger_wait(DnsMerger *merger);

#endif /* DNSD_UPDATE_STORE_MERGER_H */
