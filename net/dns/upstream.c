/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network, asked with c-ares
 *
 * Theory of operation
 *
 * Each server has a c-ares channel of its own, which sends over UDP, repeats
 * over TCP when the reply was truncated, and reports one outcome.  Which
 * server comes next is decided here and not by a channel with all servers,
 * for what c-ares 1.18 does not do: it swallows replies with SERVFAIL or
 * REFUSED, and with them the Extended DNS Error that says why; it reports
 * them as if no connection had been possible; it starts every query with a
 * server that has been dead for hours; and it forgets EDNS for all servers
 * when one of them does not know it.
 *
 * A request goes round the servers at most ROUNDS times, TRY_TIMEOUT_MS each.
 * It begins with the one that answered last; a server that does not answer
 * hands that place to the next.  A server that says SERVFAIL, REFUSED or
 * NOTIMP is not asked that question again; if nobody knows better, its reply
 * is the outcome.
 *
 * The id of a query comes from the kernel's random numbers, as ares_send()
 * takes the one in the message.  c-ares closes the sockets of a channel when
 * it has nothing to do, so the source port changes as well, which together
 * is what protects against forged replies (RFC 5452); c-ares compares id,
 * server address and question.
 *
 * A cancelled request stays in c-ares until it has its outcome there, which
 * then goes nowhere: 1.18 can cancel only all requests of a channel.
 */

#include <arpa/inet.h>
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
#define OPT_LEN         11      /* as dns_query_build() makes it */

struct DnsUpstream {
    ares_channel channels[DNS_UPSTREAM_MAX_SERVERS];
    size_t count;
    size_t first;           /* the server to begin with */
    DnsUpstreamWatchFn *watch;
    void *opaque;
    GHashTable *live;       /* set of requests that have not been cancelled */
    bool dying;
};

typedef struct Request {
    /* Key of the live set */
    void *opaque;
    uint64_t number;

    DnsUpstream *up;
    DnsReplyFn *reply;
    bool cancelled;
    unsigned tries;         /* so far */
    size_t server;          /* asked now */
    uint8_t no_use;         /* bit per server: said SERVFAIL or the like */
    DnsUpstreamStatus status;
    uint8_t *refusal;       /* the last such reply */
    size_t refusal_len;
    size_t query_len;
    uint8_t query[DNS_QUERY_MAX];
} Request;
G_STATIC_ASSERT(DNS_UPSTREAM_MAX_SERVERS <= 8);

/*** Servers ***/

GQuark dns_upstream_error_quark(void)
{
    return g_quark_from_static_string("dns-upstream-error-quark");
}

static bool has_address(const DnsServer *server)
{
    return server->family == AF_INET
           ? server->addr.in.s_addr != INADDR_ANY
           : !IN6_IS_ADDR_UNSPECIFIED(&server->addr.in6);
}

static bool parse_port(const char *digits, uint16_t *port)
{
    guint64 value;

    if (!g_ascii_string_to_unsigned(digits, 10, 1, UINT16_MAX, &value,
                                    NULL)) {
        return false;
    }
    *port = value;
    return true;
}

bool dns_server_parse(const char *text, DnsServer *server, GError **err)
{
    const char *percent = strrchr(text, '%');
    g_autofree char *addr = percent ? g_strndup(text, percent - text)
                                    : g_strdup(text);
    DnsServer result = { .port = DEFAULT_PORT };

    if (percent && !parse_port(percent + 1, &result.port)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': '%s' is not a port number "
                    "(zone names are not supported)", text, percent + 1);
        return false;
    }
    if (inet_pton(AF_INET, addr, &result.addr.in) == 1) {
        result.family = AF_INET;
    } else if (inet_pton(AF_INET6, addr, &result.addr.in6) == 1) {
        result.family = AF_INET6;
    } else {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': '%s' is not an IPv4 or IPv6 address",
                    text, addr);
        return false;
    }
    if (result.family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&result.addr.in6)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': a link-local address cannot be used, "
                    "as it does not say on which link", text);
        return false;
    }
    if (!has_address(&result)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': the unspecified address is no server",
                    text);
        return false;
    }
    *server = result;
    return true;
}

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

static void request_free(Request *r)
{
    g_free(r->refusal);
    g_free(r);
}

/* The one end of every request */
static void finish(Request *r, DnsUpstreamStatus status, const uint8_t *msg,
                   size_t len)
{
    if (!r->cancelled) {
        g_hash_table_remove(r->up->live, r);
        r->reply(r->opaque, r->number, status, msg, len);
    }
    request_free(r);
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

static bool is_refusal(uint16_t flags)
{
    switch (flags & DNS_FLAGS_RCODE) {
    case DNS_RCODE_SERVFAIL:
    case DNS_RCODE_REFUSED:
    case DNS_RCODE_NOTIMP:
        return true;
    default:
        return false;
    }
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
static bool drop_edns(Request *r, uint16_t flags, const uint8_t *msg,
                      size_t len)
{
    if ((flags & DNS_FLAGS_RCODE) != DNS_RCODE_FORMERR ||
        has_opt(msg, len) || !has_opt(r->query, r->query_len)) {
        return false;
    }
    r->query_len -= OPT_LEN;
    r->query[10] = 0;
    r->query[11] = 0;
    return true;
}

/*** Tries ***/

static void on_outcome(void *arg, int status, int timeouts,
                       unsigned char *msg, int len);

/* The outcome may come before this returns, and then r is gone */
static void ask_server(Request *r)
{
    uint16_t id;

    /* Does not block or fail for so few bytes once the kernel is up */
    if (getrandom(&id, sizeof(id), 0) != sizeof(id)) {
        finish(r, DNS_UPSTREAM_NETWORK, NULL, 0);
        return;
    }
    dns_msg_set_id(r->query, id);
    ares_send(r->up->channels[r->server], r->query, r->query_len, on_outcome,
              r);
}

/* Go on with the next server that may know, or end */
static void ask_next(Request *r)
{
    const DnsUpstream *up = r->up;

    while (++r->tries < ROUNDS * up->count) {
        r->server = (r->server + 1) % up->count;
        if (!(r->no_use & 1 << r->server)) {
            ask_server(r);
            return;
        }
    }
    if (r->refusal) {
        finish(r, DNS_UPSTREAM_REFUSED, r->refusal, r->refusal_len);
    } else {
        finish(r, r->status, NULL, 0);
    }
}

static void on_failure(Request *r, DnsUpstreamStatus status)
{
    DnsUpstream *up = r->up;

    if (up->first == r->server) {
        up->first = (up->first + 1) % up->count;
    }
    r->status = status;
    ask_next(r);
}

static void on_message(Request *r, const uint8_t *msg, size_t len)
{
    DnsHeader header;

    if (dns_header_parse(msg, len, &header)) {
        on_failure(r, DNS_UPSTREAM_BADREPLY);
    } else if (is_refusal(header.flags)) {
        r->no_use |= 1 << r->server;
        g_free(r->refusal);
        r->refusal = g_memdup2(msg, len);
        r->refusal_len = len;
        ask_next(r);
    } else if (drop_edns(r, header.flags, msg, len)) {
        ask_server(r);
    } else {
        finish(r, DNS_UPSTREAM_OK, msg, len);
    }
}

static void on_outcome(void *arg, int status, int timeouts,
                       unsigned char *msg, int len)
{
    Request *r = arg;

    if (r->cancelled || r->up->dying || status == ARES_EDESTRUCTION) {
        finish(r, DNS_UPSTREAM_CANCELLED, NULL, 0);
    } else if (status == ARES_SUCCESS) {
        on_message(r, msg, len);
    } else {
        on_failure(r, status_from_ares(status));
    }
}

/*** Requests ***/

static int upstream_send(void *opaque, const uint8_t *query, size_t len,
                         DnsReplyFn *reply, void *reply_opaque,
                         uint64_t number)
{
    DnsUpstream *up = opaque;
    Request *r;

    if (len < DNS_HEADER_LEN || len > sizeof(r->query)) {
        return -EINVAL;
    }
    if (up->dying) {
        return -ESHUTDOWN;
    }
    r = g_new0(Request, 1);
    r->opaque = reply_opaque;
    r->number = number;
    r->up = up;
    r->reply = reply;
    r->server = up->first;
    r->query_len = len;
    memcpy(r->query, query, len);
    g_hash_table_add(up->live, r);
    ask_server(r);
    return 0;
}

static void upstream_cancel(void *opaque, void *reply_opaque, uint64_t number)
{
    DnsUpstream *up = opaque;
    const Request key = { .opaque = reply_opaque, .number = number };
    Request *r = g_hash_table_lookup(up->live, &key);

    if (r) {
        g_hash_table_remove(up->live, r);
        r->cancelled = true;
    }
}

const DnsUpstreamOps dns_upstream_ops = {
    .send = upstream_send,
    .cancel = upstream_cancel,
};

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
    for (size_t i = 0; i < up->count; i++) {
        ares_process_fd(up->channels[i], readable ? fd : ARES_SOCKET_BAD,
                        writable ? fd : ARES_SOCKET_BAD);
    }
}

int dns_upstream_timeout_ms(DnsUpstream *up)
{
    int first = -1;

    for (size_t i = 0; i < up->count; i++) {
        struct timeval tv;
        int ms;

        if (!ares_timeout(up->channels[i], NULL, &tv)) {
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
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = up,
    };

    return ares_init_options(channel, &options,
                             ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
                             ARES_OPT_TRIES | ARES_OPT_EDNSPSZ |
                             ARES_OPT_NOROTATE | ARES_OPT_SOCK_STATE_CB);
}

static bool library_error(GError **err, const char *what, int status)
{
    g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_LIBRARY,
                "%s: %s", what, ares_strerror(status));
    return false;
}

static bool add_server(DnsUpstream *up, const DnsServer *server,
                       const struct in6_addr *bind6, GError **err)
{
    struct ares_addr_port_node node = {
        .family = server->family,
        .udp_port = server->port,
        .tcp_port = server->port,
    };
    ares_channel channel;
    int status = channel_init(up, &channel);

    if (status) {
        return library_error(err, "cannot set up DNS queries", status);
    }
    up->channels[up->count++] = channel;
    if (server->family == AF_INET) {
        node.addr.addr4 = server->addr.in;
    } else {
        memcpy(&node.addr.addr6, &server->addr.in6, sizeof(node.addr.addr6));
    }
    status = ares_set_servers_ports(channel, &node);
    if (status) {
        return library_error(err, "cannot set the DNS server", status);
    }
    if (bind6) {
        ares_set_local_ip6(channel, bind6->s6_addr);
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
    if (!up) {
        return;
    }
    up->dying = true;
    for (size_t i = 0; i < up->count; i++) {
        ares_destroy(up->channels[i]);
    }
    g_hash_table_destroy(up->live);
    g_free(up);
    ares_library_cleanup();
}
