/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files for secondary zones in the control thread */
#ifndef DNSD_SERVER_SECONDARY_SECONDARY_H
#define DNSD_SERVER_SECONDARY_SECONDARY_H

#include "dnsd/server/core/links.h"
#include "dnsd/server/secondary/pool.h"
#include "dnsd/server/service/notifier.h"
#include "dnsd/update/xfr/secondary.h"

/* Is the zone wanted whole, whatever its serial (retransfer)? */
typedef enum DnsdForce {
    DNSD_FORCE_NONE,
    DNSD_FORCE_NEXT,                /* in the next round */
    DNSD_FORCE_NOW,                 /* in this round, or if it was dropped in
                                       the one that replaces it */
} DnsdForce;

/* The last answer of a primary */
typedef struct DnsdHeard {
    bool is_known;                  /* it has told this serial: */
    uint32_t serial;
} DnsdHeard;

/* One secondary zone */
typedef struct DnsdCopy {
    struct DnsdCopy *next;     /* in the list of removed ones */
    DnsName name;
    DnsdDynZone *dyn;
    const DnsdZoneConfig *config;   /* in @state; NULL: it was removed */
    DnsSecondary timers;            /* on the clock dnsd_line_clock() */
    uint64_t asked;                 /* time of the last round; the same clock */
    /* time of the last one, since 1970; 0: none */
    uint64_t success;
    /* A round asks one primary after the other */
    size_t at;
    size_t tried;
    DnsdHeard *heard;               /* parallel to config->primary; or NULL */
    char *error;                    /* of the last attempt that failed */
    bool has_current;               /* a primary has our serial */
    bool has_news;                  /* NOTIFY has announced this serial: */
    uint32_t news;
    bool needs_axfr;                /* what we have is useless */
    DnsdForce force;                /* by dnsd_copy_force() */
    /* For the primary that is being asked */
    DnsdFetch *fetch;
    DnsdKeyring *keyring;           /* holds its key */
    bool is_waiting;                /* it has ended; a merge has not */
    bool is_dropped;                /* its result is not wanted */
    bool is_gone;                   /* all interfaces of primaries are */
    bool is_cut;                    /* one is, or was: ask at once */
} DnsdCopy;

typedef enum DnsdTransferEnd {
    DNSD_IN_AXFR,
    DNSD_IN_IXFR,
    DNSD_IN_CURRENT,
    DNSD_IN_FAILED,
    DNSD_IN_ENDS,
} DnsdTransferEnd;

typedef enum DnsdNotifyEnd {
    DNSD_NOTIFY_TAKEN,
    DNSD_NOTIFY_REFUSED,            /* by 'allow-notify' */
    DNSD_NOTIFY_NO_ZONE,
    DNSD_NOTIFY_MALFORMED,
    DNSD_NOTIFY_ENDS,
} DnsdNotifyEnd;

typedef struct DnsdSecondaries {
    DnsdPool *pool;                 /* NULL: there was no secondary at start */
    DnsdNotifier *notifier;
    const DnsdLinks *links;         /* NULL: not known */
    const DnsdState *state;
    size_t count;
    DnsdCopy **one;            /* sorted by name */
    DnsdCopy *gone;            /* removed, with a fetch under way */
    uint64_t ended[DNSD_IN_ENDS];
    uint64_t failed[DNS_XFR_REASONS];
    uint64_t notified[DNSD_NOTIFY_ENDS];
} DnsdSecondaries;

/** dnsd_notify_end_name: as in the metrics: "taken" */
const char *dnsd_notify_end_name(DnsdNotifyEnd end);

/**
 * dnsd_secondaries_find: the place of a zone in the list, or NULL
 * @name: in lower case, as in the configuration
 */
DnsdCopy **dnsd_secondaries_find(const DnsdSecondaries *all,
                                 const DnsName *name);

/** dnsd_secondary_soa: the SOA that is served; false if the zone is damaged */
bool dnsd_secondary_soa(const DnsdDynZone *dyn, DnsSoa *soa);

/** dnsd_secondary_age: seconds since the zone on disk was confirmed */
uint64_t dnsd_secondary_age(const DnsdDynZone *dyn, const char *image,
                            uint64_t *success);

/**
 * dnsd_secondary_install: serve the image that was transferred
 *
 * Returns: false, and @why; the old zone is still served.
 */
bool dnsd_secondary_install(DnsdDynZone *dyn, const char *image,
                            const char *path, char *why, size_t why_len);

/** dnsd_copy_force: change what is wanted of the primaries */
void dnsd_copy_force(DnsdCopy *s, DnsdForce force);

/** dnsd_round_tick: do what the timers of a zone require */
void dnsd_round_tick(DnsdSecondaries *all, DnsdCopy *s,
                     uint64_t now);

/** dnsd_round_settle: handle a fetch that has ended and was not dropped */
void dnsd_round_settle(DnsdSecondaries *all, DnsdCopy *s,
                       uint64_t now);

#endif /* DNSD_SERVER_SECONDARY_SECONDARY_H */
