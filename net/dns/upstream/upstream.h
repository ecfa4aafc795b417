/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked by the client library's engine
 *
 * Implements DnsUpstreamOps with one descriptor and a timeout.  Not
 * thread-safe: all calls on one upstream come from one thread at a time.
 */

#ifndef NET_DNS_UPSTREAM_UPSTREAM_H
#define NET_DNS_UPSTREAM_UPSTREAM_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "net/dns/upstream/ops.h"
#include "net/dns/upstream/verdict.h"

#define DNS_UPSTREAM_MAX_SERVERS 8

typedef struct DnsServer {
    int family;             /* AF_INET or AF_INET6 */
    union {
        struct in_addr in;
        struct in6_addr in6;
    } addr;
    uint32_t scope;         /* the interface of a link-local address, or 0 */
    uint16_t port;          /* host byte order, not 0 */
} DnsServer;

typedef enum DnsUpstreamError {
    DNS_UPSTREAM_ERROR_ADDRESS, /* the value is no server's address */
    DNS_UPSTREAM_ERROR_SYSTEM,  /* no memory, no descriptor */
} DnsUpstreamError;

#define DNS_UPSTREAM_ERROR (dns_upstream_error_quark())
GQuark dns_upstream_error_quark(void);

/*
 * One server from "ADDR[%ZONE][@PORT]", ADDR an IPv4 or IPv6 address without
 * brackets, port 53 if there is none: as unbound.conf(5), libvmmnet-dns and
 * vmmnet-dnsd write it.  A link-local address, and no other, has a zone (RFC
 * 4007 section 11): the name or the number of an interface that is there.
 * Returns true, or false with *err naming the value and what would be right.
 */
bool dns_server_parse(const char *text, DnsServer *server, GError **err);

typedef struct DnsUpstream DnsUpstream;

/* Results of a validation */
typedef struct DnsValidated {
    const DnsQuestion *question;
    VmmnetDnsSecurity security;
    int ede;                /* of what is bogus: RFC 8914, or -1 */
    const char *reason;     /* graphic ASCII; "" if there is none */
} DnsValidated;

typedef void DnsValidatedFn(void *opaque, const DnsValidated *found);

typedef struct DnsUpstreamOptions {
    /*
     * At most DNS_UPSTREAM_MAX_SERVERS, asked in their order; 0: those of the
     * host's /etc/resolv.conf as it is now.
     */
    const DnsServer *servers;
    size_t count;
    /* the source address towards IPv6 servers, NULL: the kernel's choice */
    const struct in6_addr *bind6;
    /* replies that are remembered, and their octets; 0: none */
    size_t cache_entries;
    size_t cache_octets;
    DnsDnssec dnssec;
    /*
     * The file of trust anchors, client/config/anchors.h; NULL: that of the
     * root (trust-anchor.h).  Read now, and not again.
     */
    const char *trust_anchor;
    /* Told of each question that was validated; NULL: nobody is */
    DnsValidatedFn *validated;
    void *opaque;
} DnsUpstreamOptions;

/*
 * Returns NULL with *err set: no memory or descriptor, too many servers, no
 * trust anchor, no libunbound.  What is wrong with the anchors begins with
 * "trust-anchor=".
 */
DnsUpstream *dns_upstream_new(const DnsUpstreamOptions *options, GError **err);

/*
 * Requests that are out get DNS_UPSTREAM_CANCELLED, descriptors are
 * closed.  Not from within a reply.
 */
void dns_upstream_free(DnsUpstream *up);

/* The same for its life: readable when dns_upstream_process() has work */
int dns_upstream_fd(const DnsUpstream *up);

/*
 * Milliseconds until dns_upstream_process() has work even if the descriptor is
 * not readable, 0 for now, -1 for none.  May change with every call that the
 * upstream gets.
 */
int dns_upstream_timeout_ms(DnsUpstream *up);

/* Replies and timeouts, some at a time.  Not from within a reply. */
void dns_upstream_process(DnsUpstream *up);

/*
 * How many different questions can be sent now.  Those beyond that may get
 * -ENOBUFS, so let them wait.
 */
size_t dns_upstream_room(const DnsUpstream *up);

#define DNS_UPSTREAM_COUNTERS(X)                                              \
    X(cache_hits)               /* replies that no server was asked for */    \
    X(queries)                  /* sent, repetitions included */              \
    X(over_tcp)                 /* of them */                                 \
    X(timeouts)                 /* tries without a reply */                   \
    X(forged)                   /* dropped: wrong id, question or source */   \
    X(secure)                   /* questions that were validated: signed, */  \
    X(insecure)                 /* provably not signed, */                    \
    X(bogus)                    /* wrongly signed, */                         \
    X(indeterminate)            /* or nothing can be proven */

typedef struct DnsUpstreamCounters {
#define DNS_UPSTREAM_COUNTER_FIELD(name) uint64_t name;
    DNS_UPSTREAM_COUNTERS(DNS_UPSTREAM_COUNTER_FIELD)
#undef DNS_UPSTREAM_COUNTER_FIELD
} DnsUpstreamCounters;

void dns_upstream_counters(const DnsUpstream *up,
                           DnsUpstreamCounters *counters);

/*
 * For dns_proxy_new(): the upstream argument is a DnsUpstream.  A query is
 * validated, unless it has CD: who asks so does that himself (RFC 4035 section
 * 3.2.2).  One that is out is not sent again for another request: both get its
 * outcome.  One whose reply is remembered gets it before send returns, the time
 * that has passed taken off its TTLs.  Only what begins with a question is a
 * query, else send returns -EINVAL.
 */
extern const DnsUpstreamOps dns_upstream_ops;

/*
 * The same, but nothing is validated, and what is remembered is asked for
 * again: for what a network says of itself (RFC 7050)
 */
extern const DnsUpstreamOps dns_upstream_fresh_ops;

#endif /* NET_DNS_UPSTREAM_UPSTREAM_H */
