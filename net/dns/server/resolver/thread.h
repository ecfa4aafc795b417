/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that resolves */
#ifndef NET_DNS_SERVER_RESOLVER_THREAD_H
#define NET_DNS_SERVER_RESOLVER_THREAD_H

#include "net/dns/server/core/tally.h"
#include "net/dns/server/resolver/context.h"
#include "net/dns/server/workers/request.h"

typedef struct DnsdAsk DnsdAsk;

typedef struct DnsdResolverThread {
    DnscLoop loop;
    DnscSource wake;            /* of the queue */
    DnsdRequests *queue;
    DnsdTally *tally;
    DnsdContext *_Atomic next;  /* to be taken instead of the one in use */
    DnsdContext *context;       /* the one in use, and those before it, */
                                /* which have asks still */
    DnsdAsk *asks;              /* all */
    atomic_bool stop;
    bool is_running;
    pthread_t thread;
} DnsdResolverThread;

/** dnsd_resolver_thread_init: returns 0 or a negative errno. */
int dnsd_resolver_thread_init(DnsdResolverThread *t, DnsdRequests *queue,
                              DnsdTally *tally);

/** dnsd_resolver_thread_use: the context for queries from now on. */
void dnsd_resolver_thread_use(DnsdResolverThread *t, DnsdContext *context);

/** dnsd_resolver_thread_start: returns 0 or a negative errno. */
int dnsd_resolver_thread_start(DnsdResolverThread *t);

/** dnsd_resolver_thread_stop: nothing is given back any more. */
void dnsd_resolver_thread_stop(DnsdResolverThread *t);

/**
 * dnsd_resolver_thread_free: what it has, when nobody fills its queue
 *
 * Requests that wait get no reply.  Also of one that did not start.
 */
void dnsd_resolver_thread_free(DnsdResolverThread *t);

#endif /* NET_DNS_SERVER_RESOLVER_THREAD_H */
