/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The zone section of an UPDATE message, and the reply */
#include <errno.h>

#include "net/dns/update/update.h"

int dns_update_zone(const uint8_t *msg, size_t len, DnsQuestion *zone)
{
    DnsHeader header;
    DnsCursor cursor;

    if (dns_header_parse(msg, len, &header) || header.qdcount != 1 ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, zone) <= 0 ||
        zone->type != DNS_TYPE_SOA) {
        return -EBADMSG;
    }
    return 0;
}

size_t dns_update_reply(const uint8_t *msg, size_t len, uint16_t rcode,
                        uint8_t *out, size_t room)
{
    DnsQuestion zone;
    DnsHeader header;
    DnsBuilder builder;

    if (dns_header_parse(msg, len, &header)) {
        return 0;
    }
    dns_builder_init(&builder, out, room, header.id,
                     DNS_FLAG_QR | (header.flags & DNS_FLAGS_OPCODE) | rcode);
    if (!dns_update_zone(msg, len, &zone)) {
        dns_builder_question(&builder, &zone);
    }
    return builder.len;
}
