/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The changes that each key may make to a zone */
#include "dnsd/update/policy.h"

static bool is_for(const DnsUpdateRule *rule, const TsigKey *key)
{
    return !rule->key.labels || (key && dns_name_equal(&rule->key, &key->name));
}

static bool has_type(const DnsUpdateRule *rule, bool is_apex, uint16_t type)
{
    for (unsigned i = 0; i < rule->types; i++) {
        if (rule->type[i] == type) {
            return true;
        }
    }
    return !rule->types &&
           !(is_apex && (type == DNS_TYPE_SOA || type == DNS_TYPE_NS));
}

bool dns_policy_allows(const DnsUpdatePolicy *policy, const TsigKey *key,
                       const DnsName *name, bool is_apex, uint16_t type)
{
    for (size_t i = 0; i < policy->count; i++) {
        const DnsUpdateRule *rule = &policy->rules[i];

        if (is_for(rule, key) && dns_name_within(name, &rule->below) &&
            (!rule->only_self || (key && dns_name_equal(name, &key->name))) &&
            has_type(rule, is_apex, type)) {
            return true;
        }
    }
    return false;
}

bool dns_policy_allows_any(const DnsUpdatePolicy *policy, const TsigKey *key)
{
    for (size_t i = 0; i < policy->count; i++) {
        if (is_for(&policy->rules[i], key)) {
            return true;
        }
    }
    return false;
}
