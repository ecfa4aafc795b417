/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Response rate limiting
 *
 * Theory of operation
 *
 * Each account (prefix, kind of response, name) is a GCRA.  Its state is one
 * number: the time at which the allowance for all responses so far ends
 * ("due").  Each response adds 1/rate s to it.  An account is over the limit if
 * its due time is more than a second ahead.
 *
 * The table is set-associative: a hash with a secret key selects a set of four
 * slots.  A new account takes the slot with the earliest due time; if that is
 * past, the slot is free.  An attacker with many prefixes so evicts accounts
 * with little traffic.  An account at its limit is only evicted if all four
 * are.
 */
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/core/limit.h"
#include "base/units.h"
#include "net/dns/wire/wire.h"
#include "net/packet/siphash.h"

#define WAYS            4

typedef struct Slot {
    uint64_t due_us;
    uint32_t tag;
    uint32_t slips;             /* responses over the limit */
} Slot;

struct DnsdLimit {
    uint64_t key[2];
    uint32_t cost_us;
    uint32_t slip;
    uint32_t sets;
    Slot slot[];
};

size_t dnsd_limit_bytes(uint32_t slots)
{
    return sizeof(DnsdLimit) + slots * sizeof(Slot);
}

DnsdLimit *dnsd_limit_new(const DnsdLimitOptions *options,
                          const uint64_t key[2])
{
    DnsdLimit *limit = calloc(1, dnsd_limit_bytes(options->slots));

    if (limit) {
        memcpy(limit->key, key, sizeof(limit->key));
        limit->cost_us = US_PER_S / options->rate;
        limit->slip = options->slip;
        limit->sets = options->slots / WAYS;
    }
    return limit;
}

void dnsd_limit_free(DnsdLimit *limit)
{
    free(limit);
}

static uint64_t hash_of(const DnsdLimit *limit,
                        const DnsdLimitAccount *account)
{
    struct {
        DnsdAddr prefix;
        uint32_t kind;
        uint8_t name[DNS_NAME_MAX + 1];
    } key = {
        .prefix = dnsd_addr_keep(&account->client, DNSD_LIMIT_BITS4,
                                 DNSD_LIMIT_BITS6),
        .kind = account->kind,
    };

    if (account->name_len) {
        memcpy(key.name, account->name, account->name_len);
    }
    return siphash_1_3(limit->key, &key, sizeof(key) - sizeof(key.name) +
                       account->name_len);
}

static Slot *find(DnsdLimit *limit, const DnsdLimitAccount *account,
                  uint64_t now_us)
{
    uint64_t hash = hash_of(limit, account);
    Slot *set = &limit->slot[(hash >> 32) % limit->sets * WAYS];
    Slot *first = set;
    uint32_t tag = (uint32_t)hash | 1;      /* a slot of zeros is free */

    for (Slot *slot = set; slot < set + WAYS; slot++) {
        if (slot->tag == tag) {
            return slot;
        }
        if (slot->due_us < first->due_us) {
            first = slot;
        }
    }
    *first = (Slot) { .due_us = now_us, .tag = tag };
    return first;
}

DnsdLimitVerdict dnsd_limit_judge(DnsdLimit *limit,
                                  const DnsdLimitAccount *account,
                                  uint64_t now_ms)
{
    uint64_t now_us = now_ms * 1000;
    Slot *slot = find(limit, account, now_us);

    if (slot->due_us < now_us) {
        slot->due_us = now_us;
    }
    if (slot->due_us - now_us < US_PER_S) {
        slot->due_us += limit->cost_us;
        slot->slips = 0;
        return DNSD_LIMIT_SEND;
    }
    if (limit->slip && ++slot->slips >= limit->slip) {
        slot->slips = 0;
        return DNSD_LIMIT_SLIP;
    }
    return DNSD_LIMIT_DROP;
}
