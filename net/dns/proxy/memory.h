/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the DNS proxy that are given again to an identical query
 *
 * The resolver of a program repeats the same octets, except for the id.  The
 * answer stays true until the first of its TTLs ends, so a look-up compares the
 * query and parses nothing.
 *
 * The memory is bounded: a new answer replaces an expired or an older one.  Not
 * thread-safe.
 */
#ifndef NET_DNS_PROXY_MEMORY_H
#define NET_DNS_PROXY_MEMORY_H

#include "net/dns/proxy/types.h"

/* Longer queries and answers, and answers with more addresses, are not kept. */
#define DNS_MEMORY_QUERY_MAX     288
#define DNS_MEMORY_ANSWER_MAX    512
#define DNS_MEMORY_ADDRESSES     8
#define DNS_MEMORY_RECORDS       16

typedef struct DnsMemory DnsMemory;

/* An answer, and all that the owner was told with it */
typedef struct DnsRemembered {
    DnsQuestion question;
    uint64_t *counter;          /* that counted the answer */
    size_t num;
    DnsProxyAddress addr[DNS_MEMORY_ADDRESSES];
    size_t len;
    uint8_t answer[DNS_MEMORY_ANSWER_MAX];
} DnsRemembered;

DnsMemory *dns_memory_new(void);
void dns_memory_free(DnsMemory *memory);

/* Forget everything: the same query may get another answer from here on. */
void dns_memory_clear(DnsMemory *memory);

/*
 * Find the answer to a query.  *told has the id of the query, and TTLs less the
 * time that has passed.  Returns false if there is none.
 */
bool dns_memory_recall(const DnsMemory *memory, const uint8_t *query,
                       size_t len, DnsTransport transport, int64_t now_ms,
                       DnsRemembered *told);

/*
 * Keep the answer to a query, if it is small enough and has a TTL.  addrs are
 * the addresses that ops->resolved was told of; counter is the one that counted
 * the answer.
 */
void dns_memory_keep(DnsMemory *memory, const uint8_t *query, size_t len,
                     DnsTransport transport, int64_t now_ms,
                     const uint8_t *answer, size_t answer_len,
                     const DnsProxyAddress *addrs, size_t num,
                     uint64_t *counter);

#endif /* NET_DNS_PROXY_MEMORY_H */
