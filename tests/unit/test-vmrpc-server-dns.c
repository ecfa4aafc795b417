/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The DNS proxy as a guest's sockets meet it, with a real upstream server */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/server/inspect.h"
#include "hw/vmrpc/sock/state.h"
#include "tests/fixtures/server-dns-fixture.h"

/* "a.example", with @id; behind two octets of length if @tcp */
static size_t make_query(uint8_t *buf, uint16_t id, uint8_t type, bool tcp)
{
    static const uint8_t rest[] = {
        1, 0, 0, 1, 0, 0, 0, 0, 0, 0,
        1, 'a', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0,
    };
    size_t n = 0;

    if (tcp) {
        buf[n++] = 0;
        buf[n++] = 2 + sizeof(rest) + 4;
    }
    buf[n++] = id >> 8;
    buf[n++] = id;
    memcpy(buf + n, rest, sizeof(rest));
    n += sizeof(rest);
    memcpy(buf + n, (uint8_t[]) { 0, type, 0, 1 }, 4);
    return n + 4;
}

/* The one A record of an answer to make_query() leads to the peer. */
static void assert_answer(Dns *d, const uint8_t *msg, size_t len, uint16_t id)
{
    struct in6_addr want, back;
    struct in_addr addr4;

    g_assert_cmpuint(len, >=, 27 + 16);
    g_assert_cmphex(msg[0] << 8 | msg[1], ==, id);
    g_assert_cmpuint(msg[3] & 15, ==, 0);
    g_assert_cmpuint(msg[7], ==, 1);
    memcpy(&addr4, msg + 27 + 12, 4);
    inet_pton(AF_INET6, fx_peer6, &want);
    if (!fx_has_namespace()) {
        g_assert_cmphex(addr4.s_addr, ==, d->fx->guest4.s_addr);
        return;
    }
    g_assert_cmpint(vmrpc_addrmap_lookup4(vmrpc_server_addrmap(d->fx->srv),
                                          addr4, &back), ==, 0);
    g_assert_cmpmem(&back, 16, &want, 16);
}

static bool is_dead_end(void)
{
    /* ::1 is no address that the proxy gives to a guest */
    return !fx_has_namespace();
}

static void assert_from_resolver(Fx *fx, const FxReply *r)
{
    g_assert_cmpint(r->addr.sin_family, ==, AF_INET);
    g_assert_cmphex(r->addr.sin_addr.s_addr, ==, fx->resolver4.s_addr);
    g_assert_cmpuint(ntohs(r->addr.sin_port), ==, 53);
}

/*
 * Receives an answer, and where it came to, if the socket asks for that: the
 * guest's own address, though no host socket has received anything.
 */
static void recv_at_own(Dns *d, int flags, bool asks)
{
    struct vmrpc_req req = fx_req(d->fx, VMRPC_RECVMSG, 0);
    uint8_t in[200 + 512];
    struct in_addr seen[2];
    FxReply r;

    req.control_len = fx_le(200);
    req.u.msg.flags = fx_le(flags);
    r = fx_call(d->fx, &req, NULL, 0, in, sizeof(in));
    fx_ok(r);
    assert_from_resolver(d->fx, &r);
    assert_answer(d, in + 200, r.value, 0xbeef);
    g_assert_cmpuint(r.control_len, ==, asks ? 32 : 0);
    if (asks) {
        /* struct cmsghdr of 64 bits, in_pktinfo */
        g_assert_cmpuint(in[0], ==, 28);
        g_assert_cmpuint(in[12], ==, IP_PKTINFO);
        memcpy(seen, in + 20, sizeof(seen));
        g_assert_cmphex(seen[0].s_addr, ==, d->fx->guest4.s_addr);
        g_assert_cmphex(seen[1].s_addr, ==, d->fx->guest4.s_addr);
    }
}

static void test_control(void)
{
    uint32_t one = fx_le(1);
    uint8_t query[64];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, false);
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    for (unsigned asks = 0; asks < 2; asks++) {
        if (asks) {
            fx_ok(fx_setsockopt(d.fx, 0, IPPROTO_IP, IP_PKTINFO, &one, 4));
        }
        fx_ok(fx_sendto(d.fx, 0, d.fx->resolver4, 53, query, len));
        fx_wait(d.fx, 0, VMRPC_IN);
        recv_at_own(&d, MSG_PEEK, asks);
        recv_at_own(&d, 0, asks);
    }
    dns_clear(&d);
}

static void test_udp(void)
{
    Dns d;
    uint8_t query[64], msg[512];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    FxReply r, peeked;
    Fx *fx;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, false);
    fx = d.fx;
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    /* unconnected */
    r = fx_sendto(fx, 0, fx->resolver4, 53, query, len);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, len);
    fx_fails(fx_recv(fx, 0, msg, sizeof(msg), 0), EAGAIN);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(d.queries, >=, 1);
    peeked = fx_recv(fx, 0, msg, sizeof(msg), MSG_PEEK);
    fx_ok(peeked);
    assert_answer(&d, msg, peeked.value, 0xbeef);
    assert_from_resolver(fx, &peeked);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0).value, ==,
                     peeked.value);
    r = fx_recv(fx, 0, msg, 5, MSG_PEEK);
    g_assert_cmpuint(r.value, ==, 5);
    g_assert_cmphex(r.msg_flags, ==, MSG_TRUNC);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    r = fx_recv(fx, 0, msg, 5, MSG_TRUNC);
    g_assert_cmpuint(r.value, ==, peeked.value);
    g_assert_cmpint(r.ret, ==, sizeof(struct vmrpc_resp) + 5);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    fx_fails(fx_recv(fx, 0, msg, 5, 0), EAGAIN);

    /* connected */
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->guest4.s_addr);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    r = fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0);
    fx_ok(r);
    assert_from_resolver(fx, &r);
    fx->cut = 3;
    fx_ok(fx_send(fx, 0, query, len));
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, msg, sizeof(msg), 0);
    fx->cut = 0;
    assert_answer(&d, msg, r.value, 0xbeef);
    /* another destination is not the resolver's */
    fx_ok(fx_sendto(fx, 0, fx->peer4, 9, "x", 1));
    /* shut down there is nothing to wait for */
    r = fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_RDWR, 0);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    r = fx_recv(fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0).value, ==, 0);
    fx_fails(fx_send(fx, 0, query, len), EPIPE);
    dns_clear(&d);
}

/*
 * A name of IPv4 alone, for which a DNS64 has made an address: what comes from
 * there has the address that the name has led to.
 */
static void test_dns64(void)
{
    struct in_addr addr4, want = fx_ip4("198.51.100.5");
    struct sockaddr_in6 at = { .sin6_family = AF_INET6 }, from;
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    uint8_t query[64], msg[512];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    socklen_t at_len = sizeof(at), from_len = sizeof(from);
    FxReply r;
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        close(fd);
        return;
    }
    inet_pton(AF_INET6, FX_NAT64 "c633:6405", &at.sin6_addr);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    getsockname(fd, (struct sockaddr *)&at, &at_len);
    dns_init(&d, true);
    d.nat64 = FX_NAT64 "192.0.0.170";
    d.addr6 = FX_NAT64 "c633:6405";
    while (!vmrpc_nat64_in_use(&d.fx->srv->reach.nat64)) {
        fx_wait_any(d.fx);
    }
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(d.fx, 0, d.fx->resolver4, 53, query, len));
    fx_wait(d.fx, 0, VMRPC_IN);
    r = fx_recv(d.fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(msg[7], ==, 1);
    memcpy(&addr4, msg + 27 + 12, 4);
    g_assert_cmphex(addr4.s_addr, ==, want.s_addr);
    fx_ok(fx_sendto(d.fx, 0, addr4, ntohs(at.sin6_port), "?", 1));
    g_assert_cmpint(recvfrom(fd, msg, 1, 0, (struct sockaddr *)&from,
                             &from_len), ==, 1);
    g_assert_cmpint(sendto(fd, "!", 1, 0, (struct sockaddr *)&from, from_len),
                    ==, 1);
    fx_wait(d.fx, 0, VMRPC_IN);
    r = fx_recv(d.fx, 0, msg, 1, 0);
    fx_ok(r);
    fx_assert_addr(&r, addr4, ntohs(at.sin6_port));
    dns_clear(&d);
    close(fd);
}

static struct {
    unsigned told;
    char text[128];
} pool;

static void trace_pool(void *opaque, struct in_addr addr4, const char *name)
{
    char addr[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &addr4, addr, sizeof(addr));
    pool.told++;
    g_snprintf(pool.text, sizeof(pool.text), "%s %s", addr, name ?: "-");
}

/*
 * A VPN of the host hands out addresses of our pool ("fake IP" DNS): the answer
 * does not have them, which would be other peers in the guest, and it is told.
 */
static void test_pool_of_another(void)
{
    const VmrpcTracer tracer = { .pool = trace_pool };
    uint8_t query[64], msg[512];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    FxReply r;
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, true);
    vmrpc_server_set_tracer(d.fx->srv, &tracer);
    d.nat64 = FX_NAT64 "192.0.0.170";
    d.addr4 = "198.18.0.77";
    while (!vmrpc_nat64_in_use(&d.fx->srv->reach.nat64)) {
        fx_wait_any(d.fx);
    }
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(d.fx, 0, d.fx->resolver4, 53, query, len));
    fx_wait(d.fx, 0, VMRPC_IN);
    r = fx_recv(d.fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(msg[7], ==, 0);
    g_assert_cmpuint(pool.told, ==, 1);
    g_assert_true(g_str_has_prefix(pool.text, "198.18.0.77 "));
    g_assert_cmpuint(fx_reach_counters(d.fx)->pool_in_answers, ==, 1);

    /* A program of the guest has such an address by other means. */
    fx_fails(fx_sendto(d.fx, 0, fx_ip4(d.addr4), 7, "?", 1), EHOSTUNREACH);
    g_assert_cmpuint(pool.told, ==, 2);
    g_assert_cmpstr(pool.text, ==, "198.18.0.77 -");
    g_assert_cmpuint(fx_reach_counters(d.fx)->unreachable_no_mapping, ==, 1);

    /* Other addresses are nobody's but the NAT64's. */
    d.addr4 = "198.51.100.5";
    len = make_query(query, 0xbef0, TYPE_A, false);
    query[13]++;                /* another name */
    fx_ok(fx_sendto(d.fx, 0, d.fx->resolver4, 53, query, len));
    fx_wait(d.fx, 0, VMRPC_IN);
    fx_ok(fx_recv(d.fx, 0, msg, sizeof(msg), 0));
    g_assert_cmpuint(msg[7], ==, 1);
    g_assert_cmpuint(pool.told, ==, 2);
    dns_clear(&d);
}

/* One question, asked often: the server has it once, each has an answer. */
static void test_same_question(void)
{
    bool answered[60] = { false };
    uint8_t query[64], msg[512];
    unsigned id, before;
    Dns d;
    FxReply r;
    Fx *fx;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, false);
    fx = d.fx;
    /* that for the NAT64 prefix is another */
    while (!fx->srv->nat64_due_ms || fx->srv->nat64_asking) {
        fx_wait_any(fx);
    }
    before = d.queries;
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    for (id = 0; id < G_N_ELEMENTS(answered); id++) {
        size_t len = make_query(query, id, TYPE_A, false);

        query[13] = id % 2 ? 'a' : 'A';
        fx_ok(fx_sendto(fx, 0, fx->resolver4, 53, query, len));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(answered); i++) {
        while ((r = fx_recv(fx, 0, msg, sizeof(msg), 0)).error) {
            g_assert_cmpint(r.error, ==, EAGAIN);
            fx_wait_any(fx);
        }
        id = msg[0] << 8 | msg[1];
        g_assert_cmpuint(id, <, G_N_ELEMENTS(answered));
        g_assert_false(answered[id]);
        answered[id] = true;
        assert_answer(&d, msg, r.value, id);
        /* In the guest's own spelling */
        g_assert_cmpint(msg[13], ==, id % 2 ? 'a' : 'A');
    }
    g_assert_cmpuint(d.queries, ==, before + 1);
    dns_clear(&d);
}

/* A datagram socket that changes its mind. */
static void test_udp_reconnect(void)
{
    Fx *fx = fx_new_default();
    uint16_t port, own;
    int peer = peer_socket(SOCK_DGRAM, &port);
    char buf[8];
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    own = ntohs(r.addr.sin_port);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    /* its port is known, and stays */
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53);
    fx_ok(r);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, own);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    fx_ok(fx_send(fx, 0, "host", 4));
    peer_read(peer, buf, 4);
    g_assert_cmpmem(buf, 4, "host", 4);
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0), ENOTCONN);
    fx_fails(fx_send(fx, 0, "x", 1), EDESTADDRREQ);
    close(peer);
    fx_free(fx);
}

/* To the VM's @port; on this host it is there at once. */
static void tell(int fd, uint16_t port, const char *text)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6,
                               .sin6_port = htons(port) };

    inet_pton(AF_INET6, fx_vm6, &to.sin6_addr);
    g_assert_cmpint(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to,
                           sizeof(to)), ==, strlen(text));
}

static void hears(Fx *fx, const char *text)
{
    char buf[16];
    FxReply r;

    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    fx_ok(r);
    g_assert_cmpmem(buf, r.value, text, strlen(text));
}

/* Neither is it told to the guest, nor is it there. */
static void hears_nobody(Fx *fx)
{
    char buf[16];

    fx_pump(fx);
    g_assert_cmphex(fx->sock[0].ready & VMRPC_IN, ==, 0);
    fx_fails(fx_recv(fx, 0, buf, sizeof(buf), 0), EAGAIN);
    fx_fails(fx_recv(fx, 0, buf, sizeof(buf), MSG_PEEK), EAGAIN);
}

static uint16_t own_port(Fx *fx)
{
    return ntohs(fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0).addr.sin_port);
}

/* Connected to the resolver a socket hears the resolver alone. */
static void test_udp_strangers(void)
{
    uint8_t query[128], msg[512];
    size_t len = make_query(query, 1, TYPE_A, false);
    uint16_t port, own;
    int peer = peer_socket(SOCK_DGRAM, &port);
    Dns d;
    Fx *fx;
    FxReply r;

    dns_init(&d, false);
    fx = d.fx;
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0));
    own = own_port(fx);
    tell(peer, own, "before");
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    tell(peer, own, "stranger");
    /* what had come is there, as natively */
    hears(fx, "before");
    hears_nobody(fx);
    fx_ok(fx_send(fx, 0, query, len));
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, msg, sizeof(msg), 0);
    assert_from_resolver(fx, &r);
    /* who is sent something may not answer either */
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "x", 1));
    tell(peer, own, "answer");
    hears_nobody(fx);
    /* the same once more; then another peer that cannot be; and none */
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx_map(fx, "2001:db8:7::1"), 9),
             ENETUNREACH);
    tell(peer, own, "stranger");
    hears_nobody(fx);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    g_assert_cmpuint(own_port(fx), ==, own);
    tell(peer, own, "anybody");
    hears(fx, "anybody");
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    tell(peer, own, "peer");
    hears(fx, "peer");
    close(peer);
    dns_clear(&d);
}

/* It was connected to the resolver before it had a port. */
static void test_udp_strangers_later(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "x", 1));
    tell(peer, own_port(fx), "answer");
    hears_nobody(fx);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0));
    tell(peer, own_port(fx), "stranger");
    hears_nobody(fx);
    close(peer);
    fx_free(fx);
}

/* Nothing was begun that could be given up: the host need not choose a port. */
static void test_udp_discard(void)
{
    Fx *fx = fx_new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    struct vmrpc_req req;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    req = fx_req(fx, VMRPC_SENDMSG, 0);
    req.u.msg.flags = fx_le(VMRPC_MSG_DISCARD);
    fx_ok(fx_call(fx, &req, NULL, 0, NULL, 0));
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    g_assert_cmpuint(own_port(fx), ==, 0);
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "x", 1));
    close(peer);
    fx_free(fx);
}

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    *(VmrpcSavedSock *)opaque = *saved;
}

/* The same where the VM has moved to. */
static void test_udp_strangers_migration(void)
{
    g_autofree VmrpcSavedSock *saved = g_new0(VmrpcSavedSock, 1);
    Fx *fx = fx_new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    vmrpc_server_save(fx->srv, keep, saved);
    fx_free(fx);

    fx = fx_new_default();
    fx->sock[0] = (FxMirror) { .gen = saved->gen, .seq = saved->ready_seq };
    fx->edge = true;  /* restored sockets report edges */
    g_assert_cmpint(vmrpc_server_restore(fx->srv, saved), ==, 0);
    tell(peer, saved->local_port, "stranger");
    hears_nobody(fx);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 0, 0, 0));
    tell(peer, saved->local_port, "anybody");
    hears(fx, "anybody");
    close(peer);
    fx_free(fx);
}

/* As if the host had had no memory for a filter. */
static void take_filter(Fx *fx)
{
    VmrpcSock *s = fx->srv->socks[0];

    g_assert_true(s->filtered);
    g_assert_cmpint(setsockopt(s->fd, SOL_SOCKET, SO_DETACH_FILTER,
                               &(int) { 0 }, sizeof(int)), ==, 0);
    s->filtered = false;
}

/* Connected to the resolver the socket of @from hears errors only. */
static void check_unbound(Fx *fx, int peer, const struct sockaddr_in6 *from,
                          uint16_t closed)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_RECVMSG, 0);
    char buf[256];

    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(sendto(peer, "x", 1, 0, (struct sockaddr *)from,
                               sizeof(*from)), ==, 1);
    }
    fx_fails(fx_recv(fx, 0, buf, 8, MSG_PEEK), EAGAIN);
    fx_fails(fx_recv(fx, 0, buf, 8, 0), EAGAIN);
    g_assert_cmphex(fx->sock[0].ready & VMRPC_IN, ==, 0);
    fx_ok(fx_sendto(fx, 0, fx_peer4(fx), closed, "x", 1));
    fx_wait_error(fx, 0);
    req.u.msg.flags = fx_le(MSG_ERRQUEUE);
    fx_ok(fx_call(fx, &req, NULL, 0, buf, sizeof(buf)));
}

/* The VM has no address, and perhaps the host no filter. */
static void test_udp_strangers_unbound(void)
{
    uint16_t port, closed;
    int peer = peer_socket(SOCK_DGRAM, &port);

    close(peer_socket(SOCK_DGRAM, &closed));
    for (int filter = 0; filter < 2; filter++) {
        Fx *fx = fx_new(&(FxOptions) { .no_address6 = true,
                                       .policy = "allow host\nallow ::1\n" });
        struct sockaddr_in6 from;
        socklen_t len = sizeof(from);
        char buf[1];

        fx->shortened = true;   /* strangers have been in the buffer */
        fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
        fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_RECVERR,
                            &(uint32_t) { fx_le(1) }, 4));
        fx_ok(fx_sendto(fx, 0, fx_peer4(fx), port, "x", 1));
        g_assert_cmpint(recvfrom(peer, buf, sizeof(buf), 0,
                                 (struct sockaddr *)&from, &len), ==, 1);
        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
        if (!filter) {
            take_filter(fx);
        }
        check_unbound(fx, peer, &from, closed);
        fx_free(fx);
    }
    close(peer);
}

static void test_tcp(void)
{
    Dns d;
    uint8_t query[128], msg[512];
    size_t len = make_query(query, 1, TYPE_A, true), got = 0;
    FxReply r;
    Fx *fx;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, false);
    fx = d.fx;
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53);
    fx_ok(r);
    g_assert_cmphex(r.ready, ==, VMRPC_OUT);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53), EISCONN);
    r = fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0);
    assert_from_resolver(fx, &r);
    g_assert_cmpuint(fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0).addr.sin_port, !=,
                     0);
    fx_fails(fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0), EINVAL);
    fx_fails(fx_op(fx, VMRPC_LISTEN, 0, 1, 0), EINVAL);
    g_assert_cmpuint(fx_send(fx, 0, query, 0).value, ==, 0);

    /* two queries, cut anywhere, the second begun with the first */
    len += make_query(query + len, 2, TYPE_A, true);
    for (size_t done = 0, piece = 1; done < len; done += piece, piece += 2) {
        piece = MIN(piece, len - done);
        r = fx_send(fx, 0, query + done, piece);
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, piece);
    }
    /* two answers, read in pieces of seven */
    while (got < 4 || got < 2 * (2u + msg[1])) {
        fx_wait(fx, 0, VMRPC_IN);
        r = fx_recv(fx, 0, msg + got, 7, MSG_PEEK);
        fx_ok(r);
        r = fx_recv(fx, 0, msg + got, 7, 0);
        fx_ok(r);
        g_assert_cmpuint(r.value, >, 0);
        got += r.value;
    }
    len = msg[0] << 8 | msg[1];
    g_assert_cmpuint(got, ==, 2 * (2 + len));
    assert_answer(&d, msg + 2, len, msg[2] << 8 | msg[3]);
    assert_answer(&d, msg + 4 + len, len, msg[4 + len] << 8 | msg[5 + len]);
    g_assert_cmpuint(msg[3] + msg[5 + len], ==, 1 + 2);

    /* ends */
    r = fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0);
    fx_ok(r);
    fx_fails(fx_send(fx, 0, query, 1), EPIPE);
    g_assert_cmphex(r.ready & (VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP), ==,
                    VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP);
    r = fx_recv(fx, 0, msg, 1, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    r = fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_RD, 0);
    g_assert_cmphex(r.ready & (VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP), ==,
                    VMRPC_IN | VMRPC_RDHUP | VMRPC_HUP);
    r = fx_recv(fx, 0, msg, 1, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0).value, ==, 0);
    /* without its peer there is nothing, which the guest is told */
    fx_fails(fx_op(fx, VMRPC_CONNECT, 0, 0, 0), ECONNRESET);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    dns_clear(&d);
}

/* Malformed queries are answered at once, and nobody fetches that. */
static void test_unread(void)
{
    uint8_t bad[2 + 12] = { 0, 12, 1, 2, 0x28 };    /* an unknown opcode */
    Fx *fx = fx_new_default();
    uint8_t msg[64];
    unsigned got = 0;
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    for (int i = 0; i < 70; i++) {
        r = fx_send(fx, 0, bad + 2, 12);
        fx_ok(r);
        g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    }
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_queue_full, ==, 0);
    while (!(r = fx_recv(fx, 0, msg, sizeof(msg), 0)).error) {
        g_assert_cmpuint(r.value, ==, 12);
        got++;
    }
    g_assert_cmpuint(got, ==, 70);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);

    /* streams: the number of unread bytes is that of all answers */
    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->resolver4, 53));
    for (int i = 0; i < 3; i++) {
        fx_ok(fx_send(fx, 1, bad, sizeof(bad)));
    }
    fx_ok(fx_recv(fx, 1, msg, 5, 0));
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 1, SIOCINQ, 0).value, ==,
                     3 * 14 - 5);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    /* too long for any server: taken, and nobody answers */
    r = fx_sendto(fx, 0, fx->resolver4, 53, (uint8_t[5000]) { 0 }, 5000);
    g_assert_cmpuint(r.value, ==, 5000);
    fx_fails(fx_recv(fx, 0, msg, sizeof(msg), 0), EAGAIN);
    fx_free(fx);
}

/* Who asks much at once by a stream has all answers, and then its end. */
static void test_pipeline(void)
{
    uint8_t bad[2 + 12] = { 0, 12, 1, 2, 0x28 }, all[100 * sizeof(bad)];
    Fx *fx = fx_new_default();
    uint8_t msg[100];
    size_t got = 0;
    FxReply r;

    for (size_t i = 0; i < sizeof(all); i += sizeof(bad)) {
        memcpy(all + i, bad, sizeof(bad));
    }
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->resolver4, 53));
    r = fx_send(fx, 0, all, sizeof(all));
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, sizeof(all));
    r = fx_op(fx, VMRPC_SHUTDOWN, 0, SHUT_WR, 0);
    g_assert_cmphex(r.ready & (VMRPC_IN | VMRPC_RDHUP), ==, VMRPC_IN);
    for (; got < sizeof(all); got += r.value) {
        fx_wait(fx, 0, VMRPC_IN);
        r = fx_recv(fx, 0, msg, sizeof(msg), 0);
        fx_ok(r);
        g_assert_cmpuint(r.value, >, 0);
    }
    g_assert_cmphex(r.ready & (VMRPC_IN | VMRPC_RDHUP), ==,
                    VMRPC_IN | VMRPC_RDHUP);
    r = fx_recv(fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    g_assert_cmpuint(fx_counters(fx)->dropped_dns_queue_full, ==, 0);
    fx_free(fx);
}

/* Streams without an end cannot use up the host's memory. */
static void test_memory_bound(void)
{
    static const uint8_t begun[65536] = { 0xff, 0xff };
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\n",
                                   .max_sockets = 1024 });
    unsigned streams = 0;
    FxReply r;

    do {
        fx_ok(fx_socket(fx, streams, 0, SOCK_STREAM));
        fx_ok(fx_addr_op(fx, VMRPC_CONNECT, streams, fx->resolver4, 53));
        r = fx_send(fx, streams++, begun, sizeof(begun));
    } while (!r.error && streams < 1024);
    fx_fails(r, ENOBUFS);
    g_assert_cmpuint(streams, ==, (32 << 20) / 65536 + 1);
    /* what is closed is free again */
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    fx_ok(fx_send(fx, streams - 1, begun, sizeof(begun)));
    fx_free(fx);
}

/* The answer comes when the socket that asked has gone. */
static void test_close_outstanding(void)
{
    uint8_t query[64], msg[64];
    size_t len = make_query(query, 7, TYPE_A, false);
    Dns d;
    Fx *fx;

    dns_init(&d, false);
    fx = d.fx;
    d.silent = true;
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx->resolver4, 53, query, len));
    while (!d.queries) {
        fx_wait_any(fx);
    }
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    /* the handle, used again, even with the old generation */
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    dns_send_reply(&d, d.kept, d.kept_len, &d.kept_from);
    fx_wait_any(fx);
    fx_fails(fx_recv(fx, 0, msg, sizeof(msg), 0), EAGAIN);

    /* and with the server itself */
    fx_ok(fx_sendto(fx, 0, fx->resolver4, 53, query, len));
    dns_clear(&d);
}

static FxReply ask_udp(Dns *d, const uint8_t *query, size_t len, uint8_t *msg,
                       size_t size)
{
    FxReply r;

    fx_ok(fx_sendto(d->fx, 0, d->fx->resolver4, 53, query, len));
    fx_wait(d->fx, 0, VMRPC_IN);
    r = fx_recv(d->fx, 0, msg, size, 0);
    fx_ok(r);
    return r;
}

/* A name that is denied is not asked; one that is allowed opens its address. */
static void test_policy(void)
{
    static const char *const policy[] = {
        "deny a.example\ndefault allow\n", "allow a.example\ndefault deny\n",
        "allow a.example\n",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(policy); i++) {
        uint8_t query[64], msg[512];
        size_t len = make_query(query, 7, TYPE_A, false);
        const VmrpcReachCounters *c;
        struct in_addr addr4;
        Dns d;

        dns_init_policy(&d, false, policy[i]);
        d.addr6 = "2001:db8:7::1";
        c = fx_reach_counters(d.fx);
        fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
        g_assert_cmpuint(ask_udp(&d, query, len, msg, sizeof(msg)).value, >=,
                         len);
        if (i == 0) {
            g_assert_cmpuint(msg[3] & 15, ==, 5);   /* REFUSED */
            g_assert_cmpuint(c->refused_name, ==, 1);
            g_assert_cmpuint(d.queries, ==, 0);
            dns_clear(&d);
            continue;
        }
        g_assert_cmpuint(msg[3] & 15, ==, 0);
        g_assert_cmpuint(msg[7], ==, 1);
        memcpy(&addr4, msg + 27 + 12, 4);
        fx_ok(fx_socket(d.fx, 1, 1, SOCK_STREAM));
        /* by the policy, but no route leads there */
        fx_fails(fx_addr_op(d.fx, VMRPC_CONNECT, 1, addr4, 9), ENETUNREACH);
        g_assert_cmpuint(c->refused_default, ==, 0);
        /* an address of which nobody asked the name */
        fx_fails(fx_addr_op(d.fx, VMRPC_CONNECT, 1,
                            fx_map(d.fx, "2001:db8:7::2"), 9),
                 i == 1 ? EACCES : ENETUNREACH);
        g_assert_cmpuint(c->refused_default, ==, i == 1);
        dns_clear(&d);
    }
}

/* A server that has no other address than one of its link: RFC 4007. */
static void test_link(void)
{
    uint8_t query[64], msg[512];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    FxReply r;
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_link(&d);
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(d.fx, 0, d.fx->resolver4, 53, query, len));
    fx_wait(d.fx, 0, VMRPC_IN);
    r = fx_recv(d.fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    assert_answer(&d, msg, r.value, 0xbeef);
    g_assert_cmpuint(d.queries, >=, 1);
    dns_clear(&d);
}

static void ask_once(Dns *d, const uint8_t *query, size_t len)
{
    uint8_t msg[512];
    FxReply r;

    fx_ok(fx_sendto(d->fx, 0, d->fx->resolver4, 53, query, len));
    fx_wait(d->fx, 0, VMRPC_IN);
    r = fx_recv(d->fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    assert_answer(d, msg, r.value, 0xbeef);
}

typedef struct Told {
    unsigned times;
    size_t absent;
} Told;

static void told_servers(void *opaque, const DnsOrigin *origin,
                         const char *error)
{
    Told *told = opaque;

    g_assert_null(error);
    g_assert_cmpint(origin->from, ==, DNS_SERVERS_GIVEN);
    told->times++;
    told->absent = dnsc_list_is_absent(&origin->list, 1);
}

/* What the former servers have said is asked again, of the present ones. */
static void test_other_servers(void)
{
    uint8_t query[64];
    size_t len = make_query(query, 0xbeef, TYPE_A, false);
    Told told = { 0 };
    const VmrpcTracer tracer = { .servers = told_servers, .opaque = &told };
    VmrpcServerView view;
    unsigned before;
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_late(&d);
    vmrpc_server_set_tracer(d.fx->srv, &tracer);
    g_assert_cmpuint(told.times, ==, 1);
    g_assert_cmpuint(told.absent, ==, 1);
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    ask_once(&d, query, len);
    before = d.queries;
    ask_once(&d, query, len);
    g_assert_cmpuint(d.queries, ==, before);    /* it is remembered */
    g_assert_cmpint(system("ip link add late0 type veth peer name late1"), ==,
                    0);
    do {
        vmrpc_inspect_server(d.fx->srv, &view);
        g_assert_cmpuint(view.servers.count, ==, 2);
    } while (dnsc_list_is_absent(&view.servers, 1));
    g_assert_cmpuint(told.times, ==, 2);
    ask_once(&d, query, len);
    g_assert_cmpuint(d.queries, >, before);
    g_assert_cmpint(system("ip link del late0"), ==, 0);
    dns_clear(&d);
}

static uint16_t rcode_of(Dns *d, const char *name)
{
    DnsQuestion question = { .type = DNS_TYPE_TXT, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX], msg[512];
    FxReply r;
    size_t len;

    g_assert_cmpint(dns_name_from_text(&question.name, name), ==, 0);
    len = dns_query_build(query, &question, DNS_FLAG_RD, false);
    fx_ok(fx_sendto(d->fx, 0, d->fx->resolver4, 53, query, len));
    fx_wait(d->fx, 0, VMRPC_IN);
    r = fx_recv(d->fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, >=, DNS_HEADER_LEN);
    return msg[3] & DNS_FLAGS_RCODE;
}

/* No server knows the pool, 198.18.0.0/16, and guest4, 10.0.2.15. */
static void test_exists(void)
{
    static const struct {
        const char *name;
        DnsRcode rcode;
    } names[] = {
        { "198.in-addr.arpa", DNS_RCODE_NOERROR },
        { "18.198.in-addr.arpa", DNS_RCODE_NOERROR },
        { "255.18.198.in-addr.arpa", DNS_RCODE_NOERROR },
        { "19.198.in-addr.arpa", DNS_RCODE_NXDOMAIN },
        { "0.17.198.in-addr.arpa", DNS_RCODE_NXDOMAIN },
        { "197.in-addr.arpa", DNS_RCODE_NXDOMAIN },
        { "9.9.18.198.in-addr.arpa", DNS_RCODE_NXDOMAIN },
        { "2.0.10.in-addr.arpa", DNS_RCODE_NOERROR },
        { "3.0.10.in-addr.arpa", DNS_RCODE_NXDOMAIN },
        { "a.example", DNS_RCODE_NXDOMAIN },
    };
    Dns d;

    if (is_dead_end()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, false);
    d.nxdomain = true;
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpuint(rcode_of(&d, names[i].name), ==, names[i].rcode);
    }
    dns_clear(&d);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/dns/udp", test_udp);
    g_test_add_func("/vmrpc/server/dns/control", test_control);
    g_test_add_func("/vmrpc/server/dns/dns64", test_dns64);
    g_test_add_func("/vmrpc/server/dns/pool-of-another",
                    test_pool_of_another);
    g_test_add_func("/vmrpc/server/dns/same-question", test_same_question);
    g_test_add_func("/vmrpc/server/dns/udp-reconnect", test_udp_reconnect);
    g_test_add_func("/vmrpc/server/dns/udp-discard", test_udp_discard);
    g_test_add_func("/vmrpc/server/dns/udp-strangers", test_udp_strangers);
    g_test_add_func("/vmrpc/server/dns/udp-strangers-later",
                    test_udp_strangers_later);
    g_test_add_func("/vmrpc/server/dns/udp-strangers-migration",
                    test_udp_strangers_migration);
    g_test_add_func("/vmrpc/server/dns/udp-strangers-unbound",
                    test_udp_strangers_unbound);
    g_test_add_func("/vmrpc/server/dns/tcp", test_tcp);
    g_test_add_func("/vmrpc/server/dns/unread", test_unread);
    g_test_add_func("/vmrpc/server/dns/pipeline", test_pipeline);
    g_test_add_func("/vmrpc/server/dns/memory-bound", test_memory_bound);
    g_test_add_func("/vmrpc/server/dns/close-outstanding",
                    test_close_outstanding);
    g_test_add_func("/vmrpc/server/dns/policy", test_policy);
    g_test_add_func("/vmrpc/server/dns/exists", test_exists);
    g_test_add_func("/vmrpc/server/dns/link", test_link);
    g_test_add_func("/vmrpc/server/dns/other-servers", test_other_servers);
    return g_test_run();
}
