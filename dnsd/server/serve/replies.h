/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver that a worker keeps
 *
 * Each worker has its own table of fixed size, so there is no allocation and no
 * lock.  Answers that are too long for a place are not kept; the resolver is
 * asked again.
 */
#ifndef DNSD_SERVER_SERVE_REPLIES_H
#define DNSD_SERVER_SERVE_REPLIES_H

#include "dnsd/server/serve/resolved.h"

typedef struct DnsdReplies DnsdReplies;

/** dnsd_replies_new: @key is random; NULL without memory */
DnsdReplies *dnsd_replies_new(const uint64_t key[2]);
void dnsd_replies_free(DnsdReplies *replies);       /* NULL is allowed */

/**
 * dnsd_replies_find: find the answer to a question of class IN
 * @generation: of the resolver's cache; answers of others are ignored
 * @now_ms: a monotonic clock
 * @age: set to the seconds since the answer was made
 *
 * Returns: NULL if there is none, or it has expired; otherwise valid until the
 * next dnsd_replies_put().
 */
const DnsdResolved *dnsd_replies_find(DnsdReplies *replies,
                                      const DnsQuery *query,
                                      uint32_t generation, uint64_t now_ms,
                                      uint32_t *age);

/** dnsd_replies_put: keep a copy, if that is allowed and it is short enough */
void dnsd_replies_put(DnsdReplies *replies, const DnsQuery *query,
                      const DnsdResolved *resolved, uint32_t generation,
                      uint64_t now_ms);

#endif /* DNSD_SERVER_SERVE_REPLIES_H */
