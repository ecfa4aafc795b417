/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked by the client library's engine
 *
 * Implements DnsUpstreamOps with one descriptor and one timeout.  Not
 * thread-safe: all calls on one upstream come from one thread at a time.
 */

#ifndef NET_DNS_UPSTREAM_UPSTREAM_H
#define NET_DNS_UPSTREAM_UPSTREAM_H

#include <glib.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "net/dns/upstream/ops.h"
#include "net/dns/upstream/origin.h"
#include "net/dns/upstream/verdict.h"

#define DNS_UPSTREAM_MAX_SERVERS 8

typedef struct DnsServer {
    int family;             /* AF_INET or AF_INET6 */
    union {
        struct in_addr in;
        struct in6_addr in6;
    } addr;
    /*
     * Of a link-local address: the index of the interface, 0 if there is none
     * yet; and its name, "" if it was given as an index
     */
    uint32_t scope;
    char zone[IF_NAMESIZE];
    uint16_t port;          /* host byte order, not 0 */
} DnsServer;

typedef enum DnsUpstreamError {
    DNS_UPSTREAM_ERROR_ADDRESS, /* the value is not the address of a server */
    DNS_UPSTREAM_ERROR_SYSTEM,  /* no memory, no descriptor */
} DnsUpstreamError;

#define DNS_UPSTREAM_ERROR (dns_upstream_error_quark())
GQuark dns_upstream_error_quark(void);

/*
 * Parse one server: "ADDR[%ZONE][@PORT]".  ADDR is an IPv4 or IPv6 address
 * without brackets; the default port is 53.  unbound.conf(5), libvmmnet-dns and
 * vmmnet-dnsd have the same syntax.  A link-local address, and no other, has a
 * zone (RFC 4007 section 11): the name of an interface, which need not exist
 * yet, or the number of one that exists.
 * Returns true; or false, and *err has the value and what would be right.
 */
bool dns_server_parse(const char *text, DnsServer *server, GError **err);

typedef struct DnsUpstream DnsUpstream;

/* The result of a validation */
typedef struct DnsValidated {
    const DnsQuestion *question;
    VmmnetDnsSecurity security;
    int ede;                /* the reason why it is bogus: RFC 8914; or -1 */
    const char *reason;     /* graphic ASCII; "" if there is none */
} DnsValidated;

typedef void DnsValidatedFn(void *opaque, const DnsValidated *found);

typedef struct DnsUpstreamOptions {
    /*
     * At most DNS_UPSTREAM_MAX_SERVERS, in the order in which they are asked.
     * 0: the servers of the file.
     */
    const DnsServer *servers;
    size_t count;
    const char *resolv_conf;    /* the file; NULL: /etc/resolv.conf */
    /* the source address towards IPv6 servers; NULL: the kernel chooses */
    const struct in6_addr *bind6;
    /* limits of the cache: replies and octets; 0: no cache */
    size_t cache_entries;
    size_t cache_octets;
    DnsDnssec dnssec;
    /* the socket of vmmnet-validate (checker.h), with dnssec */
    const char *validator;
    /* It is away, and why; or back: NULL.  May be NULL. */
    void (*validator_news)(void *opaque, const char *trouble);
    /* Called after each validation; may be NULL */
    DnsValidatedFn *validated;
    /*
     * Called by dns_upstream_follow() when the servers or their origin have
     * changed, with @error if it is not possible to ask the new ones: then the
     * old ones are asked, and the change is tried again.  May be NULL.
     */
    void (*moved)(void *opaque, const char *error);
    void *opaque;
} DnsUpstreamOptions;

/*
 * Returns NULL with *err set: no memory or descriptor, too many servers, or no
 * path that a socket can have.
 */
DnsUpstream *dns_upstream_new(const DnsUpstreamOptions *options, GError **err);

/*
 * Requests under way get DNS_UPSTREAM_CANCELLED, and descriptors are closed.
 * Do not call it from within a reply.
 */
void dns_upstream_free(DnsUpstream *up);

/*
 * The descriptor is the same for the life of the upstream.  It is readable when
 * dns_upstream_process() has work.
 */
int dns_upstream_fd(const DnsUpstream *up);

/*
 * Milliseconds until dns_upstream_process() has work even if the descriptor is
 * not readable; 0: now; -1: no timeout.  Every call on the upstream may change
 * it.
 */
int dns_upstream_timeout_ms(DnsUpstream *up);

/* Handle some replies and timeouts.  Do not call it from within a reply. */
void dns_upstream_process(DnsUpstream *up);

/* The servers, and where they come from */
const DnsOrigin *dns_upstream_origin(const DnsUpstream *up);

/*
 * Look whether the servers have changed, unless that was done 10 ms ago, and
 * ask the new ones from now on: the cache is emptied, and what is under way is
 * asked again.  dns_upstream_process() does it, too, but has no timeout for it
 * while nothing is under way.  So call this before a question is asked.  Do not
 * call it from within a reply.  Calls no reply.  Returns whether it has changed
 * anything.
 */
bool dns_upstream_follow(DnsUpstream *up);

/*
 * The number of different questions that can be sent.  Further ones may get
 * -ENOBUFS, so queue them instead.
 */
size_t dns_upstream_room(const DnsUpstream *up);

#define DNS_UPSTREAM_COUNTERS(X)                                              \
    X(cache_hits)               /* replies without a query */                 \
    X(queries)                  /* includes repetitions */                    \
    X(over_tcp)                 /* part of the queries */                     \
    X(timeouts)                 /* tries without a reply */                   \
    X(forged)                   /* dropped: wrong id, question or source */   \
    X(secure)                   /* validated questions: signed, */            \
    X(insecure)                 /* provably not signed, */                    \
    X(bogus)                    /* wrongly signed, */                         \
    X(indeterminate)            /* or without any proof */                    \
    X(validator_outages)        /* vmmnet-validate was away */

typedef struct DnsUpstreamCounters {
#define DNS_UPSTREAM_COUNTER_FIELD(name) uint64_t name;
    DNS_UPSTREAM_COUNTERS(DNS_UPSTREAM_COUNTER_FIELD)
#undef DNS_UPSTREAM_COUNTER_FIELD
} DnsUpstreamCounters;

void dns_upstream_counters(const DnsUpstream *up,
                           DnsUpstreamCounters *counters);

/*
 * For dns_proxy_new(): the upstream argument is a DnsUpstream.  A query is
 * validated unless it has CD: a client with CD validates itself (RFC 4035
 * section 3.2.2).  A query that is in flight is not sent again for another
 * request; both get its outcome.  A cached reply is delivered before send
 * returns, with TTLs less its age.  send returns -EINVAL for a message that
 * does not begin with a question.
 */
extern const DnsUpstreamOps dns_upstream_ops;

/*
 * The same without validation, and without cached replies: for questions about
 * the network itself (RFC 7050)
 */
extern const DnsUpstreamOps dns_upstream_fresh_ops;

#endif /* NET_DNS_UPSTREAM_UPSTREAM_H */
