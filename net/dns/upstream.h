/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked with c-ares
 *
 * Implements DnsUpstreamOps without an event loop of its own.  Not
 * thread-safe: all calls on one upstream come from one thread at a time.
 */

#ifndef VMMNET_DNS_UPSTREAM_H
#define VMMNET_DNS_UPSTREAM_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "net/dns/upstream-ops.h"

#define DNS_UPSTREAM_MAX_SERVERS 8

typedef struct DnsServer {
    int family;             /* AF_INET or AF_INET6 */
    union {
        struct in_addr in;
        struct in6_addr in6;
    } addr;
    uint16_t port;          /* host byte order, not 0 */
} DnsServer;

typedef enum DnsUpstreamError {
    DNS_UPSTREAM_ERROR_ADDRESS, /* the value is not ADDR or ADDR%PORT */
    DNS_UPSTREAM_ERROR_LIBRARY, /* c-ares said no */
} DnsUpstreamError;

#define DNS_UPSTREAM_ERROR (dns_upstream_error_quark())
GQuark dns_upstream_error_quark(void);

/*
 * One server from "ADDR" (port 53) or "ADDR%PORT", ADDR an IPv4 or IPv6
 * address without brackets.  Zone names ("%eth0") and link-local addresses,
 * which need one, are refused: c-ares 1.18 cannot carry a scope.
 * Returns true, or false with *err naming the value.
 */
bool dns_server_parse(const char *text, DnsServer *server, GError **err);

typedef struct DnsUpstream DnsUpstream;

/*
 * Tell me when fd is readable and/or writable from now on; neither means
 * forget fd, which is closed right after the call.
 */
typedef void DnsUpstreamWatchFn(void *opaque, int fd, bool readable,
                                bool writable);

/*
 * servers, no more than DNS_UPSTREAM_MAX_SERVERS, are asked one after the
 * other in their order, beginning with the one that answered last; count 0
 * means those of the host's /etc/resolv.conf as it is now.  bind6 is the
 * source address towards IPv6 servers, or NULL for the kernel's choice.
 * Returns NULL with *err set if c-ares cannot be set up.
 */
DnsUpstream *dns_upstream_new(const DnsServer *servers, size_t count,
                              const struct in6_addr *bind6,
                              DnsUpstreamWatchFn *watch, void *opaque,
                              GError **err);

/*
 * Requests that are out get DNS_UPSTREAM_CANCELLED, descriptors are
 * forgotten.  Not from within a reply.
 */
void dns_upstream_free(DnsUpstream *up);

/* fd, given to watch, is ready.  Not from within a reply. */
void dns_upstream_process_fd(DnsUpstream *up, int fd, bool readable,
                             bool writable);

/*
 * Milliseconds until dns_upstream_process_timeouts() has work, 0 for now,
 * -1 for none.  May change with every call that the upstream gets.
 */
int dns_upstream_timeout_ms(DnsUpstream *up);

/* Not from within a reply */
void dns_upstream_process_timeouts(DnsUpstream *up);

/*
 * How many different questions can be sent now.  Those beyond that may get
 * -ENOBUFS, so let them wait.
 */
size_t dns_upstream_room(const DnsUpstream *up);

/*
 * For dns_proxy_new(): the upstream argument is a DnsUpstream.  A query that
 * is out is not sent again for another request: both get its outcome.  Only
 * what begins with a question is a query, else send returns -EINVAL.
 */
extern const DnsUpstreamOps dns_upstream_ops;

#endif
