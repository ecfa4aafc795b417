/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a worker, a thread that answers queries
 *
 * Each has its own sockets, buffers, connections, counters and rate limits.  On
 * the path of a query it writes nothing that another thread reads, except its
 * counters; and it reads nothing that another thread writes, except what
 * workers/epoch.h protects.
 */
#ifndef DNSD_SERVER_WORKERS_STATE_H
#define DNSD_SERVER_WORKERS_STATE_H

#include <pthread.h>

#include "dnsd/server/core/links.h"
#include "dnsd/server/core/stream.h"
#include "dnsd/server/host/sockets.h"
#include "dnsd/server/workers/epoch.h"
#include "dnsd/server/workers/request.h"

/* dnsd_connection_set() changes it */
typedef enum DnsdConnectionState {
    DNSD_CONNECTION_FREE,
    DNSD_CONNECTION_OPEN,
    DNSD_CONNECTION_ENDED,      /* the client sends no more */
    DNSD_CONNECTION_AWAY,       /* another thread writes a transfer there */
    DNSD_CONNECTION_AWAY_ENDED, /* the same, and the client sends no more */
    DNSD_CONNECTION_FAILED,     /* a request has failed: close it */
    DNSD_CONNECTION_STATES,
} DnsdConnectionState;

typedef struct DnsdConnection {
    DnsdConnectionState state;
    int fd;
    unsigned before, after;     /* in a list */
    uint32_t watched;           /* events of epoll */
    uint64_t active_ms;
    DnsdAddr peer;
    DnsdStream stream;
    uint32_t generation;        /* of this place */
    /* Requests in other threads; if there are any, it is in no list. */
    unsigned under_way;
    size_t under_way_len;
    DnsdRequest *back, *back_last;  /* their replies wait for room */
    unsigned touched;           /* link of connections with returned ones: */
                                /* 1 + the place of the next; 0: not there */
    DnsdRequest *held;          /* it must wait */
    DnsdOutcome held_for;       /* which thread */
} DnsdConnection;

/*
 * Connections of one thread (RFC 7766)
 *
 * Their number is fixed, and so is the memory of each.  A connection takes at
 * most 192 KiB, and the connections of one client are limited.
 */
typedef struct DnsdTcp {
    DnsdConnection *connection;
    uint8_t *buffers;
    unsigned max;
    unsigned idlest, busiest;   /* the list by last activity */
    unsigned free;              /* the list of free ones */
    atomic_uint used;
} DnsdTcp;

typedef struct DnsdWorker {
    DnsdReaderMark mark;
    DnsdThreadState thread;
    struct DnsdBatch *batch;    /* of datagrams */
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

#endif /* DNSD_SERVER_WORKERS_STATE_H */
