/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An upstream that asks vmmnet-validate, which asks a server on loopback; all in
 * this process
 *
 * The server signs nothing, so names below the trust anchor are bogus, and for
 * others nothing can be proved.  Correct signatures are tested in
 * tests/guest/test_dnssec.py, with tools that make them.
 */

#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listener.h"
#include "dnsd/validate/service.h"
#include "net/dns/upstream/checker.h"
#include "net/dns/upstream/upstream.h"

#define ANCHOR "signed.example. IN DS 1 13 2 E06D44B80B8F1D39A95C0B0D7C65D084" \
               "58E880409BBC683457104237C7F8EC8D\n"
#define PATIENCE_MS 180000

typedef struct Server {
    int fd;
    int stop[2];
    uint16_t port;
    gint is_silent;             /* atomic */
    gint queries;               /* atomic */
    GThread *thread;
} Server;

/* An address for A, no data for others; with AD */
static void reply_to(Server *s, const uint8_t *query, size_t len,
                     const struct sockaddr_in *peer)
{
    uint8_t out[DNS_UDP_MIN];
    DnsHeader header;
    DnsCursor cursor;
    DnsQuestion q;
    DnsBuilder b;

    if (dns_header_parse(query, len, &header) ||
        dns_cursor_init(&cursor, query, len) ||
        dns_cursor_question(&cursor, &q) <= 0) {
        return;
    }
    g_atomic_int_inc(&s->queries);
    if (g_atomic_int_get(&s->is_silent)) {
        return;
    }
    dns_builder_init(&b, out, sizeof(out), header.id,
                     DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA | DNS_FLAG_AD);
    dns_builder_question(&b, &q);
    if (q.type == DNS_TYPE_A) {
        dns_builder_a(&b, DNS_SECTION_ANSWER, &q.name, 300,
                      (struct in_addr){ htonl(0xc0000201) });
    }
    sendto(s->fd, out, b.len, 0, (const struct sockaddr *)peer, sizeof(*peer));
}

static gpointer serve(gpointer opaque)
{
    Server *s = opaque;
    struct pollfd fds[2] = {
        { .fd = s->stop[0], .events = POLLIN },
        { .fd = s->fd, .events = POLLIN },
    };

    while (poll(fds, 2, -1) > 0 && !fds[0].revents) {
        struct sockaddr_in peer;
        socklen_t peer_len = sizeof(peer);
        uint8_t query[DNS_UDP_MIN];
        ssize_t len = recvfrom(s->fd, query, sizeof(query), 0,
                               (struct sockaddr *)&peer, &peer_len);

        if (len > 0) {
            reply_to(s, query, len, &peer);
        }
    }
    return NULL;
}

/* @port: 0 for any */
static Server *server_at(const char *address, uint16_t port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    socklen_t len = sizeof(in);
    Server *s = g_new0(Server, 1);

    inet_pton(AF_INET, address, &in.sin_addr);
    s->fd = socket(AF_INET, SOCK_DGRAM, 0);
    g_assert_cmpint(bind(s->fd, (struct sockaddr *)&in, len), ==, 0);
    g_assert_cmpint(getsockname(s->fd, (struct sockaddr *)&in, &len), ==, 0);
    s->port = ntohs(in.sin_port);
    g_assert_cmpint(pipe(s->stop), ==, 0);
    s->thread = g_thread_new("server", serve, s);
    return s;
}

static Server *server_new(void)
{
    return server_at("127.0.0.1", 0);
}

static void server_free(Server *s)
{
    close(s->stop[1]);
    g_thread_join(s->thread);
    close(s->stop[0]);
    close(s->fd);
    g_free(s);
}

/*** vmmnet-validate, on a thread ***/

typedef struct Validator {
    DnscLoop loop;
    ValidateOptions options;
    ValidateService *service;
    BaseListener listener;
    DnscSource door, stop;
    int ends[2];
    bool is_over;
    GThread *thread;
} Validator;

static char *anchor_path, *socket_path, *conf_path;

static void on_door(DnscSource *source, uint32_t events)
{
    Validator *v = (Validator *)((char *)source - offsetof(Validator, door));
    int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK);

    if (fd >= 0) {
        validate_service_take(v->service, fd);
    }
}

static void on_stop(DnscSource *source, uint32_t events)
{
    Validator *v = (Validator *)((char *)source - offsetof(Validator, stop));

    v->is_over = true;
}

static gpointer validate(gpointer opaque)
{
    Validator *v = opaque;
    struct epoll_event event;

    while (!v->is_over) {
        epoll_wait(v->loop.epoll, &event, 1, dnsc_loop_timeout_ms(&v->loop));
        dnsc_loop_run(&v->loop);
    }
    return NULL;
}

/* @server: "127.0.0.1@53"; NULL: those of the file */
static Validator *validator_new(const char *server)
{
    Validator *v = g_new0(Validator, 1);
    const char *mistake;

    v->options.trust_anchor = anchor_path;
    v->options.resolv_conf = conf_path;
    if (server) {
        g_assert_cmpint(dnsc_list_add(&v->options.servers, server), ==, 0);
    }
    g_assert_cmpint(dnsc_loop_attach(&v->loop), ==, 0);
    v->service = validate_service_new(&v->loop, &v->options, &mistake);
    g_assert_nonnull(v->service);
    g_assert_cmpint(base_listener_open(&v->listener, socket_path, 0600), ==, 0);
    g_assert_cmpint(pipe(v->ends), ==, 0);
    v->door = (DnscSource) { v->listener.fd, on_door };
    v->stop = (DnscSource) { v->ends[0], on_stop };
    dnsc_loop_watch(&v->loop, &v->door, EPOLLIN);
    dnsc_loop_watch(&v->loop, &v->stop, EPOLLIN);
    v->thread = g_thread_new("validator", validate, v);
    return v;
}

static Validator *validator_of(const Server *s)
{
    g_autofree char *server = g_strdup_printf("127.0.0.1@%u", s->port);

    return validator_new(server);
}

static void validator_free(Validator *v)
{
    close(v->ends[1]);
    g_thread_join(v->thread);
    validate_service_free(v->service);
    base_listener_close(&v->listener);
    close(v->ends[0]);
    dnsc_loop_detach(&v->loop);
    dnsc_loop_free(&v->loop);
    g_free(v);
}

/*** Client ***/

typedef struct Client {
    DnsUpstream *up;
    int replies;
    DnsUpstreamStatus status;
    uint8_t *msg;
    size_t len;
    GString *verdicts;          /* "name 0 6;": security, EDE */
    GString *news;              /* "away;back;" */
} Client;

static void on_validated(void *opaque, const DnsValidated *found)
{
    char name[DNS_NAME_TEXT_MAX];
    Client *c = opaque;

    dns_name_to_text(&found->question->name, name);
    g_string_append_printf(c->verdicts, "%s %d %d;", name, found->security,
                           found->ede);
}

static void on_news(void *opaque, const char *trouble)
{
    Client *c = opaque;

    g_string_append(c->news, trouble ? "away;" : "back;");
}

static Client *client_new(const Server *s, DnsDnssec mode, size_t cache)
{
    DnsServer server = {
        .family = AF_INET, .addr.in.s_addr = htonl(INADDR_LOOPBACK),
        .port = s->port,
    };
    Client *c = g_new0(Client, 1);
    GError *err = NULL;

    c->verdicts = g_string_new("");
    c->news = g_string_new("");
    c->up = dns_upstream_new(&(DnsUpstreamOptions) {
        .servers = &server, .count = 1, .cache_entries = cache,
        .cache_octets = 1 << 20, .dnssec = mode, .validator = socket_path,
        .validator_news = on_news, .validated = on_validated, .opaque = c,
    }, &err);
    g_assert_no_error(err);
    return c;
}

static void client_free(Client *c)
{
    dns_upstream_free(c->up);
    g_string_free(c->verdicts, TRUE);
    g_string_free(c->news, TRUE);
    g_free(c->msg);
    g_free(c);
}

static void on_reply(void *opaque, uint64_t request, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    Client *c = opaque;

    c->replies++;
    c->status = status;
    g_free(c->msg);
    c->msg = g_memdup2(msg, len);
    c->len = len;
}

static void start(Client *c, const DnsUpstreamOps *ops, const char *name,
                  uint16_t flags, uint64_t request)
{
    DnsQuestion q = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX];
    size_t len;

    g_assert_cmpint(dns_name_from_text(&q.name, name), ==, 0);
    len = dns_query_build(query, &q, DNS_FLAG_RD | flags, false);
    g_assert_cmpint(ops->send(c->up, query, len, on_reply, c, request), ==, 0);
}

static void wait_replies(Client *c, int replies)
{
    struct pollfd ready = { .fd = dns_upstream_fd(c->up), .events = POLLIN };

    while (c->replies < replies) {
        int wait_ms = dns_upstream_timeout_ms(c->up);

        g_assert_cmpint(poll(&ready, 1, wait_ms >= 0 ? wait_ms : PATIENCE_MS),
                        >=, wait_ms < 0);
        dns_upstream_process(c->up);
    }
}

static void ask(Client *c, const DnsUpstreamOps *ops, const char *name,
                uint16_t flags)
{
    int replies = c->replies + 1;

    start(c, ops, name, flags, 1);
    wait_replies(c, replies);
}

/* The flags without QR, RD and RA; the address, or the EDE, or "" */
static char *told(const Client *c)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;
    char *text;

    g_assert_cmpint(dns_header_parse(c->msg, c->len, &header), ==, 0);
    text = g_strdup_printf("%x", header.flags & ~(DNS_FLAG_QR | DNS_FLAG_RD |
                                                  DNS_FLAG_RA));
    dns_cursor_init(&cursor, c->msg, c->len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        g_autofree char *before = text;

        if (rr.type != DNS_TYPE_OPT) {
            text = g_strdup_printf("%s, %u for %u s", before, rr.type, rr.ttl);
        } else if (!dns_rdata_edns(&cursor, &rr, &edns) && edns.has_ede) {
            text = g_strdup_printf("%s, EDE %u", before, edns.ede);
        } else {
            before = NULL;
        }
    }
    return text;
}

static void expect_told(const Client *c, DnsUpstreamStatus status,
                        const char *expected)
{
    g_autofree char *found = told(c);

    g_assert_cmpint(c->status, ==, status);
    g_assert_cmpstr(found, ==, expected);
}

/*** Tests ***/

static void test_strict(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);
    DnsUpstreamCounters counters;

    ask(c, &dns_upstream_ops, "a.signed.example", 0);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    /* The server's own AD has no effect. */
    ask(c, &dns_upstream_ops, "a.other.example", DNS_FLAG_AD);
    expect_told(c, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    g_assert_cmpstr(c->verdicts->str, ==,
                    "a.signed.example 3 9;a.other.example 0 -1;");
    /* RFC 4035 section 3.2.2: a client with CD validates itself. */
    ask(c, &dns_upstream_ops, "a.signed.example", DNS_FLAG_CD);
    expect_told(c, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    /* Questions about the network itself are not validated. */
    ask(c, &dns_upstream_fresh_ops, "b.signed.example", 0);
    expect_told(c, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    dns_upstream_counters(c->up, &counters);
    g_assert_cmpuint(counters.bogus, ==, 1);
    g_assert_cmpuint(counters.indeterminate, ==, 1);
    g_assert_cmpuint(counters.secure + counters.insecure, ==, 0);
    client_free(c);
    validator_free(v);
    server_free(s);
}

static void test_permissive(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_PERMISSIVE, 0);
    DnsUpstreamCounters counters;

    ask(c, &dns_upstream_ops, "a.signed.example", DNS_FLAG_AD);
    expect_told(c, DNS_UPSTREAM_OK, "0, 1 for 5 s, EDE 9");
    dns_upstream_counters(c->up, &counters);
    g_assert_cmpuint(counters.bogus, ==, 1);
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* RFC 4035 section 4.7: bogus replies are cached shortly, and separately. */
static void test_remembered(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 16);

    ask(c, &dns_upstream_ops, "a.signed.example", 0);
    start(c, &dns_upstream_ops, "A.signed.example", 0, 2);
    g_assert_cmpint(c->replies, ==, 2);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    ask(c, &dns_upstream_ops, "a.signed.example", DNS_FLAG_CD);
    expect_told(c, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    start(c, &dns_upstream_ops, "a.signed.example", 0, 2);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    /* An unvalidated reply is not used for a query that wants validation. */
    ask(c, &dns_upstream_fresh_ops, "b.signed.example", 0);
    ask(c, &dns_upstream_ops, "b.signed.example", 0);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* All requests for a question under way share one validation. */
static void test_shared(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);

    for (uint64_t i = 0; i < 20; i++) {
        start(c, &dns_upstream_ops, "a.other.example", 0, i);
    }
    dns_upstream_ops.cancel(c->up, c, 7);
    wait_replies(c, 19);
    g_assert_cmpstr(c->verdicts->str, ==, "a.other.example 0 -1;");
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* The number of checks is limited, and each of them ends. */
static void test_bounded(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);
    size_t count = 0;

    g_assert_cmpuint(dns_upstream_room(c->up), ==, DNS_CHECKS_MAX);
    while (dns_upstream_room(c->up)) {
        g_autofree char *name = g_strdup_printf("n%zu.other.example", count);

        start(c, &dns_upstream_ops, name, 0, count++);
    }
    g_assert_cmpuint(count, ==, DNS_CHECKS_MAX);
    /* A cancelled check takes up room until it has ended. */
    dns_upstream_ops.cancel(c->up, c, 5);
    g_assert_cmpuint(dns_upstream_room(c->up), ==, 0);
    wait_replies(c, DNS_CHECKS_MAX - 1);
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* Freed during validation: each request is told once, and nothing leaks. */
static void test_free_outstanding(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);

    g_atomic_int_set(&s->is_silent, 1);
    for (int round = 0; round < 10; round++) {
        Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);

        for (uint64_t i = 0; i < 50; i++) {
            g_autofree char *name = g_strdup_printf("n%d.other.example",
                                                    (int)i);

            start(c, &dns_upstream_ops, name, 0, i);
        }
        for (uint64_t i = 0; i < 50; i += 2) {
            dns_upstream_ops.cancel(c->up, c, i);
        }
        /* Some before the validator has them, some during validation */
        while (round % 2 && !g_atomic_int_get(&s->queries)) {
            g_thread_yield();
        }
        dns_upstream_free(c->up);
        c->up = NULL;
        g_assert_cmpint(c->replies, ==, 25);
        g_assert_cmpint(c->status, ==, DNS_UPSTREAM_CANCELLED);
        client_free(c);
    }
    validator_free(v);
    server_free(s);
}

/* If the servers do not answer, the request fails, permissive or not. */
static void test_silent(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);

    g_atomic_int_set(&s->is_silent, 1);
    ask(c, &dns_upstream_ops, "a.other.example", 0);
    g_assert_cmpint(c->status, ==, DNS_UPSTREAM_TIMEOUT);
    g_assert_cmpstr(c->verdicts->str, ==, "a.other.example 0 -1;");
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* Until @news has been told; the loop also runs. */
static void wait_news(Client *c, const char *news)
{
    struct pollfd ready = { .fd = dns_upstream_fd(c->up), .events = POLLIN };

    while (strcmp(c->news->str, news)) {
        int wait_ms = dns_upstream_timeout_ms(c->up);

        g_assert_cmpint(poll(&ready, 1, wait_ms >= 0 ? wait_ms : PATIENCE_MS),
                        >=, wait_ms < 0);
        dns_upstream_process(c->up);
    }
}

/* It comes late, goes while it validates, and is back. */
static void test_away(void)
{
    Server *s = server_new();
    Client *strict = client_new(s, DNS_DNSSEC_STRICT, 16);
    Client *permissive = client_new(s, DNS_DNSSEC_PERMISSIVE, 16);
    DnsUpstreamCounters counters;
    Validator *v;

    ask(strict, &dns_upstream_ops, "a.signed.example", 0);
    g_assert_cmpint(strict->status, ==, DNS_UPSTREAM_NETWORK);
    ask(permissive, &dns_upstream_ops, "a.signed.example", 0);
    expect_told(permissive, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    wait_news(strict, "away;");

    v = validator_of(s);
    wait_news(strict, "away;back;");
    /* That it was away is not remembered. */
    ask(strict, &dns_upstream_ops, "a.signed.example", 0);
    expect_told(strict, DNS_UPSTREAM_BOGUS, "2, EDE 9");

    g_atomic_int_set(&s->is_silent, 1);
    g_atomic_int_set(&s->queries, 0);
    start(strict, &dns_upstream_ops, "b.other.example", 0, 2);
    while (!g_atomic_int_get(&s->queries)) {
        g_thread_yield();
    }
    validator_free(v);
    wait_replies(strict, 3);
    g_assert_cmpint(strict->status, ==, DNS_UPSTREAM_NETWORK);
    g_assert_cmpstr(strict->news->str, ==, "away;back;away;");
    g_atomic_int_set(&s->is_silent, 0);
    v = validator_of(s);
    wait_news(strict, "away;back;away;back;");
    ask(strict, &dns_upstream_ops, "b.other.example", 0);
    expect_told(strict, DNS_UPSTREAM_OK, "0, 1 for 300 s");
    dns_upstream_counters(strict->up, &counters);
    g_assert_cmpuint(counters.validator_outages, ==, 2);
    client_free(strict);
    client_free(permissive);
    validator_free(v);
    server_free(s);
}

/* One that sends what is no query; one that reads nothing; one too many */
static void test_rude_clients(void)
{
    Server *s = server_new();
    Validator *v = validator_of(s);
    Client *c = client_new(s, DNS_DNSSEC_STRICT, 0);
    DnsQuestion q = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    uint8_t query[2 + DNS_QUERY_MAX], octet;
    int greedy, other;
    size_t len;

    g_assert_cmpint(dns_name_from_text(&q.name, "x.other.example"), ==, 0);
    len = dns_query_build(query + 2, &q, DNS_FLAG_RD, false);
    query[0] = 0;
    query[1] = len;
    ask(c, &dns_upstream_ops, "a.signed.example", 0);
    other = base_listener_connect(socket_path);
    g_assert_cmpint(send(other, "\377\377", 2, 0), ==, 2);
    g_assert_cmpint(read(other, &octet, 1), ==, 0);
    close(other);
    greedy = base_listener_connect(socket_path);
    for (int i = 0; i < 200000 &&
         send(greedy, query, len + 2, MSG_DONTWAIT) > 0; i++) {
        continue;
    }
    other = base_listener_connect(socket_path);
    g_assert_cmpint(read(other, &octet, 1), ==, 0);
    close(other);
    ask(c, &dns_upstream_ops, "b.signed.example", 0);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    close(greedy);
    client_free(c);
    validator_free(v);
    server_free(s);
}

/* Other servers while something is under way: it is asked again. In a netns. */
static void test_moved(void)
{
    Server *before, *after;
    Validator *v;
    Client *c;

    g_assert_true(unshare(CLONE_NEWNET) == 0 ||
                  unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
    g_assert_cmpint(system("ip link set lo up"), ==, 0);
    before = server_at("127.0.0.1", 53);
    after = server_at("127.0.0.2", 53);
    g_atomic_int_set(&before->is_silent, 1);
    g_assert_true(g_file_set_contents(conf_path, "nameserver 127.0.0.1\n", -1,
                                      NULL));
    v = validator_new(NULL);
    c = client_new(before, DNS_DNSSEC_STRICT, 0);
    start(c, &dns_upstream_ops, "a.signed.example", 0, 1);
    while (!g_atomic_int_get(&before->queries)) {
        g_thread_yield();
    }
    g_assert_true(g_file_set_contents(conf_path, "nameserver 127.0.0.2\n", -1,
                                      NULL));
    wait_replies(c, 1);
    expect_told(c, DNS_UPSTREAM_BOGUS, "2, EDE 9");
    g_assert_cmpint(g_atomic_int_get(&after->queries), >, 0);
    client_free(c);
    validator_free(v);
    server_free(before);
    server_free(after);
}

int main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("dnsd-validate-XXXXXX", NULL);
    int ret;

    anchor_path = g_build_filename(folder, "anchor", NULL);
    socket_path = g_build_filename(folder, "socket", NULL);
    conf_path = g_build_filename(folder, "resolv.conf", NULL);
    g_assert_true(g_file_set_contents(anchor_path, ANCHOR, -1, NULL));
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/validate/strict", test_strict);
    g_test_add_func("/dnsd/validate/permissive", test_permissive);
    g_test_add_func("/dnsd/validate/remembered", test_remembered);
    g_test_add_func("/dnsd/validate/shared", test_shared);
    g_test_add_func("/dnsd/validate/bounded", test_bounded);
    g_test_add_func("/dnsd/validate/free-outstanding", test_free_outstanding);
    g_test_add_func("/dnsd/validate/silent", test_silent);
    g_test_add_func("/dnsd/validate/away", test_away);
    g_test_add_func("/dnsd/validate/rude-clients", test_rude_clients);
    g_test_add_func("/dnsd/validate/moved", test_moved);
    ret = g_test_run();
    g_unlink(anchor_path);
    g_unlink(conf_path);
    g_rmdir(folder);
    g_free(anchor_path);
    g_free(socket_path);
    g_free(conf_path);
    return ret;
}
