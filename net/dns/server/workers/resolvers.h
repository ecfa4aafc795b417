/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries on their way to the resolver's threads, and back
 *
 * A name is always one thread's, so its answer is in one cache.  A query that
 * is answered comes back to its worker, which keeps the answer and replies.
 */
#ifndef NET_DNS_SERVER_WORKERS_RESOLVERS_H
#define NET_DNS_SERVER_WORKERS_RESOLVERS_H

#include "net/dns/server/core/tally.h"
#include "net/dns/server/workers/request.h"

/* The resolver, as workers see it */
typedef struct DnsdResolvers {
    unsigned count;
    DnsdRequests *queue;        /* of each thread */
    DnsdTally *tally;           /* of what is there */
    uint64_t key[2];            /* random */
} DnsdResolvers;

/**
 * dnsd_resolvers_ask: hand a request over
 *
 * Returns: 0; or, if too many wait and @request is still the caller's, what
 * is to be counted where it is dropped: DNSD_DROP_RESOLVER_...
 */
unsigned dnsd_resolvers_ask(struct DnsdWorker *worker, DnsdRequest *request);

/**
 * dnsd_resolvers_back: make the reply to a request that has come back
 *
 * Over UDP it is sent.
 *
 * Returns: false if the request is done and freed; else it has the reply that
 * its connection has to send.
 */
bool dnsd_resolvers_back(struct DnsdWorker *worker, DnsdRequest *request);

#endif /* NET_DNS_SERVER_WORKERS_RESOLVERS_H */
