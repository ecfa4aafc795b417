/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of queries that wait for the resolver, of all clients and of each
 *
 * All threads share it.  A query that is answered at once is not counted.  The
 * memory is fixed: clients with the same hash share a count, and the key is
 * secret, so nobody can choose such addresses.
 */
#ifndef DNSD_SERVER_CORE_TALLY_H
#define DNSD_SERVER_CORE_TALLY_H

#include "dnsd/server/core/prefix.h"

typedef struct DnsdTally DnsdTally;

typedef enum DnsdTallyVerdict {
    DNSD_TALLY_IN,
    DNSD_TALLY_CLIENT_FULL,     /* too many of this client */
    DNSD_TALLY_FULL,            /* too many of all clients */
} DnsdTallyVerdict;

/** dnsd_tally_new: @key is random; NULL without memory */
DnsdTally *dnsd_tally_new(const uint64_t key[2]);
void dnsd_tally_free(DnsdTally *tally);

/**
 * dnsd_tally_enter: count a query of a client, if it is within the limits
 * @max: for all clients
 * @per_client: for an IPv4 address, or a /64 of IPv6
 *
 * After DNSD_TALLY_IN, dnsd_tally_leave() must follow; any thread may call it.
 */
DnsdTallyVerdict dnsd_tally_enter(DnsdTally *tally, const DnsdAddr *client,
                                  uint32_t max, uint32_t per_client);
void dnsd_tally_leave(DnsdTally *tally, const DnsdAddr *client);

/** dnsd_tally_count: the number for all clients */
uint32_t dnsd_tally_count(const DnsdTally *tally);

#endif /* DNSD_SERVER_CORE_TALLY_H */
