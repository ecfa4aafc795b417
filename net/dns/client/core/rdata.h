/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA of a record in a message, with its names uncompressed */

#ifndef VMMNET_DNS_CLIENT_RDATA_H
#define VMMNET_DNS_CLIENT_RDATA_H

#include "net/dns/wire/wire.h"

/*
 * Copy RDATA of a record that dns_cursor_rr() found in the same message to out,
 * unless out is NULL.  RDATA of types with a fixed shape (A, AAAA) or with
 * names must have that shape.  Returns its uncompressed octets, or -EBADMSG.
 */
int dnsc_rdata_copy(const DnsCursor *cursor, const DnsRr *rr, uint8_t *out);

/*
 * May the record be passed on as it came?  Types up to DNAME must have their
 * shape.  Of newer ones only the reader may know it.
 */
bool dnsc_rdata_passes(const DnsCursor *cursor, const DnsRr *rr);

#endif
