/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer to a question: of the cache, of the servers, or of the
 * validator
 *
 * A question is out only once, however many wait for its answer: with n ids
 * out a forger needs an n-th of the tries (RFC 5452 section 5).
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
    DnscValidator *validator;   /* NULL: answers are not validated */
    DnscCache *cache;           /* NULL: nothing is remembered */
    VmmnetDnsCounters *counters;
    bool stale;                 /* RFC 8767 */
    DnscFetch *out;             /* all */
} DnscFetcher;

/* Belongs to the caller's own, and is not moved while it waits */
typedef struct DnscWaiter DnscWaiter;

/* The result is the fetch's: take a reference to keep it. */
typedef void DnscFetchedFn(DnscWaiter *waiter, DnscResult *result,
                           uint32_t ttl, bool stale);

struct DnscWaiter {
    DnscWaiter *next;
    DnscFetch *fetch;           /* NULL: does not wait */
    DnscFetchedFn *done;        /* not from within dnsc_fetch() */
};

/* Returns 0 or -ENOMEM. */
int dnsc_fetch(DnscFetcher *fetcher, const DnsQuestion *question,
               DnscWaiter *waiter);

/* No matter if it waits */
void dnsc_fetch_cancel(DnscWaiter *waiter);

/* When nobody waits any more: what goes on without is ended. */
void dnsc_fetcher_close(DnscFetcher *fetcher);

#endif
