/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Canonical order of names, RFC 4034 section 6.1 */
#ifndef NET_DNS_ZONE_ORDER_H
#define NET_DNS_ZONE_ORDER_H

#include "net/dns/wire/wire.h"

/**
 * zone_name_compare: the canonical order of two names
 * @common: set to the number of labels that both have in common, from the root
 *
 * Returns: less than, equal to or more than 0, as memcmp() does.
 */
int zone_name_compare(const DnsName *a, const DnsName *b, unsigned *common);

/* In the worst case each octet of a label takes two octets. */
#define ZONE_KEY_MAX    (2 * DNS_NAME_MAX)

/**
 * zone_name_key: make a key; memcmp() of keys gives the canonical order of
 * names
 * @above: labels from the root that all names have in common; they are omitted
 *
 * A key that is a prefix of another key precedes it.
 *
 * Returns: octets of the key; 0 for the name that consists of the @above
 * labels.
 */
unsigned zone_name_key(const DnsName *name, unsigned above,
                       uint8_t key[ZONE_KEY_MAX]);

/** zone_name_ancestor: the last @labels labels of a name, which has as many */
DnsName zone_name_ancestor(const DnsName *name, unsigned labels);

#endif /* NET_DNS_ZONE_ORDER_H */
