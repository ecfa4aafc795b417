/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a worker */
#ifndef DNSD_SERVER_WORKERS_WORKER_H
#define DNSD_SERVER_WORKERS_WORKER_H

#include "dnsd/server/workers/state.h"

/**
 * dnsd_worker_start: the caller owns sockets, epoch, vrfs, control, resolvers
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
