/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folding the case of names, RFC 4343: ASCII letters only
 *
 * Length octets are below 'A', so a wire name may be folded as a whole.
 */
#ifndef NET_DNS_ZONE_FOLD_H
#define NET_DNS_ZONE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t zone_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Fold eight octets at once, in any order; octets with bit 7 set stay. */
static inline uint64_t zone_lower8(uint64_t octets)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low = octets & 0x7f * ones;
    uint64_t from_a = low + (0x80 - 'A') * ones;
    uint64_t above_z = low + (0x80 - 'Z' - 1) * ones;

    return octets | (from_a & ~above_z & ~octets & 0x80 * ones) >> 2;
}

static inline uint64_t zone_load8(const uint8_t *at)
{
    uint64_t octets;

    memcpy(&octets, at, sizeof(octets));
    return octets;
}

/* The last word overlaps the one before it, to read no octet beyond the end. */
static inline void zone_fold(uint8_t *to, const uint8_t *name, size_t len)
{
    size_t at = 0;
    uint64_t octets;

    if (len < sizeof(octets)) {
        for (; at < len; at++) {
            to[at] = zone_lower(name[at]);
        }
        return;
    }
    for (; at < len - sizeof(octets); at += sizeof(octets)) {
        octets = zone_lower8(zone_load8(name + at));
        memcpy(to + at, &octets, sizeof(octets));
    }
    at = len - sizeof(octets);
    octets = zone_lower8(zone_load8(name + at));
    memcpy(to + at, &octets, sizeof(octets));
}

static inline bool zone_same(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t at = 0;

    if (len < sizeof(uint64_t)) {
        for (; at < len; at++) {
            if (zone_lower(a[at]) != zone_lower(b[at])) {
                return false;
            }
        }
        return true;
    }
    for (; at < len - sizeof(uint64_t); at += sizeof(uint64_t)) {
        if (zone_lower8(zone_load8(a + at)) !=
            zone_lower8(zone_load8(b + at))) {
            return false;
        }
    }
    at = len - sizeof(uint64_t);
    return zone_lower8(zone_load8(a + at)) == zone_lower8(zone_load8(b + at));
}

#endif /* NET_DNS_ZONE_FOLD_H */
