/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record data out of a message, with its names uncompressed
 */

#ifndef VMMNET_DNS_CLIENT_RDATA_H
#define VMMNET_DNS_CLIENT_RDATA_H

#include "net/dns/wire/wire.h"

/*
 * The data of a record that dns_cursor_rr() of the same message found, into
 * out, or nowhere if that is NULL.  Data of types that we know to have a
 * fixed shape (A, AAAA) or names in it must have that shape.
 * Returns the octets that it takes, or -EBADMSG.
 */
int dnsc_rdata_copy(const DnsCursor *cursor, const DnsRr *rr, uint8_t *out);

#endif
