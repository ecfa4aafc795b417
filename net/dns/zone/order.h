/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Canonical order of names, RFC 4034 section 6.1 */
#ifndef NET_DNS_ZONE_ORDER_H
#define NET_DNS_ZONE_ORDER_H

#include "net/dns/wire/wire.h"

/**
 * zone_name_compare: which name comes first?
 * @common: how many labels they have in common, from the root
 *
 * Returns: less than, equal to or more than 0, as memcmp() does.
 */
int zone_name_compare(const DnsName *a, const DnsName *b, unsigned *common);

/* A label of 63 octets has two for each, and its end. */
#define ZONE_KEY_MAX    (2 * DNS_NAME_MAX)

/**
 * zone_name_key: octets in whose order, that of memcmp(), names lie canonically
 * @above: labels from the root that all names have in common; left out
 *
 * A key that is the beginning of another comes before it.
 *
 * Returns: how many octets; 0 for the name that all have in common.
 */
unsigned zone_name_key(const DnsName *name, unsigned above,
                       uint8_t key[ZONE_KEY_MAX]);

/** zone_name_ancestor: the last @labels labels of a name that has as many. */
DnsName zone_name_ancestor(const DnsName *name, unsigned labels);

#endif /* NET_DNS_ZONE_ORDER_H */
