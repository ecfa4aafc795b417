/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zones that a server answers from, by origin and class
 *
 * A table never changes.  Who serves makes another and lets go of the old one
 * when no thread is in it any more.
 */
#ifndef NET_DNS_ANSWER_TABLE_H
#define NET_DNS_ANSWER_TABLE_H

#include <stdatomic.h>

#include "net/dns/zone/find.h"

typedef struct DnsServedZone {
    DnsName origin;
    uint16_t rrclass;
    /*
     * No layers: the zone has not been loaded or has expired.  Questions for
     * it are answered SERVFAIL (RFC 1035 section 4.1.1), with EDE 14.
     */
    ZoneView view;
    /*
     * A zone that changes while it is served: where its view is, in place of
     * @view; NULL: it does not.  A query takes what is there once.  Who
     * stores another keeps the old one until no query has it.
     */
    const ZoneView *_Atomic *live;
    void *opaque;               /* the caller's */
} DnsServedZone;

/** dns_served_view: what a query that begins now is answered from. */
static inline const ZoneView *dns_served_view(const DnsServedZone *zone)
{
    return zone->live ? atomic_load(zone->live) : &zone->view;
}

typedef struct DnsZoneTable DnsZoneTable;

/**
 * dns_zone_table_new: a table of @count zones
 * @key: random, so that nobody makes zones whose names collide
 * @zones: copied; the images stay the caller's and must outlive the table
 *
 * Returns: NULL; errno is ENOMEM, or EEXIST if one origin is there twice in
 * one class.
 */
DnsZoneTable *dns_zone_table_new(const uint64_t key[2],
                                 const DnsServedZone *zones, size_t count);

void dns_zone_table_free(DnsZoneTable *table);

/**
 * dns_zone_table_find: the zone that a name is in
 * @labels_max: of the origin; with one less than the name has, the zone above
 *              the name (for DS, RFC 4035 section 3.1.4.1)
 *
 * Returns: the one with the longest origin, or NULL.
 */
const DnsServedZone *dns_zone_table_find(const DnsZoneTable *table,
                                         uint16_t rrclass, const ZoneKey *name,
                                         unsigned labels_max);

/** dns_zone_table_get: the zone of just this origin, or NULL. */
const DnsServedZone *dns_zone_table_get(const DnsZoneTable *table,
                                        uint16_t rrclass,
                                        const ZoneKey *origin);

#endif /* NET_DNS_ANSWER_TABLE_H */
