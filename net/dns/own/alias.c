/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer that one server begins and another server completes */
#include <errno.h>

#include "net/dns/own/alias.h"
#include "net/dns/wire/copy.h"

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

/* Copy the records of a message, up to and including section @last. */
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
        ret = dns_copy_record(b, &cursor, &rr);
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
    /* Images are not validated, so AD does not apply to the whole answer. */
    dns_builder_init(&b, out, DNS_MSG_MAX, 0,
                     header.flags & ~(DNS_FLAG_AA | DNS_FLAG_AD));
    if (dns_builder_question(&b, &question) ||
        add_records(&b, head, head_len, DNS_SECTION_ANSWER) ||
        add_records(&b, msg, len, DNS_SECTION_ADDITIONAL)) {
        return 0;
    }
    return b.len;
}
