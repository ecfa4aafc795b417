/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address hints of SVCB and HTTPS records, RFC 9460 section 7.3 */
#ifndef NET_DNS_PROXY_SVCB_HINTS_H
#define NET_DNS_PROXY_SVCB_HINTS_H

#include <stddef.h>
#include <stdint.h>

/**
 * dns_svcb_without_hints: RDATA without ipv4hint and ipv6hint
 * @rdata: of a SVCB or HTTPS record that dns_rdata_check() has found good
 * @len: its octets
 * @out: the copy, at most @len octets
 *
 * All other parameters stay as they are, octet for octet.  A key that is
 * removed leaves the list of mandatory ones as well, which goes when it is
 * empty: a list that names what is not there makes the record malformed
 * (section 8).  The record works on without: a client uses the addresses of the
 * target name in place of the hints as soon as it has them (section 7.3).  A
 * record in AliasMode is copied as it is (section 2.4.2).
 *
 * Returns: the octets of @out, @len if there was nothing to remove.
 */
size_t dns_svcb_without_hints(const uint8_t *rdata, size_t len, uint8_t *out);

#endif /* NET_DNS_PROXY_SVCB_HINTS_H */
