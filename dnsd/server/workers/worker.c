/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker: a thread that answers queries
 *
 * In each round it waits for events, gets the served data, and answers.  The
 * data may be replaced while the thread waits, but not while it answers.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dnsd/server/host/scheduler.h"
#include "dnsd/server/workers/connection.h"
#include "dnsd/server/workers/resolvers.h"
#include "dnsd/server/workers/tcp.h"
#include "dnsd/server/workers/udp.h"
#include "dnsd/server/workers/worker.h"

#define EVENTS_MAX  64

/* --- rounds --------------------------------------------------------------- */

/* Coarse clocks have a resolution of a tick, 4 ms, and take no system call. */
static void look_at_clocks(DnsdWorker *w)
{
    w->client.now = base_clock(CLOCK_REALTIME_COARSE) / SECOND;
    w->client.now_ms = base_clock(CLOCK_MONOTONIC_COARSE) / MS;
}

static void take_returned(DnsdWorker *w)
{
    DnsdRequest *first = NULL, **last = &first;

    for (DnsdRequest *r = dnsd_requests_take(&w->returned), *next; r;
         r = next) {
        next = r->next;
        if (!r->is_resolved || dnsd_resolvers_back(w, r)) {
            r->next = NULL;
            *last = r;
            last = &r->next;
        }
    }
    dnsd_tcp_returned(w, first);
}

static void dispatch(DnsdWorker *w, const struct epoll_event *event)
{
    unsigned which = event->data.u64;

    switch (event->data.u64 >> DNSD_EVENT_SHIFT) {
    case DNSD_EVENT_CONNECTION:
        dnsd_tcp_ready(w, which, event->events);
        break;
    case DNSD_EVENT_WAKE:
        take_returned(w);
        break;
    default:
        if (w->sockets->socket[which].is_stream) {
            dnsd_connections_accept(w, w->sockets->socket[which].fd);
        } else {
            dnsd_udp_ready(w, &w->sockets->socket[which]);
        }
    }
}

static void *run(void *opaque)
{
    DnsdWorker *w = opaque;
    struct epoll_event events[EVENTS_MAX];
    int timeout = -1;

    dnsd_scheduler_short();
    while (!atomic_load_explicit(&w->stop, memory_order_acquire)) {
        int count = epoll_wait(w->epoll, events, EVENTS_MAX, timeout);

        w->serving = dnsd_epoch_begin(w->epoch, &w->mark);
        look_at_clocks(w);
        for (int i = 0; i < count; i++) {
            dispatch(w, &events[i]);
        }
        timeout = dnsd_connections_expire(w);
        dnsd_epoch_end(&w->mark);
    }
    return NULL;
}

/* --- life ----------------------------------------------------------------- */

static int add(DnsdWorker *w, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = { .events = events, .data.u64 = what };

    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

bool dnsd_worker_watch(DnsdWorker *w, unsigned i)
{
    const DnsdSocket *s = &w->sockets->socket[i];

    return add(w, s->fd, EPOLLIN | (s->is_shared ? EPOLLEXCLUSIVE : 0),
               dnsd_event(DNSD_EVENT_SOCKET, i)) == 0;
}

static bool watch_all(DnsdWorker *w)
{
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll < 0 || add(w, w->returned.wake, EPOLLIN,
                            dnsd_event(DNSD_EVENT_WAKE, 0)) < 0) {
        return false;
    }
    for (unsigned i = 0; i < w->sockets->count; i++) {
        if (w->sockets->socket[i].is_bound && !dnsd_worker_watch(w, i)) {
            return false;
        }
    }
    return true;
}

/* If the processor is not allowed, the thread still answers. */
static void pin(const DnsdWorker *w)
{
    cpu_set_t set;

    if (w->cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(w->cpu, &set);
        pthread_setaffinity_np(w->id, sizeof(set), &set);
    }
}

static void destroy(DnsdWorker *w)
{
    if (w->epoll >= 0) {
        close(w->epoll);
    }
    dnsd_requests_destroy(&w->returned);
    dnsd_limit_free(w->thread.limit);
    dnsd_replies_free(w->thread.replies);
    dnsd_udp_destroy(w);
    dnsd_connections_destroy(&w->tcp);
    free(w);
}

static int make(DnsdWorker *w, const DnsdConfig *config, const uint64_t key[2])
{
    if (config->limit.rate) {
        w->thread.limit = dnsd_limit_new(&config->limit, key);
        if (!w->thread.limit) {
            return -ENOMEM;
        }
    }
    if (w->resolvers) {
        w->thread.replies = dnsd_replies_new(key);
        if (!w->thread.replies) {
            return -ENOMEM;
        }
    }
    if (dnsd_udp_init(w) < 0 ||
        dnsd_connections_init(&w->tcp, config->tcp.connections) < 0) {
        return -ENOMEM;
    }
    return watch_all(w) ? -pthread_create(&w->id, NULL, run, w) : -errno;
}

DnsdWorker *dnsd_worker_start(DnsdSockets *sockets, DnsdEpoch *epoch,
                              _Atomic(const DnsdVrfs *) *vrfs,
                              DnsdRequests *control,
                              const DnsdResolvers *resolvers,
                              const DnsdConfig *config, int cpu,
                              const uint64_t key[2])
{
    DnsdWorker *w = aligned_alloc(DNSD_LINE, sizeof(*w));
    int ret;

    if (!w) {
        return NULL;
    }
    *w = (DnsdWorker) {
        .sockets = sockets, .epoch = epoch, .vrfs = vrfs,
        .control = control,
        .resolvers = resolvers, .cpu = cpu, .epoll = -1,
    };
    ret = dnsd_requests_init(&w->returned);
    ret = ret ? ret : make(w, config, key);
    if (ret < 0) {
        destroy(w);
        errno = -ret;
        return NULL;
    }
    pin(w);
    return w;
}

void dnsd_worker_stop(DnsdWorker *w)
{
    uint64_t one = 1;

    atomic_store_explicit(&w->stop, true, memory_order_release);
    if (write(w->returned.wake, &one, sizeof(one)) == sizeof(one)) {
        pthread_join(w->id, NULL);
    }
    destroy(w);
}

