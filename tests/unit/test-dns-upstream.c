/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Upstream DNS, against servers of this process on loopback
 *
 * What a server does with a query is the first label of the name.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/upstream/upstream.h"
#include "net/dns/wire/wire.h"

#define MAX_REQUESTS 128
#define TYPE_SPF 99

/*** Server ***/

/* Replies after which the next server is asked, then other replies */
typedef enum Odd {
    ODD_NONE,
    ODD_EMPTY,              /* AA and RA clear, as all of these */
    ODD_REFERRAL,
    ODD_UPWARD,             /* to the root, with the servers' addresses */
    ODD_ALIAS,              /* and not where it leads */
    ODD_ALIAS_AA,           /* AA is of the alias */
    ODD_OTHER_TYPE,
    ODD_FORMERR,            /* knows EDNS */
    ODD_NOTIMP,
    ODD_REFUSED,
    ODD_NOTAUTH,
    ODD_BADVERS,            /* NOERROR in the header */
    ODD_CUT,                /* has fewer records than it says */
    ODD_SHAPE,              /* an A with the RDATA of AAAA */
    ODD_REAL,               /* from here on: no other server is asked */
    REAL_AA = ODD_REAL,     /* NODATA of an old authoritative server */
    REAL_RA,                /* and of a forwarder */
    REAL_SOA,
    REAL_ALIAS_SOA,
    REAL_ANSWER,            /* from somewhere: AA and RA clear */
    REAL_AD,                /* with the word of a server that validates */
    REAL_NXDOMAIN,
    ODD_END,
} Odd;

typedef struct Server {
    DnsServer addr;
    gint odd;                                       /* atomic */
    int udp, tcp;
    int stop[2];
    GThread *thread;
    gint udp_queries, tcp_queries, edns_queries;    /* atomic */
    gint first_id, other_ids;
} Server;

static bool first_label_is(const DnsName *name, const char *label)
{
    return name->wire[0] == strlen(label) &&
           !memcmp(name->wire + 1, label, name->wire[0]);
}

static void add_text(DnsBuilder *b, const DnsName *owner, size_t len)
{
    g_autofree uint8_t *data = g_malloc0(len);

    dns_builder_raw(b, DNS_SECTION_ANSWER, owner, TYPE_SPF, DNS_CLASS_IN, 60,
                    data, len);
}

static void add_record(DnsBuilder *b, DnsSection section, const char *owner,
                       DnsType type)
{
    DnsName name, target;
    DnsSoa soa;

    g_assert_cmpint(dns_name_from_text(&name, owner), ==, 0);
    g_assert_cmpint(dns_name_from_text(&target, "ns.example"), ==, 0);
    soa = (DnsSoa) { .mname = target, .rname = target, .minimum = 60 };
    if (type == DNS_TYPE_SOA) {
        dns_builder_soa(b, section, &name, 60, &soa);
    } else if (type == DNS_TYPE_TXT) {
        dns_builder_raw(b, section, &name, type, DNS_CLASS_IN, 60, "\1x", 2);
    } else if (type == DNS_TYPE_A) {
        dns_builder_a(b, section, &name, 60, (struct in_addr) { 0x01020304 });
    } else {
        dns_builder_name(b, section, &name, type, 60, &target);
    }
}

static uint16_t odd_flags(Odd odd)
{
    switch (odd) {
    case ODD_ALIAS_AA:
    case REAL_AA:
        return DNS_FLAG_AA;
    case REAL_RA:
        return DNS_FLAG_RA;
    case REAL_AD:
        return DNS_FLAG_RA | DNS_FLAG_AD;
    case ODD_FORMERR:
        return DNS_RCODE_FORMERR;
    case ODD_NOTIMP:
        return DNS_FLAG_RA | DNS_RCODE_NOTIMP;
    case ODD_REFUSED:
        return DNS_FLAG_RA | DNS_RCODE_REFUSED;
    case ODD_NOTAUTH:
        return DNS_FLAG_RA | 9;
    case ODD_BADVERS:
        return DNS_FLAG_RA;
    case REAL_NXDOMAIN:
        return DNS_RCODE_NXDOMAIN;
    default:
        return 0;
    }
}

static void add_odd_records(DnsBuilder *b, Odd odd, const char *name)
{
    DnsName owner;

    switch (odd) {
    case ODD_REFERRAL:
        add_record(b, DNS_SECTION_AUTHORITY, "example", DNS_TYPE_NS);
        break;
    case ODD_UPWARD:
        add_record(b, DNS_SECTION_AUTHORITY, ".", DNS_TYPE_NS);
        add_record(b, DNS_SECTION_ADDITIONAL, "ns.example", DNS_TYPE_A);
        break;
    case ODD_ALIAS:
    case ODD_ALIAS_AA:
        add_record(b, DNS_SECTION_ANSWER, name, DNS_TYPE_CNAME);
        break;
    case REAL_ALIAS_SOA:
        add_record(b, DNS_SECTION_ANSWER, name, DNS_TYPE_CNAME);
        add_record(b, DNS_SECTION_AUTHORITY, "example", DNS_TYPE_SOA);
        break;
    case ODD_OTHER_TYPE:
        add_record(b, DNS_SECTION_ANSWER, name, DNS_TYPE_TXT);
        break;
    case ODD_SHAPE:
        dns_name_from_text(&owner, name);
        dns_builder_raw(b, DNS_SECTION_ANSWER, &owner, DNS_TYPE_A,
                        DNS_CLASS_IN, 60, "0123456789abcdef", 16);
        break;
    case REAL_SOA:
        add_record(b, DNS_SECTION_AUTHORITY, "example", DNS_TYPE_SOA);
        break;
    case REAL_ANSWER:
    case REAL_AD:
        add_record(b, DNS_SECTION_ANSWER, name, DNS_TYPE_A);
        break;
    default:
        break;
    }
}

static size_t odd_reply(Odd odd, const DnsQuestion *question, uint16_t id,
                        uint8_t *out)
{
    DnsEdns edns = { .udp_size = 1232, .rcode_high = odd == ODD_BADVERS };
    char name[DNS_NAME_TEXT_MAX];
    DnsBuilder b;

    dns_name_to_text(&question->name, name);
    dns_builder_init(&b, out, DNS_MSG_MAX, id, DNS_FLAG_QR | DNS_FLAG_RD |
                     odd_flags(odd));
    dns_builder_question(&b, question);
    add_odd_records(&b, odd, name);
    dns_builder_edns(&b, &edns);
    if (odd == ODD_CUT) {
        out[7]++;
    }
    return b.len;
}

/* Returns the length of the reply, 0 for silence */
static size_t server_reply(Server *s, const uint8_t *query, size_t len,
                           bool tcp, uint8_t *out)
{
    DnsEdns edns = { .udp_size = 1232 };
    bool has_opt = false;
    uint16_t flags = DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA;
    DnsHeader header;
    DnsQuestion q;
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;

    g_atomic_int_inc(tcp ? &s->tcp_queries : &s->udp_queries);
    if (dns_header_parse(query, len, &header) ||
        dns_cursor_init(&cursor, query, len) ||
        dns_cursor_question(&cursor, &q) <= 0) {
        return 0;
    }
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        has_opt |= rr.type == DNS_TYPE_OPT;
    }
    if (has_opt) {
        g_atomic_int_inc(&s->edns_queries);
    }
    if (!s->first_id) {
        s->first_id = header.id;
    } else if (header.id != s->first_id) {
        g_atomic_int_inc(&s->other_ids);
    }
    if (g_atomic_int_get(&s->odd) && !(first_label_is(&q.name, "tc") && !tcp)) {
        return odd_reply(g_atomic_int_get(&s->odd), &q, header.id, out);
    }
    if (first_label_is(&q.name, "silent")) {
        return 0;
    } else if (first_label_is(&q.name, "nx")) {
        flags |= DNS_RCODE_NXDOMAIN;
    } else if (first_label_is(&q.name, "servfail")) {
        flags |= DNS_RCODE_SERVFAIL;
        edns.has_ede = true;
        edns.ede = 6;
    } else if (first_label_is(&q.name, "oldmute") && !has_opt) {
        return 0;
    } else if (!memcmp(q.name.wire + 1, "old", 3) && has_opt) {
        flags |= DNS_RCODE_FORMERR;
        has_opt = false;
    } else if (first_label_is(&q.name, "tc") && !tcp) {
        flags |= DNS_FLAG_TC;
    }
    if (first_label_is(&q.name, "loud")) {
        for (size_t i = 0; i < q.name.len; i++) {
            q.name.wire[i] = g_ascii_toupper(q.name.wire[i]);
        }
    }
    dns_builder_init(&b, out, DNS_MSG_MAX, header.id, flags);
    dns_builder_question(&b, &q);
    if (first_label_is(&q.name, "tc") && tcp) {
        add_text(&b, &q.name, 20000);
    } else if (first_label_is(&q.name, "big")) {
        add_text(&b, &q.name, 1100);
    } else if (!(flags & DNS_FLAGS_RCODE)) {
        add_text(&b, &q.name, 4);
    }
    if (has_opt) {
        dns_builder_edns(&b, &edns);
    }
    return b.len;
}

static void serve_udp(Server *s)
{
    g_autofree uint8_t *out = g_malloc(DNS_MSG_MAX);
    uint8_t query[DNS_QUERY_MAX];
    struct sockaddr_storage peer;
    socklen_t peer_len = sizeof(peer);
    ssize_t len = recvfrom(s->udp, query, sizeof(query), 0,
                           (struct sockaddr *)&peer, &peer_len);

    if (len > 0) {
        len = server_reply(s, query, len, false, out);
    }
    if (len > 0) {
        sendto(s->udp, out, len, 0, (struct sockaddr *)&peer, peer_len);
    }
}

/* One query a connection */
static void serve_tcp(Server *s)
{
    g_autofree uint8_t *out = g_malloc(2 + DNS_MSG_MAX);
    uint8_t query[2 + DNS_QUERY_MAX];
    int fd = accept(s->tcp, NULL, NULL);
    ssize_t len = 0;

    if (fd >= 0 && recv(fd, query, 2, MSG_WAITALL) == 2) {
        len = MIN(query[0] << 8 | query[1], DNS_QUERY_MAX);
        len = recv(fd, query + 2, len, MSG_WAITALL);
    }
    if (len > 0) {
        len = server_reply(s, query + 2, len, true, out + 2);
        out[0] = len >> 8;
        out[1] = len;
        send(fd, out, 2 + len, MSG_NOSIGNAL);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static gpointer serve(gpointer arg)
{
    Server *s = arg;
    struct pollfd fds[3] = {
        { .fd = s->stop[0], .events = POLLIN },
        { .fd = s->udp, .events = POLLIN },
        { .fd = s->tcp, .events = POLLIN },
    };

    while (poll(fds, 3, -1) > 0 && !fds[0].revents) {
        if (fds[1].revents) {
            serve_udp(s);
        }
        if (fds[2].revents) {
            serve_tcp(s);
        }
    }
    return NULL;
}

/* TCP and UDP on the same ephemeral port */
static void server_bind(Server *s, int family)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    struct sockaddr *sa = family == AF_INET ? (struct sockaddr *)&in
                                            : (struct sockaddr *)&in6;
    socklen_t len = family == AF_INET ? sizeof(in) : sizeof(in6);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (;;) {
        in.sin_port = 0;
        in6.sin6_port = 0;
        s->udp = socket(family, SOCK_DGRAM, 0);
        s->tcp = socket(family, SOCK_STREAM, 0);
        g_assert_cmpint(bind(s->udp, sa, len), ==, 0);
        g_assert_cmpint(getsockname(s->udp, sa, &len), ==, 0);
        if (!bind(s->tcp, sa, len)) {
            break;
        }
        close(s->udp);
        close(s->tcp);
    }
    g_assert_cmpint(listen(s->tcp, 128), ==, 0);
    s->addr.family = family;
    if (family == AF_INET) {
        s->addr.addr.in = in.sin_addr;
        s->addr.port = ntohs(in.sin_port);
    } else {
        s->addr.addr.in6 = in6.sin6_addr;
        s->addr.port = ntohs(in6.sin6_port);
    }
}

static Server *server_new(int family)
{
    Server *s = g_new0(Server, 1);

    server_bind(s, family);
    g_assert_cmpint(pipe(s->stop), ==, 0);
    s->thread = g_thread_new("server", serve, s);
    return s;
}

static void server_free(Server *s)
{
    close(s->stop[1]);
    g_thread_join(s->thread);
    close(s->stop[0]);
    close(s->udp);
    close(s->tcp);
    g_free(s);
}

/* A port without a server: ICMP reports it */
static DnsServer refused_server(void)
{
    Server s;

    server_bind(&s, AF_INET);
    close(s.udp);
    close(s.tcp);
    return s.addr;
}

/*** Client ***/

typedef struct Client Client;
struct Client {
    DnsUpstream *up;

    int replies;
    uint64_t request;
    DnsUpstreamStatus status;
    uint8_t *msg;
    size_t len;
    int told[MAX_REQUESTS];     /* replies to each */
    void (*replied)(Client *c, uint64_t request);   /* may be NULL */
    /*
     * The test waits for the timeout of a silent server.  In other tests a
     * server that has not answered is a thread that has not run yet: it gets
     * the time.
     */
    bool by_the_clock;
    unsigned late;              /* number of waits without a reply */
};

/* Limit of a test's waits */
#define PATIENCE_MS     180000

static void on_reply(void *opaque, uint64_t request, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    Client *c = opaque;

    c->replies++;
    c->request = request;
    c->status = status;
    g_free(c->msg);
    c->msg = g_memdup2(msg, len);
    c->len = len;
    g_assert_cmpuint(request, <, MAX_REQUESTS);
    c->told[request]++;
    if (c->replied) {
        c->replied(c, request);
    }
}

static Client *client_with(const DnsUpstreamOptions *options)
{
    Client *c = g_new0(Client, 1);
    GError *err = NULL;

    c->up = dns_upstream_new(options, &err);
    g_assert_no_error(err);
    return c;
}

/* Nothing is cached, so each question goes to the servers. */
static Client *client_new(const DnsServer *servers, size_t count,
                          const struct in6_addr *bind6)
{
    return client_with(&(DnsUpstreamOptions) {
        .servers = servers, .count = count, .bind6 = bind6,
    });
}

static void client_free(Client *c)
{
    dns_upstream_free(c->up);
    g_free(c->msg);
    g_free(c);
}

static void start_type(Client *c, const char *name, uint16_t type,
                       uint16_t flags, bool dnssec_ok, uint64_t request)
{
    DnsQuestion q = { .type = type, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX];
    size_t len;

    g_assert_cmpint(dns_name_from_text(&q.name, name), ==, 0);
    len = dns_query_build(query, &q, flags, dnssec_ok);
    dns_msg_set_id(query, request);     /* means nothing */
    g_assert_cmpint(dns_upstream_ops.send(c->up, query, len, on_reply, c,
                                          request), ==, 0);
}

static void start(Client *c, const char *name, uint64_t request)
{
    start_type(c, name, DNS_TYPE_A, DNS_FLAG_RD, false, request);
}

static void cancel(Client *c, uint64_t request)
{
    dns_upstream_ops.cancel(c->up, c, request);
}

/* One round of an event loop */
static void turn(Client *c)
{
    struct pollfd ready = { .fd = dns_upstream_fd(c->up), .events = POLLIN };
    int wait_ms = dns_upstream_timeout_ms(c->up);
    bool waits = wait_ms > 0;

    if (waits && !c->by_the_clock) {
        wait_ms = PATIENCE_MS;
    }
    c->late += !poll(&ready, 1, wait_ms) && waits;
    dns_upstream_process(c->up);
}

static void wait_replies(Client *c, int replies)
{
    while (c->replies < replies) {
        g_assert_cmpint(dns_upstream_timeout_ms(c->up), >=, 0);
        turn(c);
    }
}

static void ask(Client *c, const char *name)
{
    int replies = c->replies + 1;   /* may come at once */

    start(c, name, 77);
    wait_replies(c, replies);
    g_assert_cmpuint(c->request, ==, 77);
}

/* Run until nothing is under way. */
static void drain(Client *c)
{
    while (dns_upstream_timeout_ms(c->up) >= 0) {
        turn(c);
    }
}

/* Check how often each request was answered: @count requests from @first on. */
static void assert_told(Client *c, uint64_t first, size_t count, int times)
{
    for (uint64_t i = first; i < first + count; i++) {
        g_assert_cmpint(c->told[i], ==, times);
    }
}

/* What was sent before has been counted then */
static int count_queries(Client *c, Server *s)
{
    static int n;
    g_autofree char *name = g_strdup_printf("ok.count%d.example", n++);
    int before = g_atomic_int_get(&s->udp_queries);

    ask(c, name);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), >, before);
    return g_atomic_int_get(&s->udp_queries);
}

static uint16_t reply_flags(Client *c)
{
    DnsHeader header;

    g_assert_cmpint(dns_header_parse(c->msg, c->len, &header), ==, 0);
    return header.flags;
}

/*** Tests ***/

static void test_parse(void)
{
    static const struct {
        const char *text;
        int family;
        const char *addr;
        int port;
        uint32_t scope;
    } good[] = {
        { "192.0.2.1", AF_INET, "192.0.2.1", 53, 0 },
        { "192.0.2.1@5353", AF_INET, "192.0.2.1", 5353, 0 },
        { "2001:db8::53", AF_INET6, "2001:db8::53", 53, 0 },
        { "2001:db8::53@65535", AF_INET6, "2001:db8::53", 65535, 0 },
        /* Every network namespace has lo, and it is the first. */
        { "fe80::1%lo", AF_INET6, "fe80::1", 53, 1 },
        { "fe80::1%lo@5353", AF_INET6, "fe80::1", 5353, 1 },
        { "fe80::1%1@5353", AF_INET6, "fe80::1", 5353, 1 },
        { "fe80::1%late0@5353", AF_INET6, "fe80::1", 5353, 0 },
    };
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        { "", "ADDR@PORT" },
        { "@53", "ADDR@PORT" },
        { "dns.example", "ADDR@PORT" },
        { "192.0.2.1:53", "ADDR@PORT" },
        { "[2001:db8::1]@53", "ADDR@PORT" },
        { "192.0.2.1@", "port" },
        { "192.0.2.1@0", "port" },
        { "192.0.2.1@65536", "port" },
        { "192.0.2.1@-1", "port" },
        { "192.0.2.1@ 53", "port" },
        { "2001:db8::1@53@53", "ADDR@PORT" },
        { "::", "unspecified" },
        { "0.0.0.0", "unspecified" },
        { "fe80::1", "fe80::1%INTERFACE" },
        { "fe80::1@53", "fe80::1%INTERFACE" },
        { "fe80::1%", "interface can be called ''" },
        { "fe80::1%a/b", "interface can be called 'a/b'" },
        { "fe80::1%a-name-too-long-", "interface can be called" },
        { "2001:db8::1%lo", "link-local" },
        { "192.0.2.1%lo", "link-local" },
        /* As it was written once */
        { "192.0.2.1%5353", "192.0.2.1@5353" },
        { "2001:db8::1%5353", "2001:db8::1@5353" },
        { "fe80::1%53530", "behind '@'" },
        { "2001:db8::1,2001:db8::2", "separated by '+'" },
    };
    DnsServer server;

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        char text[INET6_ADDRSTRLEN];
        GError *err = NULL;

        g_assert_true(dns_server_parse(good[i].text, &server, &err));
        g_assert_no_error(err);
        g_assert_cmpint(server.family, ==, good[i].family);
        g_assert_cmpint(server.port, ==, good[i].port);
        g_assert_cmpuint(server.scope, ==, good[i].scope);
        inet_ntop(server.family, &server.addr, text, sizeof(text));
        g_assert_cmpstr(text, ==, good[i].addr);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) err = NULL;
        g_autofree char *quoted = g_strdup_printf("'%s'", bad[i].text);

        g_assert_false(dns_server_parse(bad[i].text, &server, &err));
        g_assert_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS);
        g_assert_nonnull(strstr(err->message, quoted));
        g_assert_nonnull(strstr(err->message, bad[i].says));
    }
}

static void test_ok(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    g_assert_cmpint(dns_upstream_timeout_ms(c->up), ==, -1);
    ask(c, "ok.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmphex(reply_flags(c), ==, 0x8180);
    ask(c, "nx.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmphex(reply_flags(c), ==, 0x8183);
    /* More than 512 octets, over UDP */
    ask(c, "big.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpuint(c->len, >, 1100);
    g_assert_cmpint(g_atomic_int_get(&s->tcp_queries), ==, 0);
    g_assert_cmpint(g_atomic_int_get(&s->edns_queries), ==, 3);
    client_free(c);
    server_free(s);
}

static void test_tcp(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    ask(c, "tc.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_false(reply_flags(c) & DNS_FLAG_TC);
    g_assert_cmpuint(c->len, >, 20000);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 1);
    g_assert_cmpint(g_atomic_int_get(&s->tcp_queries), ==, 1);
    client_free(c);
    server_free(s);
}

/* 32 ids that are all the same by chance: once in 2^496 */
static void test_many_and_ids(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 32; i++) {
        g_autofree char *name = g_strdup_printf("ok.n%d.example", (int)i);

        start(c, name, i);
    }
    wait_replies(c, 32);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpint(g_atomic_int_get(&s->other_ids), >, 0);
    client_free(c);
    server_free(s);
}

/* Discard the queries to a server that does not run; were there any? */
static bool was_asked(const Server *s)
{
    uint8_t query[512];
    bool asked = false;

    while (recv(s->udp, query, sizeof(query), MSG_DONTWAIT) > 0) {
        asked = true;
    }
    return asked;
}

/*
 * The first server is dead.  The second answers, and is asked first afterwards,
 * for at least a second.  So the test needs a machine that is not slower than
 * that.
 */
static void test_second_server(void)
{
    Server *dead = server_new(AF_INET), *s = server_new(AF_INET);
    DnsServer servers[] = { dead->addr, s->addr };
    bool in_time = false;

    /*
     * The server is silent, not unreachable: no process reads from its socket.
     */
    close(dead->stop[1]);
    g_thread_join(dead->thread);

    while (!in_time) {
        Client *c = client_new(servers, 2, NULL);
        gint64 begin = g_get_monotonic_time(), end;

        c->by_the_clock = true;
        ask(c, "ok.example");
        end = g_get_monotonic_time();
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
        g_assert_cmpint(end - begin, >=, 900000);
        g_assert_true(was_asked(dead));
        ask(c, "ok.again.example");
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
        in_time = g_get_monotonic_time() - begin < 2 * G_USEC_PER_SEC - 100000;
        g_assert_true(!in_time || !was_asked(dead));
        client_free(c);
    }
    close(dead->stop[0]);
    close(dead->udp);
    close(dead->tcp);
    g_free(dead);
    server_free(s);
}

static void test_timeout(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    c->by_the_clock = true;
    ask(c, "silent.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpuint(c->len, ==, 0);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 2);
    client_free(c);
    server_free(s);
}

/* No server at the port: known at once, not after a timeout */
static void test_icmp(void)
{
    DnsServer servers[] = { refused_server(), refused_server() };
    Server *s = server_new(AF_INET);
    Client *c = client_new(servers, 2, NULL);

    ask(c, "ok.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_NETWORK);
    g_assert_cmpuint(c->late, ==, 0);
    client_free(c);

    servers[1] = s->addr;
    c = client_new(servers, 2, NULL);
    ask(c, "ok.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpuint(c->late, ==, 0);
    client_free(c);
    server_free(s);
}

/* SERVFAIL: the next server is asked, none twice, and the reason passes */
static void test_refusal(void)
{
    Server *a = server_new(AF_INET), *b = server_new(AF_INET);
    DnsServer servers[] = { a->addr, b->addr };
    Client *c = client_new(servers, 2, NULL);
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;

    ask(c, "servfail.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_REFUSED);
    g_assert_cmphex(reply_flags(c), ==, 0x8182);
    dns_cursor_init(&cursor, c->msg, c->len);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
    g_assert_cmpuint(edns.ede, ==, 6);
    g_assert_cmpint(g_atomic_int_get(&a->udp_queries), ==, 1);
    g_assert_cmpint(g_atomic_int_get(&b->udp_queries), ==, 1);
    client_free(c);
    server_free(a);
    server_free(b);
}

/* Asks servers a and b; returns whether b was asked, too. */
static bool ask_odd(Client *c, Server *b, const char *label, Odd odd)
{
    g_autofree char *name = g_strdup_printf("%s.odd%d.example", label, odd);
    int before = g_atomic_int_get(&b->udp_queries);

    ask(c, name);
    return g_atomic_int_get(&b->udp_queries) != before;
}

/* Replies without an answer count as refusals, over UDP and TCP. */
static void test_odd(void)
{
    static const char * const labels[] = { "ok", "tc" };
    Server *a = server_new(AF_INET), *b = server_new(AF_INET);
    DnsServer servers[] = { a->addr, b->addr };

    for (Odd odd = ODD_NONE + 1; odd < ODD_END; odd++) {
        Client *c = client_new(servers, 2, NULL);

        g_atomic_int_set(&a->odd, odd);
        for (size_t i = 0; i < G_N_ELEMENTS(labels); i++) {
            g_assert_cmpint(ask_odd(c, b, labels[i], odd), ==,
                            odd < ODD_REAL);
            g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
            if (odd < ODD_REAL) {
                g_assert_cmphex(reply_flags(c), ==, 0x8180);
            }
        }
        client_free(c);
    }
    server_free(a);
    server_free(b);
}

/* If no server answers, a refusal is the outcome, if there was one. */
static void test_all_odd(void)
{
    Server *a = server_new(AF_INET), *b = server_new(AF_INET);
    DnsServer servers[] = { a->addr, b->addr };

    for (Odd odd = ODD_NONE + 1; odd < ODD_CUT; odd++) {
        Client *c = client_new(servers, 2, NULL);

        g_atomic_int_set(&a->odd, odd);
        g_atomic_int_set(&b->odd, odd);
        g_assert_true(ask_odd(c, b, "ok", odd));
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_REFUSED);
        g_assert_cmpint(c->msg != NULL, ==, odd >= ODD_FORMERR);
        /* A refusal is preferred to the reply of a lame server. */
        g_atomic_int_set(&b->odd, ODD_REFUSED);
        g_assert_true(ask_odd(c, b, "more", odd));
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_REFUSED);
        g_assert_cmphex(reply_flags(c), ==, 0x8185);
        client_free(c);
    }
    server_free(a);
    server_free(b);
}

/* Each time, as EDNS may be wrong for this question only */
static void test_no_edns(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (int i = 1; i <= 3; i++) {
        ask(c, "old.example");
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
        g_assert_cmphex(reply_flags(c), ==, 0x8180);
        g_assert_cmpint(g_atomic_int_get(&s->edns_queries), ==, i);
        g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 2 * i);
    }
    client_free(c);
    server_free(s);
}

static void test_cancel(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    start(c, "ok.a.example", 1);
    start(c, "ok.b.example", 2);
    dns_upstream_ops.cancel(c->up, c, 1);
    dns_upstream_ops.cancel(c->up, c, 1);
    dns_upstream_ops.cancel(c->up, c, 99);
    dns_upstream_ops.cancel(c->up, s, 2);       /* of somebody else */
    drain(c);
    g_assert_cmpint(c->replies, ==, 1);
    g_assert_cmpuint(c->request, ==, 2);
    client_free(c);
    server_free(s);
}

static void test_free_outstanding(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    start(c, "silent.a.example", 1);
    start(c, "silent.b.example", 2);
    start(c, "silent.c.example", 3);
    dns_upstream_ops.cancel(c->up, c, 2);
    dns_upstream_free(c->up);
    c->up = NULL;
    g_assert_cmpint(c->replies, ==, 2);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_CANCELLED);
    client_free(c);
    server_free(s);
}

/*** One question, many requests ***/

/* In any case of letters, and with any id */
static void test_shared(void)
{
    static const char * const names[] = {
        "nx.same.example", "nX.SAME.example", "NX.Same.Example",
    };
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 60; i++) {
        start(c, names[i % G_N_ELEMENTS(names)], i);
    }
    drain(c);
    assert_told(c, 0, 60, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmphex(reply_flags(c), ==, 0x8183);
    g_assert_cmpint(count_queries(c, s), ==, 2);

    /*
     * The next time the server is asked again; the reply's case does not
     * matter.
     */
    for (uint64_t i = 0; i < 3; i++) {
        start(c, i ? "loud.example" : "Loud.Example", i);
    }
    drain(c);
    assert_told(c, 0, 3, 2);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    start(c, "loud.example", 0);
    drain(c);
    g_assert_cmpint(count_queries(c, s), ==, 5);
    client_free(c);
    server_free(s);
}

static void test_shared_failure(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 40; i++) {
        start(c, "servfail.example", i);
    }
    drain(c);
    assert_told(c, 0, 40, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_REFUSED);
    g_assert_cmphex(reply_flags(c), ==, 0x8182);
    g_assert_cmpint(count_queries(c, s), ==, 2);
    client_free(c);
    server_free(s);
}

/* Without validation AD of a server is ignored. */
static void test_ad(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    g_atomic_int_set(&s->odd, REAL_AD);
    start_type(c, "ok.example", DNS_TYPE_A, DNS_FLAG_RD | DNS_FLAG_AD, true,
               0);
    drain(c);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmphex(reply_flags(c) & DNS_FLAG_AD, ==, 0);
    client_free(c);
    server_free(s);
}

/* 0x41 and 0x61 are A and a, but not within a type. */
static void test_not_shared(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);
    uint16_t rd = DNS_FLAG_RD;

    start_type(c, "ok.a.example", DNS_TYPE_A, rd, false, 0);
    start_type(c, "ok.b.example", DNS_TYPE_A, rd, false, 1);
    start_type(c, "ok.a.example", DNS_TYPE_AAAA, rd, false, 2);
    start_type(c, "ok.a.example", DNS_TYPE_A, 0, false, 3);
    start_type(c, "ok.a.example", DNS_TYPE_A, rd | DNS_FLAG_CD, false, 4);
    start_type(c, "ok.a.example", DNS_TYPE_A, rd, true, 5);
    start_type(c, "ok.a.example", 0x41, rd, false, 6);
    start_type(c, "ok.a.example", 0x61, rd, false, 7);
    start_type(c, "ok\\.a.example", DNS_TYPE_A, rd, false, 8);
    /* a query with AD is shared, as no server's AD counts */
    start_type(c, "ok.a.example", DNS_TYPE_A, rd | DNS_FLAG_AD, false, 9);
    drain(c);
    assert_told(c, 0, 10, 1);
    g_assert_cmpint(count_queries(c, s), ==, 10);
    client_free(c);
    server_free(s);
}

static void test_shared_cancel(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 4; i++) {
        start(c, "ok.example", i);
    }
    cancel(c, 0);
    cancel(c, 2);
    drain(c);
    assert_told(c, 0, 1, 0);
    assert_told(c, 1, 1, 1);
    assert_told(c, 2, 1, 0);
    assert_told(c, 3, 1, 1);
    g_assert_cmpint(count_queries(c, s), ==, 2);
    client_free(c);
    server_free(s);
}

/* Send a question that is not answered, and cancel it.  Returns as send(). */
static int put_out(Client *c, unsigned number)
{
    g_autofree char *name = g_strdup_printf("silent.%u.example", number);
    DnsQuestion q = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX];
    size_t len;
    int ret;

    g_assert_cmpint(dns_name_from_text(&q.name, name), ==, 0);
    len = dns_query_build(query, &q, DNS_FLAG_RD, false);
    ret = dns_upstream_ops.send(c->up, query, len, on_reply, c, 1);
    cancel(c, 1);
    return ret;
}

/* The number of queries in flight is limited for a guest. */
static void test_bounded(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);
    unsigned room = dns_upstream_room(c->up), i;
    int ret = 0;

    for (i = 0; i < room; i++) {
        g_assert_cmpint(put_out(c, i), ==, 0);
    }
    g_assert_cmpuint(dns_upstream_room(c->up), ==, 0);
    /* The kernel has some more room */
    g_assert_cmpint(put_out(c, i++), ==, 0);
    while (!ret && i < 10000) {
        ret = put_out(c, i++);
    }
    g_assert_cmpint(ret, ==, -ENOBUFS);
    client_free(c);
    server_free(s);
}

static unsigned count_descriptors(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned num = 0;

    while (g_dir_read_name(dir)) {
        num++;
    }
    return num;
}

/* Descriptors are limited, and shared sockets work as well. */
static void test_sockets(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);
    unsigned before = count_descriptors();

    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(put_out(c, i), ==, 0);
    }
    g_assert_cmpuint(count_descriptors(), ==, before + 100);
    for (unsigned i = 100; i < 3000; i++) {
        g_assert_cmpint(put_out(c, i), ==, 0);
    }
    g_assert_cmpuint(count_descriptors(), ==, before + 256);
    for (uint64_t i = 0; i < 60; i++) {
        g_autofree char *name = g_strdup_printf("ok.n%d.example", (int)i);

        start(c, name, i + 2);
    }
    wait_replies(c, 60);
    assert_told(c, 2, 60, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    client_free(c);
    g_assert_cmpuint(count_descriptors(), ==, before - 1);
    server_free(s);
}

/* A limited number at a time over TCP; all are answered */
static void test_many_tcp(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("tc.n%d.example", (int)i);

        start(c, name, i);
    }
    cancel(c, 40);
    wait_replies(c, 99);
    assert_told(c, 0, 40, 1);
    assert_told(c, 41, 59, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpuint(c->len, >, 20000);
    client_free(c);
    server_free(s);
}

/*** Cache ***/

static Client *remembering(const DnsServer *server, size_t octets)
{
    return client_with(&(DnsUpstreamOptions) {
        .servers = server, .count = 1, .cache_entries = 16,
        .cache_octets = octets,
    });
}

/* Is it answered before send() returns? */
static bool is_remembered(Client *c, const char *name)
{
    int before = c->replies;

    start_type(c, name, TYPE_SPF, DNS_FLAG_RD, false, 1);
    if (c->replies != before) {
        return true;
    }
    drain(c);
    return false;
}

static void test_cache(void)
{
    static const char * const names[] = { "ok.example", "tc.example" };
    Server *s = server_new(AF_INET);
    Client *c = remembering(&s->addr, 1 << 20);
    DnsUpstreamCounters counters;
    DnsQuestion q;
    DnsCursor cursor;

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree uint8_t *first = NULL;
        size_t len;

        g_assert_false(is_remembered(c, names[i]));
        first = g_memdup2(c->msg, c->len);
        len = c->len;
        g_assert_true(is_remembered(c, names[i]));
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
        g_assert_cmpuint(c->len, ==, len);
        g_assert_cmpmem(c->msg, 12, first, 12);
    }
    g_assert_true(is_remembered(c, "OK.example"));
    dns_cursor_init(&cursor, c->msg, c->len);
    g_assert_cmpint(dns_cursor_question(&cursor, &q), ==, 1);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 2);
    /* With other flags it is another question */
    start_type(c, "ok.example", TYPE_SPF, DNS_FLAG_RD, true, 3);
    drain(c);
    start_type(c, "ok.example", TYPE_SPF, DNS_FLAG_RD | DNS_FLAG_CD, false, 4);
    drain(c);
    start_type(c, "ok.example", DNS_TYPE_AAAA, DNS_FLAG_RD, false, 5);
    drain(c);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 5);
    dns_upstream_counters(c->up, &counters);
    g_assert_cmpuint(counters.cache_hits, ==, 3);
    g_assert_cmpuint(counters.queries, ==, 6);
    g_assert_cmpuint(counters.over_tcp, ==, 1);
    client_free(c);
    server_free(s);
}

/* A denial is cached by its SOA, and not at all without */
static void test_cache_denial(void)
{
    Server *s = server_new(AF_INET);
    Client *c = remembering(&s->addr, 1 << 20);

    g_assert_false(is_remembered(c, "nx.example"));
    g_assert_false(is_remembered(c, "nx.example"));
    g_atomic_int_set(&s->odd, REAL_SOA);
    g_assert_false(is_remembered(c, "none.example"));
    g_assert_true(is_remembered(c, "none.example"));
    client_free(c);
    server_free(s);
}

/* RFC 9520: a refusal is cached, but only for a short time */
static void test_cache_failure(void)
{
    Server *s = server_new(AF_INET);
    Client *c = remembering(&s->addr, 1 << 20);
    gint64 begin = g_get_monotonic_time();

    g_assert_false(is_remembered(c, "servfail.example"));
    while (is_remembered(c, "servfail.example")) {
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_REFUSED);
        g_assert_cmphex(reply_flags(c), ==, 0x8182);
    }
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, G_USEC_PER_SEC);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, 2);
    client_free(c);
    server_free(s);
}

/* Entries and octets are limited; fresh questions bypass the cache. */
static void test_cache_bounds(void)
{
    Server *s = server_new(AF_INET);
    Client *c = remembering(&s->addr, 30000);
    uint8_t query[DNS_QUERY_MAX];
    DnsQuestion q = { .type = TYPE_SPF, .qclass = DNS_CLASS_IN };
    size_t len;
    int before;

    g_assert_false(is_remembered(c, "tc.a.example"));
    g_assert_true(is_remembered(c, "tc.a.example"));
    g_assert_false(is_remembered(c, "tc.b.example"));
    g_assert_true(is_remembered(c, "tc.b.example"));
    g_assert_false(is_remembered(c, "tc.a.example"));
    for (int i = 0; i < 17; i++) {
        g_autofree char *name = g_strdup_printf("ok.n%d.example", i);

        g_assert_false(is_remembered(c, name));
    }
    g_assert_false(is_remembered(c, "ok.n0.example"));
    g_assert_true(is_remembered(c, "ok.n16.example"));

    before = g_atomic_int_get(&s->udp_queries);
    g_assert_cmpint(dns_name_from_text(&q.name, "ok.n16.example"), ==, 0);
    len = dns_query_build(query, &q, DNS_FLAG_RD, false);
    g_assert_cmpint(dns_upstream_fresh_ops.send(c->up, query, len, on_reply,
                                                c, 1), ==, 0);
    drain(c);
    g_assert_cmpint(g_atomic_int_get(&s->udp_queries), ==, before + 1);
    client_free(c);
    server_free(s);
}

/*
 * An exchange whose requests are all cancelled is still in flight, and is
 * joined.
 */
static void test_left_and_joined(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 50; i++) {
        start(c, "ok.example", i);
        cancel(c, i);
    }
    start(c, "ok.example", 50);
    drain(c);
    assert_told(c, 0, 50, 0);
    assert_told(c, 50, 1, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    g_assert_cmpint(count_queries(c, s), ==, 2);

    /* All requests are cancelled before the outcome */
    start(c, "ok.example", 51);
    cancel(c, 51);
    drain(c);
    assert_told(c, 51, 1, 0);
    start(c, "ok.example", 51);
    drain(c);
    assert_told(c, 51, 1, 1);
    g_assert_cmpint(count_queries(c, s), ==, 5);
    client_free(c);
    server_free(s);
}

/* Without requests no other server is asked. */
static void test_left_to_the_end(void)
{
    Server *a = server_new(AF_INET), *b = server_new(AF_INET);
    DnsServer servers[] = { a->addr, b->addr };
    Client *c = client_new(servers, 2, NULL);

    start(c, "servfail.example", 1);
    cancel(c, 1);
    drain(c);
    assert_told(c, 1, 1, 0);
    g_assert_cmpint(count_queries(c, a), ==, 2);
    g_assert_cmpint(g_atomic_int_get(&b->udp_queries), ==, 0);
    client_free(c);
    server_free(a);
    server_free(b);
}

static void ask_again(Client *c, uint64_t request)
{
    g_assert_cmpuint(request, ==, 0);
    c->replied = NULL;
    cancel(c, 0);
    cancel(c, 2);
    start(c, "OK.example", 10);
    start(c, "ok.example", 11);
    cancel(c, 10);
    start(c, "ok.example", 0);      /* free to be used again */
}

static void test_asked_in_reply(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    c->replied = ask_again;
    for (uint64_t i = 0; i < 4; i++) {
        start(c, "ok.example", i);
    }
    drain(c);
    assert_told(c, 0, 1, 2);
    assert_told(c, 1, 1, 1);
    assert_told(c, 2, 1, 0);
    assert_told(c, 3, 1, 1);
    assert_told(c, 10, 1, 0);
    assert_told(c, 11, 1, 1);
    g_assert_cmpint(count_queries(c, s), ==, 3);
    client_free(c);
    server_free(s);
}

/* Not all requests are told at once; meanwhile the loop continues. */
static void test_told_by_and_by(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    for (uint64_t i = 0; i < 100; i++) {
        start(c, "ok.example", i);
    }
    while (!c->replies) {
        turn(c);
    }
    g_assert_cmpint(c->replies, <, 50);
    g_assert_cmpint(dns_upstream_timeout_ms(c->up), ==, 0);
    assert_told(c, c->replies, 100 - c->replies, 0);
    cancel(c, 98);
    start(c, "ok.example", 100);
    drain(c);
    assert_told(c, 0, 98, 1);
    assert_told(c, 98, 1, 0);
    assert_told(c, 99, 2, 1);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);

    /* The others are cancelled before their reply */
    for (uint64_t i = 0; i < 100; i++) {
        c->told[i] = 0;
        start(c, "ok.again.example", i);
    }
    c->replies = 0;
    while (!c->replies) {
        turn(c);
    }
    for (uint64_t i = 0; i < 100; i++) {
        cancel(c, i);
    }
    g_assert_cmpint(c->replies, <, 50);
    drain(c);
    g_assert_cmpint(c->replies, <, 50);
    g_assert_cmpint(count_queries(c, s), ==, 4);
    client_free(c);
    server_free(s);
}

/* The query without OPT is still the same question */
static void test_no_edns_shared(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);

    ask(c, "old.example");
    start(c, "oldmute.example", 1);
    count_queries(c, s);        /* the query without OPT is sent */
    start(c, "oldmute.example", 2);
    g_assert_cmpint(count_queries(c, s), ==, 6);
    assert_told(c, 1, 2, 0);
    client_free(c);
    server_free(s);
}

static void replied_cancelled(Client *c, uint64_t request)
{
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_CANCELLED);
    g_assert_null(c->msg);
}

static void test_free_shared(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);
    int before;

    for (uint64_t i = 0; i < 50; i++) {
        start(c, "ok.example", i);
    }
    while (!c->replies) {
        turn(c);
    }
    before = c->replies;
    for (uint64_t i = 50; i < 100; i++) {
        start(c, "silent.example", i);
    }
    cancel(c, 50);
    cancel(c, 40);
    c->replied = replied_cancelled;
    dns_upstream_free(c->up);
    c->up = NULL;
    g_assert_cmpint(before, <, 40);
    assert_told(c, 0, 40, 1);
    assert_told(c, 40, 1, 0);
    assert_told(c, 41, 9, 1);
    assert_told(c, 50, 1, 0);
    assert_told(c, 51, 49, 1);
    client_free(c);
    server_free(s);
}

/* Random operations: each request has one reply, or none if cancelled. */
static bool is_out[MAX_REQUESTS];

static void anything(Client *c)
{
    static const char * const names[] = {
        "ok.a.example", "OK.A.example", "ok.b.example", "servfail.example",
        "old.example",
    };
    uint64_t request = g_test_rand_int_range(0, MAX_REQUESTS - 1);

    if (is_out[request]) {
        is_out[request] = false;
        cancel(c, request);
    } else {
        is_out[request] = true;
        start(c, names[g_test_rand_int_range(0, G_N_ELEMENTS(names))],
              request);
    }
}

static void replied_anything(Client *c, uint64_t request)
{
    g_assert_true(is_out[request]);
    is_out[request] = false;
    for (int i = g_test_rand_int_range(0, 3); i > 0; i--) {
        anything(c);
    }
}

static void replied_last(Client *c, uint64_t request)
{
    g_assert_true(is_out[request]);
    is_out[request] = false;
}

static void test_anything(void)
{
    Server *s = server_new(AF_INET);
    DnsServer servers[] = { s->addr, refused_server() };
    Client *c = client_new(servers, 2, NULL);

    c->replied = replied_anything;
    /* When all are cancelled, only a timer is left, and no reply comes. */
    c->by_the_clock = true;
    for (int i = 0; i < 1000; i++) {
        for (int n = g_test_rand_int_range(0, 50); n > 0; n--) {
            anything(c);
        }
        if (dns_upstream_timeout_ms(c->up) >= 0) {
            turn(c);
        }
    }
    c->replied = replied_last;
    drain(c);
    for (size_t i = 0; i < MAX_REQUESTS; i++) {
        g_assert_false(is_out[i]);
    }
    client_free(c);
    server_free(s);
}

static void test_bad_query(void)
{
    Server *s = server_new(AF_INET);
    Client *c = client_new(&s->addr, 1, NULL);
    uint8_t query[DNS_QUERY_MAX + 1] = { 0 };

    g_assert_cmpint(dns_upstream_ops.send(c->up, query, sizeof(query),
                                          on_reply, c, 1), ==, -EINVAL);
    g_assert_cmpint(dns_upstream_ops.send(c->up, query, 11, on_reply, c, 1),
                    ==, -EINVAL);
    /* No question, and one that is cut */
    g_assert_cmpint(dns_upstream_ops.send(c->up, query, 12, on_reply, c, 1),
                    ==, -EINVAL);
    query[5] = 1;
    g_assert_cmpint(dns_upstream_ops.send(c->up, query, 16, on_reply, c, 1),
                    ==, -EINVAL);
    g_assert_cmpint(c->replies, ==, 0);
    client_free(c);
    server_free(s);
}

static void test_bind6(void)
{
    struct in6_addr foreign;
    Server *s;
    Client *c;

    s = server_new(AF_INET6);
    c = client_new(&s->addr, 1, &in6addr_loopback);
    ask(c, "ok.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_OK);
    client_free(c);
    /* An address that is not ours shows that the setting is used */
    inet_pton(AF_INET6, "2001:db8::1", &foreign);
    c = client_new(&s->addr, 1, &foreign);
    ask(c, "ok.example");
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_NETWORK);
    client_free(c);
    server_free(s);
}

static void test_default_servers(void)
{
    DnsServer many[DNS_UPSTREAM_MAX_SERVERS + 1] = { 0 };
    g_autoptr(GError) err = NULL;
    Client *c = client_new(NULL, 0, NULL);

    client_free(c);
    g_assert_null(dns_upstream_new(&(DnsUpstreamOptions) {
        .servers = many, .count = G_N_ELEMENTS(many),
    }, &err));
    g_assert_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    bool ok = fd >= 0 && !bind(fd, (struct sockaddr *)&in6, sizeof(in6));

    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/upstream/parse", test_parse);
    g_test_add_func("/dns/upstream/ok", test_ok);
    g_test_add_func("/dns/upstream/tcp", test_tcp);
    g_test_add_func("/dns/upstream/many-and-ids", test_many_and_ids);
    g_test_add_func("/dns/upstream/second-server", test_second_server);
    g_test_add_func("/dns/upstream/timeout", test_timeout);
    g_test_add_func("/dns/upstream/icmp", test_icmp);
    g_test_add_func("/dns/upstream/refusal", test_refusal);
    g_test_add_func("/dns/upstream/odd", test_odd);
    g_test_add_func("/dns/upstream/all-odd", test_all_odd);
    g_test_add_func("/dns/upstream/no-edns", test_no_edns);
    g_test_add_func("/dns/upstream/cancel", test_cancel);
    g_test_add_func("/dns/upstream/free-outstanding", test_free_outstanding);
    g_test_add_func("/dns/upstream/shared", test_shared);
    g_test_add_func("/dns/upstream/shared-failure", test_shared_failure);
    g_test_add_func("/dns/upstream/ad", test_ad);
    g_test_add_func("/dns/upstream/not-shared", test_not_shared);
    g_test_add_func("/dns/upstream/shared-cancel", test_shared_cancel);
    g_test_add_func("/dns/upstream/bounded", test_bounded);
    g_test_add_func("/dns/upstream/sockets", test_sockets);
    g_test_add_func("/dns/upstream/many-tcp", test_many_tcp);
    g_test_add_func("/dns/upstream/cache", test_cache);
    g_test_add_func("/dns/upstream/cache-denial", test_cache_denial);
    g_test_add_func("/dns/upstream/cache-failure", test_cache_failure);
    g_test_add_func("/dns/upstream/cache-bounds", test_cache_bounds);
    g_test_add_func("/dns/upstream/left-and-joined", test_left_and_joined);
    g_test_add_func("/dns/upstream/left-to-the-end", test_left_to_the_end);
    g_test_add_func("/dns/upstream/asked-in-reply", test_asked_in_reply);
    g_test_add_func("/dns/upstream/told-by-and-by", test_told_by_and_by);
    g_test_add_func("/dns/upstream/no-edns-shared", test_no_edns_shared);
    g_test_add_func("/dns/upstream/free-shared", test_free_shared);
    g_test_add_func("/dns/upstream/anything", test_anything);
    g_test_add_func("/dns/upstream/bad-query", test_bad_query);
    if (has_ipv6()) {
        g_test_add_func("/dns/upstream/bind6", test_bind6);
    }
    g_test_add_func("/dns/upstream/default-servers", test_default_servers);
    return g_test_run();
}
