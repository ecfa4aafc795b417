/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors and timers of one context, behind one descriptor
 *
 * A callback may change anything: free itself, watch others.  This is the loop
 * of who asks servers: of a program, with the client library, and of the
 * daemon's resolver.
 */

#ifndef VMMNET_DNS_UNBOUND_LOOP_H
#define VMMNET_DNS_UNBOUND_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNSC_SECOND     INT64_C(1000000)

typedef struct DnscSource DnscSource;
typedef void DnscReadyFn(DnscSource *source, uint32_t events);

struct DnscSource {
    int fd;                     /* -1: not watched */
    DnscReadyFn *ready;
};

typedef struct DnscTimer DnscTimer;
typedef void DnscDueFn(DnscTimer *timer);

struct DnscTimer {
    int64_t due;                /* by dnsc_now() */
    size_t slot;                /* in the heap, from 1 on; 0: not set */
    DnscDueFn *fire;
};

typedef struct DnscLoop {
    int epoll;
    DnscTimer **heap;           /* [1] is due first */
    size_t timers;
    size_t room;
} DnscLoop;

/* Microseconds of CLOCK_MONOTONIC */
int64_t dnsc_now(void);

/*
 * Make the one descriptor, of a loop that is all 0, or that was detached while
 * nothing was watched.  Returns 0 or a negative errno.
 */
int dnsc_loop_attach(DnscLoop *loop);

/*
 * The descriptor is closed first, and what is watched is forgotten and timers
 * cleared after that: the epoll instance may be that of a parent process,
 * too, which is not to lose anything.
 */
void dnsc_loop_detach(DnscLoop *loop);
void dnsc_loop_free(DnscLoop *loop);

/*
 * Watch source->fd, which is open and stays the caller's, for EPOLLIN or
 * EPOLLOUT, or change for what.  Returns 0 or a negative errno.
 */
int dnsc_loop_watch(DnscLoop *loop, DnscSource *source, uint32_t events);
int dnsc_loop_change(DnscLoop *loop, DnscSource *source, uint32_t events);

/* Before the descriptor is closed; no matter if it is not watched */
void dnsc_loop_forget(DnscLoop *loop, DnscSource *source);

/*
 * Fire once at a time, instead of the one it may be set to.  There has to be
 * room: dnsc_loop_reserve() for each timer that may be set at a time.
 */
void dnsc_timer_set(DnscLoop *loop, DnscTimer *timer, int64_t due);
void dnsc_timer_clear(DnscLoop *loop, DnscTimer *timer);

/* Returns 0 or -ENOMEM; given back by dnsc_loop_unreserve(). */
int dnsc_loop_reserve(DnscLoop *loop);
void dnsc_loop_unreserve(DnscLoop *loop);

/* Milliseconds, rounded up; -1: no timer */
int dnsc_loop_timeout_ms(const DnscLoop *loop);

/* Events that are ready and due, some at a time */
void dnsc_loop_run(DnscLoop *loop);

#endif
