/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked by the client library's engine
 *
 * Theory of operation
 *
 * The engine (net/dns/client/net/ask.h) asks one server after the other until
 * one knows the answer.  Servers that were silent come last.  It asks over UDP,
 * and over TCP if the reply is truncated.  Every RCODE except NOERROR and
 * NXDOMAIN counts as a refusal.  If all servers refuse, the outcome is a
 * refusal, with the Extended DNS Error that has the reason.  A lame server
 * counts as refusing, too.
 *
 * Requests with the same query share an exchange.  Two things protect against
 * forged replies (RFC 5452).  First, the engine uses a random id and a random
 * source port for each try.  Second, a question is never in flight twice: with
 * n ids in flight for one question, a forger needs an n-th of the tries
 * (section 5, the birthday attack), and a guest can ask as often as it likes.
 *
 * So one question must not be in flight in several spellings.  Names are
 * compared and sent in lower case.  The spelling does not depend on the first
 * asker then, and the proxy ignores the case of names in a reply.  Replies
 * depend on RD, CD and DO, so these flags are part of the query: one question
 * has 8 queries at most.  AD is not sent, because the AD of a server is not
 * trusted.
 *
 * Validation: another process asks instead of the engine (checker.h).  The reply
 * is its reply, that is, the message that was validated and no other.  If that
 * process cannot answer or is away, the request fails; with
 * DNS_DNSSEC_PERMISSIVE the engine asks, as if validation were off, so that
 * validation makes no name unresolvable.  AD in a reply always comes from that
 * process: it is cleared in replies that the engine received.
 *
 * Replies are cached for their TTL, failures for some seconds (RFC 9520).  A
 * cached reply is delivered before send returns.  A guest chooses the
 * questions, so the cache has limits for entries and octets.
 *
 * A cancelled request leaves its exchange at once.  An exchange without
 * requests waits for its current server until that has answered or its time is
 * over, but asks no other server.  Its ids are still in flight, so a new
 * request for the same query joins it.  Otherwise a guest could send any number
 * of queries by asking and cancelling.  It could also ask for new names and
 * cancel, so there are at most MAX_EXCHANGES exchanges.
 *
 * A request that joins an exchange gets the outcome of that exchange, even if
 * it is a failure.  A request that is sent when the outcome is there, for
 * example from within a reply callback, starts another exchange, unless the
 * reply is cached.  If many requests wait for one exchange, only some are told
 * at a time, and the rest when the event loop returns: to answer 2048 queries
 * from one reply of 64 KiB can take seconds.
 *
 * Descriptors: each question has a socket of its own until PORTS are open.
 * Then a few questions share each socket.
 *
 * Servers: dns_upstream_follow() compares the file and the interfaces with what
 * is in use (origin.h).  A change makes another asker; the validator follows its
 * servers itself.  What is under way is asked again, or it would wait for
 * servers that may be gone.  All of the cache is dropped, as other servers may
 * know other names.  Nothing looks while the guest asks nothing, so an idle VM
 * causes no work.
 *
 * Exchanges are found by their query in a balanced tree: a guest chooses the
 * queries, and could choose queries that share one bucket of a hash table.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "net/dns/client/core/cache.h"
#include "net/dns/client/net/ask.h"
#include "net/dns/upstream/checker.h"
#include "net/dns/upstream/upstream.h"
#include "net/dns/wire/wire.h"

#define RESOLV_CONF     "/etc/resolv.conf"
#define LOOK_GAP        (US_PER_S / 100)        /* however many questions */
#define LOOK_EVERY      (US_PER_S / 4)          /* while one is under way */
#define TRY_TIMEOUT     (4 * US_PER_S)
#define ROUNDS          2
#define TOLD_AT_ONCE    16      /* callbacks for one outcome in a turn */
#define MAX_EXCHANGES   4096    /* includes exchanges without requests */
#define RESERVED        16      /* part of these that room() leaves out */
#define PORTS           256     /* UDP sockets; further ones are shared */
#define CONNECTIONS     32      /* TCP connections; further ones wait */
#define EDNS_DO         0x8000  /* a bit of the TTL of OPT, RFC 3225 */
#define REPLY_SMALL     1500    /* octets; shorter replies are on the stack */

struct DnsUpstream {
    DnscLoop loop;
    DnscAsker *asker;
    DnsChecker *checker;        /* NULL: validation is off */
    DnsDnssec dnssec;
    bool has_bind6;
    struct in6_addr bind6;
    DnsOrigin origin;
    int64_t looked;             /* when it was looked at last */
    bool is_behind;             /* the asker does not have its servers */
    char *trouble;              /* why not, if that was reported */
    DnsValidatedFn *validated;
    void (*validator_news)(void *opaque, const char *trouble);
    void (*moved)(void *opaque, const char *error);
    void *opaque;               /* for all */
    /* only the counters of verdicts are used */
    DnsUpstreamCounters verdicts;
    DnscCache *cache;           /* NULL: replies are not cached */
    VmmnetDnsCounters counters;
    GHashTable *live;       /* the requests that are not cancelled */
    GTree *exchanges;       /* from Query to Exchange without an outcome */
    GQueue ended;           /* exchanges with requests to be told */
    bool dying;
};

/* The query as asked, but with id 0 and its name in lower case */
typedef struct Query {
    bool is_checked;        /* is to be validated */
    size_t len;
    uint8_t msg[DNS_QUERY_MAX];
} Query;

/* A query and all requests that wait for its outcome; there may be none */
typedef struct Exchange {
    Query query;            /* key of up->exchanges: must not change */
    DnscQuery asked;        /* the same, parsed */
    DnsUpstream *up;
    DnscAsk *ask;           /* Either of these is under way */
    DnsCheck *check;
    GQueue waiting;         /* of Request, by their links */
    GList link;             /* in up->ended */
    DnsUpstreamStatus status;
    DnscResult *result;     /* set when the exchange has an outcome */
} Exchange;

typedef struct Request {
    /* The key of a request in up->live */
    void *opaque;
    uint64_t number;

    DnsReplyFn *reply;
    Exchange *exchange;
    GList link;             /* in exchange->waiting */
} Request;
G_STATIC_ASSERT(DNS_UPSTREAM_MAX_SERVERS <= DNSC_SERVERS_MAX);

/*** Outcomes ***/

static guint request_hash(gconstpointer key)
{
    const Request *r = key;

    return g_direct_hash(r->opaque) ^ (guint)(r->number * 2654435761u);
}

static gboolean request_equal(gconstpointer a, gconstpointer b)
{
    const Request *x = a, *y = b;

    return x->opaque == y->opaque && x->number == y->number;
}

/* Free a request: the only place.  Sender and exchange have dropped it. */
static void request_free(Request *r)
{
    Exchange *x = r->exchange;

    g_hash_table_remove(x->up->live, r);
    g_queue_unlink(&x->waiting, &r->link);
    if (x->ask && g_queue_is_empty(&x->waiting)) {
        dnsc_ask_set_wanted(x->ask, false);
    }
    g_free(r);
}

static void tell(const Exchange *x, Request *r)
{
    const Request told = *r;
    const DnscResult *result = x->result;

    request_free(r);
    told.reply(told.opaque, told.number, x->status,
               result ? result->whole : NULL, result ? result->whole_len : 0);
}

/*
 * Tell some of the requests of an exchange in up->ended, and free it if none is
 * left.  The callbacks may send and cancel, which removes requests of this
 * exchange, but no request can join it.
 */
static void tell_some(Exchange *x)
{
    for (int i = 0; i < TOLD_AT_ONCE && !g_queue_is_empty(&x->waiting); i++) {
        tell(x, g_queue_peek_head(&x->waiting));
    }
    if (g_queue_is_empty(&x->waiting)) {
        g_queue_unlink(&x->up->ended, &x->link);
        dnsc_result_unref(x->result);
        g_free(x);
    }
}

/*
 * End an exchange: the only place.  Takes over the result, which may be NULL.
 * Its requests are yet to be told.
 */
static void end(Exchange *x, DnsUpstreamStatus status, DnscResult *result)
{
    x->ask = NULL;
    x->check = NULL;
    x->status = status;
    x->result = result;
    g_tree_remove(x->up->exchanges, &x->query);
    g_queue_push_tail_link(&x->up->ended, &x->link);
}

/* x may be freed when this returns. */
static void finish(Exchange *x, DnsUpstreamStatus status, DnscResult *result)
{
    end(x, status, result);
    tell_some(x);
}

static DnsUpstreamStatus status_of(const DnscResult *result)
{
    switch (result->error) {
    case VMMNET_DNS_OK:
    case VMMNET_DNS_NO_NAME:
    case VMMNET_DNS_NO_DATA:
        return DNS_UPSTREAM_OK;
    case VMMNET_DNS_TIMEOUT:
        return DNS_UPSTREAM_TIMEOUT;
    case VMMNET_DNS_REFUSED:
        return DNS_UPSTREAM_REFUSED;
    case VMMNET_DNS_FAILED:
        return DNS_UPSTREAM_BADREPLY;
    case VMMNET_DNS_BOGUS:
        return DNS_UPSTREAM_BOGUS;
    default:
        return DNS_UPSTREAM_NETWORK;
    }
}

/*
 * The key of the cache.  Replies depend on the flags, so these are in the field
 * of the class, which is always IN.
 */
static DnsQuestion cache_key(const DnscQuery *query, bool is_checked)
{
    DnsQuestion key = query->question;

    key.qclass = query->flags | query->dnssec_ok | is_checked << 1;
    return key;
}

static void conclude(Exchange *x, DnscResult *result)
{
    const DnsQuestion key = cache_key(&x->asked, x->query.is_checked);
    DnsUpstream *up = x->up;

    if (up->cache) {
        dnsc_cache_put(up->cache, &key, result, dnsc_now());
    }
    finish(x, status_of(result), result);
}

static void on_outcome(void *opaque, DnscResult *result)
{
    dnsc_whole_distrust(result);
    conclude(opaque, result);
}

/*** Validation ***/

static void count_verdict(DnsUpstream *up, const Exchange *x,
                          const DnscResult *result)
{
    uint64_t *const counters[] = {
        [VMMNET_DNS_INDETERMINATE] = &up->verdicts.indeterminate,
        [VMMNET_DNS_INSECURE] = &up->verdicts.insecure,
        [VMMNET_DNS_SECURE] = &up->verdicts.secure,
        [VMMNET_DNS_BOGUS_DATA] = &up->verdicts.bogus,
    };

    (*counters[result->security])++;
    up->counters.timeouts += result->error == VMMNET_DNS_TIMEOUT;
    if (up->validated) {
        up->validated(up->opaque, &(DnsValidated) {
            .question = &x->asked.question, .security = result->security,
            .ede = result->ede, .reason = result->reason,
        });
    }
}

/* Does the engine have to ask, as if validation were off? */
static bool falls_back(const DnsUpstream *up, const DnscResult *result)
{
    return up->dnssec == DNS_DNSSEC_PERMISSIVE &&
           (!result->whole || result->error == VMMNET_DNS_BOGUS);
}

static void on_checked(void *opaque, DnscResult *result)
{
    Exchange *x = opaque;
    DnsUpstream *up = x->up;

    x->check = NULL;
    count_verdict(up, x, result);
    if (falls_back(up, result)) {
        x->ask = dnsc_ask_whole(up->asker, &x->asked, on_outcome, x);
        if (x->ask) {
            dnsc_ask_set_wanted(x->ask, !g_queue_is_empty(&x->waiting));
            dnsc_result_unref(result);
            return;
        }
    }
    conclude(x, result);
}

/*** Requests ***/

static int query_compare(gconstpointer a, gconstpointer b)
{
    const Query *x = a, *y = b;

    if (x->is_checked != y->is_checked) {
        return x->is_checked ? 1 : -1;
    }
    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return memcmp(x->msg, y->msg, x->len);
}

/* Read a query, with its name in lower case.  Returns 0 or -EINVAL. */
static int query_read(DnscQuery *query, const uint8_t *msg, size_t len)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsRr rr;

    if (len > DNS_QUERY_MAX || dns_header_parse(msg, len, &header) ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &query->question) <= 0) {
        return -EINVAL;
    }
    query->flags = header.flags & (DNS_FLAG_RD | DNS_FLAG_CD);
    query->dnssec_ok = dns_cursor_rr(&cursor, &rr) > 0 &&
                       rr.type == DNS_TYPE_OPT && rr.raw_ttl & EDNS_DO;
    /* This is safe for a whole name: its length octets are below 'A'. */
    for (size_t i = 0; i < query->question.name.len; i++) {
        uint8_t *c = &query->question.name.wire[i];

        *c = g_ascii_tolower(*c);
    }
    return 0;
}

/* Ask the servers.  Returns false if there is no memory. */
static bool begin(Exchange *x)
{
    DnsUpstream *up = x->up;

    if (x->query.is_checked) {
        x->check = dns_check(up->checker, &x->asked, on_checked, x);
        up->counters.queries++;
    } else {
        x->ask = dnsc_ask_whole(up->asker, &x->asked, on_outcome, x);
    }
    return x->ask || x->check;
}

/* Returns NULL if there is no memory. */
static Exchange *exchange_new(DnsUpstream *up, const Query *key,
                              const DnscQuery *query)
{
    Exchange *x = g_new0(Exchange, 1);

    x->query = *key;
    x->asked = *query;
    x->up = up;
    x->link.data = x;
    if (!begin(x)) {
        g_free(x);
        return NULL;
    }
    g_tree_insert(up->exchanges, &x->query, x);
    return x;
}

static void request_new(Exchange *x, DnsReplyFn *reply, void *opaque,
                        uint64_t number)
{
    Request *r = g_new0(Request, 1);

    r->opaque = opaque;
    r->number = number;
    r->reply = reply;
    r->exchange = x;
    r->link.data = r;
    g_queue_push_tail_link(&x->waiting, &r->link);
    if (x->ask) {
        dnsc_ask_set_wanted(x->ask, true);
    }
    g_hash_table_add(x->up->live, r);
}

/* Join the exchange of this query, or begin one. */
static int join(DnsUpstream *up, const DnscQuery *query, bool is_checked,
                DnsReplyFn *reply, void *opaque, uint64_t number)
{
    Query key = { .is_checked = is_checked };
    Exchange *x;

    key.len = dns_query_build(key.msg, &query->question, query->flags,
                              query->dnssec_ok);
    x = g_tree_lookup(up->exchanges, &key);
    if (!x && g_tree_nnodes(up->exchanges) >= MAX_EXCHANGES) {
        return -ENOBUFS;
    }
    x = x ?: exchange_new(up, &key, query);
    if (!x) {
        return -ENOMEM;
    }
    request_new(x, reply, opaque, number);
    return 0;
}

/* Deliver a copy of a cached reply, with TTLs less its age. */
static void tell_remembered(const DnscResult *result, uint32_t left,
                            DnsReplyFn *reply, void *opaque, uint64_t number)
{
    uint8_t small[REPLY_SMALL], *msg = small;
    size_t len = result->whole_len;

    if (!result->whole) {
        reply(opaque, number, status_of(result), NULL, 0);
        return;
    }
    if (len > sizeof(small)) {
        msg = g_malloc(len);
    }
    memcpy(msg, result->whole, len);
    if (result->ttl) {
        dnsc_whole_age(msg, len, result->ttl - left);
    }
    reply(opaque, number, status_of(result), msg, len);
    if (msg != small) {
        g_free(msg);
    }
}

static bool recall(DnsUpstream *up, const DnscQuery *query, bool is_checked,
                   DnsReplyFn *reply, void *opaque, uint64_t number)
{
    const DnsQuestion key = cache_key(query, is_checked);
    DnscResult *result;
    uint32_t left;

    result = up->cache ? dnsc_cache_get(up->cache, &key, dnsc_now(), &left)
                       : NULL;
    if (!result) {
        return false;
    }
    up->counters.cache_hits++;
    tell_remembered(result, left, reply, opaque, number);
    dnsc_result_unref(result);
    return true;
}

static int send_query(DnsUpstream *up, bool fresh, const uint8_t *msg,
                      size_t len, DnsReplyFn *reply, void *opaque,
                      uint64_t number)
{
    DnscQuery query;
    bool is_checked;

    if (query_read(&query, msg, len)) {
        return -EINVAL;
    }
    if (up->dying) {
        return -ESHUTDOWN;
    }
    is_checked = up->checker && !fresh && !(query.flags & DNS_FLAG_CD);
    if (!fresh && recall(up, &query, is_checked, reply, opaque, number)) {
        return 0;
    }
    return join(up, &query, is_checked, reply, opaque, number);
}

static int upstream_send(void *opaque, const uint8_t *msg, size_t len,
                         DnsReplyFn *reply, void *reply_opaque,
                         uint64_t number)
{
    return send_query(opaque, false, msg, len, reply, reply_opaque, number);
}

static int upstream_send_fresh(void *opaque, const uint8_t *msg, size_t len,
                               DnsReplyFn *reply, void *reply_opaque,
                               uint64_t number)
{
    return send_query(opaque, true, msg, len, reply, reply_opaque, number);
}

static void upstream_cancel(void *opaque, void *reply_opaque, uint64_t number)
{
    DnsUpstream *up = opaque;
    const Request key = { .opaque = reply_opaque, .number = number };
    Request *r = g_hash_table_lookup(up->live, &key);

    if (r) {
        request_free(r);
    }
}

const DnsUpstreamOps dns_upstream_ops = {
    .send = upstream_send,
    .cancel = upstream_cancel,
};

const DnsUpstreamOps dns_upstream_fresh_ops = {
    .send = upstream_send_fresh,
    .cancel = upstream_cancel,
};

size_t dns_upstream_room(const DnsUpstream *up)
{
    size_t used = g_tree_nnodes(up->exchanges) + RESERVED;
    size_t room = used < MAX_EXCHANGES ? MAX_EXCHANGES - used : 0;

    return up->checker ? MIN(room, dns_checker_room(up->checker)) : room;
}

void dns_upstream_counters(const DnsUpstream *up,
                           DnsUpstreamCounters *counters)
{
    const VmmnetDnsCounters *c = &up->counters;

    *counters = (DnsUpstreamCounters) {
        .cache_hits = c->cache_hits,
        .queries = c->queries,
        .over_tcp = c->over_tcp,
        .timeouts = c->timeouts,
        .forged = c->wrong_id + c->wrong_question + c->not_reply,
        .secure = up->verdicts.secure,
        .insecure = up->verdicts.insecure,
        .bogus = up->verdicts.bogus,
        .indeterminate = up->verdicts.indeterminate,
        .validator_outages = up->checker ? dns_checker_outages(up->checker)
                                         : 0,
    };
}

/*** Events ***/

int dns_upstream_fd(const DnsUpstream *up)
{
    return up->loop.epoll;
}

/* Until the servers of what is under way are looked at; -1: never */
static int look_timeout_ms(const DnsUpstream *up)
{
    int64_t left = (up->looked + LOOK_EVERY - dnsc_now() + 999) / 1000;

    if (!g_tree_nnodes(up->exchanges) || !dns_origin_may_change(&up->origin)) {
        return -1;
    }
    return MAX(left, 0);
}

int dns_upstream_timeout_ms(DnsUpstream *up)
{
    int loop_ms = dnsc_loop_timeout_ms(&up->loop);
    int look_ms = look_timeout_ms(up);

    if (!g_queue_is_empty(&up->ended)) {
        return 0;
    }
    return loop_ms < 0 || look_ms < 0 ? MAX(loop_ms, look_ms)
                                      : MIN(loop_ms, look_ms);
}

void dns_upstream_process(DnsUpstream *up)
{
    dns_upstream_follow(up);
    if (!g_queue_is_empty(&up->ended)) {
        tell_some(g_queue_peek_head(&up->ended));
    }
    dnsc_loop_run(&up->loop);
}

/*** Life ***/

static bool system_error(GError **err, const char *what, int error)
{
    g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_SYSTEM,
                "%s: %s", what, g_strerror(error));
    return false;
}

static VmmnetDnsAddress engine_address(const DnsServer *server)
{
    VmmnetDnsAddress addr = { .len = 0 };

    if (server->family == AF_INET) {
        addr.len = sizeof(addr.in);
        addr.in.sin_family = AF_INET;
        addr.in.sin_addr = server->addr.in;
        addr.in.sin_port = htons(server->port);
    } else {
        addr.len = sizeof(addr.in6);
        addr.in6.sin6_family = AF_INET6;
        addr.in6.sin6_addr = server->addr.in6;
        addr.in6.sin6_port = htons(server->port);
        addr.in6.sin6_scope_id = server->scope;
    }
    return addr;
}

static bool find_servers(DnsUpstream *up, const DnsUpstreamOptions *o,
                         GError **err)
{
    DnscServerList list = { .count = o->count };

    if (!o->count) {
        const char *path = o->resolv_conf ?: RESOLV_CONF;

        return !dns_origin_read(&up->origin, path) ||
               system_error(err, path, ENOMEM);
    }
    if (o->count > DNS_UPSTREAM_MAX_SERVERS) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "%zu DNS servers are too many, no more than %d can be "
                    "given", o->count, DNS_UPSTREAM_MAX_SERVERS);
        return false;
    }
    for (size_t i = 0; i < o->count; i++) {
        list.addr[i] = engine_address(&o->servers[i]);
        g_strlcpy(list.zone[i], o->servers[i].zone, sizeof(list.zone[i]));
    }
    dns_origin_give(&up->origin, &list);
    return true;
}

static DnscAsker *make_asker(DnsUpstream *up, GError **err)
{
    const DnscServerList *list = &up->origin.list;
    DnscAsker *asker = calloc(1, sizeof(*asker));

    if (!asker) {
        system_error(err, "cannot set up DNS queries", ENOMEM);
        return NULL;
    }
    asker->refs = 1;
    asker->loop = &up->loop;
    asker->counters = &up->counters;
    asker->timeout = TRY_TIMEOUT;
    asker->attempts = ROUNDS;
    asker->ports.loop = &up->loop;
    asker->ports.max = PORTS;
    asker->tcp.max = CONNECTIONS;
    asker->ports.has_from6 = up->has_bind6;
    asker->ports.from6 = up->bind6;
    if (up->asker) {
        asker->servers = up->asker->servers;
    }
    dnsc_servers_set(&asker->servers, list->addr, list->count);
    return asker;
}

static bool make_cache(DnsUpstream *up, const DnsUpstreamOptions *o,
                       GError **err)
{
    if (!o->cache_entries) {
        return true;
    }
    up->cache = dnsc_cache_new(o->cache_entries);
    if (!up->cache) {
        return system_error(err, "cannot set up DNS queries", ENOMEM);
    }
    dnsc_cache_bound(up->cache, o->cache_octets);
    return true;
}

static void on_validator_news(void *opaque, const char *trouble)
{
    DnsUpstream *up = opaque;

    if (up->validator_news) {
        up->validator_news(up->opaque, trouble);
    }
}

static bool make_checker(DnsUpstream *up, const DnsUpstreamOptions *o,
                         GError **err)
{
    const DnsCheckerOptions options = {
        .path = o->validator,
        .wants_bogus = up->dnssec == DNS_DNSSEC_PERMISSIVE,
        .news = on_validator_news,
        .opaque = up,
    };

    if (up->dnssec == DNS_DNSSEC_OFF) {
        return true;
    }
    if (!dns_checker_path_is_right(o->validator)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "validator=%s is no path of a socket, which has 1 to 107 "
                    "octets", o->validator);
        return false;
    }
    up->checker = dns_checker_new(&up->loop, &options);
    return up->checker || system_error(err, "cannot set up DNSSEC validation",
                                       ENOMEM);
}

/* Make an asker for the servers, or leave the former one. */
static bool renew(DnsUpstream *up, GError **err)
{
    DnscAsker *asker = make_asker(up, err);

    if (!asker) {
        return false;
    }
    dnsc_asker_unref(up->asker);
    up->asker = asker;
    return true;
}

static bool set_up(DnsUpstream *up, const DnsUpstreamOptions *o, GError **err)
{
    up->dnssec = o->dnssec;
    if (o->bind6) {
        up->has_bind6 = true;
        up->bind6 = *o->bind6;
    }
    up->validated = o->validated;
    up->validator_news = o->validator_news;
    up->moved = o->moved;
    up->opaque = o->opaque;
    up->looked = dnsc_now();
    return find_servers(up, o, err) && make_cache(up, o, err) &&
           make_checker(up, o, err) && renew(up, err);
}

DnsUpstream *dns_upstream_new(const DnsUpstreamOptions *options, GError **err)
{
    DnsUpstream *up = g_new0(DnsUpstream, 1);
    int ret = dnsc_loop_attach(&up->loop);

    up->live = g_hash_table_new(request_hash, request_equal);
    up->exchanges = g_tree_new(query_compare);
    if (ret) {
        system_error(err, "cannot set up DNS queries", -ret);
        goto fail;
    }
    if (!set_up(up, options, err)) {
        goto fail;
    }
    return up;

fail:
    dns_upstream_free(up);
    return NULL;
}

static gboolean collect(gpointer key, gpointer value, gpointer list)
{
    g_queue_push_tail(list, value);
    return FALSE;
}

/* Stop to ask; the exchange goes on without. */
static void call_off(Exchange *x)
{
    if (x->ask) {
        dnsc_ask_cancel(x->ask);
    } else {
        dns_check_cancel(x->check);
    }
    x->ask = NULL;
    x->check = NULL;
}

/* Ask the new servers what is under way, if anybody still wants to know. */
static void ask_again(DnsUpstream *up)
{
    g_auto(GQueue) out = G_QUEUE_INIT;
    Exchange *x;

    g_tree_foreach(up->exchanges, collect, &out);
    while ((x = g_queue_pop_head(&out))) {
        call_off(x);
        if (g_queue_is_empty(&x->waiting) || !begin(x)) {
            end(x, DNS_UPSTREAM_NETWORK, NULL);
        }
    }
}

const DnsOrigin *dns_upstream_origin(const DnsUpstream *up)
{
    return &up->origin;
}

/* Use the servers of the origin.  Returns false, with the reason, if not. */
static bool move(DnsUpstream *up, GError **err)
{
    if (!renew(up, err)) {
        return false;
    }
    up->is_behind = false;
    if (up->cache) {
        dnsc_cache_clear(up->cache);
    }
    ask_again(up);
    return true;
}

/* Report a change, or once why it is not possible. */
static void tell_moved(DnsUpstream *up, const char *error)
{
    if (up->moved && (!error || g_strcmp0(up->trouble, error))) {
        up->moved(up->opaque, error);
    }
    g_free(up->trouble);
    up->trouble = g_strdup(error);
}

bool dns_upstream_follow(DnsUpstream *up)
{
    const DnscServerList before = up->origin.list;
    int64_t now = dnsc_now();
    g_autoptr(GError) err = NULL;

    if (now < up->looked + LOOK_GAP || !dns_origin_may_change(&up->origin)) {
        return false;
    }
    up->looked = now;
    if (!dns_origin_look(&up->origin) && !up->is_behind) {
        return false;
    }
    /* The state of the origin may change without its servers. */
    up->is_behind |= !dnsc_list_same(&before, &up->origin.list);
    if (up->is_behind && !move(up, &err)) {
        tell_moved(up, err->message);
        return false;
    }
    tell_moved(up, NULL);
    return true;
}

static void end_all(DnsUpstream *up)
{
    g_auto(GQueue) out = G_QUEUE_INIT;
    Exchange *x;

    g_tree_foreach(up->exchanges, collect, &out);
    while ((x = g_queue_pop_head(&out))) {
        call_off(x);
        finish(x, DNS_UPSTREAM_CANCELLED, NULL);
    }
    while ((x = g_queue_peek_head(&up->ended))) {
        x->status = DNS_UPSTREAM_CANCELLED;
        dnsc_result_unref(x->result);
        x->result = NULL;
        tell_some(x);
    }
}

void dns_upstream_free(DnsUpstream *up)
{
    if (!up) {
        return;
    }
    up->dying = true;
    end_all(up);
    g_hash_table_destroy(up->live);
    g_tree_destroy(up->exchanges);
    dnsc_cache_free(up->cache);
    dns_checker_free(up->checker);
    dnsc_asker_unref(up->asker);
    if (up->loop.epoll >= 0) {
        dnsc_loop_detach(&up->loop);
    }
    dnsc_loop_free(&up->loop);
    dns_origin_clear(&up->origin);
    g_free(up->trouble);
    g_free(up);
}
