/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Case of names, RFC 4343: ASCII letters only
 *
 * Length octets are below 'A', so wire names can be folded as a whole.
 */
#ifndef NET_DNS_ZONE_FOLD_H
#define NET_DNS_ZONE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint8_t zone_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static inline void zone_fold(uint8_t *to, const uint8_t *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        to[i] = zone_lower(name[i]);
    }
}

static inline bool zone_same(const uint8_t *a, const uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (zone_lower(a[i]) != zone_lower(b[i])) {
            return false;
        }
    }
    return true;
}

#endif /* NET_DNS_ZONE_FOLD_H */
