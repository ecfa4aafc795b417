/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NSEC or NSEC3 record that covers a name which the zone does not have
 *
 * It belongs to the nearest owner before the name: in canonical order of names,
 * or in the order of hashes.  With deltas every layer is searched, and nodes
 * that a younger layer replaced or removed are skipped.
 */
#ifndef NET_DNS_ZONE_NEAR_H
#define NET_DNS_ZONE_NEAR_H

#include "net/dns/zone/find.h"

/*
 * Removed owners that one search may skip.  A delta that removes more of them
 * in a row must be merged before it is served.
 */
#define ZONE_NEAR_STEPS     512

#define ZONE_HASH_LEN       20  /* SHA-1, the only hash of RFC 5155 */
#define ZONE_HASH_TEXT_LEN  32  /* base32hex without padding */

/* The parameters of a zone's NSEC3 chain: its NSEC3PARAM record */
typedef struct ZoneNsec3 {
    uint16_t iterations;        /* additional to the first */
    uint8_t salt_len;
    const uint8_t *salt;
} ZoneNsec3;

/**
 * zone_nsec3_param: the parameters of the zone with this apex
 *
 * Returns: false if the zone has none with SHA-1 and without flags (RFC 5155
 * section 4.1.2), that is, no complete chain.
 */
bool zone_nsec3_param(const ZoneNode *apex, ZoneNsec3 *param);

/**
 * zone_nsec_before: the last owner of an NSEC record at or before @key
 * @key: within the origin
 *
 * Returns: false if there is none; the zone is not signed correctly then.
 */
bool zone_nsec_before(const ZoneView *view, const ZoneKey *key,
                      ZoneNode *node);

/**
 * zone_nsec3_before: the last owner of an NSEC3 record at or before @hash
 * @is_match: set if its hash is @hash
 *
 * The chain is a ring: the last hash precedes the first one.
 *
 * Returns: as zone_nsec_before().
 */
bool zone_nsec3_before(const ZoneView *view, const ZoneNsec3 *param,
                       const uint8_t hash[ZONE_HASH_LEN], ZoneNode *node,
                       bool *is_match);

#endif /* NET_DNS_ZONE_NEAR_H */
