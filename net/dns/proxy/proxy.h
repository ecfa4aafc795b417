/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy for a guest that speaks IPv4 on a network that speaks IPv6
 *
 * Give it the queries that the guest's sockets send to its resolver's
 * address; it hands out virtual IPv4 addresses for the IPv6 addresses of
 * names (section 4.2 of the paper).  See proxy.c for how and why.
 *
 * Not thread-safe: all calls on one proxy, callbacks included, come from
 * one thread at a time.
 */

#ifndef NET_DNS_PROXY_PROXY_H
#define NET_DNS_PROXY_PROXY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/upstream/ops.h"
#include "net/dns/wire/wire.h"

/* Queries a proxy works on at a time; who gets them is the owner's choice */
#define DNS_PROXY_MAX_REQUESTS 2048

/* Addresses in one answer: 32 A records and a long name fit in 1232 octets */
#define DNS_PROXY_MAX_ADDRESSES 32

/*
 * How long an A record that has arrived waits for the AAAA that would be
 * preferred: the Resolution Delay of RFC 8305 section 3, in milliseconds.
 */
#define DNS_PROXY_RESOLUTION_DELAY_MS 50

/*
 * For how many seconds a "no" that no server has said may be cached (RFC 2308
 * section 5), and that of an address of the pool which stands for nothing:
 * it may stand for a peer the next moment.
 */
#define DNS_PROXY_NEGATIVE_TTL 60
#define DNS_PROXY_NOTHING_TTL 5

typedef enum DnsTransport {
    DNS_TRANSPORT_UDP,      /* answers fit the size the client offers */
    DNS_TRANSPORT_TCP,      /* up to DNS_MSG_MAX, length prefix not included */
} DnsTransport;

typedef struct DnsProxy DnsProxy;

/* Where a name leads. */
typedef struct DnsProxyAddress {
    struct in6_addr addr6;  /* an A record as ::ffff:192.0.2.1 */
    uint32_t ttl;           /* seconds, the least on the way to it */
} DnsProxyAddress;

/* What the proxy needs from its owner.  Every member must be set. */
typedef struct DnsProxyOps {
    /*
     * May the guest ask this?  Returns 0; -EACCES: not for this name; or
     * -EBUSY: not so often.  A refused query is answered REFUSED, for a name
     * with the extended error "Blocked" (RFC 8914).  local: no server would
     * be asked (local-names.h), so the name is no matter.
     */
    int (*admit)(void *opaque, const DnsQuestion *question, bool local);
    /*
     * The name that the guest asked for leads to these addresses, in the
     * order of the reply, at most DNS_PROXY_MAX_ADDRESSES: those behind the
     * virtual ones that the guest is told, and those of A records where a
     * NAT64 makes them worth something, also after the guest was told other
     * ones.
     */
    void (*resolved)(void *opaque, const DnsName *asked,
                     const DnsProxyAddress *addrs, size_t num);
    /*
     * Virtual IPv4 address for addr6, guaranteed for *lease seconds from
     * now; ttl is what would be liked.  The answer's TTL is the lesser.
     * Returns 0, -ENOSPC when the pool is full, or another negative errno
     * when this address cannot be mapped (it is left out of the answer).
     */
    int (*map)(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
               struct in_addr *addr4, uint32_t *lease);
    /*
     * IPv6 address behind a virtual IPv4 address, and for how many seconds
     * from now that is guaranteed.  Returns 0, -ENOENT for an address of
     * the pool that stands for nothing now (the guest sees NXDOMAIN), or
     * -ERANGE for an address outside the pool (the query is passed on).
     */
    int (*unmap)(void *opaque, struct in_addr addr4, struct in6_addr *addr6,
                 uint32_t *lease);
    /*
     * Is a name that no server knows below this one: that of an address for
     * which unmap has an answer, or one of a zone of the owner's own?  Then
     * this one exists as well (RFC 8020), whatever a server says.
     */
    bool (*is_above)(void *opaque, const DnsName *name);
    /*
     * May the guest be led to this address by the name that it asked for?
     * Returns 0; -ENETUNREACH: by no name (link-local, loopback, ...); or
     * -EACCES: it is a private address of another's name.
     */
    int (*usable)(void *opaque, const DnsName *asked,
                  const struct in6_addr *addr6);
    /*
     * The same of an IPv4 address, told to the guest as it is: does it lead
     * behind the NAT64?  (-ENETUNREACH: one of the pool, the guest's own,
     * loopback, ...)
     */
    int (*usable4)(void *opaque, const DnsName *asked, struct in_addr addr4);
    /*
     * The guest is not told of this address (A as ::ffff:192.0.2.1), for which
     * usable or usable4 has said -EACCES.
     */
    void (*blocked)(void *opaque, const DnsName *asked,
                    const struct in6_addr *addr6);
    /* Is there a NAT64 prefix now, so that plain IPv4 addresses work? */
    bool (*nat64_available)(void *opaque);
    /*
     * The answer to a query made with this token.  msg is valid during the
     * call only.  May call dns_proxy_cancel(), nothing else of the proxy.
     */
    void (*answer)(void *opaque, void *token, const uint8_t *msg,
                   size_t len);
    /* Monotonic time in milliseconds */
    int64_t (*now_ms)(void *opaque);
} DnsProxyOps;

/*
 * Every query is counted in `queries` and, when it ends, in exactly one of
 * the counters of the first group.  The X-macro lets the owner publish each
 * by its name.
 */
#define DNS_PROXY_COUNTERS(X)                                                 \
    X(queries)                                                                \
                                                                              \
    X(answers_virtual)          /* A from AAAA */                             \
    X(answers_plain)            /* A as it is, for NAT64 */                   \
    X(answers_ptr)              /* names of virtual addresses */              \
    X(answers_local)            /* of special-use names: local-names.h */     \
    X(answers_service)          /* HTTPS, SVCB without address hints */       \
    X(answers_any)              /* ANY of a name without address */           \
    X(nodata)                                                                 \
    X(nxdomain)                                                               \
    X(passed)                   /* other types, unchanged */                  \
    X(formerr)                                                                \
    X(notimp)                                                                 \
    X(refused)                  /* no ordinary question */                    \
    X(refused_name)             /* admit() said -EACCES */                    \
    X(refused_rate)             /* admit() said -EBUSY */                     \
    X(badvers)                                                                \
    X(servfail_upstream)        /* no usable reply from upstream */           \
    X(servfail_bogus)           /* the upstream says that it is */            \
    X(servfail_pool_full)                                                     \
    X(servfail_table_full)      /* DNS_PROXY_MAX_REQUESTS */                  \
    X(dropped_short)            /* no whole header, or too long */            \
    X(dropped_response)         /* QR was set */                              \
    X(dropped_cancelled)        /* socket gone before the answer */           \
                                                                              \
    X(remembered)               /* answers given again, of any kind */        \
    X(truncated)                /* answers sent with TC */                    \
    X(plain_after_delay)        /* answers_plain with AAAA still out */       \
    X(addresses_unusable)       /* left out: usable() or map() said no */     \
    X(addresses_private)        /* left out: -EACCES */                       \
    X(addresses_pool_full)      /* left out: -ENOSPC */                       \
    X(addresses_over_limit)     /* left out: DNS_PROXY_MAX_ADDRESSES */       \
    X(replies_bad)              /* malformed or to another question */        \
    X(replies_late)             /* to a request that has ended */

typedef struct DnsProxyCounters {
#define DNS_PROXY_COUNTER_FIELD(name) uint64_t name;
    DNS_PROXY_COUNTERS(DNS_PROXY_COUNTER_FIELD)
#undef DNS_PROXY_COUNTER_FIELD
} DnsProxyCounters;

/*
 * A proxy; never fails.  ops and upstream_ops must outlive it.  About
 * 5 MiB; what arrives later adds no more than 4 MiB.
 */
DnsProxy *dns_proxy_new(const DnsProxyOps *ops, void *opaque,
                        const DnsUpstreamOps *upstream_ops, void *upstream);

/*
 * Cancels what is outstanding upstream; no further answers.  The upstream
 * must still be alive.
 */
void dns_proxy_free(DnsProxy *proxy);

/*
 * A DNS message from the guest, without TCP's length prefix.  ops->answer is
 * called with token at most once for it, during this call or later.  Several
 * queries may have the same token.
 * Returns true if it was answered out of memory: nobody was asked, and no time
 * that the proxy or the upstream waits for has changed.
 */
bool dns_proxy_query(DnsProxy *proxy, const uint8_t *msg, size_t len,
                     DnsTransport transport, void *token);

/*
 * Forget replies that were given: the owner's functions now say something else
 * of addresses, or the upstream of names, before the TTLs end.
 */
void dns_proxy_forget(DnsProxy *proxy);

/*
 * How many queries the proxy can take now.  A query beyond that is answered
 * SERVFAIL, so let it wait.  Constant time.
 */
size_t dns_proxy_room(const DnsProxy *proxy);

/* The socket is gone: no more answers with this token */
void dns_proxy_cancel(DnsProxy *proxy, void *token);

/*
 * Milliseconds until dns_proxy_process_timeouts() has work, 0 for now, -1
 * for none.  May change with every call that the proxy gets.
 */
int dns_proxy_timeout_ms(DnsProxy *proxy);
void dns_proxy_process_timeouts(DnsProxy *proxy);

/* Live counters; valid as long as the proxy */
const DnsProxyCounters *dns_proxy_counters(const DnsProxy *proxy);

#endif /* NET_DNS_PROXY_PROXY_H */
