/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver that a worker keeps
 *
 * A table of its own, of fixed size: nothing is allocated or locked.  What is
 * too long for a place is not kept, and the resolver is asked again.
 */
#ifndef NET_DNS_SERVER_SERVE_REPLIES_H
#define NET_DNS_SERVER_SERVE_REPLIES_H

#include "net/dns/server/serve/resolved.h"

typedef struct DnsdReplies DnsdReplies;

/** dnsd_replies_new: with a random key; NULL without memory. */
DnsdReplies *dnsd_replies_new(const uint64_t key[2]);
void dnsd_replies_free(DnsdReplies *replies);       /* NULL is allowed */

/**
 * dnsd_replies_find: the answer to a question of class IN
 * @generation: of the resolver's cache; answers of another one are gone
 * @now_ms: a clock that does not go back
 * @age: seconds since it was made
 *
 * Returns: NULL if there is none, or its time is over; valid until the next
 * dnsd_replies_put().
 */
const DnsdResolved *dnsd_replies_find(DnsdReplies *replies,
                                      const DnsQuery *query,
                                      uint32_t generation, uint64_t now_ms,
                                      uint32_t *age);

/** dnsd_replies_put: keep a copy, if it may be kept and is short enough. */
void dnsd_replies_put(DnsdReplies *replies, const DnsQuery *query,
                      const DnsdResolved *resolved, uint32_t generation,
                      uint64_t now_ms);

#endif /* NET_DNS_SERVER_SERVE_REPLIES_H */
