/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The question of a client
 *
 * The parser visits all records, as OPT and TSIG are among the last ones.  It
 * ignores the contents of other records and follows no pointer.  So the work is
 * proportional to the length of the message.
 */
#include "base/octets.h"
#include "net/dns/answer/edns.h"
#include "net/dns/answer/query.h"

#define OPCODE_SHIFT    11
#define QUESTION_TAIL   4       /* type and class */
#define RR_TAIL         10      /* type, class, TTL, RDLENGTH */
#define OPT_DNSSEC_OK   0x8000

/* The offset behind the name at @at; 0 if it is invalid or the message ends. */
static size_t skip_name(const DnsQuery *q, size_t at)
{
    while (at < q->len) {
        uint8_t head = q->message[at];

        if (head >= 0xc0) {
            return q->len - at >= 2 ? at + 2 : 0;
        }
        if (head > DNS_LABEL_MAX) {
            return 0;
        }
        at += 1 + head;
        if (!head) {
            return at;
        }
    }
    return 0;
}

static bool options_are_right(const uint8_t *options, size_t len)
{
    DnsOptions rest = { options, len };
    DnsOption option;
    int ret;

    do {
        ret = dns_edns_next(&rest, &option);
    } while (ret > 0);
    return ret == 0;
}

/*
 * OPT, whose owner at @at must be the root; only one is allowed, RFC 6891
 * 6.1.1.
 */
static bool read_opt(DnsQuery *q, size_t at, size_t tail, uint16_t rdlength)
{
    const uint8_t *rr = q->message + tail;

    if (q->has_edns || q->message[at] ||
        !options_are_right(rr + RR_TAIL, rdlength)) {
        return false;
    }
    q->has_edns = true;
    q->udp_size = get_be16(rr + 2);
    q->version = rr[5];
    q->dnssec_ok = get_be16(rr + 6) & OPT_DNSSEC_OK;
    q->options = rr + RR_TAIL;
    q->options_len = rdlength;
    return true;
}

/* Returns: the offset behind the record at @at; 0 if the record is wrong. */
static size_t read_record(DnsQuery *q, size_t at, bool is_additional,
                          bool is_last)
{
    size_t tail = skip_name(q, at);
    uint16_t type, rdlength;

    if (!tail || q->len - tail < RR_TAIL) {
        return 0;
    }
    type = get_be16(q->message + tail);
    rdlength = get_be16(q->message + tail + 8);
    if (q->len - tail - RR_TAIL < rdlength) {
        return 0;
    }
    if (type == DNS_TYPE_OPT &&
        !(is_additional && read_opt(q, at, tail, rdlength))) {
        return 0;
    }
    if (type == DNS_TYPE_TSIG) {
        if (!is_additional || !is_last) {   /* RFC 8945 section 5.1 */
            return 0;
        }
        q->tsig_at = at;
    }
    return tail + RR_TAIL + rdlength;
}

static bool read_records(DnsQuery *q)
{
    const uint8_t *h = q->message;
    unsigned before = get_be16(h + 6) + get_be16(h + 8);
    unsigned all = before + get_be16(h + 10);
    size_t at = q->question_end;

    for (unsigned i = 0; i < all; i++) {
        at = read_record(q, at, i >= before, i + 1 == all);
        if (!at) {
            return false;
        }
    }
    return true;
}

static bool read_question(DnsQuery *q)
{
    const uint8_t *at = q->message + DNS_HEADER_LEN;
    size_t len = q->len - DNS_HEADER_LEN;

    if (!zone_key_read(&q->name, at, len) ||
        len - q->name.len < QUESTION_TAIL) {
        q->name.len = 0;
        return false;
    }
    q->type = get_be16(at + q->name.len);
    q->qclass = get_be16(at + q->name.len + 2);
    q->question_end = DNS_HEADER_LEN + q->name.len + QUESTION_TAIL;
    return true;
}

static void refuse(DnsQuery *q, DnsRcode rcode)
{
    q->kind = DNS_QUERY_WRONG;
    q->rcode = rcode;
}

static DnsQueryKind kind_of(unsigned opcode)
{
    switch (opcode) {
    case DNS_OPCODE_QUERY:
        return DNS_QUERY_ASK;
    case DNS_OPCODE_NOTIFY:
        return DNS_QUERY_NOTIFY;
    case DNS_OPCODE_UPDATE:
        return DNS_QUERY_UPDATE;
    default:
        return DNS_QUERY_WRONG;
    }
}

static bool has_cookie(const DnsQuery *q)
{
    DnsOption option;

    return q->has_edns && dns_edns_find(q->options, q->options_len,
                                        DNS_OPTION_COOKIE, &option);
}

/*
 * The opcode is unknown, so the contents may be anything.  If they look like a
 * question and records, the reply repeats the question, and has OPT if the
 * query has (RFC 6891 section 6.1.1).
 */
static void read_unknown(DnsQuery *q, uint16_t questions)
{
    refuse(q, DNS_RCODE_NOTIMP);
    if (questions > 1 || (questions && !read_question(q)) ||
        !read_records(q)) {
        q->question_end = DNS_HEADER_LEN;
        q->has_edns = false;
    }
    q->tsig_at = 0;
}

/* The message has a header and is a query of some opcode. */
static void read_body(DnsQuery *q)
{
    uint16_t questions = get_be16(q->message + 4);

    q->kind = kind_of((q->flags & DNS_FLAGS_OPCODE) >> OPCODE_SHIFT);
    if (q->kind == DNS_QUERY_WRONG) {
        read_unknown(q, questions);
        return;
    }
    if (questions > 1 || (questions && !read_question(q)) ||
        !read_records(q)) {
        refuse(q, DNS_RCODE_FORMERR);
    } else if (q->has_edns && q->version) {
        refuse(q, DNS_RCODE_BADVERS);
    } else if (!questions && q->kind == DNS_QUERY_ASK && has_cookie(q)) {
        q->kind = DNS_QUERY_EMPTY;
    } else if (!questions) {
        refuse(q, DNS_RCODE_FORMERR);
    }
}

void dns_query_read(const uint8_t *message, size_t len, DnsQuery *q)
{
    memset(q, 0, offsetof(DnsQuery, name));
    q->message = message;
    q->len = len;
    q->question_end = DNS_HEADER_LEN;
    q->name.len = 0;
    q->name.labels = 0;
    if (len < DNS_HEADER_LEN) {
        return;
    }
    q->flags = get_be16(message + 2);
    if (!(q->flags & DNS_FLAG_QR)) {
        read_body(q);
    }
}

DnsName dns_query_name(const DnsQuery *q)
{
    DnsName name;

    name.len = q->name.len;
    name.labels = q->name.labels;
    memcpy(name.wire, q->message + DNS_HEADER_LEN, name.len);
    return name;
}
