/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones of the VM's host, which are answered from their images
 *
 * An upstream in front of another one: a question within one of the zones is
 * answered at once, all others go on.  See own-zones.c.
 *
 * Not thread-safe.
 */
#ifndef NET_DNS_OWN_ZONES_H
#define NET_DNS_OWN_ZONES_H

#include <glib.h>

#include "net/dns/own/zone.h"
#include "net/dns/upstream/ops.h"

#define DNS_OWN_ZONES_MAX 16

#define DNS_OWN_ZONES_COUNTERS(X)                                             \
    X(answers)                  /* without a server */                        \
    X(referrals)                /* asked on: a name that is delegated */      \
    X(failed)                   /* the image contradicts itself */

typedef struct DnsOwnZonesCounters {
#define DNS_OWN_ZONES_COUNTER_FIELD(name) uint64_t name;
    DNS_OWN_ZONES_COUNTERS(DNS_OWN_ZONES_COUNTER_FIELD)
#undef DNS_OWN_ZONES_COUNTER_FIELD
} DnsOwnZonesCounters;

typedef struct DnsOwnZones DnsOwnZones;

/* For users of dns_own_zones_new(): opaque is the DnsOwnZones. */
extern const DnsUpstreamOps dns_own_zones_ops;

/** dns_own_zones_new: no zone yet; @ops and @upstream outlive it. */
DnsOwnZones *dns_own_zones_new(const DnsUpstreamOps *ops, void *upstream);

/** dns_own_zones_free: cancels what it asks itself; frees its zones. */
void dns_own_zones_free(DnsOwnZones *zones);

/**
 * dns_own_zones_set: @zone takes @slot, which is below DNS_OWN_ZONES_MAX
 *
 * Returns: what was there before, for the caller to free; @zone itself with
 * @errp set if another slot has a zone of that name, and nothing changes.
 */
DnsOwnZone *dns_own_zones_set(DnsOwnZones *zones, unsigned slot,
                              DnsOwnZone *zone, GError **errp);

/** dns_own_zones_is_above: is one of the zones below this name? */
bool dns_own_zones_is_above(const DnsOwnZones *zones, const DnsName *name);

/* Live counters; valid as long as the zones */
const DnsOwnZonesCounters *dns_own_zones_counters(const DnsOwnZones *zones);

#endif /* NET_DNS_OWN_ZONES_H */
