/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy: what a reply from upstream says
 *
 * Only records that follow from the question are believed: the aliases that
 * begin at the name that was asked, and the records at their end.
 */
#include <errno.h>
#include <string.h>

#include "net/dns/client/core/rdata.h"
#include "net/dns/proxy/reply.h"
#include "net/dns/wire/fields.h"

/* A longer chain is a loop or nonsense. */
#define MAX_CNAMES 16

static int check_question(DnsCursor *cursor, const DnsQuestion *asked)
{
    DnsQuestion question;

    if (cursor->left[0] != 1 || dns_cursor_question(cursor, &question) <= 0 ||
        question.type != asked->type || question.qclass != asked->qclass ||
        !dns_name_equal(&question.name, &asked->name)) {
        return -EBADMSG;
    }
    return 0;
}

/*
 * Has RDATA the shape of its type?  A malformed record that is skipped would
 * look absent, and that is a different answer.  Types that the proxy does not
 * read are left to the guest.
 */
static bool is_well_formed(const DnsCursor *cursor, const DnsRr *rr)
{
    if (rr->rrclass != DNS_CLASS_IN || rr->section == DNS_SECTION_ADDITIONAL) {
        return true;
    }
    if (rr->type == DNS_TYPE_HTTPS || rr->type == DNS_TYPE_SVCB) {
        return !dns_rdata_check(rr->type, rr->rrclass,
                                cursor->msg + rr->rdata, rr->rdlength);
    }
    return dnsc_rdata_passes(cursor, rr);
}

int dns_reply_parse(Reply *reply, const DnsQuestion *asked,
                    const uint8_t *msg, size_t len)
{
    DnsCursor cursor;
    DnsHeader header;
    DnsRr rr;
    int ret;

    if (len > DNS_MSG_MAX || dns_header_parse(msg, len, &header) ||
        !(header.flags & DNS_FLAG_QR) ||
        header.flags & (DNS_FLAGS_OPCODE | DNS_FLAG_TC) ||
        dns_cursor_init(&cursor, msg, len) ||
        check_question(&cursor, asked)) {
        return -EBADMSG;
    }
    *reply = (Reply) {
        .msg = msg,
        .len = len,
        .type = asked->type,
        .flags = header.flags,
        .rcode = header.flags & DNS_FLAGS_RCODE,
    };
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.section == DNS_SECTION_ADDITIONAL && !reply->plain_len) {
            reply->plain_len = rr.start;
        }
        if (!is_well_formed(&cursor, &rr)) {
            return -EBADMSG;
        }
        if (rr.type != DNS_TYPE_OPT) {
            continue;
        }
        if (reply->has_edns || dns_rdata_edns(&cursor, &rr, &reply->edns)) {
            return -EBADMSG;
        }
        reply->has_edns = true;
        reply->rcode |= reply->edns.rcode_high << 4;
    }
    if (!reply->plain_len) {
        reply->plain_len = cursor.offset;
    }
    return ret;
}

bool dns_reply_find(DnsCursor *cursor, const DnsName *owner, uint16_t type,
                    DnsRr *rr)
{
    /* The reply was checked before, so -EBADMSG is impossible here. */
    for (int n = 0; n < DNS_REPLY_MAX_RECORDS; n++) {
        if (dns_cursor_rr(cursor, rr) <= 0 ||
            rr->section > DNS_SECTION_ANSWER) {
            return false;
        }
        if (rr->section == DNS_SECTION_ANSWER && rr->type == type &&
            rr->rrclass == DNS_CLASS_IN &&
            dns_name_equal(&rr->name, owner)) {
            return true;
        }
    }
    return false;
}

bool dns_reply_is_negative(const Reply *reply)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_cursor_rr(&cursor, &rr) > 0 &&
           rr.section == DNS_SECTION_ANSWER) {
        if (rr.type != DNS_TYPE_CNAME && rr.type != DNS_TYPE_DNAME &&
            rr.type != DNS_TYPE_RRSIG) {
            return false;
        }
    }
    return true;
}

typedef struct Alias {
    DnsName name;
    DnsName target;
    uint32_t ttl;
} Alias;

/*
 * Collect the aliases of the answer section, the first @max of them.  Returns
 * their number.  One walk serves all steps of a chain: a hostile reply could
 * make each step slow.
 */
static size_t collect_aliases(const Reply *reply, Alias *aliases, size_t max)
{
    DnsCursor cursor;
    size_t num = 0;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    for (int n = 0; n < DNS_REPLY_MAX_RECORDS && num < max; n++) {
        if (dns_cursor_rr(&cursor, &rr) <= 0 ||
            rr.section > DNS_SECTION_ANSWER) {
            break;
        }
        if (rr.section == DNS_SECTION_ANSWER && rr.type == DNS_TYPE_CNAME &&
            rr.rrclass == DNS_CLASS_IN &&
            !dns_rdata_name(&cursor, &rr, &aliases[num].target)) {
            aliases[num].name = rr.name;
            aliases[num++].ttl = rr.ttl;
        }
    }
    return num;
}

/* Find the alias whose owner is @name, wherever it stands, or NULL. */
static const Alias *find_alias(const Alias *aliases, size_t num,
                               const DnsName *name)
{
    for (size_t i = 0; i < num; i++) {
        if (dns_name_equal(&aliases[i].name, name)) {
            return &aliases[i];
        }
    }
    return NULL;
}

int dns_reply_follow(const Reply *reply, DnsName *name, uint32_t *ttl,
                     DnsAliasFunc *func, void *opaque)
{
    Alias aliases[MAX_CNAMES + 1];
    size_t num = collect_aliases(reply, aliases, MAX_CNAMES + 1);
    const Alias *alias;

    for (int n = 0; (alias = find_alias(aliases, num, name)); n++) {
        if (n == MAX_CNAMES) {
            return -ELOOP;
        }
        if (func) {
            func(opaque, name, alias->ttl, &alias->target);
        }
        *ttl = MIN(*ttl, alias->ttl);
        *name = alias->target;
    }
    return 0;
}

bool dns_reply_soa(const Reply *reply, const DnsName *name, DnsRr *rr,
                   DnsSoa *soa)
{
    DnsCursor cursor;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_cursor_rr(&cursor, rr) > 0) {
        if (rr->section == DNS_SECTION_AUTHORITY &&
            rr->type == DNS_TYPE_SOA && rr->rrclass == DNS_CLASS_IN &&
            dns_name_within(name, &rr->name) &&
            !dns_rdata_soa(&cursor, rr, soa)) {
            rr->ttl = MIN(rr->ttl, soa->minimum);
            return true;
        }
    }
    return false;
}

static struct in6_addr mapped(struct in_addr addr4)
{
    struct in6_addr addr6 = { .s6_addr = { [10] = 0xff, 0xff } };

    memcpy(&addr6.s6_addr[12], &addr4, sizeof(addr4));
    return addr6;
}

void dns_proxy_plain_addresses(const DnsProxy *p, const Request *r,
                               const Reply *reply, PlainAddresses *found)
{
    const DnsName *asked = &r->client.question.name;
    uint32_t ttl = UINT32_MAX;
    DnsName end = *asked;
    struct in_addr addr4 = { };
    DnsCursor cursor;
    DnsRr rr;

    found->num = found->num_withheld = found->over_limit = 0;
    if (dns_reply_follow(reply, &end, &ttl, NULL, NULL)) {
        return;
    }
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_reply_find(&cursor, &end, DNS_TYPE_A, &rr)) {
        int ret = dns_rdata_a(&cursor, &rr, &addr4);

        ret = ret ? ret : p->ops->usable4(p->opaque, asked, addr4);
        if (ret && found->num_withheld < DNS_PROXY_MAX_ADDRESSES) {
            found->withheld[found->num_withheld].addr6 = mapped(addr4);
            found->withheld[found->num_withheld++].error = ret;
        } else if (ret || found->num == DNS_PROXY_MAX_ADDRESSES) {
            found->over_limit++;
        } else {
            found->addr[found->num++] = (DnsProxyAddress) {
                .addr6 = mapped(addr4), .ttl = MIN(ttl, rr.ttl),
            };
        }
    }
}
