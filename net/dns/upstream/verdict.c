/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reply that the client gets for a validated message */
#include <errno.h>
#include <string.h>

#include "net/dns/upstream/verdict.h"
#include "base/octets.h"
#include "net/dns/wire/copy.h"

#define TTL_BEFORE  6       /* octets from a record's TTL to its RDATA */

/* The message of a validator, and what one walk has found in it */
typedef struct Message {
    const uint8_t *msg;
    size_t len;
    size_t plain_len;           /* up to the additional section */
    /* it has proofs that the client does not want */
    bool has_proofs;
} Message;

/* RFC 4035 section 3.2.1: useless without DO, unless it was asked for */
static bool is_proof(const DnscQuery *query, const DnsRr *rr)
{
    return !query->dnssec_ok && rr->type != query->question.type &&
           query->question.type != DNS_TYPE_ANY &&
           (rr->type == DNS_TYPE_RRSIG || rr->type == DNS_TYPE_NSEC ||
            rr->type == DNS_TYPE_NSEC3);
}

/* Returns 0, or -EBADMSG, also if the message does not answer the query. */
static int walk(Message *m, const DnscQuery *query, const DnscResult *judged)
{
    DnsQuestion question;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    *m = (Message){ .msg = judged->whole, .len = judged->whole_len };
    if (dns_cursor_init(&cursor, m->msg, m->len) ||
        dns_cursor_question(&cursor, &question) <= 0 ||
        question.type != query->question.type ||
        !dns_name_equal(&question.name, &query->question.name)) {
        return -EBADMSG;
    }
    m->plain_len = cursor.offset;
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.section != DNS_SECTION_ADDITIONAL) {
            m->plain_len = cursor.offset;
            m->has_proofs |= is_proof(query, &rr);
        }
    }
    return ret;
}

/* Copy all records except the proofs.  Returns 0, -EMSGSIZE or -EBADMSG. */
static int copy_records(DnsBuilder *b, const Message *m,
                        const DnscQuery *query)
{
    DnsCursor cursor;
    DnsRr rr;
    int ret = 0;

    if (!m->has_proofs) {
        return dns_builder_adopt(b, m->msg, m->plain_len);
    }
    dns_cursor_init(&cursor, m->msg, m->len);
    while (!ret && dns_cursor_rr(&cursor, &rr) > 0 &&
           rr.section != DNS_SECTION_ADDITIONAL) {
        ret = is_proof(query, &rr) ? 0 : dns_copy_record(b, &cursor, &rr);
    }
    return ret;
}

/* Lower the TTLs of bogus data, which are not trusted. */
static void limit_ttls(uint8_t *msg, size_t len)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, msg, len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.type != DNS_TYPE_OPT && rr.ttl > DNS_BOGUS_TTL) {
            put_be32(msg + rr.rdata - TTL_BEFORE, DNS_BOGUS_TTL);
        }
    }
}

static DnsEdns edns_of(const DnscQuery *query, const DnscResult *judged)
{
    DnsEdns edns = {
        .udp_size = DNS_UDP_ADVERTISED, .dnssec_ok = query->dnssec_ok,
    };

    if (judged->security == VMMNET_DNS_BOGUS_DATA &&
        judged->ede != VMMNET_DNS_NO_EDE) {
        edns.has_ede = true;
        edns.ede = judged->ede;
        edns.ede_text = judged->reason;
        edns.ede_text_len = strnlen(judged->reason, DNSC_REASON_MAX - 1);
    } else if (judged->security == VMMNET_DNS_INDETERMINATE) {
        edns.has_ede = true;
        edns.ede = DNS_EDE_DNSSEC_INDETERMINATE;
    }
    return edns;
}

/* Write header and question of the reply. */
static void begin(DnsBuilder *b, uint8_t *buf, const DnscQuery *query,
                  bool is_secure, unsigned rcode)
{
    dns_builder_init(b, buf, DNS_MSG_MAX, 0,
                     DNS_FLAG_QR | DNS_FLAG_RA | (query->flags & DNS_FLAG_RD) |
                     (is_secure ? DNS_FLAG_AD : 0) | rcode);
    dns_builder_question(b, &query->question);
}

static DnscResult *refuse(const DnscQuery *query, const DnscResult *judged,
                          uint8_t *buf)
{
    DnsEdns edns = edns_of(query, judged);
    DnscResult *r;
    DnsBuilder b;

    begin(&b, buf, query, false, DNS_RCODE_SERVFAIL);
    dns_builder_edns(&b, &edns);
    r = dnsc_whole_refusal(buf, b.len);
    if (r->refs) {
        r->error = VMMNET_DNS_BOGUS;
    }
    return r;
}

static DnscResult *hand_on(const DnscQuery *query, const DnscResult *judged,
                           uint8_t *buf)
{
    DnsEdns edns = edns_of(query, judged);
    DnscResult *r = NULL;
    DnsHeader header;
    DnsBuilder b;
    Message m;
    int ret;

    if (walk(&m, query, judged)) {
        return dnsc_result_error(VMMNET_DNS_FAILED, "the reply is malformed");
    }
    dns_header_parse(m.msg, m.len, &header);
    begin(&b, buf, query, judged->security == VMMNET_DNS_SECURE,
          header.flags & DNS_FLAGS_RCODE);
    if (copy_records(&b, &m, query) || dns_builder_edns(&b, &edns)) {
        return dnsc_result_error(VMMNET_DNS_FAILED, "the reply is malformed");
    }
    if (judged->security == VMMNET_DNS_BOGUS_DATA) {
        limit_ttls(buf, b.len);
    }
    ret = dnsc_whole_read(buf, b.len, &r);
    if (!ret) {
        return r;
    }
    return ret == -ENOMEM
        ? dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory")
        : dnsc_result_error(VMMNET_DNS_FAILED, "the reply is malformed");
}

DnscResult *dns_verdict(const DnscQuery *query, DnscResult *judged,
                        DnsDnssec mode, uint8_t buf[DNS_MSG_MAX])
{
    bool is_bogus = judged->security == VMMNET_DNS_BOGUS_DATA;
    DnscResult *r;

    if (is_bogus && mode == DNS_DNSSEC_STRICT) {
        r = refuse(query, judged, buf);
    } else if (judged->whole) {
        r = hand_on(query, judged, buf);
    } else {
        /* The servers have failed: none sent a usable reply. */
        if (judged->error == VMMNET_DNS_FAILED && judged->refs) {
            judged->error = VMMNET_DNS_REFUSED;
        }
        return judged;
    }
    if (r->refs) {
        r->security = judged->security;
        r->ede = judged->ede;
        memcpy(r->reason, judged->reason, sizeof(r->reason));
    }
    dnsc_result_unref(judged);
    return r;
}
