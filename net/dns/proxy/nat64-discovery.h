/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Discovery of the NAT64 prefixes of this network, RFC 7050, pure part */

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
 * Build the query: AAAA of ipv4only.arpa, which a DNS64 answers.  CD is clear,
 * as RFC 7050 section 3 requires.  Returns its length.
 */
size_t dns_nat64_query(uint8_t buf[DNS_QUERY_MAX]);

/*
 * Find the prefixes in the reply (RFC 7050 section 3), at most @max (1 or
 * more).
 *
 * The first prefix is the one to use.  A prefix that was seen with both
 * well-known addresses precedes one that was seen with one of them.  Among
 * several of these, @current is first, the prefix in use (NULL: none).  Then
 * come the other prefixes that were seen with both, in the order of the reply.
 *
 * Returns their number; -ENOENT if the network has no NAT64 (no AAAA, or none
 * with a well-known address); -EAGAIN if the server failed, which proves
 * nothing; or -EBADMSG if msg is not a well-formed reply to that query.
 */
int dns_nat64_discover(const uint8_t *msg, size_t len,
                       const Nat64Prefix *current, DnsNat64Prefix *prefixes,
                       size_t max);

#endif /* NET_DNS_PROXY_NAT64_DISCOVERY_H */
