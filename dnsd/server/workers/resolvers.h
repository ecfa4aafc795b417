/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries, passed to the threads of the resolver and returned
 *
 * A name always belongs to the same thread, so its answer is in one cache.  A
 * query returns to its worker, which keeps the answer and replies.
 */
#ifndef DNSD_SERVER_WORKERS_RESOLVERS_H
#define DNSD_SERVER_WORKERS_RESOLVERS_H

#include "dnsd/server/workers/state.h"

/**
 * dnsd_resolvers_ask: pass on a request
 *
 * Returns: 0; or, if too many wait, the counter for a dropped request,
 * DNSD_DROP_RESOLVER_..., and the caller keeps @request.
 */
unsigned dnsd_resolvers_ask(DnsdWorker *worker, DnsdRequest *request);

/**
 * dnsd_resolvers_back: make the reply to a request that has returned
 *
 * Over UDP it is sent.
 *
 * Returns: false if the request was completed and freed; otherwise it has the
 * reply, which the connection must send.
 */
bool dnsd_resolvers_back(DnsdWorker *worker, DnsdRequest *request);

#endif /* DNSD_SERVER_WORKERS_RESOLVERS_H */
