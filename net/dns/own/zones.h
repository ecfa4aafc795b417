/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones of the VM's host, which are answered from their images
 *
 * This is an upstream in front of another one: it answers questions within one
 * of its zones at once, and passes all others on.  See zones.c.
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
    X(answers)                  /* from images alone */                       \
    X(referrals)                /* passed on: a name below a delegation */    \
    X(failed)                   /* the image contradicts itself */

typedef struct DnsOwnZonesCounters {
#define DNS_OWN_ZONES_COUNTER_FIELD(name) uint64_t name;
    DNS_OWN_ZONES_COUNTERS(DNS_OWN_ZONES_COUNTER_FIELD)
#undef DNS_OWN_ZONES_COUNTER_FIELD
} DnsOwnZonesCounters;

typedef struct DnsOwnZones DnsOwnZones;

/*
 * The operations for dns_proxy_new(); the upstream argument is a DnsOwnZones.
 */
extern const DnsUpstreamOps dns_own_zones_ops;

/** dns_own_zones_new: no zones yet; @ops and @upstream must outlive it. */
DnsOwnZones *dns_own_zones_new(const DnsUpstreamOps *ops, void *upstream);

/** dns_own_zones_free: cancel its own questions and free its zones. */
void dns_own_zones_free(DnsOwnZones *zones);

/**
 * dns_own_zones_set: put @zone into @slot, which is below DNS_OWN_ZONES_MAX
 *
 * Returns: the zone that was in the slot, which the caller frees.  If another
 * slot has a zone of that name, returns @zone itself, with @errp set, and
 * nothing changes.
 */
DnsOwnZone *dns_own_zones_set(DnsOwnZones *zones, unsigned slot,
                              DnsOwnZone *zone, GError **errp);

/** dns_own_zones_is_above: is one of the zones below this name? */
bool dns_own_zones_is_above(const DnsOwnZones *zones, const DnsName *name);

/* Live counters, valid as long as the zones */
const DnsOwnZonesCounters *dns_own_zones_counters(const DnsOwnZones *zones);

#endif /* NET_DNS_OWN_ZONES_H */
