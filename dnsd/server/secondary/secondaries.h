/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Secondary zones: when they are asked for, what triggers it, and how long they
 * are served
 *
 * All functions are for the control thread; transfers run in other threads.
 */
#ifndef DNSD_SERVER_SECONDARY_SECONDARIES_H
#define DNSD_SERVER_SECONDARY_SECONDARIES_H

#include "dnsd/server/service/notifier.h"

typedef struct DnsdSecondaries DnsdSecondaries;

/**
 * dnsd_secondaries_new: start the threads
 * @epoll: reports completed transfers, for dnsd_secondaries_ready()
 * @has_any: false: start no thread and never connect
 * @links: to see interfaces that come late; NULL: not known
 *
 * Returns: NULL, and errno is set.
 */
DnsdSecondaries *dnsd_secondaries_new(int epoll, bool has_any,
                                      DnsdNotifier *notifier,
                                      const DnsdLinks *links);

/** dnsd_secondaries_free: stop all transfers; NULL is allowed */
void dnsd_secondaries_free(DnsdSecondaries *all);

/**
 * dnsd_secondaries_follow: prepare for a server state that will be served next
 *
 * The old state still exists.  Zones in both continue.  Zones that have expired
 * on disk are marked before any reader sees them.
 *
 * Returns: false without memory, and nothing has changed.
 */
bool dnsd_secondaries_follow(DnsdSecondaries *all, const DnsdState *state);

/**
 * dnsd_secondaries_ready: handle an event; false if it is not for this module
 */
bool dnsd_secondaries_ready(DnsdSecondaries *all, void *event);

/** dnsd_secondaries_tick: call it once a second */
void dnsd_secondaries_tick(DnsdSecondaries *all);

/** dnsd_secondaries_notify: the notify() of DnsdControlOps; @opaque: all */
uint16_t dnsd_secondaries_notify(void *opaque, const DnsdAddr *from,
                                 const DnsName *key, const uint8_t *msg,
                                 size_t len);

/**
 * dnsd_secondaries_refresh: ask the primaries of a zone at once
 * @zone: its name
 * @force: take the whole zone from the first that sends it, whatever its serial
 *
 * Returns: false if there is no such secondary zone; @text has the result.
 */
bool dnsd_secondaries_refresh(DnsdSecondaries *all, const char *zone,
                              bool force, DnsdText *text);

/** How a secondary zone is */
typedef struct DnsdCopyStatus {
    bool is_known;              /* it is a secondary zone */
    bool is_asking;             /* a query or a transfer is under way */
    bool has_zone;
    uint32_t failures;          /* in a row */
    uint64_t refresh_s;         /* until the primaries are asked */
    uint64_t expire_s;          /* until it expires; 0: it has */
    uint64_t success;           /* time of the last one, since 1970; 0: none */
    const char *error;          /* of the last attempt that failed, or NULL */
} DnsdCopyStatus;

/** dnsd_secondaries_status: of the zone with this name */
void dnsd_secondaries_status(const DnsdSecondaries *all, const DnsName *name,
                             DnsdCopyStatus *status);

/**
 * dnsd_secondaries_heard: the serial that a primary of a zone has told
 * @which: its place in the configuration
 *
 * Returns: false if it is not known.
 */
bool dnsd_secondaries_heard(const DnsdSecondaries *all, const DnsName *name,
                            size_t which, uint32_t *serial);

/**
 * dnsd_secondaries_metrics: metrics of transfers, NOTIFY, and last successes
 */
void dnsd_secondaries_metrics(const DnsdSecondaries *all, DnsdText *text);

#endif /* DNSD_SERVER_SECONDARY_SECONDARIES_H */
