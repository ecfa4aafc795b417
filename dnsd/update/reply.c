/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The zone section of an UPDATE message */
#include <errno.h>

#include "dnsd/update/update.h"

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
