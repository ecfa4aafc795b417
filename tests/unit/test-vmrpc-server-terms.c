/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: the terms of rules (via, sent, names), and limits of octets
 *
 * The proxy is a socket of the test, at the peer's address.  What the guest
 * wants to reach has no route: only the proxy could lead there.
 */
#include "tests/fixtures/hello-fixture.h"
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-rules.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

#define BEYOND "2001:db8:7::1"

/* The guest asked for @name, and DNS said @addr6. */
static void asked(Fx *fx, const char *name, const char *addr6)
{
    VmrpcNameAddr addr = { .ttl_s = 60 };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    g_assert_cmpint(inet_pton(AF_INET6, addr6, &addr.addr6), ==, 1);
    vmrpc_names_note(fx->srv->reach.names, &wire, &addr, 1, vmrpc_now_ms());
}

/* --- via ---------------------------------------------------------------- */

/* A guest that may reach www.test by a proxy, and the proxy. */
typedef struct World {
    Fx *fx;
    int listener;
} World;

static World world_new(const char *kind)
{
    World w;
    uint16_t port;
    g_autofree char *policy = NULL;

    w.listener = peer_socket(SOCK_STREAM, &port);
    policy = g_strdup_printf("proxy corp %s %s %u\n"
                             "allow www.test tcp 443 via corp\n"
                             "allow *.cdn.test tcp 443 via corp\n"
                             "allow 2001:db8:7::/64 tcp 444 via corp\n"
                             "default deny\n", kind, fx_peer6, port);
    w.fx = fx_new(&(FxOptions) { .policy = policy });
    asked(w.fx, "www.test", BEYOND);
    return w;
}

static void world_free(World *w)
{
    close(w->listener);
    fx_free(w->fx);
}

/* A new socket connects to @port of BEYOND; returns the proxy's end. */
static int connect_via(World *w, uint32_t handle, unsigned port)
{
    int fd;

    fx_ok(fx_socket(w->fx, handle, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(w->fx, VMRPC_CONNECT, handle, fx_map(w->fx, BEYOND),
                        port), EINPROGRESS);
    fd = accept(w->listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static void proxy_reads(World *w, int fd, const char *text, size_t len)
{
    g_autofree char *data = g_malloc(len);

    /* The server sends when it is told that it is connected. */
    for (size_t got = 0; got < len; ) {
        ssize_t n = recv(fd, data + got, len - got, MSG_DONTWAIT);

        if (n < 0) {
            g_assert_cmpint(errno, ==, EAGAIN);
            fx_wait_any(w->fx);
            continue;
        }
        g_assert_cmpint(n, >, 0);
        got += n;
    }
    g_assert_cmpmem(data, len, text, len);
}

#define READS(w, fd, text) proxy_reads(w, fd, text, sizeof(text) - 1)

static void proxy_says(int fd, const char *text, size_t len)
{
    g_assert_cmpint(send(fd, text, len, 0), ==, (ssize_t)len);
}

#define SAYS(fd, text) proxy_says(fd, text, sizeof(text) - 1)

#define ASKS "CONNECT www.test:443 HTTP/1.1\r\nHost: www.test:443\r\n\r\n"

/* Guest and proxy's end exchange what is theirs. */
static void assert_open(World *w, uint32_t handle, int fd)
{
    char data[16];
    FxReply r;

    fx_ok(fx_send(w->fx, handle, "hello", 5));
    peer_read(fd, data, 5);
    g_assert_cmpmem(data, 5, "hello", 5);
    SAYS(fd, "answer");
    fx_wait(w->fx, handle, VMRPC_IN);
    r = fx_recv(w->fx, handle, data, sizeof(data), 0);
    fx_ok(r);
    g_assert_cmpmem(data, r.value, "answer", 6);
}

static void test_http(void)
{
    World w = world_new("http");
    int fd = connect_via(&w, 0, 443);
    struct in_addr peer = fx_map(w.fx, BEYOND);
    FxReply r;
    char data[16];

    READS(&w, fd, ASKS);
    /* What follows the answer at once is the guest's. */
    SAYS(fd, "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nearly");
    fx_wait(w.fx, 0, VMRPC_IN | VMRPC_OUT);
    r = fx_recv(w.fx, 0, data, sizeof(data), 0);
    g_assert_cmpmem(data, r.value, "early", 5);
    assert_open(&w, 0, fd);
    /* The peer is the one that the guest has named. */
    r = fx_op(w.fx, VMRPC_GETPEERNAME, 0, 0, 0);
    fx_assert_addr(&r, peer, 443);
    g_assert_cmpuint(fx_counters(w.fx)->connections_proxied, ==, 1);
    g_assert_cmpuint(fx_counters(w.fx)->proxied_failed, ==, 0);
    close(fd);
    world_free(&w);
}

static void test_socks(void)
{
    World w = world_new("socks5");
    int fd = connect_via(&w, 0, 443);

    READS(&w, fd, "\5\1\0");
    SAYS(fd, "\5\0");
    READS(&w, fd, "\5\1\0\3\10www.test\1\273");
    SAYS(fd, "\5\0\0\1\0\0\0\0\0\0");
    fx_wait(w.fx, 0, VMRPC_OUT);
    assert_open(&w, 0, fd);
    close(fd);
    world_free(&w);
}

/* A rule by address asks by address. */
static void test_by_address(void)
{
    World w = world_new("http");
    int fd = connect_via(&w, 0, 444);

    READS(&w, fd, "CONNECT [" BEYOND "]:444 HTTP/1.1\r\n");
    close(fd);
    world_free(&w);
}

/* Of several names of the address, the guest means the one that it asked last. */
static void test_name_asked_last(void)
{
    World w = world_new("http");
    int fd;

    asked(w.fx, "b.cdn.test", BEYOND);
    asked(w.fx, "elsewhere.test", BEYOND);
    fd = connect_via(&w, 0, 443);
    READS(&w, fd, "CONNECT b.cdn.test:443 HTTP/1.1\r\n");
    close(fd);
    asked(w.fx, "www.test", BEYOND);
    fd = connect_via(&w, 1, 443);
    READS(&w, fd, "CONNECT www.test:443 HTTP/1.1\r\n");
    close(fd);
    world_free(&w);
}

/*
 * With "tls" the stream must say the name that the proxy was asked for, not
 * another that the same rule would allow.
 */
static void test_says_what_the_proxy_heard(void)
{
    static const struct {
        const char *name;
        int error;
    } cases[] = { { "b.cdn.test", 0 }, { "a.cdn.test", EACCES } };
    uint16_t port;
    World w = { .listener = peer_socket(SOCK_STREAM, &port) };
    g_autofree char *policy =
        g_strdup_printf("proxy corp http %s %u\n"
                        "allow *.cdn.test tcp 443 tls via corp\n"
                        "default deny\n", fx_peer6, port);

    w.fx = fx_new(&(FxOptions) { .policy = policy });
    asked(w.fx, "a.cdn.test", BEYOND);
    asked(w.fx, "b.cdn.test", BEYOND);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) hello = g_byte_array_new();
        int fd = connect_via(&w, i, 443);

        hello_add(hello, &(HelloSpec) { .name = cases[i].name }, 4096);
        READS(&w, fd, "CONNECT b.cdn.test:443 HTTP/1.1\r\n"
                      "Host: b.cdn.test:443\r\n\r\n");
        SAYS(fd, "HTTP/1.1 200 OK\r\n\r\n");
        fx_wait(w.fx, i, VMRPC_OUT);
        fx_fails(fx_send(w.fx, i, hello->data, hello->len), cases[i].error);
        close(fd);
    }
    world_free(&w);
}

/* Before the proxy has agreed, nothing of the guest's reaches it. */
static void test_guest_cannot_speak_to_proxy(void)
{
    World w = world_new("http");
    int fd = connect_via(&w, 0, 443);
    char data[8];

    fx_fails(fx_send(w.fx, 0, "CONNECT evil.test:443", 21), EAGAIN);
    fx_fails(fx_recv(w.fx, 0, data, sizeof(data), 0), EAGAIN);
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, BEYOND), 443),
             EALREADY);
    g_assert_cmpuint(w.fx->sock[0].ready, ==, 0);
    READS(&w, fd, ASKS);
    g_assert_cmpint(recv(fd, data, 1, MSG_DONTWAIT), ==, -1);
    SAYS(fd, "HTTP/1.1 200 OK\r\n\r\n");
    fx_wait(w.fx, 0, VMRPC_OUT);
    /* Nor does another connect() begin a connection without a handshake. */
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, BEYOND), 443),
             EISCONN);
    assert_open(&w, 0, fd);
    close(fd);
    world_free(&w);
}

/* shutdown() ends it: nothing but a new connect() begins another. */
static void test_shut(void)
{
    World w = world_new("http");
    char octet;
    int fd;

    for (int how = 0; how < 3; how++) {
        fd = connect_via(&w, how, 443);
        READS(&w, fd, ASKS);
        fx_shut_connecting(w.fx, how, how);
        g_assert_cmpint(recv(fd, &octet, 1, 0), <=, 0);
        close(fd);
        fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, how, fx_map(w.fx, BEYOND),
                            443), EINPROGRESS);
        fd = accept(w.listener, NULL, NULL);
        READS(&w, fd, ASKS);
        SAYS(fd, "HTTP/1.1 200 OK\r\n\r\n");
        fx_wait(w.fx, how, VMRPC_OUT);
        assert_open(&w, how, fd);
        close(fd);
    }
    g_assert_cmpuint(fx_counters(w.fx)->proxied_failed, ==, 0);
    world_free(&w);
}

/* SO_PEEK_OFF changes what a look shows: the guest gains nothing. */
static void test_peek_offset(void)
{
    World w = world_new("socks5");
    int fd = connect_via(&w, 0, 443), offset = 2;

    READS(&w, fd, "\5\1\0");
    if (setsockopt(w.fx->srv->socks[0]->fd, SOL_SOCKET, SO_PEEK_OFF, &offset,
                   sizeof(offset)) < 0) {
        g_test_skip("no SO_PEEK_OFF of streams");
    } else {
        SAYS(fd, "\5\377\5\0");
        g_assert_cmpint(fx_wait_error(w.fx, 0), !=, 0);
        fx_fails(fx_send(w.fx, 0, "x", 1), EPIPE);
    }
    close(fd);
    world_free(&w);
}

static void test_refused(void)
{
    World w = world_new("http");
    int fd = connect_via(&w, 0, 443);
    char octet;

    READS(&w, fd, ASKS);
    SAYS(fd, "HTTP/1.1 403 Forbidden\r\n\r\n");
    g_assert_cmpint(fx_wait_error(w.fx, 0), ==, EACCES);
    /* The connection has gone, and the guest has no way to the proxy. */
    fx_fails(fx_send(w.fx, 0, "x", 1), EPIPE);
    g_assert_cmpint(recv(fd, &octet, 1, 0), <=, 0);
    close(fd);
    /* The socket may try again. */
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, BEYOND), 443),
             EINPROGRESS);
    fd = accept(w.listener, NULL, NULL);
    READS(&w, fd, ASKS);
    SAYS(fd, "HTTP/1.1 200 OK\r\n\r\n");
    fx_wait(w.fx, 0, VMRPC_OUT);
    assert_open(&w, 0, fd);
    g_assert_cmpuint(fx_counters(w.fx)->proxied_failed, ==, 1);
    close(fd);
    world_free(&w);
}

static void test_gone(void)
{
    World w = world_new("socks5");
    int fd = connect_via(&w, 0, 443);

    READS(&w, fd, "\5\1\0");
    close(fd);
    g_assert_cmpint(fx_wait_error(w.fx, 0), ==, ECONNRESET);
    world_free(&w);
}

/* Nobody listens there: never directly in its place. */
static void test_no_proxy(void)
{
    World w = world_new("socks5");

    close(w.listener);
    w.listener = dup(0);
    fx_ok(fx_socket(w.fx, 0, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, BEYOND), 443),
             EINPROGRESS);
    g_assert_cmpint(fx_wait_error(w.fx, 0), ==, ECONNREFUSED);
    world_free(&w);
}

/* The guest closes the socket before the proxy has agreed. */
static void test_closed(void)
{
    World w = world_new("socks5");
    int fd = connect_via(&w, 0, 443);

    READS(&w, fd, "\5\1\0");
    fx_ok(fx_op(w.fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpint(recv(fd, &(char) { 0 }, 1, 0), <=, 0);
    close(fd);
    world_free(&w);
}

/* connect(AF_UNSPEC) gives up a handshake. */
static void test_dissolved(void)
{
    World w = world_new("socks5");
    int fd = connect_via(&w, 0, 443);

    fx_ok(fx_op(w.fx, VMRPC_CONNECT, 0, 0, 0));
    READS(&w, fd, "");
    fx_fails(fx_send(w.fx, 0, "x", 1), EPIPE);
    fx_fails(fx_addr_op(w.fx, VMRPC_CONNECT, 0, fx_map(w.fx, BEYOND), 80),
             EACCES);
    close(fd);
    world_free(&w);
}

/* --- budgets ------------------------------------------------------------ */

static void test_sent_stream(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host sent 10/h\n" });
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    char data[16];
    FxReply r;

    r = fx_send(fx, 0, "0123", 4);
    g_assert_cmpuint(r.value, ==, 4);
    /* As much as is left, then nothing. */
    r = fx_send(fx, 0, "456789abc", 9);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 6);
    fx_fails(fx_send(fx, 0, "abc", 3), EACCES);
    peer_read(fd, data, 10);
    g_assert_cmpmem(data, 10, "0123456789", 10);
    g_assert_cmpuint(fx_counters(fx)->sends_refused_budget, ==, 1);
    /* The stream lives; the other direction is free. */
    g_assert_cmpint(send(fd, "abc", 3, 0), ==, 3);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx_recv(fx, 0, data, sizeof(data), 0).value, ==, 3);
    /* It is the rule's budget: another socket has none either. */
    close(fd);
    fd = fx_connect_stream(fx, 1, listener, port);
    fx_fails(fx_send(fx, 1, "x", 1), EACCES);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_sent_datagrams(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host sent 10/h\n" });
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "012345", 6));
    /* A datagram goes whole or not at all. */
    fx_fails(fx_sendto(fx, 0, fx->peer4, port, "012345", 6), EACCES);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    fx_fails(fx_send(fx, 0, "012345", 6), EACCES);
    fx_ok(fx_send(fx, 0, "012", 3));
    /* Where an empty one goes says something, too. */
    fx_ok(fx_send(fx, 0, NULL, 0));
    fx_fails(fx_send(fx, 0, "0", 1), EACCES);
    fx_fails(fx_send(fx, 0, NULL, 0), EACCES);
    close(peer);
    fx_free(fx);
}

/* What the host does not take costs nothing. */
static void test_sent_is_given_back(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host sent 64M/h\n" });
    g_autofree char *data = g_malloc0(1 << 20);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    uint64_t sent = 0;
    FxReply r;

    do {
        r = fx_send(fx, 0, data, 1 << 20);
        sent += r.error ? 0 : r.value;
    } while (!r.error);
    g_assert_cmpint(r.error, ==, EAGAIN);
    vmrpc_lock(fx->srv);
    g_assert_cmpuint(fx->srv->socks[0]->terms->sent->spent, ==, sent);
    vmrpc_unlock(fx->srv);
    close(fd);
    close(listener);
    fx_free(fx);
}

/*
 * A stream keeps its terms: to connect once more, to where there are none, does
 * not lift them.
 */
static void test_terms_stay_with_stream(void)
{
    g_autofree char *policy = NULL;
    uint16_t port, free_port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int other = peer_socket(SOCK_STREAM, &free_port), fd;
    Fx *fx;

    policy = g_strdup_printf("allow host tcp %u sent 4/h\nallow host\n", port);
    fx = fx_new(&(FxOptions) { .policy = policy });
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    fd = accept(listener, NULL, NULL);
    fx_wait(fx, 0, VMRPC_OUT);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, free_port), EISCONN);
    g_assert_cmpuint(fx_send(fx, 0, "012345", 6).value, ==, 4);
    fx_fails(fx_send(fx, 0, "45", 2), EACCES);
    close(fd);
    close(listener);
    close(other);
    fx_free(fx);
}

static void test_names(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow *.test names 2/h\n" });
    VmrpcTerms *terms = vmrpc_terms_new();

    terms->names = vmrpc_hourly_new(2);
    vmrpc_lock(fx->srv);
    g_assert_cmpint(vmrpc_budget_name(fx->srv, terms, "a.test", 1), ==, 0);
    g_assert_cmpint(vmrpc_budget_name(fx->srv, terms, "A.test", 1), ==, 0);
    g_assert_cmpint(vmrpc_budget_name(fx->srv, terms, "b.test", 1), ==, 0);
    g_assert_cmpint(vmrpc_budget_name(fx->srv, terms, "c.test", 1), ==,
                    -EACCES);
    g_assert_cmpint(vmrpc_budget_name(fx->srv, terms, "a.test", 1), ==, 0);
    vmrpc_unlock(fx->srv);
    g_assert_cmpuint(fx_counters(fx)->queries_refused_budget, ==, 1);
    vmrpc_terms_unref(terms);
    fx_free(fx);
}

/* --- budgets across a migration ------------------------------------------- */

#define BUDGETS "allow host sent 10/h\n" \
                "allow *.test udp names 3/h sent 5/h\n"

static VmrpcTerms *terms_of(Fx *fx, unsigned statement)
{
    return g_array_index(fx->srv->reach.policy->hits, VmrpcPolicyHits,
                         statement).terms;
}

/* A server with BUDGETS, of which 4 octets and 2 names are spent */
static Fx *fx_with_spent(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = BUDGETS });
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    g_assert_null(vmrpc_server_save_budgets(fx->srv));
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "0123", 4));
    vmrpc_lock(fx->srv);
    for (const char *name = "ab"; *name; name++) {
        char text[] = { *name, '.', 't', 'e', 's', 't', 0 };

        g_assert_cmpint(vmrpc_budget_name(fx->srv, terms_of(fx, 1), text, 2),
                        ==, 0);
    }
    vmrpc_unlock(fx->srv);
    close(peer);
    return fx;
}

static GBytes *saved_of(Fx *fx)
{
    GBytes *saved = vmrpc_server_save_budgets(fx->srv);

    g_assert_nonnull(saved);
    return saved;
}

/* A guest that moves does not have its budgets again, nor its names less. */
static void test_migrated(void)
{
    Fx *from = fx_with_spent(), *to = fx_new(&(FxOptions) {
        .policy = "allow *.other names 1/h\n" BUDGETS });
    g_autoptr(GBytes) saved = saved_of(from);
    int64_t began = terms_of(from, 0)->sent->began_us;
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    g_assert_true(vmrpc_server_restore_budgets(to->srv, saved));
    g_assert_cmpint(ABS(terms_of(to, 1)->sent->began_us - began), <, 60000000);
    fx_ok(fx_socket(to, 0, 1, SOCK_DGRAM));
    fx_fails(fx_sendto(to, 0, to->peer4, port, "0123456", 7), EACCES);
    fx_ok(fx_sendto(to, 0, to->peer4, port, "012345", 6));
    vmrpc_lock(to->srv);
    g_assert_cmpint(vmrpc_budget_name(to->srv, terms_of(to, 2), "b.test", 3),
                    ==, 0);
    g_assert_cmpint(vmrpc_budget_name(to->srv, terms_of(to, 2), "c.test", 3),
                    ==, 0);
    g_assert_cmpint(vmrpc_budget_name(to->srv, terms_of(to, 2), "d.test", 3),
                    ==, -EACCES);
    vmrpc_unlock(to->srv);
    /* Of that rule nothing was sent. */
    g_assert_cmpuint(terms_of(to, 2)->sent->spent, ==, 0);
    close(peer);
    fx_free(from);
    fx_free(to);
}

/* Rules with other words, and hours that are over, have all of theirs. */
static void test_migrated_anew(void)
{
    Fx *from = fx_with_spent(), *to = fx_new(&(FxOptions) {
        .policy = "allow host sent 11/h\nallow *.test udp names 3/h\n" });
    Fx *free = fx_new(&(FxOptions) { });
    g_autoptr(GBytes) saved = saved_of(from);

    g_assert_true(vmrpc_server_restore_budgets(to->srv, saved));
    g_assert_cmpuint(terms_of(to, 0)->sent->spent, ==, 0);
    g_assert_cmpuint(terms_of(to, 1)->names->spent, ==, 0);
    g_assert_true(vmrpc_server_restore_budgets(free->srv, saved));
    terms_of(from, 0)->sent->began_us -= VMRPC_HOUR_US;
    terms_of(from, 1)->names->began_us -= VMRPC_HOUR_US;
    g_assert_null(vmrpc_server_save_budgets(from->srv));
    fx_free(from);
    fx_free(to);
    fx_free(free);
}

/* So many names that they stay behind are counted again. */
static void test_migrated_names_left(void)
{
    enum { RULES = 3, NAMES = 9000 };
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GBytes) saved = NULL;
    Fx *from, *to;

    for (unsigned i = 0; i < RULES; i++) {
        g_string_append_printf(text, "allow *.r%u.test names 10000/h\n", i);
    }
    from = fx_new(&(FxOptions) { .policy = text->str });
    to = fx_new(&(FxOptions) { .policy = text->str });
    for (unsigned i = 0; i < RULES * NAMES; i++) {
        g_autofree char *name = g_strdup_printf("n%u.test", i);

        g_assert_true(vmrpc_hourly_take_name(terms_of(from, i % RULES)->names,
                                             name, g_get_monotonic_time()));
    }
    saved = saved_of(from);
    g_assert_true(vmrpc_server_restore_budgets(to->srv, saved));
    for (unsigned i = 0; i < RULES; i++) {
        const VmrpcHourly *names = terms_of(to, i)->names;

        g_assert_cmpuint(names->spent, ==, NAMES);
        g_assert_cmpuint(names->names ? g_hash_table_size(names->names) : 0, ==,
                         (i + 1) * NAMES <= VMRPC_SAVED_BUDGET_NAMES_MAX
                         ? NAMES : 0);
    }
    fx_free(from);
    fx_free(to);
}

/* Whatever comes: no budget is exceeded, and no octet is read beside. */
static void test_migrated_nonsense(void)
{
    Fx *from = fx_with_spent(), *to = fx_new(&(FxOptions) {
        .policy = BUDGETS });
    g_autoptr(GBytes) saved = saved_of(from);
    gsize len;
    const uint8_t *octets = g_bytes_get_data(saved, &len);

    for (gsize at = 0; at < len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            g_autofree uint8_t *copy = g_memdup2(octets, len);
            g_autoptr(GBytes) bad = NULL, cut = NULL;

            copy[at] ^= 1u << bit;
            bad = g_bytes_new(copy, len);
            cut = g_bytes_new(copy, at);
            vmrpc_server_restore_budgets(to->srv, bad);
            vmrpc_server_restore_budgets(to->srv, cut);
            for (unsigned i = 0; i < 2; i++) {
                const VmrpcTerms *terms = terms_of(to, i);

                g_assert_cmpuint(terms->sent->spent, <=, terms->sent->most);
                g_assert_true(!terms->names || terms->names->spent <= 3);
            }
        }
    }
    /* More than there is, of a budget with the same words */
    terms_of(from, 0)->sent->spent = 11;
    {
        g_autoptr(GBytes) more = saved_of(from);

        g_assert_false(vmrpc_server_restore_budgets(to->srv, more));
    }
    fx_free(from);
    fx_free(to);
}

/* --- limits of octets --------------------------------------------------- */

/* The guest waits without an error, and hears when it may go on. */
static void test_limit_sent(void)
{
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "allow host\nlimit sent 1M/s burst 1K\n",
    });
    g_autofree char *data = g_malloc0(100000);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    int64_t begin = g_get_monotonic_time();
    FxReply r;

    r = fx_send(fx, 0, data, 100000);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 100000);
    r = fx_send(fx, 0, data, 1);
    fx_fails(r, EAGAIN);
    g_assert_cmpuint(r.ready & VMRPC_OUT, ==, 0);
    fx_wait(fx, 0, VMRPC_OUT);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 90000);
    fx_ok(fx_send(fx, 0, data, 1));
    g_assert_cmpuint(fx_counters(fx)->throttled, ==, 1);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_limit_received(void)
{
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "allow host\nlimit received 1M/s burst 1K\n",
    });
    g_autofree char *data = g_malloc0(50000);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    size_t got = 0;
    unsigned waits = 0;

    g_assert_cmpint(send(fd, data, 50000, 0), ==, 50000);
    fx_wait(fx, 0, VMRPC_IN);
    while (got < 50000) {
        FxReply r = fx_recv(fx, 0, data, 20000, 0);

        if (r.error) {
            fx_fails(r, EAGAIN);
            waits++;
            fx_wait(fx, 0, VMRPC_IN);
            continue;
        }
        got += r.value;
    }
    g_assert_cmpuint(waits, >=, 2);
    /* Sending is free. */
    fx_ok(fx_send(fx, 0, data, 20000));
    fx_ok(fx_send(fx, 0, data, 20000));
    close(fd);
    close(listener);
    fx_free(fx);
}

/* A datagram that is looked at and thrown away was received as a whole. */
static void test_limit_received_peeked(void)
{
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "allow host\nlimit received 1K/s burst 1K\n",
    });
    char data[1000] = { };
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    struct sockaddr_in6 to;
    socklen_t len = sizeof(to);
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "x", 1));
    g_assert_cmpint(recvfrom(peer, data, 1, 0, (struct sockaddr *)&to, &len),
                    ==, 1);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(sendto(peer, data, sizeof(data), 0,
                               (struct sockaddr *)&to, len), ==, 1000);
    }
    fx_wait(fx, 0, VMRPC_IN);
    for (unsigned i = 0; i < 2; i++) {
        r = fx_recv(fx, 0, data, sizeof(data), MSG_PEEK);
        g_assert_cmpuint(r.value, ==, 1000);
        r = fx_recv(fx, 0, NULL, 0, 0);
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, 0);
        g_assert_cmpuint(r.msg_flags & fx_le(MSG_TRUNC), !=, 0);
    }
    fx_fails(fx_recv(fx, 0, data, sizeof(data), MSG_PEEK), EAGAIN);
    g_assert_cmpuint(fx_counters(fx)->bytes_received, ==, 2000);
    close(peer);
    fx_free(fx);
}

/* A socket that waits is closed. */
static void test_limit_and_close(void)
{
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "allow host\nlimit sent 1K/s burst 1K\n",
    });
    g_autofree char *data = g_malloc0(100000);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);

    fx_ok(fx_send(fx, 0, data, 100000));
    fx_fails(fx_send(fx, 0, data, 1), EAGAIN);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_true(g_queue_is_empty(&fx->srv->throttled[VMRPC_FLOW_SENT]));
    close(fd);
    close(listener);
    fx_free(fx);
}

/* --- reload ------------------------------------------------------------- */

typedef struct File {
    char *dir, *path;
} File;

static void file_write(const File *f, const char *text)
{
    g_assert_true(g_file_set_contents(f->path, text, -1, NULL));
}

static File file_new(const char *text)
{
    File f = { .dir = g_dir_make_tmp("vmrpc-terms-XXXXXX", NULL) };

    f.path = g_build_filename(f.dir, "p.policy", NULL);
    file_write(&f, text);
    return f;
}

static void file_clear(File *f)
{
    g_unlink(f->path);
    g_rmdir(f->dir);
    g_free(f->path);
    g_free(f->dir);
}

static const char *the_secret;
static unsigned secret_asked;

static char *find_secret(const char *id, GError **errp)
{
    secret_asked++;
    g_assert_cmpstr(id, ==, "web");
    return g_strdup(the_secret);
}

/*
 * The secret is read with the file, in the thread that may.  A change of the
 * file alone uses the one that is known.
 */
static void test_secret(void)
{
    uint16_t port;
    World w = { .listener = peer_socket(SOCK_STREAM, &port) };
    g_autofree char *policy =
        g_strdup_printf("proxy corp http %s %u secret web\n"
                        "allow www.test tcp 443 via corp\n", fx_peer6, port);
    g_autoptr(GError) err = NULL;
    File f = file_new(policy);
    int fd;

    the_secret = "alice:s3cret";
    secret_asked = 0;
    w.fx = fx_new(&(FxOptions) { .policy_path = f.path,
                                 .secret = find_secret });
    asked(w.fx, "www.test", BEYOND);
    fd = connect_via(&w, 0, 443);
    READS(&w, fd, "CONNECT www.test:443 HTTP/1.1\r\nHost: www.test:443\r\n"
                  "Proxy-Authorization: Basic YWxpY2U6czNjcmV0\r\n\r\n");
    close(fd);
    g_assert_cmpuint(secret_asked, ==, 1);
    the_secret = "alice";
    g_assert_false(vmrpc_server_reload_policy(w.fx->srv, &err));
    g_assert_nonnull(strstr(err->message, "proxy corp: secret web: it is not "
                            "'USER:PASSWORD'"));
    g_assert_cmpuint(secret_asked, ==, 2);
    fx_free(w.fx);
    close(w.listener);
    file_clear(&f);
}

/* A new file ends what it refuses, and only that. */
static void test_end_refused(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_new(&(FxOptions) { .policy_path = f.path });
    g_autofree char *policy = NULL;
    uint16_t port, other_port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int other = peer_socket(SOCK_STREAM, &other_port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    int other_fd = fx_connect_stream(fx, 1, other, other_port);
    int client;
    char octet;

    fx_ok(fx_socket(fx, 2, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 2, fx->guest4, 7777));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 2, 5, 0));
    client = peer_connect(SOCK_STREAM, 7777);
    fx_wait(fx, 2, VMRPC_IN);
    fx_ok(fx_accept(fx, 2, 3, 1));

    policy = g_strdup_printf("allow host tcp %u sent 5/h\ndefault deny\n",
                             other_port);
    file_write(&f, policy);
    g_assert_true(vmrpc_server_reload_policy(fx->srv, NULL));
    /* That alone ends nothing. */
    fx_ok(fx_send(fx, 0, "x", 1));
    peer_read(fd, &octet, 1);
    vmrpc_server_end_refused(fx->srv);
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNRESET);
    fx_fails(fx_send(fx, 0, "x", 1), EPIPE);
    g_assert_cmpint(recv(fd, &octet, 1, 0), ==, -1);
    g_assert_cmpint(errno, ==, ECONNRESET);
    /* The other is allowed, and has the new rule's budget. */
    g_assert_cmpuint(fx_send(fx, 1, "0123456", 7).value, ==, 5);
    /* The policy says nothing about those that come in. */
    fx_ok(fx_send(fx, 3, "x", 1));
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 1);
    close(client);
    close(fd);
    close(other_fd);
    close(listener);
    close(other);
    fx_free(fx);
    file_clear(&f);
}

/* A rule with a proxy does not let a direct connection go on. */
static void test_end_what_must_go_another_way(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_new(&(FxOptions) { .policy_path = f.path });
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);

    file_write(&f, "proxy corp http ::1 3128\nallow host tcp via corp\n");
    g_assert_true(vmrpc_server_reload_policy(fx->srv, NULL));
    vmrpc_server_end_refused(fx->srv);
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNRESET);
    close(fd);
    close(listener);
    fx_free(fx);
    file_clear(&f);
}

/* What was ended is not judged again. */
static void test_end_proxied(void)
{
    World w = world_new("http");
    int fd = connect_via(&w, 0, 443);

    READS(&w, fd, ASKS);
    SAYS(fd, "HTTP/1.1 200 Connection established\r\n\r\n");
    fx_wait(w.fx, 0, VMRPC_OUT);
    assert_open(&w, 0, fd);
    fx_new_rules(w.fx, "default deny\n");
    for (unsigned i = 0; i < 2; i++) {
        vmrpc_server_end_refused(w.fx->srv);
        g_assert_cmpuint(fx_counters(w.fx)->connections_ended, ==, 1);
    }
    g_assert_cmpint(fx_wait_error(w.fx, 0), ==, ECONNRESET);
    close(fd);
    world_free(&w);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/terms/via/http", test_http);
    g_test_add_func("/vmrpc/terms/via/socks", test_socks);
    g_test_add_func("/vmrpc/terms/via/by-address", test_by_address);
    g_test_add_func("/vmrpc/terms/via/name-asked-last", test_name_asked_last);
    g_test_add_func("/vmrpc/terms/via/says-what-the-proxy-heard",
                    test_says_what_the_proxy_heard);
    g_test_add_func("/vmrpc/terms/via/guest-cannot-speak-to-proxy",
                    test_guest_cannot_speak_to_proxy);
    g_test_add_func("/vmrpc/terms/via/shut", test_shut);
    g_test_add_func("/vmrpc/terms/via/peek-offset", test_peek_offset);
    g_test_add_func("/vmrpc/terms/via/refused", test_refused);
    g_test_add_func("/vmrpc/terms/via/gone", test_gone);
    g_test_add_func("/vmrpc/terms/via/no-proxy", test_no_proxy);
    g_test_add_func("/vmrpc/terms/via/closed", test_closed);
    g_test_add_func("/vmrpc/terms/via/dissolved", test_dissolved);
    g_test_add_func("/vmrpc/terms/sent/stream", test_sent_stream);
    g_test_add_func("/vmrpc/terms/sent/datagrams", test_sent_datagrams);
    g_test_add_func("/vmrpc/terms/sent/given-back", test_sent_is_given_back);
    g_test_add_func("/vmrpc/terms/sent/stays", test_terms_stay_with_stream);
    g_test_add_func("/vmrpc/terms/names", test_names);
    g_test_add_func("/vmrpc/terms/migrated", test_migrated);
    g_test_add_func("/vmrpc/terms/migrated/anew", test_migrated_anew);
    g_test_add_func("/vmrpc/terms/migrated/names-left",
                    test_migrated_names_left);
    g_test_add_func("/vmrpc/terms/migrated/nonsense", test_migrated_nonsense);
    g_test_add_func("/vmrpc/terms/limit/sent", test_limit_sent);
    g_test_add_func("/vmrpc/terms/limit/received", test_limit_received);
    g_test_add_func("/vmrpc/terms/limit/received-peeked",
                    test_limit_received_peeked);
    g_test_add_func("/vmrpc/terms/limit/close", test_limit_and_close);
    g_test_add_func("/vmrpc/terms/reload/secret", test_secret);
    g_test_add_func("/vmrpc/terms/reload/end-refused", test_end_refused);
    g_test_add_func("/vmrpc/terms/reload/end-proxied", test_end_proxied);
    g_test_add_func("/vmrpc/terms/reload/end-another-way",
                    test_end_what_must_go_another_way);
    return g_test_run();
}
