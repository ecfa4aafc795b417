/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic update, RFC 2136
 *
 * The daemon verifies the TSIG record, finds the zone, and calls dns_update()
 * for each request.  Then it calls dns_store_commit() once, and sends the
 * replies.
 */
#ifndef DNSD_UPDATE_UPDATE_H
#define DNSD_UPDATE_UPDATE_H

#include "dnsd/update/policy.h"
#include "dnsd/update/store/store.h"
#include "dnsd/update/tsig/tsig.h"

typedef struct DnsUpdateResult {
    uint16_t rcode;
    bool has_changed;           /* reply only after dns_store_commit() */
    const char *why;            /* for the log; constant; NULL: no error */
} DnsUpdateResult;

/**
 * dns_update_zone: find the zone of an UPDATE message
 *
 * Returns: 0; or -EBADMSG, and then answer FORMERR.
 */
int dns_update_zone(const uint8_t *msg, size_t len, DnsQuestion *zone);

/**
 * dns_update: execute one request
 * @msg: verified, without the TSIG record
 * @key: the key that signed it, or NULL
 *
 * Checks prerequisites, permissions and the update section as in RFC 2136
 * section 3.  Either all changes are made, as one edit of @store, or none.  An
 * update of a signed zone is refused, as this server does not sign.
 */
void dns_update(DnsStore *store, const DnsUpdatePolicy *policy,
                const uint8_t *msg, size_t len, const TsigKey *key,
                DnsUpdateResult *result);

#endif /* DNSD_UPDATE_UPDATE_H */
