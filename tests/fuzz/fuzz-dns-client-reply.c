/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies to the client library: every outcome must be usable for a program,
 * its records must lie within their allocation, and an address must have the
 * right size.
 *
 * The first octet chooses the type that was asked for, the rest is the message.
 * The question is that of the message, as no other is accepted; and a name that
 * the message does not have.
 */

#include <glib.h>
#include <string.h>

#include "net/dns/client/core/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_records(const DnscResult *r, uint16_t type)
{
    unsigned sum = 0;

    for (size_t i = 0; i < r->count; i++) {
        if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA) {
            g_assert_cmpuint(r->records[i].len, ==,
                             type == DNS_TYPE_A ? 4 : 16);
        }
        /* Read all of it, so that the sanitizers check it */
        for (size_t j = 0; j < r->records[i].len; j++) {
            sum += r->records[i].rdata[j];
        }
    }
    g_assert_cmpuint(sum, <=, 255u * DNS_MSG_MAX * 2);
}

static void check(const uint8_t *msg, size_t len, const DnsQuestion *q)
{
    DnscResult *r = NULL;
    DnscLook look;

    if (dnsc_reply_look(msg, len, &look) == 0 && look.ede_text_len) {
        r = dnsc_result_error(VMMNET_DNS_FAILED, "");
        dnsc_result_set_reason(r, look.ede_text, look.ede_text_len);
        g_assert_cmpuint(strlen(r->reason), <, DNSC_REASON_MAX);
        dnsc_result_unref(r);
    }
    if (dnsc_reply_read(msg, len, q, &r)) {
        return;
    }
    g_assert_cmpuint(r->hops, <=, DNSC_CHAIN_MAX + 1);
    g_assert_cmpuint(r->ttl, <=, DNSC_TTL_MAX);
    g_assert_cmpuint(r->count, <=, DNSC_RECORDS_MAX);
    g_assert_true((r->count > 0) == (r->error == VMMNET_DNS_OK));
    check_records(r, q->type);
    dnsc_result_unref(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t types[] = {
        DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_MX, DNS_TYPE_SRV, DNS_TYPE_TXT,
        DNS_TYPE_SOA, DNS_TYPE_CNAME, DNS_TYPE_PTR,
    };
    DnsQuestion own = { 0 };
    DnsHeader header;
    DnsCursor cursor;

    if (size < 1 || size > DNS_MSG_MAX) {
        return 0;
    }
    if (dns_header_parse(data + 1, size - 1, &header) == 0 &&
        dns_cursor_init(&cursor, data + 1, size - 1) == 0 &&
        dns_cursor_question(&cursor, &own) == 1) {
        dnsc_reply_match(data + 1, size - 1, header.id, &own, true);
    } else {
        g_assert_cmpint(dns_name_from_text(&own.name, "a.example"), ==, 0);
    }
    own.type = types[data[0] % G_N_ELEMENTS(types)];
    own.qclass = DNS_CLASS_IN;
    check(data + 1, size - 1, &own);
    return 0;
}
