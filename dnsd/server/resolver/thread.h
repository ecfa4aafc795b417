/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that resolves */
#ifndef DNSD_SERVER_RESOLVER_THREAD_H
#define DNSD_SERVER_RESOLVER_THREAD_H

#include "dnsd/server/core/tally.h"
#include "dnsd/server/resolver/context.h"
#include "dnsd/server/workers/request.h"

typedef struct DnsdAsk DnsdAsk;

typedef struct DnsdResolverThread {
    DnscLoop loop;
    DnscSource wake;            /* of the queue */
    DnsdRequests *queue;
    DnsdTally *tally;
    DnsdContext *_Atomic next;  /* replaces the one in use */
    DnsdContext *context;       /* the one in use, and older ones */
                                /* that still have queries */
    DnsdAsk *asks;              /* all */
    atomic_bool stop;
    bool is_running;
    pthread_t thread;
} DnsdResolverThread;

/** dnsd_resolver_thread_init: returns 0 or a negative errno. */
int dnsd_resolver_thread_init(DnsdResolverThread *t, DnsdRequests *queue,
                              DnsdTally *tally);

/** dnsd_resolver_thread_use: use this context for further queries */
void dnsd_resolver_thread_use(DnsdResolverThread *t, DnsdContext *context);

/** dnsd_resolver_thread_start: returns 0 or a negative errno. */
int dnsd_resolver_thread_start(DnsdResolverThread *t);

/** dnsd_resolver_thread_stop: after it no query is returned any more */
void dnsd_resolver_thread_stop(DnsdResolverThread *t);

/**
 * dnsd_resolver_thread_free: free a thread, whose queue is not filled any more
 *
 * Waiting requests get no reply.  It also frees a thread that was not started.
 */
void dnsd_resolver_thread_free(DnsdResolverThread *t);

#endif /* DNSD_SERVER_RESOLVER_THREAD_H */
