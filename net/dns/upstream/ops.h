/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the proxy, which asks, and an upstream, which answers
 */

#ifndef NET_DNS_UPSTREAM_OPS_H
#define NET_DNS_UPSTREAM_OPS_H

#include <stddef.h>
#include <stdint.h>

typedef enum DnsUpstreamStatus {
    DNS_UPSTREAM_OK,        /* there is a message; its RCODE may be NXDOMAIN */
    DNS_UPSTREAM_TIMEOUT,   /* no server answered in time */
    DNS_UPSTREAM_REFUSED,   /* servers refused, failed or are lame */
    DNS_UPSTREAM_NETWORK,   /* no query could be sent */
    DNS_UPSTREAM_BADREPLY,  /* the reply is not a DNS message */
    DNS_UPSTREAM_BOGUS,     /* the signatures are wrong or missing */
    DNS_UPSTREAM_CANCELLED, /* the upstream is going away */
} DnsUpstreamStatus;

/*
 * The outcome of a request.  It is called exactly once, unless the request was
 * cancelled.  With DNS_UPSTREAM_OK, msg is the reply.  With
 * DNS_UPSTREAM_REFUSED and _BOGUS it may be a reply, which can have the reason.
 * Otherwise msg is NULL and len 0.  msg is valid during the call only.  Its id
 * and the case of its names are arbitrary, and its contents are not checked.
 * But AD is the upstream's own: it has validated the whole reply.  The callee
 * may send and cancel.
 */
typedef void DnsReplyFn(void *opaque, uint64_t request,
                        DnsUpstreamStatus status, const uint8_t *msg,
                        size_t len);

typedef struct DnsUpstreamOps {
    /*
     * Ask a question.  query is a whole message as dns_query_build() makes it;
     * the upstream sets the id.  (opaque, request) identifies the request and
     * must not be in use.  reply may be called before send returns.  Returns 0;
     * or a negative errno, and then reply is not called.
     */
    int (*send)(void *upstream, const uint8_t *query, size_t len,
                DnsReplyFn *reply, void *opaque, uint64_t request);
    /* Cancel a request: reply is not called.  Unknown requests are ignored. */
    void (*cancel)(void *upstream, void *opaque, uint64_t request);
} DnsUpstreamOps;

#endif /* NET_DNS_UPSTREAM_OPS_H */
