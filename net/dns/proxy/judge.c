/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy: the addresses that the guest may be led to
 *
 * The owner judges each address (ops->usable, ops->usable4).  This file finds
 * the addresses in records of all types, and counts those that are withheld.
 */
#include <errno.h>
#include <string.h>

#include "net/dns/proxy/judge.h"

/* Does the owner's verdict let the address through?  If not, count and tell. */
static bool judge(DnsProxy *p, Request *r, const struct in6_addr *addr6,
                  int ret)
{
    if (!ret) {
        return true;
    }
    r->left_out = true;
    if (ret == -EACCES) {
        r->blocked = true;
        p->counters.addresses_private++;
    } else {
        p->counters.addresses_unusable++;
    }
    p->ops->withheld(p->opaque, &r->client.question.name, addr6, ret);
    return false;
}

bool dns_proxy_lets(DnsProxy *p, Request *r, const struct in6_addr *addr6)
{
    return judge(p, r, addr6,
                 p->ops->usable(p->opaque, &r->client.question.name, addr6));
}

void dns_proxy_leave_out(DnsProxy *p, Request *r, const PlainAddresses *found)
{
    p->counters.addresses_over_limit += found->over_limit;
    r->left_out |= found->over_limit;
    for (size_t i = 0; i < found->num_withheld; i++) {
        judge(p, r, &found->withheld[i].addr6, found->withheld[i].error);
    }
}

/* The examination of a reply that passes whole or not at all */
typedef struct Passage {
    DnsProxy *p;
    Request *r;
    unsigned left;          /* addresses that may still be examined */
} Passage;

static bool lets_addr4(Passage *to, const uint8_t *octets)
{
    const DnsName *asked = &to->r->client.question.name;
    struct in6_addr addr6 = { .s6_addr = { [10] = 0xff, 0xff } };
    struct in_addr addr4;

    memcpy(&addr4, octets, sizeof(addr4));
    memcpy(&addr6.s6_addr[12], octets, sizeof(addr4));
    return judge(to->p, to->r, &addr6,
                 to->p->ops->usable4(to->p->opaque, asked, addr4));
}

static bool lets_addr6(Passage *to, const uint8_t *octets)
{
    struct in6_addr addr6;

    memcpy(&addr6, octets, sizeof(addr6));
    return dns_proxy_lets(to->p, to->r, &addr6);
}

typedef bool LetsFunc(Passage *to, const uint8_t *octets);

/*
 * Examine a list: all addresses of @size octets in @len octets, nothing else.
 */
static bool lets_list(Passage *to, LetsFunc *lets, size_t size,
                      const uint8_t *octets, size_t len)
{
    for (; len >= size; octets += size, len -= size) {
        if (!to->left || !lets(to, octets)) {
            return false;
        }
        to->left--;
    }
    return !len;
}

static bool lets_hints(Passage *to, const DnsCursor *cursor, const DnsRr *rr)
{
    DnsSvcParams params;
    const uint8_t *value;
    uint16_t key;
    size_t len;
    int ret = dns_rdata_svcb(cursor, rr, &params);

    while (!ret && (ret = dns_svcb_param(&params, &key, &value, &len)) > 0) {
        if (key == DNS_SVCB_ECH && to->p->ops->hides_ech(to->p->opaque)) {
            return false;
        }
        if ((key == DNS_SVCB_IPV4HINT &&
             !lets_list(to, lets_addr4, 4, value, len)) ||
            (key == DNS_SVCB_IPV6HINT &&
             !lets_list(to, lets_addr6, 16, value, len))) {
            return false;
        }
        ret = 0;
    }
    return !ret;
}

static bool lets_record(Passage *to, const DnsCursor *cursor, const DnsRr *rr)
{
    const uint8_t *rdata = cursor->msg + rr->rdata;

    switch (rr->type) {
    case DNS_TYPE_A:
        return rr->rdlength == 4 && lets_list(to, lets_addr4, 4, rdata, 4);
    case DNS_TYPE_AAAA:
        return rr->rdlength == 16 && lets_list(to, lets_addr6, 16, rdata, 16);
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
        return lets_hints(to, cursor, rr);
    default:
        return true;
    }
}

/* Is this a type whose records are addresses, which pass to a validator? */
static bool is_address_type(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
    case DNS_TYPE_ANY:
        return true;
    default:
        return false;
    }
}

bool dns_proxy_lets_pass(DnsProxy *p, Request *r, const Reply *reply)
{
    Passage to = { .p = p, .r = r, .left = DNS_REPLY_MAX_RECORDS };
    DnsCursor cursor;
    DnsRr rr;

    if (!is_address_type(reply->type)) {
        return true;
    }
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_cursor_rr(&cursor, &rr) > 0 &&
           rr.section == DNS_SECTION_ANSWER) {
        if (!lets_record(&to, &cursor, &rr)) {
            return false;
        }
    }
    return true;
}

/* --- where a name leads on ------------------------------------------------ */

static void tell_alias(void *opaque, const DnsName *name, uint32_t ttl,
                       const DnsName *target)
{
    const Passage *to = opaque;

    to->p->ops->leads_on(to->p->opaque, &to->r->client.question.name, target);
}

/* Octets before the target in RDATA of this type; 0: it has no target */
static size_t target_at(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
        return 2;
    case DNS_TYPE_SRV:
        return 6;
    default:
        return 0;
    }
}

void dns_proxy_tell_targets(DnsProxy *p, Request *r, const Reply *reply)
{
    Passage to = { .p = p, .r = r, .left = DNS_REPLY_MAX_TARGETS };
    DnsName name = r->client.question.name, target;
    size_t at = target_at(reply->type);
    uint32_t ttl = UINT32_MAX;
    DnsCursor cursor;
    DnsRr rr;

    if (dns_reply_follow(reply, &name, &ttl, tell_alias, &to) || !at) {
        return;
    }
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (to.left-- && dns_reply_find(&cursor, &name, reply->type, &rr)) {
        size_t pos = rr.rdata + at;

        if (rr.rdlength > at &&
            !dns_name_parse(reply->msg, reply->len, &pos, &target)) {
            tell_alias(&to, &name, rr.ttl, &target);
        }
    }
}
