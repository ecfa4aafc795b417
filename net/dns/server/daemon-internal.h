/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of vmmnet-dnsd as a process */
#ifndef NET_DNS_SERVER_DAEMON_INTERNAL_H
#define NET_DNS_SERVER_DAEMON_INTERNAL_H

#include <time.h>

#include "net/dns/server/host/addresses.h"
#include "net/dns/server/host/interfaces.h"
#include "net/dns/server/resolver/resolver.h"
#include "net/dns/server/secondary/secondaries.h"
#include "net/dns/server/service/control.h"
#include "net/dns/server/service/panel.h"
#include "net/dns/server/service/zones.h"
#include "net/dns/server/workers/crew.h"

typedef struct DnsdDaemon {
    const char *path;
    DnsdWorld *world;
    DnsdCrew crew;
    DnsdRequests requests;
    DnsdPanel *panel;
    DnsdResolver *resolver;     /* NULL: no resolver */
    /* NULL: no zone can change */
    DnsdLives *lives;
    DnsdTransfers *transfers;
    DnsdNotifier *notifier;
    DnsdSecondaries *secondaries;
    DnsdControl *control;
    DnsdInterfaces *interfaces; /* NULL: the kernel does not tell */
    DnsdAddresses *addresses;   /* NULL: nobody follows them */
    int epoll, signals, lost;
    uint8_t secret[DNSD_SECRET_LEN];
    uint64_t reloads, reloads_failed;
    time_t looked;              /* time of the last each_second() */
    bool is_stopping;
} DnsdDaemon;

/**
 * dnsd_daemon_world: make a world from the configuration
 * @before: the world that is served; NULL: none
 * @faults: set to the number of images that cannot be used
 *
 * Returns: NULL, and @mistakes has the reasons.
 */
DnsdWorld *dnsd_daemon_world(DnsdDaemon *d, const DnsdWorld *before,
                             unsigned *faults, DnsdMistakes *mistakes);

/**
 * dnsd_daemon_scopes: put the interfaces of forwarders into their addresses
 * @is_told: log which are there, and which are not
 *
 * Returns: false if nothing has changed.
 */
bool dnsd_daemon_scopes(const DnsdDaemon *d, DnsdResolverConfig *config,
                        bool is_told);

/**
 * dnsd_daemon_reload: false if it was not done, or only in part; @text has the
 * reason
 */
bool dnsd_daemon_reload(DnsdDaemon *d, DnsdText *text);

/* Commands of the control socket; "opaque" is a DnsdDaemon */
extern const DnsdPanelOps dnsd_daemon_panel;

#endif /* NET_DNS_SERVER_DAEMON_INTERNAL_H */
