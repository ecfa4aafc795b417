/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What leads a guest astray in SVCB and HTTPS records, RFC 9460 */
#ifndef NET_DNS_PROXY_SVCB_HINTS_H
#define NET_DNS_PROXY_SVCB_HINTS_H

#include "net/dns/proxy/types.h"

/**
 * dns_svcb_keep_hints: RDATA without address hints that lead nowhere
 * @rdata: RDATA of a SVCB or HTTPS record that dns_rdata_check() accepts
 * @len: octets of @rdata
 * @addr: the addresses that stay in ipv6hint, @num of them
 * @ech: the keys for Encrypted Client Hello stay, too
 * @out: the copy, at most @len octets
 *
 * ipv4hint is removed (section 7.3), and ipv6hint if no address stays.  All
 * other parameters are copied unchanged.  A key that is removed is also removed
 * from the list of mandatory keys, and an empty list is removed: a mandatory
 * key that is absent makes the record malformed (section 8).  The record still
 * works: a client prefers the addresses of the target name to the hints
 * (section 7.3).  A record in AliasMode is copied unchanged (section 2.4.2).
 *
 * Returns: the octets in @out; @len if nothing was removed.
 */
size_t dns_svcb_keep_hints(const uint8_t *rdata, size_t len,
                           const DnsProxyAddress *addr, size_t num, bool ech,
                           uint8_t *out);

#endif /* NET_DNS_PROXY_SVCB_HINTS_H */
