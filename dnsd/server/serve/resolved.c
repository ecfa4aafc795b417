/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver, in the form of replies
 *
 * The message of libunbound has all records of DNSSEC.  A client without DO
 * gets a message without them.  It is built anew, because names may be
 * compressed against names in the records that are removed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "net/dns/answer/edns.h"
#include "dnsd/server/serve/resolved.h"
#include "net/dns/wire/rrtype.h"

#define RR_TAIL         10      /* type, class, TTL, RDLENGTH */
#define POINTER         0xc0
#define NO_EDE          (-1)

/* A walk over a message, and its findings */
typedef struct Look {
    const DnsQuestion *question;
    DnsCursor cursor;
    size_t begin, end;          /* offsets of the records, without OPT */
    uint16_t count[3];
    uint32_t ttl;
    bool has_dnssec;            /* it has records of DNSSEC */
    uint8_t soa_len;            /* of the SOA's owner */
} Look;

/* --- reading -------------------------------------------------------------- */

static bool is_of_dnssec(const DnsQuestion *question, uint16_t type)
{
    return (type == DNS_TYPE_RRSIG || type == DNS_TYPE_NSEC ||
            type == DNS_TYPE_NSEC3) && question->type != type &&
           question->type != DNS_TYPE_ANY;
}

static void look_at(Look *l, const DnsRr *rr)
{
    l->count[rr->section]++;
    l->end = rr->rdata + rr->rdlength;
    l->ttl = rr->ttl < l->ttl ? rr->ttl : l->ttl;
    l->has_dnssec |= is_of_dnssec(l->question, rr->type);
    if (rr->section == DNS_SECTION_AUTHORITY && rr->type == DNS_TYPE_SOA &&
        dns_name_within(&l->question->name, &rr->name)) {
        l->soa_len = rr->name.len;
    }
}

/* OPT is last, if there is one: nothing may follow the end. */
static bool look(Look *l, const uint8_t *msg, size_t len)
{
    DnsQuestion question;
    DnsRr rr;
    int ret;

    l->ttl = UINT32_MAX;
    if (dns_cursor_init(&l->cursor, msg, len) ||
        dns_cursor_question(&l->cursor, &question) != 1 ||
        l->cursor.left[0] ||    /* another question */
        !dns_name_equal(&question.name, &l->question->name)) {
        return false;
    }
    l->begin = l->end = l->cursor.offset;
    while ((ret = dns_cursor_rr(&l->cursor, &rr)) == 1) {
        if (rr.type == DNS_TYPE_OPT) {
            return dns_cursor_rr(&l->cursor, &rr) == 0;
        }
        look_at(l, &rr);
    }
    return ret == 0;
}

/* --- without DNSSEC ------------------------------------------------------- */

/* The octets of a field with fixed length; 0: another field */
static size_t fixed_len(DnsFieldKind kind)
{
    switch (kind) {
    case DNS_FIELD_U8:
        return 1;
    case DNS_FIELD_U16:
        return 2;
    case DNS_FIELD_U32:
    case DNS_FIELD_TTL:
        return 4;
    default:
        return 0;
    }
}

/*
 * Copy RDATA with uncompressed names.  Octets behind the last name are copied
 * unchanged.  Returns its length, or -EBADMSG.
 */
static int expand_rdata(const DnsCursor *c, const DnsRr *rr, uint8_t *out)
{
    const uint8_t *kind = dns_rrtype(rr->type, rr->rrclass)->fields;
    size_t at = rr->rdata, end = rr->rdata + rr->rdlength, len = 0;

    for (; *kind != DNS_FIELD_END; kind++) {
        size_t fixed = fixed_len(*kind);
        DnsName name;

        if (fixed) {
            if (end - at < fixed) {
                return -EBADMSG;
            }
            memcpy(out + len, c->msg + at, fixed);
            at += fixed;
            len += fixed;
        } else if (*kind == DNS_FIELD_NAME_1035) {
            if (dns_name_parse(c->msg, end, &at, &name)) {
                return -EBADMSG;
            }
            memcpy(out + len, name.wire, name.len);
            len += name.len;
        } else {
            break;
        }
    }
    memcpy(out + len, c->msg + at, end - at);
    len += end - at;
    return len > UINT16_MAX ? -EMSGSIZE : (int)len;
}

/* Returns 0, or the error of dns_builder_raw(). */
static int copy_record(DnsBuilder *b, const DnsCursor *c, const DnsRr *rr,
                       uint8_t *scratch)
{
    DnsName name;
    DnsSoa soa;
    int len;

    switch (rr->type) {
    case DNS_TYPE_CNAME:
    case DNS_TYPE_NS:
    case DNS_TYPE_PTR:
        return dns_rdata_name(c, rr, &name) ? -EBADMSG :
               dns_builder_name(b, rr->section, &rr->name, rr->type, rr->ttl,
                                &name);
    case DNS_TYPE_SOA:
        return dns_rdata_soa(c, rr, &soa) ? -EBADMSG :
               dns_builder_soa(b, rr->section, &rr->name, rr->ttl, &soa);
    default:
        len = expand_rdata(c, rr, scratch);
        return len < 0 ? len :
               dns_builder_raw(b, rr->section, &rr->name, rr->type,
                               rr->rrclass, rr->ttl, scratch, len);
    }
}

/* Returns 0, or a negative errno. */
static int build(Look *l, DnsBuilder *b, uint8_t *scratch)
{
    DnsRr rr;
    int ret;

    l->ttl = UINT32_MAX;
    memset(l->count, 0, sizeof(l->count));
    dns_cursor_init(&l->cursor, l->cursor.msg, l->cursor.len);
    while ((ret = dns_cursor_rr(&l->cursor, &rr)) == 1) {
        if (rr.type == DNS_TYPE_OPT || is_of_dnssec(l->question, rr.type)) {
            continue;
        }
        ret = copy_record(b, &l->cursor, &rr, scratch);
        if (ret) {
            return ret;
        }
        l->count[rr.section]++;
        l->ttl = rr.ttl < l->ttl ? rr.ttl : l->ttl;
    }
    return ret;
}

/* --- data that is kept ---------------------------------------------------- */

static DnsdResolved *keep(const Look *l, const uint8_t *records, size_t len,
                          uint16_t flags)
{
    DnsdResolved *r = malloc(sizeof(*r) + len);

    if (!r) {
        return NULL;
    }
    *r = (DnsdResolved) {
        .ttl = l->ttl == UINT32_MAX ? 0 : l->ttl, .len = len,
        .rcode = flags & DNS_FLAGS_RCODE, .ede = NO_EDE,
    };
    memcpy(r->count, l->count, sizeof(r->count));
    memcpy(r->records, records, len);
    if (r->rcode == DNS_RCODE_NXDOMAIN && l->soa_len) {
        r->common_at = l->question->name.len - l->soa_len;
    }
    return r;
}

static DnsdResolved *keep_without(Look *l, uint16_t flags)
{
    /* For the message of the builder, and RDATA of one record */
    uint8_t *buf = malloc(2 * DNS_MSG_MAX + DNS_NAME_MAX * 2);
    DnsdResolved *r = NULL;
    DnsBuilder b;

    if (!buf) {
        return NULL;
    }
    dns_builder_init(&b, buf, DNS_MSG_MAX, 0, 0);
    if (!dns_builder_question(&b, l->question) &&
        !build(l, &b, buf + DNS_MSG_MAX)) {
        r = keep(l, buf + b.question_end, b.len - b.question_end, flags);
    }
    free(buf);
    return r;
}

DnsdResolved *dnsd_resolved_new(const DnsQuestion *question,
                                const uint8_t *msg, size_t len,
                                bool dnssec_ok)
{
    Look l = { .question = question };
    uint16_t flags;

    if (!look(&l, msg, len)) {
        return NULL;
    }
    flags = get_be16(msg + 2);
    if (l.has_dnssec && !dnssec_ok) {
        return keep_without(&l, flags);
    }
    return keep(&l, msg + l.begin, l.end - l.begin, flags);
}

DnsdResolved *dnsd_resolved_failed(int ede)
{
    DnsdResolved *r = calloc(1, sizeof(*r));

    if (r) {
        r->rcode = DNS_RCODE_SERVFAIL;
        r->ede = ede;
    }
    return r;
}

/* --- replies -------------------------------------------------------------- */

/* The limit of the reply, as for answers from images */
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

/* The records were checked before, so each is complete. */
static void count_down(uint8_t *at, unsigned records, uint32_t age)
{
    for (unsigned i = 0; i < records; i++) {
        uint32_t ttl;

        while (*at && *at < POINTER) {
            at += 1 + *at;
        }
        at += *at ? 2 : 1;
        ttl = get_be32(at + 4);
        put_be32(at + 4, ttl > age ? ttl - age : 0);
        at += RR_TAIL + get_be16(at + 8);
    }
}

static DnsAnswerKind kind_of(const DnsdResolved *r)
{
    if (r->rcode == DNS_RCODE_NXDOMAIN) {
        return DNS_ANSWER_NXDOMAIN;
    }
    if (r->rcode != DNS_RCODE_NOERROR) {
        return DNS_ANSWER_ERROR;
    }
    return r->count[DNS_SECTION_ANSWER] ? DNS_ANSWER_RECORDS
                                        : DNS_ANSWER_NODATA;
}

/* RFC 4035 section 3.2.3; RFC 6840 sections 5.7 to 5.9 */
static uint16_t flags_of(const DnsdResolved *r, const DnsQuery *q)
{
    bool wants = q->dnssec_ok || q->flags & DNS_FLAG_AD;

    return DNS_FLAG_QR | DNS_FLAG_RA | r->rcode |
           (q->flags & (DNS_FLAG_RD | DNS_FLAG_CD)) |
           (wants && r->security == DNSD_SECURE ? DNS_FLAG_AD : 0);
}

static size_t put_opt(const DnsdResolved *r, const DnsAnswerer *answerer,
                      const DnsQuery *q, uint8_t *out, size_t len,
                      size_t limit, DnsAnswerInfo *info)
{
    if (!q->has_edns) {
        return len;
    }
    info->opt_at = len;
    dns_edns_put_opt(out + len, answerer->udp_size, r->rcode, q->dnssec_ok);
    len += DNS_OPT_LEN;
    return r->ede < 0 ? len :
           dns_edns_append_ede(out, len, limit, info->opt_at, r->ede);
}

static size_t put(const DnsdResolved *r, uint32_t age,
                  const DnsAnswerer *answerer, const DnsQuery *q, uint8_t *out,
                  size_t limit, DnsAnswerInfo *info)
{
    size_t at = q->question_end;

    *info = (DnsAnswerInfo) {
        .kind = kind_of(r), .rcode = r->rcode, .common_at = r->common_at,
    };
    memcpy(out, q->message, at);
    memcpy(out + at, r->records, r->len);
    count_down(out + at, r->count[0] + r->count[1] + r->count[2], age);
    put_be16(out + 2, flags_of(r, q));
    put_be16(out + 4, 1);
    put_be16(out + 6, r->count[DNS_SECTION_ANSWER]);
    put_be16(out + 8, r->count[DNS_SECTION_AUTHORITY]);
    put_be16(out + 10, r->count[DNS_SECTION_ADDITIONAL] + q->has_edns);
    return put_opt(r, answerer, q, out, at + r->len, limit, info);
}

size_t dnsd_resolved_reply(const DnsdResolved *r, uint32_t age,
                           bool as_failure, const DnsAnswerer *answerer,
                           const DnsQuery *q, uint8_t *out, size_t room,
                           DnsAnswerInfo *info)
{
    size_t limit = limit_of(answerer, q, room);
    size_t tail = q->reserve + (q->has_edns ? DNS_OPT_LEN : 0);

    if (as_failure) {
        return dns_answer_error(answerer, q, DNS_RCODE_SERVFAIL, r->ede, out,
                                room, info);
    }
    if (limit < q->question_end + tail + r->len) {
        return dns_answer_truncated(answerer, q, out, room, info);
    }
    return put(r, age, answerer, q, out, limit - q->reserve, info);
}
