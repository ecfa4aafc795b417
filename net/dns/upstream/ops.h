/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam between who asks a DNS question and who gets it answered
 */

#ifndef NET_DNS_UPSTREAM_OPS_H
#define NET_DNS_UPSTREAM_OPS_H

#include <stddef.h>
#include <stdint.h>

typedef enum DnsUpstreamStatus {
    DNS_UPSTREAM_OK,        /* there is a message; its RCODE may be NXDOMAIN */
    DNS_UPSTREAM_TIMEOUT,   /* no server answered in time */
    DNS_UPSTREAM_REFUSED,   /* servers said no, or are lame */
    DNS_UPSTREAM_NETWORK,   /* no server could be sent to */
    DNS_UPSTREAM_BADREPLY,  /* what came is not DNS */
    DNS_UPSTREAM_BOGUS,     /* it is not what its zone has signed */
    DNS_UPSTREAM_CANCELLED, /* the upstream is going away */
} DnsUpstreamStatus;

/*
 * The outcome of a request, exactly once, unless it was cancelled.
 * msg is there with DNS_UPSTREAM_OK and may be there with
 * DNS_UPSTREAM_REFUSED and _BOGUS (it can say why), else it is NULL and len 0.
 * It is valid during the call only, its id and the case of its names are
 * arbitrary, and nobody has checked its contents, but that AD is the upstream's
 * own word: all of it was validated.  May send and cancel.
 */
typedef void DnsReplyFn(void *opaque, uint64_t request,
                        DnsUpstreamStatus status, const uint8_t *msg,
                        size_t len);

typedef struct DnsUpstreamOps {
    /*
     * Ask.  query is a whole message as dns_query_build() makes it; the
     * upstream sets the id itself.  (opaque, request) names the request and
     * is unused until then.  reply may be called before send returns.
     * Returns 0, or a negative errno; then reply is not called.
     */
    int (*send)(void *upstream, const uint8_t *query, size_t len,
                DnsReplyFn *reply, void *opaque, uint64_t request);
    /* Forget a request: reply will not be called.  Unknown ones are fine. */
    void (*cancel)(void *upstream, void *opaque, uint64_t request);
} DnsUpstreamOps;

#endif /* NET_DNS_UPSTREAM_OPS_H */
