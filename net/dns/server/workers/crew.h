/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workers, and their sockets */
#ifndef NET_DNS_SERVER_WORKERS_CREW_H
#define NET_DNS_SERVER_WORKERS_CREW_H

#include <sched.h>

#include "net/dns/server/core/metrics.h"
#include "net/dns/server/host/sockets.h"
#include "net/dns/server/workers/epoch.h"
#include "net/dns/server/workers/resolvers.h"

typedef struct DnsdCrew {
    DnsdEpoch epoch;            /* of DnsdServing */
    const DnsdResolvers *resolvers;     /* NULL: there are none */
    unsigned threads;
    cpu_set_t processors;       /* that this process may use */
    unsigned started;
    unsigned sockets_count;     /* one for each thread, or one for all */
    DnsdSockets *sockets;
    struct DnsdWorker **worker;
} DnsdCrew;

/**
 * dnsd_crew_files: descriptors that the crew needs
 *
 * Sets crew->threads and crew->processors, too.
 */
uint64_t dnsd_crew_files(DnsdCrew *crew, const DnsdConfig *config);

/**
 * dnsd_crew_keep_off: the calling thread, and those it starts from now on but
 * the crew, do not run where the crew will
 *
 * With no more processors than threads, nothing changes.
 */
void dnsd_crew_keep_off(const DnsdCrew *crew);

/**
 * dnsd_crew_open: sockets from systemd, or of our own
 *
 * Returns: false, and @mistake says why.
 */
bool dnsd_crew_open(DnsdCrew *crew, const DnsdConfig *config,
                    DnsdMistake *mistake);

/** dnsd_crew_start: begin to answer; false, and @mistake says why. */
bool dnsd_crew_start(DnsdCrew *crew, const DnsdServing *serving,
                     DnsdRequests *control, DnsdMistake *mistake);

/** dnsd_crew_replace: what they serve; nobody reads the old when it returns. */
void dnsd_crew_replace(DnsdCrew *crew, const DnsdServing *serving);

/**
 * dnsd_crew_advance: what readers find by themselves has been replaced
 *
 * Returns: a number; when dnsd_crew_is_past() it, nobody reads the old.
 */
uint64_t dnsd_crew_advance(DnsdCrew *crew);
bool dnsd_crew_is_past(const DnsdCrew *crew, uint64_t number);

/** dnsd_crew_count: sums of what they have counted. */
void dnsd_crew_count(const DnsdCrew *crew, DnsdNumbers *numbers);

/** dnsd_crew_stop: and close all; also after an error. */
void dnsd_crew_stop(DnsdCrew *crew);

#endif /* NET_DNS_SERVER_WORKERS_CREW_H */
