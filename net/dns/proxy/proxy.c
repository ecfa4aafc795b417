/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy for a guest that speaks IPv4 on a network that speaks IPv6
 *
 * Theory of operation
 *
 * The guest asks for IPv4 addresses; the network has IPv6 addresses.  These are
 * the six steps of the paper's section 4.2, and the functions that take them:
 *
 *   (1) a query comes from the guest            dns_proxy_query()
 *   (2) ask upstream for the IPv6 addresses     start(), ask()
 *   (3) the reply comes                         on_reply()
 *   (4) an error is passed on as an error       dns_proxy_answer_negative()
 *   (5) find or make a virtual address for each collect_virtual(), ops->map
 *   (6) answer with the virtual addresses       dns_proxy_answer_virtual()
 *
 * The proxy treats each question by its type:
 *
 *   A, ANY      AAAA is asked upstream.  If the network has a NAT64 (RFC 6146),
 *               A is asked at the same time, as a name without AAAA can be
 *               reached by its IPv4 address then.  AAAA is preferred.  An A
 *               reply waits for AAAA no longer than the Resolution Delay of
 *               RFC 8305: some servers never answer AAAA, and the guest's
 *               resolver gives up after 5 seconds.  An A reply that comes
 *               after the AAAA is not passed to the guest, but to the owner
 *               (ops->resolved).  NXDOMAIN for either type ends the request:
 *               a name exists for all types or for none (RFC 8020).  ANY gets
 *               the A records only, which RFC 8482 section 4.1 allows.  If
 *               there are none, it gets HINFO (section 4.2), as the name may
 *               have records of any other type.
 *   AAAA        AAAA is asked upstream.  If the guest uses IPv6 addresses, it
 *               gets those that it may be led to.  If not, of a positive answer
 *               only the CNAMEs are passed on.  NXDOMAIN and the SOA for
 *               negative caching (RFC 2308) stay true.
 *   HTTPS, SVCB The records pass without their ipv4hint (RFC 9460 section 7.3):
 *               with it a client would connect without asking for A, and so
 *               without translation.  Of ipv6hint, a guest that uses IPv6
 *               addresses gets those that it may be led to, others get none.
 *               Keys for Encrypted Client Hello go if the owner hides them
 *               (ops->hides_ech).  All other parameters stay.
 *   PTR         For a virtual address, PTR of the IPv6 address behind it is
 *               asked under ip6.arpa.  Questions of other types for such a
 *               name are answered by the same reply: the name exists if there
 *               is a PTR record.  PTR of other addresses passes.
 *   special-use Names such as localhost are answered without asking:
 *               local-names.c.
 *   others      The upstream's message passes, with the id and question of the
 *               guest.  It has an OPT record only if the guest sent one, as
 *               OPT is hop by hop (RFC 6891 section 6.1.1).
 *
 * A name above a name that the proxy answers exists (RFC 8020).  So NXDOMAIN
 * for it becomes NODATA, for example for 0.18.198.in-addr.arpa.
 *
 * A reply with a malformed record becomes SERVFAIL.  To omit the record would
 * claim that it does not exist.
 *
 * A reply that is too large for a datagram is cut behind the last record that
 * fits.
 *
 * A negative answer holds as long as its SOA says (RFC 2308).  The upstream's
 * SOA is passed on if it is of the zone of the last name.  If the proxy
 * withholds records, it adds a SOA of its own with a short TTL, as programs do
 * not cache a negative answer without SOA.
 *
 * TTLs never exceed the mapping: all A records of an answer have the least of
 * their TTLs and leases (one RRset has one TTL, RFC 2181).
 *
 * Signatures (RFC 6147 section 5.5): Records that the proxy makes or changes
 * are not signed, and their answer never has AD.  If the query has DO, answers
 * that the proxy does not change have their proofs: NXDOMAIN, and NODATA of the
 * type that was asked.  If the query has DO and CD, the guest validates, and
 * could judge translated records bogus.  So it gets the upstream's reply, for
 * every type; or nothing of it, if it has an address that the guest may not be
 * led to.  The proxy does not validate; the upstream may.  AD in the upstream's
 * reply says that it has validated, and that all of the reply is secure.  AD is
 * passed to clients that set AD or DO (RFC 6840 sections 5.7 and 5.8).  CD is
 * passed upstream.
 *
 * If the upstream calls a reply bogus, the proxy uses nothing of it and answers
 * SERVFAIL.  So a bogus AAAA ends a question for addresses, even if A is good
 * ("if the data does not validate": section 5.5, 2).  A bogus A counts as no A.
 *
 * The proxy answers PTR of a virtual address to validators, too, as no other
 * network has that address.
 *
 * If the upstream answers at once, because it knows the answer, the same query
 * has the same answer as long as the TTLs last: memory.c.  This is the fastest
 * path, so it parses nothing.  The owner still admits each query and is told of
 * the addresses.
 *
 * State: a table of DNS_PROXY_MAX_REQUESTS slots.  Each has the guest's
 * question and one or two questions upstream.  The owner asks dns_proxy_room()
 * and queues further queries, as it knows whose turn is next.  The upstream's
 * request number contains slot and generation, so a reply to a request that has
 * ended finds nothing.  An answer is built in the one buffer of the proxy.  The
 * slot is freed before ops->answer is called, so whatever the callee does, no
 * request is half done.  Guest and upstream are both hostile: a message is
 * checked whole before it is used, a CNAME chain is bounded, and a record is
 * believed only if the chain leads to it.
 *
 * Files: requests.c has the table; reply.c parses replies; judge.c finds the
 * addresses that the guest may be led to; answer.c builds answers and ends
 * requests; memory.c keeps answers.
 */

#include <errno.h>
#include <string.h>

#include "net/dns/proxy/answer.h"
#include "net/dns/proxy/judge.h"
#include "net/dns/proxy/proxy.h"
#include "net/dns/proxy/requests.h"

/* Octets of all A replies that wait for their AAAA */
#define MAX_HELD_BYTES (4 << 20)

/*** A from AAAA ***/

static void answer_held(DnsProxy *p, Request *r)
{
    Reply reply;

    dns_proxy_parse_held(r, &reply);
    dns_proxy_answer_plain(p, r, &reply);
}

/* AAAA has failed, without even a negative answer: answer with A, if any. */
static void main_failed(DnsProxy *p, Request *r)
{
    r->state[ASK_MAIN] = ASK_FAILED;
    switch (r->state[ASK_PLAIN]) {
    case ASK_HELD:
        answer_held(p, r);
        break;
    case ASK_WAITING:
        break;
    case ASK_UNUSED:
    case ASK_FAILED:
    case ASK_EMPTY:
        dns_proxy_fail(p, r, r->failure, &p->counters.servfail_upstream);
        break;
    }
}

/* The name exists and has no AAAA that the guest can use. */
static void main_empty(DnsProxy *p, Request *r, const Reply *reply)
{
    r->state[ASK_MAIN] = ASK_EMPTY;
    switch (r->state[ASK_PLAIN]) {
    case ASK_HELD:
        answer_held(p, r);
        break;
    case ASK_WAITING:
        break;
    case ASK_FAILED:
        /* There may be an A, so NODATA could be false. */
        dns_proxy_fail(p, r, r->failure, &p->counters.servfail_upstream);
        break;
    case ASK_UNUSED:
    case ASK_EMPTY:
        dns_proxy_answer_negative(p, r, reply);
        break;
    }
}

static void address_reply(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->rcode == DNS_RCODE_NXDOMAIN) {
        dns_proxy_answer_negative(p, r, reply);
    } else if (!dns_proxy_answer_virtual(p, r, reply)) {
        main_empty(p, r, reply);
    }
}

static void real_reply(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->rcode == DNS_RCODE_NXDOMAIN ||
        !dns_proxy_answer_real(p, r, reply)) {
        dns_proxy_answer_negative(p, r, reply);
    }
}

/*** The A beside the AAAA ***/

static void plain_failed(DnsProxy *p, Request *r)
{
    r->state[ASK_PLAIN] = ASK_FAILED;
    if (r->answered) {
        dns_proxy_end_request(p, r);
    } else if (r->state[ASK_MAIN] != ASK_WAITING) {
        dns_proxy_fail(p, r, r->failure, &p->counters.servfail_upstream);
    }
}

/* Keep the reply until AAAA comes or the delay ends. */
static void hold_plain(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->len > MAX_HELD_BYTES - p->held_bytes) {
        /* There is no memory to keep it: act as if the delay had ended. */
        p->counters.plain_after_delay++;
        dns_proxy_answer_plain(p, r, reply);
        return;
    }
    r->held = g_memdup2(reply->msg, reply->len);
    r->held_len = reply->len;
    r->held_until = p->ops->now_ms(p->opaque) + DNS_PROXY_RESOLUTION_DELAY_MS;
    r->state[ASK_PLAIN] = ASK_HELD;
    p->held_count++;
    p->held_bytes += reply->len;
}

static void plain_reply(DnsProxy *p, Request *r, const Reply *reply)
{
    AskState main_state = r->state[ASK_MAIN];
    PlainAddresses found;

    r->state[ASK_PLAIN] = ASK_EMPTY;
    if (r->answered) {
        dns_proxy_note_plain(p, r, reply);
        dns_proxy_end_request(p, r);
        return;
    }
    if (reply->rcode == DNS_RCODE_NXDOMAIN) {
        dns_proxy_answer_negative(p, r, reply);
        return;
    }
    dns_proxy_plain_addresses(p, r, reply, &found);
    dns_proxy_leave_out(p, r, &found);
    if (found.num && main_state == ASK_WAITING) {
        hold_plain(p, r, reply);
    } else if (found.num) {
        dns_proxy_answer_plain(p, r, reply);
    } else if (main_state == ASK_EMPTY) {
        dns_proxy_answer_negative(p, r, reply);
    } else if (main_state == ASK_FAILED) {
        /* There may be an AAAA, so NODATA could be false. */
        dns_proxy_fail(p, r, r->failure, &p->counters.servfail_upstream);
    }
}

/*** Dispatch of replies ***/

static DnsEde failure_from_status(DnsUpstreamStatus status)
{
    switch (status) {
    case DNS_UPSTREAM_TIMEOUT:
    case DNS_UPSTREAM_REFUSED:
        return DNS_EDE_NO_REACHABLE_AUTHORITY;
    case DNS_UPSTREAM_NETWORK:
        return DNS_EDE_NETWORK_ERROR;
    case DNS_UPSTREAM_OK:
    case DNS_UPSTREAM_BADREPLY:
    case DNS_UPSTREAM_BOGUS:
    case DNS_UPSTREAM_CANCELLED:
        break;
    }
    return DNS_EDE_OTHER;
}

static void ask_failed(DnsProxy *p, Request *r, Ask ask, DnsEde why)
{
    if (ask == ASK_PLAIN) {
        if (r->state[ASK_MAIN] != ASK_FAILED) {
            r->failure = why;
        }
        plain_failed(p, r);
        return;
    }
    r->failure = why;
    main_failed(p, r);
}

/* Does the guest validate itself?  RFC 6147 section 5.5 */
static bool is_validator(const Client *client)
{
    return client->edns.dnssec_ok && client->flags & DNS_FLAG_CD;
}

/*
 * Does the proxy answer a name below the name that the reply denies?  This does
 * not apply to validators.
 */
static bool has_below(const DnsProxy *p, const Request *r, const Reply *reply)
{
    DnsName end = r->client.question.name;
    uint32_t ttl = UINT32_MAX;

    return !is_validator(&r->client) &&
           !dns_reply_follow(reply, &end, &ttl, NULL, NULL) &&
           (dns_local_is_above(&end) || p->ops->is_above(p->opaque, &end));
}

static void ask_replied(DnsProxy *p, Request *r, Ask ask, Reply *reply)
{
    if (r->kind != REQUEST_PTR && p->ops->compares(p->opaque)) {
        dns_proxy_tell_targets(p, r, reply);
    }
    if (reply->rcode == DNS_RCODE_NXDOMAIN && r->kind != REQUEST_PTR &&
        has_below(p, r, reply)) {
        reply->rcode = DNS_RCODE_NOERROR;
        reply->exists = true;
    }
    if (r->kind == REQUEST_PASS) {
        dns_proxy_answer_passed(p, r, reply);
        return;
    }
    if (reply->rcode != DNS_RCODE_NOERROR &&
        reply->rcode != DNS_RCODE_NXDOMAIN) {
        ask_failed(p, r, ask, reply->has_edns && reply->edns.has_ede
                              ? reply->edns.ede
                              : DNS_EDE_NO_REACHABLE_AUTHORITY);
        return;
    }
    if (ask == ASK_PLAIN) {
        plain_reply(p, r, reply);
    } else if (r->kind == REQUEST_ADDRESS) {
        address_reply(p, r, reply);
    } else if (r->kind == REQUEST_STRIP) {
        dns_proxy_answer_negative(p, r, reply);
    } else if (r->kind == REQUEST_REAL) {
        real_reply(p, r, reply);
    } else if (r->kind == REQUEST_SERVICE) {
        dns_proxy_answer_service(p, r, reply);
    } else {
        dns_proxy_answer_ptr(p, r, reply);
    }
}

/* The reply is forged or wrongly signed.  msg may have the reason. */
static void ask_bogus(DnsProxy *p, Request *r, Ask ask, const uint8_t *msg,
                      size_t len)
{
    DnsEde why = DNS_EDE_DNSSEC_BOGUS;
    Reply reply;

    if (msg && !dns_reply_parse(&reply, &r->asked[ask], msg, len) &&
        reply.has_edns && reply.edns.has_ede) {
        why = reply.edns.ede;
    }
    if (ask == ASK_PLAIN) {
        ask_failed(p, r, ask, why);
    } else {
        dns_proxy_fail(p, r, why, &p->counters.servfail_bogus);
    }
}

/* Step (3) */
static void on_reply(void *opaque, uint64_t number, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    DnsProxy *p = opaque;
    Request *r = dns_proxy_find_request(p, number);
    Ask ask = number & 1;
    Reply reply;

    if (!r || r->state[ask] != ASK_WAITING) {
        p->counters.replies_late++;
        return;
    }
    r->state[ask] = ASK_UNUSED;
    if (status == DNS_UPSTREAM_BOGUS) {
        ask_bogus(p, r, ask, msg, len);
    } else if (!msg) {
        ask_failed(p, r, ask, failure_from_status(status));
    } else if (dns_reply_parse(&reply, &r->asked[ask], msg, len)) {
        p->counters.replies_bad++;
        ask_failed(p, r, ask, DNS_EDE_OTHER);
    } else {
        ask_replied(p, r, ask, &reply);
    }
}

/*** Queries ***/

/* Step (2).  The request may have ended when this returns. */
static void ask(DnsProxy *p, Request *r, Ask which, bool translated)
{
    uint8_t query[DNS_QUERY_MAX];
    uint64_t number = dns_proxy_request_number(p, r, which);
    uint16_t flags = DNS_FLAG_RD | DNS_FLAG_CD;
    size_t len;

    /*
     * AD is useful if the answer is not changed, or if it proves the same name.
     */
    if (!translated) {
        flags |= DNS_FLAG_AD;
    }
    len = dns_query_build(query, &r->asked[which], r->client.flags & flags,
                          r->kind != REQUEST_PTR &&
                          r->client.edns.dnssec_ok);
    if (p->upstream_ops->send(p->upstream, query, len, on_reply, p,
                              number) < 0) {
        on_reply(p, number, DNS_UPSTREAM_NETWORK, NULL, 0);
    }
}

/* The caller has set asked[ASK_MAIN] and kind. */
static void start(DnsProxy *p, Request *r)
{
    uint64_t plain_number = dns_proxy_request_number(p, r, ASK_PLAIN);
    bool plain = r->kind == REQUEST_ADDRESS &&
                 p->ops->nat64_available(p->opaque);

    r->state[ASK_MAIN] = ASK_WAITING;
    p->of_query = r;
    if (plain) {
        r->asked[ASK_PLAIN] = r->asked[ASK_MAIN];
        r->asked[ASK_PLAIN].type = DNS_TYPE_A;
        r->state[ASK_PLAIN] = ASK_WAITING;
    }
    ask(p, r, ASK_MAIN, r->kind != REQUEST_PASS && r->kind != REQUEST_REAL &&
                        r->kind != REQUEST_SERVICE);
    /* The first question may have been answered, which ends the request. */
    if (plain && dns_proxy_find_request(p, plain_number) == r) {
        ask(p, r, ASK_PLAIN, false);
    }
}

/*
 * Answer for the name of a virtual address.  It exists if the name of the
 * address behind it exists, so PTR is asked for all types.  Other types of a
 * validator go to the servers.  Ends or starts the request; returns false if
 * the name is not the name of a virtual address.
 */
static bool start_reverse(DnsProxy *p, Request *r)
{
    const DnsQuestion *question = &r->client.question;
    struct in6_addr addr6;
    struct in_addr addr4;
    int ret;

    if ((question->type != DNS_TYPE_PTR && is_validator(&r->client)) ||
        !dns_name_to_in_addr(&question->name, &addr4)) {
        return false;
    }
    ret = p->ops->unmap(p->opaque, addr4, &addr6, &r->lease);
    if (ret == -ENOENT) {
        dns_proxy_answer_nothing(p, r);
        return true;
    }
    if (ret) {
        return false;
    }
    r->kind = REQUEST_PTR;
    r->asked[ASK_MAIN].type = DNS_TYPE_PTR;
    r->asked[ASK_MAIN].qclass = DNS_CLASS_IN;
    dns_name_from_in6_addr(&r->asked[ASK_MAIN].name, &addr6);
    start(p, r);
    return true;
}

/* The treatment of each type, if the guest does not validate */
static RequestKind kind_of_type(const DnsProxy *p, uint16_t type)
{
    switch (type) {
    case DNS_TYPE_A:
    case DNS_TYPE_ANY:
        return REQUEST_ADDRESS;
    case DNS_TYPE_AAAA:
        return p->ops->uses_ipv6(p->opaque) ? REQUEST_REAL : REQUEST_STRIP;
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
        return REQUEST_SERVICE;
    default:
        return REQUEST_PASS;
    }
}

static void start_by_type(DnsProxy *p, Request *r)
{
    DnsLocalAnswer local;

    if (dns_local_answer(&r->client.question, &local)) {
        dns_proxy_answer_local(p, r, &local);
        return;
    }
    if (start_reverse(p, r)) {
        return;
    }
    r->kind = REQUEST_PASS;
    r->asked[ASK_MAIN] = r->client.question;
    if (!is_validator(&r->client)) {
        r->kind = kind_of_type(p, r->client.question.type);
    }
    if (r->kind == REQUEST_ADDRESS) {
        r->asked[ASK_MAIN].type = DNS_TYPE_AAAA;
    }
    start(p, r);
}

/* Read question and OPT.  Returns the RCODE of the query so far. */
static DnsRcode parse_query(Client *client, const uint8_t *msg, size_t len)
{
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    if (dns_cursor_init(&cursor, msg, len) || cursor.left[0] != 1 ||
        dns_cursor_question(&cursor, &client->question) <= 0) {
        return DNS_RCODE_FORMERR;
    }
    client->has_question = true;
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.type != DNS_TYPE_OPT) {
            continue;
        }
        /* Two OPT records are an error, RFC 6891 section 6.1.1. */
        if (client->has_edns || dns_rdata_edns(&cursor, &rr, &client->edns)) {
            client->has_edns = false;
            return DNS_RCODE_FORMERR;
        }
        client->has_edns = true;
    }
    if (ret || client->question.type == DNS_TYPE_OPT) {
        return DNS_RCODE_FORMERR;
    }
    return client->has_edns && client->edns.version ? DNS_RCODE_BADVERS
                                                    : DNS_RCODE_NOERROR;
}

/*
 * May the guest ask this at all?  Zone transfers and the like need more than
 * one message, or a key.  Other classes (version.bind) would reveal the host's
 * resolver to the guest.
 */
static bool is_ordinary(const DnsQuestion *question)
{
    return question->qclass == DNS_CLASS_IN &&
           !(question->type >= DNS_TYPE_TKEY &&
             question->type <= DNS_TYPE_MAILA);
}

/* Does the owner admit the query?  Arguments and result: as check_query() */
static uint64_t *check_admission(DnsProxy *p, const Client *client,
                                 const int *verdict, DnsRcode *rcode, int *ede)
{
    DnsLocalAnswer local;
    int ret = verdict ? *verdict
              : p->ops->admit(p->opaque, &client->question,
                              dns_local_answer(&client->question, &local));

    *rcode = DNS_RCODE_REFUSED;
    if (ret == -EACCES) {
        *ede = DNS_EDE_BLOCKED;
        return &p->counters.refused_name;
    }
    return ret ? &p->counters.refused_rate : NULL;
}

/* Is this a query that one can understand?  Result: as check_query() */
static uint64_t *check_form(DnsProxy *p, Client *client, const uint8_t *msg,
                            size_t len, DnsRcode *rcode)
{
    if (client->flags & DNS_FLAGS_OPCODE) {
        *rcode = DNS_RCODE_NOTIMP;
        return &p->counters.notimp;
    }
    *rcode = parse_query(client, msg, len);
    if (*rcode == DNS_RCODE_FORMERR) {
        return &p->counters.formerr;
    }
    if (*rcode == DNS_RCODE_BADVERS) {
        return &p->counters.badvers;
    }
    if (!is_ordinary(&client->question)) {
        *rcode = DNS_RCODE_REFUSED;
        return &p->counters.refused;
    }
    return NULL;
}

/*
 * Step (1).  @verdict: the owner's decision if it was asked already, or NULL.
 * Returns NULL if the query is good.  Otherwise returns the counter of the
 * reason, and sets *rcode and perhaps *ede.
 */
static uint64_t *check_query(DnsProxy *p, Client *client, const uint8_t *msg,
                             size_t len, const int *verdict, DnsRcode *rcode,
                             int *ede)
{
    uint64_t *counter = check_form(p, client, msg, len, rcode);

    if (counter) {
        p->ops->rejected(p->opaque, *rcode);
        return counter;
    }
    counter = check_admission(p, client, verdict, rcode, ede);
    if (counter) {
        return counter;
    }
    dns_proxy_make_room(p);
    *rcode = DNS_RCODE_SERVFAIL;
    if (!p->free_count) {
        return &p->counters.servfail_table_full;
    }
    return NULL;
}

/* Repeat an answer, and all that goes with it. */
static void answer_again(DnsProxy *p, const DnsRemembered *told, void *token)
{
    (*told->counter)++;
    p->counters.remembered++;
    if (told->num) {
        p->ops->resolved(p->opaque, &told->question.name, told->addr,
                         told->num);
    }
    p->ops->answer(p->opaque, token, told->answer, told->len);
}

/* @verdict: as check_query() */
static void take_query(DnsProxy *p, const uint8_t *msg, size_t len,
                       DnsTransport transport, const int *verdict, void *token)
{
    Client client = { .token = token, .transport = transport };
    DnsHeader header;
    DnsRcode rcode;
    uint64_t *counter;
    int ede = -1;

    if (len > DNS_MSG_MAX || dns_header_parse(msg, len, &header)) {
        p->counters.dropped_short++;
        return;
    }
    if (header.flags & DNS_FLAG_QR) {
        p->counters.dropped_response++;
        return;
    }
    client.id = header.id;
    client.flags = header.flags;
    counter = check_query(p, &client, msg, len, verdict, &rcode, &ede);
    if (counter) {
        (*counter)++;
        dns_proxy_answer_bare(p, &client, rcode, ede);
        return;
    }
    p->query = msg;
    p->query_len = len;
    p->of_query = NULL;
    start_by_type(p, dns_proxy_new_request(p, &client));
    p->of_query = NULL;
}

bool dns_proxy_query(DnsProxy *p, const uint8_t *msg, size_t len,
                     DnsTransport transport, void *token)
{
    DnsRemembered told DNS_UNINITIALIZED;
    int verdict;

    p->counters.queries++;
    if (!dns_memory_recall(p->memory, msg, len, transport,
                           p->ops->now_ms(p->opaque), &told)) {
        take_query(p, msg, len, transport, NULL, token);
        return false;
    }
    verdict = p->ops->admit(p->opaque, &told.question, false);
    if (verdict) {
        take_query(p, msg, len, transport, &verdict, token);
        return false;
    }
    answer_again(p, &told, token);
    return true;
}

void dns_proxy_forget(DnsProxy *p)
{
    dns_memory_clear(p->memory);
}

size_t dns_proxy_room(const DnsProxy *p)
{
    return p->free_count + p->answered_count;
}

void dns_proxy_cancel(DnsProxy *p, void *token)
{
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (p->used[i] && p->tokens[i] == token) {
            p->counters.dropped_cancelled++;
            dns_proxy_end_request(p, &p->requests[i]);
        }
    }
}

/*** Time ***/

static bool is_held(const DnsProxy *p, size_t slot)
{
    return p->used[slot] && p->requests[slot].state[ASK_PLAIN] == ASK_HELD;
}

int dns_proxy_timeout_ms(DnsProxy *p)
{
    int64_t first = INT64_MAX;

    if (!p->held_count) {
        return -1;
    }
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (is_held(p, i)) {
            first = MIN(first, p->requests[i].held_until);
        }
    }
    return MAX(first - p->ops->now_ms(p->opaque), 0);
}

void dns_proxy_process_timeouts(DnsProxy *p)
{
    int64_t now = p->ops->now_ms(p->opaque);

    for (size_t i = 0; p->held_count && i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (is_held(p, i) && p->requests[i].held_until <= now) {
            p->counters.plain_after_delay++;
            answer_held(p, &p->requests[i]);
        }
    }
}

/*** Life ***/

DnsProxy *dns_proxy_new(const DnsProxyOps *ops, void *opaque,
                        const DnsUpstreamOps *upstream_ops, void *upstream)
{
    DnsProxy *p = g_new0(DnsProxy, 1);

    p->ops = ops;
    p->opaque = opaque;
    p->upstream_ops = upstream_ops;
    p->upstream = upstream;
    p->memory = dns_memory_new();
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        p->free_slots[p->free_count++] = DNS_PROXY_MAX_REQUESTS - 1 - i;
    }
    return p;
}

void dns_proxy_free(DnsProxy *p)
{
    if (!p) {
        return;
    }
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (p->used[i]) {
            dns_proxy_end_request(p, &p->requests[i]);
        }
    }
    dns_memory_free(p->memory);
    g_free(p);
}

const DnsProxyCounters *dns_proxy_counters(const DnsProxy *p)
{
    return &p->counters;
}
