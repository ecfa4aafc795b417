/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole replies, for callers that parse them */

#include <errno.h>
#include <string.h>

#include "net/dns/client/core/rdata.h"
#include "net/dns/client/core/reply.h"
#include "net/dns/client/core/whole.h"

#define TTL_LEN 4       /* followed by RDLENGTH of 2, then RDATA */

/* The contents of a reply */
typedef struct Contents {
    bool has_type;              /* the answer section has the type asked */
    bool has_soa;               /* the authority section has a SOA */
    uint32_t answer_ttl;        /* the least one */
    uint32_t denial_ttl;
} Contents;

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The cursor is behind the question.  Returns 0 or -EBADMSG. */
static int read_contents(DnsCursor *cursor, uint16_t type, Contents *c)
{
    DnsSoa soa;
    DnsRr rr;
    int ret;

    *c = (Contents){ .answer_ttl = DNSC_TTL_MAX,
                     .denial_ttl = DNSC_NEGATIVE_TTL_MAX };
    while ((ret = dns_cursor_rr(cursor, &rr)) > 0) {
        if (rr.rrclass == DNS_CLASS_IN &&
            rr.section != DNS_SECTION_ADDITIONAL &&
            !dnsc_rdata_passes(cursor, &rr)) {
            return -EBADMSG;
        }
        if (rr.section == DNS_SECTION_ANSWER) {
            c->has_type |= rr.type == type || type == DNS_TYPE_ANY;
            c->answer_ttl = least(c->answer_ttl, rr.ttl);
        } else if (rr.section == DNS_SECTION_AUTHORITY &&
                   rr.type == DNS_TYPE_SOA) {
            c->has_soa = true;
            c->denial_ttl = dns_rdata_soa(cursor, &rr, &soa) ? 0 :
                            least(c->denial_ttl, least(rr.ttl, soa.minimum));
        }
    }
    return ret;
}

/*
 * An authoritative reply without records is NODATA without SOA (RFC 2308
 * section 2.2).  If the reply has an alias, AA applies to the alias only (RFC
 * 1035 section 4.1.1).
 */
static bool is_lame(const DnsHeader *header, const Contents *c)
{
    return (header->flags & DNS_FLAGS_RCODE) == DNS_RCODE_NOERROR &&
           !(header->flags & DNS_FLAG_RA) && !c->has_type && !c->has_soa &&
           !(header->flags & DNS_FLAG_AA && !header->ancount);
}

static DnscResult *with_message(const uint8_t *msg, size_t len)
{
    VmmnetDnsRecord *records;
    DnscResult *r;
    uint8_t *data;

    r = dnsc_result_new(0, len, &records, &data);
    if (r) {
        memcpy(data, msg, len);
        r->whole = data;
        r->whole_len = len;
    }
    return r;
}

/*
 * Read the header, and move the cursor behind the only question: records are
 * copied with the offsets that it gives them.  Returns 0 or -EBADMSG.
 */
static int begin(const uint8_t *msg, size_t len, DnsHeader *header,
                 DnsCursor *cursor, DnsQuestion *question)
{
    return dns_header_parse(msg, len, header) || header->qdcount != 1 ||
           dns_cursor_init(cursor, msg, len) ||
           dns_cursor_question(cursor, question) <= 0 ? -EBADMSG : 0;
}

static void set_outcome(DnscResult *r, const DnsHeader *header,
                        const Contents *c)
{
    if ((header->flags & DNS_FLAGS_RCODE) == DNS_RCODE_NXDOMAIN) {
        r->error = VMMNET_DNS_NO_NAME;
    } else if (!c->has_type) {
        r->error = VMMNET_DNS_NO_DATA;
    }
    if (r->error == VMMNET_DNS_OK) {
        r->ttl = c->answer_ttl;
    } else if (c->has_soa) {
        r->ttl = least(c->answer_ttl, c->denial_ttl);
    }
}

int dnsc_whole_read(const uint8_t *msg, size_t len, DnscResult **result)
{
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;
    Contents c;

    if (begin(msg, len, &header, &cursor, &question) ||
        read_contents(&cursor, question.type, &c)) {
        return -EBADMSG;
    }
    if (is_lame(&header, &c)) {
        *result = dnsc_result_error(VMMNET_DNS_REFUSED,
                                    "the server does not recurse");
        return (*result)->refs ? 0 : -ENOMEM;
    }
    *result = with_message(msg, len);
    if (!*result) {
        return -ENOMEM;
    }
    set_outcome(*result, &header, &c);
    return 0;
}

DnscResult *dnsc_whole_refusal(const uint8_t *msg, size_t len)
{
    DnscResult *r = NULL;
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;

    if (!begin(msg, len, &header, &cursor, &question)) {
        r = with_message(msg, len);
    }
    if (!r) {
        return dnsc_result_error(VMMNET_DNS_REFUSED, "the server refuses");
    }
    r->error = VMMNET_DNS_REFUSED;
    return r;
}

void dnsc_whole_distrust(DnscResult *result)
{
    /* The message is in the memory of the result: dnsc_result_new(). */
    uint8_t *msg = (uint8_t *)result->whole;

    if (msg) {
        msg[3] &= ~DNS_FLAG_AD;
    }
}

void dnsc_whole_age(uint8_t *msg, size_t len, uint32_t seconds)
{
    DnsCursor cursor;
    DnsRr rr;

    if (!seconds || dns_cursor_init(&cursor, msg, len)) {
        return;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        uint8_t *at = msg + rr.rdata - 2 - TTL_LEN;
        uint32_t ttl = rr.ttl > seconds ? rr.ttl - seconds : 0;

        if (rr.type != DNS_TYPE_OPT) {
            at[0] = ttl >> 24;
            at[1] = ttl >> 16;
            at[2] = ttl >> 8;
            at[3] = ttl;
        }
    }
}
