/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies: do they match a query, and what do they say?
 *
 * The answer section is read several times, once for each alias, as records may
 * come in any order (RFC 1034 section 4.3.1 promises none).  A message has at
 * most 64 KiB and a chain DNSC_CHAIN_MAX steps, so the work is bounded.
 */

#include <errno.h>
#include <string.h>

#include "net/dns/client/core/rdata.h"
#include "net/dns/client/core/reply.h"

DnscMatch dnsc_reply_match(const uint8_t *msg, size_t len, uint16_t id,
                           const DnsQuestion *question, bool exact_case)
{
    DnsQuestion got;
    DnsHeader header;
    DnsCursor cursor;

    if (dns_header_parse(msg, len, &header) || !(header.flags & DNS_FLAG_QR) ||
        (header.flags & DNS_FLAGS_OPCODE) != DNS_OPCODE_QUERY) {
        return DNSC_MATCH_NOT_REPLY;
    }
    if (header.id != id) {
        return DNSC_MATCH_WRONG_ID;
    }
    if (header.qdcount == 0 && (header.flags & DNS_FLAGS_RCODE) &&
        (header.flags & DNS_FLAGS_RCODE) != DNS_RCODE_NXDOMAIN) {
        return DNSC_MATCH;
    }
    if (header.qdcount != 1 || dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &got) != 1 ||
        got.type != question->type || got.qclass != question->qclass ||
        !dns_name_equal(&got.name, &question->name) ||
        (exact_case && memcmp(got.name.wire, question->name.wire,
                              question->name.len))) {
        return DNSC_MATCH_WRONG_QUESTION;
    }
    return DNSC_MATCH;
}

/* Look for an Extended DNS Error among the options, RFC 8914 section 2. */
static void look_for_ede(const uint8_t *at, size_t left, DnscLook *look)
{
    while (left >= 4) {
        unsigned option = at[0] << 8 | at[1];
        size_t len = at[2] << 8 | at[3];

        at += 4;
        left -= 4;
        if (len > left) {
            return;
        }
        if (option == DNS_OPTION_EDE && len >= 2) {
            look->ede = at[0] << 8 | at[1];
            look->ede_text = (const char *)at + 2;
            look->ede_text_len = len - 2;
            return;
        }
        at += len;
        left -= len;
    }
}

int dnsc_reply_look(const uint8_t *msg, size_t len, DnscLook *look)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;
    int ret;

    if (dns_header_parse(msg, len, &header) ||
        dns_cursor_init(&cursor, msg, len)) {
        return -EBADMSG;
    }
    *look = (DnscLook){
        .rcode = header.flags & DNS_FLAGS_RCODE,
        .truncated = header.flags & DNS_FLAG_TC,
        .authenticated = header.flags & DNS_FLAG_AD,
        .ede = VMMNET_DNS_NO_EDE,
    };
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.type != DNS_TYPE_OPT || look->edns) {
            continue;
        }
        if (dns_rdata_edns(&cursor, &rr, &edns)) {
            return -EBADMSG;
        }
        look->edns = true;
        look->rcode |= edns.rcode_high << 4;
        look_for_ede(msg + rr.rdata, rr.rdlength, look);
    }
    /* The last record of a truncated message may be incomplete. */
    return ret && !look->truncated ? ret : 0;
}

/* The records of one name that a pass over the answer section finds */
typedef struct Found {
    size_t count;               /* of the type that was asked */
    size_t octets;              /* of their uncompressed RDATA */
    uint32_t ttl;               /* the lowest, of the alias or the records */
    bool alias;
    DnsName target;
} Found;

static int alias_of(const DnsCursor *cursor, const DnsRr *rr,
                    const DnsName *name, Found *found)
{
    DnsName suffix;

    if (dns_rdata_name(cursor, rr, &suffix)) {
        return -EBADMSG;
    }
    if (rr->type == DNS_TYPE_CNAME) {
        found->target = suffix;
    } else if (name->len - rr->name.len + suffix.len > DNS_NAME_MAX) {
        return -EBADMSG;        /* YXDOMAIN, RFC 6672 section 2.2 */
    } else {
        found->target.len = name->len - rr->name.len + suffix.len;
        found->target.labels = name->labels - rr->name.labels + suffix.labels;
        memcpy(found->target.wire, name->wire, name->len - rr->name.len);
        memcpy(found->target.wire + name->len - rr->name.len, suffix.wire,
               suffix.len);
    }
    found->alias = true;
    found->ttl = rr->ttl < found->ttl ? rr->ttl : found->ttl;
    return 0;
}

static int find(const DnsCursor *begin, const DnsName *name, uint16_t type,
                Found *found)
{
    DnsCursor cursor = *begin;
    DnsRr rr;
    int ret;

    *found = (Found){ .ttl = DNSC_TTL_MAX };
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        int len;

        if (rr.section != DNS_SECTION_ANSWER || rr.rrclass != DNS_CLASS_IN) {
            continue;
        }
        if (rr.type == type && dns_name_equal(&rr.name, name)) {
            len = dnsc_rdata_copy(&cursor, &rr, NULL);
            if (len < 0) {
                return len;
            }
            if (found->count < DNSC_RECORDS_MAX) {
                found->count++;
                found->octets += len;
            }
            found->ttl = rr.ttl < found->ttl ? rr.ttl : found->ttl;
        } else if (!found->alias &&
                   ((rr.type == DNS_TYPE_CNAME &&
                     dns_name_equal(&rr.name, name)) ||
                    (rr.type == DNS_TYPE_DNAME &&
                     name->len > rr.name.len &&
                     dns_name_within(name, &rr.name)))) {
            ret = alias_of(&cursor, &rr, name, found);
            if (ret) {
                return ret;
            }
        }
    }
    return ret;
}

/* The TTL of a negative answer, 0 without SOA; RFC 2308 section 5 */
static int denial(const DnsCursor *begin, const DnsName *name, uint32_t *ttl,
                  bool *referral)
{
    DnsCursor cursor = *begin;
    DnsSoa soa;
    DnsRr rr;
    int ret;

    *ttl = 0;
    *referral = false;
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.section != DNS_SECTION_AUTHORITY ||
            rr.rrclass != DNS_CLASS_IN) {
            continue;
        }
        *referral |= rr.type == DNS_TYPE_NS;
        if (rr.type == DNS_TYPE_SOA && dns_name_within(name, &rr.name)) {
            if (dns_rdata_soa(&cursor, &rr, &soa)) {
                return -EBADMSG;
            }
            *ttl = rr.ttl < soa.minimum ? rr.ttl : soa.minimum;
            if (*ttl > DNSC_NEGATIVE_TTL_MAX) {
                *ttl = DNSC_NEGATIVE_TTL_MAX;
            }
            *referral = false;
            return 0;
        }
    }
    return ret;
}

static DnscResult *with_records(const DnsCursor *begin, const DnsName *name,
                                uint16_t type, const Found *found)
{
    DnsCursor cursor = *begin;
    VmmnetDnsRecord *records;
    DnscResult *r;
    uint8_t *data;
    size_t n = 0;
    DnsRr rr;

    r = dnsc_result_new(found->count, found->octets, &records, &data);
    while (r && n < found->count && dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.section == DNS_SECTION_ANSWER && rr.type == type &&
            rr.rrclass == DNS_CLASS_IN && dns_name_equal(&rr.name, name)) {
            records[n].rdata = data;
            records[n].len = dnsc_rdata_copy(&cursor, &rr, data);
            data += records[n++].len;
        }
    }
    return r;
}

/* The chain ends without records: is that a denial, or no answer? */
static int without_records(const DnsCursor *begin, const DnsHeader *header,
                           const DnsName *name, unsigned hops,
                           DnscResult **result)
{
    bool nxdomain = (header->flags & DNS_FLAGS_RCODE) == DNS_RCODE_NXDOMAIN;
    bool referral;
    DnscResult *r;
    uint32_t ttl;

    if (denial(begin, name, &ttl, &referral)) {
        return -EBADMSG;
    }
    if (!nxdomain && !ttl && referral &&
        !(header->flags & (DNS_FLAG_AA | DNS_FLAG_RA))) {
        r = dnsc_result_error(VMMNET_DNS_FAILED,
                              "the server refers to others: it does not "
                              "recurse");
    } else {
        r = dnsc_result_error(nxdomain ? VMMNET_DNS_NO_NAME :
                              VMMNET_DNS_NO_DATA, "");
        if (r->refs) {
            r->ttl = ttl;
            r->follow = !nxdomain && !ttl && hops;
        }
    }
    *result = r;
    return r->refs ? 0 : -ENOMEM;
}

int dnsc_reply_read(const uint8_t *msg, size_t len,
                    const DnsQuestion *question, DnscResult **result)
{
    DnsName name = question->name;
    uint32_t ttl = DNSC_TTL_MAX;
    DnsHeader header;
    unsigned hops = 0;
    DnsCursor begin;
    Found found;
    int ret;

    if (dns_header_parse(msg, len, &header) ||
        dns_cursor_init(&begin, msg, len)) {
        return -EBADMSG;
    }
    for (;;) {
        ret = find(&begin, &name, question->type, &found);
        if (ret) {
            return ret;
        }
        ttl = found.ttl < ttl ? found.ttl : ttl;
        if (found.count || !found.alias) {
            break;
        }
        if (hops++ == DNSC_CHAIN_MAX) {
            *result = dnsc_result_error(VMMNET_DNS_CHAIN,
                                        "more than 16 aliases");
            return (*result)->refs ? 0 : -ENOMEM;
        }
        name = found.target;
    }
    if (found.count) {
        *result = with_records(&begin, &name, question->type, &found);
        ret = *result ? 0 : -ENOMEM;
    } else {
        ret = without_records(&begin, &header, &name, hops, result);
    }
    if (!ret) {
        (*result)->canonical = name;
        (*result)->hops = hops;
        if (found.count || (*result)->follow || ttl < (*result)->ttl) {
            (*result)->ttl = ttl;
        }
    }
    return ret;
}
