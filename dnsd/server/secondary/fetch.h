/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One attempt to transfer a zone from one primary
 *
 * It runs in its own thread and uses no zone that is served.  The control
 * thread installs the result.
 */
#ifndef DNSD_SERVER_SECONDARY_FETCH_H
#define DNSD_SERVER_SECONDARY_FETCH_H

#include "dnsd/server/config/config.h"
#include "dnsd/update/xfr/xfr-in.h"

typedef enum DnsdFetchEnd {
    DNSD_FETCH_FAILED,          /* sets reason and why */
    DNSD_FETCH_CURRENT,         /* the primary has nothing newer */
    DNSD_FETCH_CHANGES,         /* in @in, to be applied */
    DNSD_FETCH_IMAGE,           /* at @path */
} DnsdFetchEnd;

typedef struct DnsdFetch {
    struct DnsdFetch *next;
    void *opaque;               /* for the caller */
    atomic_bool stop;           /* becomes true: stop */
    /* The zone and the primary */
    DnsName zone;
    DnsdPrimary primary;
    DnsdListen from;            /* len 0: the kernel chooses */
    const TsigKey *key;         /* or NULL */
    bool has_zone;              /* we have the zone, with this serial: */
    uint32_t serial;
    bool takes_older;           /* an older serial is acceptable */
    bool is_forced;             /* use AXFR, whatever the serial */
    char *image;                /* path of the zone */
    char *path;                 /* of the new image, until it is renamed */
    uint64_t len_max;           /* limit, octets of records */
    /* The result */
    DnsdFetchEnd end;
    DnsXfrReason reason;
    bool is_cut;                /* by an interface of this host */
    char why[160];
    bool has_got;               /* the primary has told its serial: */
    uint32_t got;
    uint64_t records;
    uint64_t octets;
    uint64_t ms;                /* how long it took */
    DnsXfrIn *in;
} DnsdFetch;

/** dnsd_fetch_new: NULL without memory; the caller fills the other fields */
DnsdFetch *dnsd_fetch_new(const char *image);

/** dnsd_fetch_run: run it until it ends */
void dnsd_fetch_run(DnsdFetch *fetch);

/** dnsd_fetch_fail: end it as failed; @error is a negative errno, or 0 */
void dnsd_fetch_fail(DnsdFetch *fetch, DnsXfrReason reason, const char *why,
                     int error);

/** dnsd_fetch_free_image: delete the file at @path */
void dnsd_fetch_free_image(const DnsdFetch *fetch);

/** dnsd_fetch_free: also deletes an image that was not used; NULL is allowed */
void dnsd_fetch_free(DnsdFetch *fetch);

#endif /* DNSD_SERVER_SECONDARY_FETCH_H */
