/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic update, RFC 2136
 *
 * The daemon verifies the TSIG record, finds the zone, calls dns_update() for
 * each request that there is, dns_store_commit() once, and then sends the
 * replies.
 */
#ifndef NET_DNS_UPDATE_UPDATE_H
#define NET_DNS_UPDATE_UPDATE_H

#include "net/dns/update/policy.h"
#include "net/dns/update/store/store.h"
#include "net/dns/update/tsig/tsig.h"

typedef struct DnsUpdateResult {
    uint16_t rcode;
    bool has_changed;           /* reply after dns_store_commit() */
    const char *why;            /* for the log; constant; NULL if all is well */
} DnsUpdateResult;

/**
 * dns_update_zone: which zone an UPDATE message is for
 *
 * Returns: 0; or -EBADMSG: answer FORMERR.
 */
int dns_update_zone(const uint8_t *msg, size_t len, DnsQuestion *zone);

/**
 * dns_update: one request
 * @msg: verified, without the TSIG record
 * @key: the key that signed it, or NULL
 *
 * Prerequisites, permissions and the update section are those of RFC 2136
 * section 3.  Either all of it is done, as one edit of @store, or nothing.  A
 * zone that is signed is refused: signatures are not made here.
 */
void dns_update(DnsStore *store, const DnsUpdatePolicy *policy,
                const uint8_t *msg, size_t len, const TsigKey *key,
                DnsUpdateResult *result);

/**
 * dns_update_reply: header and zone section; sign it with tsig_sign_reply()
 * @room: at least DNS_UDP_MIN
 *
 * Returns: octets, or 0 if the request has no header.
 */
size_t dns_update_reply(const uint8_t *msg, size_t len, uint16_t rcode,
                        uint8_t *out, size_t room);

#endif /* NET_DNS_UPDATE_UPDATE_H */
