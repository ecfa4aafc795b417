/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domain names in master files */
#ifndef NET_DNS_TEXT_NAME_H
#define NET_DNS_TEXT_NAME_H

#include "net/dns/text/lex.h"
#include "net/dns/wire/wire.h"

/**
 * dns_name_read: a name of a token, relative to @origin without a final dot
 *
 * "@" is the origin itself.  @name must not be @origin.
 *
 * Returns: 0, or -EINVAL, and then lex->fault says why.
 */
int dns_name_read(DnsLex *lex, const DnsToken *token, const DnsName *origin,
                  DnsName *name);

#endif /* NET_DNS_TEXT_NAME_H */
