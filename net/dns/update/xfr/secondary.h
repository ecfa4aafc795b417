/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A secondary's timers: RFC 1034 section 4.3.5, RFC 1996
 *
 * Pure: time comes in, what to do comes out.  Times are seconds of a clock
 * that does not jump.
 */
#ifndef NET_DNS_UPDATE_XFR_SECONDARY_H
#define NET_DNS_UPDATE_XFR_SECONDARY_H

#include "net/dns/wire/wire.h"

/* Limits of an SOA's times: a typing error is no flood and no silence */
#define DNS_REFRESH_MIN     30
#define DNS_REFRESH_MAX     (28 * 86400)
#define DNS_RETRY_MIN       10
#define DNS_RETRY_MAX       (14 * 86400)
#define DNS_RETRY_FIRST     10      /* without a zone; doubles to an hour */

typedef enum DnsSecondaryDo {
    DNS_SECONDARY_WAIT,         /* until secondary->next */
    DNS_SECONDARY_ASK,          /* ask the next primary for the zone */
    DNS_SECONDARY_EXPIRE,       /* answer SERVFAIL from now on; then ask on */
} DnsSecondaryDo;

typedef struct DnsSecondary {
    bool has_zone;
    bool has_expired;
    bool is_asking;             /* a query or a transfer is on its way */
    bool is_notified;           /* and ask again when it has ended */
    uint32_t serial;
    uint32_t refresh;
    uint32_t retry;
    uint32_t expire;
    uint32_t failures;          /* in a row */
    uint64_t fresh;             /* when the zone was last known to be current */
    uint64_t next;              /* when to ask; it may expire before */
} DnsSecondary;

/** dns_secondary_init: @soa of the zone on disk, or NULL; @age in seconds. */
void dns_secondary_init(DnsSecondary *secondary, const DnsSoa *soa,
                        uint64_t age, uint64_t now);

/**
 * dns_secondary_tick: what to do now
 *
 * After EXPIRE and ASK call it again at once.
 */
DnsSecondaryDo dns_secondary_tick(DnsSecondary *secondary, uint64_t now);

/**
 * dns_secondary_current: the transfer ended well; @soa is the zone's now
 * @jitter: any random number; spreads secondaries within a tenth
 */
void dns_secondary_current(DnsSecondary *secondary, const DnsSoa *soa,
                           uint64_t now, uint32_t jitter);

/** dns_secondary_failed: no primary had the zone. */
void dns_secondary_failed(DnsSecondary *secondary, uint64_t now,
                          uint32_t jitter);

/** dns_secondary_notify: a primary says that there is a newer one. */
void dns_secondary_notify(DnsSecondary *secondary, bool has_serial,
                          uint32_t serial, uint64_t now);

/** dns_serial_newer: RFC 1982: is @a greater than @b? */
static inline bool dns_serial_newer(uint32_t a, uint32_t b)
{
    return a != b && a - b < UINT32_C(0x80000000);
}

#endif /* NET_DNS_UPDATE_XFR_SECONDARY_H */
