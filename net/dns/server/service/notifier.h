/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NOTIFY to secondaries (RFC 1996), from sockets of its own
 *
 * A zone that changes often is told of once a second, with the serial that it
 * has then.  All functions are for the control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_NOTIFIER_H
#define NET_DNS_SERVER_SERVICE_NOTIFIER_H

#include "net/dns/server/service/zones.h"

typedef struct DnsdNotifier DnsdNotifier;

/**
 * dnsd_notifier_new: opens its sockets
 * @epoll: tells dnsd_notifier_ready() of replies
 *
 * A family of addresses that the host does not have is left out.
 */
DnsdNotifier *dnsd_notifier_new(int epoll);

void dnsd_notifier_free(DnsdNotifier *notifier);

/** dnsd_notifier_ready: false if the event is not its own. */
bool dnsd_notifier_ready(DnsdNotifier *notifier, const DnsdWorld *world,
                         void *event);

/**
 * dnsd_notifier_look: tell the secondaries of a zone what they do not know
 *
 * After a commit, and once a second: what is not answered is sent again.
 * @keys: of TSIG, for those whose entry names one
 */
void dnsd_notifier_look(DnsdNotifier *notifier, const TsigKeys *keys,
                        const DnsdZoneConfig *config, DnsdLive *live);

/** dnsd_notifier_look_all: the same for all zones. */
void dnsd_notifier_look_all(DnsdNotifier *notifier, const DnsdWorld *world);

#endif /* NET_DNS_SERVER_SERVICE_NOTIFIER_H */
