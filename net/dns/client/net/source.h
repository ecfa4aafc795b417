/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source addresses that this host would use, for RFC 6724 */

#ifndef VMMNET_DNS_CLIENT_SOURCE_H
#define VMMNET_DNS_CLIENT_SOURCE_H

#include "net/dns/client/core/order.h"
#include "vmmnet/dns.h"

/*
 * Sort addresses as in RFC 6724.  The kernel tells the source address when a
 * UDP socket is connected; nothing is sent.  Returns 0; or -ENOMEM, and the
 * order is unchanged.
 */
int dnsc_sort(VmmnetDnsAddress *addrs, size_t count);

/*
 * Is there a route to any of these addresses, at least one?  The kernel tells
 * as for dnsc_sort().
 */
bool dnsc_has_route(const VmmnetDnsAddress *addrs, size_t count);

/* Has this host an address of each family, besides loopback addresses? */
void dnsc_families(bool *ip4, bool *ip6);

#endif
