/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries that wait for an answer: of all clients, and of one
 *
 * All threads share it; a query that is answered from what is there does not
 * come here.  Its memory is fixed: clients whose hash is the same are one, and
 * nobody without the key can find another who is.
 */
#ifndef NET_DNS_SERVER_CORE_TALLY_H
#define NET_DNS_SERVER_CORE_TALLY_H

#include "net/dns/server/core/prefix.h"

typedef struct DnsdTally DnsdTally;

typedef enum DnsdTallyVerdict {
    DNSD_TALLY_IN,
    DNSD_TALLY_CLIENT_FULL,     /* this client has too many */
    DNSD_TALLY_FULL,            /* all together have */
} DnsdTallyVerdict;

/** dnsd_tally_new: with a random key; NULL without memory. */
DnsdTally *dnsd_tally_new(const uint64_t key[2]);
void dnsd_tally_free(DnsdTally *tally);

/**
 * dnsd_tally_enter: one more of a client, if there is room
 * @max: of all
 * @per_client: of an IPv4 address, or of a /64 of IPv6
 *
 * With DNSD_TALLY_IN dnsd_tally_leave() must follow; by any thread.
 */
DnsdTallyVerdict dnsd_tally_enter(DnsdTally *tally, const DnsdAddr *client,
                                  uint32_t max, uint32_t per_client);
void dnsd_tally_leave(DnsdTally *tally, const DnsdAddr *client);

/** dnsd_tally_count: of all clients, now. */
uint32_t dnsd_tally_count(const DnsdTally *tally);

#endif /* NET_DNS_SERVER_CORE_TALLY_H */
