/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NSEC or NSEC3 record that covers what a zone does not have
 *
 * Both are that of the nearest owner before a name: of names in canonical
 * order, or of hashes.  Over deltas it is looked for in every layer, and what
 * a younger one has replaced or taken away is stepped over.
 */
#ifndef NET_DNS_ZONE_NEAR_H
#define NET_DNS_ZONE_NEAR_H

#include "net/dns/zone/find.h"

/*
 * Owners to be stepped over that are no longer there, in one search.  A delta
 * that takes away more of them in a row must be merged before it is served.
 */
#define ZONE_NEAR_STEPS     512

#define ZONE_HASH_LEN       20  /* SHA-1, the only one of RFC 5155 */
#define ZONE_HASH_TEXT_LEN  32  /* base32hex without padding */

/* How a zone's NSEC3 chain is made: its NSEC3PARAM record */
typedef struct ZoneNsec3 {
    uint16_t iterations;        /* beyond the first */
    uint8_t salt_len;
    const uint8_t *salt;
} ZoneNsec3;

/**
 * zone_nsec3_param: of the zone with this apex
 *
 * Returns: false if it has none with SHA-1 and without flags (RFC 5155
 * section 4.1.2), that is, no complete chain.
 */
bool zone_nsec3_param(const ZoneNode *apex, ZoneNsec3 *param);

/**
 * zone_nsec_before: the last owner of an NSEC record up to @key
 * @key: within the origin; its own NSEC record counts
 *
 * Returns: false if there is none; such a zone is not signed right.
 */
bool zone_nsec_before(const ZoneView *view, const ZoneKey *key,
                      ZoneNode *node);

/**
 * zone_nsec3_before: the last owner of an NSEC3 record up to @hash
 * @is_match: it is the one of that hash
 *
 * Before the first hash comes the last: the chain is a ring.
 *
 * Returns: as above.
 */
bool zone_nsec3_before(const ZoneView *view, const ZoneNsec3 *param,
                       const uint8_t hash[ZONE_HASH_LEN], ZoneNode *node,
                       bool *is_match);

#endif /* NET_DNS_ZONE_NEAR_H */
