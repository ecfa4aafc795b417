/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of a connection, passed to other threads and returned */
#ifndef DNSD_SERVER_WORKERS_HANDOVER_H
#define DNSD_SERVER_WORKERS_HANDOVER_H

#include "dnsd/server/workers/connection.h"

typedef enum DnsdHandover {
    DNSD_HANDOVER_DONE,         /* connection->held is free again */
    DNSD_HANDOVER_WAITS,        /* for a request under way */
    DNSD_HANDOVER_AWAY,         /* the connection is away, for a transfer */
    DNSD_HANDOVER_FAILED,       /* it can never be passed on: it is counted; */
                                /* close the connection */
} DnsdHandover;

/**
 * dnsd_handover: pass connection->held to the control thread or the resolver
 *
 * A transfer is passed alone, after all replies were sent.
 */
DnsdHandover dnsd_handover(struct DnsdWorker *worker, unsigned which);

/**
 * dnsd_handover_back: a request has returned
 *
 * Returns: false if its connection is closed; @request is freed then.
 */
bool dnsd_handover_back(struct DnsdWorker *worker, DnsdRequest *request);

/**
 * dnsd_handover_put: put replies of returned requests into the stream, as many
 * as fit
 *
 * Returns: their number.
 */
unsigned dnsd_handover_put(DnsdConnection *connection);

#endif /* DNSD_SERVER_WORKERS_HANDOVER_H */
