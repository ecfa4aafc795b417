/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors and timers of one context, behind one descriptor, or in a list
 * for poll()
 *
 * Ready descriptors are handled one at a time, so a callback may close any of
 * the others.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "net/dns/unbound/loop.h"
#include "base/clock.h"

#define READY_AT_ONCE   256

int64_t dnsc_now(void)
{
    return base_clock(CLOCK_MONOTONIC) / 1000;
}

int dnsc_loop_attach(DnscLoop *loop)
{
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll < 0 ? -errno : 0;
}

void dnsc_loop_use_poll(DnscLoop *loop)
{
    loop->epoll = -1;
}

void dnsc_loop_detach(DnscLoop *loop)
{
    close(loop->epoll);
    loop->epoll = -1;
}

void dnsc_loop_free(DnscLoop *loop)
{
    free(loop->heap);
    free(loop->fds);
    free(loop->sources);
}

/*** Descriptors in a list; POLLIN is EPOLLIN, and so on ***/

static int list(DnscLoop *loop, DnscSource *source, uint32_t events)
{
    struct pollfd *fds;
    DnscSource **sources;

    fds = reallocarray(loop->fds, loop->watched + 1, sizeof(*fds));
    if (!fds) {
        return -ENOMEM;
    }
    loop->fds = fds;
    sources = reallocarray(loop->sources, loop->watched + 1,
                           sizeof(*sources));
    if (!sources) {
        return -ENOMEM;
    }
    loop->sources = sources;
    fds[loop->watched] = (struct pollfd){ .fd = source->fd, .events = events };
    sources[loop->watched++] = source;
    return 0;
}

static int control_list(DnscLoop *loop, int what, DnscSource *source,
                        uint32_t events)
{
    size_t i;

    if (what == EPOLL_CTL_ADD) {
        return list(loop, source, events);
    }
    for (i = 0; i < loop->watched && loop->sources[i] != source; i++) {
    }
    if (i == loop->watched) {
        return -ENOENT;
    }
    if (what == EPOLL_CTL_MOD) {
        loop->fds[i].events = events;
    } else {
        loop->watched--;
        loop->fds[i] = loop->fds[loop->watched];
        loop->sources[i] = loop->sources[loop->watched];
    }
    return 0;
}

/* The next source that is ready after the one handled last, or NULL */
static DnscSource *next_of_list(DnscLoop *loop, uint32_t *events)
{
    size_t i;

    if (poll(loop->fds, loop->watched, 0) <= 0) {
        return NULL;
    }
    do {
        loop->handled = (loop->handled + 1) % loop->watched;
        i = loop->handled;
    } while (!loop->fds[i].revents);
    *events = loop->fds[i].revents;
    /* Somebody closed it: its owner finds out when it reads. */
    if (*events & POLLNVAL) {
        *events |= EPOLLERR;
    }
    return loop->sources[i];
}

static int control(DnscLoop *loop, int what, DnscSource *source,
                   uint32_t events)
{
    struct epoll_event e = { .events = events, .data.ptr = source };

    if (loop->epoll < 0) {
        return control_list(loop, what, source, events);
    }
    return epoll_ctl(loop->epoll, what, source->fd, &e) ? -errno : 0;
}

int dnsc_loop_watch(DnscLoop *loop, DnscSource *source, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, source, events);
}

int dnsc_loop_change(DnscLoop *loop, DnscSource *source, uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, source, events);
}

void dnsc_loop_forget(DnscLoop *loop, DnscSource *source)
{
    if (source->fd >= 0) {
        control(loop, EPOLL_CTL_DEL, source, 0);
    }
}

/*** Timers: a binary heap ***/

static void put(DnscLoop *loop, size_t slot, DnscTimer *timer)
{
    loop->heap[slot] = timer;
    timer->slot = slot;
}

static void sift(DnscLoop *loop, size_t slot, DnscTimer *timer)
{
    size_t child;

    while (slot > 1 && loop->heap[slot / 2]->due > timer->due) {
        put(loop, slot, loop->heap[slot / 2]);
        slot /= 2;
    }
    while ((child = 2 * slot) <= loop->timers) {
        if (child < loop->timers &&
            loop->heap[child + 1]->due < loop->heap[child]->due) {
            child++;
        }
        if (loop->heap[child]->due >= timer->due) {
            break;
        }
        put(loop, slot, loop->heap[child]);
        slot = child;
    }
    put(loop, slot, timer);
}

int dnsc_loop_reserve(DnscLoop *loop)
{
    DnscTimer **heap;

    heap = reallocarray(loop->heap, loop->room + 2, sizeof(*heap));
    if (!heap) {
        return -ENOMEM;
    }
    loop->heap = heap;
    loop->room++;
    return 0;
}

void dnsc_loop_unreserve(DnscLoop *loop)
{
    loop->room--;
}

void dnsc_timer_set(DnscLoop *loop, DnscTimer *timer, int64_t due)
{
    timer->due = due;
    sift(loop, timer->slot ? timer->slot : ++loop->timers, timer);
}

void dnsc_timer_clear(DnscLoop *loop, DnscTimer *timer)
{
    DnscTimer *last;

    if (!timer->slot) {
        return;
    }
    last = loop->heap[loop->timers--];
    if (last != timer) {
        sift(loop, timer->slot, last);
    }
    timer->slot = 0;
}

int dnsc_loop_timeout_ms(const DnscLoop *loop)
{
    int64_t left;

    if (!loop->timers) {
        return -1;
    }
    left = (loop->heap[1]->due - dnsc_now() + 999) / 1000;
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : left;
}

static DnscSource *next_ready(DnscLoop *loop, uint32_t *events)
{
    struct epoll_event e;

    if (loop->epoll < 0) {
        return next_of_list(loop, events);
    }
    if (epoll_wait(loop->epoll, &e, 1, 0) != 1) {
        return NULL;
    }
    *events = e.events;
    return e.data.ptr;
}

void dnsc_loop_wait(DnscLoop *loop)
{
    poll(loop->fds, loop->watched, dnsc_loop_timeout_ms(loop));
    dnsc_loop_run(loop);
}

void dnsc_loop_run(DnscLoop *loop)
{
    DnscSource *source;
    uint32_t events;
    int64_t now;
    int i;

    for (i = 0; i < READY_AT_ONCE && (source = next_ready(loop, &events));
         i++) {
        source->ready(source, events);
    }
    /*
     * If a timer's callback sets a timer to 0, that one waits for the next
     * turn.
     */
    now = dnsc_now();
    while (loop->timers && loop->heap[1]->due <= now) {
        DnscTimer *timer = loop->heap[1];

        dnsc_timer_clear(loop, timer);
        timer->fire(timer);
    }
}
