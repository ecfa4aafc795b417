/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors and timers of one context, behind one descriptor, or in a list
 * for poll()
 *
 * A callback may change everything: free itself, or watch others.  The client
 * library uses this loop in programs, and the resolver of the daemon does.
 */

#ifndef VMMNET_DNS_UNBOUND_LOOP_H
#define VMMNET_DNS_UNBOUND_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DnscSource DnscSource;
typedef void DnscReadyFn(DnscSource *source, uint32_t events);

struct DnscSource {
    int fd;                     /* -1: not watched */
    DnscReadyFn *ready;
};

typedef struct DnscTimer DnscTimer;
typedef void DnscDueFn(DnscTimer *timer);

struct DnscTimer {
    int64_t due;                /* the time, as dnsc_now() */
    size_t slot;                /* place in the heap, from 1; 0: not set */
    DnscDueFn *fire;
};

typedef struct DnscLoop {
    int epoll;                  /* -1: poll() is used, or it was detached */
    struct pollfd *fds;         /* for poll(): an entry for each source */
    DnscSource **sources;
    size_t watched;
    size_t handled;             /* index of the last one, for fairness */
    DnscTimer **heap;           /* [1] is the first one due */
    size_t timers;
    size_t room;
} DnscLoop;

/* Microseconds of CLOCK_MONOTONIC */
int64_t dnsc_now(void);

/*
 * Make the one descriptor.  The loop is all 0, or was detached while nothing
 * was watched.  Returns 0 or a negative errno.
 */
int dnsc_loop_attach(DnscLoop *loop);

/*
 * Use poll() in dnsc_loop_wait(), and no descriptor of its own: for callers
 * that block, in programs that may close all descriptors.  The loop is all 0.
 */
void dnsc_loop_use_poll(DnscLoop *loop);

/*
 * Close the descriptor, then forget the sources and clear the timers.  The
 * order matters: a parent process may share the epoll instance, and must keep
 * its sources.
 */
void dnsc_loop_detach(DnscLoop *loop);
void dnsc_loop_free(DnscLoop *loop);

/*
 * Watch source->fd for EPOLLIN or EPOLLOUT, or change the events.  The
 * descriptor must be open, and stays the caller's.  Returns 0 or a negative
 * errno.
 */
int dnsc_loop_watch(DnscLoop *loop, DnscSource *source, uint32_t events);
int dnsc_loop_change(DnscLoop *loop, DnscSource *source, uint32_t events);

/* Call it before the descriptor is closed.  It may be unwatched. */
void dnsc_loop_forget(DnscLoop *loop, DnscSource *source);

/*
 * Set the timer to fire once; this replaces its earlier time.  Each timer that
 * is set needs a place, which dnsc_loop_reserve() provides.
 */
void dnsc_timer_set(DnscLoop *loop, DnscTimer *timer, int64_t due);
void dnsc_timer_clear(DnscLoop *loop, DnscTimer *timer);

/* Returns 0 or -ENOMEM.  dnsc_loop_unreserve() returns the place. */
int dnsc_loop_reserve(DnscLoop *loop);
void dnsc_loop_unreserve(DnscLoop *loop);

/* Milliseconds until a timer is due, rounded up; -1: no timer is set */
int dnsc_loop_timeout_ms(const DnscLoop *loop);

/* Wait for an event or a timer, and handle it: for a loop that uses poll() */
void dnsc_loop_wait(DnscLoop *loop);

/* Handle some of the events that are ready and timers that are due. */
void dnsc_loop_run(DnscLoop *loop);

#endif
