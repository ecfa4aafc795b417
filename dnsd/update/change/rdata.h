/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA from a message, uncompressed and checked */
#ifndef DNSD_UPDATE_CHANGE_RDATA_H
#define DNSD_UPDATE_CHANGE_RDATA_H

#include "net/dns/wire/wire.h"

/**
 * dns_rdata_take: take RDATA of a record from dns_cursor_rr()
 * @rdata: memory for UINT16_MAX octets
 *
 * Names are decompressed in the types for which RFC 3597 section 4 requires it.
 *
 * Returns: octets, or -EBADMSG if RDATA does not have the shape of its type.
 */
int dns_rdata_take(const uint8_t *msg, const DnsRr *rr, uint16_t rrclass,
                   uint8_t *rdata);

#endif /* DNSD_UPDATE_CHANGE_RDATA_H */
