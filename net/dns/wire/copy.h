/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records from one message into another */
#ifndef NET_DNS_WIRE_COPY_H
#define NET_DNS_WIRE_COPY_H

#include "net/dns/wire/wire.h"

/**
 * dns_copy_record: append a record of one message to another
 *
 * Names in RDATA that may be compressed (RFC 1035, RFC 3597 section 4) are
 * written anew: a compression pointer of the first message is meaningless in
 * the other.
 *
 * Returns: 0; -EMSGSIZE, and the message is unchanged; or -EBADMSG if the RDATA
 * does not have the shape of its type.
 */
int dns_copy_record(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr);

#endif /* NET_DNS_WIRE_COPY_H */
