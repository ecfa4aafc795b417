/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket server: the states of a socket; each change is traced */
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/table.h"
#include "tests/fixtures/server-fixture.h"

static GString *moves;          /* "what from to" lines */

static void moved(void *opaque, uint32_t handle, const char *what,
                  const char *from, const char *to)
{
    g_string_append_printf(moves, "%s %s %s\n", what, from, to);
}

static Fx *traced_new(void)
{
    Fx *fx = fx_new_default();

    moves = g_string_new(NULL);
    vmrpc_server_set_tracer(fx->srv, &(VmrpcTracer) { .moved = moved });
    return fx;
}

static void traced_free(Fx *fx)
{
    fx_free(fx);
    g_string_free(moves, TRUE);
}

static void expect_moves(const char *expected)
{
    g_assert_cmpstr(moves->str, ==, expected);
    g_string_truncate(moves, 0);
}

static void test_server(void)
{
    const struct in_addr any = { };
    Fx *fx = traced_new();
    uint16_t port;
    FxReply r;
    int peer;

    r = fx_open_op(fx, VMRPC_BIND, 0, 1, SOCK_STREAM, any, 0);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    expect_moves("binding none host\nbinding host guest\n");
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 4, 0));
    expect_moves("peer none clients\n");
    peer = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 1, 1));
    expect_moves("binding none host\npeer none remote\n");
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_RD, 0));
    /* Its connection has the port, so it cannot be bound again. */
    expect_moves("peer clients none\nbinding guest none\n");
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    expect_moves("peer remote none\n");
    close(peer);
    traced_free(fx);
}

/* A listener that was migrated gets its port when it has arrived. */
static void test_arrives(void)
{
    VmrpcSavedSock saved = {
        .handle = 3, .gen = 1, .type = SOCK_STREAM, .backlog = 4,
        .flags = VMRPC_SAVED_BOUND | VMRPC_SAVED_LISTENING,
    };
    Fx *fx = traced_new();
    uint16_t port;

    close(peer_socket(SOCK_STREAM, &port));
    saved.local_port = port;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &saved), ==, 0);
    expect_moves("binding none promised\npeer none clients\n"
                 "backing lost arriving\nbinding promised guest\n"
                 "backing arriving host\n");
    traced_free(fx);
}

static void test_delivery(void)
{
    Fx *fx = traced_new();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    VmrpcSock *s;

    fx_ok(fx_open_op(fx, VMRPC_CONNECT, 0, 1, SOCK_DGRAM, fx->peer4, port));
    s = fx->srv->socks[0];
    vmrpc_lock(fx->srv);
    s->reported = 0;
    vmrpc_sock_notify(fx->srv, s);
    g_assert_cmpint(s->delivery, ==, VMRPC_DELIVERY_QUEUED);
    vmrpc_sock_notify(fx->srv, s);
    g_assert_true(fx->srv->event_head == s);
    /* What waits is told by the answer, not by an event. */
    vmrpc_ready_begin_wait(fx->srv, s);
    vmrpc_sock_notify(fx->srv, s);
    g_assert_cmpint(s->delivery, ==, VMRPC_DELIVERY_WAITED);
    g_assert_null(fx->srv->event_head);
    vmrpc_ready_end_wait(s);
    vmrpc_sock_notify(fx->srv, s);
    g_assert_true(fx->srv->event_head == s);
    vmrpc_event_unqueue(fx->srv, s);
    g_assert_cmpint(s->delivery, ==, VMRPC_DELIVERY_IDLE);
    g_assert_null(fx->srv->event_head);
    vmrpc_unlock(fx->srv);
    close(peer);
    traced_free(fx);
}

static VmrpcSock *unbound(Fx *fx)
{
    fx_ok(fx_op(fx, VMRPC_SOCKET, 0, SOCK_STREAM, 0));
    return fx->srv->socks[0];
}

/* A bug ends the program: it does not go on with a state that is impossible. */
static void test_bound_twice(void)
{
    if (g_test_subprocess()) {
        Fx *fx = traced_new();
        VmrpcSock *s = unbound(fx);

        vmrpc_lock(fx->srv);
        vmrpc_sock_guest_binds(fx->srv, s);
        vmrpc_sock_guest_binds(fx->srv, s);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*assertion failed*is_bound_by_guest*");
}

static void test_waits_twice(void)
{
    if (g_test_subprocess()) {
        Fx *fx = traced_new();
        VmrpcSock *s = unbound(fx);

        vmrpc_lock(fx->srv);
        vmrpc_ready_begin_wait(fx->srv, s);
        vmrpc_ready_begin_wait(fx->srv, s);
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*assertion failed*delivery*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/moves/server", test_server);
    g_test_add_func("/vmrpc/moves/arrives", test_arrives);
    g_test_add_func("/vmrpc/moves/delivery", test_delivery);
    g_test_add_func("/vmrpc/moves/bound-twice", test_bound_twice);
    g_test_add_func("/vmrpc/moves/waits-twice", test_waits_twice);
    return g_test_run();
}
