/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that make the socket that they are for (VMRPC_REQ_OPEN) */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fixtures/server-fixture.h"

static void test_connect_stream(void)
{
    unsigned before = fx_open_fds();
    Fx *fx = fx_new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), fd;
    char buf[4];
    FxReply r;

    r = fx_open_op(fx, VMRPC_CONNECT, 3, 7, SOCK_STREAM, fx->peer4, port);
    g_assert_true(r.error == 0 || r.error == EINPROGRESS);
    g_assert_true(r.opened);
    fx_wait(fx, 3, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    fx_ok(fx_send(fx, 3, "abc", 3));
    peer_read(fd, buf, 3);
    g_assert_cmpmem(buf, 3, "abc", 3);
    g_assert_cmpint(send(fd, "defg", 4, 0), ==, 4);
    fx_wait(fx, 3, VMRPC_IN);
    r = fx_recv(fx, 3, buf, 4, 0);
    fx_ok(r);
    g_assert_false(r.opened);
    g_assert_cmpmem(buf, 4, "defg", 4);
    g_assert_cmpuint(fx_counters(fx)->sockets_opened, ==, 1);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 3, 0, 0));
    close(fd);
    close(listener);
    fx_free(fx);
    g_assert_cmpuint(fx_open_fds(), ==, before);
}

static void test_connect_datagram(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    char buf[1];
    FxReply r;

    r = fx_open_op(fx, VMRPC_CONNECT, 0, 1, SOCK_DGRAM, fx->peer4, port);
    fx_ok(r);
    g_assert_true(r.opened);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    fx_assert_addr(&r, fx->guest4, ntohs(r.addr.sin_port));
    fx_ok(fx_send(fx, 0, "x", 1));
    peer_read(peer, buf, 1);
    close(peer);
    fx_free(fx);
}

static void test_bind(void)
{
    const struct in_addr any = { };
    Fx *fx = fx_new_default();
    int peer;
    FxReply r;

    r = fx_open_op(fx, VMRPC_BIND, 0, 1, SOCK_STREAM, any, 0);
    fx_ok(r);
    g_assert_true(r.opened);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 4, 0));
    peer = peer_connect(SOCK_STREAM, ntohs(r.addr.sin_port));
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 1, 1));
    close(peer);
    fx_free(fx);
}

static void test_connect_resolver(void)
{
    Fx *fx = fx_new_default();

    for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
        FxReply r = fx_open_op(fx, VMRPC_CONNECT, type, 1, type,
                               fx->resolver4, 53);

        fx_ok(r);
        g_assert_true(r.opened);
        g_assert_cmphex(r.ready & VMRPC_OUT, ==, VMRPC_OUT);
    }
    fx_free(fx);
}

/* The guest has the socket that it asked for, and may try again with it. */
static void test_stays_if_what_follows_fails(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "deny host 9\nallow host\n"
                                             "allow ::1\n" });
    const struct in_addr elsewhere = fx_ip4("203.0.113.1");
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    FxReply r;

    r = fx_open_op(fx, VMRPC_CONNECT, 0, 1, SOCK_STREAM, fx->peer4, 9);
    fx_fails(r, EACCES);
    g_assert_true(r.opened);
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    g_assert_true(r.error == 0 || r.error == EINPROGRESS);
    g_assert_false(r.opened);
    r = fx_open_op(fx, VMRPC_BIND, 1, 1, SOCK_DGRAM, elsewhere, 0);
    fx_fails(r, EADDRNOTAVAIL);
    g_assert_true(r.opened);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 2);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    close(listener);
    fx_free(fx);
}

/* Then there is nothing to close, and nobody was contacted. */
static void test_cannot_be_made(void)
{
    const struct in_addr any = { };
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\nallow ::1\n",
                                   .max_sockets = 2 });
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    const FxMirror mirror = fx->sock[0];
    char buf[1];
    FxReply r;

    /* In use: that one goes on. */
    r = fx_open_op(fx, VMRPC_CONNECT, 0, mirror.gen + 1, SOCK_STREAM,
                   fx->peer4, port);
    fx_fails(r, EEXIST);
    g_assert_false(r.opened);
    fx->sock[0] = mirror;
    fx_ok(fx_send(fx, 0, "x", 1));
    peer_read(fd, buf, 1);

    r = fx_open_op(fx, VMRPC_CONNECT, 2, 1, SOCK_STREAM, fx->peer4, port);
    fx_fails(r, EBADF);
    g_assert_false(r.opened);
    r = fx_open_op(fx, VMRPC_BIND, 1, 1, SOCK_RAW, any, 0);
    fx_fails(r, EPROTONOSUPPORT);
    g_assert_false(r.opened);
    fx_fails(fx_op(fx, VMRPC_CLOSE, 1, 0, 0), EBADF);

    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    r = fx_open_op(fx, VMRPC_CONNECT, 2, 1, SOCK_STREAM, fx->peer4, port);
    fx_fails(r, EMFILE);
    g_assert_false(r.opened);
    g_assert_cmpuint(fx_counters(fx)->sockets_refused_limit, ==, 1);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 2);
    close(fd);
    close(listener);
    fx_free(fx);
}

/* Other requests are for a socket that is there. */
static void test_only_bind_and_connect(void)
{
    Fx *fx = fx_new_default();
    uint64_t bad = 0;

    for (unsigned op = VMRPC_SOCKET; op <= VMRPC_UNMAP; op++) {
        FxReply r;

        if (op == VMRPC_BIND || op == VMRPC_CONNECT) {
            continue;
        }
        r = fx_open_op(fx, op, 0, 1, SOCK_STREAM, fx->peer4, 9);
        fx_fails(r, EINVAL);
        g_assert_false(r.opened);
        g_assert_cmpuint(fx_counters(fx)->requests_malformed, ==, ++bad);
    }
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/open/connect-stream", test_connect_stream);
    g_test_add_func("/vmrpc/open/connect-datagram", test_connect_datagram);
    g_test_add_func("/vmrpc/open/bind", test_bind);
    g_test_add_func("/vmrpc/open/connect-resolver", test_connect_resolver);
    g_test_add_func("/vmrpc/open/stays-if-what-follows-fails",
                    test_stays_if_what_follows_fails);
    g_test_add_func("/vmrpc/open/cannot-be-made", test_cannot_be_made);
    g_test_add_func("/vmrpc/open/only-bind-and-connect",
                    test_only_bind_and_connect);
    return g_test_run();
}
