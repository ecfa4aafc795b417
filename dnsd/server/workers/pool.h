/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workers, and their sockets */
#ifndef DNSD_SERVER_WORKERS_POOL_H
#define DNSD_SERVER_WORKERS_POOL_H

#include <sched.h>

#include "dnsd/server/core/links.h"
#include "dnsd/server/core/metrics.h"
#include "dnsd/server/host/sockets.h"
#include "dnsd/server/workers/epoch.h"
#include "dnsd/server/workers/request.h"

/* An entry of server.listen with an interface */
typedef struct DnsdPlace {
    DnsdListen at;
    unsigned number;            /* in server.listen */
    unsigned index;             /* of the interface; 0: it is not there */
    bool is_logged;             /* why it cannot be used */
} DnsdPlace;

typedef struct DnsdWorkerPool {
    DnsdEpoch epoch;            /* of DnsdServing */
    _Atomic(const DnsdVrfs *) vrfs;
    const DnsdResolvers *resolvers;     /* NULL: no resolver */
    unsigned threads;
    cpu_set_t processors;       /* that this process may use */
    unsigned started;
    unsigned sockets_count;     /* one per thread, or one for all */
    DnsdSockets *sockets;
    uint32_t receive_buffer;
    unsigned places_count;
    DnsdPlace *places;          /* NULL: the sockets are systemd's */
    struct DnsdWorker **worker;
} DnsdWorkerPool;

/**
 * dnsd_worker_pool_files: descriptors that the pool needs
 *
 * It also sets pool->threads and pool->processors.
 */
uint64_t dnsd_worker_pool_files(DnsdWorkerPool *pool, const DnsdConfig *config);

/**
 * dnsd_worker_pool_keep_off: keep the calling thread, and threads that it
 * starts afterwards, away from the processors of the pool
 *
 * If there are no more processors than threads, nothing changes.
 */
void dnsd_worker_pool_keep_off(const DnsdWorkerPool *pool);

/**
 * dnsd_worker_pool_open: take sockets from systemd, or open our own
 *
 * Returns: false, and @error has the reason.
 */
bool dnsd_worker_pool_open(DnsdWorkerPool *pool, const DnsdConfig *config,
                           DnsdError *error);

/** dnsd_worker_pool_is_opener: did it open its sockets, as systemd gave none? */
bool dnsd_worker_pool_is_opener(const DnsdWorkerPool *pool);

/** dnsd_worker_pool_start: start the threads; false, and @error says why */
bool dnsd_worker_pool_start(DnsdWorkerPool *pool, const DnsdServing *serving,
                            DnsdRequests *control, DnsdError *error);

/**
 * dnsd_worker_pool_replace: serve other data
 *
 * On return, no thread reads the old data.
 */
void dnsd_worker_pool_replace(DnsdWorkerPool *pool, const DnsdServing *serving);

/**
 * dnsd_worker_pool_advance: data that readers find by themselves was replaced
 *
 * Returns: a number; when dnsd_worker_pool_is_past() it, no thread reads the
 * old data.
 */
uint64_t dnsd_worker_pool_advance(DnsdWorkerPool *pool);
bool dnsd_worker_pool_is_past(const DnsdWorkerPool *pool, uint64_t number);

/**
 * dnsd_worker_pool_own: make a user the owner of all sockets
 *
 * Sockets of one user alone can share a port, and later ones are that user's.
 */
void dnsd_worker_pool_own(const DnsdWorkerPool *pool, uid_t uid);

/** dnsd_worker_pool_follow_vrfs: use the VRFs of these interfaces */
void dnsd_worker_pool_follow_vrfs(DnsdWorkerPool *pool, const DnsdLinks *links);

/**
 * dnsd_worker_pool_follow: listen at interfaces that have come, or were made
 * again
 *
 * Call it once a second too: what fails is tried again.
 */
void dnsd_worker_pool_follow(DnsdWorkerPool *pool, const DnsdLinks *links);

/** dnsd_worker_pool_count: sum up the counters of all threads */
void dnsd_worker_pool_count(const DnsdWorkerPool *pool, DnsdNumbers *numbers);

/** dnsd_worker_pool_stop: stop and close all; also after an error */
void dnsd_worker_pool_stop(DnsdWorkerPool *pool);

#endif /* DNSD_SERVER_WORKERS_POOL_H */
