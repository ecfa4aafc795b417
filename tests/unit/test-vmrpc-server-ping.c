/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ping sockets of the guest on the host's IPv6, and on its IPv4 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "hw/vmrpc/server/inspect.h"
#include "tests/fixtures/server-fixture.h"

#define GROUP_RANGE "/proc/sys/net/ipv4/ping_group_range"

static bool allow_ping(const char *range)
{
    return g_file_set_contents_full(GROUP_RANGE, range, -1,
                                    G_FILE_SET_CONTENTS_NONE, 0644, NULL);
}

/* Every kernel may say no: to a test without a namespace of its own. */
static bool can_ping(void)
{
    if (fx_has_namespace() && allow_ping("0 0")) {
        return true;
    }
    g_test_skip("no network namespace to allow ping sockets in");
    return false;
}

static FxReply ping_socket(Fx *fx, uint32_t handle)
{
    fx->sock[handle] = (FxMirror) { .gen = handle + 1 };
    return fx_op(fx, VMRPC_SOCKET, handle, SOCK_DGRAM, IPPROTO_ICMP);
}

static const uint8_t request[] = { 8, 0, 1, 2, 3, 4, 0, 5, 'p', 'i', 'n' };

static void check_reply(const uint8_t *reply, unsigned identifier)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < sizeof(request); i++) {
        sum += i % 2 ? reply[i] : reply[i] << 8;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    g_assert_cmpint(sum, ==, 0xffff);
    g_assert_cmpint(reply[0] << 8 | reply[1], ==, 0);
    g_assert_cmpint(reply[4] << 8 | reply[5], ==, identifier);
    g_assert_cmpmem(reply + 6, sizeof(request) - 6, request + 6,
                    sizeof(request) - 6);
}

static void test_echo(void)
{
    uint8_t reply[64];
    VmrpcSockView view;
    uint32_t handle = 0;
    Fx *fx;
    FxReply r;

    if (!can_ping()) {
        return;
    }
    fx = fx_new_default();
    fx_ok(ping_socket(fx, 0));
    r = fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, 4711);
    fx_ok(r);
    g_assert_cmpint(ntohs(r.addr.sin_port), ==, 4711);

    /* the port of the address is that of the DNS proxy, and means nothing */
    r = fx_sendto(fx, 0, fx_peer4(fx), 53, request, sizeof(request));
    fx_ok(r);
    g_assert_cmpint(r.value, ==, sizeof(request));
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, reply, sizeof(reply), 0);
    fx_ok(r);
    g_assert_cmpint(r.value, ==, sizeof(request));
    g_assert_cmpint(r.addr.sin_addr.s_addr, ==, fx_peer4(fx).s_addr);
    g_assert_cmpint(r.addr.sin_port, ==, 0);
    check_reply(reply, 4711);

    g_assert_cmpint(vmrpc_inspect_socks(fx->srv, &handle, &view, 1), ==, 1);
    g_assert_cmpint(view.proto, ==, IPPROTO_ICMP);
    fx_free(fx);
}

static void test_what_is_refused(void)
{
    uint8_t other[sizeof(request)];
    struct in_addr resolver;
    Fx *fx;

    if (!can_ping()) {
        return;
    }
    fx = fx_new_default();
    resolver = fx->resolver4;
    fx_ok(ping_socket(fx, 0));
    for (size_t len = 0; len < 8; len++) {
        fx_fails(fx_sendto(fx, 0, fx_peer4(fx), 0, request, len), EINVAL);
    }
    memcpy(other, request, sizeof(other));
    other[0] = 128;
    fx_fails(fx_sendto(fx, 0, fx_peer4(fx), 0, other, sizeof(other)), EINVAL);
    /* the DNS proxy is no host */
    fx_fails(fx_sendto(fx, 0, resolver, 53, request, sizeof(request)),
             EHOSTUNREACH);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, resolver, 53), EHOSTUNREACH);
    fx_fails(fx_send(fx, 0, request, sizeof(request)), EDESTADDRREQ);
    fx_free(fx);

    /* without the policy's word the peer is the host itself */
    fx = fx_new(&(FxOptions) { });
    fx_ok(ping_socket(fx, 0));
    fx_fails(fx_sendto(fx, 0, fx_peer4(fx), 0, request, sizeof(request)),
             ENETUNREACH);
    fx_free(fx);

    g_assert_true(allow_ping("1 0"));
    fx = fx_new_default();
    fx_fails(ping_socket(fx, 0), EACCES);
    g_assert_cmpint(vmrpc_server_sockets(fx->srv), ==, 0);
    fx_free(fx);
}

/* The VM has no address, and the identifier is the guest's all the same. */
static void test_no_address(void)
{
    uint8_t reply[64];
    unsigned identifier;
    Fx *fx;
    FxReply r;

    if (!can_ping()) {
        return;
    }
    fx = fx_new(&(FxOptions) { .no_address6 = true,
                               .policy = "allow host\nallow ::1\n" });
    fx_ok(ping_socket(fx, 0));
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, 4711),
             EADDRNOTAVAIL);
    r = fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, 0);
    fx_ok(r);
    identifier = ntohs(r.addr.sin_port);
    g_assert_cmpint(identifier, !=, 0);
    fx_ok(fx_sendto(fx, 0, fx_peer4(fx), 0, request, sizeof(request)));
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_recv(fx, 0, reply, sizeof(reply), 0));
    check_reply(reply, identifier);
    fx_free(fx);
}

/* translate=off: the host's ICMP does it all. */
static void test_ipv4(void)
{
    uint8_t reply[64];
    struct in_addr there = { htonl(0x7f000002) };
    Fx *fx;
    FxReply r;

    if (!can_ping()) {
        return;
    }
    fx = fx_new(&(FxOptions) { .ipv4 = true,
                               .policy = "allow 127.0.0.0/8\n" });
    fx_ok(ping_socket(fx, 0));
    r = fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, 4711);
    fx_ok(r);
    fx_ok(fx_sendto(fx, 0, there, 0, request, sizeof(request)));
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_recv(fx, 0, reply, sizeof(reply), 0));
    check_reply(reply, 4711);
    fx_free(fx);
}

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    *(VmrpcSavedSock *)opaque = *saved;
}

static void test_migration(void)
{
    g_autofree VmrpcSavedSock *saved = g_new0(VmrpcSavedSock, 1);
    uint8_t reply[64];
    Fx *from, *to;

    if (!can_ping()) {
        return;
    }
    from = fx_new_default();
    fx_ok(ping_socket(from, 0));
    fx_ok(fx_addr_op(from, VMRPC_BIND, 0, (struct in_addr) { 0 }, 4711));
    vmrpc_server_save(from->srv, keep, saved);
    fx_free(from);

    to = fx_new_default();
    to->edge = true;            /* as every socket that is restored */
    to->sock[0].gen = saved->gen;
    to->sock[0].seq = saved->ready_seq;
    g_assert_cmpint(vmrpc_server_restore(to->srv, saved), ==, 0);
    fx_ok(fx_sendto(to, 0, fx_peer4(to), 0, request, sizeof(request)));
    fx_wait(to, 0, VMRPC_IN);
    fx_ok(fx_recv(to, 0, reply, sizeof(reply), 0));
    check_reply(reply, 4711);
    fx_free(to);

    /* records that nobody has saved */
    to = fx_new_default();
    saved->type = SOCK_STREAM;
    g_assert_cmpint(vmrpc_server_restore(to->srv, saved), ==, -EINVAL);
    saved->type = SOCK_DGRAM;
    saved->flags |= VMRPC_SAVED_RESOLVER | VMRPC_SAVED_CONNECTED;
    g_assert_cmpint(vmrpc_server_restore(to->srv, saved), ==, -EINVAL);
    fx_free(to);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/ping/echo", test_echo);
    g_test_add_func("/vmrpc/server/ping/refused", test_what_is_refused);
    g_test_add_func("/vmrpc/server/ping/no-address", test_no_address);
    g_test_add_func("/vmrpc/server/ping/ipv4", test_ipv4);
    g_test_add_func("/vmrpc/server/ping/migration", test_migration);
    return g_test_run();
}
