/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of trust anchors that a user has named */
#ifndef NET_DNS_UPSTREAM_TRUST_ANCHOR_H
#define NET_DNS_UPSTREAM_TRUST_ANCHOR_H

#include <glib.h>
#include <stdbool.h>

/* The root's; Debian's package dns-root-data has it. */
#define DNS_ROOT_ANCHOR "/usr/share/dns/root.key"

/**
 * dns_trust_anchor_check: can the file be read, and are there DS or DNSKEY
 * records in it, and no others?
 *
 * Before libunbound reads it, which does not say what it dislikes.
 *
 * Returns: false, with @errp set to a text that begins with "trust-anchor=".
 */
bool dns_trust_anchor_check(const char *path, GError **errp);

#endif /* NET_DNS_UPSTREAM_TRUST_ANCHOR_H */
