/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of a thread
 *
 * Only the thread itself writes its counters.  Readers sum them up.  Relaxed: a
 * sum need not be of one moment, and nobody concludes anything else from it.
 */
#ifndef DNSD_SERVER_CORE_COUNTERS_H
#define DNSD_SERVER_CORE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define DNSD_RCODES     24      /* 0 to BADCOOKIE */
#define DNSD_KINDS      16
#define DNSD_TYPES      20

typedef enum DnsdCount {
    /* Requests */
    DNSD_COUNT_UDP,
    DNSD_COUNT_TCP,
    DNSD_COUNT_EDNS,
    DNSD_COUNT_DNSSEC_OK,
    DNSD_COUNT_HANDED_OVER,     /* passed to the control thread */
    /* Replies */
    DNSD_COUNT_TRUNCATED,
    DNSD_COUNT_COOKIE_NONE,     /* in the order of DnsdCookie */
    DNSD_COUNT_COOKIE_MALFORMED,
    DNSD_COUNT_COOKIE_CLIENT,
    DNSD_COUNT_COOKIE_VALID,
    DNSD_COUNT_SLIP_TRUNCATED,  /* over the rate limit: sent TC */
    DNSD_COUNT_SLIP_BADCOOKIE,
    DNSD_COUNT_DENIED,          /* REFUSED: allow-query, resolver.allow */
    /* Queries for names that are not in our zones */
    DNSD_COUNT_RESOLVER_KEPT,   /* answered from the worker's table */
    DNSD_COUNT_RESOLVER_ASKED,  /* passed to the resolver */
    DNSD_COUNT_BOGUS_FAILED,    /* bogus data: SERVFAIL */
    DNSD_COUNT_BOGUS_SHOWN,     /* passed on: CD, or permissive */
    /* Requests without a reply */
    DNSD_DROP_IGNORED,          /* not a DNS query */
    DNSD_DROP_LONG,             /* a datagram longer than the buffer */
    DNSD_DROP_PORT,             /* from port 0, or a reflection port */
    DNSD_DROP_RATE,
    DNSD_DROP_CONTROL,          /* the control thread's queue is full */
    DNSD_DROP_SEND,             /* by dnsd_unsent() instead */
    DNSD_DROP_RESOLVER_CLIENT,  /* too many queries of a client wait */
    DNSD_DROP_RESOLVER_FULL,    /* too many queries of all clients */
    /* Connections */
    DNSD_TCP_ACCEPTED,
    DNSD_TCP_CLOSED,
    DNSD_TCP_PER_CLIENT,        /* refused: the client has too many */
    DNSD_TCP_EVICTED,           /* the idlest, closed for a new one */
    DNSD_TCP_IDLE,
    DNSD_TCP_MALFORMED,
    DNSD_TCP_FAILED,
    /* Indexed by number */
    DNSD_COUNT_RCODE,
    DNSD_COUNT_KIND = DNSD_COUNT_RCODE + DNSD_RCODES,
    DNSD_COUNT_TYPE = DNSD_COUNT_KIND + DNSD_KINDS,
    DNSD_COUNTS = DNSD_COUNT_TYPE + DNSD_TYPES,
} DnsdCount;

typedef struct DnsdCounters {
    atomic_uint_least64_t n[DNSD_COUNTS];
} DnsdCounters;

/** dnsd_count: increment a counter; only for the thread of the counters */
static inline void dnsd_count(DnsdCounters *c, unsigned which)
{
    uint64_t n = atomic_load_explicit(&c->n[which], memory_order_relaxed);

    atomic_store_explicit(&c->n[which], n + 1, memory_order_relaxed);
}

/** dnsd_counters_add: add to @sums; for any thread */
void dnsd_counters_add(uint64_t sums[DNSD_COUNTS], const DnsdCounters *c);

/** dnsd_type_index: below DNSD_TYPES; the last index is for all other types */
unsigned dnsd_type_index(uint16_t type);

#endif /* DNSD_SERVER_CORE_COUNTERS_H */
