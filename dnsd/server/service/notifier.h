/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NOTIFY to secondaries (RFC 1996), from its own sockets
 *
 * If a zone changes often, its secondaries are notified once a second, of the
 * serial at that time.  All functions are for the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_NOTIFIER_H
#define DNSD_SERVER_SERVICE_NOTIFIER_H

#include "dnsd/server/core/links.h"
#include "dnsd/server/service/zones.h"

typedef struct DnsdNotifier DnsdNotifier;

/**
 * dnsd_notifier_new: open the sockets
 * @epoll: reports replies, for dnsd_notifier_ready()
 * @links: for addresses with an interface; NULL: these cannot be notified
 *
 * An address family that the host does not have is omitted.
 */
DnsdNotifier *dnsd_notifier_new(int epoll, const DnsdLinks *links);

void dnsd_notifier_free(DnsdNotifier *notifier);

/** dnsd_notifier_ready: handle an event; false if it is not for this module */
bool dnsd_notifier_ready(DnsdNotifier *notifier, const DnsdState *state,
                         void *event);

/**
 * dnsd_notifier_look: notify the secondaries of a zone if its serial is new
 *
 * Call it after a commit, and once a second for retransmissions.
 * @keys: TSIG keys, for entries with a key
 */
void dnsd_notifier_look(DnsdNotifier *notifier, const TsigKeys *keys,
                        const DnsdZoneConfig *config, DnsdDynZone *dyn);

/** dnsd_notifier_again: notify all secondaries of a zone of its serial now */
void dnsd_notifier_again(DnsdNotifier *notifier, const TsigKeys *keys,
                         const DnsdZoneConfig *config, DnsdDynZone *dyn);

/** dnsd_notifier_look_all: the same for all zones */
void dnsd_notifier_look_all(DnsdNotifier *notifier, const DnsdState *state);

/** dnsd_notifier_metrics: how notifications have ended */
void dnsd_notifier_metrics(const DnsdNotifier *notifier, DnsdText *text);

#endif /* DNSD_SERVER_SERVICE_NOTIFIER_H */
