/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host names, mailbox names, and addresses in the place of names */
#ifndef DNSD_ZONE_HOSTNAME_H
#define DNSD_ZONE_HOSTNAME_H

#include <stdbool.h>

#include "net/dns/wire/wire.h"

/**
 * name_is_host: letters, digits and hyphens (RFC 952, RFC 1123 section 2.1)
 *
 * The root is valid as well: it means "no such host" (RFC 7505).
 */
bool name_is_host(const DnsName *name);

/**
 * name_is_host_owner: may the name own an address?
 *
 * It must be a host name, a wildcard for host names, or gc._msdcs of a domain.
 */
bool name_is_host_owner(const DnsName *name);

/** name_is_mailbox: any first label, then a host name */
bool name_is_mailbox(const DnsName *name);

/**
 * name_is_address: did the author write an address where a name belongs?
 *
 * Finds "192.0.2.1", alone or below @origin.
 */
bool name_is_address(const DnsName *name, const DnsName *origin);

/** name_has_wildcard_inside: is a label other than the first one "*"? */
bool name_has_wildcard_inside(const DnsName *name);

/** name_is_reverse: is the name below in-addr.arpa or ip6.arpa? */
bool name_is_reverse(const DnsName *name);

#endif /* DNSD_ZONE_HOSTNAME_H */
