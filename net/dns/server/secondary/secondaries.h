/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones that are copied from primaries: when they are asked for, by whose word,
 * and until when they are served
 *
 * All functions are for the control thread; the transfers are other threads'.
 */
#ifndef NET_DNS_SERVER_SECONDARY_SECONDARIES_H
#define NET_DNS_SERVER_SECONDARY_SECONDARIES_H

#include "net/dns/server/service/notifier.h"

typedef struct DnsdSecondaries DnsdSecondaries;

/**
 * dnsd_secondaries_new: starts the threads
 * @epoll: tells dnsd_secondaries_ready() of transfers that have ended
 * @has_any: false: there will be none, so no thread and no connection
 *
 * Returns: NULL, and errno.
 */
DnsdSecondaries *dnsd_secondaries_new(int epoll, bool has_any,
                                      DnsdNotifier *notifier);

/** dnsd_secondaries_free: ends all transfers; NULL is none. */
void dnsd_secondaries_free(DnsdSecondaries *all);

/**
 * dnsd_secondaries_follow: a world that is about to be served
 *
 * The one before is still there.  Zones that both have go on as they are;
 * those that have expired on disk are marked so before anybody reads them.
 *
 * Returns: false without memory, and nothing has changed.
 */
bool dnsd_secondaries_follow(DnsdSecondaries *all, const DnsdWorld *world);

/** dnsd_secondaries_ready: false if the event is not its own. */
bool dnsd_secondaries_ready(DnsdSecondaries *all, void *event);

/** dnsd_secondaries_tick: once a second */
void dnsd_secondaries_tick(DnsdSecondaries *all);

/** dnsd_secondaries_notify: DnsdControlOps' notify(); @opaque: all */
uint16_t dnsd_secondaries_notify(void *opaque, const DnsdAddr *from,
                                 const DnsName *key, const uint8_t *msg,
                                 size_t len);

/**
 * dnsd_secondaries_refresh: ask the primaries of a zone now
 * @zone: its name
 *
 * Returns: false if there is no such secondary zone; @text says what happens.
 */
bool dnsd_secondaries_refresh(DnsdSecondaries *all, const char *zone,
                              DnsdText *text);

/** dnsd_secondaries_metrics: of transfers, NOTIFY, and the last successes */
void dnsd_secondaries_metrics(const DnsdSecondaries *all, DnsdText *text);

#endif /* NET_DNS_SERVER_SECONDARY_SECONDARIES_H */
