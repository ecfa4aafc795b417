/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that move to another host, and records that nobody has saved */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/peer/arriving.h"
#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "tests/fixtures/server-fixture.h"

typedef struct Saved {
    VmrpcSavedSock sock[FX_HANDLES];
    unsigned num;
} Saved;

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    Saved *s = opaque;

    g_assert_cmpuint(s->num, <, FX_HANDLES);
    s->sock[s->num++] = *saved;
}

static void restore_entry(const VmrpcAddrMapEntry *entry, void *opaque)
{
    g_assert_cmpint(vmrpc_addrmap_restore(opaque, entry->addr4, &entry->addr6,
                                          entry->remaining_ms,
                                          g_get_monotonic_time() / 1000), ==,
                    0);
}

/*
 * Moves the guest to a new server.  The old one's descriptors are closed
 * before, as if it were on another host.
 */
static Fx *move(Fx *from, Saved *saved)
{
    static const FxOptions options = { .policy = "allow host\nallow ::1\n",
                                       .incoming = true };
    Fx *to = fx_new(&options);

    memset(saved, 0, sizeof(*saved));
    vmrpc_server_save(from->srv, keep, saved);
    vmrpc_addrmap_foreach(vmrpc_server_addrmap(from->srv),
                          g_get_monotonic_time() / 1000, restore_entry,
                          vmrpc_server_addrmap(to->srv));
    memcpy(to->sock, from->sock, sizeof(to->sock));
    to->edge = true;            /* as every socket that is restored */
    fx_free(from);
    for (unsigned i = 0; i < saved->num; i++) {
        FxMirror *m = &to->sock[saved->sock[i].handle];

        g_assert_cmpuint(saved->sock[i].gen, ==, m->gen);
        g_assert_cmpuint(saved->sock[i].ready_seq, ==, m->seq);
        g_assert_cmpint(vmrpc_server_restore(to->srv, &saved->sock[i]), ==,
                        0);
        /* what the guest was told is told anew */
        m->ready = 0;
        m->so_errors = 0;
    }
    return to;
}

static void test_round_trip(void)
{
    Fx *fx = fx_new_default();
    uint32_t one = GUINT32_TO_LE(1), ttl = GUINT32_TO_LE(33);
    uint16_t port, udp_port, listen_port, bound_port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int udp = peer_socket(SOCK_DGRAM, &udp_port);
    Saved *saved = g_new(Saved, 1);
    VmrpcAddrMapStats stats;
    char buf[16];
    FxReply r;
    int fd, client;

    /*
     * 0 listens, 1 is a connected datagram socket, 2 a stream, 3 is bound,
     * 4 fresh, 5 asks the resolver, 6 does so over TCP
     */
    fx_ok(fx_socket(fx, 0, 10, SOCK_STREAM));
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_REUSEADDR, &one, 4));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_TTL, &ttl, 4));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    listen_port = ntohs(r.addr.sin_port);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 3, 0));
    fx_ok(fx_socket(fx, 1, 11, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, udp_port));
    fx_ok(fx_socket(fx, 2, 12, SOCK_STREAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 2, fx->peer4, port), EINPROGRESS);
    fx_wait(fx, 2, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    fx_ok(fx_socket(fx, 3, 13, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 3, fx->guest4, 0);
    bound_port = ntohs(r.addr.sin_port);
    fx_ok(fx_socket(fx, 4, 14, SOCK_STREAM));
    /* a past listener that is lost as a client must not end the migration */
    fx_ok(fx_socket(fx, 7, 17, SOCK_STREAM));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 7, 1, 0));
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 7, SHUT_RD, 0));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 7, fx->peer4, port), EINPROGRESS);
    /* one that listens no more */
    fx_ok(fx_socket(fx, 8, 18, SOCK_STREAM));
    fx_ok(fx_op(fx, VMRPC_LISTEN, 8, 1, 0));
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 8, SHUT_RD, 0));
    fx_ok(fx_socket(fx, 5, 15, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 5, fx->resolver4, 53));
    fx_ok(fx_socket(fx, 6, 16, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 6, fx->resolver4, 53));

    fx = move(fx, saved);
    g_assert_cmpuint(saved->num, ==, 9);
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 3);

    /* the streams are lost, and say so once */
    g_assert_cmpint(fx_wait_error(fx, 2), ==, ECONNRESET);
    g_assert_cmpint(fx_wait_error(fx, 6), ==, ECONNRESET);
    g_assert_cmphex(fx->sock[2].ready & (VMRPC_IN | VMRPC_HUP), ==,
                    VMRPC_IN | VMRPC_HUP);
    r = fx_recv(fx, 2, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_fails(fx_send(fx, 2, "x", 1), EPIPE);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 2, fx->peer4, port), ECONNRESET);
    fx_fails(fx_op(fx, VMRPC_LISTEN, 2, 1, 0), EINVAL);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 2, fx->guest4, 0), EINVAL);
    fx_fails(fx_op(fx, VMRPC_SHUTDOWN, 2, SHUT_RD, 0), ENOTCONN);
    fx_ok(fx_op(fx, VMRPC_GETSOCKNAME, 2, 0, 0));
    fx_fails(fx_getsockopt(fx, 2, SOL_SOCKET, SO_TYPE, buf, 4), ENOPROTOOPT);
    g_assert_cmpuint(fx->sock[2].so_errors, ==, 1);

    /* the listening one listens, with its options */
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_IP, IP_TTL), ==, 33);
    client = peer_connect(SOCK_STREAM, listen_port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 9, 1));
    fx_fails(fx_accept(fx, 8, 10, 1), EINVAL);

    /* the datagram socket has its peer, and the peer its port */
    fx_ok(fx_send(fx, 1, "moved", 5));
    peer_read(udp, buf, 5);
    r = fx_op(fx, VMRPC_GETPEERNAME, 1, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, udp_port);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->peer4.s_addr);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 3, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, bound_port);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 3, fx->guest4, 0), EINVAL);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 4, fx->peer4, port), EINPROGRESS);
    /* and the resolver answers as before */
    fx_ok(fx_send(fx, 5, (uint8_t[12]) { 1, 2, 0x28 }, 12));
    g_assert_cmpuint(fx_recv(fx, 5, buf, 12, 0).value, ==, 12);

    /* once more: what is lost stays lost */
    fx = move(fx, saved);
    g_assert_cmpuint(saved->num, ==, 10);
    g_assert_cmpint(fx_wait_error(fx, 2), ==, ECONNRESET);
    fx_ok(fx_send(fx, 1, "again", 5));
    peer_read(udp, buf, 5);
    for (uint32_t i = 0; i < 10; i++) {
        fx_op(fx, VMRPC_CLOSE, i, 0, 0);
    }
    vmrpc_addrmap_stats(vmrpc_server_addrmap(fx->srv), &stats);
    g_assert_cmpuint(stats.in_use, ==, 0);
    fx_free(fx);
    g_free(saved);
    close(client);
    close(fd);
    close(udp);
    close(listener);
}

/* Its peer is inside the guest: it hears nobody, wherever it is. */
static void test_peer_inside(void)
{
    Fx *fx = fx_new_default();
    Saved *saved = g_new0(Saved, 1);
    uint16_t port;
    char byte;
    FxReply r;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        goto out;
    }
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->guest4, 9));
    for (unsigned i = 0; i < 2; i++) {
        int fd = peer_connect(SOCK_DGRAM, port);

        g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
        g_assert_cmpint(recv(fd, &byte, 1, 0), ==, -1);
        g_assert_cmpint(errno, ==, ECONNREFUSED);
        close(fd);
        fx = move(fx, saved);
    }
    /* and it is nobody's who has no port, or another peer */
    saved->sock[0].flags &= ~VMRPC_SAVED_BOUND;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &saved->sock[0]), <, 0);
    saved->sock[0].flags = VMRPC_SAVED_BOUND | VMRPC_SAVED_SELF |
                           VMRPC_SAVED_CONNECTED;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &saved->sock[0]), <, 0);
out:
    fx_free(fx);
    g_free(saved);
}

/* Given up before the socket has arrived: then it hears everybody. */
static void test_peer_inside_given_up(void)
{
    Fx *from = fx_new_default(), *to = fx_new_default();
    Saved *saved = g_new0(Saved, 1);
    uint16_t port;
    FxReply r;
    int fd;

    fx_ok(fx_socket(from, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(from, VMRPC_BIND, 0, from->guest4, 0);
    port = ntohs(r.addr.sin_port);
    fx_ok(fx_addr_op(from, VMRPC_CONNECT, 0, from->guest4, 9));
    vmrpc_server_save(from->srv, keep, saved);
    memcpy(to->sock, from->sock, sizeof(to->sock));
    to->edge = true;            /* as every socket that is restored */
    g_assert_cmpint(vmrpc_server_restore(to->srv, &saved->sock[0]), ==, 0);
    to->sock[0].ready = 0;
    fx_ok(fx_op(to, VMRPC_CONNECT, 0, 0, 0));
    fx_free(from);
    fx_wait(to, 0, VMRPC_OUT);
    fd = peer_connect(SOCK_DGRAM, port);
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(to, 0, VMRPC_IN);
    close(fd);
    fx_free(to);
    g_free(saved);
}

/* A snapshot is of a guest that has asked for nothing of what was since. */
static void test_forget(void)
{
    Fx *fx = fx_new_default();
    VmrpcNameAddr addr = { .ttl_s = 60 };
    struct in6_addr then, here;
    struct in_addr addr4 = fx_map(fx, "2001:db8::77");
    g_autoptr(GError) err = NULL;
    VmrpcNameFound found;
    DnsName name;

    inet_pton(AF_INET6, "2001:db8::77", &addr.addr6);
    inet_pton(AF_INET6, "2001:db8::99", &then);
    dns_name_from_text(&name, "later.example");
    vmrpc_names_note(fx->srv->reach.names, &name, &addr, 1, vmrpc_now_ms());
    g_assert_cmpint(vmrpc_addrmap_restore(fx->srv->reach.map, addr4, &then, 0,
                                          vmrpc_now_ms()), ==, -EEXIST);
    g_assert_true(vmrpc_server_forget(fx->srv, &err));
    g_assert_no_error(err);
    g_assert_cmpint(vmrpc_addrmap_restore(fx->srv->reach.map, addr4, &then, 0,
                                          vmrpc_now_ms()), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_lookup4(fx->srv->reach.map, addr4, &here), ==,
                    0);
    g_assert_cmpmem(&here, 16, &then, 16);
    g_assert_cmpuint(vmrpc_names_lookup(fx->srv->reach.names, &addr.addr6,
                                        &found,
                                        1), ==, 0);
    fx_free(fx);
}

/* Who has asked for edges does not ask again: each arrival is one. */
static void test_edges(void)
{
    Fx *fx = fx_new_default();
    Saved *saved = g_new0(Saved, 1);
    unsigned events;
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    fx = move(fx, saved);
    fd = peer_connect(SOCK_DGRAM, ntohs(r.addr.sin_port));
    g_assert_cmpint(send(fd, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    for (unsigned i = 0; i < 20; i++) {
        events = fx->sock[0].events;
        g_assert_cmpint(send(fd, "y", 1, 0), ==, 1);
        while (fx->sock[0].events == events) {
            fx_wait_any(fx);
        }
    }
    close(fd);
    fx_free(fx);
    g_free(saved);
}

/* A client that failed and became a server. */
static void test_failed_client(void)
{
    Fx *fx = fx_new_default();
    Saved *saved = g_new0(Saved, 1);
    uint16_t port;
    FxReply r;

    close(peer_socket(SOCK_STREAM, &port));
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    if (!r.so_error) {
        fx_wait_error(fx, 0);
    }
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port),
             ECONNABORTED);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 1, 0));
    fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0), ENOTCONN);
    fx = move(fx, saved);
    g_assert_cmphex(saved->sock[0].flags, ==,
                    VMRPC_SAVED_BOUND | VMRPC_SAVED_LISTENING);
    fx_fails(fx_accept(fx, 0, 1, 1), EAGAIN);
    fx_free(fx);
    g_free(saved);
}

/* A good record, to be spoilt. */
static VmrpcSavedSock good(uint16_t port)
{
    return (VmrpcSavedSock) {
        .handle = 1, .gen = 5, .type = SOCK_STREAM, .ready_seq = 9,
        .flags = VMRPC_SAVED_BOUND | VMRPC_SAVED_LISTENING, .backlog = 4,
        .local_port = port,
    };
}

static void test_hostile(void)
{
    static const uint32_t bad_flags[][2] = {
        /* unbound, a listener would be on all addresses of the host */
        { SOCK_STREAM, VMRPC_SAVED_LISTENING },
        { SOCK_STREAM, VMRPC_SAVED_LISTENING | VMRPC_SAVED_BOUND |
                       VMRPC_SAVED_CONNECTED },
        { SOCK_DGRAM, VMRPC_SAVED_LISTENING | VMRPC_SAVED_BOUND },
        { SOCK_DGRAM, VMRPC_SAVED_RESOLVER },
        { SOCK_STREAM, VMRPC_SAVED_RESOLVER | VMRPC_SAVED_CONNECTED },
        { SOCK_STREAM, 16 },
        { SOCK_DGRAM, UINT32_MAX },
        { SOCK_RAW, 0 },
        { SOCK_STREAM | SOCK_NONBLOCK, 0 },
        { 0, 0 },
        { UINT32_MAX, VMRPC_SAVED_CONNECTED },
    };
    Fx *fx = fx_new_default();
    VmrpcSavedSock *rec = g_new(VmrpcSavedSock, 1);
    unsigned fds = fx_open_fds();
    VmrpcAddrMapStats stats;

    for (size_t i = 0; i < G_N_ELEMENTS(bad_flags); i++) {
        *rec = good(40000);
        rec->type = bad_flags[i][0];
        rec->flags = bad_flags[i][1];
        g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    }
    *rec = good(0);
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    *rec = good(40000);
    rec->handle = FX_HANDLES;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    rec->handle = UINT32_MAX;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    *rec = good(40000);
    rec->backlog = UINT32_MAX;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    *rec = good(40000);
    rec->option_num = VMRPC_SAVED_OPTIONS + 1;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    *rec = good(40000);
    rec->option_num = 1;
    rec->option[0].len = VMRPC_OPTVAL_MAX + 1;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    /* a virtual address that the map does not know */
    *rec = good(40000);
    rec->flags = VMRPC_SAVED_CONNECTED;
    rec->type = SOCK_DGRAM;
    inet_pton(AF_INET, "198.18.99.1", &rec->peer4);
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    g_assert_cmpuint(vmrpc_server_sockets(fx->srv), ==, 0);
    g_assert_cmpuint(fx_open_fds(), ==, fds);

    /* twice the same handle */
    *rec = good(40000);
    rec->flags = 0;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, 0);
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    /* options that are refused do no harm */
    rec->handle = 2;
    rec->option_num = 1;
    rec->option[0] = (VmrpcSavedOption) { SOL_SOCKET, SO_MARK, 4, { 1 } };
    fx->edge = true;  /* restored sockets report edges */
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, 0);
    vmrpc_addrmap_stats(vmrpc_server_addrmap(fx->srv), &stats);
    g_assert_cmpuint(stats.in_use, ==, 0);
    fx_free(fx);

    /* without a DNS proxy there is nobody to ask */
    fx = fx_new(&(FxOptions) { .no_resolver = true });
    *rec = good(40000);
    rec->type = SOCK_DGRAM;
    rec->flags = VMRPC_SAVED_CONNECTED | VMRPC_SAVED_RESOLVER;
    g_assert_cmpint(vmrpc_server_restore(fx->srv, rec), ==, -EINVAL);
    fx_free(fx);
    g_free(rec);
}

/* A peer that this host's policy refuses. */
static void test_policy(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "default deny\n" });
    VmrpcSavedSock rec = {
        .handle = 1, .gen = 5, .type = SOCK_DGRAM, .ready_seq = UINT32_MAX,
        .flags = VMRPC_SAVED_CONNECTED, .peer_port = 9,
    };

    Saved *saved;

    fx->sock[1] = (FxMirror) { .gen = 5, .seq = UINT32_MAX };
    rec.peer4 = fx_map(fx, "2001:db8:7::1").s_addr;
    fx->edge = true;  /* restored sockets report edges */
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &rec), ==, 0);
    /* the counter of reports may wrap */
    g_assert_cmpint(fx_wait_error(fx, 1), ==, EACCES);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_default, ==, 1);
    fx_fails(fx_send(fx, 1, "x", 1), EPIPE);

    /* the next host has another policy, and another peer for it to reach */
    saved = g_new0(Saved, 1);
    vmrpc_server_save(fx->srv, keep, saved);
    fx_free(fx);
    fx = fx_new_default();
    g_assert_cmpuint(saved->sock[0].flags, ==, rec.flags);
    saved->sock[0].peer4 = fx->peer4.s_addr;
    fx->edge = true;
    fx->sock[1] = (FxMirror) { .gen = 5, .seq = saved->sock[0].ready_seq };
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &saved->sock[0]), ==, 0);
    fx_wait(fx, 1, VMRPC_OUT);
    fx_ok(fx_send(fx, 1, "x", 1));
    g_free(saved);
    fx_free(fx);
}

/* Its address is still in use when the guest arrives, and then is not. */
static void test_arriving(void)
{
    Fx *from = fx_new_default(), *to = fx_new_default(), *third;
    Saved *saved = g_new0(Saved, 1);
    struct in_addr any = { };
    uint16_t stream_port, dgram_port, peer_port;
    int peer = peer_socket(SOCK_DGRAM, &peer_port), client;
    FxReply r;

    fx_ok(fx_socket(from, 0, 1, SOCK_STREAM));
    r = fx_addr_op(from, VMRPC_BIND, 0, any, 0);
    stream_port = ntohs(r.addr.sin_port);
    fx_ok(fx_op(from, VMRPC_LISTEN, 0, 4, 0));
    for (uint32_t i = 1; i < 4; i++) {
        fx_ok(fx_socket(from, i, 1, SOCK_DGRAM));
        fx_ok(fx_addr_op(from, VMRPC_CONNECT, i, from->peer4, peer_port));
    }
    r = fx_op(from, VMRPC_GETSOCKNAME, 1, 0, 0);
    dgram_port = ntohs(r.addr.sin_port);
    vmrpc_server_save(from->srv, keep, saved);
    memcpy(to->sock, from->sock, sizeof(to->sock));
    for (unsigned i = 0; i < saved->num; i++) {
        to->edge = true;  /* restored sockets report edges */
        g_assert_cmpint(vmrpc_server_restore(to->srv, &saved->sock[i]), ==,
                        0);
        to->sock[i].ready = 0;
    }
    fx_fails(fx_accept(to, 0, 5, 1), EAGAIN);
    fx_fails(fx_recv(to, 1, NULL, 0, 0), EAGAIN);
    fx_ok(fx_op(to, VMRPC_CLOSE, 2, 0, 0));
    fx_ok(fx_op(to, VMRPC_CONNECT, 3, 0, 0));

    /* it moves on before it has arrived */
    memset(saved, 0, sizeof(*saved));
    vmrpc_server_save(to->srv, keep, saved);
    g_assert_cmpuint(saved->num, ==, 3);
    third = fx_new_default();
    memcpy(third->sock, to->sock, sizeof(to->sock));
    fx_free(to);
    for (unsigned i = 0; i < saved->num; i++) {
        third->edge = true;  /* restored sockets report edges */
        g_assert_cmpint(vmrpc_server_restore(third->srv, &saved->sock[i]), ==,
                        0);
        third->sock[saved->sock[i].handle].ready = 0;
    }
    fx_free(from);
    fx_wait(third, 1, VMRPC_OUT);
    fx_wait(third, 3, VMRPC_OUT);
    r = fx_op(third, VMRPC_GETSOCKNAME, 1, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, dgram_port);
    fx_ok(fx_send(third, 1, "x", 1));
    fx_fails(fx_op(third, VMRPC_GETPEERNAME, 3, 0, 0), ENOTCONN);
    fx_fails(fx_send(third, 3, "x", 1), EDESTADDRREQ);
    client = peer_connect(SOCK_STREAM, stream_port);
    fx_wait(third, 0, VMRPC_IN);
    fx_ok(fx_accept(third, 0, 5, 1));
    fx_free(third);
    g_free(saved);
    close(client);
    close(peer);
}

/* --- what is missing for long --------------------------------------------- */

#define LATE6           "2001:db8::99"

static struct {
    unsigned reports;
    VmrpcArrival last;          /* with the address below */
    char address[INET6_ADDRSTRLEN];
} arrivals;

static void note_arrival(void *opaque, const VmrpcArrival *arrival)
{
    arrivals.reports++;
    arrivals.last = *arrival;
    g_strlcpy(arrivals.address, arrival->address ?: "", INET6_ADDRSTRLEN);
}

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/* The guest of @from on a host of its own; @from is there until it is freed. */
static Fx *arrive(Fx *from, Saved *saved)
{
    static const VmrpcTracer tracer = { .arrival = note_arrival };
    Fx *to = fx_new(&(FxOptions) {
        .policy = "allow host\nallow ::1\nallow 2001:db8:88::/64\n",
        .incoming = true,
    });

    memset(&arrivals, 0, sizeof(arrivals));
    memset(saved, 0, sizeof(*saved));
    vmrpc_server_set_tracer(to->srv, &tracer);
    vmrpc_server_save(from->srv, keep, saved);
    vmrpc_addrmap_foreach(vmrpc_server_addrmap(from->srv),
                          g_get_monotonic_time() / 1000, restore_entry,
                          vmrpc_server_addrmap(to->srv));
    memcpy(to->sock, from->sock, sizeof(to->sock));
    to->edge = true;            /* as every socket that is restored */
    for (unsigned i = 0; i < saved->num; i++) {
        g_assert_cmpint(vmrpc_server_restore(to->srv, &saved->sock[i]), ==,
                        0);
        to->sock[saved->sock[i].handle].ready = 0;
    }
    return to;
}

/* As if it had waited for a minute already. */
static void wait_long(Fx *fx)
{
    fx->srv->arriving_since_ms -= 60000;
}

/* From here on it takes more than time. */
static void stop_clock(Fx *fx)
{
    fx_pump(fx);
    fx->srv->arriving_left = 0;
    fx->srv->arriving_due_ms = vmrpc_now_ms() + 3600000;
    vmrpc_timer_rearm(fx->srv);
}

static void await_all(Fx *fx)
{
    while (fx->srv->arriving_num) {
        fx_wait_any(fx);
    }
    fx_pump(fx);
}

static void await_report(Fx *fx)
{
    unsigned before = arrivals.reports;

    while (arrivals.reports == before) {
        fx_wait_any(fx);
    }
}

/* Handle 0 listens, 1 is bound, 2 has a peer, 3 asks for echoes. */
static uint16_t open_all(Fx *fx, uint16_t peer_port)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SOCKET, 3);
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { }, 0);
    fx_ok(r);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 4, 0));
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 1, fx->guest4, 0));
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 2, fx->peer4, peer_port));
    req.gen = fx_le(1);
    fx->sock[3].gen = 1;
    req.u.raw[0] = fx_le(SOCK_DGRAM);
    req.u.raw[1] = fx_le(IPPROTO_ICMP);
    if (fx_call(fx, &req, NULL, 0, NULL, 0).error == 0) {
        fx_ok(fx_addr_op(fx, VMRPC_BIND, 3, fx->guest4, 77));
    }
    return ntohs(r.addr.sin_port);
}

static void test_address_is_late(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    const char *vm6 = fx_vm6;
    uint16_t port, peer_port;
    unsigned num, events;
    int peer, client;
    Fx *from, *fx;
    FxReply r;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    peer = peer_socket(SOCK_DGRAM, &peer_port);
    fx_vm6 = LATE6;
    run("ip address add " LATE6 "/128 dev lo nodad");
    from = fx_new_default();
    port = open_all(from, peer_port);
    run("ip address del " LATE6 "/128 dev lo");
    fx = arrive(from, saved);
    fx_free(from);
    num = saved->num;
    g_assert_cmpuint(fx->srv->arriving_num, ==, num);

    /* at first all is quiet */
    fx_pump(fx);
    fx_fails(fx_accept(fx, 0, 9, 1), EAGAIN);
    fx_fails(fx_send(fx, 2, "x", 1), EAGAIN);
    g_assert_cmpuint(arrivals.reports, ==, 0);
    wait_long(fx);
    await_report(fx);
    g_assert_cmpuint(arrivals.last.sockets, ==, num);
    g_assert_cmpint(arrivals.last.missing, ==, VMRPC_MISSING_ADDRESS);
    g_assert_cmpint(arrivals.last.error, ==, EADDRNOTAVAIL);
    g_assert_cmpstr(arrivals.address, ==, LATE6);

    /* it goes on from host to host, and waits at each of them */
    for (unsigned i = 0; i < 3; i++) {
        from = fx;
        fx = arrive(from, saved);
        fx_free(from);
        g_assert_cmpuint(saved->num, ==, num);
        g_assert_cmpuint(fx->srv->arriving_num, ==, num);
        wait_long(fx);
        await_report(fx);
        /* The server waits; who sends gets to know. */
        events = fx->sock[0].events;
        fx_wait(fx, 1, VMRPC_OUT);
        fx_wait(fx, 2, VMRPC_OUT);
        fx_fails(fx_send(fx, 2, "x", 1), ENETUNREACH);
        fx_fails(fx_sendto(fx, 1, fx->peer4, peer_port, "x", 1), ENETUNREACH);
        fx_fails(fx_recv(fx, 1, NULL, 0, 0), EAGAIN);
        fx_fails(fx_accept(fx, 0, 9, 1), EAGAIN);
        g_assert_cmphex(fx->sock[0].ready, ==, 0);
        g_assert_cmpuint(fx->sock[0].events, ==, events);
        g_assert_cmpuint(arrivals.reports, ==, 1);
    }

    /* the kernel says when it is there */
    stop_clock(fx);
    run("ip address add " LATE6 "/128 dev lo nodad");
    await_all(fx);
    g_assert_cmpuint(arrivals.reports, ==, 2);
    g_assert_cmpuint(arrivals.last.sockets, ==, 0);
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    client = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 9, 1));
    fx_ok(fx_send(fx, 2, "x", 1));
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    fx_assert_addr(&r, fx->guest4, port);
    fx_free(fx);
    run("ip address del " LATE6 "/128 dev lo");
    fx_vm6 = vm6;
    close(client);
    close(peer);
}

/* The last that waits is closed by the guest: nobody waits any more. */
static void test_closed_while_waiting(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    Fx *from = fx_new_default(), *fx;

    fx_ok(fx_socket(from, 0, 1, SOCK_STREAM));
    fx_ok(fx_op(from, VMRPC_LISTEN, 0, 1, 0));
    fx = arrive(from, saved);
    wait_long(fx);
    await_report(fx);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(arrivals.reports, ==, 2);
    g_assert_cmpuint(arrivals.last.sockets, ==, 0);
    fx_free(fx);
    fx_free(from);
}

/* Somebody else has it: nobody tells when it is free, but it is found out. */
static void test_port_is_taken(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    Fx *from = fx_new_default(), *fx;
    uint16_t port, peer_port;
    int peer = peer_socket(SOCK_DGRAM, &peer_port);

    port = open_all(from, peer_port);
    fx = arrive(from, saved);
    /* of what is connected, too */
    g_assert_cmpuint(fx->srv->missing_num[VMRPC_MISSING_PORT], ==,
                     saved->num);
    wait_long(fx);
    await_report(fx);
    g_assert_cmpint(arrivals.last.missing, ==, VMRPC_MISSING_PORT);
    g_assert_cmpuint(arrivals.last.sockets, ==, saved->num);
    g_assert_cmpstr(arrivals.address, ==, fx_vm6);
    g_assert_cmpuint(arrivals.last.port, ==, port);
    fx_fails(fx_send(fx, 2, "x", 1), EADDRINUSE);
    fx_fails(fx_accept(fx, 0, 9, 1), EAGAIN);
    fx_free(from);
    await_all(fx);
    g_assert_cmpuint(arrivals.last.sockets, ==, 0);
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    fx_ok(fx_send(fx, 2, "x", 1));
    close(peer);
    fx_free(fx);
}

/* The address is here, the route to the peer is not. */
static void test_route_is_late(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    Fx *from, *fx;

    if (!fx_has_namespace() ||
        system("ip link add r0 type veth peer name r1") != 0) {
        g_test_skip("needs a network namespace and veth");
        return;
    }
    run("ip link set r0 up && ip link set r1 up &&"
        "ip -6 route add 2001:db8:88::/64 dev r0");
    from = fx_new(&(FxOptions) { .policy = "" });
    fx_ok(fx_socket(from, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(from, VMRPC_CONNECT, 0, fx_map(from, "2001:db8:88::1"),
                     9));
    run("ip -6 route del 2001:db8:88::/64 dev r0");
    fx = arrive(from, saved);
    fx_free(from);
    wait_long(fx);
    await_report(fx);
    /* The port that it has meanwhile is free by then. */
    g_assert_cmpint(arrivals.last.missing, ==, VMRPC_MISSING_ROUTE);
    g_assert_cmpstr(arrivals.address, ==, "2001:db8:88::1");
    fx_fails(fx_send(fx, 0, "x", 1), ENETUNREACH);
    stop_clock(fx);
    run("ip -6 route add 2001:db8:88::/64 dev r0");
    await_all(fx);
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    fx_ok(fx_send(fx, 0, "x", 1));
    fx_free(fx);
    run("ip link del r0");
}

/* This host has no descriptor: options and all come with the next one. */
static void test_descriptor_is_late(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    Fx *from = fx_new_default(), *fx;
    uint32_t ttl = fx_le(33);
    struct rlimit before, none;
    FxReply r;

    fx_ok(fx_socket(from, 0, 1, SOCK_STREAM));
    fx_ok(fx_setsockopt(from, 0, IPPROTO_IP, IP_TTL, &ttl, 4));
    fx_ok(fx_op(from, VMRPC_LISTEN, 0, 1, 0));
    vmrpc_server_save(from->srv, keep, saved);
    r = fx_op(from, VMRPC_GETSOCKNAME, 0, 0, 0);
    fx_ok(fx_op(from, VMRPC_CLOSE, 0, 0, 0));
    fx = from;
    fx->edge = true;
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    none = before;
    none.rlim_cur = 0;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    g_assert_cmpint(vmrpc_server_restore(fx->srv, &saved->sock[0]), ==, 0);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    g_assert_cmpuint(fx->srv->missing_num[VMRPC_MISSING_RESOURCE], ==, 1);
    fx->sock[0] = (FxMirror) { .gen = 1, .seq = saved->sock[0].ready_seq };
    ttl = fx_le(34);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_TTL, &ttl, 4));
    fx_fails(fx_accept(fx, 0, 9, 1), EAGAIN);
    await_all(fx);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_IP, IP_TTL), ==, 34);
    close(peer_connect(SOCK_STREAM, ntohs(r.addr.sin_port)));
    fx_wait(fx, 0, VMRPC_IN);
    fx_free(fx);
}

/* The guest's calls meanwhile count, here and on the next host. */
static void test_calls_while_waiting(void)
{
    g_autofree Saved *saved = g_new0(Saved, 1);
    Fx *from = fx_new_default(), *fx, *next;
    uint32_t ttl = fx_le(33);
    uint16_t port;
    FxReply r;

    /* 0 listens, 1 will listen, 2 will not any more */
    for (uint32_t i = 0; i < 3; i++) {
        fx_ok(fx_socket(from, i, 1, SOCK_STREAM));
        fx_ok(fx_addr_op(from, VMRPC_BIND, i, from->guest4, 0));
        if (i != 1) {
            fx_ok(fx_op(from, VMRPC_LISTEN, i, 1, 0));
        }
    }
    r = fx_op(from, VMRPC_GETSOCKNAME, 1, 0, 0);
    port = ntohs(r.addr.sin_port);
    fx = arrive(from, saved);
    g_assert_cmpuint(fx->srv->arriving_num, ==, 3);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 7, 0));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_TTL, &ttl, 4));
    g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_TYPE), ==,
                    SOCK_STREAM);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, 9), EISCONN);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 1, fx->guest4, 0), EINVAL);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, 9), EADDRINUSE);
    fx_fails(fx_send(fx, 1, "x", 1), EPIPE);
    fx_fails(fx_recv(fx, 1, NULL, 0, 0), ENOTCONN);
    fx_fails(fx_accept(fx, 1, 9, 1), EINVAL);
    r = fx_op(fx, VMRPC_LISTEN, 1, 5, 0);
    fx_ok(r);
    fx_assert_addr(&r, fx->guest4, port);
    fx_fails(fx_accept(fx, 1, 9, 1), EAGAIN);
    fx_ok(fx_op(fx, VMRPC_SHUTDOWN, 2, SHUT_RD, 0));
    fx_fails(fx_accept(fx, 2, 9, 1), EINVAL);

    next = arrive(fx, saved);
    fx_free(fx);
    g_assert_cmpuint(saved->sock[0].backlog, ==, 7);
    g_assert_cmpuint(saved->sock[1].backlog, ==, 5);
    fx_free(from);
    await_all(next);
    g_assert_cmpint(fx_getsockopt_int(next, 0, IPPROTO_IP, IP_TTL), ==, 33);
    close(peer_connect(SOCK_STREAM, port));
    fx_wait(next, 1, VMRPC_IN);
    fx_fails(fx_accept(next, 2, 9, 1), EINVAL);
    fx_free(next);
}

/* --- whatever a socket is, it is saved, and what is saved is taken -------- */

enum {
    BY_DATAGRAMS = 1, BY_PING = 2, HAS_PORT = 4, HAS_GROUP = 8,
    BACKING_SHIFT = 4, BACKING_MASK = 3,
    PEER_SHIFT = 6, STATES = (VMRPC_PEER_SELF + 1) << PEER_SHIFT,
};

/* Also those that no sequence of calls leads to, as far as anybody knows. */
static void put_socket(Fx *fx, unsigned state)
{
    static const VmrpcBackingOps *const ops[] = {
        [VMRPC_BACKING_HOST] = &vmrpc_host_backing,
        [VMRPC_BACKING_RESOLVER] = &vmrpc_resolver_backing,
        [VMRPC_BACKING_ARRIVING] = &vmrpc_arriving_backing,
        [VMRPC_BACKING_LOST] = &vmrpc_lost_backing,
    };
    int type = state & BY_DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM;
    VmrpcBacking backing = state >> BACKING_SHIFT & BACKING_MASK;
    struct sockaddr_in addr = { .sin_addr = fx->peer4, .sin_port = htons(9) };
    VmrpcSock *s;

    g_assert_cmpint(vmrpc_sock_add(fx->srv, 0, 1, type, ops[backing], &s), ==,
                    0);
    if (backing == VMRPC_BACKING_HOST) {
        s->fd = vmrpc_host_socket(fx->srv, type, 0);
    }
    if (state & HAS_PORT && s->fd >= 0) {
        g_assert_cmpint(vmrpc_host_bind(fx->srv, s, 0), ==, 0);
    }
    s->binding = state & HAS_PORT ? VMRPC_BINDING_HOST : VMRPC_BINDING_NONE;
    s->local_port = state & HAS_PORT ? htons(40000) : 0;
    if (type == SOCK_DGRAM && state & BY_PING) {
        s->proto = IPPROTO_ICMP;
    }
    s->backlog = type == SOCK_STREAM ? 3 : 0;
    s->peer = state >> PEER_SHIFT;
    if (vmrpc_sock_is_connected(s)) {
        vmrpc_sock_set_peer(fx->srv, s, s->peer, &addr);
    }
    if (s->proto == IPPROTO_UDP && state & HAS_GROUP) {
        s->bound_group = fx_ip4("239.1.2.3");
    }
}

static void test_every_state(void)
{
    Fx *fx[2] = { fx_new_default(), fx_new_default() };
    g_autofree Saved *first = g_new(Saved, 1), *again = g_new(Saved, 1);
    VmrpcSavedSock *a = first->sock, *b = again->sock;

    g_assert_cmphex(fx[0]->peer4.s_addr, ==, fx[1]->peer4.s_addr);
    for (unsigned state = 0; state < STATES; state++) {
        first->num = again->num = 0;
        put_socket(fx[0], state);
        vmrpc_server_save(fx[0]->srv, keep, first);
        vmrpc_server_reset(fx[0]->srv);
        if (vmrpc_server_restore(fx[1]->srv, a) < 0) {
            g_error("state 0x%x is not taken: flags 0x%x", state, a->flags);
        }
        vmrpc_server_save(fx[1]->srv, keep, again);
        g_assert_cmpint(vmrpc_server_restore(fx[0]->srv, b), ==, 0);
        vmrpc_server_reset(fx[0]->srv);
        vmrpc_server_reset(fx[1]->srv);

        g_assert_cmpint(a->flags & VMRPC_SAVED_PING, ==,
                        (state & 3) == (BY_DATAGRAMS | BY_PING)
                        ? VMRPC_SAVED_PING : 0);
        if (!(state & BY_DATAGRAMS) &&
            (state >> BACKING_SHIFT & BACKING_MASK) == VMRPC_BACKING_LOST) {
            g_assert_cmphex(a->flags, ==, VMRPC_SAVED_CONNECTED);
        }
        /* and what it is stays what it is; a peer brings a port */
        g_assert_cmphex(a->flags & ~VMRPC_SAVED_BOUND, ==,
                        b->flags & ~VMRPC_SAVED_BOUND);
        g_assert_cmpuint(a->peer4, ==, b->peer4);
        g_assert_cmpuint(a->peer_port, ==, b->peer_port);
        if (a->flags & VMRPC_SAVED_BOUND) {
            g_assert_cmphex(a->flags, ==, b->flags);
            g_assert_cmpuint(a->local_port, ==, b->local_port);
            g_assert_cmpuint(a->backlog, ==, b->backlog);
        }
    }
    fx_free(fx[0]);
    fx_free(fx[1]);
}

/* The errors of calls on a stream whose backing is not a host socket */
static void test_every_backing(void)
{
    static const struct {
        unsigned op;
        int error[VMRPC_BACKING_LOST + 1];
    } calls[] = {
        { VMRPC_BIND, { 0, EINVAL, EADDRINUSE, EINVAL } },
        { VMRPC_LISTEN, { 0, EINVAL, EADDRINUSE, EINVAL } },
        { VMRPC_CONNECT, { 0, EISCONN, EADDRINUSE, ECONNRESET } },
        { VMRPC_ACCEPT, { 0, EINVAL, EINVAL, EINVAL } },
        { VMRPC_SENDMSG, { 0, 0, EPIPE, EPIPE } },
        { VMRPC_RECVMSG, { 0, EAGAIN, ENOTCONN, 0 } },
        { VMRPC_GETPEERNAME, { 0, ENOTCONN, ENOTCONN, ENOTCONN } },
        { VMRPC_SHUTDOWN, { 0, 0, EBADF, ENOTCONN } },
    };
    Fx *fx = fx_new_default();

    for (VmrpcBacking b = VMRPC_BACKING_RESOLVER; b <= VMRPC_BACKING_LOST;
         b++) {
        VmrpcSock *s;

        put_socket(fx, b << BACKING_SHIFT);
        s = fx->srv->socks[0];
        s->missing = VMRPC_MISSING_PORT;
        s->missing_error = EADDRINUSE;
        vmrpc_sock_refresh(fx->srv, s);
        fx->sock[0] = (FxMirror) { .gen = 1 };
        for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++) {
            fx_fails(fx_addr_op(fx, calls[i].op, 0, fx->guest4, 0),
                     calls[i].error[b]);
        }
        vmrpc_server_reset(fx->srv);
    }
    fx_free(fx);
}

static void keep_name(void *opaque, const VmrpcSavedName *saved)
{
    g_array_append_vals(opaque, saved, 1);
}

/* What the guest knows by name stays open to it. */
static void test_names(void)
{
    FxOptions options = { .policy = "allow a.test\ndefault deny\n" };
    g_autoptr(GArray) names = g_array_new(FALSE, FALSE,
                                          sizeof(VmrpcSavedName));
    VmrpcSavedName bad = { .len = 3, .name = { 5, 'a' } };
    VmrpcNameAddr addrs[2] = { { .ttl_s = 60 }, { .ttl_s = 60 } };
    struct in6_addr siblings[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameFound found;
    DnsName name;
    Fx *fx = fx_new(&options);

    g_assert_cmpint(dns_name_from_text(&name, "A.test"), ==, 0);
    inet_pton(AF_INET6, "2001:db8:7::1", &addrs[0].addr6);
    inet_pton(AF_INET6, "2001:db8:7::2", &addrs[1].addr6);
    vmrpc_names_note(fx->srv->reach.names, &name, addrs, 2, vmrpc_now_ms());
    g_assert_cmpuint(vmrpc_server_save_names(fx->srv, keep_name, names), ==,
                     2);
    fx_free(fx);

    fx = fx_new(&options);
    g_assert_cmpuint(vmrpc_server_save_names(fx->srv, NULL, NULL), ==, 0);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_map(fx, "2001:db8:7::1"), 9),
             EACCES);
    for (guint i = 0; i < names->len; i++) {
        g_assert_cmpint(vmrpc_server_restore_name(
            fx->srv, &g_array_index(names, VmrpcSavedName, i)), ==, 0);
    }
    /* the policy lets it pass, though no route leads there */
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_map(fx, "2001:db8:7::1"), 9),
             ENETUNREACH);
    g_assert_cmpuint(vmrpc_names_lookup(fx->srv->reach.names, &addrs[1].addr6,
                                        &found, 1), ==, 1);
    g_assert_cmpuint(vmrpc_names_siblings(fx->srv->reach.names, &found,
                                          vmrpc_now_ms(), siblings), ==, 2);
    g_assert_cmpmem(&siblings[0], 16, &addrs[0].addr6, 16);
    /* a name that is cut, one with a pointer, one with something behind it */
    g_assert_cmpint(vmrpc_server_restore_name(fx->srv, &bad), ==, -EINVAL);
    bad = (VmrpcSavedName) { .len = 4, .name = { 1, 'a', 0xc0, 0 } };
    g_assert_cmpint(vmrpc_server_restore_name(fx->srv, &bad), ==, -EINVAL);
    bad = (VmrpcSavedName) { .len = 4, .name = { 1, 'a', 0, 0 } };
    g_assert_cmpint(vmrpc_server_restore_name(fx->srv, &bad), ==, -EINVAL);
    bad.len = 3;
    g_assert_cmpint(vmrpc_server_restore_name(fx->srv, &bad), ==, 0);
    bad.len = UINT32_MAX;
    g_assert_cmpint(vmrpc_server_restore_name(fx->srv, &bad), ==, -EINVAL);
    fx_free(fx);
}

static void refuse_nat64(Fx *fx, const VmrpcSavedNat64 *saved, uint32_t num,
                         uint32_t bad)
{
    VmrpcSavedNat64 rec[VMRPC_NAT64_MAX];

    g_assert_cmpuint(vmrpc_server_restore_nat64(fx->srv, saved, num), ==,
                     bad);
    g_assert_cmpuint(vmrpc_server_save_nat64(fx->srv, rec), ==, 0);
}

/* NAT64 prefixes as no server has them. */
static void test_nat64_hostile(void)
{
    static const FxOptions options = { .nat64_auto = true };
    static const unsigned bad[] = { 0, 31, 33, 72, 95, 97, 128, UINT32_MAX };
    const VmrpcSavedNat64 good = { { 0x20, 1, 0xd, 0xb8 }, 64, 1, 0 };
    VmrpcSavedNat64 rec[VMRPC_NAT64_MAX + 1] = { good, good };
    Fx *fx = fx_new(&options);

    refuse_nat64(fx, rec, 2, 1);        /* twice the same */
    rec[1].len = 96;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        rec[0].len = bad[i];
        refuse_nat64(fx, rec, 1, 0);
        refuse_nat64(fx, rec, 2, 0);
    }
    rec[0] = good;
    rec[1].in_use = 2;
    refuse_nat64(fx, rec, 2, 1);
    rec[1].in_use = UINT32_MAX;
    refuse_nat64(fx, rec, 2, 1);
    rec[1].in_use = 1;                  /* behind one that is not */
    rec[0].in_use = 0;
    refuse_nat64(fx, rec, 2, 1);
    rec[0] = good;
    rec[1].addr6[15] = 1;               /* behind the prefix */
    refuse_nat64(fx, rec, 2, 1);
    rec[1] = good;
    rec[1].addr6[8] = 1;                /* bits 64 to 71 */
    refuse_nat64(fx, rec, 2, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(rec); i++) {
        rec[i] = good;
        rec[i].addr6[7] = i;
    }
    refuse_nat64(fx, rec, VMRPC_NAT64_MAX + 1, VMRPC_NAT64_MAX);
    g_assert_cmpuint(vmrpc_server_restore_nat64(fx->srv, rec,
                                                VMRPC_NAT64_MAX), ==,
                     VMRPC_NAT64_MAX);
    fx_free(fx);
}

/* All that are known move, and what is configured stays what is used. */
static void test_nat64(void)
{
    static const FxOptions options[] = {
        { .nat64_auto = true }, { .nat64 = true }, { },
    };
    static const VmrpcSavedNat64 good[] = {
        { { 0x20, 1, 0xd, 0xb8 }, 64, 1, 0 },
        { { 0x20, 1, 0xd, 0xb8, 1 }, 48, 1, 5 },
        { { 0x20, 1, 0xd, 0xb8, 2 }, 96, 0, 7 * 24 * 3600 - 1 },
    };
    VmrpcSavedNat64 rec[VMRPC_NAT64_MAX];

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        Fx *fx = fx_new(&options[i]);
        const VmrpcNat64List *list = &fx->srv->reach.nat64;

        g_assert_cmpuint(vmrpc_server_restore_nat64(fx->srv, good, 3), ==, 3);
        g_assert_cmpuint(list->current, ==, i == 0 ? 2 : i == 1 ? 1 : 0);
        g_assert_cmpuint(list->prefix[0].len, ==, i == 1 ? 96 : 64);
        g_assert_cmpuint(vmrpc_server_save_nat64(fx->srv, rec), ==,
                         i == 1 ? 4 : 3);
        for (size_t j = 0; i == 0 && j < G_N_ELEMENTS(good); j++) {
            g_assert_cmpuint(rec[j].age_s, >=, good[j].age_s);
            g_assert_cmpuint(rec[j].age_s, <=, good[j].age_s + FX_WAIT_MS);
            rec[j].age_s = good[j].age_s;
            g_assert_cmpmem(&rec[j], sizeof(rec[j]), &good[j],
                            sizeof(good[j]));
        }
        /* what is known once is not known twice */
        g_assert_cmpuint(vmrpc_server_restore_nat64(fx->srv, good, 3), ==, 3);
        g_assert_cmpuint(list->num, ==, i == 1 ? 4 : 3);
        fx_free(fx);
    }
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/saved/round-trip", test_round_trip);
    g_test_add_func("/vmrpc/server/saved/edges", test_edges);
    g_test_add_func("/vmrpc/server/saved/failed-client", test_failed_client);
    g_test_add_func("/vmrpc/server/saved/arriving", test_arriving);
    g_test_add_func("/vmrpc/server/saved/address-is-late",
                    test_address_is_late);
    g_test_add_func("/vmrpc/server/saved/closed-while-waiting",
                    test_closed_while_waiting);
    g_test_add_func("/vmrpc/server/saved/port-is-taken", test_port_is_taken);
    g_test_add_func("/vmrpc/server/saved/route-is-late", test_route_is_late);
    g_test_add_func("/vmrpc/server/saved/descriptor-is-late",
                    test_descriptor_is_late);
    g_test_add_func("/vmrpc/server/saved/calls-while-waiting",
                    test_calls_while_waiting);
    g_test_add_func("/vmrpc/server/saved/every-state", test_every_state);
    g_test_add_func("/vmrpc/server/saved/every-backing", test_every_backing);
    g_test_add_func("/vmrpc/server/saved/hostile", test_hostile);
    g_test_add_func("/vmrpc/server/saved/policy", test_policy);
    g_test_add_func("/vmrpc/server/saved/names", test_names);
    g_test_add_func("/vmrpc/server/saved/nat64", test_nat64);
    g_test_add_func("/vmrpc/server/saved/nat64-hostile", test_nat64_hostile);
    g_test_add_func("/vmrpc/server/saved/peer-inside", test_peer_inside);
    g_test_add_func("/vmrpc/server/saved/peer-inside-given-up",
                    test_peer_inside_given_up);
    g_test_add_func("/vmrpc/server/saved/forget", test_forget);
    return g_test_run();
}
