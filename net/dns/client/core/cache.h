/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers, remembered: records and denials for their TTL (RFC 2308),
 * failures for a moment (RFC 9520), and on request what has expired (RFC 8767)
 *
 * Bounded: the entry that was used least lately goes first.  Times are
 * microseconds of one clock that never goes back.
 */

#ifndef VMMNET_DNS_CLIENT_CACHE_H
#define VMMNET_DNS_CLIENT_CACHE_H

#include "net/dns/client/core/result.h"

typedef struct DnscCache DnscCache;

/* Returns NULL when out of memory. */
DnscCache *dnsc_cache_new(size_t entries);

/* Beside that, so many octets of memory at most; 0: no bound */
void dnsc_cache_bound(DnscCache *cache, size_t octets);

void dnsc_cache_free(DnscCache *cache); /* NULL is allowed */

/* Forget everything: other servers may know better. */
void dnsc_cache_clear(DnscCache *cache);

/*
 * A reference to what is known, and how many seconds it is still good; or
 * NULL.  Failures are found as well, for as long as they are not to be asked
 * again.
 */
DnscResult *dnsc_cache_get(DnscCache *cache, const DnsQuestion *question,
                           int64_t now, uint32_t *ttl);

/* The same of what has expired no longer than a day ago, no failure */
DnscResult *dnsc_cache_get_stale(DnscCache *cache,
                                 const DnsQuestion *question, int64_t now);

/*
 * Takes a reference of its own, if it is worth it: ttl is not 0, or it is a
 * failure (dnsc_error_is_failure()).  A failure leaves what was known there.
 */
void dnsc_cache_put(DnscCache *cache, const DnsQuestion *question,
                    DnscResult *result, int64_t now);

#endif
