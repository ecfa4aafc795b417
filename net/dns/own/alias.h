/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer that one server begins and another one ends: RFC 1034 3.6.2 */
#ifndef NET_DNS_OWN_ALIAS_H
#define NET_DNS_OWN_ALIAS_H

#include "net/dns/wire/wire.h"

/**
 * dns_alias_leads_out: does a reply end with an alias, of which it has no more?
 * @type: the type that was asked
 * @target: then the question that is left
 *
 * The reply of an authoritative server: where it knows the target, it has the
 * records, or the SOA that says there are none.
 */
bool dns_alias_leads_out(const uint8_t *msg, size_t len, uint16_t type,
                         DnsQuestion *target);

/**
 * dns_alias_join: the aliases of @head, then what @msg says of the target
 *
 * The question is that of @head, RCODE and flags are those of @msg, without AA
 * and AD: they are not true of the whole.  Names are compressed anew.
 *
 * Returns: the length of @out; 0 if @msg is no message, or too long.
 */
size_t dns_alias_join(const uint8_t *head, size_t head_len,
                      const uint8_t *msg, size_t len,
                      uint8_t out[DNS_MSG_MAX]);

#endif /* NET_DNS_OWN_ALIAS_H */
