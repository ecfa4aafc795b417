/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One attempt to get a zone from one primary
 *
 * It runs in a thread of its own and knows of no zone that is served: what it
 * has got is put in place by the control thread.
 */
#ifndef NET_DNS_SERVER_SECONDARY_FETCH_H
#define NET_DNS_SERVER_SECONDARY_FETCH_H

#include "net/dns/server/config/config.h"
#include "net/dns/update/xfr/xfr-in.h"

typedef enum DnsdFetchEnd {
    DNSD_FETCH_FAILED,          /* reason and why */
    DNSD_FETCH_CURRENT,         /* there is nothing newer */
    DNSD_FETCH_CHANGES,         /* in @in, to be applied */
    DNSD_FETCH_IMAGE,           /* at @path */
} DnsdFetchEnd;

typedef struct DnsdFetch {
    struct DnsdFetch *next;
    void *opaque;               /* the caller's */
    atomic_bool stop;           /* true: give up */
    /* The zone, and whom to ask */
    DnsName zone;
    DnsdPrimary primary;
    DnsdListen from;            /* len 0: the kernel chooses */
    const TsigKey *key;         /* or NULL */
    bool has_zone;              /* with this serial: */
    uint32_t serial;
    bool takes_older;           /* a primary with an older serial will do */
    bool is_forced;             /* AXFR, whatever the serial */
    char *image;                /* path of the zone */
    char *path;                 /* of an image on the way */
    uint64_t len_max;           /* octets of records */
    /* The end */
    DnsdFetchEnd end;
    DnsXfrReason reason;
    char why[160];
    uint32_t got;               /* serial */
    uint64_t octets;
    DnsXfrIn *in;
} DnsdFetch;

/** dnsd_fetch_new: NULL without memory; the rest is the caller's to fill. */
DnsdFetch *dnsd_fetch_new(const char *image);

/** dnsd_fetch_run: to its end */
void dnsd_fetch_run(DnsdFetch *fetch);

/** dnsd_fetch_fail: it ends so; @error: a negative errno, or 0 */
void dnsd_fetch_fail(DnsdFetch *fetch, DnsXfrReason reason, const char *why,
                     int error);

/** dnsd_fetch_free_image: delete what is at @path. */
void dnsd_fetch_free_image(const DnsdFetch *fetch);

/** dnsd_fetch_free: an image that nobody took goes with it; NULL is none. */
void dnsd_fetch_free(DnsdFetch *fetch);

#endif /* NET_DNS_SERVER_SECONDARY_FETCH_H */
