/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of answers: records and denials for their TTL (RFC 2308), failures
 * for some seconds (RFC 9520), and on request expired records (RFC 8767)
 *
 * The size is bounded: the least recently used entry is evicted first.  Times
 * are microseconds of a monotonic clock.
 */

#ifndef VMMNET_DNS_CLIENT_CACHE_H
#define VMMNET_DNS_CLIENT_CACHE_H

#include "net/dns/client/core/result.h"

typedef struct DnscCache DnscCache;

/* Returns NULL without memory. */
DnscCache *dnsc_cache_new(size_t entries);

/* Also limit the octets of memory; 0: no limit. */
void dnsc_cache_bound(DnscCache *cache, size_t octets);

void dnsc_cache_free(DnscCache *cache); /* NULL is allowed */

/* Forget everything, for example when the servers have changed. */
void dnsc_cache_clear(DnscCache *cache);

/*
 * Get a reference to the cached result, and the seconds for which it is still
 * valid; or NULL.  Failures are returned, too, as long as the question must not
 * be asked again.
 */
DnscResult *dnsc_cache_get(DnscCache *cache, const DnsQuestion *question,
                           int64_t now, uint32_t *ttl);

/* The same for a result that expired within the last day and is no failure */
DnscResult *dnsc_cache_get_stale(DnscCache *cache,
                                 const DnsQuestion *question, int64_t now);

/*
 * Cache a result, and take a reference: if ttl is not 0, or it is a failure
 * (dnsc_error_is_failure()).  A failure does not replace a known result.
 */
void dnsc_cache_put(DnscCache *cache, const DnsQuestion *question,
                    DnscResult *result, int64_t now);

#endif
