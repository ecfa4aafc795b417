/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NOTIFY, RFC 1996 */
#include <errno.h>

#include "dnsd/update/xfr/notify.h"

#define OPCODE          (DNS_OPCODE_NOTIFY << 11)

/* --- as a primary --------------------------------------------------------- */

void dns_notify_begin(DnsNotify *n, uint16_t id, uint64_t now)
{
    *n = (DnsNotify) { .id = id, .next = now };
}

bool dns_notify_due(DnsNotify *n, uint64_t now)
{
    if (n->is_done || now < n->next) {
        return false;
    }
    if (n->tries == DNS_NOTIFY_TRIES) {
        n->is_done = true;
        return false;
    }
    n->next = now + ((uint64_t)DNS_NOTIFY_FIRST_S << n->tries++);
    return true;
}

bool dns_notify_answer(DnsNotify *n, const DnsName *zone, const uint8_t *msg,
                       size_t len)
{
    DnsQuestion question;
    DnsCursor cursor;
    DnsHeader header;

    if (n->is_done || dns_header_parse(msg, len, &header) ||
        header.id != n->id || !(header.flags & DNS_FLAG_QR) ||
        (header.flags & DNS_FLAGS_OPCODE) != OPCODE ||
        dns_cursor_init(&cursor, msg, len)) {
        return false;
    }
    /* Some servers omit the question in error replies. */
    if (header.qdcount && (dns_cursor_question(&cursor, &question) <= 0 ||
                           !dns_name_equal(&question.name, zone))) {
        return false;
    }
    n->is_done = true;
    return true;
}

int dns_notify_build(uint8_t *msg, size_t room, uint16_t id,
                     const DnsName *zone, uint16_t rrclass,
                     const DnsSoa *soa, uint32_t ttl)
{
    DnsQuestion question = { *zone, DNS_TYPE_SOA, rrclass };
    DnsBuilder builder;

    if (room < DNS_HEADER_LEN) {
        return -EMSGSIZE;
    }
    dns_builder_init(&builder, msg, room, id, OPCODE | DNS_FLAG_AA);
    if (dns_builder_question(&builder, &question) ||
        (soa && rrclass == DNS_CLASS_IN &&
         dns_builder_soa(&builder, DNS_SECTION_ANSWER, zone, ttl, soa))) {
        return -EMSGSIZE;
    }
    return builder.len;
}

/* --- as a secondary ------------------------------------------------------- */

int dns_notify_parse(const uint8_t *msg, size_t len, DnsNotified *notified)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsSoa soa;
    DnsRr rr;
    int ret;

    *notified = (DnsNotified) { .has_serial = false };
    if (dns_header_parse(msg, len, &header) || header.qdcount != 1 ||
        (header.flags & (DNS_FLAG_QR | DNS_FLAGS_OPCODE)) != OPCODE ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &notified->zone) <= 0 ||
        notified->zone.type != DNS_TYPE_SOA) {
        return -EBADMSG;
    }
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.section == DNS_SECTION_ANSWER && rr.type == DNS_TYPE_SOA &&
            dns_name_equal(&rr.name, &notified->zone.name) &&
            !dns_rdata_soa(&cursor, &rr, &soa)) {
            notified->has_serial = true;
            notified->serial = soa.serial;
        }
    }
    return ret;
}
