/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domain names in master files */
#ifndef DNSD_TEXT_NAME_H
#define DNSD_TEXT_NAME_H

#include "dnsd/text/lex.h"
#include "net/dns/wire/wire.h"

/**
 * dns_name_read: read the name in a token; without final dot it is relative to
 * @origin
 *
 * "@" is the origin itself.  @name must not be @origin.
 *
 * Returns: 0; or -EINVAL, and lex->fault has the reason.
 */
int dns_name_read(DnsLex *lex, const DnsToken *token, const DnsName *origin,
                  DnsName *name);

#endif /* DNSD_TEXT_NAME_H */
