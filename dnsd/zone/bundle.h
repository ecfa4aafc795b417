/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bundles: records in the form that is sorted, one owner name in each
 *
 * In a master file the records of a name mostly follow each other.  They are
 * sorted as one bundle, by a key of the name that memcmp() compares.
 */
#ifndef DNSD_ZONE_BUNDLE_H
#define DNSD_ZONE_BUNDLE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "net/dns/zone/order.h"

#define BUNDLE_ALIGN    8
/* A bundle ends behind the record that makes it longer than this. */
#define BUNDLE_LONG     (64u << 10)
#define BUNDLE_MAX      (BUNDLE_LONG + (68u << 10))

/* The place where a record was read */
typedef struct ZonePlace {
    uint32_t line;
    uint16_t file;              /* index in the report's table of files */
} ZonePlace;

/* One record of a bundle; its address may be unaligned */
typedef struct __attribute__((packed)) Bundled {
    uint32_t ttl;
    uint32_t line;
    uint16_t file;
    uint16_t type;
    uint16_t rdlength;
    uint8_t rdata[];
} Bundled;

typedef struct Bundle {
    uint32_t len;               /* of the bundle, a multiple of BUNDLE_ALIGN */
    uint32_t count;             /* records */
    uint32_t piece;             /* number of the piece of the input */
    uint16_t key_len;
    uint8_t name_len;
    uint8_t labels;
    uint8_t octets[];           /* the key, the wire name, the records */
} Bundle;

static inline const uint8_t *bundle_name(const Bundle *bundle)
{
    return bundle->octets + bundle->key_len;
}

static inline const uint8_t *bundle_records(const Bundle *bundle)
{
    return bundle_name(bundle) + bundle->name_len;
}

/** bundle_prefix: the first eight octets of a key, for a fast comparison */
static inline uint64_t bundle_prefix(const Bundle *bundle)
{
    uint8_t first[8] = { 0 };
    uint64_t prefix;

    memcpy(first, bundle->octets, bundle->key_len < 8 ? bundle->key_len : 8);
    memcpy(&prefix, first, sizeof(prefix));
    return be64toh(prefix);
}

/** bundle_compare: the order of the names of two bundles, as memcmp() */
static inline int bundle_compare(const Bundle *a, const Bundle *b)
{
    unsigned least = a->key_len < b->key_len ? a->key_len : b->key_len;
    int differ = memcmp(a->octets, b->octets, least);

    return differ ? differ : a->key_len - b->key_len;
}

#endif /* DNSD_ZONE_BUNDLE_H */
