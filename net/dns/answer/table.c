/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zones that a server answers from
 *
 * A hash table with open addressing, at most half full.  The longest origin
 * that a name is within is found by the suffixes of the name, the longest
 * first.  Only suffixes with as many labels as some origin are looked up.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/dns/answer/table.h"
#include "net/packet/siphash.h"

typedef struct Slot {
    uint32_t hash;              /* the upper half */
    uint32_t zone;              /* index in the list, plus 1 */
} Slot;

typedef struct Origin {
    uint8_t len;
    uint8_t wire[DNS_NAME_MAX]; /* in lower case */
} Origin;

struct DnsZoneTable {
    uint64_t key[2];
    uint64_t labels[2];         /* bit n: some origin has n labels */
    uint32_t mask;
    Slot *slots;
    Origin *origins;
    DnsServedZone *zones;
};

static const DnsServedZone *look(const DnsZoneTable *table, uint16_t rrclass,
                                 const uint8_t *name, uint8_t len)
{
    uint64_t hash = siphash_1_3(table->key, name, len);

    for (uint32_t at = hash & table->mask; table->slots[at].zone;
         at = (at + 1) & table->mask) {
        uint32_t zone = table->slots[at].zone - 1;

        if (table->slots[at].hash == hash >> 32 &&
            table->origins[zone].len == len &&
            table->zones[zone].rrclass == rrclass &&
            !memcmp(table->origins[zone].wire, name, len)) {
            return &table->zones[zone];
        }
    }
    return NULL;
}

const DnsServedZone *dns_zone_table_find(const DnsZoneTable *table,
                                         uint16_t rrclass, const ZoneKey *name,
                                         unsigned labels_max)
{
    unsigned most = name->labels < labels_max ? name->labels : labels_max;

    for (unsigned n = most + 1; n-- > 0;) {
        unsigned start = name->start[name->labels - n];
        const DnsServedZone *zone;

        if (!(table->labels[n / 64] >> n % 64 & 1)) {
            continue;
        }
        zone = look(table, rrclass, name->wire + start, name->len - start);
        if (zone) {
            return zone;
        }
    }
    return NULL;
}

const DnsServedZone *dns_zone_table_get(const DnsZoneTable *table,
                                        uint16_t rrclass,
                                        const ZoneKey *origin)
{
    return look(table, rrclass, origin->wire, origin->len);
}

/* --- life ----------------------------------------------------------------- */

static void put(DnsZoneTable *table, uint32_t zone)
{
    const Origin *origin = &table->origins[zone];
    uint64_t hash = siphash_1_3(table->key, origin->wire, origin->len);
    uint32_t at = hash & table->mask;

    while (table->slots[at].zone) {
        at = (at + 1) & table->mask;
    }
    table->slots[at] = (Slot) { hash >> 32, zone + 1 };
}

static bool add(DnsZoneTable *table, uint32_t zone, const DnsServedZone *from)
{
    Origin *origin = &table->origins[zone];
    ZoneKey key;

    if (!zone_key_read(&key, from->origin.wire, from->origin.len) ||
        dns_zone_table_get(table, from->rrclass, &key)) {
        errno = EEXIST;
        return false;
    }
    table->zones[zone] = *from;
    origin->len = key.len;
    memcpy(origin->wire, key.wire, key.len);
    table->labels[key.labels / 64] |= UINT64_C(1) << key.labels % 64;
    put(table, zone);
    return true;
}

DnsZoneTable *dns_zone_table_new(const uint64_t key[2],
                                 const DnsServedZone *zones, size_t count)
{
    DnsZoneTable *table = calloc(1, sizeof(*table));
    uint32_t slots = 2;

    if (!table) {
        return NULL;
    }
    while (slots < 2 * count) {
        slots *= 2;
    }
    memcpy(table->key, key, sizeof(table->key));
    table->mask = slots - 1;
    table->slots = calloc(slots, sizeof(*table->slots));
    table->origins = calloc(count + 1, sizeof(*table->origins));
    table->zones = calloc(count + 1, sizeof(*table->zones));
    if (!table->slots || !table->origins || !table->zones) {
        goto fail;
    }
    for (size_t i = 0; i < count; i++) {
        if (!add(table, i, &zones[i])) {
            goto fail;
        }
    }
    return table;

fail:
    dns_zone_table_free(table);
    return NULL;
}

void dns_zone_table_free(DnsZoneTable *table)
{
    if (table) {
        free(table->slots);
        free(table->origins);
        free(table->zones);
        free(table);
    }
}
