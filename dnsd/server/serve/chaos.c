/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of class CHAOS */
#include <string.h>

#include "dnsd/server/serve/chaos.h"

static const char *text_of(const DnsdConfig *config, const DnsQuery *query)
{
    static const struct {
        uint8_t len;
        uint8_t wire[16];
        size_t offset;
    } names[] = {
        { 16, "\7version\6server", offsetof(DnsdConfig, version) },
        { 14, "\7version\4bind", offsetof(DnsdConfig, version) },
        { 11, "\2id\6server", offsetof(DnsdConfig, identity) },
        { 15, "\10hostname\4bind", offsetof(DnsdConfig, identity) },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (query->name.len == names[i].len &&
            !memcmp(query->name.wire, names[i].wire, names[i].len)) {
            return *(const char *const *)((const char *)config +
                                          names[i].offset);
        }
    }
    return NULL;
}

static void add_edns(DnsBuilder *b, const DnsdServing *serving,
                     const DnsQuery *query, DnsAnswerInfo *info)
{
    const DnsEdns edns = {
        .udp_size = serving->udp.udp_size,
        .dnssec_ok = query->dnssec_ok,
    };
    size_t at = b->len;

    if (query->has_edns && !dns_builder_edns(b, &edns)) {
        info->opt_at = at;
    }
}

size_t dnsd_chaos(const DnsdServing *serving, const DnsQuery *query,
                  uint8_t *out, size_t room, DnsAnswerInfo *info)
{
    const char *text = text_of(serving->config, query);
    DnsQuestion question = {
        dns_query_name(query), query->type, query->qclass,
    };
    uint8_t rdata[1 + DNSD_TEXT_MAX];
    DnsBuilder b;
    size_t len;

    if (!text) {
        return 0;
    }
    len = strlen(text);
    rdata[0] = len;
    memcpy(rdata + 1, text, len);
    *info = (DnsAnswerInfo) { .kind = DNS_ANSWER_NODATA };
    dns_builder_init(&b, out, room, dns_query_id(query), DNS_FLAG_QR |
                     DNS_FLAG_AA | (query->flags & DNS_FLAG_RD));
    dns_builder_question(&b, &question);
    if (query->type == DNS_TYPE_TXT || query->type == DNS_TYPE_ANY) {
        info->kind = DNS_ANSWER_RECORDS;
        dns_builder_raw(&b, DNS_SECTION_ANSWER, &question.name, DNS_TYPE_TXT,
                        DNS_CLASS_CH, 0, rdata, 1 + len);
    }
    add_edns(&b, serving, query, info);
    return b.len;
}
