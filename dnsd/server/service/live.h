/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones that change while they are served
 *
 * A query uses the view that is current when it begins.  A view that was
 * replaced is kept until each worker has begun a new round or is idle.  All
 * functions are for the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_LIVE_H
#define DNSD_SERVER_SERVICE_LIVE_H

#include "dnsd/server/workers/crew.h"
#include "dnsd/update/store/store.h"
#include "dnsd/update/xfr/notify.h"

_Static_assert(DNSD_SECONDARIES_MAX <= 32, "a bit each");

/* Shared by these zones: the merging threads, and old views */
typedef struct DnsdLives DnsdLives;

typedef struct DnsdLive {
    const ZoneView *_Atomic view;       /* the view for readers */
    DnsStore *store;            /* NULL: there is no zone yet */
    DnsdLives *lives;
    DnsName origin;
    unsigned users;
    bool is_static;             /* it changes by new images only */
    bool has_edits;             /* uncommitted ones */
    bool has_failed;            /* the last commit has failed */
    atomic_bool has_expired;    /* a secondary that must not be served */
    /* The serial that secondaries were notified of; notifier.c */
    size_t told;                /* secondaries */
    uint32_t told_serial;
    uint64_t told_at;           /* time, seconds */
    uint32_t unsent;            /* a bit each: sending failed, was logged */
    uint32_t untaken;           /* the same: the last one was not taken */
    DnsNotify notify[DNSD_SECONDARIES_MAX];
} DnsdLive;

/** dnsd_lives_new: @crew are the readers; NULL, and errno is set */
DnsdLives *dnsd_lives_new(DnsdCrew *crew);

/** dnsd_lives_free: no zone and no reader may be left */
void dnsd_lives_free(DnsdLives *lives);

/** dnsd_lives_fd: when it is readable, call dnsd_lives_run() */
int dnsd_lives_fd(const DnsdLives *lives);

/** dnsd_lives_run: take the results of the merging threads */
void dnsd_lives_run(DnsdLives *lives);

/** dnsd_lives_tidy: free views without readers; cheap */
void dnsd_lives_tidy(DnsdLives *lives);

/** dnsd_live_has_journal: is there a journal for the image at @path? */
bool dnsd_live_has_journal(const char *path);

/**
 * dnsd_live_open: map the image and replay its journal
 * @is_static: nobody updates the zone; it changes by new images
 *
 * Returns: NULL, and @why says what is wrong.
 */
DnsdLive *dnsd_live_open(DnsdLives *lives, const char *path,
                         const DnsName *origin, bool is_static, char *why,
                         size_t why_len);

/**
 * dnsd_live_follow: serve the image that is at the path now
 *
 * The difference becomes a change, for IXFR.  Returns: false, and @why says what
 * is wrong; the zone is unchanged.
 */
bool dnsd_live_follow(DnsdLive *live, char *why, size_t why_len);

/**
 * dnsd_live_new: a zone that must still be transferred; queries get SERVFAIL
 *
 * Returns: NULL without memory.
 */
DnsdLive *dnsd_live_new(DnsdLives *lives, const DnsName *origin);

/** dnsd_live_fill: set the zone that was transferred; false, and @why */
bool dnsd_live_fill(DnsdLive *live, const char *path, char *why,
                    size_t why_len);

/** dnsd_live_is_at: is it complete, and still the image at @path? */
bool dnsd_live_is_at(const DnsdLive *live, const char *path);

/** dnsd_live_is_cut: was its image truncated? */
bool dnsd_live_is_cut(const DnsdLive *live, const char *path);

/** dnsd_live_serial: the published serial; 0 without a zone */
uint32_t dnsd_live_serial(const DnsdLive *live);

DnsdLive *dnsd_live_ref(DnsdLive *live);

/** dnsd_live_unref: the last one closes it; no thread may read it then */
void dnsd_live_unref(DnsdLive *live);

#endif /* DNSD_SERVER_SERVICE_LIVE_H */
