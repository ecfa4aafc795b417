/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer that one server begins and another one completes: RFC 1034 3.6.2 */
#ifndef NET_DNS_OWN_ALIAS_H
#define NET_DNS_OWN_ALIAS_H

#include "net/dns/wire/wire.h"

/**
 * dns_alias_leads_out: does a reply end with an alias without its target?
 * @type: the type that was asked
 * @target: set to the question that is left
 *
 * The reply is that of an authoritative server.  If the server knows the
 * target, the reply has its records, or the SOA that says that there are none.
 */
bool dns_alias_leads_out(const uint8_t *msg, size_t len, uint16_t type,
                         DnsQuestion *target);

/**
 * dns_alias_join: join the aliases of @head and the reply @msg for the target
 *
 * The question is that of @head; RCODE and flags are those of @msg, without AA
 * and AD, which do not apply to the whole.  Names are compressed anew.
 *
 * Returns: the length of @out; 0 if @msg is not a message, or the result is too
 * long.
 */
size_t dns_alias_join(const uint8_t *head, size_t head_len,
                      const uint8_t *msg, size_t len,
                      uint8_t out[DNS_MSG_MAX]);

#endif /* NET_DNS_OWN_ALIAS_H */
