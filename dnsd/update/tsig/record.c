/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TSIG record on the wire, RFC 8945 section 4.2 */
#include <errno.h>
#include <string.h>

#include "dnsd/update/tsig/record.h"
#include "base/octets.h"

#define ARCOUNT         10
#define RR_FIXED        10      /* type, class, TTL, RDLENGTH */
#define TIME_LEN        6
/* Octets of RDATA between the algorithm and the MAC: time, fudge, MAC size */
#define BEFORE_MAC      (TIME_LEN + 4)
/* Octets behind the MAC: original ID, error, other length */
#define BEHIND_MAC      6

static int read_rdata(const uint8_t *msg, const DnsRr *rr, TsigRecord *record)
{
    size_t end = rr->rdata + rr->rdlength, at = rr->rdata;

    if (dns_name_parse(msg, end, &at, &record->algorithm) ||
        end - at < BEFORE_MAC) {
        return -EBADMSG;
    }
    record->when = (uint64_t)get_be16(msg + at) << 32 |
                   get_be32(msg + at + 2);
    record->fudge = get_be16(msg + at + TIME_LEN);
    record->mac_len = get_be16(msg + at + TIME_LEN + 2);
    at += BEFORE_MAC;
    if (end - at < (size_t)record->mac_len + BEHIND_MAC) {
        return -EBADMSG;
    }
    record->mac = msg + at;
    at += record->mac_len;
    record->id = get_be16(msg + at);
    record->error = get_be16(msg + at + 2);
    record->other_len = get_be16(msg + at + 4);
    record->other = msg + at + BEHIND_MAC;
    return end - at - BEHIND_MAC == record->other_len ? 1 : -EBADMSG;
}

int tsig_record_find(const uint8_t *msg, size_t len, TsigRecord *record)
{
    DnsCursor cursor;
    DnsRr rr = { 0 };
    bool has_one = false;
    int ret = dns_cursor_init(&cursor, msg, len);

    while (!ret && (ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (has_one) {
            return -EBADMSG;        /* it was not the last record */
        }
        has_one = rr.type == DNS_TYPE_TSIG;
        ret = 0;
    }
    if (ret < 0 || !has_one) {
        return ret < 0 ? -EBADMSG : 0;
    }
    if (rr.section != DNS_SECTION_ADDITIONAL || rr.raw_ttl ||
        rr.rrclass != DNS_CLASS_ANY || rr.rdata + rr.rdlength != len) {
        return -EBADMSG;
    }
    record->name = rr.name;
    record->start = rr.start;
    return read_rdata(msg, &rr, record);
}

size_t tsig_record_strip(uint8_t *msg, const TsigRecord *record)
{
    put_be16(msg + ARCOUNT, get_be16(msg + ARCOUNT) - 1);
    return record->start;
}

int tsig_record_put(uint8_t *msg, size_t *len, size_t room,
                    const TsigRecord *record)
{
    size_t rdlength = record->algorithm.len + BEFORE_MAC + record->mac_len +
                      BEHIND_MAC + record->other_len;
    uint8_t *to = msg + *len;

    if (room < *len ||
        room - *len < record->name.len + RR_FIXED + rdlength) {
        return -EMSGSIZE;
    }
    memcpy(to, record->name.wire, record->name.len);
    to += record->name.len;
    put_be16(to, DNS_TYPE_TSIG);
    put_be16(to + 2, DNS_CLASS_ANY);
    put_be32(to + 4, 0);
    put_be16(to + 8, rdlength);
    to += RR_FIXED;
    memcpy(to, record->algorithm.wire, record->algorithm.len);
    to += record->algorithm.len;
    put_be16(to, record->when >> 32);
    put_be32(to + 2, record->when);
    put_be16(to + TIME_LEN, record->fudge);
    put_be16(to + TIME_LEN + 2, record->mac_len);
    to += BEFORE_MAC;
    memcpy(to, record->mac, record->mac_len);
    to += record->mac_len;
    put_be16(to, record->id);
    put_be16(to + 2, record->error);
    put_be16(to + 4, record->other_len);
    to += BEHIND_MAC;
    memcpy(to, record->other, record->other_len);
    *len = to + record->other_len - msg;
    put_be16(msg + ARCOUNT, get_be16(msg + ARCOUNT) + 1);
    return 0;
}
