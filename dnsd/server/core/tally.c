/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries that wait for an answer */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/core/tally.h"
#include "net/packet/siphash.h"

#define PLACES      65536
#define BITS4       32
#define BITS6       64

struct DnsdTally {
    uint64_t key[2];
    atomic_uint_least32_t all;
    atomic_uint_least32_t place[PLACES];
};

DnsdTally *dnsd_tally_new(const uint64_t key[2])
{
    DnsdTally *tally = calloc(1, sizeof(*tally));

    if (tally) {
        memcpy(tally->key, key, sizeof(tally->key));
    }
    return tally;
}

void dnsd_tally_free(DnsdTally *tally)
{
    free(tally);
}

static atomic_uint_least32_t *place_of(DnsdTally *tally,
                                       const DnsdAddr *client)
{
    DnsdAddr prefix = dnsd_addr_keep(client, BITS4, BITS6);

    return &tally->place[siphash_1_3(tally->key, &prefix, sizeof(prefix)) %
                         PLACES];
}

/* Returns false, and changes nothing, if the count is @max. */
static bool add(atomic_uint_least32_t *count, uint32_t max)
{
    if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) < max) {
        return true;
    }
    atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
    return false;
}

DnsdTallyVerdict dnsd_tally_enter(DnsdTally *tally, const DnsdAddr *client,
                                  uint32_t max, uint32_t per_client)
{
    atomic_uint_least32_t *place = place_of(tally, client);

    if (!add(place, per_client)) {
        return DNSD_TALLY_CLIENT_FULL;
    }
    if (!add(&tally->all, max)) {
        atomic_fetch_sub_explicit(place, 1, memory_order_relaxed);
        return DNSD_TALLY_FULL;
    }
    return DNSD_TALLY_IN;
}

void dnsd_tally_leave(DnsdTally *tally, const DnsdAddr *client)
{
    atomic_fetch_sub_explicit(place_of(tally, client), 1,
                              memory_order_relaxed);
    atomic_fetch_sub_explicit(&tally->all, 1, memory_order_relaxed);
}

uint32_t dnsd_tally_count(const DnsdTally *tally)
{
    return atomic_load_explicit(&tally->all, memory_order_relaxed);
}
