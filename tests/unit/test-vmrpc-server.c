/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's socket calls, executed on the host against real peers */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fixtures/server-fixture.h"

/* --- streams ------------------------------------------------------------- */

static void stream_exchange(size_t cut)
{
    Fx *fx = fx_new_default();
    char buf[100] = "";
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    FxReply r;
    int fd;

    fx->cut = cut;
    fx_ok(fx_socket(fx, 3, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 3, fx->peer4, port);
    fx_fails(r, VMRPC_EINPROGRESS);
    /* the local address is asked for by who wants it */
    g_assert_cmpint(r.addr.sin_family, ==, 0);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 3, 0, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->guest4.s_addr);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    /* a fresh socket is ready for HUP, this one is not */
    g_assert_cmphex(r.ready & VMRPC_HUP, ==, 0);
    fx_wait(fx, 3, VMRPC_OUT);
    g_assert_cmphex(fx->sock[3].ready, ==, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);

    r = fx_send(fx, 3, "hello, peer", 11);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 11);
    peer_read(fd, buf, 11);
    g_assert_cmpmem(buf, 11, "hello, peer", 11);

    r = fx_recv(fx, 3, buf, sizeof(buf), 0);
    fx_fails(r, VMRPC_EAGAIN);
    g_assert_cmpint(send(fd, "hello, guest", 12, 0), ==, 12);
    fx_wait(fx, 3, VMRPC_IN);
    r = fx_recv(fx, 3, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 12);
    g_assert_cmpint(r.ret, ==, sizeof(struct vmrpc_resp) + 12);
    g_assert_cmpmem(buf, 12, "hello, guest", 12);
    /* drained: told in the response */
    g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    g_assert_cmpuint(fx_counters(fx)->bytes_sent, ==, 11);
    g_assert_cmpuint(fx_counters(fx)->bytes_received, ==, 12);

    close(fd);
    fx_wait(fx, 3, VMRPC_IN | VMRPC_RDHUP);
    r = fx_recv(fx, 3, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 3, 0, 0));
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    close(listener);
    fx_free(fx);
}

static void test_stream(void)
{
    stream_exchange(0);
}

/* Header, response and data split over descriptors in any way. */
static void test_split(void)
{
    static const size_t cuts[] = { 1, 3, 7, 39, 40, 41 };

    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
        stream_exchange(cuts[i]);
    }
}

static void test_refused(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    uint32_t events;
    FxReply r;
    int fd;

    close(listener);
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    /* over loopback the refusal may be there before connect() is back */
    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
        g_assert_cmphex(fx->sock[0].ready & VMRPC_HUP, !=, 0);
        g_assert_cmphex(fx->sock[0].ready & VMRPC_ERR, ==, 0);
    } else {
        fx_fails(r, ECONNREFUSED);
    }
    events = fx->sock[0].events;
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events);
    g_assert_cmpuint(fx->sock[0].so_errors, <=, 1);

    /* The program may try again with the same socket. */
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    listener = peer_socket(SOCK_STREAM, &port);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port), EINPROGRESS);
    fx_wait(fx, 0, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    fx_ok(fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0));
    close(fd);
    close(listener);
    fx_free(fx);
}

/* A client that failed becomes a server: bind() gives it a port. */
static void test_refused_then_bound(void)
{
    Fx *fx = fx_new_default();
    uint16_t port, own;
    FxReply r;

    close(peer_socket(SOCK_STREAM, &port));
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    if (r.error == EINPROGRESS) {
        g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
    }
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    fx_ok(r);
    own = ntohs(r.addr.sin_port);
    g_assert_cmpuint(own, !=, 0);
    r = fx_op(fx, VMRPC_LISTEN, 0, 1, 0);
    fx_ok(r);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, own);
    fx_free(fx);
}

static void test_reset_by_peer(void)
{
    Fx *fx = fx_new_default();
    char buf[10];
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    FxReply r;

    peer_close_reset(fx_connect_stream(fx, 0, listener, port));
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNRESET);
    g_assert_cmphex(fx->sock[0].ready & (VMRPC_HUP | VMRPC_IN), ==,
                    VMRPC_HUP | VMRPC_IN);
    g_assert_cmphex(fx->sock[0].ready & VMRPC_ERR, ==, 0);
    /* told once: it belongs to the guest now */
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_fails(fx_send(fx, 0, "x", 1), EPIPE);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].so_errors, ==, 1);
    close(listener);
    fx_free(fx);
}

static void test_shutdown(void)
{
    Fx *fx = fx_new_default();
    char buf[10];
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    FxReply r;

    fx_fails(fx_op(fx, VMRPC_SHUTDOWN, 0, 3, 0), EINVAL);
    fx_fails(fx_op(fx, VMRPC_SHUTDOWN, 0, UINT32_MAX, 0), EINVAL);

    /* our half: the peer sees the end, and can still send */
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
    peer_await(fd);
    g_assert_cmpint(recv(fd, buf, sizeof(buf), 0), ==, 0);
    fx_fails(fx_send(fx, 0, "x", 1), EPIPE);
    g_assert_cmpint(send(fd, "late", 4, 0), ==, 4);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmphex(fx->sock[0].ready & (VMRPC_RDHUP | VMRPC_HUP), ==, 0);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    g_assert_cmpuint(r.value, ==, 4);

    /* the peer's half */
    shutdown(fd, SHUT_WR);
    fx_wait(fx, 0, VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP);
    close(fd);

    /* reading half */
    fd = fx_connect_stream(fx, 1, listener, port);
    r = fx_op(fx, VMRPC_SHUTDOWN, 1, SHUT_RD, 0);
    fx_ok(r);
    g_assert_cmphex(r.ready & (VMRPC_IN | VMRPC_RDHUP), ==,
                    VMRPC_IN | VMRPC_RDHUP);
    r = fx_recv(fx, 1, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_listen(void)
{
    Fx *fx = fx_new_default();
    struct in_addr any = { };
    char buf[10];
    FxReply r;
    int fd;
    uint16_t port;

    fx_ok(fx_socket(fx, 0, 7, SOCK_STREAM));
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    fx_assert_addr(&r, any, 0);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx_ip4("192.0.2.1"), 0),
             EADDRNOTAVAIL);
    fx_fails(fx_op(fx, VMRPC_BIND, 0, 0, 0), EAFNOSUPPORT);
    fx_fails(fx_accept(fx, 0, 1, 1), EINVAL);
    r = fx_addr_op(fx, VMRPC_BIND, 0, any, 0);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    g_assert_cmpuint(port, !=, 0);
    fx_assert_addr(&r, any, port);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, any, 0), EINVAL);
    r = fx_op(fx, VMRPC_LISTEN, 0, UINT32_MAX, 0);
    fx_ok(r);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, port);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_ACCEPTCONN), ==,
                    1);
    fx_fails(fx_accept(fx, 0, 1, 1), EAGAIN);
    /* another may not have the port */
    fx_ok(fx_socket(fx, 5, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 5, fx->guest4, port), EADDRINUSE);

    fd = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_fails(fx_accept(fx, 0, 0, 8), EEXIST);
    fx_fails(fx_accept(fx, 0, 5, 8), EEXIST);
    fx_fails(fx_accept(fx, 0, FX_HANDLES, 8), EBADF);
    fx_fails(fx_accept(fx, 0, UINT32_MAX, 8), EBADF);
    r = fx_accept(fx, 0, 1, 9);
    fx_ok(r);
    g_assert_cmphex(r.value, ==, VMRPC_OUT);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx_peer4(fx).s_addr);

    r = fx_op(fx, VMRPC_GETPEERNAME, 1, 0, 0);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx_peer4(fx).s_addr);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 1, 0, 0);
    fx_assert_addr(&r, fx->guest4, port);
    g_assert_cmpint(send(fd, "hi", 2, 0), ==, 2);
    fx_wait(fx, 1, VMRPC_IN);
    g_assert_cmpuint(fx_recv(fx, 1, buf, 2, 0).value, ==, 2);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 1, any, 0), EINVAL);
    close(fd);

    /* shut down or dissolved, it listens no more */
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_RDWR, 0));
    fx_fails(fx_accept(fx, 0, 2, 1), EINVAL);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 1, 0));
    fx_fails(fx_accept(fx, 0, 2, 1), EAGAIN);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    fx_fails(fx_accept(fx, 0, 2, 1), EINVAL);
    /* listen without bind: on the VM's address only */
    fx_ok(fx_socket(fx, 6, 1, SOCK_STREAM));
    r = fx_op(fx, VMRPC_LISTEN, 6, 5, 0);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->guest4.s_addr);
    close(peer_connect(SOCK_STREAM, ntohs(r.addr.sin_port)));
    /* and not with datagrams */
    fx_ok(fx_socket(fx, 7, 1, SOCK_DGRAM));
    fx_fails(fx_op(fx, VMRPC_LISTEN, 7, 5, 0), EOPNOTSUPP);
    fx_free(fx);
}

/* Without an address of its own a VM cannot serve. */
static void test_no_address6(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\nallow ::1\n",
                                   .no_address6 = true });
    struct in_addr any = { };
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    char buf[8];

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, any, 80), EADDRNOTAVAIL);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, any, 0), EADDRNOTAVAIL);
    fx_fails(fx_op(fx, VMRPC_LISTEN, 0, 1, 0), EADDRNOTAVAIL);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->guest4, 80),
             EADDRNOTAVAIL);
    /* but a client needs none */
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 1, any, 0));
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 1, any, 0), EINVAL);
    fx_ok(fx_sendto(fx, 1, fx->peer4, port, "x", 1));
    peer_read(peer, buf, 1);
    close(peer);
    fx_free(fx);
}

/* --- handles and readiness ----------------------------------------------- */

static void test_generations(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 2, listener, port);
    struct vmrpc_req old;
    struct vmrpc_event ev;

    fx_fails(fx_op(fx, VMRPC_SOCKET, 2, SOCK_STREAM, 0), EEXIST);
    /* data of the old one is there, unfetched, when the handle changes */
    g_assert_cmpint(send(fd, "old", 3, 0), ==, 3);
    while (!vmrpc_server_has_event(fx->srv)) {
        vmrpc_server_process(fx->srv);
    }
    fx_ok(fx_op(fx, VMRPC_CLOSE, 2, 0, 0));
    g_assert_false(vmrpc_server_has_event(fx->srv));
    old = fx_req(fx, VMRPC_GETSOCKNAME, 2);
    fx_fails(fx_call(fx, &old, NULL, 0, NULL, 0), EBADF);
    fx_ok(fx_socket(fx, 2, 2, SOCK_STREAM));
    vmrpc_server_process(fx->srv);
    while (vmrpc_server_next_event(fx->srv, &ev)) {
        g_assert_cmpuint(GUINT32_FROM_LE(ev.gen), ==, 2);
        g_assert_cmphex(GUINT32_FROM_LE(ev.ready) & VMRPC_IN, ==, 0);
    }
    g_assert_cmpint(fx_call(fx, &old, NULL, 0, NULL, 0).error, ==, EBADF);
    fx_fails(fx_op(fx, VMRPC_CLOSE, FX_HANDLES, 0, 0), EBADF);
    fx_fails(fx_op(fx, VMRPC_CLOSE, UINT32_MAX, 0, 0), EBADF);
    fx_fails(fx_op(fx, VMRPC_SOCKET, FX_HANDLES, SOCK_STREAM, 0), EBADF);
    fx_fails(fx_op(fx, VMRPC_SOCKET, UINT32_MAX, SOCK_STREAM, 0), EBADF);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_events(void)
{
    Fx *fx = fx_new_default();
    char buf[4];
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    unsigned events = fx->sock[0].events;
    FxReply r;

    g_assert_cmpint(send(fd, "1234", 4, 0), ==, 4);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    /* more of the same: the guest knows */
    g_assert_cmpint(send(fd, "5678", 4, 0), ==, 4);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    /* half of it read: still ready, and no event */
    r = fx_recv(fx, 0, buf, 4, 0);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 1);
    r = fx_recv(fx, 0, buf, 4, 0);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    /* the next byte makes an event again */
    g_assert_cmpint(send(fd, "9", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx->sock[0].events, ==, events + 2);
    fx_ok(fx_recv(fx, 0, buf, 4, 0));

    /* an event that a response overtakes is not sent */
    g_assert_cmpint(send(fd, "0", 1, 0), ==, 1);
    while (!vmrpc_server_has_event(fx->srv)) {
        vmrpc_server_process(fx->srv);
    }
    fx_ok(fx_recv(fx, 0, buf, 4, 0));
    g_assert_false(vmrpc_server_has_event(fx->srv));

    /* urgent data */
    g_assert_cmpint(send(fd, "!", 1, MSG_OOB), ==, 1);
    fx_wait(fx, 0, VMRPC_PRI);
    r = fx_op(fx, VMRPC_IOCTL, 0, SIOCATMARK, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 1);
    r = fx_recv(fx, 0, buf, 1, MSG_OOB);
    fx_ok(r);
    g_assert_cmpint(buf[0], ==, '!');
    close(fd);
    close(listener);
    fx_free(fx);
}

/* Several sockets at once, closed out of order with events pending. */
static void test_event_queue(void)
{
    enum { N = 6 };
    Fx *fx = fx_new_default();
    struct vmrpc_event ev;
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    uint32_t seen = 0;
    int fd[N];

    for (uint32_t i = 0; i < N; i++) {
        fd[i] = fx_connect_stream(fx, i, listener, port);
        g_assert_cmpint(send(fd[i], "x", 1, 0), ==, 1);
    }
    for (uint32_t i = 0; i < N; i++) {
        char c;

        /* wait on the host, without taking the server's events */
        while (fx_recv(fx, i, &c, 1, MSG_PEEK).error) {
            fx_wait_any(fx);
        }
        fx_ok(fx_recv(fx, i, &c, 1, 0));
        g_assert_cmpint(send(fd[i], "y", 1, 0), ==, 1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        vmrpc_server_process(fx->srv);
    }
    g_assert_true(vmrpc_server_has_event(fx->srv));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 2, 0, 0));     /* of the middle */
    fx_ok(fx_op(fx, VMRPC_CLOSE, N - 1, 0, 0)); /* the last */
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));     /* the first */
    while (vmrpc_server_next_event(fx->srv, &ev)) {
        seen |= 1u << GUINT32_FROM_LE(ev.sock);
    }
    g_assert_cmphex(seen, ==, 1 << 1 | 1 << 3 | 1 << 4);
    for (uint32_t i = 0; i < N; i++) {
        close(fd[i]);
    }
    close(listener);
    fx_free(fx);
}

static void test_backpressure(void)
{
    static char data[256 * 1024];
    Fx *fx = fx_new_default();
    uint32_t size = fx_le(4096);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    uint64_t sent = 0, got = 0;
    unsigned events;
    FxReply r;

    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_SNDBUF, &size, 4));
    do {
        r = fx_send(fx, 0, data, sizeof(data));
        sent += r.error ? 0 : r.value;
    } while (!r.error);
    fx_fails(r, EAGAIN);
    g_assert_cmphex(r.ready & VMRPC_OUT, ==, 0);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCOUTQ, 0).value, >, 0);
    events = fx->sock[0].events;
    while (got < sent) {
        ssize_t n = recv(fd, data, sizeof(data), 0);

        g_assert_cmpint(n, >, 0);
        got += n;
    }
    fx_wait(fx, 0, VMRPC_OUT);
    g_assert_cmpuint(fx->sock[0].events, >, events);
    fx_ok(fx_send(fx, 0, data, 1));
    close(fd);
    close(listener);
    fx_free(fx);
}

/* --- limits -------------------------------------------------------------- */

static const char *refused_by;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    refused_by = refusal->reason;
}

static void test_max_sockets(void)
{
    VmrpcTracer tracer = { .refused = trace_refused };
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\nallow ::1\n",
                                   .max_sockets = 2 });
    FxReply r;
    int fd;

    vmrpc_server_set_tracer(fx->srv, &tracer);
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_op(fx, VMRPC_LISTEN, 0, 4, 0);
    fx_ok(r);
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_fails(fx_socket(fx, 2, 1, SOCK_STREAM), EMFILE);
    g_assert_cmpuint(fx_counters(fx)->sockets_refused_limit, ==, 1);
    g_assert_cmpstr(refused_by, ==, "max-sockets");
    /* a connection waits until there is a place */
    fd = peer_connect(SOCK_STREAM, ntohs(r.addr.sin_port));
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_accept(fx, 0, 1, 2);
    fx_fails(r, EMFILE);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    fx_ok(fx_accept(fx, 0, 1, 2));
    g_assert_cmpuint(fx_counters(fx)->sockets_refused_limit, ==, 2);
    close(fd);
    fx_free(fx);
}

/* The host has no descriptor left, and then has again. */
static void test_host_limit(void)
{
    Fx *fx = fx_new_default();
    struct rlimit old, low;
    FxReply r;
    int fd, peer;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_op(fx, VMRPC_LISTEN, 0, 4, 0);
    peer = peer_connect(SOCK_STREAM, ntohs(r.addr.sin_port));
    fx_wait(fx, 0, VMRPC_IN);

    fd = dup(0);
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &old), ==, 0);
    low = old;
    low.rlim_cur = fd;
    close(fd);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &low), ==, 0);
    fx_fails(fx_socket(fx, 1, 1, SOCK_STREAM), EMFILE);
    r = fx_accept(fx, 0, 1, 1);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &old), ==, 0);

    fx_fails(r, EMFILE);
    g_assert_cmpuint(fx_counters(fx)->sockets_refused_host, ==, 2);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 1);
    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    fx_ok(fx_accept(fx, 0, 2, 1));
    close(peer);
    fx_free(fx);
}

static bool another_reads;      /* what is looked at next, at once */

/* In front of the C library's. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
    ssize_t n = real(fd, msg, flags);

    if (another_reads && n >= 0 && flags & MSG_PEEK) {
        another_reads = false;
        g_assert_cmpint(recv(fd, NULL, 0, MSG_DONTWAIT), ==, 0);
    }
    return n;
}

/* More peers than virtual addresses. */
static void test_pool_full(void)
{
    Fx *fx;
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
    uint16_t port;
    char buf[4];
    FxReply r;
    int fd, udp;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    fx = fx_new(&(FxOptions) { .policy = "allow host\nallow ::1\n",
                               .pool4_prefix = 30 });
    /* one of the two belongs to fx_peer6, the other to this one */
    fx_map(fx, "2001:db8::99");
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_op(fx, VMRPC_LISTEN, 0, 4, 0);
    fx_ok(r);
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    inet_pton(AF_INET6, "2001:db8:64::c633:6405", &sin6.sin6_addr);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==, 0);
    inet_pton(AF_INET6, fx_vm6, &sin6.sin6_addr);
    sin6.sin6_port = r.addr.sin_port;
    g_assert_cmpint(connect(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==,
                    0);
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_accept(fx, 0, 1, 1);
    fx_fails(r, EAGAIN);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    g_assert_cmpuint(fx_counters(fx)->dropped_pool_full, ==, 1);
    g_assert_cmpint(recv(fd, buf, 1, 0), <=, 0);
    close(fd);

    /* datagrams: the stranger's is dropped, the known peer's arrives */
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 2, fx->guest4, 0);
    port = ntohs(r.addr.sin_port);
    fd = socket(AF_INET6, SOCK_DGRAM, 0);
    sin6.sin6_port = 0;
    inet_pton(AF_INET6, "2001:db8:64::c633:6405", &sin6.sin6_addr);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==, 0);
    inet_pton(AF_INET6, fx_vm6, &sin6.sin6_addr);
    sin6.sin6_port = htons(port);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(sendto(fd, "bad", 3, 0, (struct sockaddr *)&sin6,
                               sizeof(sin6)), ==, 3);
    }
    udp = peer_connect(SOCK_DGRAM, port);
    g_assert_cmpint(send(udp, "good", 4, 0), ==, 4);
    fx_wait(fx, 2, VMRPC_IN);
    r = fx_recv(fx, 2, buf, 4, MSG_PEEK);
    fx_ok(r);
    g_assert_cmpmem(buf, 4, "good", 4);
    fx_assert_addr(&r, fx_peer4(fx), ntohs(r.addr.sin_port));
    fx_ok(fx_recv(fx, 2, buf, 4, 0));
    g_assert_cmpuint(fx_counters(fx)->dropped_pool_full, ==, 3);

    /* To look at one that another reader takes meanwhile drops no other. */
    g_assert_cmpint(sendto(fd, "bad", 3, 0, (struct sockaddr *)&sin6,
                           sizeof(sin6)), ==, 3);
    g_assert_cmpint(send(udp, "next", 4, 0), ==, 4);
    fx_wait(fx, 2, VMRPC_IN);
    another_reads = true;
    fx_ok(fx_recv(fx, 2, buf, 4, MSG_PEEK));
    g_assert_false(another_reads);
    g_assert_cmpmem(buf, 4, "next", 4);
    fx_ok(fx_recv(fx, 2, buf, 4, 0));
    close(udp);
    close(fd);
    fx_free(fx);
}

/* --- the whole ----------------------------------------------------------- */

static void test_reset(void)
{
    unsigned before = fx_open_fds();
    Fx *fx = fx_new_default();
    unsigned empty = fx_open_fds();
    VmrpcAddrMapStats stats;
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);

    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_socket(fx, 2, 1, SOCK_STREAM));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 2, 1, 0));
    fx_ok(fx_socket(fx, 3, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 3, fx->resolver4, 53));
    g_assert_cmpint(send(fd, "pending", 7, 0), ==, 7);
    while (!vmrpc_server_has_event(fx->srv)) {
        vmrpc_server_process(fx->srv);
    }
    vmrpc_server_reset(fx->srv);
    g_assert_false(vmrpc_server_has_event(fx->srv));
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    close(fd);
    close(listener);
    g_assert_cmpuint(fx_open_fds(), ==, empty);
    vmrpc_addrmap_stats(vmrpc_server_addrmap(fx->srv), &stats);
    g_assert_cmpuint(stats.in_use, ==, 0);
    g_assert_cmpuint(stats.entries, ==, 1);
    g_assert_cmpuint(fx_counters(fx)->sockets_opened, ==, 4);
    g_assert_cmpuint(fx_counters(fx)->sockets_closed, ==, 4);
    /* it goes on */
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_free(fx);
    g_assert_cmpuint(fx_open_fds(), ==, before);
}

static void test_malformed(void)
{
    Fx *fx = fx_new_default();
    struct vmrpc_req req = fx_req(fx, VMRPC_SOCKET, 0);
    struct vmrpc_resp resp;
    struct iovec out = { &req, sizeof(req) }, in = { &resp, sizeof(resp) };
    g_autofree uint8_t *big = g_malloc0(VMRPC_DATA_MAX + 1);
    uint64_t bad;

    req.u.socket.type = fx_le(SOCK_STREAM);
    /* chains that cannot hold a request: nothing is done */
    g_assert_cmpint(vmrpc_server_call(fx->srv, NULL, 0, NULL, 0, false), ==,
                    -EBADMSG);
    g_assert_cmpint(vmrpc_server_call(fx->srv, &out, 1, NULL, 0, false), ==,
                    -EBADMSG);
    out.iov_len--;
    g_assert_cmpint(vmrpc_server_call(fx->srv, &out, 1, &in, 1, false), ==,
                    -EBADMSG);
    out.iov_len++;
    in.iov_len--;
    g_assert_cmpint(vmrpc_server_call(fx->srv, &out, 1, &in, 1, false), ==,
                    -EBADMSG);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    g_assert_cmpuint(fx_counters(fx)->requests_malformed, ==, 4);
    g_assert_cmpuint(fx_counters(fx)->requests, ==, 0);

    req.reserved = GUINT32_TO_LE(1);
    fx_fails(fx_call(fx, &req, NULL, 0, NULL, 0), EINVAL);
    req.reserved = 0;
    for (unsigned op = 0; op < 0x10000; op += op < 20 ? 1 : 4099) {
        FxReply r;

        if (op >= VMRPC_SOCKET && op <= VMRPC_REFUSED) {
            continue;
        }
        r = fx_op(fx, op, 0, 0, 0);
        fx_fails(r, EOPNOTSUPP);
    }
    bad = fx_counters(fx)->requests_malformed;
    fx_fails(fx_op(fx, VMRPC_SOCKET, 0, SOCK_RAW, 0), EPROTONOSUPPORT);
    fx_fails(fx_op(fx, VMRPC_SOCKET, 0, SOCK_STREAM, IPPROTO_UDP),
             EPROTONOSUPPORT);
    fx_fails(fx_op(fx, VMRPC_SOCKET, 0, SOCK_STREAM | SOCK_NONBLOCK, 0),
             EPROTONOSUPPORT);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    /* ancillary data: too much, more than there is, where there is none */
    req = fx_req(fx, VMRPC_SENDMSG, 0);
    req.control_len = fx_le(VMRPC_CONTROL_MAX + 1);
    fx_fails(fx_call(fx, &req, big, 2000, NULL, 0), EINVAL);
    req.control_len = fx_le(UINT32_MAX);
    fx_fails(fx_call(fx, &req, big, 2000, NULL, 0), EINVAL);
    req.control_len = fx_le(100);
    fx_fails(fx_call(fx, &req, big, 99, NULL, 0), EINVAL);
    req.op = GUINT16_TO_LE(VMRPC_RECVMSG);
    fx_fails(fx_call(fx, &req, big, 100, big, 99), EINVAL);
    req.op = GUINT16_TO_LE(VMRPC_GETSOCKNAME);
    fx_fails(fx_call(fx, &req, big, 100, big, 100), EINVAL);
    req.control_len = 0;
    req.op = GUINT16_TO_LE(VMRPC_SENDMSG);
    fx_fails(fx_call(fx, &req, big, VMRPC_DATA_MAX + 1, NULL, 0), EINVAL);
    req.op = GUINT16_TO_LE(VMRPC_RECVMSG);
    fx_fails(fx_call(fx, &req, NULL, 0, big, VMRPC_DATA_MAX + 1), EINVAL);
    fx_fails(fx_call(fx, &req, NULL, 0, big, VMRPC_DATA_MAX), EAGAIN);
    g_assert_cmpuint(fx_counters(fx)->requests_malformed, ==, bad + 7);
    fx_free(fx);
}

static void test_config(void)
{
    Fx *fx = fx_new_default();
    VmrpcServerConfig config = {
        .reach.guest4 = fx_ip4("127.0.0.1"),
        .reach.resolver4 = fx_ip4(FX_RESOLVER4),
        .max_sockets = 4,
    };
    const char *dns[] = { "nonsense", NULL };
    struct vmrpc_config seen = { };
    g_autoptr(GError) err = NULL;

    vmrpc_server_fill_config(fx->srv, &seen);
    g_assert_cmpuint(GUINT16_FROM_LE(seen.version), ==, VMRPC_VERSION);
    g_assert_cmpuint(GUINT32_FROM_LE(seen.max_sockets), ==, FX_HANDLES);
    g_assert_cmphex(seen.guest4, ==, fx->guest4.s_addr);
    g_assert_cmphex(seen.resolver4, ==, fx->resolver4.s_addr);
    g_assert_cmphex(seen.pool4, ==, fx_ip4(FX_POOL4).s_addr);
    g_assert_cmpuint(seen.pool4_prefix, ==, 16);
    fx_free(fx);

    /* a resolver has no addresses to hand out without translation */
    g_assert_null(vmrpc_server_new(&config, false, &err));
    g_assert_nonnull(strstr(err->message, "resolver4"));
    g_clear_error(&err);
    config.reach.resolver4.s_addr = 0;
    config.reach.guest4 = fx_ip4("192.0.2.1");
    g_assert_null(vmrpc_server_new(&config, false, &err));
    g_assert_nonnull(strstr(err->message, "guest4=192.0.2.1"));
    g_clear_error(&err);
    vmrpc_server_free(vmrpc_server_new(&config, true, &err));
    g_assert_no_error(err);
    config.policy_file = "/nonexistent/policy";
    g_assert_null(vmrpc_server_new(&config, true, &err));
    g_assert_nonnull(strstr(err->message, "policy="));
    g_clear_error(&err);
    config.policy_file = NULL;
    config.reach.translate = true;
    config.reach.pool4 = fx_ip4(FX_POOL4);
    config.reach.pool4_prefix = 40;
    g_assert_null(vmrpc_server_new(&config, true, &err));
    g_assert_nonnull(strstr(err->message, "pool4="));
    g_clear_error(&err);
    config.reach.pool4_prefix = 24;
    config.reach.resolver4 = fx_ip4(FX_RESOLVER4);
    config.dns = dns;
    g_assert_null(vmrpc_server_new(&config, true, &err));
    g_assert_nonnull(strstr(err->message, "nonsense"));
    g_clear_error(&err);
    config.dns = NULL;
    config.reach.resolver4.s_addr = 0;
    config.reach.has_address6 = true;
    inet_pton(AF_INET6, "2001:db8:9::1", &config.reach.address6);
    g_assert_null(vmrpc_server_new(&config, false, &err));
    g_assert_nonnull(strstr(err->message, "address6=2001:db8:9::1"));
    vmrpc_server_free(NULL);
}

/* translate=off: the host side is IPv4. */
static void test_ipv4(void)
{
    Fx *fx = fx_new(&(FxOptions) { .ipv4 = true,
                                   .policy = "allow 127.0.0.0/8\n" });
    struct sockaddr_in sin = { .sin_family = AF_INET,
                               .sin_addr = fx_ip4("127.0.0.2") };
    socklen_t len = sizeof(sin);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    char buf[8];
    FxReply r;

    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin, len), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin, &len), ==, 0);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, sin.sin_addr, ntohs(sin.sin_port), "four", 4));
    g_assert_cmpint(recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&sin,
                             &len), ==, 4);
    g_assert_cmphex(sin.sin_addr.s_addr, ==, fx->guest4.s_addr);
    g_assert_cmpint(sendto(fd, "4", 1, 0, (struct sockaddr *)&sin, len), ==,
                    1);
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx_ip4("127.0.0.2").s_addr);
    fx_fails(fx_try_connect(fx, fx_ip4("169.254.169.254"), SOCK_STREAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 1);
    close(fd);
    fx_free(fx);
}

static void reusing_socket(Fx *fx, uint32_t handle, int type)
{
    uint32_t one = fx_le(1);

    fx_ok(fx_socket(fx, handle, handle + 1, type));
    fx_ok(fx_setsockopt(fx, handle, SOL_SOCKET, SO_REUSEPORT, &one, 4));
}

/* How many of a VM's sockets can have the port, and listen there? */
static unsigned take_port(Fx *fx, int type, unsigned port)
{
    for (uint32_t i = 0; i < 2; i++) {
        reusing_socket(fx, i, type);
        if (fx_addr_op(fx, VMRPC_BIND, i, fx->guest4, port).error ||
            (type == SOCK_STREAM && fx_op(fx, VMRPC_LISTEN, i, 8, 0).error)) {
            return i;
        }
    }
    return 2;
}

static void close_both(Fx *fx)
{
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
}

/*
 * translate=off: VMs of one user have one address.  SO_REUSEPORT shares a port
 * within a VM, not between them.
 */
static void test_ipv4_reuse_port(void)
{
    const FxOptions options = { .ipv4 = true, .policy = "allow 127.0.0.0/8\n" };
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
    Fx *one = fx_new(&options), *other = fx_new(&options);
    uint16_t port;

    close(peer_socket(SOCK_STREAM, &port));
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        g_assert_cmpuint(take_port(one, types[i], port), ==, 2);
        g_assert_cmpuint(take_port(other, types[i], port), ==, 0);
        fx_ok(fx_op(other, VMRPC_CLOSE, 0, 0, 0));
        close_both(one);
        g_assert_cmpuint(take_port(other, types[i], port), ==, 2);
        close_both(other);
    }

    /* Both bound, neither listening yet: the first that listens has it. */
    for (uint32_t i = 0; i < 2; i++) {
        reusing_socket(one, i, SOCK_STREAM);
        reusing_socket(other, i, SOCK_STREAM);
        fx_ok(fx_addr_op(one, VMRPC_BIND, i, one->guest4, port));
        fx_ok(fx_addr_op(other, VMRPC_BIND, i, one->guest4, port));
    }
    fx_ok(fx_op(one, VMRPC_LISTEN, 0, 8, 0));
    fx_ok(fx_op(one, VMRPC_LISTEN, 1, 8, 0));
    fx_fails(fx_op(other, VMRPC_LISTEN, 0, 8, 0), EADDRINUSE);
    fx_fails(fx_op(other, VMRPC_LISTEN, 1, 8, 0), EADDRINUSE);
    fx_free(one);
    fx_free(other);
}

/* Connections of a server that has ended do not keep it from starting again. */
static void test_ipv4_reuse_port_again(void)
{
    Fx *fx = fx_new(&(FxOptions) { .ipv4 = true,
                                   .policy = "allow 127.0.0.0/8\n" });
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = fx->guest4 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    FxReply r;

    reusing_socket(fx, 0, SOCK_STREAM);
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    fx_ok(r);
    to.sin_port = r.addr.sin_port;
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 8, 0));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 1, 2));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    reusing_socket(fx, 2, SOCK_STREAM);
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 2, fx->guest4, ntohs(to.sin_port)));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 2, 8, 0));
    close(fd);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/stream", test_stream);
    g_test_add_func("/vmrpc/server/split", test_split);
    g_test_add_func("/vmrpc/server/refused", test_refused);
    g_test_add_func("/vmrpc/server/refused-then-bound",
                    test_refused_then_bound);
    g_test_add_func("/vmrpc/server/reset-by-peer", test_reset_by_peer);
    g_test_add_func("/vmrpc/server/shutdown", test_shutdown);
    g_test_add_func("/vmrpc/server/listen", test_listen);
    g_test_add_func("/vmrpc/server/no-address6", test_no_address6);
    g_test_add_func("/vmrpc/server/generations", test_generations);
    g_test_add_func("/vmrpc/server/events", test_events);
    g_test_add_func("/vmrpc/server/event-queue", test_event_queue);
    g_test_add_func("/vmrpc/server/backpressure", test_backpressure);
    g_test_add_func("/vmrpc/server/max-sockets", test_max_sockets);
    g_test_add_func("/vmrpc/server/host-limit", test_host_limit);
    g_test_add_func("/vmrpc/server/pool-full", test_pool_full);
    g_test_add_func("/vmrpc/server/reset", test_reset);
    g_test_add_func("/vmrpc/server/malformed", test_malformed);
    g_test_add_func("/vmrpc/server/config", test_config);
    g_test_add_func("/vmrpc/server/ipv4", test_ipv4);
    g_test_add_func("/vmrpc/server/ipv4/reuse-port", test_ipv4_reuse_port);
    g_test_add_func("/vmrpc/server/ipv4/reuse-port-again",
                    test_ipv4_reuse_port_again);
    return g_test_run();
}
