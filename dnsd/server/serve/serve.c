/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and its reply
 *
 * Theory of operation
 *
 * net/dns/answer makes the reply.  This file adds what a public server needs,
 * in this order:
 *
 * - requests that are not queries (UPDATE, NOTIFY, transfers, everything with
 *   TSIG) go to the control thread;
 * - cookies: a client with a valid cookie has proved its address;
 * - the access list of the zone of the name, before the zone is searched;
 * - the resolver, for names in no zone or below a delegation, if the client
 *   may use recursion and sets RD.  If the worker has kept the answer, it is
 *   used.  Otherwise the query goes to a thread of the resolver and comes back
 *   to dnsd_serve_resolved();
 * - the rate limit, for UDP and clients without a valid cookie.  Over the
 *   limit most queries are dropped, and some get a reply as short as the
 *   question.  If the query has a cookie option, that reply is BADCOOKIE, with
 *   a cookie that exempts an honest client from the limit.  Otherwise it has
 *   TC, so that the client uses TCP;
 * - options of the reply.
 */
#include <string.h>

#include "net/dns/answer/edns.h"
#include "dnsd/server/serve/options.h"
#include "dnsd/server/serve/serve.h"
#include "net/dns/wire/rrtype.h"

#define QUERY_MAX   4096        /* octets of a query for the resolver */

typedef struct Request {
    const DnsdServing *serving;
    DnsdThreadState *thread;
    const DnsdClient *client;
    DnsQuery *query;
    DnsdOptions options;
    DnsAnswerInfo info;
    uint8_t *out;
    size_t room;
    bool may_recurse;           /* RA of RFC 1035, for this client */
    bool is_for_resolver;       /* there is no reply yet */
} Request;

static const DnsAnswerer *answerer(const Request *r)
{
    return r->client->is_stream ? &r->serving->tcp : &r->serving->udp;
}

static size_t reply_error(Request *r, DnsRcode rcode, int ede)
{
    return dns_answer_error(answerer(r), r->query, rcode, ede, r->out,
                            r->room, &r->info);
}

/* --- access --------------------------------------------------------------- */

/* Returns the length of a refusal; 0: the zone may answer. */
static size_t refuse(Request *r, const DnsServedZone *zone)
{
    const DnsdRules *rules = zone ? zone->opaque : NULL;

    if (rules && rules->allow_query &&
        !dnsd_ranges_have(rules->allow_query, &r->client->addr)) {
        dnsd_count(&r->thread->counters, DNSD_COUNT_DENIED);
        return reply_error(r, DNS_RCODE_REFUSED, DNS_EDE_PROHIBITED);
    }
    if (rules && rules->lost &&
        atomic_load_explicit(rules->lost, memory_order_relaxed)) {
        return reply_error(r, DNS_RCODE_SERVFAIL, DNS_EDE_INVALID_DATA);
    }
    return 0;
}

/* --- the resolver --------------------------------------------------------- */

static void look_at_client(Request *r)
{
    const DnsdResolverConfig *c = &r->serving->config->resolver;

    r->may_recurse = c->is_on && dnsd_ranges_have(&c->allow, &r->client->addr);
}

/* Bogus data is only for clients that expect it (CD). */
static size_t reply_resolved(Request *r, const DnsdResolved *found,
                             uint32_t age)
{
    bool is_strict = r->serving->config->resolver.dnssec ==
                     DNSD_DNSSEC_STRICT && !(r->query->flags & DNS_FLAG_CD);
    bool is_bogus = found->security == DNSD_BOGUS;
    size_t len = dnsd_resolved_reply(found, age, found->rcode ==
                                     DNS_RCODE_SERVFAIL ||
                                     (is_bogus && is_strict), answerer(r),
                                     r->query, r->out, r->room, &r->info);

    if (is_bogus) {
        dnsd_count(&r->thread->counters, is_strict ? DNSD_COUNT_BOGUS_FAILED
                                                 : DNSD_COUNT_BOGUS_SHOWN);
    }
    /* RFC 4035 section 3.2.2: CD is copied, even in errors. */
    r->out[3] |= r->query->flags & DNS_FLAG_CD;
    return len;
}

/* Returns the length of the reply, or 0 if the resolver must be asked. */
static size_t resolve(Request *r)
{
    const DnsdResolved *kept;
    uint32_t age;

    if (!r->may_recurse) {
        dnsd_count(&r->thread->counters, DNSD_COUNT_DENIED);
        return reply_error(r, DNS_RCODE_REFUSED, DNS_EDE_PROHIBITED);
    }
    if (!r->thread->replies) {
        return reply_error(r, DNS_RCODE_REFUSED, DNS_EDE_NOT_SUPPORTED);
    }
    if (dns_rrtype_is_meta(r->query->type) && r->query->type != DNS_TYPE_ANY) {
        return reply_error(r, DNS_RCODE_NOTIMP, -1);
    }
    if (r->query->len > QUERY_MAX) {
        return reply_error(r, DNS_RCODE_FORMERR, -1);
    }
    kept = dnsd_replies_find(r->thread->replies, r->query,
                             r->serving->generation, r->client->now_ms, &age);
    r->is_for_resolver = !kept;
    dnsd_count(&r->thread->counters, kept ? DNSD_COUNT_RESOLVER_KEPT
                                        : DNSD_COUNT_RESOLVER_ASKED);
    return kept ? reply_resolved(r, kept, age) : 0;
}

/* Does the query ask for recursion, with which this server can help? */
static bool asks_resolver(const Request *r)
{
    return r->serving->config->resolver.is_on &&
           r->query->flags & DNS_FLAG_RD &&
           r->query->qclass == DNS_CLASS_IN &&
           dns_answer_is_of_zones(r->query);
}

/* --- rate limit ----------------------------------------------------------- */

static bool is_limited(const Request *r)
{
    return r->thread->limit && !r->client->is_stream &&
           r->options.cookie != DNSD_COOKIE_VALID &&
           !dnsd_ranges_have(&r->serving->config->limit_exempt,
                             &r->client->addr);
}

/* All errors share an account, as anybody can invent names for them. */
static DnsdLimitVerdict judge(const Request *r)
{
    unsigned at = r->info.common_at;
    DnsdLimitAccount account = {
        .client = r->client->addr, .kind = r->info.kind,
    };

    if (r->info.kind != DNS_ANSWER_ERROR && at < r->query->name.len) {
        account.name = r->query->name.wire + at;
        account.name_len = r->query->name.len - at;
    }
    return dnsd_limit_judge(r->thread->limit, &account, r->client->now_ms);
}

static size_t slip(Request *r)
{
    if (r->options.cookie == DNSD_COOKIE_CLIENT) {
        dnsd_count(&r->thread->counters, DNSD_COUNT_SLIP_BADCOOKIE);
        return reply_error(r, DNS_RCODE_BADCOOKIE, -1);
    }
    dnsd_count(&r->thread->counters, DNSD_COUNT_SLIP_TRUNCATED);
    return dns_answer_truncated(answerer(r), r->query, r->out, r->room,
                                &r->info);
}

/* Returns the length of the reply or of a short one; 0: send none. */
static size_t limit(Request *r, size_t len)
{
    if (!is_limited(r)) {
        return len;
    }
    switch (judge(r)) {
    case DNSD_LIMIT_SEND:
        return len;
    case DNSD_LIMIT_SLIP:
        return slip(r);
    default:
        dnsd_count(&r->thread->counters, DNSD_DROP_RATE);
        return 0;
    }
}

/* --- counting ------------------------------------------------------------- */

static void count_request(const Request *r)
{
    DnsdCounters *c = &r->thread->counters;

    dnsd_count(c, r->client->is_stream ? DNSD_COUNT_TCP : DNSD_COUNT_UDP);
    if (r->query->has_edns) {
        dnsd_count(c, DNSD_COUNT_EDNS);
        dnsd_count(c, DNSD_COUNT_COOKIE_NONE + r->options.cookie);
    }
    if (r->query->dnssec_ok) {
        dnsd_count(c, DNSD_COUNT_DNSSEC_OK);
    }
    if (r->query->kind == DNS_QUERY_ASK) {
        dnsd_count(c, DNSD_COUNT_TYPE + dnsd_type_index(r->query->type));
    }
}

static void count_reply(const Request *r)
{
    DnsdCounters *c = &r->thread->counters;

    if (r->info.rcode < DNSD_RCODES) {
        dnsd_count(c, DNSD_COUNT_RCODE + r->info.rcode);
    }
    dnsd_count(c, DNSD_COUNT_KIND + r->info.kind);
    if (r->info.truncated) {
        dnsd_count(c, DNSD_COUNT_TRUNCATED);
    }
}

/* --- names of class CHAOS ------------------------------------------------- */

static const char *chaos_text(const DnsdConfig *config, const DnsQuery *query)
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

static void chaos_edns(Request *r, DnsBuilder *b)
{
    const DnsEdns edns = {
        .udp_size = r->serving->udp.udp_size,
        .dnssec_ok = r->query->dnssec_ok,
    };
    size_t at = b->len;

    if (r->query->has_edns && !dns_builder_edns(b, &edns)) {
        r->info.opt_at = at;
    }
}

/*
 * A reply to version.server, version.bind, id.server (RFC 4892) and
 * hostname.bind.  Returns its length; 0: it is another query, or the name is off.
 */
static size_t chaos(Request *r)
{
    const DnsQuery *query = r->query;
    const char *text = chaos_text(r->serving->config, query);
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
    r->info = (DnsAnswerInfo) { .kind = DNS_ANSWER_NODATA };
    dns_builder_init(&b, r->out, r->room, dns_query_id(query),
                     DNS_FLAG_QR | DNS_FLAG_AA | (query->flags & DNS_FLAG_RD));
    dns_builder_question(&b, &question);
    if (query->type == DNS_TYPE_TXT || query->type == DNS_TYPE_ANY) {
        r->info.kind = DNS_ANSWER_RECORDS;
        dns_builder_raw(&b, DNS_SECTION_ANSWER, &question.name, DNS_TYPE_TXT,
                        DNS_CLASS_CH, 0, rdata, 1 + len);
    }
    chaos_edns(r, &b);
    return b.len;
}

/* --- one request ---------------------------------------------------------- */

/* DNSD_REPLY: it is answered here. */
static DnsdOutcome goes_to(const DnsQuery *query)
{
    if (query->kind == DNS_QUERY_ASK && (query->type == DNS_TYPE_AXFR ||
                                         query->type == DNS_TYPE_IXFR)) {
        return DNSD_TRANSFER;
    }
    return query->kind == DNS_QUERY_NOTIFY ||
           query->kind == DNS_QUERY_UPDATE ||
           (query->kind == DNS_QUERY_ASK && query->tsig_at) ? DNSD_CONTROL
                                                            : DNSD_REPLY;
}

static size_t answer(Request *r)
{
    const DnsServedZone *zone;
    size_t len = 0;

    if (r->options.wrong) {
        return reply_error(r, DNS_RCODE_FORMERR, -1);
    }
    if (r->query->kind == DNS_QUERY_ASK && r->query->qclass == DNS_CLASS_CH) {
        len = chaos(r);
    }
    if (len) {
        return len;
    }
    zone = dns_answer_zone(answerer(r), r->query);
    if (!zone && asks_resolver(r)) {
        return resolve(r);
    }
    len = refuse(r, zone);
    if (len) {
        return len;
    }
    len = dns_answer_from(answerer(r), r->query, zone, r->out, r->room,
                          &r->info);
    return r->info.kind == DNS_ANSWER_REFERRAL && r->may_recurse &&
           asks_resolver(r) ? resolve(r) : len;
}

/* Complete the reply.  Returns its length, 0 for none. */
static size_t finish(Request *r, size_t len)
{
    len = len ? limit(r, len) : 0;
    if (!len) {
        return 0;
    }
    if (r->info.opt_at) {
        len = dnsd_options_append(&r->options, r->serving, r->out, len,
                                  r->room, r->info.opt_at);
    }
    if (r->may_recurse) {
        r->out[3] |= DNS_FLAG_RA;
    }
    count_reply(r);
    return len;
}

DnsdOutcome dnsd_serve(const DnsdServing *serving, DnsdThreadState *thread,
                       const DnsdClient *client, DnsQuery *query,
                       uint8_t *out, size_t room, size_t *reply_len)
{
    Request r = {
        .serving = serving, .thread = thread, .client = client,
        .query = query, .out = out, .room = room,
    };
    DnsdOutcome outcome;
    size_t len;

    if (query->kind == DNS_QUERY_IGNORE) {
        dnsd_count(&thread->counters, DNSD_DROP_IGNORED);
        return DNSD_DROP;
    }
    dnsd_options_read(&r.options, serving, client, query);
    count_request(&r);
    outcome = goes_to(query);
    if (outcome != DNSD_REPLY) {
        dnsd_count(&thread->counters, DNSD_COUNT_HANDED_OVER);
        return outcome;
    }
    look_at_client(&r);
    len = answer(&r);
    if (r.is_for_resolver) {
        return DNSD_RESOLVE;
    }
    *reply_len = finish(&r, len);
    return *reply_len ? DNSD_REPLY : DNSD_DROP;
}

DnsdOutcome dnsd_serve_resolved(const DnsdServing *serving,
                                DnsdThreadState *thread,
                                const DnsdClient *client, DnsQuery *query,
                                const DnsdResolved *resolved,
                                uint32_t generation, uint8_t *out, size_t room,
                                size_t *reply_len)
{
    Request r = {
        .serving = serving, .thread = thread, .client = client,
        .query = query, .out = out, .room = room, .may_recurse = true,
    };

    dnsd_options_read(&r.options, serving, client, query);
    if (resolved->security != DNSD_BOGUS &&
        generation == serving->generation) {
        dnsd_replies_put(thread->replies, query, resolved, generation,
                         client->now_ms);
    }
    *reply_len = finish(&r, reply_resolved(&r, resolved, 0));
    return *reply_len ? DNSD_REPLY : DNSD_DROP;
}

size_t dnsd_serve_error(const DnsdServing *serving, const DnsdClient *client,
                        DnsQuery *query, DnsRcode rcode, uint8_t *out,
                        size_t room)
{
    DnsdOptions options;
    DnsAnswerInfo info;
    size_t len;

    if (query->kind == DNS_QUERY_IGNORE) {
        return 0;
    }
    dnsd_options_read(&options, serving, client, query);
    len = dns_answer_error(client->is_stream ? &serving->tcp : &serving->udp,
                           query, rcode, -1, out, room, &info);
    return len && info.opt_at
           ? dnsd_options_append(&options, serving, out, len, room,
                                 info.opt_at) : len;
}
