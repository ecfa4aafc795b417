/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker: a thread that answers queries
 *
 * Each has its own sockets, buffers, connections, counters and rate limits.  On
 * the path of a query it writes nothing that another thread reads, except its
 * counters; and it reads nothing that another thread writes, except what
 * workers/epoch.h protects.
 */
#ifndef DNSD_SERVER_WORKERS_WORKER_H
#define DNSD_SERVER_WORKERS_WORKER_H

#include <pthread.h>

#include "dnsd/server/core/links.h"
#include "dnsd/server/host/sockets.h"
#include "dnsd/server/workers/epoch.h"
#include "dnsd/server/workers/request.h"
#include "dnsd/server/workers/resolvers.h"
#include "dnsd/server/workers/tcp.h"
#include "dnsd/server/workers/udp.h"

typedef struct DnsdWorker {
    DnsdReaderMark mark;
    DnsdThreadState thread;
    DnsdUdp udp;
    DnsdTcp tcp;
    DnsdEpoch *epoch;           /* of DnsdServing */
    _Atomic(const DnsdVrfs *) *vrfs;    /* of the pool; during a round */
    DnsdSockets *sockets;
    DnsdRequests *control;      /* queue of the control thread */
    DnsdRequests returned;      /* requests that have returned */
    const DnsdResolvers *resolvers;     /* NULL: no resolver */
    const DnsdServing *serving; /* during a round */
    DnsdClient client;          /* the time of the round, and the client */
    int epoll;
    int cpu;                    /* processor to run on; -1: any */
    atomic_bool stop;
    pthread_t id;
} DnsdWorker;

/* The kind of an event of the worker's epoll */
enum {
    DNSD_EVENT_SOCKET,          /* of DnsdSockets */
    DNSD_EVENT_CONNECTION,      /* of DnsdTcp */
    DNSD_EVENT_WAKE,
    DNSD_EVENT_SHIFT = 32,
};

static inline uint64_t dnsd_event(unsigned what, unsigned which)
{
    return (uint64_t)what << DNSD_EVENT_SHIFT | which;
}

/**
 * dnsd_worker_start: the caller owns sockets, epoch, vrfs, control and resolvers
 * @resolvers: NULL: no resolver
 * @cpu: the processor to run on, -1 for any
 * @key: random, for its tables
 *
 * Returns: NULL, and errno is set.
 */
DnsdWorker *dnsd_worker_start(DnsdSockets *sockets, DnsdEpoch *epoch,
                              _Atomic(const DnsdVrfs *) *vrfs,
                              DnsdRequests *control,
                              const DnsdResolvers *resolvers,
                              const DnsdConfig *config, int cpu,
                              const uint64_t key[2]);

/**
 * dnsd_worker_watch: answer what comes to a socket that was not bound before
 * @i: its place in @worker->sockets
 *
 * Returns: false, and errno is set.
 */
bool dnsd_worker_watch(DnsdWorker *worker, unsigned i);

/** dnsd_worker_stop: stop it, close its connections, and free it */
void dnsd_worker_stop(DnsdWorker *worker);

#endif /* DNSD_SERVER_WORKERS_WORKER_H */
