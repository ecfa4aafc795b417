/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies of vmmnet-validate, which is not trusted: what is taken has a verdict
 * that the message itself states, and can be parsed; a verdict that is written
 * is read as the same.
 *
 * The first octet chooses the flags of the query, and whether its question is
 * that of the message or another one.  The rest is the message.
 */
#include <glib.h>
#include <string.h>

#include "net/dns/upstream/checked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const DnscQuery *query, const DnscResult *r)
{
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    for (const char *c = r->reason; *c; c++) {
        g_assert_true(*c >= ' ' && *c <= '~');
    }
    if (!r->whole) {
        g_assert_cmpint(r->security, !=, VMMNET_DNS_SECURE);
        return;
    }
    g_assert_cmpint(dns_header_parse(r->whole, r->whole_len, &header), ==, 0);
    g_assert_cmpint(!!(header.flags & DNS_FLAG_AD), ==,
                    r->security == VMMNET_DNS_SECURE);
    if (r->security == VMMNET_DNS_BOGUS_DATA && !(query->flags & DNS_FLAG_CD)) {
        g_assert_cmpint(header.flags & DNS_FLAGS_RCODE, ==,
                        DNS_RCODE_SERVFAIL);
    }
    dns_cursor_init(&cursor, r->whole, r->whole_len);
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 1);
    g_assert_true(dns_name_equal(&question.name, &query->question.name));
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        continue;
    }
    g_assert_cmpint(ret, ==, 0);
}

static void check_again(const DnscQuery *query, const DnscResult *r)
{
    static uint8_t buf[DNS_MSG_MAX];
    size_t len = dns_checked_write(query, r, buf);
    DnscResult *again = NULL;

    g_assert_cmpint(dns_checked_read(query, buf, len, &again), ==, 0);
    g_assert_cmpint(again->error, ==, r->error);
    /* What is indeterminate lost its error, which only the asker wants. */
    g_assert_true(again->security == r->security ||
                  r->security == VMMNET_DNS_INDETERMINATE);
    dnsc_result_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t msg[DNS_MSG_MAX];
    DnscQuery query = { .flags = DNS_FLAG_RD };
    DnscResult *r = NULL;
    DnsCursor cursor;

    if (!size || size > sizeof(msg)) {
        return 0;
    }
    memcpy(msg, data + 1, size - 1);
    query.dnssec_ok = data[0] & 1;
    query.flags |= data[0] & 2 ? DNS_FLAG_CD : 0;
    if (dns_cursor_init(&cursor, msg, size - 1) ||
        dns_cursor_question(&cursor, &query.question) <= 0 || data[0] & 4) {
        dns_name_from_text(&query.question.name, "a.example");
        query.question.type = DNS_TYPE_A;
        query.question.qclass = DNS_CLASS_IN;
    }
    if (!dns_checked_read(&query, msg, size - 1, &r)) {
        check(&query, r);
        check_again(&query, r);
        dnsc_result_unref(r);
    }
    return 0;
}
