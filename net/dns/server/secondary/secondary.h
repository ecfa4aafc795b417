/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of what the control thread does about secondary zones */
#ifndef NET_DNS_SERVER_SECONDARY_SECONDARY_H
#define NET_DNS_SERVER_SECONDARY_SECONDARY_H

#include "net/dns/server/secondary/pool.h"
#include "net/dns/server/service/notifier.h"
#include "net/dns/update/xfr/secondary.h"

/* One zone that is copied from primaries */
typedef struct DnsdCopy {
    struct DnsdCopy *next;     /* of those that are gone */
    DnsName name;
    DnsdLive *live;
    const DnsdZoneConfig *config;   /* of the world; NULL: it is gone */
    DnsSecondary timers;            /* of dnsd_line_clock() */
    uint64_t asked;                 /* when, last; likewise */
    uint64_t success;               /* the last one, since 1970; 0: none */
    /* A round asks one primary after the other. */
    size_t at;
    size_t tried;
    bool has_current;               /* one of them has what we have */
    bool has_news;                  /* NOTIFY says that there is this: */
    uint32_t news;
    bool needs_axfr;                /* what is here is of no use */
    /* Of the primary that is being asked */
    DnsdFetch *fetch;
    DnsdKeyring *keyring;           /* has its key */
    bool is_waiting;                /* it has ended, and a merge has not */
    bool is_dropped;                /* its result is not wanted any more */
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

struct DnsdSecondaries {
    DnsdPool *pool;                 /* NULL: there were none at the start */
    DnsdNotifier *notifier;
    const DnsdWorld *world;
    size_t count;
    DnsdCopy **one;            /* by name */
    DnsdCopy *gone;            /* whose fetch has not ended */
    uint64_t ended[DNSD_IN_ENDS];
    uint64_t failed[DNS_XFR_REASONS];
    uint64_t notified[DNSD_NOTIFY_ENDS];
};

/**
 * dnsd_secondaries_find: the place of a zone, or NULL
 * @name: in lower case, as names of the configuration are
 */
DnsdCopy **dnsd_secondaries_find(const struct DnsdSecondaries *all,
                                 const DnsName *name);

/** dnsd_secondary_soa: of the zone as it is served; false if it is damaged. */
bool dnsd_secondary_soa(const DnsdLive *live, DnsSoa *soa);

/** dnsd_secondary_age: seconds since the zone on disk was confirmed */
uint64_t dnsd_secondary_age(const DnsdLive *live, const char *image,
                            uint64_t *success);

/**
 * dnsd_secondary_install: serve the image that has come
 *
 * Returns: false, and @why; what was served before still is.
 */
bool dnsd_secondary_install(DnsdLive *live, const char *image,
                            const char *path, char *why, size_t why_len);

/** dnsd_round_tick: what a zone's timers want now */
void dnsd_round_tick(struct DnsdSecondaries *all, DnsdCopy *s,
                     uint64_t now);

/** dnsd_round_settle: a fetch has ended, and is not dropped */
void dnsd_round_settle(struct DnsdSecondaries *all, DnsdCopy *s,
                       uint64_t now);

#endif /* NET_DNS_SERVER_SECONDARY_SECONDARY_H */
