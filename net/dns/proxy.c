/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy for a guest that speaks IPv4 on a network that speaks IPv6
 *
 * Theory of operation
 *
 * The guest asks for IPv4 addresses; the network has IPv6 ones.  These are
 * the six steps of the paper's section 4.2 and where they happen:
 *
 *   (1) a query comes from the guest            dns_proxy_query()
 *   (2) ask upstream for the IPv6 addresses     start(), ask()
 *   (3) the reply comes                         on_reply()
 *   (4) an error is passed on as an error       fail(), answer_negative()
 *   (5) find or make a virtual address for each collect_virtual(), ops->map
 *   (6) answer with the virtual addresses       answer_virtual()
 *
 * What happens to which question:
 *
 *   A, ANY      AAAA is asked upstream.  With a NAT64 on the network (RFC
 *               6146) A is asked at the same time, as a name without AAAA
 *               can then be reached by its IPv4 address.  AAAA wins; but an A
 *               that has come waits for it no longer than the Resolution
 *               Delay of RFC 8305, since servers that never answer AAAA
 *               exist and the guest's resolver gives up after 5 seconds.
 *               NXDOMAIN from either ends it: a name exists for every type
 *               or for none (RFC 8020).  ANY gets the A records only, which
 *               RFC 8482 section 4.1 allows.
 *   AAAA        asked upstream, and of a positive answer only the CNAMEs are
 *               handed on: the guest has no IPv6, but NXDOMAIN and the SOA
 *               for negative caching (RFC 2308) stay true.
 *   HTTPS, SVCB likewise.  Their ipv4hint and ipv6hint (RFC 9460 section 7.3)
 *               would be connected to without asking for A, around the
 *               translation; without the record a client asks A and AAAA.
 *   PTR         of a virtual address: the IPv6 address behind it is asked
 *               for under ip6.arpa.  Others are passed.
 *   others      passed: the upstream's message with the guest's id and
 *               question, and an OPT record only if the guest sent one, as
 *               OPT is between neighbours (RFC 6891 section 6.1.1).
 *
 * TTLs never promise more than the mapping: all A records of an answer carry
 * the least of their TTLs and leases (one RRset, one TTL, RFC 2181).
 *
 * Virtual answers are not signed and never say AD.  DO is echoed, CD is
 * passed to the upstream and echoed, so a guest that validates by itself
 * sees signed zones as bogus: there is no IPv4 answer it could accept.
 *
 * State: a table of DNS_PROXY_MAX_REQUESTS slots, each with the guest's
 * question and one or two requests upstream.  The upstream's request number
 * holds slot and generation, so a reply to a request that has ended finds
 * nothing.  An answer is built in one buffer of the proxy; the slot is free
 * before ops->answer is called, so whatever that does, nothing is left half
 * done.  Guest and upstream are both hostile: a message is walked whole
 * before it is used, a CNAME chain has an end, a record is believed only if
 * the chain leads to it.
 */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/proxy.h"
#include "net/dns/wire.h"

#define SLOT_BITS 10
G_STATIC_ASSERT(DNS_PROXY_MAX_REQUESTS == 1 << SLOT_BITS);

/* A chain longer than this is a loop or a joke */
#define MAX_CNAMES 16

/* Records of an answer section that are looked at for each step of a chain */
#define MAX_ANSWER_RECORDS 1024

/* A replies that wait for their AAAA, all together */
#define MAX_HELD_BYTES (4 << 20)

typedef enum RequestKind {
    REQUEST_ADDRESS,        /* AAAA for A, perhaps with A beside it */
    REQUEST_STRIP,          /* only whether the name exists */
    REQUEST_PTR,            /* name of a virtual address */
    REQUEST_PASS,
} RequestKind;

/* The requests upstream that a slot can have */
typedef enum Ask {
    ASK_MAIN,
    ASK_PLAIN,              /* A, beside the AAAA of REQUEST_ADDRESS */
} Ask;

typedef enum AskState {
    ASK_UNUSED,
    ASK_WAITING,
    ASK_FAILED,
    ASK_EMPTY,              /* NODATA, or nothing of use */
    ASK_HELD,               /* ASK_PLAIN has records and waits for AAAA */
} AskState;

/* What the guest sent, as far as answers depend on it */
typedef struct Client {
    void *token;
    DnsTransport transport;
    uint16_t id;
    uint16_t flags;
    bool has_question;
    bool has_edns;
    DnsEdns edns;
    DnsQuestion question;
} Client;

typedef struct Request {
    Client client;
    RequestKind kind;
    uint64_t generation;
    AskState state[2];
    DnsQuestion asked[2];
    DnsEde failure;         /* why ASK_MAIN failed */
    uint32_t lease;         /* REQUEST_PTR: of the mapping */
    uint8_t *held;          /* ASK_HELD: the reply */
    size_t held_len;
    int64_t held_until;
} Request;

struct DnsProxy {
    const DnsProxyOps *ops;
    void *opaque;
    const DnsUpstreamOps *upstream_ops;
    void *upstream;
    DnsProxyCounters counters;

    Request requests[DNS_PROXY_MAX_REQUESTS];
    /* Apart from the requests: counting a token's walks over these */
    bool used[DNS_PROXY_MAX_REQUESTS];
    void *tokens[DNS_PROXY_MAX_REQUESTS];
    uint16_t free_slots[DNS_PROXY_MAX_REQUESTS];
    size_t free_count;
    uint64_t generation;
    size_t held_count;
    size_t held_bytes;

    uint8_t out[DNS_MSG_MAX];
};

/* A reply that was walked from end to end and belongs to its question */
typedef struct Reply {
    const uint8_t *msg;
    size_t len;
    uint16_t flags;
    uint16_t rcode;         /* all 12 bits */
    bool has_edns;
    DnsEdns edns;
    size_t plain_len;       /* up to the OPT record */
    uint16_t plain_arcount; /* additional records before it */
} Reply;

/*** Answers ***/

static size_t client_limit(const Client *client)
{
    if (client->transport == DNS_TRANSPORT_TCP) {
        return DNS_MSG_MAX;
    }
    return client->has_edns ? MAX(client->edns.udp_size, DNS_UDP_MIN)
                            : DNS_UDP_MIN;
}

static void begin_answer(DnsProxy *p, const Client *client, DnsRcode rcode,
                         DnsBuilder *b)
{
    dns_builder_init(b, p->out, client_limit(client), client->id,
                     DNS_FLAG_QR | DNS_FLAG_RA |
                     (client->flags & (DNS_FLAGS_OPCODE | DNS_FLAG_RD |
                                       DNS_FLAG_CD)) |
                     (rcode & DNS_FLAGS_RCODE));
    if (client->has_question) {
        /* Cannot fail: DNS_UDP_MIN holds the longest question */
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
 * Add OPT where the guest speaks EDNS, cut what does not fit, hand over.
 * fits: every record so far went in.
 */
static void finish_answer(DnsProxy *p, const Client *client, DnsBuilder *b,
                          bool fits, uint16_t rcode, int ede)
{
    DnsEdns edns = edns_for(client, rcode, ede);

    if (fits && client->has_edns) {
        fits = !dns_builder_edns(b, &edns);
    }
    if (!fits) {
        p->counters.truncated++;
        dns_builder_truncate(b);
        if (client->has_edns) {
            dns_builder_edns(b, &edns);
        }
    }
    p->ops->answer(p->opaque, client->token, p->out, b->len);
}

/* An answer without records, to a query that has no slot */
static void answer_bare(DnsProxy *p, const Client *client, DnsRcode rcode)
{
    DnsBuilder b;

    begin_answer(p, client, rcode, &b);
    finish_answer(p, client, &b, true, rcode, -1);
}

/*** Slots ***/

static uint64_t request_number(DnsProxy *p, const Request *r, Ask ask)
{
    return (r->generation << SLOT_BITS | (r - p->requests)) << 1 | ask;
}

/* The live request behind a number, or NULL */
static Request *find_request(DnsProxy *p, uint64_t number)
{
    size_t slot = (number >> 1) % DNS_PROXY_MAX_REQUESTS;
    Request *r = &p->requests[slot];

    if (!p->used[slot] || r->generation != number >> (1 + SLOT_BITS)) {
        return NULL;
    }
    return r;
}

static size_t count_token(const DnsProxy *p, const void *token)
{
    size_t count = 0;

    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        count += p->used[i] && p->tokens[i] == token;
    }
    return count;
}

static Request *new_request(DnsProxy *p, const Client *client)
{
    size_t slot = p->free_slots[--p->free_count];
    Request *r = &p->requests[slot];

    p->used[slot] = true;
    p->tokens[slot] = client->token;
    r->client = *client;
    r->generation = ++p->generation;
    r->state[ASK_MAIN] = ASK_UNUSED;
    r->state[ASK_PLAIN] = ASK_UNUSED;
    r->failure = DNS_EDE_OTHER;
    r->lease = 0;
    return r;
}

static void drop_held(DnsProxy *p, Request *r)
{
    if (r->state[ASK_PLAIN] == ASK_HELD) {
        p->held_count--;
        p->held_bytes -= r->held_len;
        g_clear_pointer(&r->held, g_free);
        r->state[ASK_PLAIN] = ASK_UNUSED;
    }
}

static void end_request(DnsProxy *p, Request *r)
{
    size_t slot = r - p->requests;

    for (Ask ask = ASK_MAIN; ask <= ASK_PLAIN; ask++) {
        if (r->state[ask] == ASK_WAITING) {
            p->upstream_ops->cancel(p->upstream, p,
                                    request_number(p, r, ask));
        }
    }
    drop_held(p, r);
    p->used[slot] = false;
    p->free_slots[p->free_count++] = slot;
}

/* The answer to r is in b: free the slot, then hand it over */
static void conclude(DnsProxy *p, Request *r, DnsBuilder *b, bool fits,
                     uint16_t rcode, int ede)
{
    Client client = r->client;

    end_request(p, r);
    finish_answer(p, &client, b, fits, rcode, ede);
}

static void fail(DnsProxy *p, Request *r, DnsEde ede, uint64_t *counter)
{
    DnsBuilder b;

    (*counter)++;
    begin_answer(p, &r->client, DNS_RCODE_SERVFAIL, &b);
    conclude(p, r, &b, true, DNS_RCODE_SERVFAIL, ede);
}

/*** Replies ***/

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

/* Returns 0, or -EBADMSG for what is not a whole reply to that question. */
static int parse_reply(Reply *reply, const DnsQuestion *asked,
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
        .flags = header.flags,
        .rcode = header.flags & DNS_FLAGS_RCODE,
        .plain_arcount = header.arcount,
    };
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.type != DNS_TYPE_OPT) {
            continue;
        }
        if (reply->has_edns || dns_rdata_edns(&cursor, &rr, &reply->edns)) {
            return -EBADMSG;
        }
        reply->has_edns = true;
        reply->rcode |= reply->edns.rcode_high << 4;
        reply->plain_len = rr.start;
        reply->plain_arcount = header.arcount -
                               cursor.left[1 + DNS_SECTION_ADDITIONAL] - 1;
    }
    if (!reply->has_edns) {
        reply->plain_len = cursor.offset;
    }
    return ret;
}

/*
 * Next record of that section with that owner and type, class IN; cursor
 * moves on.  The reply was walked before, so -EBADMSG cannot be.
 */
static bool find_rr(DnsCursor *cursor, DnsSection section,
                    const DnsName *owner, uint16_t type, DnsRr *rr)
{
    for (int n = 0; n < MAX_ANSWER_RECORDS; n++) {
        if (dns_cursor_rr(cursor, rr) <= 0 || rr->section > section) {
            return false;
        }
        if (rr->section == section && rr->type == type &&
            rr->rrclass == DNS_CLASS_IN &&
            dns_name_equal(&rr->name, owner)) {
            return true;
        }
    }
    return false;
}

/* The alias that name is, wherever it stands in the answer section */
static bool find_cname(const Reply *reply, const DnsName *name,
                       DnsName *target, uint32_t *ttl)
{
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    if (!find_rr(&cursor, DNS_SECTION_ANSWER, name, DNS_TYPE_CNAME, &rr) ||
        dns_rdata_name(&cursor, &rr, target)) {
        return false;
    }
    *ttl = rr.ttl;
    return true;
}

/*
 * Put the CNAMEs that start at *name into the answer; *name is the end of
 * the chain then.  Returns 0, or -ELOOP.
 */
static int copy_cnames(const Reply *reply, DnsName *name, DnsBuilder *b,
                       bool *fits)
{
    DnsName target;
    uint32_t ttl;

    for (int n = 0; find_cname(reply, name, &target, &ttl); n++) {
        if (n == MAX_CNAMES) {
            return -ELOOP;
        }
        *fits = *fits && !dns_builder_name(b, DNS_SECTION_ANSWER, name,
                                           DNS_TYPE_CNAME, ttl, &target);
        *name = target;
    }
    return 0;
}

/* The SOA that says how long "no" holds, RFC 2308 */
static void copy_soa(const Reply *reply, DnsBuilder *b, bool *fits)
{
    DnsCursor cursor;
    DnsRr rr;
    DnsSoa soa;

    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.section == DNS_SECTION_AUTHORITY &&
            rr.type == DNS_TYPE_SOA && rr.rrclass == DNS_CLASS_IN &&
            !dns_rdata_soa(&cursor, &rr, &soa)) {
            *fits = *fits && !dns_builder_soa(b, DNS_SECTION_AUTHORITY,
                                              &rr.name, rr.ttl, &soa);
            return;
        }
    }
}

static void bad_reply(DnsProxy *p, Request *r)
{
    p->counters.replies_bad++;
    fail(p, r, DNS_EDE_OTHER, &p->counters.servfail_upstream);
}

static void count_negative(DnsProxy *p, uint16_t rcode)
{
    if (rcode == DNS_RCODE_NXDOMAIN) {
        p->counters.nxdomain++;
    } else {
        p->counters.nodata++;
    }
}

/* NXDOMAIN or NODATA with the reply's aliases and SOA */
static void answer_negative(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    DnsBuilder b;
    bool fits = true;

    begin_answer(p, &r->client, reply->rcode, &b);
    if (copy_cnames(reply, &name, &b, &fits)) {
        bad_reply(p, r);
        return;
    }
    copy_soa(reply, &b, &fits);
    count_negative(p, reply->rcode);
    conclude(p, r, &b, fits, reply->rcode, -1);
}

/*
 * The upstream's message behind the guest's id and question.  What comes
 * behind the upstream's OPT is cut with it: records there are optional, and
 * nothing before can point at them.
 */
static void answer_passed(DnsProxy *p, Request *r, const Reply *reply)
{
    const Client *client = &r->client;
    uint16_t rcode = reply->rcode;
    DnsBuilder b;
    bool fits;

    if (rcode > DNS_FLAGS_RCODE && !client->has_edns) {
        rcode = DNS_RCODE_SERVFAIL;
    }
    dns_builder_init(&b, p->out, client_limit(client), client->id,
                     (reply->flags & ~DNS_FLAGS_RCODE) |
                     (rcode & DNS_FLAGS_RCODE));
    dns_builder_question(&b, &client->question);
    fits = !dns_builder_adopt(&b, reply->msg, reply->plain_len,
                              reply->plain_arcount);
    conclude(p, r, &b, fits, rcode,
             reply->has_edns && reply->edns.has_ede ? reply->edns.ede : -1);
}

/*** A from AAAA ***/

typedef struct VirtualAddresses {
    struct in_addr addr[DNS_PROXY_MAX_ADDRESSES];
    size_t count;
    uint32_t ttl;           /* of all of them */
    bool pool_full;
} VirtualAddresses;

static void map_one(DnsProxy *p, const struct in6_addr *addr6, uint32_t ttl,
                    VirtualAddresses *found)
{
    struct in_addr addr4;
    uint32_t lease = 0;
    int ret;

    if (!p->ops->usable(p->opaque, addr6)) {
        p->counters.addresses_unusable++;
        return;
    }
    if (found->count == DNS_PROXY_MAX_ADDRESSES) {
        p->counters.addresses_over_limit++;
        return;
    }
    ret = p->ops->map(p->opaque, addr6, ttl, &addr4, &lease);
    if (ret == -ENOSPC) {
        p->counters.addresses_pool_full++;
        found->pool_full = true;
    } else if (ret) {
        p->counters.addresses_unusable++;
    } else {
        found->addr[found->count++] = addr4;
        found->ttl = MIN(found->ttl, MIN(ttl, lease));
    }
}

/* Step (5): virtual addresses for the AAAA records of name, in their order */
static void collect_virtual(DnsProxy *p, const Reply *reply,
                            const DnsName *name, VirtualAddresses *found)
{
    struct in6_addr addr6;
    DnsCursor cursor;
    DnsRr rr;

    found->count = 0;
    found->ttl = UINT32_MAX;
    found->pool_full = false;
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (find_rr(&cursor, DNS_SECTION_ANSWER, name, DNS_TYPE_AAAA, &rr)) {
        if (!dns_rdata_aaaa(&cursor, &rr, &addr6)) {
            map_one(p, &addr6, rr.ttl, found);
        }
    }
}

/*
 * Step (6), for a reply with NOERROR.  Returns false, with nothing done, if
 * it has no address that could be handed out.
 */
static bool answer_virtual(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    VirtualAddresses found;
    DnsBuilder b;
    bool fits = true;

    begin_answer(p, &r->client, DNS_RCODE_NOERROR, &b);
    if (copy_cnames(reply, &name, &b, &fits)) {
        bad_reply(p, r);
        return true;
    }
    collect_virtual(p, reply, &name, &found);
    if (!found.count && found.pool_full) {
        fail(p, r, DNS_EDE_OTHER, &p->counters.servfail_pool_full);
        return true;
    }
    if (!found.count) {
        return false;
    }
    for (size_t i = 0; i < found.count; i++) {
        fits = fits && !dns_builder_a(&b, DNS_SECTION_ANSWER, &name,
                                      found.ttl, found.addr[i]);
    }
    p->counters.answers_virtual++;
    conclude(p, r, &b, fits, DNS_RCODE_NOERROR, -1);
    return true;
}

static void answer_plain(DnsProxy *p, Request *r, const Reply *reply)
{
    p->counters.answers_plain++;
    answer_passed(p, r, reply);
}

static void answer_held(DnsProxy *p, Request *r)
{
    Reply reply;

    /* Was walked when it came */
    parse_reply(&reply, &r->asked[ASK_PLAIN], r->held, r->held_len);
    answer_plain(p, r, &reply);
}

/* AAAA has come to nothing, not even a "no": what has A to say? */
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
        fail(p, r, r->failure, &p->counters.servfail_upstream);
        break;
    }
}

/* The name exists and has no AAAA that the guest could use */
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
        /* There may be an A: NODATA could be a lie */
        fail(p, r, r->failure, &p->counters.servfail_upstream);
        break;
    case ASK_UNUSED:
    case ASK_EMPTY:
        answer_negative(p, r, reply);
        break;
    }
}

static void address_reply(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->rcode == DNS_RCODE_NXDOMAIN) {
        answer_negative(p, r, reply);
    } else if (!answer_virtual(p, r, reply)) {
        main_empty(p, r, reply);
    }
}

/*** The A beside the AAAA ***/

static void plain_failed(DnsProxy *p, Request *r)
{
    r->state[ASK_PLAIN] = ASK_FAILED;
    if (r->state[ASK_MAIN] != ASK_WAITING) {
        fail(p, r, r->failure, &p->counters.servfail_upstream);
    }
}

static bool has_plain_address(const Reply *reply, const DnsName *name)
{
    DnsName end = *name, target;
    DnsCursor cursor;
    DnsRr rr;
    uint32_t ttl;

    for (int n = 0; n < MAX_CNAMES; n++) {
        if (!find_cname(reply, &end, &target, &ttl)) {
            break;
        }
        end = target;
    }
    dns_cursor_init(&cursor, reply->msg, reply->len);
    return find_rr(&cursor, DNS_SECTION_ANSWER, &end, DNS_TYPE_A, &rr);
}

/* Keep the reply until AAAA comes or the delay is over */
static void hold_plain(DnsProxy *p, Request *r, const Reply *reply)
{
    if (reply->len > MAX_HELD_BYTES - p->held_bytes) {
        /* No room to wait in: as if the delay were over */
        p->counters.plain_after_delay++;
        answer_plain(p, r, reply);
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

    r->state[ASK_PLAIN] = ASK_EMPTY;
    if (reply->rcode == DNS_RCODE_NXDOMAIN) {
        answer_negative(p, r, reply);
    } else if (has_plain_address(reply, &r->asked[ASK_PLAIN].name)) {
        if (main_state == ASK_WAITING) {
            hold_plain(p, r, reply);
        } else {
            answer_plain(p, r, reply);
        }
    } else if (main_state == ASK_EMPTY) {
        answer_negative(p, r, reply);
    } else if (main_state == ASK_FAILED) {
        /* There may be an AAAA: NODATA could be a lie */
        fail(p, r, r->failure, &p->counters.servfail_upstream);
    }
}

/*** PTR of a virtual address ***/

static void ptr_reply(DnsProxy *p, Request *r, const Reply *reply)
{
    DnsName name = r->asked[ASK_MAIN].name;
    DnsName target;
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;
    uint32_t ttl, limit = r->lease;
    bool fits = true;
    int count = 0;

    /*
     * Aliases within ip6.arpa (RFC 2317 style) and its SOA mean nothing
     * below the in-addr.arpa name that the guest asked for.
     */
    for (int n = 0; find_cname(reply, &name, &target, &ttl); n++) {
        if (n == MAX_CNAMES) {
            bad_reply(p, r);
            return;
        }
        limit = MIN(limit, ttl);
        name = target;
    }
    begin_answer(p, &r->client, reply->rcode, &b);
    dns_cursor_init(&cursor, reply->msg, reply->len);
    while (count < DNS_PROXY_MAX_ADDRESSES &&
           find_rr(&cursor, DNS_SECTION_ANSWER, &name, DNS_TYPE_PTR, &rr)) {
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
    }
    conclude(p, r, &b, fits, reply->rcode, -1);
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

static void ask_replied(DnsProxy *p, Request *r, Ask ask, const Reply *reply)
{
    if (r->kind == REQUEST_PASS) {
        p->counters.passed++;
        answer_passed(p, r, reply);
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
        answer_negative(p, r, reply);
    } else {
        ptr_reply(p, r, reply);
    }
}

/* Step (3) */
static void on_reply(void *opaque, uint64_t number, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    DnsProxy *p = opaque;
    Request *r = find_request(p, number);
    Ask ask = number & 1;
    Reply reply;

    if (!r || r->state[ask] != ASK_WAITING) {
        p->counters.replies_late++;
        return;
    }
    r->state[ask] = ASK_UNUSED;
    if (!msg) {
        ask_failed(p, r, ask, failure_from_status(status));
    } else if (parse_reply(&reply, &r->asked[ask], msg, len)) {
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
    uint64_t number = request_number(p, r, which);
    uint16_t flags = DNS_FLAG_RD | DNS_FLAG_CD;
    size_t len;

    /* Signatures and their verdict are of use only where nothing changes */
    if (!translated) {
        flags |= DNS_FLAG_AD;
    }
    len = dns_query_build(query, &r->asked[which], r->client.flags & flags,
                          !translated && r->client.edns.dnssec_ok);
    if (p->upstream_ops->send(p->upstream, query, len, on_reply, p,
                              number) < 0) {
        on_reply(p, number, DNS_UPSTREAM_NETWORK, NULL, 0);
    }
}

/* asked[ASK_MAIN] and kind are set */
static void start(DnsProxy *p, Request *r)
{
    uint64_t plain_number = request_number(p, r, ASK_PLAIN);
    bool plain = r->kind == REQUEST_ADDRESS &&
                 p->ops->nat64_available(p->opaque);

    r->state[ASK_MAIN] = ASK_WAITING;
    if (plain) {
        r->asked[ASK_PLAIN] = r->asked[ASK_MAIN];
        r->asked[ASK_PLAIN].type = DNS_TYPE_A;
        r->state[ASK_PLAIN] = ASK_WAITING;
    }
    ask(p, r, ASK_MAIN, r->kind != REQUEST_PASS);
    /* The first may have been answered by now, and ended the request */
    if (plain && find_request(p, plain_number) == r) {
        ask(p, r, ASK_PLAIN, false);
    }
}

/* A PTR question: ends or starts the request as the address says */
static void start_ptr(DnsProxy *p, Request *r, struct in_addr addr4)
{
    struct in6_addr addr6;
    DnsBuilder b;
    int ret = p->ops->unmap(p->opaque, addr4, &addr6, &r->lease);

    if (ret == -ENOENT) {
        p->counters.nxdomain++;
        begin_answer(p, &r->client, DNS_RCODE_NXDOMAIN, &b);
        conclude(p, r, &b, true, DNS_RCODE_NXDOMAIN, -1);
        return;
    }
    if (!ret) {
        r->kind = REQUEST_PTR;
        dns_name_from_in6_addr(&r->asked[ASK_MAIN].name, &addr6);
    }
    start(p, r);
}

static void start_by_type(DnsProxy *p, Request *r)
{
    struct in_addr addr4;

    r->kind = REQUEST_PASS;
    r->asked[ASK_MAIN] = r->client.question;
    switch (r->client.question.type) {
    case DNS_TYPE_A:
    case DNS_TYPE_ANY:
        r->kind = REQUEST_ADDRESS;
        r->asked[ASK_MAIN].type = DNS_TYPE_AAAA;
        break;
    case DNS_TYPE_AAAA:
    case DNS_TYPE_HTTPS:
    case DNS_TYPE_SVCB:
        r->kind = REQUEST_STRIP;
        break;
    case DNS_TYPE_PTR:
        if (dns_name_to_in_addr(&r->client.question.name, &addr4)) {
            start_ptr(p, r, addr4);
            return;
        }
        break;
    default:
        break;
    }
    start(p, r);
}

/* Question and OPT.  Returns the RCODE that the query deserves so far. */
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
        /* Two are an error, RFC 6891 section 6.1.1 */
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
 * May this be asked at all?  Zone transfers and the like need more than one
 * message or a key; other classes (version.bind) would name the host's
 * resolver to the guest.
 */
static bool is_ordinary(const DnsQuestion *question)
{
    return question->qclass == DNS_CLASS_IN &&
           !(question->type >= DNS_TYPE_TKEY &&
             question->type <= DNS_TYPE_MAILA);
}

/* Step (1).  Returns the counter of why not, with *rcode set, or NULL. */
static uint64_t *check_query(DnsProxy *p, Client *client, const uint8_t *msg,
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
    *rcode = DNS_RCODE_SERVFAIL;
    if (!p->free_count) {
        return &p->counters.servfail_table_full;
    }
    if (count_token(p, client->token) >= DNS_PROXY_MAX_PER_TOKEN) {
        return &p->counters.servfail_token_full;
    }
    return NULL;
}

void dns_proxy_query(DnsProxy *p, const uint8_t *msg, size_t len,
                     DnsTransport transport, void *token)
{
    Client client = { .token = token, .transport = transport };
    DnsHeader header;
    DnsRcode rcode;
    uint64_t *counter;

    p->counters.queries++;
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
    counter = check_query(p, &client, msg, len, &rcode);
    if (counter) {
        (*counter)++;
        answer_bare(p, &client, rcode);
        return;
    }
    start_by_type(p, new_request(p, &client));
}

void dns_proxy_cancel(DnsProxy *p, void *token)
{
    for (size_t i = 0; i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (p->used[i] && p->tokens[i] == token) {
            p->counters.dropped_cancelled++;
            end_request(p, &p->requests[i]);
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
            end_request(p, &p->requests[i]);
        }
    }
    g_free(p);
}

const DnsProxyCounters *dns_proxy_counters(const DnsProxy *p)
{
    return &p->counters;
}
