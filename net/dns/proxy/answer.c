/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy: the answers to the guest
 *
 * An answer is built in the one buffer of the proxy.  Its request ends before
 * ops->answer is called, so the callee finds no request half done.
 */
#include <errno.h>
#include <string.h>

#include "net/dns/proxy/answer.h"
#include "net/dns/proxy/judge.h"
#include "net/dns/proxy/requests.h"
#include "net/dns/proxy/svcb-hints.h"
#include "base/octets.h"

#define OPT_LEN 11      /* without options */

static size_t client_limit(const Client *client)
{
    if (client->transport == DNS_TRANSPORT_TCP) {
        return DNS_MSG_MAX;
    }
    return client->has_edns ? MAX(client->edns.udp_size, DNS_UDP_MIN)
                            : DNS_UDP_MIN;
}

/* An OPT fits behind the records, at least without its error text. */
static size_t records_limit(const Client *client)
{
    return client_limit(client) - (client->has_edns ? OPT_LEN : 0);
}

static void begin_answer(DnsProxy *p, const Client *client, DnsRcode rcode,
                         DnsBuilder *b)
{
    dns_builder_init(b, p->out, records_limit(client), client->id,
                     DNS_FLAG_QR | DNS_FLAG_RA |
                     (client->flags & (DNS_FLAGS_OPCODE | DNS_FLAG_RD |
                                       DNS_FLAG_CD)) |
                     (rcode & DNS_FLAGS_RCODE));
    if (client->has_question) {
        /* Cannot fail: DNS_UDP_MIN has room for the longest question. */
        dns_builder_question(b, &client->question);
    }
}

/* ede: a DnsEde, or -1 for none */
static DnsEdns edns_for(const Client *client, uint16_t rcode, int ede)
{
    return (DnsEdns) {
        .udp_size = DNS_UDP_ADVERTISED,
        .rcode_high = rcode >> 4,
        .dnssec_ok = client->edns.dnssec_ok,
        .has_ede = ede >= 0,
        .ede = ede >= 0 ? ede : 0,
    };
}

/*
 * Add OPT if the guest speaks EDNS, and pass the answer on.  @fits: all records
 * are in it.  If not, it has the records before the first one that did not fit,
 * and TC.  A client that cannot use TCP has at least these (RFC 2181 section
 * 9).
 */
static void finish_answer(DnsProxy *p, const Client *client, DnsBuilder *b,
                          bool fits, uint16_t rcode, int ede)
{
    DnsEdns edns = edns_for(client, rcode, ede);

    if (!fits) {
        p->counters.truncated++;
        dns_builder_truncate(b);
    }
    b->size = client_limit(client);
    if (client->has_edns && dns_builder_edns(b, &edns)) {
        edns.has_ede = false;
        dns_builder_edns(b, &edns);
    }
    p->ops->answer(p->opaque, client->token, p->out, b->len);
}

void dns_proxy_answer_bare(DnsProxy *p, const Client *client, DnsRcode rcode,
                           int ede)
{
    DnsBuilder b;

    begin_answer(p, client, rcode, &b);
    finish_answer(p, client, &b, true, rcode, ede);
}

/*
 * Will the same query have the same answer as long as its TTLs last?  The proxy
 * only knows the query of an answer that came at once.  If A is asked for as
 * well, or the answer has hints, ops->resolved must be called for each reply.
 */
static bool may_keep(const DnsProxy *p, const Request *r)
{
    return r == p->of_query && !r->left_out && !r->has_hints &&
           r->state[ASK_PLAIN] == ASK_UNUSED &&
           r->kind != REQUEST_PTR &&
           (r->kind != REQUEST_PASS || r->asked[ASK_MAIN].type != DNS_TYPE_A);
}

/* Remember the answer in p->out, which @counter counted. */
static void keep(DnsProxy *p, const DnsBuilder *b, const Client *client,
                 const DnsProxyAddress *addrs, size_t num, uint64_t *counter)
{
    DnsHeader header;

    dns_header_parse(p->out, b->len, &header);
    if (!(header.flags & DNS_FLAG_TC)) {
        dns_memory_keep(p->memory, p->query, p->query_len, client->transport,
                        p->ops->now_ms(p->opaque), p->out, b->len, addrs, num,
                        counter);
    }
}

/* The counter of an answer made from a reply with this RCODE, or NULL */
static uint64_t *counter_of(DnsProxy *p, RequestKind kind, uint16_t rcode)
{
    if (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN) {
        return NULL;
    }
    if (kind == REQUEST_PASS) {
        return &p->counters.passed;
    }
    if (kind == REQUEST_SERVICE) {
        return &p->counters.answers_service;
    }
    if (kind == REQUEST_ANY) {
        return &p->counters.answers_any;
    }
    return rcode ? &p->counters.nxdomain : &p->counters.nodata;
}

/* The answer to r is in b: end r, then pass the answer on. */
static void conclude(DnsProxy *p, Request *r, DnsBuilder *b, bool fits,
                     uint16_t rcode, int ede)
{
    uint64_t *counter = may_keep(p, r) ? counter_of(p, r->kind, rcode) : NULL;
    Client client = r->client;

    dns_proxy_end_request(p, r);
    finish_answer(p, &client, b, fits, rcode, ede);
    if (counter) {
        keep(p, b, &client, NULL, 0, counter);
    }
}

void dns_proxy_fail(DnsProxy *p, Request *r, DnsEde ede, uint64_t *counter)
{
    DnsBuilder b;

    (*counter)++;
    begin_answer(p, &r->client, DNS_RCODE_SERVFAIL, &b);
    conclude(p, r, &b, true, DNS_RCODE_SERVFAIL, ede);
}

/*
 * Add a SOA record of the proxy itself.  It names no server and no mailbox that
 * exist.  Its owner is the zone for caches; it says nothing about the true zone
 * of the name.
 */
static bool add_own_soa(DnsBuilder *b, const DnsName *owner, uint32_t ttl)
{
    static const DnsName mname = {
        .wire = "\7invalid", .len = sizeof("\7invalid"), .labels = 1,
    };
    static const DnsName rname = {
        .wire = "\6nobody\7invalid", .len = sizeof("\6nobody\7invalid"),
        .labels = 2,
    };
    const DnsSoa soa = {
        .mname = mname, .rname = rname, .serial = 1, .refresh = 3600,
        .retry = 1200, .expire = 604800, .minimum = ttl,
    };

    return !dns_builder_soa(b, DNS_SECTION_AUTHORITY, owner, ttl, &soa);
}

void dns_proxy_answer_nothing(DnsProxy *p, Request *r)
{
    DnsBuilder b;
    bool fits;

    p->counters.nxdomain++;
    begin_answer(p, &r->client, DNS_RCODE_NXDOMAIN, &b);
    fits = add_own_soa(&b, &r->client.question.name, DNS_PROXY_NOTHING_TTL);
    conclude(p, r, &b, fits, DNS_RCODE_NXDOMAIN, -1);
}

static void count_negative(DnsProxy *p, uint16_t rcode)
{
    if (rcode == DNS_RCODE_NXDOMAIN) {
        p->counters.nxdomain++;
    } else {
        p->counters.nodata++;
    }
}

void dns_proxy_answer_local(DnsProxy *p, Request *r,
                            const DnsLocalAnswer *local)
{
    const DnsName *name = &r->client.question.name;
    bool fits = true;
    DnsBuilder b;

    begin_answer(p, &r->client, local->rcode, &b);
    for (size_t i = 0; i < local->num_addrs; i++) {
        fits = fits && !dns_builder_a(&b, DNS_SECTION_ANSWER, name,
                                      DNS_LOCAL_TTL, local->addr[i]);
    }
    if (local->target) {
        fits = fits && !dns_builder_name(&b, DNS_SECTION_ANSWER, name,
                                         DNS_TYPE_PTR, DNS_LOCAL_TTL,
                                         local->target);
    }
    if (local->num_addrs || local->target) {
        p->counters.answers_local++;
    } else {
        count_negative(p, local->rcode);
        fits = add_own_soa(&b, local->zone, DNS_LOCAL_TTL);
    }
    conclude(p, r, &b, fits, local->rcode, -1);
}

static void bad_reply(DnsProxy *p, Request *r)
{
    p->counters.replies_bad++;
    dns_proxy_fail(p, r, DNS_EDE_OTHER, &p->counters.servfail_upstream);
}

/* The destination of the aliases of a reply */
typedef struct AliasCopy {
    DnsBuilder *b;
    bool fits;
} AliasCopy;

static void copy_alias(void *opaque, const DnsName *name, uint32_t ttl,
                       const DnsName *target)
{
    AliasCopy *copy = opaque;

    copy->fits = copy->fits && !dns_builder_name(copy->b, DNS_SECTION_ANSWER,
                                                 name, DNS_TYPE_CNAME, ttl,
                                                 target);
}

/* Has the end of the aliases a record of the type that was asked for? */
static bool has_answer(const Reply *reply, const DnsName *end, uint32_t *ttl)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    if (reply->type == DNS_TYPE_ANY) {
        *ttl = UINT32_MAX;
        return !dns_reply_is_negative(reply);
    }
    if (!dns_reply_find(&cursor, end, reply->type, &rr)) {
        return false;
    }
    *ttl = rr.ttl;
    return true;
}

/*
 * Add the SOA that says how long a negative answer holds (RFC 2308): that of
 * the reply, if it has one.  If the reply has records, which the proxy
 * withholds, add a SOA of the proxy.  A negative reply without SOA stays
 * without, and is not cached.
 */
static bool add_soa(DnsBuilder *b, const Reply *reply, const DnsName *end)
{
    uint32_t ttl;
    DnsRr rr;
    DnsSoa soa;

    if (dns_reply_soa(reply, end, &rr, &soa)) {
        return !dns_builder_soa(b, DNS_SECTION_AUTHORITY, &rr.name, rr.ttl,
                                &soa);
    }
    return !has_answer(reply, end, &ttl) ||
           add_own_soa(b, end, MIN(ttl, DNS_PROXY_NEGATIVE_TTL));
}

static int upstream_ede(const Reply *reply)
{
    return reply->has_edns && reply->edns.has_ede ? reply->edns.ede : -1;
}

/* A client that sets DO or AD wants the AD bit, RFC 6840 5.7 */
static bool wants_ad(const Client *client)
{
    return client->edns.dnssec_ok || client->flags & DNS_FLAG_AD;
}

/*
 * Write the upstream's message, behind the id and question of the guest,
 * and without the additional section.  No record before that section points
 * into it, and its records are optional.  Addresses in it (for an SRV or MX
 * target) are addresses of the network; if the guest asks for them, the proxy
 * translates them.  AD is what the upstream says of the records that are left.
 * Returns whether it fits.
 */
static bool adopt(DnsProxy *p, const Client *client, const Reply *reply,
                  uint16_t rcode, DnsBuilder *b)
{
    uint16_t flags = reply->flags & ~DNS_FLAGS_RCODE;

    if (!wants_ad(client)) {
        flags &= ~DNS_FLAG_AD;
    }
    dns_builder_init(b, p->out, records_limit(client), client->id,
                     flags | (rcode & DNS_FLAGS_RCODE));
    dns_builder_question(b, &client->question);
    return !dns_builder_adopt(b, reply->msg, reply->plain_len);
}

/* Answer with the upstream's message. */
static void pass(DnsProxy *p, Request *r, const Reply *reply, int ede)
{
    const Client *client = &r->client;
    uint16_t rcode = reply->rcode;
    DnsBuilder b;
    bool fits;

    if (rcode > DNS_FLAGS_RCODE && !client->has_edns) {
        rcode = DNS_RCODE_SERVFAIL;
    }
    fits = adopt(p, client, reply, rcode, &b);
    conclude(p, r, &b, fits, rcode, ede);
}

/*
 * Is this reply the whole answer to a query with DO?  NXDOMAIN is valid for all
 * types; a proof of NODATA is valid for the type that it was made for.
 */
static bool is_proof(const Request *r, const Reply *reply)
{
    return r->client.edns.dnssec_ok && !reply->exists &&
           (reply->rcode == DNS_RCODE_NXDOMAIN ||
            reply->type == r->client.question.type) &&
           dns_reply_is_negative(reply);
}

/* Is the name itself an alias? */
static bool is_alias(const Reply *reply, const DnsName *name)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    return dns_reply_find(&cursor, name, DNS_TYPE_CNAME, &rr);
}

/* ANY of a name without address, or of an alias of a name that is missing */
static bool is_any(const Request *r, const Reply *reply)
{
    const DnsQuestion *asked = &r->client.question;

    return asked->type == DNS_TYPE_ANY && reply->type != DNS_TYPE_ANY &&
           !reply->exists && (reply->rcode == DNS_RCODE_NOERROR ||
                              is_alias(reply, &asked->name));
}

/* The name has records of other types only.  @ede: as edns_for() */
static void answer_any(DnsProxy *p, Request *r, const Reply *reply, int ede)
{
    /* RFC 8482 section 4.2: CPU is "RFC8482", OS is empty */
    static const char hinfo[] = "\7RFC8482";
    const DnsName *asked = &r->client.question.name;
    DnsName name = *asked;
    uint32_t ttl = UINT32_MAX;
    DnsBuilder b;
    AliasCopy copy = { &b, true };

    begin_answer(p, &r->client, DNS_RCODE_NOERROR, &b);
    if (dns_reply_follow(reply, &name, &ttl, copy_alias, &copy)) {
        bad_reply(p, r);
        return;
    }
    if (dns_name_equal(&name, asked)) {
        copy.fits = !dns_builder_raw(&b, DNS_SECTION_ANSWER, asked,
                                     DNS_TYPE_HINFO, DNS_CLASS_IN,
                                     DNS_PROXY_NEGATIVE_TTL, hinfo,
                                     sizeof(hinfo));
    }
    p->counters.answers_any++;
    r->kind = REQUEST_ANY;
    conclude(p, r, &b, copy.fits, DNS_RCODE_NOERROR, ede);
}

void dns_proxy_answer_negative(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    DnsBuilder b;
    AliasCopy copy = { &b, true };
    uint32_t ttl = UINT32_MAX;
    int ede = r->blocked ? DNS_EDE_BLOCKED : -1;

    if (is_any(r, reply)) {
        answer_any(p, r, reply, ede);
        return;
    }
    if (is_proof(r, reply)) {
        count_negative(p, reply->rcode);
        pass(p, r, reply, ede);
        return;
    }
    begin_answer(p, &r->client, reply->rcode, &b);
    if (dns_reply_follow(reply, &name, &ttl, copy_alias, &copy)) {
        bad_reply(p, r);
        return;
    }
    copy.fits = copy.fits && add_soa(&b, reply, &name);
    count_negative(p, reply->rcode);
    conclude(p, r, &b, copy.fits, reply->rcode, ede);
}

/*** A from AAAA ***/

typedef struct VirtualAddresses {
    struct in_addr addr[DNS_PROXY_MAX_ADDRESSES];
    DnsProxyAddress real[DNS_PROXY_MAX_ADDRESSES];
    size_t count;
    uint32_t ttl;           /* the TTL of all the A records */
    bool pool_full;
} VirtualAddresses;

/* @alias_ttl: the least TTL of the aliases that lead to the address */
static void map_one(DnsProxy *p, Request *r, const struct in6_addr *addr6,
                    uint32_t ttl, uint32_t alias_ttl, VirtualAddresses *found)
{
    struct in_addr addr4;
    uint32_t lease = 0;
    int ret;

    if (!dns_proxy_lets(p, r, addr6)) {
        return;
    }
    if (found->count == DNS_PROXY_MAX_ADDRESSES) {
        p->counters.addresses_over_limit++;
        r->left_out = true;
        return;
    }
    ret = p->ops->map(p->opaque, addr6, ttl, &addr4, &lease);
    if (ret == -ENOSPC) {
        p->counters.addresses_pool_full++;
        found->pool_full = true;
    } else if (ret) {
        p->counters.addresses_unusable++;
    } else {
        found->real[found->count].addr6 = *addr6;
        found->real[found->count].ttl = MIN(ttl, alias_ttl);
        found->addr[found->count++] = addr4;
        found->ttl = MIN(found->ttl, MIN(ttl, lease));
    }
    r->left_out |= ret;
}

/* Step (5): virtual addresses for the AAAA records of a name, in their order */
static void collect_virtual(DnsProxy *p, Request *r, const Reply *reply,
                            const DnsName *name, uint32_t alias_ttl,
                            VirtualAddresses *found)
{
    struct in6_addr addr6;
    DnsCursor cursor;
    DnsRr rr;

    found->count = 0;
    found->ttl = UINT32_MAX;
    found->pool_full = false;
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_reply_find(&cursor, name, DNS_TYPE_AAAA, &rr)) {
        if (!dns_rdata_aaaa(&cursor, &rr, &addr6)) {
            map_one(p, r, &addr6, rr.ttl, alias_ttl, found);
        }
    }
}

/* Step (6) */
bool dns_proxy_answer_virtual(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t alias_ttl = UINT32_MAX;
    VirtualAddresses found;
    bool keeps;
    Client client;
    DnsBuilder b;
    AliasCopy copy = { &b, true };

    begin_answer(p, &r->client, DNS_RCODE_NOERROR, &b);
    if (dns_reply_follow(reply, &name, &alias_ttl, copy_alias, &copy)) {
        bad_reply(p, r);
        return true;
    }
    collect_virtual(p, r, reply, &name, alias_ttl, &found);
    if (!found.count && found.pool_full) {
        dns_proxy_fail(p, r, DNS_EDE_OTHER, &p->counters.servfail_pool_full);
        return true;
    }
    if (!found.count) {
        return false;
    }
    for (size_t i = 0; i < found.count; i++) {
        copy.fits = copy.fits && !dns_builder_a(&b, DNS_SECTION_ANSWER, &name,
                                                found.ttl, found.addr[i]);
    }
    p->counters.answers_virtual++;
    p->ops->resolved(p->opaque, &r->client.question.name, found.real,
                     found.count);
    client = r->client;
    keeps = may_keep(p, r);
    dns_proxy_answered(p, r);
    finish_answer(p, &client, &b, copy.fits, DNS_RCODE_NOERROR, -1);
    if (keeps) {
        keep(p, &b, &client, found.real, found.count,
             &p->counters.answers_virtual);
    }
    return true;
}

/*** AAAA ***/

typedef struct RealAddresses {
    DnsProxyAddress addr[DNS_PROXY_MAX_ADDRESSES];
    size_t num;
    uint32_t ttl;           /* the least of the records */
} RealAddresses;

/* The AAAA records of @name that the guest may be led to, in their order */
static void collect_real(DnsProxy *p, Request *r, const Reply *reply,
                         const DnsName *name, uint32_t alias_ttl,
                         RealAddresses *found)
{
    struct in6_addr addr6;
    DnsCursor cursor;
    DnsRr rr;

    found->num = 0;
    found->ttl = UINT32_MAX;
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_reply_find(&cursor, name, DNS_TYPE_AAAA, &rr)) {
        if (dns_rdata_aaaa(&cursor, &rr, &addr6) ||
            !dns_proxy_lets(p, r, &addr6)) {
            continue;
        }
        if (found->num == DNS_PROXY_MAX_ADDRESSES) {
            p->counters.addresses_over_limit++;
            r->left_out = true;
            continue;
        }
        found->addr[found->num++] = (DnsProxyAddress) {
            .addr6 = addr6, .ttl = MIN(rr.ttl, alias_ttl),
        };
        found->ttl = MIN(found->ttl, rr.ttl);
    }
}

/* Write the answer with these addresses alone; returns whether it fits. */
static bool write_real(DnsProxy *p, const Request *r, const Reply *reply,
                       const RealAddresses *found, DnsBuilder *b)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t ttl = UINT32_MAX;
    AliasCopy copy = { b, true };

    begin_answer(p, &r->client, DNS_RCODE_NOERROR, b);
    dns_reply_follow(reply, &name, &ttl, copy_alias, &copy);
    for (size_t i = 0; copy.fits && i < found->num; i++) {
        copy.fits = !dns_builder_raw(b, DNS_SECTION_ANSWER, &name,
                                     DNS_TYPE_AAAA, DNS_CLASS_IN, found->ttl,
                                     &found->addr[i].addr6,
                                     sizeof(found->addr[i].addr6));
    }
    return copy.fits;
}

bool dns_proxy_answer_real(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t alias_ttl = UINT32_MAX;
    RealAddresses found;
    int ede = -1;
    Client client;
    DnsBuilder b;
    bool keeps, fits;

    if (dns_reply_follow(reply, &name, &alias_ttl, NULL, NULL)) {
        bad_reply(p, r);
        return true;
    }
    collect_real(p, r, reply, &name, alias_ttl, &found);
    if (!found.num) {
        return false;
    }
    /* Unchanged, it has its signatures and AD. */
    if (r->left_out) {
        fits = write_real(p, r, reply, &found, &b);
    } else {
        fits = adopt(p, &r->client, reply, reply->rcode, &b);
        ede = upstream_ede(reply);
    }
    p->counters.passed++;
    p->ops->resolved(p->opaque, &r->client.question.name, found.addr,
                     found.num);
    client = r->client;
    keeps = may_keep(p, r);
    dns_proxy_end_request(p, r);
    finish_answer(p, &client, &b, fits, reply->rcode, ede);
    if (keeps) {
        keep(p, &b, &client, found.addr, found.num, &p->counters.passed);
    }
    return true;
}

/*** A for NAT64 ***/

/* Answer with the usable addresses only, not with those withheld. */
static void answer_some(DnsProxy *p, Request *r, const Reply *reply,
                        const PlainAddresses *found)
{
    DnsName name = r->asked[ASK_PLAIN].name;
    uint32_t ttl = UINT32_MAX;
    DnsBuilder b;
    AliasCopy copy = { &b, true };

    begin_answer(p, &r->client, reply->rcode, &b);
    if (dns_reply_follow(reply, &name, &ttl, copy_alias, &copy)) {
        bad_reply(p, r);
        return;
    }
    for (size_t i = 0; i < found->num; i++) {
        struct in_addr addr4;

        memcpy(&addr4, &found->addr[i].addr6.s6_addr[12], sizeof(addr4));
        copy.fits = copy.fits && !dns_builder_a(&b, DNS_SECTION_ANSWER, &name,
                                                found->addr[i].ttl, addr4);
    }
    conclude(p, r, &b, copy.fits, reply->rcode, -1);
}

void dns_proxy_answer_plain(DnsProxy *p, Request *r, const Reply *reply)
{
    PlainAddresses found;

    dns_proxy_plain_addresses(p, r, reply, &found);
    p->counters.answers_plain++;
    dns_proxy_tell_plain(p, r, &found);
    if (found.num_withheld || found.over_limit) {
        answer_some(p, r, reply, &found);
    } else {
        pass(p, r, reply, upstream_ede(reply));
    }
}

/*** As it came ***/

void dns_proxy_answer_passed(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->exists) {
        r->kind = REQUEST_STRIP;
        dns_proxy_answer_negative(p, r, reply);
    } else if (dns_proxy_lets_pass(p, r, reply)) {
        p->counters.passed++;
        if (reply->type == DNS_TYPE_A && p->ops->nat64_available(p->opaque)) {
            dns_proxy_note_plain(p, r, reply);
        }
        pass(p, r, reply, upstream_ede(reply));
    } else if (reply->rcode == DNS_RCODE_NOERROR) {
        dns_proxy_answer_negative(p, r, reply);
    } else {
        bad_reply(p, r);
    }
}

/*** HTTPS and SVCB ***/

/* RDATA that the answer already has */
typedef struct Written {
    size_t num;
    struct {
        size_t at;              /* offset of RDATA in the answer */
        size_t len;
    } record[DNS_PROXY_MAX_ADDRESSES];
} Written;

static bool is_written(const DnsProxy *p, const Written *written, size_t len)
{
    for (size_t i = 0; i < written->num; i++) {
        if (written->record[i].len == len &&
            !memcmp(p->out + written->record[i].at, p->rdata, len)) {
            return true;
        }
    }
    return false;
}

static bool is_found(const RealAddresses *found, const struct in6_addr *addr6)
{
    for (size_t i = 0; i < found->num; i++) {
        if (IN6_ARE_ADDR_EQUAL(&found->addr[i].addr6, addr6)) {
            return true;
        }
    }
    return false;
}

/* Add the addresses of one ipv6hint of @len octets. */
static void add_hints(DnsProxy *p, Request *r, const uint8_t *value, size_t len,
                      uint32_t ttl, RealAddresses *found)
{
    DnsProxyAddress hint = { .ttl = ttl };

    for (size_t at = 0; at + sizeof(hint.addr6) <= len;
         at += sizeof(hint.addr6)) {
        memcpy(&hint.addr6, value + at, sizeof(hint.addr6));
        if (is_found(found, &hint.addr6) ||
            !dns_proxy_lets(p, r, &hint.addr6)) {
            continue;
        }
        if (found->num == DNS_PROXY_MAX_ADDRESSES) {
            p->counters.addresses_over_limit++;
            return;
        }
        found->addr[found->num++] = hint;
    }
}

/* The addresses of ipv6hint that the guest may be led to, each once */
static void collect_hints(DnsProxy *p, Request *r, const Reply *reply,
                          const DnsName *name, uint32_t alias_ttl,
                          RealAddresses *found)
{
    DnsSvcParams params;
    const uint8_t *value;
    DnsCursor cursor;
    uint16_t key;
    size_t len;
    DnsRr rr;

    found->num = 0;
    if (!p->ops->uses_ipv6(p->opaque)) {
        return;
    }
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_reply_find(&cursor, name, reply->type, &rr)) {
        if (!get_be16(reply->msg + rr.rdata) ||
            dns_rdata_svcb(&cursor, &rr, &params)) {
            continue;
        }
        while (dns_svcb_param(&params, &key, &value, &len) > 0) {
            if (key == DNS_SVCB_IPV6HINT) {
                add_hints(p, r, value, len, MIN(rr.ttl, alias_ttl), found);
            }
        }
    }
}

/* Copies a record to p->rdata with these hints alone.  Returns its length. */
static size_t keep_hints(DnsProxy *p, const Reply *reply, const DnsRr *rr,
                         const RealAddresses *hints)
{
    return dns_svcb_keep_hints(reply->msg + rr->rdata, rr->rdlength,
                               hints->addr, hints->num,
                               !p->ops->hides_ech(p->opaque), p->rdata);
}

/*
 * Add the records of a name with these hints alone.  Records that are equal
 * then are added once (RFC 2181 section 5).  Returns whether all records fit.
 */
static bool add_services(DnsProxy *p, DnsBuilder *b, const Reply *reply,
                         const DnsName *name, const RealAddresses *hints)
{
    Written written = { .num = 0 };
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_reply_find(&cursor, name, reply->type, &rr)) {
        size_t len = keep_hints(p, reply, &rr, hints);

        if (is_written(p, &written, len)) {
            continue;
        }
        if (dns_builder_raw(b, DNS_SECTION_ANSWER, name, reply->type,
                            DNS_CLASS_IN, rr.ttl, p->rdata, len)) {
            return false;
        }
        if (written.num < DNS_PROXY_MAX_ADDRESSES) {
            written.record[written.num].at = b->len - len;
            written.record[written.num++].len = len;
        }
    }
    return true;
}

/* Has the answer section something that the guest must not see? */
static bool needs_change(DnsProxy *p, const Reply *reply,
                         const RealAddresses *hints)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_cursor_rr(&cursor, &rr) > 0 &&
           rr.section == DNS_SECTION_ANSWER) {
        if (rr.type == reply->type && rr.rrclass == DNS_CLASS_IN
            ? keep_hints(p, reply, &rr, hints) != rr.rdlength
            : rr.type != DNS_TYPE_CNAME && rr.type != DNS_TYPE_DNAME &&
              rr.type != DNS_TYPE_RRSIG) {
            return true;
        }
    }
    return false;
}

static void answer_changed(DnsProxy *p, Request *r, const Reply *reply,
                           const RealAddresses *hints)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t ttl = UINT32_MAX;
    DnsBuilder b;
    AliasCopy copy = { &b, true };

    begin_answer(p, &r->client, DNS_RCODE_NOERROR, &b);
    dns_reply_follow(reply, &name, &ttl, copy_alias, &copy);
    copy.fits = copy.fits && add_services(p, &b, reply, &name, hints);
    p->counters.answers_service++;
    conclude(p, r, &b, copy.fits, DNS_RCODE_NOERROR, -1);
}

void dns_proxy_answer_service(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t alias_ttl = UINT32_MAX, ttl;
    RealAddresses hints;

    if (dns_reply_follow(reply, &name, &alias_ttl, NULL, NULL)) {
        bad_reply(p, r);
        return;
    }
    collect_hints(p, r, reply, &name, alias_ttl, &hints);
    if (hints.num) {
        r->has_hints = true;
        p->ops->resolved(p->opaque, &r->client.question.name, hints.addr,
                         hints.num);
    }
    if (reply->rcode != DNS_RCODE_NOERROR ||
               !has_answer(reply, &name, &ttl)) {
        r->kind = REQUEST_STRIP;
        dns_proxy_answer_negative(p, r, reply);
    } else if (needs_change(p, reply, &hints)) {
        answer_changed(p, r, reply, &hints);
    } else {
        r->kind = REQUEST_PASS;
        p->counters.passed++;
        pass(p, r, reply, upstream_ede(reply));
    }
}

/*** PTR of a virtual address ***/

/*
 * Lower *ttl to the time for which the name has no other record.  Returns false
 * if the upstream's negative reply has no SOA.
 */
static bool reverse_ttl(const Reply *reply, const DnsName *name,
                        uint32_t *ttl)
{
    uint32_t positive;
    DnsSoa soa;
    DnsRr rr;

    if (has_answer(reply, name, &positive)) {
        *ttl = MIN(*ttl, MIN(positive, DNS_PROXY_NEGATIVE_TTL));
        return true;
    }
    if (dns_reply_soa(reply, name, &rr, &soa)) {
        *ttl = MIN(*ttl, rr.ttl);
        return true;
    }
    return false;
}

/* Is the question answered with the names of the address? */
static bool wants_ptr(const Request *r)
{
    return r->client.question.type == DNS_TYPE_PTR ||
           r->client.question.type == DNS_TYPE_ANY;
}

void dns_proxy_answer_ptr(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    uint32_t limit = r->lease;
    DnsName target;
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;
    bool fits = true;
    int count = 0;

    /*
     * Aliases within ip6.arpa (RFC 2317 style) mean nothing below the
     * in-addr.arpa name that the guest asked for, nor does the SOA, except for
     * its time.
     */
    if (dns_reply_follow(reply, &name, &limit, NULL, NULL)) {
        bad_reply(p, r);
        return;
    }
    begin_answer(p, &r->client, reply->rcode, &b);
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (wants_ptr(r) && count < DNS_PROXY_MAX_ADDRESSES &&
           dns_reply_find(&cursor, &name, DNS_TYPE_PTR, &rr)) {
        if (!dns_rdata_name(&cursor, &rr, &target)) {
            fits = fits && !dns_builder_name(&b, DNS_SECTION_ANSWER,
                                             &r->client.question.name,
                                             DNS_TYPE_PTR,
                                             MIN(limit, rr.ttl), &target);
            count++;
        }
    }
    if (count) {
        p->counters.answers_ptr++;
    } else {
        count_negative(p, reply->rcode);
        fits = !reverse_ttl(reply, &name, &limit) ||
               add_own_soa(&b, &r->client.question.name, limit);
    }
    conclude(p, r, &b, fits, reply->rcode, -1);
}
