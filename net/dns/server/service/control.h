/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that are no plain queries: UPDATE, NOTIFY, transfers, and what TSIG
 * signs
 *
 * All functions are for the control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_CONTROL_H
#define NET_DNS_SERVER_SERVICE_CONTROL_H

#include "net/dns/server/service/notifier.h"
#include "net/dns/server/service/transfers.h"

typedef struct DnsdControl DnsdControl;

typedef struct DnsdControlOps {
    /*
     * A NOTIFY without its TSIG record; @key: that it was signed with, or NULL.
     * Returns the RCODE of the reply.
     */
    uint16_t (*notify)(void *opaque, const DnsdAddr *from, const DnsName *key,
                       const uint8_t *msg, size_t len);
} DnsdControlOps;

/** dnsd_control_new: the others are the caller's; NULL without memory. */
DnsdControl *dnsd_control_new(DnsdTransfers *transfers,
                              DnsdNotifier *notifier,
                              const DnsdControlOps *ops, void *opaque);
void dnsd_control_free(DnsdControl *control);

/**
 * dnsd_control_take: all of a queue
 *
 * Updates of one zone are one commit; their replies leave when it is durable
 * and every later query sees it.
 */
void dnsd_control_take(DnsdControl *control, DnsdWorld *world,
                       DnsdRequests *requests);

#endif /* NET_DNS_SERVER_SERVICE_CONTROL_H */
