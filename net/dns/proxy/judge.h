/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: the addresses that the guest may be led to */
#ifndef NET_DNS_PROXY_JUDGE_H
#define NET_DNS_PROXY_JUDGE_H

#include "net/dns/proxy/reply.h"

/* May the guest be led to this address?  If not, count it. */
bool dns_proxy_lets(DnsProxy *p, Request *r, const struct in6_addr *addr6);

/* Count the addresses of a reply that are withheld.  Call it once a reply. */
void dns_proxy_leave_out(DnsProxy *p, Request *r, const PlainAddresses *found);

/*
 * May a reply pass unchanged?  A signed reply passes whole or not at all: one
 * address that the guest may not be led to is enough to stop it.
 */
bool dns_proxy_lets_pass(DnsProxy *p, Request *r, const Reply *reply);

/* Tell the owner where the name that was asked leads on. */
void dns_proxy_tell_targets(DnsProxy *p, Request *r, const Reply *reply);

#endif /* NET_DNS_PROXY_JUDGE_H */
