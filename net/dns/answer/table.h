/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zones that a server answers from, by origin and class
 *
 * A table never changes.  The owner replaces it by a new one, and frees the old
 * one when no thread uses it any more.
 */
#ifndef NET_DNS_ANSWER_TABLE_H
#define NET_DNS_ANSWER_TABLE_H

#include <stdatomic.h>

#include "net/dns/zone/find.h"

typedef struct DnsServedZone {
    DnsName origin;
    uint16_t rrclass;
    /*
     * Without layers the zone was not loaded, or has expired.  Questions for it
     * are answered SERVFAIL (RFC 1035 section 4.1.1), with EDE 14.
     */
    ZoneView view;
    /*
     * For a zone that changes while it is served: the pointer to its view,
     * which replaces @view.  NULL: the zone does not change.  A query reads the
     * pointer once.  The owner keeps a replaced view until no query uses it.
     * Store and load are sequentially consistent: dnsd's epoch.h relies on it.
     */
    const ZoneView *_Atomic *live;
    void *opaque;               /* the caller's */
} DnsServedZone;

/** dns_served_view: the view for a query that begins at this moment */
static inline const ZoneView *dns_served_view(const DnsServedZone *zone)
{
    return zone->live ? atomic_load(zone->live) : &zone->view;
}

typedef struct DnsZoneTable DnsZoneTable;

/**
 * dns_zone_table_new: make a table of @count zones
 * @key: random, so that nobody can choose origins whose hashes collide
 * @zones: copied; the caller owns the images, which must outlive the table
 *
 * Returns: NULL; errno is ENOMEM, or EEXIST if an origin is in the list twice
 * in one class.
 */
DnsZoneTable *dns_zone_table_new(const uint64_t key[2],
                                 const DnsServedZone *zones, size_t count);

void dns_zone_table_free(DnsZoneTable *table);

/**
 * dns_zone_table_find: the zone that a name is within
 * @labels_max: limit for the labels of the origin.  One less than the name has
 * finds the zone above the name (for DS, RFC 4035 section 3.1.4.1).
 *
 * Returns: the zone with the longest origin, or NULL.
 */
const DnsServedZone *dns_zone_table_find(const DnsZoneTable *table,
                                         uint16_t rrclass, const ZoneKey *name,
                                         unsigned labels_max);

/** dns_zone_table_get: the zone with exactly this origin, or NULL */
const DnsServedZone *dns_zone_table_get(const DnsZoneTable *table,
                                        uint16_t rrclass,
                                        const ZoneKey *origin);

#endif /* NET_DNS_ANSWER_TABLE_H */
