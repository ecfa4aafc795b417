/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress of a long command, on standard error */
#ifndef DNSD_ZONE_PROGRESS_H
#define DNSD_ZONE_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A step of the command, and its share of the total time */
typedef struct ProgressStep {
    const char *name;           /* "reading" */
    unsigned share;             /* percent */
} ProgressStep;

typedef struct Progress {
    const ProgressStep *steps;
    unsigned step;
    bool is_on;
    bool is_terminal;
    bool is_over;
    atomic_uint_least64_t done; /* units done; any thread adds to it */
    uint64_t total;
    int64_t begun;              /* ns, of the monotonic clock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
} Progress;

/** progress_begin: @steps ends with a step without a name */
void progress_begin(Progress *progress, const ProgressStep *steps, bool is_on);

/** progress_step: begin the next step, of @total units */
void progress_step(Progress *progress, uint64_t total);

static inline void progress_add(Progress *progress, uint64_t done)
{
    atomic_fetch_add_explicit(&progress->done, done, memory_order_relaxed);
}

/** progress_end: stop, and clear what is shown */
void progress_end(Progress *progress);

/** progress_seconds: the time since progress_begin() */
double progress_seconds(const Progress *progress);

#endif /* DNSD_ZONE_PROGRESS_H */
