/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked with c-ares
 *
 * Theory of operation
 *
 * Each server has c-ares channels of its own, which send over UDP, repeat
 * over TCP when the reply was truncated, and report one outcome.  Which
 * server comes next is decided here and not by a channel with all servers,
 * for what c-ares 1.18 does not do: it swallows replies with SERVFAIL or
 * REFUSED, and with them the Extended DNS Error that says why; it reports
 * them as if no connection had been possible; it starts every query with a
 * server that has been dead for hours; and it forgets EDNS for all servers
 * when one of them does not know it.
 *
 * Requests with the same query share an exchange, which is what c-ares knows
 * of.  It goes round the servers at most ROUNDS times, TRY_TIMEOUT_MS each.
 * It begins with the one that answered last; a server that does not answer
 * hands that place to the next.  A server that refuses is not asked that
 * question again.  Every RCODE but NOERROR and NXDOMAIN is a refusal; if nobody
 * knows better, that reply is the outcome.  A lame server refuses, too: it says
 * that it does not recurse, and its reply neither has a record of the type nor
 * denies that there is one.  It may have a referral or the name's alias.  Such
 * a reply says nothing of the name: if nobody knows better, there is none.
 *
 * Three things protect against forged replies (RFC 5452).  The id of a query
 * comes from the kernel's random numbers, as ares_send() takes the one in the
 * message.  c-ares closes the sockets of a channel when it has nothing to do,
 * so the source port changes as well, but not before: what is asked while
 * another query of that channel is out leaves from the same port, as 1.18 has
 * no limit of queries a socket.  It compares id, server address and question.
 * And a question is out only once: with n ids out for it a forger needs an
 * n-th of the tries (section 5, the birthday attack), and a guest can ask as
 * often as it likes.
 *
 * So what is one question must not be out in many spellings.  Names are
 * compared, and sent, in lower case: what goes out then does not depend on who
 * was first, and nobody goes by the case in a reply.  With other RD, CD, AD or
 * DO it is another query, as replies depend on them: 16 at most of a question.
 *
 * A cancelled request leaves its exchange at once.  An exchange that nobody
 * waits for stays in c-ares until it has an outcome there, as 1.18 can cancel
 * only all queries of a channel.  For a forger it is as good as any other, so
 * it is joined again by who asks the same: else asking and cancelling in turn
 * would put out any number of them.  So would asking for ever new names and
 * cancelling, so that there are no more than MAX_EXCHANGES: c-ares looks at all
 * of a channel when it is asked for how long to wait.
 *
 * Who joins late gets the outcome of what was joined, be it a failure.  Who
 * asks when there is an outcome, and be it from within a reply, begins another
 * exchange.  If many wait for one, some are told at a time and the rest when
 * the event loop comes back: to answer 2048 queries from one reply of 64 KiB
 * can take seconds.
 *
 * A server's channels are there for the receive buffers of their sockets: the
 * replies to a burst of queries come in a burst.  The first is used up to
 * CHANNEL_QUERIES, then the next, so a VM that asks little has one socket.
 *
 * Exchanges are found by their query in a balanced tree: a guest chooses the
 * queries, and could choose such as share one place of a hash table.
 */

#include <ares.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>

#include "net/dns/upstream.h"
#include "net/dns/wire.h"

#define DEFAULT_PORT    53
#define TRY_TIMEOUT_MS  2000
#define ROUNDS          2
#define TOLD_AT_ONCE    16      /* of those who wait for one outcome */
#define MAX_EXCHANGES   4096    /* with those that nobody waits for any more */
#define RESERVED        16      /* of these, which are not told as room */
#define CHANNELS        4       /* of a server, each with a socket */
#define CHANNEL_QUERIES 512     /* out on one, as long as another has less */
#define RECEIVE_BUFFER  (1 << 20)       /* of a socket, if the host lets us */
#define OPT_LEN         11      /* as dns_query_build() makes it */

typedef struct Channel {
    ares_channel ares;
    unsigned out;           /* queries without an outcome */
} Channel;

struct DnsUpstream {
    Channel channels[DNS_UPSTREAM_MAX_SERVERS][CHANNELS];
    size_t count;
    size_t first;           /* the server to begin with */
    DnsUpstreamWatchFn *watch;
    void *opaque;
    GHashTable *live;       /* set of requests that have not been cancelled */
    GTree *exchanges;       /* Query to Exchange: those without an outcome */
    GQueue ended;           /* those with one, while not all have been told */
    bool dying;
};

/* As it was asked, but for id 0 and a name in lower case */
typedef struct Query {
    size_t len;
    uint8_t msg[DNS_QUERY_MAX];
} Query;

/* A query and all who wait for its outcome, perhaps nobody any more */
typedef struct Exchange {
    Query query;            /* key of up->exchanges, so it does not change */
    DnsUpstream *up;
    GQueue waiting;         /* of Request, by their links */
    GList link;             /* in up->ended */
    bool no_edns;           /* the query is sent without its OPT */
    unsigned tries;         /* so far */
    size_t server;          /* asked now */
    Channel *channel;       /* of that server */
    uint8_t no_use;         /* bit per server: refused */
    DnsUpstreamStatus status;
    uint8_t *msg;           /* the last such reply, then that of the outcome */
    size_t msg_len;
} Exchange;

typedef struct Request {
    /* Key of the live set */
    void *opaque;
    uint64_t number;

    DnsReplyFn *reply;
    Exchange *exchange;
    GList link;             /* in exchange->waiting */
} Request;
G_STATIC_ASSERT(DNS_UPSTREAM_MAX_SERVERS <= 8);

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

/* The one end of every request: neither its sender nor its exchange has it */
static void request_free(Request *r)
{
    g_hash_table_remove(r->exchange->up->live, r);
    g_queue_unlink(&r->exchange->waiting, &r->link);
    g_free(r);
}

/* Keep a reply, which may be the one that is kept */
static void keep(Exchange *x, const uint8_t *msg, size_t len)
{
    uint8_t *copy = g_memdup2(msg, len);

    g_free(x->msg);
    x->msg = copy;
    x->msg_len = len;
}

static void tell(const Exchange *x, Request *r)
{
    const Request told = *r;

    request_free(r);
    told.reply(told.opaque, told.number, x->status, x->msg, x->msg_len);
}

/*
 * Tell some of those who wait for an exchange of up->ended; it is gone when
 * nobody does any more.  What they do then, send and cancel, changes who
 * waits, but no request can join.
 */
static void tell_some(Exchange *x)
{
    for (int i = 0; i < TOLD_AT_ONCE && !g_queue_is_empty(&x->waiting); i++) {
        tell(x, g_queue_peek_head(&x->waiting));
    }
    if (g_queue_is_empty(&x->waiting)) {
        g_queue_unlink(&x->up->ended, &x->link);
        g_free(x->msg);
        g_free(x);
    }
}

/* The one end of every exchange.  x may be gone when this returns. */
static void finish(Exchange *x, DnsUpstreamStatus status, const uint8_t *msg,
                   size_t len)
{
    x->status = status;
    keep(x, msg, len);
    g_tree_remove(x->up->exchanges, &x->query);
    g_queue_push_tail_link(&x->up->ended, &x->link);
    tell_some(x);
}

static DnsUpstreamStatus status_from_ares(int status)
{
    switch (status) {
    case ARES_ETIMEOUT:
        return DNS_UPSTREAM_TIMEOUT;
    case ARES_ESERVFAIL:
    case ARES_ENOTIMP:
    case ARES_EREFUSED:
        return DNS_UPSTREAM_REFUSED;
    case ARES_EBADRESP:
    case ARES_EFORMERR:
        return DNS_UPSTREAM_BADREPLY;
    default:
        return DNS_UPSTREAM_NETWORK;
    }
}

typedef enum Verdict {
    VERDICT_OUTCOME,
    VERDICT_REFUSAL,
    VERDICT_LAME,
    VERDICT_BAD,            /* no whole reply */
} Verdict;

/* The contents of a reply's records */
typedef struct Contents {
    uint16_t rcode;         /* all 12 bits */
    bool has_type;          /* the answer section has one of that type */
    bool has_soa;           /* the authority section has one */
} Contents;

/* The cursor is behind the question.  Returns 0 or -EBADMSG. */
static int read_contents(DnsCursor *cursor, uint16_t type, Contents *c)
{
    DnsEdns edns;
    DnsRr rr;
    int ret;

    while ((ret = dns_cursor_rr(cursor, &rr)) > 0) {
        if (rr.section == DNS_SECTION_ANSWER) {
            c->has_type |= rr.type == type || type == DNS_TYPE_ANY;
        } else if (rr.section == DNS_SECTION_AUTHORITY) {
            c->has_soa |= rr.type == DNS_TYPE_SOA;
        } else if (rr.type == DNS_TYPE_OPT &&
                   !dns_rdata_edns(cursor, &rr, &edns)) {
            c->rcode |= edns.rcode_high << 4;
        }
    }
    return ret;
}

/*
 * A reply without records that is authoritative is one of RFC 2308 section
 * 2.2, NODATA without SOA.  With an alias AA is of that alone (RFC 1035 section
 * 4.1.1).
 */
static bool is_lame(const DnsHeader *header, const Contents *c)
{
    return c->rcode == DNS_RCODE_NOERROR && !(header->flags & DNS_FLAG_RA) &&
           !c->has_type && !c->has_soa &&
           !(header->flags & DNS_FLAG_AA && !header->ancount);
}

static Verdict judge(const uint8_t *msg, size_t len)
{
    DnsQuestion question;
    DnsHeader header;
    DnsCursor cursor;
    Contents c = { .rcode = 0 };

    if (dns_header_parse(msg, len, &header) ||
        !(header.flags & DNS_FLAG_QR) ||
        header.flags & (DNS_FLAGS_OPCODE | DNS_FLAG_TC) ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &question) <= 0) {
        return VERDICT_BAD;
    }
    c.rcode = header.flags & DNS_FLAGS_RCODE;
    if (read_contents(&cursor, question.type, &c)) {
        return VERDICT_BAD;
    }
    if (c.rcode != DNS_RCODE_NOERROR && c.rcode != DNS_RCODE_NXDOMAIN) {
        return VERDICT_REFUSAL;
    }
    return is_lame(&header, &c) ? VERDICT_LAME : VERDICT_OUTCOME;
}

static bool has_opt(const uint8_t *msg, size_t len)
{
    DnsCursor cursor;
    DnsRr rr;

    if (dns_cursor_init(&cursor, msg, len)) {
        return false;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        if (rr.type == DNS_TYPE_OPT) {
            return true;
        }
    }
    return false;
}

/*
 * Servers from before EDNS say FORMERR without OPT (RFC 6891 section 7).
 * True if the query had one and has none now.
 */
static bool drop_edns(Exchange *x, const uint8_t *msg, size_t len)
{
    DnsHeader header;

    if (dns_header_parse(msg, len, &header) ||
        (header.flags & DNS_FLAGS_RCODE) != DNS_RCODE_FORMERR || x->no_edns ||
        has_opt(msg, len) || !has_opt(x->query.msg, x->query.len)) {
        return false;
    }
    x->no_edns = true;
    return true;
}

/*** Tries ***/

static void on_outcome(void *arg, int status, int timeouts,
                       unsigned char *msg, int len);

/* The first that has room, or the one with the least to do */
static Channel *pick_channel(DnsUpstream *up, size_t server)
{
    Channel *channels = up->channels[server];
    Channel *best = &channels[0];

    for (size_t i = 0; i < CHANNELS; i++) {
        if (channels[i].out < CHANNEL_QUERIES) {
            return &channels[i];
        }
        if (channels[i].out < best->out) {
            best = &channels[i];
        }
    }
    return best;
}

/* The outcome may come before this returns, and then x is gone */
static void ask_server(Exchange *x)
{
    Query query = x->query;
    uint16_t id;

    if (x->no_edns) {
        query.len -= OPT_LEN;
        query.msg[10] = 0;
        query.msg[11] = 0;
    }
    /* Does not block or fail for so few bytes once the kernel is up */
    if (getrandom(&id, sizeof(id), 0) != sizeof(id)) {
        finish(x, DNS_UPSTREAM_NETWORK, NULL, 0);
        return;
    }
    dns_msg_set_id(query.msg, id);
    x->channel = pick_channel(x->up, x->server);
    x->channel->out++;
    ares_send(x->channel->ares, query.msg, query.len, on_outcome, x);
}

/* Go on with the next server that may know, or end */
static void ask_next(Exchange *x)
{
    const DnsUpstream *up = x->up;

    while (++x->tries < ROUNDS * up->count) {
        x->server = (x->server + 1) % up->count;
        if (!(x->no_use & 1 << x->server)) {
            ask_server(x);
            return;
        }
    }
    if (x->msg) {
        finish(x, DNS_UPSTREAM_REFUSED, x->msg, x->msg_len);
    } else {
        finish(x, x->status, NULL, 0);
    }
}

static void on_failure(Exchange *x, DnsUpstreamStatus status)
{
    DnsUpstream *up = x->up;

    if (up->first == x->server) {
        up->first = (up->first + 1) % up->count;
    }
    x->status = status;
    ask_next(x);
}

static void on_message(Exchange *x, const uint8_t *msg, size_t len)
{
    if (drop_edns(x, msg, len)) {
        ask_server(x);
        return;
    }
    switch (judge(msg, len)) {
    case VERDICT_OUTCOME:
        finish(x, DNS_UPSTREAM_OK, msg, len);
        break;
    case VERDICT_REFUSAL:
        x->no_use |= 1 << x->server;
        keep(x, msg, len);
        ask_next(x);
        break;
    case VERDICT_LAME:
        x->no_use |= 1 << x->server;
        x->status = DNS_UPSTREAM_REFUSED;
        ask_next(x);
        break;
    case VERDICT_BAD:
        on_failure(x, DNS_UPSTREAM_BADREPLY);
        break;
    }
}

static void on_outcome(void *arg, int status, int timeouts,
                       unsigned char *msg, int len)
{
    Exchange *x = arg;

    x->channel->out--;
    if (g_queue_is_empty(&x->waiting) || x->up->dying ||
        status == ARES_EDESTRUCTION) {
        finish(x, DNS_UPSTREAM_CANCELLED, NULL, 0);
    } else if (status == ARES_SUCCESS) {
        on_message(x, msg, len);
    } else {
        on_failure(x, status_from_ares(status));
    }
}

/*** Requests ***/

static int query_compare(gconstpointer a, gconstpointer b)
{
    const Query *x = a, *y = b;

    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return memcmp(x->msg, y->msg, x->len);
}

static int query_init(Query *query, const uint8_t *msg, size_t len)
{
    DnsQuestion question;
    DnsCursor cursor;

    if (len > sizeof(query->msg) || dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &question) <= 0) {
        return -EINVAL;
    }
    query->len = len;
    memcpy(query->msg, msg, len);
    dns_msg_set_id(query->msg, 0);
    /* No pointers, there is nothing to point at; lengths are below 'A' */
    for (size_t i = 0; i < question.name.len; i++) {
        uint8_t *c = &query->msg[DNS_HEADER_LEN + i];

        *c = g_ascii_tolower(*c);
    }
    return 0;
}

static Exchange *exchange_new(DnsUpstream *up, const Query *query)
{
    Exchange *x = g_new0(Exchange, 1);

    x->query = *query;
    x->up = up;
    x->link.data = x;
    x->server = up->first;
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
    g_hash_table_add(x->up->live, r);
}

static int upstream_send(void *opaque, const uint8_t *msg, size_t len,
                         DnsReplyFn *reply, void *reply_opaque,
                         uint64_t number)
{
    DnsUpstream *up = opaque;
    Exchange *x;
    Query query;
    bool is_new;

    if (query_init(&query, msg, len)) {
        return -EINVAL;
    }
    if (up->dying) {
        return -ESHUTDOWN;
    }
    x = g_tree_lookup(up->exchanges, &query);
    is_new = !x;
    if (is_new && g_tree_nnodes(up->exchanges) >= MAX_EXCHANGES) {
        return -ENOBUFS;
    }
    if (is_new) {
        x = exchange_new(up, &query);
    }
    request_new(x, reply, reply_opaque, number);
    if (is_new) {
        ask_server(x);
    }
    return 0;
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

size_t dns_upstream_room(const DnsUpstream *up)
{
    size_t used = g_tree_nnodes(up->exchanges) + RESERVED;

    return used < MAX_EXCHANGES ? MAX_EXCHANGES - used : 0;
}

/*** Events ***/

static void on_socket_state(void *opaque, ares_socket_t fd, int readable,
                            int writable)
{
    DnsUpstream *up = opaque;

    up->watch(up->opaque, fd, readable, writable);
}

void dns_upstream_process_fd(DnsUpstream *up, int fd, bool readable,
                             bool writable)
{
    /* A channel ignores descriptors that are not its own */
    for (size_t i = 0; i < up->count * CHANNELS; i++) {
        ares_process_fd(up->channels[i / CHANNELS][i % CHANNELS].ares,
                        readable ? fd : ARES_SOCKET_BAD,
                        writable ? fd : ARES_SOCKET_BAD);
    }
}

int dns_upstream_timeout_ms(DnsUpstream *up)
{
    int first = -1;

    if (!g_queue_is_empty(&up->ended)) {
        return 0;
    }
    for (size_t i = 0; i < up->count * CHANNELS; i++) {
        struct timeval tv;
        int ms;

        if (!ares_timeout(up->channels[i / CHANNELS][i % CHANNELS].ares, NULL,
                          &tv)) {
            continue;
        }
        /* Up, or the caller would come too early again and again */
        ms = tv.tv_sec * 1000 + (tv.tv_usec + 999) / 1000;
        first = first < 0 ? ms : MIN(first, ms);
    }
    return first;
}

void dns_upstream_process_timeouts(DnsUpstream *up)
{
    if (!g_queue_is_empty(&up->ended)) {
        tell_some(g_queue_peek_head(&up->ended));
    }
    dns_upstream_process_fd(up, ARES_SOCKET_BAD, false, false);
}

/*** Life ***/

/* Returns an ARES_* status. */
static int channel_init(DnsUpstream *up, ares_channel *channel)
{
    struct ares_options options = {
        .flags = ARES_FLAG_EDNS | ARES_FLAG_NOCHECKRESP,
        .timeout = TRY_TIMEOUT_MS,
        .tries = 1,
        .ednspsz = DNS_UDP_ADVERTISED,
        .socket_receive_buffer_size = RECEIVE_BUFFER,
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = up,
    };

    return ares_init_options(channel, &options,
                             ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
                             ARES_OPT_TRIES | ARES_OPT_EDNSPSZ |
                             ARES_OPT_SOCK_RCVBUF |
                             ARES_OPT_NOROTATE | ARES_OPT_SOCK_STATE_CB);
}

static bool library_error(GError **err, const char *what, int status)
{
    g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_LIBRARY,
                "%s: %s", what, ares_strerror(status));
    return false;
}

static bool add_channel(DnsUpstream *up, Channel *channel,
                        const DnsServer *server, const struct in6_addr *bind6,
                        GError **err)
{
    struct ares_addr_port_node node = {
        .family = server->family,
        .udp_port = server->port,
        .tcp_port = server->port,
    };
    int status = channel_init(up, &channel->ares);

    if (status) {
        channel->ares = NULL;
        return library_error(err, "cannot set up DNS queries", status);
    }
    if (server->family == AF_INET) {
        node.addr.addr4 = server->addr.in;
    } else {
        memcpy(&node.addr.addr6, &server->addr.in6, sizeof(node.addr.addr6));
    }
    status = ares_set_servers_ports(channel->ares, &node);
    if (status) {
        return library_error(err, "cannot set the DNS server", status);
    }
    if (bind6) {
        ares_set_local_ip6(channel->ares, bind6->s6_addr);
    }
    return true;
}

static bool add_server(DnsUpstream *up, const DnsServer *server,
                       const struct in6_addr *bind6, GError **err)
{
    Channel *channels = up->channels[up->count++];

    for (size_t i = 0; i < CHANNELS; i++) {
        if (!add_channel(up, &channels[i], server, bind6, err)) {
            return false;
        }
    }
    return true;
}

/* What /etc/resolv.conf says, or 127.0.0.1 as resolv.conf(5) has it */
static bool host_servers(DnsUpstream *up, DnsServer *servers, size_t *count,
                         GError **err)
{
    struct ares_addr_port_node *nodes;
    ares_channel channel;
    int status = channel_init(up, &channel);

    *count = 0;
    if (status) {
        return library_error(err, "cannot set up DNS queries", status);
    }
    status = ares_get_servers_ports(channel, &nodes);
    ares_destroy(channel);
    if (status) {
        return library_error(err, "cannot find the host's DNS servers",
                             status);
    }
    for (struct ares_addr_port_node *node = nodes;
         node && *count < DNS_UPSTREAM_MAX_SERVERS; node = node->next) {
        DnsServer *server = &servers[(*count)++];

        server->family = node->family;
        server->port = node->udp_port ? node->udp_port : DEFAULT_PORT;
        if (node->family == AF_INET) {
            server->addr.in = node->addr.addr4;
        } else {
            memcpy(&server->addr.in6, &node->addr.addr6,
                   sizeof(server->addr.in6));
        }
    }
    ares_free_data(nodes);
    if (!*count) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "/etc/resolv.conf names no DNS server that can be asked");
        return false;
    }
    return true;
}

DnsUpstream *dns_upstream_new(const DnsServer *servers, size_t count,
                              const struct in6_addr *bind6,
                              DnsUpstreamWatchFn *watch, void *opaque,
                              GError **err)
{
    DnsServer host[DNS_UPSTREAM_MAX_SERVERS];
    DnsUpstream *up;
    int status = ares_library_init(ARES_LIB_INIT_ALL);

    if (status) {
        library_error(err, "cannot set up DNS queries", status);
        return NULL;
    }
    up = g_new0(DnsUpstream, 1);
    up->watch = watch;
    up->opaque = opaque;
    up->live = g_hash_table_new(request_hash, request_equal);
    up->exchanges = g_tree_new(query_compare);
    if (!count) {
        if (!host_servers(up, host, &count, err)) {
            goto fail;
        }
        servers = host;
    }
    if (count > DNS_UPSTREAM_MAX_SERVERS) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "%zu DNS servers are too many, no more than %d can be "
                    "given", count, DNS_UPSTREAM_MAX_SERVERS);
        goto fail;
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_server(up, &servers[i], bind6, err)) {
            goto fail;
        }
    }
    return up;

fail:
    dns_upstream_free(up);
    return NULL;
}

void dns_upstream_free(DnsUpstream *up)
{
    Exchange *x;

    if (!up) {
        return;
    }
    up->dying = true;
    for (size_t i = 0; i < up->count * CHANNELS; i++) {
        Channel *channel = &up->channels[i / CHANNELS][i % CHANNELS];

        if (channel->ares) {
            ares_destroy(channel->ares);
        }
    }
    while ((x = g_queue_peek_head(&up->ended))) {
        x->status = DNS_UPSTREAM_CANCELLED;
        keep(x, NULL, 0);
        tell_some(x);
    }
    g_hash_table_destroy(up->live);
    g_tree_destroy(up->exchanges);
    g_free(up);
    ares_library_cleanup();
}
