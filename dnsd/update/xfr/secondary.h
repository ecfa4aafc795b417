/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers of a secondary: RFC 1034 section 4.3.5, RFC 1996
 *
 * Pure functions: the time is an argument, the action is the result.  Times are
 * seconds of a monotonic clock.
 */
#ifndef DNSD_UPDATE_XFR_SECONDARY_H
#define DNSD_UPDATE_XFR_SECONDARY_H

#include "net/dns/wire/wire.h"

/* Limits of the times in an SOA, so that a typing error is harmless */
#define DNS_REFRESH_MIN     30
#define DNS_REFRESH_MAX     (28 * 86400)
#define DNS_RETRY_MIN       10
#define DNS_RETRY_MAX       (14 * 86400)
#define DNS_RETRY_FIRST     10      /* without a zone; doubles up to an hour */

typedef enum DnsSecondaryDo {
    DNS_SECONDARY_WAIT,         /* wait until secondary->next */
    DNS_SECONDARY_ASK,          /* ask the next primary for the zone */
    DNS_SECONDARY_EXPIRE,       /* answer SERVFAIL, and continue to ask */
} DnsSecondaryDo;

typedef struct DnsSecondary {
    bool has_zone;
    bool has_expired;
    bool is_asking;             /* a query or a transfer is under way */
    bool is_notified;           /* ask again when it has ended */
    uint32_t serial;
    uint32_t refresh;
    uint32_t retry;
    uint32_t expire;
    uint32_t failures;          /* in a row */
    uint64_t fresh;             /* time when the zone was last up to date */
    uint64_t next;              /* time to ask; the zone may expire before */
} DnsSecondary;

/** dns_secondary_init: @soa of the zone on disk, or NULL; @age in seconds */
void dns_secondary_init(DnsSecondary *secondary, const DnsSoa *soa,
                        uint64_t age, uint64_t now);

/**
 * dns_secondary_tick: the action that is due
 *
 * After EXPIRE and ASK call it again at once.
 */
DnsSecondaryDo dns_secondary_tick(DnsSecondary *secondary, uint64_t now);

/**
 * dns_secondary_current: the zone is up to date; @soa is its SOA
 * @jitter: any random number; spreads the secondaries within a tenth
 */
void dns_secondary_current(DnsSecondary *secondary, const DnsSoa *soa,
                           uint64_t now, uint32_t jitter);

/** dns_secondary_failed: no primary sent the zone */
void dns_secondary_failed(DnsSecondary *secondary, uint64_t now,
                          uint32_t jitter);

/** dns_secondary_notify: a primary has announced a newer zone */
void dns_secondary_notify(DnsSecondary *secondary, bool has_serial,
                          uint32_t serial, uint64_t now);

/** dns_serial_newer: RFC 1982: is @a greater than @b? */
static inline bool dns_serial_newer(uint32_t a, uint32_t b)
{
    return a != b && a - b < UINT32_C(0x80000000);
}

#endif /* DNSD_UPDATE_XFR_SECONDARY_H */
