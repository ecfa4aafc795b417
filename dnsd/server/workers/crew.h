/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workers, and their sockets */
#ifndef DNSD_SERVER_WORKERS_CREW_H
#define DNSD_SERVER_WORKERS_CREW_H

#include <sched.h>

#include "dnsd/server/core/links.h"
#include "dnsd/server/core/metrics.h"
#include "dnsd/server/host/sockets.h"
#include "dnsd/server/workers/epoch.h"
#include "dnsd/server/workers/resolvers.h"

/* An entry of server.listen with an interface */
typedef struct DnsdPlace {
    DnsdListen at;
    unsigned number;            /* in server.listen */
    unsigned index;             /* of the interface; 0: it is not there */
    bool is_told;               /* why it cannot be used */
} DnsdPlace;

typedef struct DnsdCrew {
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
} DnsdCrew;

/**
 * dnsd_crew_files: descriptors that the crew needs
 *
 * It also sets crew->threads and crew->processors.
 */
uint64_t dnsd_crew_files(DnsdCrew *crew, const DnsdConfig *config);

/**
 * dnsd_crew_keep_off: keep the calling thread, and threads that it starts
 * afterwards, away from the processors of the crew
 *
 * If there are no more processors than threads, nothing changes.
 */
void dnsd_crew_keep_off(const DnsdCrew *crew);

/**
 * dnsd_crew_open: take sockets from systemd, or open our own
 *
 * Returns: false, and @mistake has the reason.
 */
bool dnsd_crew_open(DnsdCrew *crew, const DnsdConfig *config,
                    DnsdMistake *mistake);

/** dnsd_crew_is_opener: has it opened its sockets, as systemd gave none? */
bool dnsd_crew_is_opener(const DnsdCrew *crew);

/** dnsd_crew_start: start the threads; false, and @mistake has the reason */
bool dnsd_crew_start(DnsdCrew *crew, const DnsdServing *serving,
                     DnsdRequests *control, DnsdMistake *mistake);

/**
 * dnsd_crew_replace: serve other data; on return no thread reads the old data
 */
void dnsd_crew_replace(DnsdCrew *crew, const DnsdServing *serving);

/**
 * dnsd_crew_advance: data that readers find by themselves was replaced
 *
 * Returns: a number; when dnsd_crew_is_past() it, no thread reads the old data.
 */
uint64_t dnsd_crew_advance(DnsdCrew *crew);
bool dnsd_crew_is_past(const DnsdCrew *crew, uint64_t number);

/**
 * dnsd_crew_own: make a user the owner of all sockets
 *
 * Sockets of one user alone can share a port, and later ones are that user's.
 */
void dnsd_crew_own(const DnsdCrew *crew, uid_t uid);

/** dnsd_crew_follow_vrfs: use the VRFs of these interfaces */
void dnsd_crew_follow_vrfs(DnsdCrew *crew, const DnsdLinks *links);

/**
 * dnsd_crew_follow: listen at interfaces that have come, or were made again
 *
 * Call it once a second too: what fails is tried again.
 */
void dnsd_crew_follow(DnsdCrew *crew, const DnsdLinks *links);

/** dnsd_crew_count: sum up the counters of all threads */
void dnsd_crew_count(const DnsdCrew *crew, DnsdNumbers *numbers);

/** dnsd_crew_stop: stop and close all; also after an error */
void dnsd_crew_stop(DnsdCrew *crew);

#endif /* DNSD_SERVER_WORKERS_CREW_H */
