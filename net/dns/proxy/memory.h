/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the DNS proxy, to be given again to the very same query
 *
 * A program's resolver asks the same octets again, but for the id.  What it was
 * told then is true until the first of the answer's TTLs is over, and no more
 * has to be looked at than that.
 *
 * Bounded: what is found takes the place of what is over, or older.  Not
 * thread-safe.
 */
#ifndef NET_DNS_PROXY_MEMORY_H
#define NET_DNS_PROXY_MEMORY_H

#include "net/dns/proxy/proxy.h"

/* Longer queries and answers, and answers that lead to more, are not kept. */
#define DNS_MEMORY_QUERY_MAX     288
#define DNS_MEMORY_ANSWER_MAX    512
#define DNS_MEMORY_ADDRESSES     8
#define DNS_MEMORY_RECORDS       16

typedef struct DnsMemory DnsMemory;

/* An answer that was given, and all that its owner was told with it */
typedef struct DnsRemembered {
    DnsQuestion question;
    uint64_t *counter;          /* how it was counted */
    size_t num;
    DnsProxyAddress addr[DNS_MEMORY_ADDRESSES];
    size_t len;
    uint8_t answer[DNS_MEMORY_ANSWER_MAX];
} DnsRemembered;

DnsMemory *dns_memory_new(void);
void dns_memory_free(DnsMemory *memory);

/* Forget everything: the same query would have another answer now. */
void dns_memory_clear(DnsMemory *memory);

/*
 * The answer to a query: *told as it was, but for the query's id, and times
 * less by what has passed.  Returns false if there is none.
 */
bool dns_memory_recall(const DnsMemory *memory, const uint8_t *query,
                       size_t len, DnsTransport transport, int64_t now_ms,
                       DnsRemembered *told);

/*
 * Keep the answer to a query, if it is small enough and has a TTL.  addrs are
 * those that ops->resolved was told of, counter is where it was counted.
 */
void dns_memory_keep(DnsMemory *memory, const uint8_t *query, size_t len,
                     DnsTransport transport, int64_t now_ms,
                     const uint8_t *answer, size_t answer_len,
                     const DnsProxyAddress *addrs, size_t num,
                     uint64_t *counter);

#endif /* NET_DNS_PROXY_MEMORY_H */
