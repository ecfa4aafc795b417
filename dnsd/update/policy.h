/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The changes that each key may make to a zone */
#ifndef DNSD_UPDATE_POLICY_H
#define DNSD_UPDATE_POLICY_H

#include "dnsd/update/tsig/keys.h"

#define DNS_POLICY_TYPES_MAX    16

/* A rule: what a key may change.  Everything without a rule is forbidden. */
typedef struct DnsUpdateRule {
    /* of TSIG; the root: everybody, also unsigned */
    DnsName key;
    DnsName below;              /* applies to this name and names below */
    bool only_self;             /* applies only to the name of the key */
    unsigned types;             /* 0: all types but SOA and NS at the apex */
    uint16_t type[DNS_POLICY_TYPES_MAX];
} DnsUpdateRule;

typedef struct DnsUpdatePolicy {
    const DnsUpdateRule *rules;
    size_t count;
} DnsUpdatePolicy;

/**
 * dns_policy_allows: may the key change that RRset?  NULL: an unsigned request
 * @is_apex: the name is the origin of the zone
 */
bool dns_policy_allows(const DnsUpdatePolicy *policy, const TsigKey *key,
                       const DnsName *name, bool is_apex, uint16_t type);

/**
 * dns_policy_allows_any: does any rule apply to the key?
 *
 * If not, the request is refused before the prerequisites are checked, which
 * would reveal what the zone has.
 */
bool dns_policy_allows_any(const DnsUpdatePolicy *policy, const TsigKey *key);

#endif /* DNSD_UPDATE_POLICY_H */
