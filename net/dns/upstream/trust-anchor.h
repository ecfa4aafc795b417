/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of trust anchors that the user has chosen */
#ifndef NET_DNS_UPSTREAM_TRUST_ANCHOR_H
#define NET_DNS_UPSTREAM_TRUST_ANCHOR_H

#include <glib.h>
#include <stdbool.h>

/* The anchor of the root zone, from Debian's package dns-root-data */
#define DNS_ROOT_ANCHOR "/usr/share/dns/root.key"

/**
 * dns_trust_anchor_check: check that the file can be read and has DS or DNSKEY
 * records, and no others
 *
 * Call it before libunbound reads the file, because libunbound does not say
 * what is wrong.
 *
 * Returns: false, and @errp has a text that begins with "trust-anchor=".
 */
bool dns_trust_anchor_check(const char *path, GError **errp);

#endif /* NET_DNS_UPSTREAM_TRUST_ANCHOR_H */
