/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reply to a query
 *
 * Theory of operation
 *
 * query.c has read the message, table.c knows the zones, and net/dns/zone finds
 * the name.  name.c makes the answer section and follows aliases.  authority.c
 * makes the authority section, with the proofs of denial.c; additional.c adds
 * the addresses.  reply.c copies the records.  This file handles what all
 * replies have: header, question, OPT, and errors.
 *
 * The usual reply is one copy of the question and one copy of an RRset.  Code
 * for rare cases (aliases, proofs, errors) is not touched then.
 */
#include "base/octets.h"
#include "net/dns/answer/answering.h"
#include "net/dns/answer/edns.h"
#include "net/dns/answer/answer.h"

#define MAILB 253

/* --- header and OPT ------------------------------------------------------- */

/* The limit of the reply, without the caller's reserve */
static size_t limit_of(const DnsAnswerer *answerer, const DnsQuery *q,
                       size_t room)
{
    size_t limit = DNS_UDP_MIN;

    if (answerer->flags & DNS_ANSWER_STREAM) {
        limit = DNS_MSG_MAX;
    } else if (q->has_edns) {
        limit = q->udp_size < answerer->udp_size ? q->udp_size :
                                                   answerer->udp_size;
        limit = limit < DNS_UDP_MIN ? DNS_UDP_MIN : limit;
    }
    return limit < room ? limit : room;
}

static void begin(Reply *reply, const DnsAnswerer *answerer,
                  const DnsQuery *q, uint8_t *out, size_t room)
{
    size_t limit = limit_of(answerer, q, room);
    size_t tail = q->reserve + (q->has_edns ? DNS_OPT_LEN : 0);

    memcpy(out, q->message, q->question_end);
    reply->out = out;
    reply->len = q->question_end;
    reply->limit = limit < q->question_end + tail ? q->question_end
                                                  : limit - tail;
    memset(reply->count, 0, sizeof(reply->count));
}

static void truncate_reply(Reply *reply, const DnsQuery *q)
{
    reply->len = q->question_end;
    memset(reply->count, 0, sizeof(reply->count));
}

/* The second word of the header; RFC 4035 section 3.1.6: no AD, no CD */
static uint16_t flags_of(const DnsQuery *q, uint16_t flags, uint16_t rcode)
{
    return DNS_FLAG_QR | flags | (rcode & DNS_FLAGS_RCODE) |
           (q->flags & (DNS_FLAGS_OPCODE | DNS_FLAG_RD));
}

/* Returns: the length of the reply. */
static size_t end_reply(Reply *reply, const DnsAnswerer *answerer,
                        const DnsQuery *q, uint16_t flags,
                        DnsAnswerInfo *info)
{
    uint8_t *out = reply->out;
    bool has_question = q->question_end > DNS_HEADER_LEN;

    info->truncated = flags & DNS_FLAG_TC;
    if (q->has_edns) {
        info->opt_at = reply->len;
        dns_edns_put_opt(out + reply->len, answerer->udp_size, info->rcode,
                         q->dnssec_ok);
        reply->len += DNS_OPT_LEN;
        reply->count[DNS_SECTION_ADDITIONAL]++;
    }
    put_be16(out + 2, flags_of(q, flags, info->rcode));
    put_be16(out + 4, has_question);
    put_be16(out + 6, reply->count[DNS_SECTION_ANSWER]);
    put_be16(out + 8, reply->count[DNS_SECTION_AUTHORITY]);
    put_be16(out + 10, reply->count[DNS_SECTION_ADDITIONAL]);
    return reply->len;
}

/* --- replies without records ---------------------------------------------- */

static size_t reply_empty(const DnsAnswerer *answerer, const DnsQuery *q,
                          uint16_t flags, uint8_t *out, size_t room,
                          DnsAnswerInfo *info)
{
    Reply reply;

    begin(&reply, answerer, q, out, room);
    return end_reply(&reply, answerer, q, flags, info);
}

/* Add an EDE if there is one and it fits.  Returns: the length. */
static size_t explain(const DnsAnswerer *answerer, const DnsQuery *q, int ede,
                      uint8_t *out, size_t len, size_t room,
                      DnsAnswerInfo *info)
{
    size_t limit = limit_of(answerer, q, room);

    if (!info->opt_at || ede < 0 || limit < q->reserve) {
        return len;
    }
    return dns_edns_append_ede(out, len, limit - q->reserve, info->opt_at,
                               ede);
}

static size_t reply_error(const DnsAnswerer *answerer, const DnsQuery *q,
                          DnsRcode rcode, int ede, uint8_t *out, size_t room,
                          DnsAnswerInfo *info)
{
    size_t len;

    info->kind = DNS_ANSWER_ERROR;
    info->rcode = rcode;
    info->opt_at = 0;
    len = reply_empty(answerer, q, 0, out, room, info);
    return explain(answerer, q, ede, out, len, room, info);
}

size_t dns_answer_error(const DnsAnswerer *answerer, const DnsQuery *q,
                        DnsRcode rcode, int ede, uint8_t *out, size_t room,
                        DnsAnswerInfo *info)
{
    *info = (DnsAnswerInfo) { .kind = DNS_ANSWER_NONE };
    if (q->kind == DNS_QUERY_IGNORE) {
        return 0;
    }
    return reply_error(answerer, q, rcode, ede, out, room, info);
}

size_t dns_answer_truncated(const DnsAnswerer *answerer, const DnsQuery *q,
                            uint8_t *out, size_t room, DnsAnswerInfo *info)
{
    *info = (DnsAnswerInfo) { .kind = DNS_ANSWER_NONE };
    if (q->kind == DNS_QUERY_IGNORE) {
        return 0;
    }
    info->kind = DNS_ANSWER_ERROR;
    return reply_empty(answerer, q, DNS_FLAG_TC, out, room, info);
}

/* --- replies with records ------------------------------------------------- */

/* The RCODE for an error; other ends have set it in the reply. */
static int rcode_of(AnswerEnd end, int *ede)
{
    *ede = -1;
    switch (end) {
    case END_REFUSED:
        *ede = DNS_EDE_NOT_AUTHORITATIVE;
        return DNS_RCODE_REFUSED;
    case END_NOT_READY:
        *ede = DNS_EDE_NOT_READY;
        return DNS_RCODE_SERVFAIL;
    case END_NOT_PROVABLE:
        *ede = DNS_EDE_NSEC_MISSING;
        return DNS_RCODE_SERVFAIL;
    case END_FAILED:
        *ede = DNS_EDE_INVALID_DATA;
        return DNS_RCODE_SERVFAIL;
    default:
        return -1;
    }
}

static DnsAnswerKind kind_of(const Answering *a, AnswerEnd end)
{
    switch (end) {
    case END_NODATA:
        return DNS_ANSWER_NODATA;
    case END_NXDOMAIN:
        return DNS_ANSWER_NXDOMAIN;
    case END_REFERRAL:
        return DNS_ANSWER_REFERRAL;
    case END_YXDOMAIN:
        return DNS_ANSWER_ERROR;
    default:
        return DNS_ANSWER_RECORDS;
    }
}

/* @full: a required record had no room, so the reply has no records. */
static size_t end_answer(Answering *a, AnswerEnd how, bool full)
{
    uint16_t flags = a->is_authoritative ? DNS_FLAG_AA : 0;

    if (full) {
        truncate_reply(&a->reply, a->query);
        a->truncated = true;
    }
    a->info->kind = kind_of(a, how);
    if (how == END_NXDOMAIN) {
        a->info->rcode = DNS_RCODE_NXDOMAIN;
    } else if (how == END_YXDOMAIN) {
        a->info->rcode = DNS_RCODE_YXDOMAIN;
    }
    flags |= a->truncated ? DNS_FLAG_TC : 0;
    return end_reply(&a->reply, a->answerer, a->query, flags, a->info);
}

static size_t answer_ask(const DnsAnswerer *answerer, const DnsQuery *q,
                         const DnsServedZone *zone, uint8_t *out, size_t room,
                         DnsAnswerInfo *info)
{
    Answering a;
    AnswerEnd how, end;
    int rcode, ede;

    memset(&a, 0, offsetof(Answering, referring));
    a.referring.is_there = false;
    a.answerer = answerer;
    a.query = q;
    a.info = info;
    a.zone = zone;
    a.dnssec = q->dnssec_ok;
    a.name = &q->name;
    a.name_at = DNS_HEADER_LEN;
    begin(&a.reply, answerer, q, out, room);
    how = answer_name(&a);
    end = answer_authority(&a, how);
    rcode = rcode_of(end, &ede);
    if (rcode >= 0) {
        return reply_error(answerer, q, rcode, ede, out, room, info);
    }
    answer_additional(&a, end);
    if (zone_view_failed(a.view)) {
        return reply_error(answerer, q, DNS_RCODE_SERVFAIL,
                           DNS_EDE_INVALID_DATA, out, room, info);
    }
    return end_answer(&a, how, end == END_FULL);
}

/* --- the question --------------------------------------------------------- */

/* RCODE for types that are not data, RFC 6895 section 3.1; -1: other types */
static int rcode_of_type(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_OPT:
    case DNS_TYPE_TSIG:
        return DNS_RCODE_FORMERR;
    case DNS_TYPE_TKEY:
    case MAILB:
    case DNS_TYPE_MAILA:
        return DNS_RCODE_NOTIMP;
    default:
        return -1;
    }
}

static size_t hand_out(const DnsAnswerer *answerer, const DnsQuery *q,
                       DnsAnswerKind kind, DnsAnswerInfo *info)
{
    info->kind = kind;
    info->zone = dns_zone_table_get(answerer->zones, q->qclass, &q->name);
    return 0;
}

bool dns_answer_is_of_zones(const DnsQuery *q)
{
    return q->kind == DNS_QUERY_ASK && rcode_of_type(q->type) < 0;
}

const DnsServedZone *dns_answer_zone(const DnsAnswerer *answerer,
                                     const DnsQuery *q)
{
    return dns_answer_is_of_zones(q) ? answer_zone(answerer, q, &q->name)
                                     : NULL;
}

static size_t answer_question(const DnsAnswerer *answerer, const DnsQuery *q,
                              const DnsServedZone *zone, uint8_t *out,
                              size_t room, DnsAnswerInfo *info)
{
    int rcode;

    if (q->type == DNS_TYPE_AXFR || q->type == DNS_TYPE_IXFR) {
        return hand_out(answerer, q, DNS_ANSWER_TRANSFER, info);
    }
    rcode = rcode_of_type(q->type);
    if (rcode >= 0) {
        return reply_error(answerer, q, rcode, -1, out, room, info);
    }
    return answer_ask(answerer, q, zone, out, room, info);
}

size_t dns_answer_from(const DnsAnswerer *answerer, const DnsQuery *q,
                       const DnsServedZone *zone, uint8_t *out, size_t room,
                       DnsAnswerInfo *info)
{
    *info = (DnsAnswerInfo) { .kind = DNS_ANSWER_NONE };
    switch (q->kind) {
    case DNS_QUERY_ASK:
        return answer_question(answerer, q, zone, out, room, info);
    case DNS_QUERY_WRONG:
        return reply_error(answerer, q, q->rcode, -1, out, room, info);
    case DNS_QUERY_EMPTY:
        info->kind = DNS_ANSWER_EMPTY;
        return reply_empty(answerer, q, 0, out, room, info);
    case DNS_QUERY_NOTIFY:
        return hand_out(answerer, q, DNS_ANSWER_NOTIFY, info);
    case DNS_QUERY_UPDATE:
        return hand_out(answerer, q, DNS_ANSWER_UPDATE, info);
    default:
        return 0;
    }
}

size_t dns_answer(const DnsAnswerer *answerer, const DnsQuery *q,
                  uint8_t *out, size_t room, DnsAnswerInfo *info)
{
    return dns_answer_from(answerer, q, dns_answer_zone(answerer, q), out,
                           room, info);
}
