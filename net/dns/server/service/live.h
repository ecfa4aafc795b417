/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones that change while they are served
 *
 * Readers take the view that is there when their query begins.  A view that
 * has been replaced is kept until each worker has begun a new round or reads
 * nothing.  All functions are for the control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_LIVE_H
#define NET_DNS_SERVER_SERVICE_LIVE_H

#include "net/dns/server/workers/crew.h"
#include "net/dns/update/store/store.h"
#include "net/dns/update/xfr/notify.h"

_Static_assert(DNSD_SECONDARIES_MAX <= 32, "a bit each");

/* Shared by all of them: the threads that merge, and old views */
typedef struct DnsdLives DnsdLives;

typedef struct DnsdLive {
    const ZoneView *_Atomic view;       /* what readers have */
    DnsStore *store;            /* NULL: there is no zone yet */
    DnsdLives *lives;
    DnsName origin;
    unsigned users;
    bool has_edits;             /* that are not committed */
    bool has_failed;            /* the last commit */
    atomic_bool has_expired;    /* as a secondary: not served */
    /* The serial that secondaries were told of; notifier.c */
    size_t told;                /* secondaries */
    uint32_t told_serial;
    uint64_t told_at;           /* seconds */
    uint32_t unsent;            /* a bit each: it does not leave, is logged */
    DnsNotify notify[DNSD_SECONDARIES_MAX];
} DnsdLive;

/** dnsd_lives_new: @crew reads; it may start later.  NULL, and errno. */
DnsdLives *dnsd_lives_new(DnsdCrew *crew);

/** dnsd_lives_free: when there is none any more, and no reader. */
void dnsd_lives_free(DnsdLives *lives);

/** dnsd_lives_fd: when it is readable, call dnsd_lives_run(). */
int dnsd_lives_fd(const DnsdLives *lives);

/** dnsd_lives_run: take what the merging threads have done. */
void dnsd_lives_run(DnsdLives *lives);

/** dnsd_lives_tidy: free views that nobody reads any more; cheap. */
void dnsd_lives_tidy(DnsdLives *lives);

/** dnsd_live_has_journal: are there changes beside the image at @path? */
bool dnsd_live_has_journal(const char *path);

/**
 * dnsd_live_open: map the image, do again what its journal has
 *
 * Returns: NULL, and @why says what is wrong.
 */
DnsdLive *dnsd_live_open(DnsdLives *lives, const char *path,
                         const DnsName *origin, char *why, size_t why_len);

/**
 * dnsd_live_new: a zone that has yet to come; queries get SERVFAIL
 *
 * Returns: NULL without memory.
 */
DnsdLive *dnsd_live_new(DnsdLives *lives, const DnsName *origin);

/** dnsd_live_fill: the zone that has come; false, and @why. */
bool dnsd_live_fill(DnsdLive *live, const char *path, char *why,
                    size_t why_len);

/** dnsd_live_is_at: is it whole, and what the image at @path is? */
bool dnsd_live_is_at(const DnsdLive *live, const char *path);

/** dnsd_live_is_cut: is its image shorter than it was? */
bool dnsd_live_is_cut(const DnsdLive *live, const char *path);

/** dnsd_live_serial: of what is published; 0 without a zone */
uint32_t dnsd_live_serial(const DnsdLive *live);

DnsdLive *dnsd_live_ref(DnsdLive *live);

/** dnsd_live_unref: the last one closes it; nobody may read it then. */
void dnsd_live_unref(DnsdLive *live);

#endif /* NET_DNS_SERVER_SERVICE_LIVE_H */
