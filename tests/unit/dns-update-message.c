/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE messages from lines */
#include <glib.h>

#include "dns-store-fixture.h"
#include "dns-update-message.h"

size_t update_message(uint8_t msg[DNS_MSG_MAX], const char *zone,
                      const UpdateLine *lines)
{
    DnsQuestion question = { zone_name(zone), DNS_TYPE_SOA, DNS_CLASS_IN };
    DnsBuilder b;

    dns_builder_init(&b, msg, DNS_MSG_MAX, 0x1234, DNS_OPCODE_UPDATE << 11);
    g_assert_cmpint(dns_builder_question(&b, &question), ==, 0);
    for (; lines->owner; lines++) {
        ZoneLine line = { lines->owner, lines->type, lines->rdata };
        DnsName owner = zone_name(lines->owner);
        ZoneRecord record = { 0 };
        uint8_t rdata[DNS_NAME_MAX];

        if (lines->rdata) {
            record = store_record(&line, rdata);
        }
        g_assert_cmpint(dns_builder_raw(&b, lines->section, &owner,
                                        lines->type, lines->rrclass,
                                        lines->ttl, rdata, record.rdlength),
                        ==, 0);
    }
    return b.len;
}
