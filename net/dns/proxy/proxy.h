/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy for a guest that speaks IPv4 on a network that speaks IPv6
 *
 * The owner passes it the queries that the guest sends to its resolver.  The
 * proxy answers them with virtual IPv4 addresses for the IPv6 addresses of
 * names (section 4.2 of the paper).  The theory of operation is in proxy.c.
 *
 * Not thread-safe: all calls on one proxy, callbacks included, come from one
 * thread at a time.
 */

#ifndef NET_DNS_PROXY_PROXY_H
#define NET_DNS_PROXY_PROXY_H

#include "net/dns/proxy/types.h"

/*
 * Make a proxy; never fails.  ops and upstream_ops must outlive it.  It takes
 * about 5 MiB, and at most 4 MiB more for replies.
 */
DnsProxy *dns_proxy_new(const DnsProxyOps *ops, void *opaque,
                        const DnsUpstreamOps *upstream_ops, void *upstream);

/*
 * Cancel all questions upstream; no more answers follow.  The upstream must
 * still exist.
 */
void dns_proxy_free(DnsProxy *proxy);

/*
 * Take a DNS message from the guest, without the length prefix of TCP.
 * ops->answer is called with the token at most once, during this call or later.
 * Several queries may have the same token.  Returns true if the answer was
 * repeated from memory: no server was asked, and no timeout of the proxy or the
 * upstream has changed.
 */
bool dns_proxy_query(DnsProxy *proxy, const uint8_t *msg, size_t len,
                     DnsTransport transport, void *token);

/*
 * Forget the answers in memory.  Call it if the owner's functions change their
 * verdict on addresses, or the upstream its replies, before the TTLs end.
 */
void dns_proxy_forget(DnsProxy *proxy);

/*
 * The number of queries that the proxy can take.  Further queries are answered
 * SERVFAIL, so queue them instead.  Constant time.
 */
size_t dns_proxy_room(const DnsProxy *proxy);

/* The socket was closed: send no more answers with this token. */
void dns_proxy_cancel(DnsProxy *proxy, void *token);

/*
 * Milliseconds until dns_proxy_process_timeouts() has work; 0: now; -1: no
 * timeout.  Every call on the proxy may change it.
 */
int dns_proxy_timeout_ms(DnsProxy *proxy);
void dns_proxy_process_timeouts(DnsProxy *proxy);

/* Live counters; valid as long as the proxy */
const DnsProxyCounters *dns_proxy_counters(const DnsProxy *proxy);

#endif /* NET_DNS_PROXY_PROXY_H */
