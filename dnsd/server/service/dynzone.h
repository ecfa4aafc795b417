/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones that change while they are served
 *
 * A query uses the view that is current when it begins.  A view that was
 * replaced is kept until each worker has begun a new round or is idle.  All
 * functions are for the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_DYNZONE_H
#define DNSD_SERVER_SERVICE_DYNZONE_H

#include "dnsd/server/workers/pool.h"
#include "dnsd/update/store/store.h"
#include "dnsd/update/xfr/notify.h"

_Static_assert(DNSD_SECONDARIES_MAX <= 32, "a bit each");

/* Shared by these zones: the merging threads, and old views */
typedef struct DnsdZoneSet DnsdZoneSet;

typedef struct DnsdDynZone {
    const ZoneView *_Atomic view;       /* the view for readers */
    DnsStore *store;            /* NULL: there is no zone yet */
    DnsdZoneSet *zone_set;
    DnsName origin;
    unsigned users;
    bool is_static;             /* it changes by new images only */
    bool has_edits;             /* uncommitted ones */
    bool has_failed;            /* the last commit has failed */
    atomic_bool has_expired;    /* a secondary that must not be served */
    /* The serial that secondaries were notified of; notifier.c */
    size_t notified;            /* secondaries */
    uint32_t notified_serial;
    uint64_t notified_at;       /* time, seconds */
    uint32_t unsent;            /* a bit each: sending failed, was logged */
    uint32_t untaken;           /* the same: the last one was not taken */
    DnsNotify notify[DNSD_SECONDARIES_MAX];
} DnsdDynZone;

/** dnsd_zone_set_new: @pool are the readers; NULL, and errno is set */
DnsdZoneSet *dnsd_zone_set_new(DnsdWorkerPool *pool);

/** dnsd_zone_set_free: no zone and no reader may be left */
void dnsd_zone_set_free(DnsdZoneSet *zone_set);

/** dnsd_zone_set_fd: when it is readable, call dnsd_zone_set_run() */
int dnsd_zone_set_fd(const DnsdZoneSet *zone_set);

/** dnsd_zone_set_run: take the results of the merging threads */
void dnsd_zone_set_run(DnsdZoneSet *zone_set);

/** dnsd_zone_set_tidy: free views without readers; cheap */
void dnsd_zone_set_tidy(DnsdZoneSet *zone_set);

/** dnsd_dynzone_has_journal: is there a journal for the image at @path? */
bool dnsd_dynzone_has_journal(const char *path);

/**
 * dnsd_dynzone_open: map the image and replay its journal
 * @is_static: nobody updates the zone; it changes by new images
 *
 * Returns: NULL, and @why says what is wrong.
 */
DnsdDynZone *dnsd_dynzone_open(DnsdZoneSet *zone_set, const char *path,
                               const DnsName *origin, bool is_static, char *why,
                               size_t why_len);

/**
 * dnsd_dynzone_follow: serve the image that is at the path now
 *
 * The difference becomes a change, for IXFR.  Returns: false, and @why says what
 * is wrong; the zone is unchanged.
 */
bool dnsd_dynzone_follow(DnsdDynZone *dyn, char *why, size_t why_len);

/**
 * dnsd_dynzone_new: a zone that must still be transferred; queries get SERVFAIL
 *
 * Returns: NULL without memory.
 */
DnsdDynZone *dnsd_dynzone_new(DnsdZoneSet *zone_set, const DnsName *origin);

/** dnsd_dynzone_fill: set the zone that was transferred; false, and @why */
bool dnsd_dynzone_fill(DnsdDynZone *dyn, const char *path, char *why,
                       size_t why_len);

/** dnsd_dynzone_is_at: is it complete, and still the image at @path? */
bool dnsd_dynzone_is_at(const DnsdDynZone *dyn, const char *path);

/** dnsd_dynzone_is_cut: was its image truncated? */
bool dnsd_dynzone_is_cut(const DnsdDynZone *dyn, const char *path);

/** dnsd_dynzone_serial: the published serial; 0 without a zone */
uint32_t dnsd_dynzone_serial(const DnsdDynZone *dyn);

DnsdDynZone *dnsd_dynzone_ref(DnsdDynZone *dyn);

/** dnsd_dynzone_unref: the last one closes it; no thread may read it then */
void dnsd_dynzone_unref(DnsdDynZone *dyn);

#endif /* DNSD_SERVER_SERVICE_DYNZONE_H */
