/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of a validator as replies: the reply must be well-formed, belong to
 * the question, have AD only if it is secure, and have no proof that was not
 * asked for.  The same octets are parsed as a file of trust anchors.
 *
 * The first octet chooses DO, the security, and the mode.  The rest is the
 * message, whose question is the one that was asked.
 */

#include <glib.h>

#include "net/dns/client/config/anchors.h"
#include "net/dns/upstream/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const DnscQuery *query, const DnscResult *r)
{
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    g_assert_cmpint(dns_header_parse(r->whole, r->whole_len, &header), ==, 0);
    g_assert_cmpint(!!(header.flags & DNS_FLAG_AD), ==,
                    r->security == VMMNET_DNS_SECURE);
    dns_cursor_init(&cursor, r->whole, r->whole_len);
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 1);
    g_assert_true(dns_name_equal(&question.name, &query->question.name));
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        g_assert_true(rr.type != DNS_TYPE_NSEC || query->dnssec_ok ||
                      query->question.type == DNS_TYPE_NSEC ||
                      query->question.type == DNS_TYPE_ANY);
        g_assert_true(r->security != VMMNET_DNS_BOGUS_DATA ||
                      rr.type == DNS_TYPE_OPT || rr.ttl <= DNS_BOGUS_TTL);
    }
    g_assert_cmpint(ret, ==, 0);
}

static void judge(uint8_t choice, const uint8_t *msg, size_t len)
{
    static uint8_t buf[DNS_MSG_MAX];
    DnscQuery query = { .flags = DNS_FLAG_RD, .dnssec_ok = choice & 1 };
    DnscResult *judged = NULL, *r;
    DnsCursor cursor;

    if (dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &query.question) <= 0 ||
        dnsc_whole_read(msg, len, &judged)) {
        return;
    }
    if (judged->refs) {
        judged->security = choice >> 1 & 3;
        judged->ede = choice;
    }
    r = dns_verdict(&query, judged, choice & 8 ? DNS_DNSSEC_STRICT
                                               : DNS_DNSSEC_PERMISSIVE, buf);
    if (r->whole) {
        check(&query, r);
    }
    dnsc_result_unref(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *mistake;
    DnsName name = { .len = 1 };
    unsigned line;

    if (!size || size > DNS_MSG_MAX) {
        return 0;
    }
    judge(data[0], data + 1, size - 1);
    dnsc_anchors_count((const char *)data + 1, size - 1, &line, &mistake);
    dnsc_anchors_cover((const char *)data + 1, size - 1, &name);
    return 0;
}
