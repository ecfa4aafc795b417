/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress of a long command, on standard error */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "dnsd/zone/progress.h"

#define EVERY_MS        250     /* on a terminal */
#define EVERY_LINE_MS   2000    /* elsewhere */
#define QUIET_S         1.0     /* shorter commands show nothing */

double progress_seconds(const Progress *progress)
{
    return (base_clock(CLOCK_MONOTONIC) - progress->begun) / 1e9;
}

/* The caller holds the lock.  Returns: the progress, 0 to 1. */
static double so_far(const Progress *progress)
{
    const ProgressStep *steps = progress->steps;
    uint64_t done = atomic_load_explicit(&progress->done,
                                         memory_order_relaxed);
    double share = 0;

    for (unsigned i = 0; i < progress->step; i++) {
        share += steps[i].share;
    }
    if (progress->total) {
        done = done > progress->total ? progress->total : done;
        share += steps[progress->step].share * (double)done / progress->total;
    }
    return share / 100;
}

static void show(const Progress *progress)
{
    double seconds = progress_seconds(progress), far = so_far(progress);

    if (seconds < QUIET_S || far < 0.01) {
        return;
    }
    fprintf(stderr, "%s%3.0f %%  %s, about %.0f s left%s",
            progress->is_terminal ? "\r" : "", 100 * far,
            progress->steps[progress->step].name,
            seconds * (1 - far) / far + 0.5,
            progress->is_terminal ? "\033[K" : "\n");
    fflush(stderr);
}

static void *follow(void *opaque)
{
    Progress *progress = opaque;
    unsigned every = progress->is_terminal ? EVERY_MS : EVERY_LINE_MS;

    pthread_mutex_lock(&progress->lock);
    while (!progress->is_over) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += every % 1000 * 1000000L;
        until.tv_sec += every / 1000 + until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&progress->over, &progress->lock, &until);
        if (!progress->is_over) {
            show(progress);
        }
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

void progress_begin(Progress *progress, const ProgressStep *steps, bool is_on)
{
    *progress = (Progress) {
        .steps = steps,
        .is_on = is_on,
        .is_terminal = isatty(STDERR_FILENO),
        .begun = base_clock(CLOCK_MONOTONIC),
    };
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->over, NULL);
    progress->is_on = is_on && !pthread_create(&progress->thread, NULL,
                                               follow, progress);
}

void progress_step(Progress *progress, uint64_t total)
{
    pthread_mutex_lock(&progress->lock);
    if (progress->total) {
        progress->step++;
    }
    progress->total = total ? total : 1;
    atomic_store(&progress->done, 0);
    pthread_mutex_unlock(&progress->lock);
}

void progress_end(Progress *progress)
{
    if (progress->is_on) {
        pthread_mutex_lock(&progress->lock);
        progress->is_over = true;
        pthread_cond_signal(&progress->over);
        pthread_mutex_unlock(&progress->lock);
        pthread_join(progress->thread, NULL);
        if (progress->is_terminal) {
            fputs("\r\033[K", stderr);
        }
    }
    pthread_mutex_destroy(&progress->lock);
    pthread_cond_destroy(&progress->over);
}
