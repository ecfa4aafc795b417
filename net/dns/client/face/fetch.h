/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer to a question: from the cache, the servers, or the validator
 *
 * A question is under way only once, however many wait for its answer: with n
 * ids in flight a forger needs an n-th of the tries (RFC 5452 section 5).
 */

#ifndef VMMNET_DNS_CLIENT_FETCH_H
#define VMMNET_DNS_CLIENT_FETCH_H

#include "net/dns/client/core/cache.h"
#include "net/dns/client/net/ask.h"
#include "net/dns/client/net/validate.h"

typedef struct DnscFetch DnscFetch;

typedef struct DnscFetcher {
    DnscLoop *loop;
    DnscAsker *asker;
    DnscValidator *validator;   /* NULL: validation is off */
    DnscCache *cache;           /* NULL: answers are not cached */
    VmmnetDnsCounters *counters;
    bool stale;                 /* RFC 8767 */
    DnscFetch *out;             /* all that are under way */
    int64_t usual;              /* what an answer takes that is not cached */
} DnscFetcher;

/* Part of the caller's struct; must not be moved while it waits. */
typedef struct DnscWaiter DnscWaiter;

/* The fetch owns the result; take a reference to keep it. */
typedef void DnscFetchedFn(DnscWaiter *waiter, DnscResult *result,
                           uint32_t ttl, bool stale);

struct DnscWaiter {
    DnscWaiter *next;
    DnscFetch *fetch;           /* NULL: it does not wait */
    DnscFetchedFn *done;        /* never called within dnsc_fetch() */
    bool cached;                /* set before done: the cache had the answer */
};

/* Returns 0 or -ENOMEM. */
int dnsc_fetch(DnscFetcher *fetcher, const DnsQuestion *question,
               DnscWaiter *waiter);

/* The waiter need not wait. */
void dnsc_fetch_cancel(DnscWaiter *waiter);

/* End fetches that continue without waiters.  No waiter may be left. */
void dnsc_fetcher_close(DnscFetcher *fetcher);

#endif
