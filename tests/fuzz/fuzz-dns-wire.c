/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS wire format: parse any octets; what was parsed, and then built and parsed
 * again, must be the same records.
 */

#include <glib.h>
#include <string.h>

#include "net/dns/proxy/nat64-discovery.h"
#include "net/dns/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const DnsName *name)
{
    char text[DNS_NAME_TEXT_MAX];
    struct in_addr addr;
    DnsName back;

    g_assert(name->len >= 1 && name->wire[name->len - 1] == 0);
    g_assert(name->labels <= DNS_LABELS_MAX);
    dns_name_to_text(name, text);
    g_assert(dns_name_from_text(&back, text) == 0);
    g_assert(back.len == name->len && back.labels == name->labels);
    g_assert(!memcmp(back.wire, name->wire, name->len));
    if (dns_name_to_in_addr(name, &addr)) {
        dns_name_from_in_addr(&back, addr);
        g_assert(dns_name_equal(name, &back));
    }
}

static bool copy_rr(DnsBuilder *b, const DnsCursor *cursor, const DnsRr *rr)
{
    DnsName target;
    DnsEdns edns;
    DnsSoa soa;

    check_name(&rr->name);
    if (rr->type == DNS_TYPE_OPT && !dns_rdata_edns(cursor, rr, &edns)) {
        return !dns_builder_edns(b, &edns);
    }
    /* RDATA with names is expanded or omitted, never copied raw */
    switch (rr->rrclass == DNS_CLASS_IN ? rr->type : 0) {
    case DNS_TYPE_CNAME:
    case DNS_TYPE_NS:
    case DNS_TYPE_PTR:
        if (dns_rdata_name(cursor, rr, &target)) {
            return true;
        }
        check_name(&target);
        return !dns_builder_name(b, rr->section, &rr->name, rr->type,
                                 rr->ttl, &target);
    case DNS_TYPE_SOA:
        return dns_rdata_soa(cursor, rr, &soa) ||
               !dns_builder_soa(b, rr->section, &rr->name, rr->ttl, &soa);
    }
    return !dns_builder_raw(b, rr->section, &rr->name, rr->type, rr->rrclass,
                            rr->raw_ttl, cursor->msg + rr->rdata,
                            rr->rdlength);
}

/* Returns the length of the copy, 0 if the message is malformed */
static size_t copy(const uint8_t *msg, size_t len, uint8_t *out, size_t size)
{
    DnsHeader header;
    DnsQuestion question;
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;
    int ret;

    if (dns_header_parse(msg, len, &header) ||
        dns_cursor_init(&cursor, msg, len)) {
        return 0;
    }
    dns_builder_init(&b, out, size, header.id, header.flags);
    while ((ret = dns_cursor_question(&cursor, &question)) > 0) {
        check_name(&question.name);
        if (dns_builder_question(&b, &question)) {
            return 0;
        }
    }
    while (!ret && (ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        size_t before = b.len;

        g_assert(rr.rdata + rr.rdlength <= len && cursor.offset <= len);
        if (!copy_rr(&b, &cursor, &rr)) {
            g_assert(b.len == before);
            dns_builder_truncate(&b);
            return 0;
        }
        ret = 0;
    }
    return ret ? 0 : b.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t first[DNS_MSG_MAX], second[DNS_MSG_MAX];
    static const Nat64Prefix current = {
        .addr.s6_addr = { 0x00, 0x64, 0xff, 0x9b }, .len = 96,
    };
    DnsNat64Prefix prefixes[4];
    size_t len, again;

    if (size > DNS_MSG_MAX) {
        return 0;
    }
    dns_nat64_discover(data, size, &current, prefixes,
                       G_N_ELEMENTS(prefixes));
    /* A small buffer: the overflow paths */
    copy(data, size, first, DNS_HEADER_LEN + size / 2);
    len = copy(data, size, first, sizeof(first));
    if (len) {
        again = copy(first, len, second, sizeof(second));
        g_assert(again == len);
        g_assert(!memcmp(first, second, len));
    }
    return 0;
}
