/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the vmrpc server shows of itself: sockets in every state */

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/server/inspect.h"
#include "tests/fixtures/server-fixture.h"

/* What the server shows of @handle, which must exist. */
static VmrpcSockView see(Fx *fx, uint32_t handle)
{
    VmrpcSockView view;
    uint32_t next = handle;

    g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &next, &view, 1), ==, 1);
    g_assert_cmpuint(view.handle, ==, handle);
    g_assert_cmpuint(next, ==, handle + 1);
    return view;
}

static void assert_guest(const struct sockaddr_in *sin, struct in_addr addr,
                         unsigned port)
{
    g_assert_cmpint(sin->sin_family, ==, AF_INET);
    g_assert_cmphex(sin->sin_addr.s_addr, ==, addr.s_addr);
    g_assert_cmpuint(ntohs(sin->sin_port), ==, port);
}

static void assert_host(const struct sockaddr_storage *ss, const char *addr,
                        unsigned port)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
    char text[INET6_ADDRSTRLEN];

    g_assert_cmpint(ss->ss_family, ==, AF_INET6);
    inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof(text));
    g_assert_cmpstr(text, ==, addr);
    g_assert_cmpuint(ntohs(sin6->sin6_port), ==, port);
}

static unsigned guest_port(Fx *fx, uint32_t handle)
{
    FxReply r = fx_op(fx, VMRPC_GETSOCKNAME, handle, 0, 0);

    fx_ok(r);
    return ntohs(r.addr.sin_port);
}

/* A stream to a new peer; returns the peer's end and its @port. */
static int connected(Fx *fx, uint32_t handle, uint16_t *port)
{
    int listener = peer_socket(SOCK_STREAM, port);
    int fd;

    fx_ok(fx_socket(fx, handle, 1, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, handle, fx->peer4, *port),
             EINPROGRESS);
    fx_wait(fx, handle, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(listener);
    return fd;
}

/* --- the server ----------------------------------------------------------- */

static void test_server(void)
{
    Fx *fx = fx_new(&(FxOptions) { .nat64 = true, .max_sockets = 77,
                                   .policy = "allow host\n" });
    char text[INET6_ADDRSTRLEN];
    VmrpcServerView view;
    VmrpcSockView sock;
    uint32_t next = 0;

    vmrpc_inspect_server(fx->srv, &view);
    g_assert_true(view.config.reach.translate);
    g_assert_cmphex(view.config.reach.guest4.s_addr, ==, fx->guest4.s_addr);
    g_assert_cmphex(view.config.reach.resolver4.s_addr, ==,
                    fx->resolver4.s_addr);
    g_assert_cmpuint(view.config.max_sockets, ==, 77);
    g_assert_null(view.config.policy_file);
    g_assert_null(view.config.dns);
    g_assert_true(view.has_nat64);
    g_assert_cmpuint(view.nat64.len, ==, 96);
    inet_ntop(AF_INET6, &view.nat64.addr, text, sizeof(text));
    g_assert_cmpstr(text, ==, FX_NAT64);
    g_assert_cmpuint(view.map.entries, ==, 1);  /* the fixture's peer */
    g_assert_cmpuint(view.counters.requests, ==, 0);
    g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &next, &sock, 1), ==, 0);

    fx_ok(fx_socket(fx, 76, 0, SOCK_DGRAM));
    vmrpc_inspect_server(fx->srv, &view);
    g_assert_cmpuint(view.counters.requests, ==, 1);
    g_assert_cmpuint(view.counters.sockets_opened, ==, 1);
    fx_free(fx);

    fx = fx_new(&(FxOptions) { .ipv4 = true });
    vmrpc_inspect_server(fx->srv, &view);
    g_assert_false(view.config.reach.translate);
    g_assert_false(view.has_nat64);
    g_assert_cmpuint(view.map.entries, ==, 0);
    fx_free(fx);
}

/* --- streams -------------------------------------------------------------- */

static void test_fresh(void)
{
    Fx *fx = fx_new_default();
    VmrpcSockView view;

    fx->flags = 0;
    fx_ok(fx_socket(fx, 3, 1, SOCK_STREAM));
    view = see(fx, 3);
    g_assert_cmpint(view.type, ==, SOCK_STREAM);
    g_assert_cmpint(view.backing, ==, VMRPC_BACKING_HOST);
    g_assert_cmpint(view.state, ==, TCP_CLOSE);
    g_assert_cmphex(view.guest_local.sin_addr.s_addr, ==, INADDR_ANY);
    g_assert_cmpint(view.guest_peer.sin_family, ==, 0);
    assert_host(&view.host_local, "::", 0);
    g_assert_cmpint(view.host_peer.ss_family, ==, 0);
    g_assert_cmpuint(view.recv_queue | view.send_queue, ==, 0);
    g_assert_false(view.watched);
    fx->flags = VMRPC_REQ_WATCH;
    fx_ok(fx_op(fx, VMRPC_NOOP, 3, 0, 0));
    g_assert_true(see(fx, 3).watched);
    fx_free(fx);
}

static void test_listener(void)
{
    Fx *fx = fx_new_default();
    struct in_addr any = { };
    VmrpcSockView view;
    struct sockaddr_in6 sin6;
    socklen_t len = sizeof(sin6);
    uint16_t port;
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, any, 0);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    g_assert_cmpint(see(fx, 0).state, ==, TCP_CLOSE);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 7, 0));
    fd = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);

    view = see(fx, 0);
    g_assert_cmpint(view.state, ==, TCP_LISTEN);
    assert_guest(&view.guest_local, fx->guest4, port);
    assert_host(&view.host_local, fx_vm6, port);
    g_assert_cmpint(view.guest_peer.sin_family, ==, 0);
    g_assert_cmpint(view.host_peer.ss_family, ==, 0);
    g_assert_cmpuint(view.recv_queue, ==, 1);
    g_assert_cmpuint(view.send_queue, ==, 7);

    fx_ok(fx_accept(fx, 0, 1, 2));
    g_assert_cmpuint(see(fx, 0).recv_queue, ==, 0);
    getsockname(fd, (struct sockaddr *)&sin6, &len);
    view = see(fx, 1);
    g_assert_cmpint(view.state, ==, TCP_ESTABLISHED);
    assert_guest(&view.guest_local, fx->guest4, port);
    assert_guest(&view.guest_peer, fx_peer4(fx), ntohs(sin6.sin6_port));
    assert_host(&view.host_local, fx_vm6, port);
    assert_host(&view.host_peer, fx_peer6, ntohs(sin6.sin6_port));
    close(fd);
    fx_free(fx);
}

static void test_connection(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int fd = connected(fx, 0, &port);
    unsigned local = guest_port(fx, 0);
    VmrpcSockView view;
    char buf[8];

    fx_ok(fx_send(fx, 0, "request", 7));
    peer_read(fd, buf, 7);
    g_assert_cmpint(send(fd, "answers", 7, 0), ==, 7);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_recv(fx, 0, buf, 2, 0));
    fx_ok(fx_recv(fx, 0, buf, 1, MSG_PEEK));

    view = see(fx, 0);
    g_assert_cmpint(view.state, ==, TCP_ESTABLISHED);
    assert_guest(&view.guest_local, fx->guest4, local);
    assert_guest(&view.guest_peer, fx->peer4, port);
    assert_host(&view.host_local, fx_vm6, local);
    assert_host(&view.host_peer, fx_peer6, port);
    g_assert_cmpuint(view.recv_queue, ==, 5);
    g_assert_cmpuint(view.send_queue, ==, 0);
    g_assert_cmpuint(view.bytes_sent, ==, 7);
    g_assert_cmpuint(view.bytes_received, ==, 2);
    g_assert_cmpint(view.error, ==, 0);
    g_assert_true(view.watched);

    /* one half ended, then the other */
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0));
    peer_await(fd);
    view = see(fx, 0);
    g_assert_true(view.state == TCP_FIN_WAIT1 || view.state == TCP_FIN_WAIT2);
    close(fd);
    fx_free(fx);
}

/* What the peer does not take stays in the queue. */
static void test_send_queue(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int fd = connected(fx, 0, &port);
    gint64 end = g_get_monotonic_time() + FX_WAIT_MS * 1000;
    uint64_t sent = 0, queued;
    char buf[65536] = "";
    FxReply r;

    while ((r = fx_send(fx, 0, buf, sizeof(buf))).error == 0) {
        sent += r.value;
    }
    fx_fails(r, EAGAIN);
    g_assert_cmpuint(see(fx, 0).bytes_sent, ==, sent);
    queued = see(fx, 0).send_queue;
    g_assert_cmpuint(queued, >, 0);
    g_assert_cmpuint(queued, <, sent);
    for (uint64_t got = 0; got < sent; ) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);

        g_assert_cmpint(n, >, 0);
        got += n;
    }
    /* the last acknowledgement, which nobody tells of, may come later */
    while (see(fx, 0).send_queue) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    close(fd);
    fx_free(fx);
}

/* The peer's queue is full: it does not answer. */
static void test_connecting(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    VmrpcSockView view;

    g_assert_cmpint(listen(listener, 0), ==, 0);
    for (uint32_t i = 0; i < 2; i++) {
        fx_ok(fx_socket(fx, i, 1, SOCK_STREAM));
        fx_fails(fx_addr_op(fx, VMRPC_CONNECT, i, fx->peer4, port),
                 EINPROGRESS);
    }
    g_assert_cmpint(see(fx, 0).state, ==, TCP_ESTABLISHED);
    view = see(fx, 1);
    g_assert_cmpint(view.state, ==, TCP_SYN_SENT);
    assert_guest(&view.guest_local, fx->guest4, guest_port(fx, 1));
    assert_guest(&view.guest_peer, fx->peer4, port);
    assert_host(&view.host_peer, fx_peer6, port);
    close(listener);
    fx_free(fx);
}

static void test_peer_ends(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int fd = connected(fx, 0, &port);
    VmrpcSockView view;
    struct vmrpc_event ev;

    close(fd);
    fx_wait(fx, 0, VMRPC_RDHUP);
    g_assert_cmpint(see(fx, 0).state, ==, TCP_CLOSE_WAIT);

    /* the error is the server's until the guest has been told */
    fd = connected(fx, 1, &port);
    fx_ok(fx_send(fx, 1, "x", 1));
    peer_close_reset(fd);
    while (!vmrpc_server_has_event(fx->srv)) {
        vmrpc_server_process(fx->srv);
    }
    view = see(fx, 1);
    g_assert_cmpint(view.state, ==, TCP_CLOSE);
    g_assert_cmpint(view.error, ==, ECONNRESET);
    assert_guest(&view.guest_peer, fx->peer4, port);
    g_assert_true(vmrpc_server_next_event(fx->srv, &ev));
    g_assert_cmpint(see(fx, 1).error, ==, 0);
    fx_free(fx);
}

/* --- datagrams, names ----------------------------------------------------- */

static void test_datagram(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    VmrpcSockView view;
    char buf[4];
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    view = see(fx, 0);
    g_assert_cmpint(view.type, ==, SOCK_DGRAM);
    g_assert_cmpint(view.state, ==, TCP_CLOSE);

    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    fx_ok(fx_send(fx, 0, "ask", 3));
    peer_read(peer, buf, 3);
    view = see(fx, 0);
    g_assert_cmpint(view.state, ==, TCP_ESTABLISHED);
    assert_guest(&view.guest_peer, fx->peer4, port);
    assert_host(&view.host_local, fx_vm6, guest_port(fx, 0));
    assert_host(&view.host_peer, fx_peer6, port);
    g_assert_cmpuint(view.bytes_sent, ==, 3);

    /* of two, the size of the next */
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 1, fx->guest4, 0));
    fd = peer_connect(SOCK_DGRAM, guest_port(fx, 1));
    g_assert_cmpint(send(fd, "12345", 5, 0), ==, 5);
    g_assert_cmpint(send(fd, "123", 3, 0), ==, 3);
    fx_wait(fx, 1, VMRPC_IN);
    view = see(fx, 1);
    g_assert_cmpint(view.state, ==, TCP_CLOSE);
    g_assert_cmpuint(view.recv_queue, ==, 5);
    close(fd);
    close(peer);
    fx_free(fx);
}

/* A query that is no query is answered at once: FORMERR. */
static const uint8_t bad_query[12] = { 0x12, 0x34, 1, 0, 0, 2 };

static void test_resolver(void)
{
    Fx *fx = fx_new_default();
    uint8_t framed[2 + sizeof(bad_query)] = { 0, sizeof(bad_query) };
    VmrpcSockView view;
    uint8_t byte;

    memcpy(framed + 2, bad_query, sizeof(bad_query));
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_send(fx, 0, bad_query, sizeof(bad_query)));
    view = see(fx, 0);
    g_assert_cmpint(view.backing, ==, VMRPC_BACKING_HOST);
    g_assert_cmpint(view.state, ==, TCP_ESTABLISHED);
    assert_guest(&view.guest_local, fx->guest4, guest_port(fx, 0));
    assert_guest(&view.guest_peer, fx->resolver4, 53);
    g_assert_cmpint(view.host_peer.ss_family, ==, 0);
    g_assert_cmpuint(view.recv_queue, ==, 12);

    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->resolver4, 53));
    fx_ok(fx_send(fx, 1, framed, sizeof(framed)));
    fx_ok(fx_recv(fx, 1, &byte, 1, 0));
    view = see(fx, 1);
    g_assert_cmpint(view.backing, ==, VMRPC_BACKING_RESOLVER);
    g_assert_cmpint(view.state, ==, TCP_ESTABLISHED);
    assert_guest(&view.guest_peer, fx->resolver4, 53);
    g_assert_cmpint(view.host_local.ss_family, ==, 0);
    g_assert_cmpint(view.host_peer.ss_family, ==, 0);
    g_assert_cmpuint(view.recv_queue, ==, 13);
    g_assert_cmpuint(view.bytes_received, ==, 1);
    fx_free(fx);
}

/* --- after a migration ---------------------------------------------------- */

static void restore(void *opaque, const VmrpcSavedSock *saved)
{
    g_assert_cmpint(vmrpc_server_restore(opaque, saved), ==, 0);
}

static void test_migrated(void)
{
    Fx *fx = fx_new_default();
    Fx *to = fx_new(&(FxOptions) { .incoming = true,
                                   .policy = "allow host\nallow ::1\n" });
    VmrpcSockView view;
    uint16_t port;
    unsigned local;
    int fd = connected(fx, 0, &port);

    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 1, 1, 0));
    local = guest_port(fx, 1);
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    /* the source has the ports still */
    vmrpc_server_save(fx->srv, restore, to->srv);

    view = see(to, 0);
    g_assert_cmpint(view.backing, ==, VMRPC_BACKING_LOST);
    g_assert_cmpint(view.state, ==, TCP_CLOSE);
    g_assert_cmpint(view.error, ==, ECONNRESET);
    g_assert_cmpint(view.guest_local.sin_family, ==, 0);
    g_assert_cmpint(view.host_local.ss_family, ==, 0);
    view = see(to, 1);
    g_assert_cmpint(view.backing, ==, VMRPC_BACKING_ARRIVING);
    g_assert_cmpint(view.state, ==, TCP_LISTEN);
    assert_guest(&view.guest_local, to->guest4, local);
    g_assert_cmpint(view.host_local.ss_family, ==, 0);
    g_assert_cmpint(see(to, 2).backing, ==, VMRPC_BACKING_HOST);

    fx_free(fx);
    while (see(to, 1).backing != VMRPC_BACKING_HOST) {
        struct pollfd pfd = { .fd = vmrpc_server_fd(to->srv),
                              .events = POLLIN };

        g_assert_cmpint(poll(&pfd, 1, FX_WAIT_MS), ==, 1);
        vmrpc_server_process(to->srv);
    }
    view = see(to, 1);
    assert_host(&view.host_local, fx_vm6, local);
    close(fd);
    fx_free(to);
}

/* --- many ----------------------------------------------------------------- */

/* Far apart in the table, more than one batch, coming and going. */
static void test_many(void)
{
    enum { NUM = 3 * VMRPC_INSPECT_MAX, GAP = VMRPC_INSPECT_EMPTY + 1 };
    Fx *fx = fx_new(&(FxOptions) { .max_sockets = FX_HANDLES + NUM * 3000 });
    g_autofree VmrpcSockView *view = g_new(VmrpcSockView, VMRPC_INSPECT_MAX);
    uint32_t next = 0, last = 0;
    unsigned n, total = 0, rounds = 0;

    G_STATIC_ASSERT(NUM * 3000 > 2 * GAP);
    for (uint32_t i = 0; i < NUM - 1; i++) {
        fx_ok(fx_socket(fx, FX_HANDLES + i * 3, 0, SOCK_DGRAM));
    }
    fx_ok(fx_socket(fx, FX_HANDLES + NUM * 3000 - 1, 0, SOCK_DGRAM));
    while ((n = vmrpc_inspect_socks(fx->srv, &next, view,
                                    VMRPC_INSPECT_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            g_assert_true(!total || view[i].handle > last);
            last = view[i].handle;
            total++;
        }
        if (++rounds == 1) {
            g_assert_cmpuint(n, ==, VMRPC_INSPECT_MAX);
            /* one that has been seen goes, and one that has not */
            fx_ok(fx_op(fx, VMRPC_CLOSE, FX_HANDLES, 0, 0));
            fx_ok(fx_op(fx, VMRPC_CLOSE, last + 3, 0, 0));
        }
    }
    g_assert_cmpuint(total, ==, NUM - 1);
    g_assert_cmpuint(last, ==, FX_HANDLES + NUM * 3000 - 1);
    g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &next, view, 1), ==, 0);
    fx_free(fx);
}

/* Those that there are, for who wants to know where to go on. */
static void test_next(void)
{
    enum { FAR = 3 * VMRPC_INSPECT_EMPTY + 1 };
    Fx *fx = fx_new(&(FxOptions) { .max_sockets = FAR + 1 });
    VmrpcServerView server;
    VmrpcSockView view;
    uint32_t next = 0;

    g_assert_false(vmrpc_inspect_next(fx->srv, &next));
    fx_ok(fx_socket(fx, 3, 0, SOCK_DGRAM));
    fx_ok(fx_socket(fx, FAR, 0, SOCK_DGRAM));
    vmrpc_inspect_server(fx->srv, &server);
    g_assert_cmpuint(server.sockets, ==, 2);
    next = 0;
    g_assert_true(vmrpc_inspect_next(fx->srv, &next));
    g_assert_cmpuint(next, ==, 3);
    g_assert_true(vmrpc_inspect_next(fx->srv, &next));
    g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &next, &view, 1), ==, 1);
    g_assert_true(vmrpc_inspect_next(fx->srv, &next));
    g_assert_cmpuint(next, ==, FAR);
    next++;
    g_assert_false(vmrpc_inspect_next(fx->srv, &next));
    /* a number that somebody made up */
    next = UINT32_MAX;
    g_assert_false(vmrpc_inspect_next(fx->srv, &next));
    g_assert_cmpuint(vmrpc_inspect_socks(fx->srv, &next, &view, 1), ==, 0);
    fx_free(fx);
}

/* --- memory --------------------------------------------------------------- */

/* In a program with the address sanitizer mallinfo2() knows nothing. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes
           ? __sanitizer_get_current_allocated_bytes() : mallinfo2().uordblks;
}

/*
 * An idle connection of a busy program, which has set options and moved data,
 * costs 2 KiB at most beyond the kernel's socket.
 */
static void test_memory(void)
{
    enum { NUM = 128, MAX_EACH = 2048 };
    static const struct { int level, name; } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE }, { SOL_SOCKET, SO_RCVBUF },
        { SOL_SOCKET, SO_SNDBUF }, { SOL_SOCKET, SO_REUSEADDR },
        { IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_KEEPIDLE },
        { IPPROTO_TCP, TCP_KEEPINTVL }, { IPPROTO_TCP, TCP_KEEPCNT },
        { IPPROTO_TCP, TCP_USER_TIMEOUT }, { IPPROTO_IP, IP_TOS },
    };
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\nallow ::1\n",
                                   .max_sockets = FX_HANDLES + NUM });
    size_t before, used, place = sizeof(void *);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), one = 1, fd[NUM];

    before = allocated();
    for (uint32_t i = 0; i < NUM; i++) {
        uint32_t handle = FX_HANDLES + i;

        fx_ok(fx_socket(fx, handle, 0, SOCK_STREAM));
        for (unsigned j = 0; j < G_N_ELEMENTS(options); j++) {
            fx_ok(fx_setsockopt(fx, handle, options[j].level, options[j].name,
                                &one, sizeof(one)));
        }
        fx_addr_op(fx, VMRPC_CONNECT, handle, fx->peer4, port);
        fd[i] = accept(listener, NULL, NULL);
        g_assert_cmpint(fd[i], >=, 0);
        fx_ok(fx_send(fx, handle, "x", 1));
    }
    used = (allocated() - before) / NUM + place;
    g_test_message("%zu bytes a connection", used);
    g_assert_cmpuint(used, <=, MAX_EACH);
    for (unsigned i = 0; i < NUM; i++) {
        close(fd[i]);
    }
    close(listener);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/inspect/server", test_server);
    g_test_add_func("/vmrpc/inspect/fresh", test_fresh);
    g_test_add_func("/vmrpc/inspect/listener", test_listener);
    g_test_add_func("/vmrpc/inspect/connection", test_connection);
    g_test_add_func("/vmrpc/inspect/send-queue", test_send_queue);
    g_test_add_func("/vmrpc/inspect/connecting", test_connecting);
    g_test_add_func("/vmrpc/inspect/peer-ends", test_peer_ends);
    g_test_add_func("/vmrpc/inspect/datagram", test_datagram);
    g_test_add_func("/vmrpc/inspect/resolver", test_resolver);
    g_test_add_func("/vmrpc/inspect/migrated", test_migrated);
    g_test_add_func("/vmrpc/inspect/many", test_many);
    g_test_add_func("/vmrpc/inspect/next", test_next);
    g_test_add_func("/vmrpc/inspect/memory", test_memory);
    return g_test_run();
}
