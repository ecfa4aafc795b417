/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads in the background that merge images, for all stores
 *
 * One is for what takes long.  Jobs of a thread run one after the other. Their
 * results are handed out in the control thread.
 */
#ifndef NET_DNS_UPDATE_STORE_MERGER_H
#define NET_DNS_UPDATE_STORE_MERGER_H

#include <stdbool.h>

typedef struct DnsMerger DnsMerger;

typedef struct DnsMergeJob {
    bool is_long;                           /* has a thread of its own */
    void (*run)(struct DnsMergeJob *job);   /* in the background */
    void (*done)(struct DnsMergeJob *job);  /* in the control thread */
    struct DnsMergeJob *next;
} DnsMergeJob;

/** dns_merger_new: starts the threads; NULL, and errno. */
DnsMerger *dns_merger_new(void);

/** dns_merger_free: there must be no job. */
void dns_merger_free(DnsMerger *merger);

/** dns_merger_fd: an eventfd; when it is readable, call dns_merger_run(). */
int dns_merger_fd(const DnsMerger *merger);

/** dns_merger_run: done() of all jobs that have run; does not wait. */
void dns_merger_run(DnsMerger *merger);

/** dns_merger_add: run a job; the caller keeps it until done(). */
void dns_merger_add(DnsMerger *merger, DnsMergeJob *job);

/** dns_merger_wait: until all jobs have run, and their done(). */
void dns_merger_wait(DnsMerger *merger);

#endif /* NET_DNS_UPDATE_STORE_MERGER_H */
