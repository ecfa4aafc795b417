/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The changes that each key may make to a zone */
#ifndef NET_DNS_UPDATE_POLICY_H
#define NET_DNS_UPDATE_POLICY_H

#include "net/dns/update/tsig/keys.h"

#define DNS_POLICY_TYPES_MAX    16

/* One rule: who may change what.  Nothing is allowed that no rule allows. */
typedef struct DnsUpdateRule {
    DnsName key;                /* of TSIG; the root: anybody, unsigned, too */
    DnsName below;              /* this name and those below it */
    bool only_self;             /* only the name that the key has */
    unsigned types;             /* 0: all but SOA and NS at the apex */
    uint16_t type[DNS_POLICY_TYPES_MAX];
} DnsUpdateRule;

typedef struct DnsUpdatePolicy {
    const DnsUpdateRule *rules;
    size_t count;
} DnsUpdatePolicy;

/**
 * dns_policy_allows: may the key, or nobody (NULL), change that RRset?
 * @is_apex: the name is the zone's origin
 */
bool dns_policy_allows(const DnsUpdatePolicy *policy, const TsigKey *key,
                       const DnsName *name, bool is_apex, uint16_t type);

/**
 * dns_policy_allows_any: has the key any right here?
 *
 * Without one it is refused before prerequisites tell it what the zone has.
 */
bool dns_policy_allows_any(const DnsUpdatePolicy *policy, const TsigKey *key);

#endif /* NET_DNS_UPDATE_POLICY_H */
