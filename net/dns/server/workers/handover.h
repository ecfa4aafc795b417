/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection's requests on their way to other threads, and back */
#ifndef NET_DNS_SERVER_WORKERS_HANDOVER_H
#define NET_DNS_SERVER_WORKERS_HANDOVER_H

#include "net/dns/server/workers/connection.h"

typedef enum DnsdHandover {
    DNSD_HANDOVER_DONE,         /* connection->held is free again */
    DNSD_HANDOVER_WAITS,        /* for one that is under way */
    DNSD_HANDOVER_AWAY,         /* the connection is, with a transfer */
    DNSD_HANDOVER_FAILED,       /* nothing would make it go: it is counted; */
                                /* close it */
} DnsdHandover;

/**
 * dnsd_handover: connection->held to the control thread, or the resolver
 *
 * A transfer goes alone, when all replies are sent.
 */
DnsdHandover dnsd_handover(struct DnsdWorker *worker, unsigned which);

/**
 * dnsd_handover_back: a request is done
 *
 * Returns: false if its connection is gone; @request is freed then.
 */
bool dnsd_handover_back(struct DnsdWorker *worker, DnsdRequest *request);

/**
 * dnsd_handover_put: replies of requests that are back, where there is room
 *
 * Returns: how many.
 */
unsigned dnsd_handover_put(DnsdConnection *connection);

#endif /* NET_DNS_SERVER_WORKERS_HANDOVER_H */
