/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records from one message into another */
#include <errno.h>
#include <string.h>

#include "net/dns/wire/copy.h"
#include "net/dns/wire/rrtype.h"

/* MX: octets, then a name */
static int copy_exchange(DnsBuilder *b, const DnsCursor *cursor,
                         const DnsRr *rr)
{
    uint8_t rdata[2 + DNS_NAME_MAX];
    size_t at = rr->rdata + 2;
    DnsName name;

    if (rr->rdlength < 3 ||
        dns_name_parse(cursor->msg, cursor->len, &at, &name) ||
        at != rr->rdata + rr->rdlength) {
        return -EBADMSG;
    }
    memcpy(rdata, cursor->msg + rr->rdata, 2);
    memcpy(rdata + 2, name.wire, name.len);
    return dns_builder_raw(b, rr->section, &rr->name, rr->type, rr->rrclass,
                           rr->ttl, rdata, 2 + name.len);
}

/* The obsolete types of RFC 1035 (MB, MINFO, ...) have one name or two. */
static int copy_names(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr)
{
    const uint8_t *kind = dns_rrtype(rr->type, rr->rrclass)->fields;
    uint8_t rdata[2 * DNS_NAME_MAX];
    size_t at = rr->rdata, len = 0;
    DnsName name;

    for (; *kind == DNS_FIELD_NAME_1035; kind++) {
        if (len + DNS_NAME_MAX > sizeof(rdata) ||
            dns_name_parse(cursor->msg, cursor->len, &at, &name)) {
            return -EBADMSG;
        }
        memcpy(rdata + len, name.wire, name.len);
        len += name.len;
    }
    if (*kind != DNS_FIELD_END || at != rr->rdata + rr->rdlength) {
        return -EBADMSG;
    }
    return dns_builder_raw(b, rr->section, &rr->name, rr->type, rr->rrclass,
                           rr->ttl, rdata, len);
}

static int copy_other(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr)
{
    if (dns_rrtype(rr->type, rr->rrclass)->fields[0] == DNS_FIELD_NAME_1035) {
        return copy_names(b, cursor, rr);
    }
    return dns_builder_raw(b, rr->section, &rr->name, rr->type, rr->rrclass,
                           rr->ttl, cursor->msg + rr->rdata, rr->rdlength);
}

int dns_copy_record(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr)
{
    DnsName name;
    DnsEdns edns;
    DnsSoa soa;

    switch (rr->type) {
    case DNS_TYPE_CNAME:
    case DNS_TYPE_NS:
    case DNS_TYPE_PTR:
        return dns_rdata_name(cursor, rr, &name) ?:
               dns_builder_name(b, rr->section, &rr->name, rr->type, rr->ttl,
                                &name);
    case DNS_TYPE_SOA:
        return dns_rdata_soa(cursor, rr, &soa) ?:
               dns_builder_soa(b, rr->section, &rr->name, rr->ttl, &soa);
    case DNS_TYPE_MX:
        return copy_exchange(b, cursor, rr);
    case DNS_TYPE_OPT:
        return dns_rdata_edns(cursor, rr, &edns) ?: dns_builder_edns(b, &edns);
    default:
        return copy_other(b, cursor, rr);
    }
}
