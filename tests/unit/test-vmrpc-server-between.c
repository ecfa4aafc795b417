/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: another thread's call between the steps of a call
 *
 * The server's lock is free while the host's kernel works.  At that moment the
 * test makes the other call: __wrap_*() below.
 */
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

static void (*at_bind)(Fx *fx), (*at_connect)(Fx *fx), (*at_sendmsg)(Fx *fx);
static void (*at_ppoll)(Fx *fx);
static Fx *the_fx;
static struct in_addr the_peer;
static uint16_t the_port;
static VmrpcAudit *the_audit;

/* Only of the server's lock-free calls, and once. */
static void happen(void (**what)(Fx *fx))
{
    void (*now)(Fx *fx) = *what;

    if (now) {
        *what = NULL;
        now(the_fx);
    }
}

int __real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    happen(&at_connect);
    return __real_connect(fd, addr, len);
}

int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    happen(&at_bind);
    return __real_bind(fd, addr, len);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    happen(&at_sendmsg);
    return __real_sendmsg(fd, msg, flags);
}

int __real_ppoll(struct pollfd *pfd, nfds_t num, const struct timespec *ts,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *pfd, nfds_t num, const struct timespec *ts,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *pfd, nfds_t num, const struct timespec *ts,
                 const sigset_t *mask)
{
    happen(&at_ppoll);
    return __real_ppoll(pfd, num, ts, mask);
}

static Fx *fx_of(const FxOptions *o)
{
    the_fx = fx_new(o);
    the_peer = the_fx->peer4;
    return the_fx;
}

static void end_fx(void)
{
    g_assert_true(!at_bind && !at_connect && !at_sendmsg &&
                  !at_ppoll);
    fx_free(the_fx);
    vmrpc_audit_free(g_steal_pointer(&the_audit));
}

/* --- connect() ------------------------------------------------------------ */

static void disconnect(Fx *fx)
{
    fx_fails(fx_op(fx, VMRPC_CONNECT, 0, 0, 0), EALREADY);
}

/* A stream cannot lose its terms while it connects. */
static void test_disconnect(void)
{
    Fx *fx = fx_of(&(FxOptions) { .policy = "allow host sent 5/h\n" });
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), fd;

    at_connect = disconnect;
    fd = fx_connect_stream(fx, 0, listener, port);
    g_assert_cmpuint(fx_send(fx, 0, "0123456789", 10).value, ==, 5);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    close(fd);
    close(listener);
    end_fx();
}

static void be_stuck(Fx *fx, bool stuck)
{
    if (vmrpc_audit_set_stuck(the_audit, stuck)) {
        vmrpc_server_audit_has_room(fx->srv);
    }
}

static void connect_stuck(Fx *fx)
{
    be_stuck(fx, true);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, the_peer, the_port), EALREADY);
}

/* A connect() that goes on does not meet one that waits for the audit log. */
static void test_parked(void)
{
    const VmrpcAuditConfig config = {
        .full = VMRPC_AUDIT_WAIT, .sockets = FX_HANDLES,
    };
    g_autofree char *policy = NULL;
    int listener = peer_socket(SOCK_STREAM, &the_port);
    Fx *fx;

    policy = g_strdup_printf("proxy corp http %s %u\n"
                             "allow 2001:db8:7::/64 tcp via corp\n",
                             fx_peer6, the_port);
    the_audit = vmrpc_audit_new(&config);
    fx = fx_of(&(FxOptions) { .policy = policy, .audit = the_audit });
    the_peer = fx_map(fx, "2001:db8:7::1");
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    at_bind = connect_stuck;
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, the_peer, 443), EINPROGRESS);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    close(listener);
    end_fx();
}

static int the_listener;

/* The first address of the name refuses while the call waits for it. */
static void refuse(Fx *fx)
{
    struct pollfd pfd = { .events = POLLOUT };

    vmrpc_lock(fx->srv);
    pfd.fd = fx->srv->socks[0]->fd;
    vmrpc_unlock(fx->srv);
    close(the_listener);
    g_assert_cmpint(poll(&pfd, 1, FX_WAIT_MS), ==, 1);
}

/* That is no error of the guest's: there is another address. */
static void test_wait_race(void)
{
    VmrpcNameAddr addrs[2] = { { .ttl_s = 60 }, { .ttl_s = 60 } };
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
    Fx *fx = fx_of(&(FxOptions) { .policy = "allow host\n", .nat64 = true });
    int other = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int filler = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct vmrpc_req req;
    uint16_t port;
    DnsName name;
    FxReply r;

    /* One fills the queue of the first; the next has no answer. */
    the_listener = peer_socket(SOCK_STREAM, &port);
    g_assert_cmpint(listen(the_listener, 0), ==, 0);
    inet_pton(AF_INET6, fx_peer6, &sin6.sin6_addr);
    sin6.sin6_port = htons(port);
    g_assert_cmpint(connect(filler, (struct sockaddr *)&sin6, sizeof(sin6)),
                    ==, 0);
    inet_pton(AF_INET6, FX_NAT64 "c633:6405", &sin6.sin6_addr);
    g_assert_cmpint(bind(other, (struct sockaddr *)&sin6, sizeof(sin6)), ==,
                    0);
    g_assert_cmpint(listen(other, 5), ==, 0);
    dns_name_from_text(&name, "both.test");
    inet_pton(AF_INET6, fx_peer6, &addrs[0].addr6);
    inet_pton(AF_INET6, "::ffff:198.51.100.5", &addrs[1].addr6);
    vmrpc_names_note(fx->srv->reach.names, &name, addrs, 2, vmrpc_now_ms());

    fx->may_wait = true;
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    req = fx_req(fx, VMRPC_CONNECT, 0);
    req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
    req.addr.addr = fx->peer4.s_addr;
    req.addr.port = htons(port);
    req.wait_us = fx_le(VMRPC_WAIT_MAX);
    at_ppoll = refuse;
    r = fx_call(fx, &req, NULL, 0, NULL, 0);
    g_assert_cmpint(r.error, ==, EINPROGRESS);
    g_assert_cmpint(r.so_error, ==, 0);
    fx_wait(fx, 0, VMRPC_OUT);
    fx_ok(fx_send(fx, 0, "x", 1));
    g_assert_cmpuint(fx_counters(fx)->connections_raced_won, ==, 1);
    close(filler);
    close(other);
    end_fx();
}

/* --- reload --------------------------------------------------------------- */

typedef struct File {
    char *folder, *path;
} File;

static File the_file;

static void new_file(const char *text)
{
    the_file.folder = g_dir_make_tmp("vmrpc-between-XXXXXX", NULL);
    the_file.path = g_build_filename(the_file.folder, "policy", NULL);
    g_assert_true(g_file_set_contents(the_file.path, text, -1, NULL));
}

static void end_file(void)
{
    unlink(the_file.path);
    g_rmdir(the_file.folder);
    g_free(the_file.path);
    g_free(the_file.folder);
}

static void deny(Fx *fx)
{
    g_assert_true(g_file_set_contents(the_file.path, "default deny\n", -1,
                                      NULL));
    g_assert_true(vmrpc_server_reload_policy(fx->srv, NULL));
    vmrpc_server_end_refused(fx->srv);
}

/* The rules that are in force when the first packet leaves have allowed it. */
static void test_reload_before(void)
{
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    Fx *fx;

    new_file("allow host\n");
    fx = fx_of(&(FxOptions) { .policy_path = the_file.path });
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    at_bind = deny;
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port), ENETUNREACH);
    close(listener);
    end_fx();
    end_file();
}

/* A new file also ends a connection that has just begun. */
static void test_reload_while_connecting(void)
{
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    Fx *fx;

    new_file("allow host\n");
    fx = fx_of(&(FxOptions) { .policy_path = the_file.path });
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    at_connect = deny;
    fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    fx_fails(fx_send(fx, 0, "x", 1), EPIPE);
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 1);
    close(listener);
    end_fx();
    end_file();
}

/* The peer lets it wait until the new file is in force. */
static void test_reload_unanswered(void)
{
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    Fx *fx;

    g_assert_cmpint(listen(listener, 0), ==, 0);
    new_file("allow host\n");
    fx = fx_of(&(FxOptions) { .policy_path = the_file.path });
    /* One fills the queue; the next has no answer. */
    for (unsigned i = 0; i < 2; i++) {
        fx_ok(fx_socket(fx, i, 1, SOCK_STREAM));
        fx_fails(fx_addr_op(fx, VMRPC_CONNECT, i, fx->peer4, port),
                 EINPROGRESS);
    }
    fx_wait(fx, 0, VMRPC_OUT);
    fx_pump(fx);
    g_assert_cmpuint(fx->sock[1].ready, ==, 0);
    deny(fx);
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 2);
    fx_fails(fx_send(fx, 1, "x", 1), EPIPE);
    close(listener);
    end_fx();
    end_file();
}

/* An accepted stream that connects itself is one of the guest's. */
static void test_reload_accepted(void)
{
    struct sockaddr_in sin;
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), client, fd;
    Fx *fx;
    FxReply r;

    new_file("allow host\n");
    fx = fx_of(&(FxOptions) { .policy_path = the_file.path });
    r = fx_open_op(fx, VMRPC_BIND, 0, 1, SOCK_STREAM, (struct in_addr) { }, 0);
    fx_ok(r);
    sin = r.addr;
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 5, 0));
    client = peer_connect(SOCK_STREAM, ntohs(sin.sin_port));
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 1, 1));
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 1, SHUT_WR, 0));
    fx_ok(fx_op(fx, VMRPC_CONNECT, 1, 0, 0));
    fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, port);
    fd = accept(listener, NULL, NULL);
    fx_wait(fx, 1, VMRPC_OUT);
    vmrpc_lock(fx->srv);
    g_assert_false(fx->srv->socks[1]->fin_sent);
    vmrpc_unlock(fx->srv);
    deny(fx);
    g_assert_cmpuint(fx_counters(fx)->connections_ended, ==, 1);
    close(fd);
    close(client);
    close(listener);
    end_fx();
    end_file();
}

/* --- datagrams ------------------------------------------------------------ */

/* Sends with @flags, to @port of the peer (0: without a destination). */
static FxReply send_part(Fx *fx, unsigned port, int flags, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SENDMSG, 0);

    if (port) {
        req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
        req.addr.addr = fx->peer4.s_addr;
        req.addr.port = htons(port);
    }
    req.u.msg.flags = fx_le(flags);
    return fx_call(fx, &req, "0123456789abcdef", len, NULL, 0);
}

/* All parts of a datagram go where the first one goes, at its rule's cost. */
static void test_parts_budget(void)
{
    uint16_t port[2];
    int peer[2] = { peer_socket(SOCK_DGRAM, &port[0]),
                    peer_socket(SOCK_DGRAM, &port[1]) };
    g_autofree char *policy = g_strdup_printf("allow host udp %u sent 12/h\n"
                                              "allow host\n", port[0]);
    Fx *fx = fx_of(&(FxOptions) { .policy = policy });
    char data[16];

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(send_part(fx, port[0], MSG_MORE, 1));
    fx_fails(send_part(fx, port[1], 0, 16), EDESTADDRREQ);
    g_assert_cmpint(recv(peer[0], data, 16, MSG_DONTWAIT), ==, -1);
    /* The beginning is gone. */
    fx_ok(send_part(fx, port[1], 0, 16));
    g_assert_cmpint(recv(peer[1], data, 16, 0), ==, 16);
    fx_ok(send_part(fx, port[0], MSG_MORE, 1));
    fx_ok(send_part(fx, 0, 0, 2));
    g_assert_cmpint(recv(peer[0], data, 16, 0), ==, 3);
    fx_ok(send_part(fx, port[0], MSG_MORE, 1));
    fx_fails(send_part(fx, 0, 0, 16), EACCES);
    /* What is begun for one peer is not the beginning of what goes to another. */
    fx_ok(send_part(fx, port[0], MSG_MORE, 1));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port[1]));
    fx_fails(send_part(fx, 0, 0, 16), EDESTADDRREQ);
    g_assert_cmpint(recv(peer[0], data, 16, MSG_DONTWAIT), ==, -1);
    /* Without UDP_CORK, what it held back has left. */
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_UDP, 1, &(uint32_t) { fx_le(1) }, 4));
    fx_ok(send_part(fx, port[0], 0, 1));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_UDP, 1, &(uint32_t) { 0 }, 4));
    g_assert_cmpint(recv(peer[0], data, 16, 0), ==, 1);
    fx_ok(send_part(fx, port[1], 0, 16));
    close(peer[0]);
    close(peer[1]);
    end_fx();
}

/* A later part is a new one for the rules. */
static void test_parts_reload(void)
{
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    Fx *fx;

    new_file("allow host\n");
    fx = fx_of(&(FxOptions) { .policy_path = the_file.path });
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(send_part(fx, port, MSG_MORE, 1));
    deny(fx);
    fx_fails(send_part(fx, 0, 0, 16), ENETUNREACH);
    g_assert_cmpint(recv(peer, &(char) { 0 }, 1, MSG_DONTWAIT), ==, -1);
    close(peer);
    end_fx();
    end_file();
}

static void connect_elsewhere(Fx *fx)
{
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, the_peer, the_port), EALREADY);
}

/* A datagram to the peer does not go to another one, by its terms. */
static void test_send_and_connect(void)
{
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    int other = peer_socket(SOCK_DGRAM, &the_port);
    g_autofree char *policy = g_strdup_printf("allow host udp %u sent 12/h\n"
                                              "allow host\n", the_port);
    Fx *fx = fx_of(&(FxOptions) { .policy = policy });

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    at_sendmsg = connect_elsewhere;
    fx_ok(send_part(fx, 0, 0, 16));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, the_port));
    close(peer);
    close(other);
    end_fx();
}

static void begin_elsewhere(Fx *fx)
{
    fx_fails(send_part(fx, the_port, MSG_MORE, 1), EAGAIN);
}

/* Nor does it become a part of one that another thread begins. */
static void test_send_and_begin(void)
{
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    int other = peer_socket(SOCK_DGRAM, &the_port);
    Fx *fx = fx_of(&(FxOptions) { .policy = "allow host\n" });

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    at_sendmsg = begin_elsewhere;
    fx_ok(send_part(fx, port, 0, 16));
    g_assert_cmpint(recv(peer, &(char) { 0 }, 1, 0), ==, 1);
    close(peer);
    close(other);
    end_fx();
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-server/between/disconnect", test_disconnect);
    g_test_add_func("/vmrpc-server/between/parked", test_parked);
    g_test_add_func("/vmrpc-server/between/wait-race", test_wait_race);
    g_test_add_func("/vmrpc-server/between/reload-before", test_reload_before);
    g_test_add_func("/vmrpc-server/between/reload-while-connecting",
                    test_reload_while_connecting);
    g_test_add_func("/vmrpc-server/between/reload-unanswered",
                    test_reload_unanswered);
    g_test_add_func("/vmrpc-server/between/reload-accepted",
                    test_reload_accepted);
    g_test_add_func("/vmrpc-server/between/parts-budget", test_parts_budget);
    g_test_add_func("/vmrpc-server/between/parts-reload", test_parts_reload);
    g_test_add_func("/vmrpc-server/between/send-and-connect",
                    test_send_and_connect);
    g_test_add_func("/vmrpc-server/between/send-and-begin",
                    test_send_and_begin);
    return g_test_run();
}
