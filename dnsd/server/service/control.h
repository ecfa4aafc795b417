/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that are not plain queries: UPDATE, NOTIFY, transfers, and requests
 * with TSIG
 *
 * All functions are for the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_CONTROL_H
#define DNSD_SERVER_SERVICE_CONTROL_H

#include "dnsd/server/service/notifier.h"
#include "dnsd/server/service/refusals.h"
#include "dnsd/server/service/transfers.h"

typedef struct DnsdControl DnsdControl;

typedef struct DnsdControlOps {
    /*
     * A NOTIFY without its TSIG record; @key: the key that signed it, or NULL.
     * Returns the RCODE of the reply.
     */
    uint16_t (*notify)(void *opaque, const DnsdAddr *from, const DnsName *key,
                       const uint8_t *msg, size_t len);
} DnsdControlOps;

/** dnsd_control_new: the caller owns the arguments; NULL without memory */
DnsdControl *dnsd_control_new(DnsdTransfers *transfers,
                              DnsdNotifier *notifier,
                              const DnsdControlOps *ops, void *opaque);
void dnsd_control_free(DnsdControl *control);

/**
 * dnsd_control_take: handle all requests of a queue
 *
 * Updates of one zone share one commit.  Their replies are sent when it is
 * durable and all later queries see it.
 */
void dnsd_control_take(DnsdControl *control, DnsdState *state,
                       DnsdRequests *requests);

/** dnsd_control_metrics: what was refused */
void dnsd_control_metrics(const DnsdControl *control, DnsdText *text);

#endif /* DNSD_SERVER_SERVICE_CONTROL_H */
