/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which prefix does this network's NAT64 use?  RFC 7050, pure part
 */

#ifndef NET_DNS_PROXY_NAT64_DISCOVERY_H
#define NET_DNS_PROXY_NAT64_DISCOVERY_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"
#include "net/packet/nat64.h"

typedef struct DnsNat64Prefix {
    struct in6_addr prefix; /* bits behind len are 0 */
    uint8_t len;            /* 32, 40, 48, 56, 64 or 96 */
    uint32_t ttl;           /* seconds until it should be asked again */
} DnsNat64Prefix;

/*
 * The query to send: AAAA of ipv4only.arpa, to be answered by a DNS64.
 * CD is clear, as RFC 7050 section 3 asks.  Returns its length.
 */
size_t dns_nat64_query(uint8_t buf[DNS_QUERY_MAX]);

/*
 * The prefixes from the reply (RFC 7050 section 3), at most @max (1 or more).
 *
 * The first is the one to be used: one that is there for both well-known
 * addresses wins, else one that is there for one; of several like that
 * @current, which is in use (NULL: none), else the first.  Then come the
 * others that are there for both, in the order of the reply.
 *
 * Returns how many; -ENOENT if the network has no NAT64 (no AAAA, or none with
 * a well-known address); -EAGAIN if the server failed, which says nothing; or
 * -EBADMSG if it is not a well-formed reply to that query.
 */
int dns_nat64_discover(const uint8_t *msg, size_t len,
                       const Nat64Prefix *current, DnsNat64Prefix *prefixes,
                       size_t max);

#endif /* NET_DNS_PROXY_NAT64_DISCOVERY_H */
