/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: what it gives to its owner, and asks of it */
#ifndef NET_DNS_PROXY_TYPES_H
#define NET_DNS_PROXY_TYPES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/dns/upstream/ops.h"
#include "net/dns/wire/wire.h"

/* Queries under way at a time; the owner decides which queries these are. */
#define DNS_PROXY_MAX_REQUESTS 2048

/* Addresses in one answer: 32 A records and a long name fit in 1232 octets */
#define DNS_PROXY_MAX_ADDRESSES 32

/*
 * Milliseconds that an A record waits for the AAAA, which is preferred: the
 * Resolution Delay of RFC 8305 section 3
 */
#define DNS_PROXY_RESOLUTION_DELAY_MS 50

/*
 * Seconds for which a negative answer of the proxy itself may be cached (RFC
 * 2308 section 5); and for which the name of an unused address of the pool does
 * not exist.  That address may be mapped at any moment.
 */
#define DNS_PROXY_NEGATIVE_TTL 60
#define DNS_PROXY_NOTHING_TTL 5

typedef enum DnsTransport {
    DNS_TRANSPORT_UDP,      /* the client's EDNS size is the limit */
    DNS_TRANSPORT_TCP,      /* up to DNS_MSG_MAX, without length prefix */
} DnsTransport;

typedef struct DnsProxy DnsProxy;

/* An address that a name leads to */
typedef struct DnsProxyAddress {
    struct in6_addr addr6;  /* an A record as ::ffff:192.0.2.1 */
    uint32_t ttl;           /* seconds; the least of the chain */
} DnsProxyAddress;

/* The functions of the owner.  Every member must be set. */
typedef struct DnsProxyOps {
    /*
     * May the guest ask this?  Returns 0; -EACCES if the name is forbidden; or
     * -EBUSY if it asks too often.  The answer to a refused query is REFUSED,
     * for a name with the extended error "Blocked" (RFC 8914).  local: no
     * server will be asked (local-names.h), so the name does not matter.
     */
    int (*admit)(void *opaque, const DnsQuestion *question, bool local);
    /*
     * The name that the guest asked for leads to these addresses, in the order
     * of the reply, at most DNS_PROXY_MAX_ADDRESSES.  These are the IPv6
     * addresses behind the virtual ones in the answer.  With NAT64 they are
     * also those of A records, even if the guest was answered with others.
     */
    void (*resolved)(void *opaque, const DnsName *asked,
                     const DnsProxyAddress *addrs, size_t num);
    /*
     * The answer for the name that the guest asked for says to go on to this
     * one: an alias, or the target of a service (SRV, HTTPS, SVCB).  Called
     * only while compares() says so: what the guest asks for is compared with
     * what it says to servers.
     */
    bool (*compares)(void *opaque);
    void (*leads_on)(void *opaque, const DnsName *asked,
                     const DnsName *target);
    /*
     * Make or find the virtual IPv4 address for addr6, and guarantee it for
     * *lease seconds from now.  ttl is the desired lease.  The TTL of the
     * answer is the lesser of both.  Returns 0; -ENOSPC if the pool is full; or
     * another negative errno if this address cannot be mapped, and then the
     * answer omits it.
     */
    int (*map)(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
               struct in_addr *addr4, uint32_t *lease);
    /*
     * Find the IPv6 address behind a virtual IPv4 address, and the seconds for
     * which this is guaranteed.  Returns 0; -ENOENT for an address of the pool
     * that is not mapped (the guest gets NXDOMAIN); or -ERANGE for an address
     * outside the pool (the query passes).
     */
    int (*unmap)(void *opaque, struct in_addr addr4, struct in6_addr *addr6,
                 uint32_t *lease);
    /*
     * Is there a name below this one that only the owner knows: the name of an
     * address that unmap answers, or of a zone of the owner?  Then this name
     * exists as well (RFC 8020), even if a server denies it.
     */
    bool (*is_above)(void *opaque, const DnsName *name);
    /*
     * May the guest be led to this address by the name that it asked for?
     * Returns 0; -ENETUNREACH if no name may lead to it (link-local, loopback,
     * ...); or -EACCES if it is a private address and the name is not allowed
     * it.
     */
    int (*usable)(void *opaque, const DnsName *asked,
                  const struct in6_addr *addr6);
    /*
     * The same for an IPv4 address that the guest gets unchanged: does it lead
     * behind the NAT64?  -ENETUNREACH: it is an address of the pool, of the
     * guest itself, a loopback address, ...
     */
    int (*usable4)(void *opaque, const DnsName *asked, struct in_addr addr4);
    /*
     * usable or usable4 has returned this error, so the guest is not told of
     * this address (A as ::ffff:192.0.2.1).
     */
    void (*withheld)(void *opaque, const DnsName *asked,
                     const struct in6_addr *addr6, int error);
    /*
     * A query was refused before admit(): no query that one can understand, or
     * one for what no guest gets.  Its name is not known, or means nothing.
     */
    void (*rejected)(void *opaque, DnsRcode rcode);
    /* Has the network a NAT64 prefix, so that plain IPv4 addresses work? */
    bool (*nat64_available)(void *opaque);
    /*
     * Are HTTPS and SVCB answered without keys for Encrypted Client Hello?  The
     * owner reads the name in a ClientHello.
     */
    bool (*hides_ech)(void *opaque);
    /* Does the guest use IPv6 addresses, so that AAAA is answered? */
    bool (*uses_ipv6)(void *opaque);
    /*
     * The answer to a query with this token.  msg is valid during the call
     * only.  The callee may call dns_proxy_cancel(), and no other function of
     * the proxy.
     */
    void (*answer)(void *opaque, void *token, const uint8_t *msg,
                   size_t len);
    /* Monotonic time in milliseconds */
    int64_t (*now_ms)(void *opaque);
} DnsProxyOps;

/*
 * Every query is counted in `queries` and, when it ends, in exactly one counter
 * of the first group.  With the X-macro the owner can publish each counter by
 * its name.
 */
#define DNS_PROXY_COUNTERS(X)                                                 \
    X(queries)                                                                \
                                                                              \
    X(answers_virtual)          /* A from AAAA */                             \
    X(answers_plain)            /* A as it is, for NAT64 */                   \
    X(answers_ptr)              /* PTR of virtual addresses */                \
    X(answers_local)            /* special-use names: local-names.h */        \
    X(answers_service)          /* HTTPS, SVCB without a hint or a key */     \
    X(answers_any)              /* ANY of a name without address */           \
    X(nodata)                                                                 \
    X(nxdomain)                                                               \
    X(passed)                   /* other types, unchanged */                  \
    X(formerr)                                                                \
    X(notimp)                                                                 \
    X(refused)                  /* not an ordinary question */                \
    X(refused_name)             /* admit() said -EACCES */                    \
    X(refused_rate)             /* admit() said -EBUSY */                     \
    X(badvers)                                                                \
    X(servfail_upstream)        /* no usable reply from upstream */           \
    X(servfail_bogus)           /* the upstream calls it bogus */             \
    X(servfail_pool_full)                                                     \
    X(servfail_table_full)      /* DNS_PROXY_MAX_REQUESTS are under way */    \
    X(dropped_short)            /* less than a header, or too long */         \
    X(dropped_response)         /* QR was set */                              \
    X(dropped_cancelled)        /* the socket was closed before */            \
                                                                              \
    X(remembered)               /* answers repeated, of any kind */           \
    X(truncated)                /* answers sent with TC */                    \
    X(plain_after_delay)        /* answers_plain while AAAA was pending */    \
    X(addresses_unusable)       /* withheld: usable() or map() failed */      \
    X(addresses_private)        /* withheld: -EACCES */                       \
    X(addresses_pool_full)      /* withheld: -ENOSPC */                       \
    X(addresses_over_limit)     /* withheld: DNS_PROXY_MAX_ADDRESSES */       \
    X(replies_bad)              /* malformed or for another question */       \
    X(replies_late)             /* for a request that has ended */

typedef struct DnsProxyCounters {
#define DNS_PROXY_COUNTER_FIELD(name) uint64_t name;
    DNS_PROXY_COUNTERS(DNS_PROXY_COUNTER_FIELD)
#undef DNS_PROXY_COUNTER_FIELD
} DnsProxyCounters;

#endif /* NET_DNS_PROXY_TYPES_H */
