/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA from a message, uncompressed and checked */
#include <errno.h>
#include <string.h>

#include "dnsd/update/change/rdata.h"
#include "net/dns/wire/fields.h"

/* Octets of a field that precedes names; -1: no name follows. */
static int field_len(DnsFieldKind kind, const uint8_t *at, size_t left)
{
    switch (kind) {
    case DNS_FIELD_U8:
    case DNS_FIELD_ALGORITHM:
        return 1;
    case DNS_FIELD_U16:
    case DNS_FIELD_TYPE:
        return 2;
    case DNS_FIELD_U32:
    case DNS_FIELD_TTL:
    case DNS_FIELD_TIME:
        return 4;
    case DNS_FIELD_STRING:
        return left ? 1 + at[0] : -1;
    default:
        return -1;
    }
}

static bool may_be_compressed(DnsFieldKind kind)
{
    return kind == DNS_FIELD_NAME_1035 || kind == DNS_FIELD_NAME_FOLDED;
}

int dns_rdata_take(const uint8_t *msg, const DnsRr *rr, uint16_t rrclass,
                   uint8_t *rdata)
{
    const uint8_t *kind = dns_rrtype(rr->type, rrclass)->fields;
    size_t at = rr->rdata, end = rr->rdata + rr->rdlength, out = 0;

    for (; *kind != DNS_FIELD_END; kind++) {
        DnsName name;
        int len;

        if (may_be_compressed(*kind)) {
            if (dns_name_parse(msg, end, &at, &name) ||
                out + name.len > UINT16_MAX) {
                return -EBADMSG;
            }
            memcpy(rdata + out, name.wire, name.len);
            out += name.len;
            continue;
        }
        len = field_len(*kind, msg + at, end - at);
        if (len < 0 || (size_t)len > end - at || out + len > UINT16_MAX) {
            break;
        }
        memcpy(rdata + out, msg + at, len);
        out += len;
        at += len;
    }
    if (end - at > UINT16_MAX - out) {
        return -EBADMSG;
    }
    memcpy(rdata + out, msg + at, end - at);
    out += end - at;
    return dns_rdata_check(rr->type, rrclass, rdata, out) ? -EBADMSG
                                                                 : (int)out;
}
