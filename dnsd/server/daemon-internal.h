/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of vmmnet-dnsd as a process */
#ifndef DNSD_SERVER_DAEMON_INTERNAL_H
#define DNSD_SERVER_DAEMON_INTERNAL_H

#include <time.h>

#include "base/control.h"
#include "dnsd/server/host/addresses.h"
#include "dnsd/server/host/interfaces.h"
#include "dnsd/server/resolver/resolver.h"
#include "dnsd/server/secondary/secondaries.h"
#include "dnsd/server/service/control.h"
#include "dnsd/server/service/exporter.h"
#include "dnsd/server/service/zones.h"
#include "dnsd/server/workers/pool.h"

typedef struct DnsdDaemon {
    const char *path;
    DnsdState *state;
    DnsdWorkerPool pool;
    DnsdRequests requests;
    BaseControl *socket;        /* NULL: server.control is off */
    DnsdExporter *exporter;     /* NULL: server.metrics is off */
    DnsdResolver *resolver;     /* NULL: no resolver */
    /* NULL: no zone can change */
    DnsdZoneSet *zone_set;
    DnsdTransfers *transfers;
    DnsdNotifier *notifier;
    DnsdSecondaries *secondaries;
    DnsdControl *control;
    DnsdInterfaces *interfaces; /* NULL: the kernel does not tell */
    DnsdAddresses *addresses;   /* NULL: nobody follows them */
    int epoll, signals, lost;
    uint8_t secret[DNSD_SECRET_LEN];
    uint64_t reloads, reloads_failed;
    uint64_t states;            /* that were served before @state */
    time_t looked;              /* time of the last each_second() */
    bool is_stopping;
} DnsdDaemon;

/**
 * dnsd_daemon_state: make a server state from the configuration
 * @before: the one that is served; NULL: none
 * @faults: set to the number of images that cannot be used
 *
 * Returns: NULL, and @errors has the reasons.
 */
DnsdState *dnsd_daemon_state(DnsdDaemon *d, const DnsdState *before,
                             unsigned *faults, DnsdErrors *errors);

/**
 * dnsd_daemon_scopes: put the interfaces of forwarders into their addresses
 * @is_logged: log which are there, and which are not
 *
 * Returns: false if nothing has changed.
 */
bool dnsd_daemon_scopes(const DnsdDaemon *d, DnsdResolverConfig *config,
                        bool is_logged);

/**
 * dnsd_daemon_reload: false if it was not done, or only in part; @text has the
 * reason
 */
bool dnsd_daemon_reload(DnsdDaemon *d, DnsdText *text);

/** dnsd_daemon_metrics: all metrics; a DnsdMetricsFn for a DnsdDaemon */
void dnsd_daemon_metrics(void *daemon, DnsdText *text);

/* The request "show" of the control socket; @daemon: a DnsdDaemon */
bool dnsd_daemon_show(void *daemon, BaseControlClient *c, char **words,
                      unsigned count);

/* The requests of the control socket (base/control.h), for a DnsdDaemon */
extern const BaseControlOps dnsd_daemon_control;

#endif /* DNSD_SERVER_DAEMON_INTERNAL_H */
