/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that are no plain queries: UPDATE, transfers, and what TSIG signs
 *
 * All functions are for the control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_CONTROL_H
#define NET_DNS_SERVER_SERVICE_CONTROL_H

#include "net/dns/server/service/notifier.h"
#include "net/dns/server/service/transfers.h"

typedef struct DnsdControl DnsdControl;

/** dnsd_control_new: the others are the caller's; NULL without memory. */
DnsdControl *dnsd_control_new(DnsdTransfers *transfers,
                              DnsdNotifier *notifier);
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
