/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer that one server begins and another one ends */
#include <errno.h>
#include <string.h>

#include "net/dns/alias.h"

bool dns_alias_leads_out(const uint8_t *msg, size_t len, uint16_t type,
                         DnsQuestion *target)
{
    bool found = false;
    DnsCursor cursor;
    DnsRr rr;

    if (type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY ||
        dns_cursor_init(&cursor, msg, len)) {
        return false;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.section == DNS_SECTION_ANSWER && rr.type == DNS_TYPE_CNAME) {
            found = !dns_rdata_name(&cursor, &rr, &target->name);
        } else if (rr.section == DNS_SECTION_ANSWER && rr.type == type) {
            return false;
        } else if (rr.section == DNS_SECTION_AUTHORITY &&
                   rr.type == DNS_TYPE_SOA) {
            return false;
        }
    }
    target->type = type;
    target->qclass = DNS_CLASS_IN;
    return found;
}

/* Records of RFC 1035 whose names may be compressed: octets, then a name */
static int add_exchange(DnsBuilder *b, const DnsCursor *cursor,
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

static int add_record(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr)
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
        return add_exchange(b, cursor, rr);
    case DNS_TYPE_OPT:
        return dns_rdata_edns(cursor, rr, &edns) ?: dns_builder_edns(b, &edns);
    default:
        return dns_builder_raw(b, rr->section, &rr->name, rr->type,
                               rr->rrclass, rr->ttl,
                               cursor->msg + rr->rdata, rr->rdlength);
    }
}

/* The records of a message up to those of section @last */
static int add_records(DnsBuilder *b, const uint8_t *msg, size_t len,
                       DnsSection last)
{
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    if (dns_cursor_init(&cursor, msg, len)) {
        return -EBADMSG;
    }
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0 && rr.section <= last) {
        ret = add_record(b, &cursor, &rr);
        if (ret) {
            return ret;
        }
    }
    return ret < 0 ? ret : 0;
}

size_t dns_alias_join(const uint8_t *head, size_t head_len,
                      const uint8_t *msg, size_t len,
                      uint8_t out[DNS_MSG_MAX])
{
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;
    DnsBuilder b;

    if (dns_header_parse(msg, len, &header) ||
        dns_cursor_init(&cursor, head, head_len) ||
        dns_cursor_question(&cursor, &question) <= 0) {
        return 0;
    }
    /* Nothing of an image is validated, so AD is not true of all of it. */
    dns_builder_init(&b, out, DNS_MSG_MAX, 0,
                     header.flags & ~(DNS_FLAG_AA | DNS_FLAG_AD));
    if (dns_builder_question(&b, &question) ||
        add_records(&b, head, head_len, DNS_SECTION_ANSWER) ||
        add_records(&b, msg, len, DNS_SECTION_ADDITIONAL)) {
        return 0;
    }
    return b.len;
}
