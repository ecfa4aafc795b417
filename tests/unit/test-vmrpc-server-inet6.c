/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of AF_INET6 of the guest's */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/reach/inet6.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "tests/fixtures/server-fixture.h"

#define OWN6_WITHOUT "fd76:6d6d:6e65:7400::a00:20f"     /* of FX_GUEST4 */

static Fx *new(const FxOptions *o)
{
    Fx *fx = fx_new(o);

    vmrpc_server_set_features(fx->srv, 1u << VMRPC_F_INET6);
    return fx;
}

static Fx *new_default(void)
{
    return new(&(FxOptions) { .policy = "allow ::1\nallow host\n" });
}

static FxReply op6(Fx *fx, unsigned op, uint32_t handle, const char *addr,
                   unsigned port)
{
    struct vmrpc_req req = fx_req(fx, op, handle);

    return fx6_call(fx, &req, addr, port, NULL, 0, NULL, 0);
}

static FxReply socket6(Fx *fx, uint32_t handle, int type, int protocol)
{
    struct vmrpc_req req;

    fx->sock[handle] = (FxMirror) { .gen = handle + 1 };
    req = fx_req(fx, VMRPC_SOCKET, handle);
    req.u.socket.type = GUINT32_TO_LE(type);
    req.u.socket.protocol = GUINT32_TO_LE(protocol);
    return fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0);
}

static void assert_addr6(const FxReply *r, const char *addr, int port)
{
    char text[INET6_ADDRSTRLEN];

    g_assert_cmpint(r->addr6.sin6_family, ==, AF_INET6);
    inet_ntop(AF_INET6, &r->addr6.sin6_addr, text, sizeof(text));
    g_assert_cmpstr(text, ==, addr);
    if (port >= 0) {
        g_assert_cmpint(ntohs(r->addr6.sin6_port), ==, port);
    }
}

/* "::ffff:" and an IPv4 address; valid until the next call */
static const char *mapped(struct in_addr addr4)
{
    static char text[INET6_ADDRSTRLEN];

    g_snprintf(text, sizeof(text), "::ffff:%s", inet_ntoa(addr4));
    return text;
}

/* --- conversion ------------------------------------------------------------- */

static struct in6_addr ip6(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static struct in_addr to4(Fx *fx, const char *text)
{
    struct in6_addr addr6 = ip6(text);
    struct in_addr addr4;

    g_assert_cmpint(vmrpc_inet6_to_guest4(&fx->srv->reach, &addr6, &addr4), ==,
                    0);
    return addr4;
}

static void assert_from4(Fx *fx, struct in_addr addr4, bool is_mapped,
                         const char *wanted)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr6 = vmrpc_inet6_from_guest4(&fx->srv->reach, addr4,
                                                    is_mapped);

    inet_ntop(AF_INET6, &addr6, text, sizeof(text));
    g_assert_cmpstr(text, ==, wanted);
}

static void test_conversion(void)
{
    Fx *fx = new(&(FxOptions) { .nat64 = true });
    struct in_addr addr4;

    vmrpc_sole_user(fx->srv);
    g_assert_cmphex(to4(fx, "::").s_addr, ==, INADDR_ANY);
    g_assert_cmphex(to4(fx, fx_vm6).s_addr, ==, fx->guest4.s_addr);
    g_assert_cmphex(to4(fx, "::ffff:192.0.2.1").s_addr, ==,
                    fx_ip4("192.0.2.1").s_addr);
    g_assert_cmphex(to4(fx, "::ffff:239.1.2.3").s_addr, ==,
                    fx_ip4("239.1.2.3").s_addr);
    /* a group of IPv6 is another one than the group of IPv4 for which it stands */
    addr4 = to4(fx, "ff1e::239.1.2.3");
    g_assert_true(vmrpc_addrmap_contains(fx->srv->reach.map, addr4));
    assert_from4(fx, addr4, false, "ff1e::ef01:203");

    /* a peer has one virtual address, whoever names it first */
    addr4 = to4(fx, "2001:db8:5::1");
    g_assert_true(vmrpc_addrmap_contains(fx->srv->reach.map, addr4));
    g_assert_cmphex(fx_map(fx, "2001:db8:5::1").s_addr, ==, addr4.s_addr);
    assert_from4(fx, addr4, false, "2001:db8:5::1");
    assert_from4(fx, addr4, true, mapped(addr4));

    assert_from4(fx, fx->guest4, false, fx_vm6);
    assert_from4(fx, fx->guest4, true, "::ffff:" FX_GUEST4);
    assert_from4(fx, fx_ip4("0.0.0.0"), false, "::");
    assert_from4(fx, fx_ip4("239.1.2.3"), false, "::ffff:239.1.2.3");
    assert_from4(fx, fx_ip4("198.51.100.5"), false, FX_NAT64 "c633:6405");
    assert_from4(fx, fx_ip4("198.51.100.5"), true, "::ffff:198.51.100.5");
    /* which have no IPv6 address */
    assert_from4(fx, fx->resolver4, false, "::ffff:" FX_RESOLVER4);
    assert_from4(fx, fx_ip4("198.18.255.1"), false, "::ffff:198.18.255.1");
    fx_free(fx);
}

static void test_own_address(void)
{
    Fx *fx = new(&(FxOptions) { .no_address6 = true });
    struct vmrpc_config config = { };
    struct in6_addr own = ip6(OWN6_WITHOUT);

    vmrpc_sole_user(fx->srv);
    vmrpc_server_fill_config(fx->srv, &config);
    g_assert_cmpmem(config.guest6, 16, &own, 16);
    g_assert_cmphex(to4(fx, OWN6_WITHOUT).s_addr, ==, fx->guest4.s_addr);
    fx_free(fx);
}

static void test_pool_is_full(void)
{
    Fx *fx = new(&(FxOptions) { .pool4_prefix = 30, .no_resolver = true,
                                .policy = "allow ::1\nallow host\n" });
    struct in6_addr addr6 = ip6("2001:db8:5::1");
    struct in_addr addr4;

    vmrpc_sole_user(fx->srv);
    fx_map(fx, "2001:db8:5::2");    /* fx_peer6 has the other address */
    g_assert_cmpint(vmrpc_inet6_to_guest4(&fx->srv->reach, &addr6, &addr4), ==,
                    -ENOBUFS);
    fx_ok(socket6(fx, 0, SOCK_STREAM, IPPROTO_TCP));
    fx_fails(op6(fx, VMRPC_CONNECT, 0, "2001:db8:5::1", 9), ENOBUFS);
    g_assert_cmpuint(fx_counters(fx)->dropped_pool_full, ==, 1);
    fx_free(fx);
}

/* --- calls ------------------------------------------------------------------ */

/* Both names of one peer, each shown as it was given. */
static void test_connect(void)
{
    Fx *fx = new_default();
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);

    for (uint32_t handle = 0; handle < 2; handle++) {
        const char *peer = handle ? mapped(fx_peer4(fx)) : fx_peer6;
        char named[INET6_ADDRSTRLEN];
        FxReply r;
        int fd;

        g_strlcpy(named, peer, sizeof(named));
        fx_ok(socket6(fx, handle, SOCK_STREAM, IPPROTO_TCP));
        fx_fails(op6(fx, VMRPC_CONNECT, handle, named, port), EINPROGRESS);
        fx_wait(fx, handle, VMRPC_OUT);
        fd = accept(listener, NULL, NULL);
        g_assert_cmpint(fd, >=, 0);
        r = op6(fx, VMRPC_GETPEERNAME, handle, NULL, 0);
        fx_ok(r);
        assert_addr6(&r, named, port);
        r = op6(fx, VMRPC_GETSOCKNAME, handle, NULL, 0);
        assert_addr6(&r, handle ? mapped(fx->guest4) : fx_vm6, -1);
        close(fd);
    }
    close(listener);
    fx_free(fx);
}

static void test_accept(void)
{
    Fx *fx = new_default();
    struct vmrpc_req req;
    uint16_t port;
    FxReply r;
    int fd;

    fx_ok(socket6(fx, 0, SOCK_STREAM, IPPROTO_TCP));
    r = op6(fx, VMRPC_BIND, 0, "::", 0);
    fx_ok(r);
    assert_addr6(&r, "::", -1);
    port = ntohs(r.addr6.sin6_port);
    req = fx_req(fx, VMRPC_LISTEN, 0);
    req.u.listen.backlog = GUINT32_TO_LE(5);
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0));
    fd = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx->sock[1] = (FxMirror) { .gen = 2 };
    req = fx_req(fx, VMRPC_ACCEPT, 0);
    req.u.accept.sock = GUINT32_TO_LE(1);
    req.u.accept.gen = GUINT32_TO_LE(2);
    r = fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0);
    fx_ok(r);
    assert_addr6(&r, fx_peer6, -1);
    g_assert_true(fx->srv->socks[1]->inet6);
    close(fd);
    fx_free(fx);
}

static void test_bind(void)
{
    Fx *fx = new_default();

    for (uint32_t handle = 0; handle < 4; handle++) {
        const char *own[] = { fx_vm6, "::", "::ffff:0.0.0.0",
                              "::ffff:" FX_GUEST4 };
        FxReply r;

        fx_ok(socket6(fx, handle, SOCK_DGRAM, IPPROTO_UDP));
        r = op6(fx, VMRPC_BIND, handle, own[handle], 0);
        fx_ok(r);
        g_assert_cmpint(r.addr6.sin6_port, !=, 0);
    }
    fx_ok(socket6(fx, 4, SOCK_STREAM, IPPROTO_TCP));
    fx_fails(op6(fx, VMRPC_BIND, 4, "::ffff:192.0.2.1", 0), EADDRNOTAVAIL);
    fx_fails(op6(fx, VMRPC_BIND, 4, fx_peer6, 0), EADDRNOTAVAIL);
    fx_free(fx);
}

/* The answer comes from the address that was asked, in its form. */
static void test_datagrams(void)
{
    Fx *fx = new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);

    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    for (unsigned i = 0; i < 3; i++) {
        char named[INET6_ADDRSTRLEN], data[10];
        struct vmrpc_req req = fx_req(fx, VMRPC_SENDMSG, 0);
        struct sockaddr_in6 from;
        socklen_t len = sizeof(from);
        FxReply r;

        g_strlcpy(named, i == 1 ? mapped(fx_peer4(fx)) : fx_peer6,
                  sizeof(named));
        fx_ok(fx6_call(fx, &req, named, port, "x", 1, NULL, 0));
        g_assert_cmpint(recvfrom(peer, data, sizeof(data), 0,
                                 (struct sockaddr *)&from, &len), ==, 1);
        g_assert_cmpint(sendto(peer, "yz", 2, 0, (struct sockaddr *)&from,
                               len), ==, 2);
        fx_wait(fx, 0, VMRPC_IN);
        req = fx_req(fx, VMRPC_RECVMSG, 0);
        r = fx6_call(fx, &req, NULL, 0, NULL, 0, data, sizeof(data));
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, 2);
        g_assert_cmpmem(data, 2, "yz", 2);
        assert_addr6(&r, named, port);
    }
    close(peer);
    fx_free(fx);
}

static void test_options(void)
{
    Fx *fx = new_default();
    uint32_t hops = GUINT32_TO_LE(7), value = 0;
    struct vmrpc_req req;

    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    req = fx_req(fx, VMRPC_SETSOCKOPT, 0);
    req.u.opt.level = GUINT32_TO_LE(IPPROTO_IPV6);
    req.u.opt.name = GUINT32_TO_LE(IPV6_UNICAST_HOPS);
    fx_ok(fx6_call(fx, &req, NULL, 0, &hops, sizeof(hops), NULL, 0));
    req.op = GUINT16_TO_LE(VMRPC_GETSOCKOPT);
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, &value, sizeof(value)));
    g_assert_cmpuint(value, ==, hops);
    req.u.opt.level = GUINT32_TO_LE(SOL_SOCKET);
    req.u.opt.name = GUINT32_TO_LE(39);     /* SO_DOMAIN */
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, &value, sizeof(value)));
    g_assert_cmpuint(GUINT32_FROM_LE(value), ==, 10);
    /* those of AF_INET have none of IPv6 */
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    fx_fails(fx_getsockopt(fx, 1, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &value,
                           sizeof(value)), ENOPROTOOPT);
    fx_free(fx);
}

static int host_option(Fx *fx, uint32_t handle, int name)
{
    int value;
    socklen_t len = sizeof(value);

    g_assert_cmpint(getsockopt(fx->srv->socks[handle]->fd, IPPROTO_IPV6, name,
                               &value, &len), ==, 0);
    return value;
}

static void set6(Fx *fx, uint32_t handle, int level, int name, int value)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SETSOCKOPT, handle);
    uint32_t wire = GUINT32_TO_LE(value);

    req.u.opt.level = GUINT32_TO_LE(level);
    req.u.opt.name = GUINT32_TO_LE(name);
    fx_ok(fx6_call(fx, &req, NULL, 0, &wire, sizeof(wire), NULL, 0));
}

static void send6(Fx *fx, uint32_t handle, const char *to, uint16_t port)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SENDMSG, handle);

    fx_ok(fx6_call(fx, &req, to, port, "x", 1, NULL, 0));
}

/* The host's socket has those of the kind of peer that there is. */
static void test_options_of_both(void)
{
    Fx *fx = new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    const struct {
        const char *to;
        int hops, tclass, pmtu;
    } steps[] = {
        { "mapped", 9, 0x10, IPV6_PMTUDISC_WANT },
        { fx_peer6, 7, 0, IPV6_PMTUDISC_DO },
        { "mapped", 9, 0x10, IPV6_PMTUDISC_WANT },
    };

    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    set6(fx, 0, IPPROTO_IP, IP_TTL, 9);
    set6(fx, 0, IPPROTO_IP, IP_TOS, 0x10);
    set6(fx, 0, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 7);
    set6(fx, 0, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
    g_assert_cmpint(host_option(fx, 0, IPV6_UNICAST_HOPS), ==, 7);
    g_assert_cmpint(host_option(fx, 0, IPV6_TCLASS), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        send6(fx, 0, *steps[i].to == 'm' ? mapped(fx_peer4(fx)) : steps[i].to,
              port);
        g_assert_cmpint(host_option(fx, 0, IPV6_UNICAST_HOPS), ==,
                        steps[i].hops);
        g_assert_cmpint(host_option(fx, 0, IPV6_TCLASS), ==, steps[i].tclass);
        g_assert_cmpint(host_option(fx, 0, IPV6_MTU_DISCOVER), ==,
                        steps[i].pmtu);
    }
    /* One that is set later is in force at once, or waits. */
    set6(fx, 0, IPPROTO_IP, IP_TTL, 10);
    set6(fx, 0, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 8);
    g_assert_cmpint(host_option(fx, 0, IPV6_UNICAST_HOPS), ==, 10);
    /* A peer decides; an aside to another one does not. */
    fx_ok(op6(fx, VMRPC_CONNECT, 0, fx_peer6, port));
    g_assert_cmpint(host_option(fx, 0, IPV6_UNICAST_HOPS), ==, 8);
    send6(fx, 0, mapped(fx_peer4(fx)), port);
    g_assert_cmpint(host_option(fx, 0, IPV6_UNICAST_HOPS), ==, 8);
    close(peer);
    fx_free(fx);
}

/* The flow label of the next datagram; 0: it has none. */
static uint32_t flow_seen(int peer)
{
    union {
        struct cmsghdr header;
        uint8_t room[CMSG_SPACE(sizeof(uint32_t))];
    } control = { };
    struct msghdr msg = { .msg_control = &control,
                          .msg_controllen = sizeof(control) };
    uint32_t flow;

    peer_await(peer);
    g_assert_cmpint(recvmsg(peer, &msg, 0), ==, 0);
    if (!msg.msg_controllen) {
        return 0;
    }
    g_assert_cmpint(control.header.cmsg_type, ==, IPV6_FLOWINFO);
    memcpy(&flow, CMSG_DATA(&control.header), sizeof(flow));
    return ntohl(flow);
}

static void test_flow_labels(void)
{
    Fx *fx = new_default();
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port), one = 1;
    struct vmrpc_req req;

    g_assert_cmpint(setsockopt(peer, IPPROTO_IPV6, IPV6_FLOWINFO, &one,
                               sizeof(one)), ==, 0);
    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    set6(fx, 0, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
    req = fx_req(fx, VMRPC_SENDMSG, 0);
    req.addr.addr = htonl(0x12345);
    fx_ok(fx6_call(fx, &req, fx_peer6, port, NULL, 0, NULL, 0));
    g_assert_cmphex(flow_seen(peer), ==, 0);
    set6(fx, 0, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
    fx_ok(fx6_call(fx, &req, fx_peer6, port, NULL, 0, NULL, 0));
    g_assert_cmphex(flow_seen(peer), ==, 0x12345);
    /* In a request of the other form there is an address. */
    fx_ok(fx_sendto(fx, 0, fx_peer4(fx), port, NULL, 0));
    g_assert_cmphex(flow_seen(peer), ==, 0);
    req.op = GUINT16_TO_LE(VMRPC_CONNECT);
    fx_ok(fx6_call(fx, &req, fx_peer6, port, NULL, 0, NULL, 0));
    fx_ok(fx_send(fx, 0, NULL, 0));
    g_assert_cmphex(flow_seen(peer), ==, 0x12345);
    close(peer);
    fx_free(fx);
}

static void test_policy(void)
{
    g_autofree char *policy = g_strdup_printf("deny %s\nallow host\n",
                                              fx_peer6);
    Fx *fx = new(&(FxOptions) { .policy = policy });

    fx_ok(socket6(fx, 0, SOCK_STREAM, IPPROTO_TCP));
    fx_fails(op6(fx, VMRPC_CONNECT, 0, fx_peer6, 9), EACCES);
    fx_fails(op6(fx, VMRPC_CONNECT, 0, "fe80::1", 9), ENETUNREACH);
    fx_fails(op6(fx, VMRPC_CONNECT, 0, "::ffff:198.18.255.1", 9),
             EHOSTUNREACH);
    fx_fails(op6(fx, VMRPC_CONNECT, 0, "ff02::1:2", 9), ENETUNREACH);
    fx_free(fx);
}

static FxReply listen_on(Fx *fx, uint32_t handle, bool inet6)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_LISTEN, handle);

    req.u.listen.backlog = GUINT32_TO_LE(5);
    return inet6 ? fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0)
                 : fx_call(fx, &req, NULL, 0, NULL, 0);
}

static uint32_t reuse(Fx *fx, uint32_t handle)
{
    uint32_t one = GUINT32_TO_LE(1);

    return fx_setsockopt(fx, handle, 1, 2, &one, sizeof(one)).error;
}

static VmrpcMissing missing(Fx *fx, uint32_t handle)
{
    g_assert_true(vmrpc_sock_is_arriving(fx->srv->socks[handle]));
    return fx->srv->socks[handle]->missing;
}

/*
 * The host has one address for both families: the second waits for the port, at
 * bind() or at listen(), and gets it.
 */
static void test_turns(void)
{
    for (unsigned late = 0; late < 2; late++) {
        Fx *fx = new_default();
        uint16_t port;
        FxReply r;
        int fd;

        fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
        g_assert_cmpint(reuse(fx, 0), ==, 0);
        r = fx_addr_op(fx, VMRPC_BIND, 0, (struct in_addr) { 0 }, 0);
        fx_ok(r);
        port = ntohs(r.addr.sin_port);
        fx_ok(socket6(fx, 1, SOCK_STREAM, IPPROTO_TCP));
        g_assert_cmpint(reuse(fx, 1), ==, 0);
        if (late) {
            fx_ok(op6(fx, VMRPC_BIND, 1, "::", port));
        }
        fx_ok(listen_on(fx, 0, false));
        if (!late) {
            r = op6(fx, VMRPC_BIND, 1, "::", port);
            fx_ok(r);
            assert_addr6(&r, "::", port);
        }
        r = listen_on(fx, 1, true);
        fx_ok(r);
        assert_addr6(&r, fx_vm6, port);
        g_assert_cmpint(missing(fx, 1), ==, VMRPC_MISSING_TURN);
        /* one of its own family is refused as ever */
        fx_ok(fx_socket(fx, 2, 3, SOCK_STREAM));
        fx_fails(fx_addr_op(fx, VMRPC_BIND, 2, (struct in_addr) { 0 }, port),
                 EADDRINUSE);

        fd = peer_connect(SOCK_STREAM, port);
        fx_wait(fx, 0, VMRPC_IN);
        fx_ok(fx_accept(fx, 0, 3, 4));
        close(fd);
        fx->edge = true;        /* as of every socket that arrives */
        fx_ok(fx_op(fx, VMRPC_CLOSE, 3, 0, 0));
        fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
        while (vmrpc_sock_is_arriving(fx->srv->socks[1])) {
            fx_wait_any(fx);
        }
        close(peer_connect(SOCK_STREAM, port));
        fx_wait(fx, 1, VMRPC_IN);
        fx_free(fx);
    }
}

/* As natively: a third of the first one's family takes no turn. */
static void test_turns_of_datagrams(void)
{
    Fx *fx = new_default();
    struct vmrpc_req req;
    uint16_t port;
    FxReply r;

    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    r = op6(fx, VMRPC_BIND, 0, "::", 0);
    port = ntohs(r.addr6.sin6_port);
    fx_ok(fx_socket(fx, 1, 2, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 1, (struct in_addr) { 0 }, port);
    fx_ok(r);
    g_assert_cmpuint(ntohs(r.addr.sin_port), ==, port);
    g_assert_cmpint(missing(fx, 1), ==, VMRPC_MISSING_TURN);
    fx_fails(fx_sendto(fx, 1, fx_peer4(fx), 9, "x", 1), ENETUNREACH);
    fx_ok(socket6(fx, 2, SOCK_DGRAM, IPPROTO_UDP));
    fx_fails(op6(fx, VMRPC_BIND, 2, "::", port), EADDRINUSE);
    fx->edge = true;
    req = fx_req(fx, VMRPC_CLOSE, 0);
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0));
    while (vmrpc_sock_is_arriving(fx->srv->socks[1])) {
        fx_wait_any(fx);
    }
    fx_ok(fx_sendto(fx, 1, fx_peer4(fx), 9, "x", 1));
    /* the one that waits may go, too */
    fx_ok(op6(fx, VMRPC_BIND, 2, "::", port));
    g_assert_cmpint(missing(fx, 2), ==, VMRPC_MISSING_TURN);
    req = fx_req(fx, VMRPC_CLOSE, 2);
    fx_ok(fx6_call(fx, &req, NULL, 0, NULL, 0, NULL, 0));
    g_assert_cmpuint(fx->srv->arriving_num, ==, 0);
    fx_free(fx);
}

/* --- hostile guests --------------------------------------------------------- */

static void test_hostile(void)
{
    Fx *fx = fx_new_default();
    struct vmrpc_req req;
    uint8_t room[sizeof(struct vmrpc_addr6)];

    /* the feature was not agreed on */
    fx_fails(socket6(fx, 0, SOCK_STREAM, IPPROTO_TCP), EINVAL);
    vmrpc_server_set_features(fx->srv, 1u << VMRPC_F_INET6);
    /* protocols of the other family */
    fx_fails(socket6(fx, 0, SOCK_DGRAM, IPPROTO_ICMP), EPROTONOSUPPORT);
    fx_fails(fx_op(fx, VMRPC_SOCKET, 0, SOCK_DGRAM, IPPROTO_ICMPV6),
             EPROTONOSUPPORT);
    /* no room for an address, in either direction */
    req = fx_req(fx, VMRPC_NOOP, 0);
    req.flags |= GUINT16_TO_LE(VMRPC_REQ_INET6);
    fx_fails(fx_call(fx, &req, NULL, 0, room, sizeof(room)), EINVAL);
    fx_fails(fx_call(fx, &req, room, sizeof(room) - 1, room, sizeof(room)),
             EINVAL);
    fx_fails(fx_call(fx, &req, room, sizeof(room), room, sizeof(room) - 1),
             EINVAL);
    /* an address of AF_INET on such a socket is none, and the reverse */
    fx_ok(socket6(fx, 0, SOCK_DGRAM, IPPROTO_UDP));
    req = fx_req(fx, VMRPC_BIND, 0);
    req.flags |= GUINT16_TO_LE(VMRPC_REQ_INET6);
    req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
    fx_fails(fx_call(fx, &req, room, sizeof(room), room, sizeof(room)),
             EAFNOSUPPORT);
    req.flags &= GUINT16_TO_LE((uint16_t)~VMRPC_REQ_INET6);
    req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET6);
    fx_fails(fx_call(fx, &req, NULL, 0, NULL, 0), EAFNOSUPPORT);
    /* a request of the other form is a request all the same */
    fx_ok(op6(fx, VMRPC_BIND, 0, "::", 0));
    fx_ok(fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0));
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/inet6/conversion", test_conversion);
    g_test_add_func("/vmrpc/server/inet6/own-address", test_own_address);
    g_test_add_func("/vmrpc/server/inet6/pool-is-full", test_pool_is_full);
    g_test_add_func("/vmrpc/server/inet6/connect", test_connect);
    g_test_add_func("/vmrpc/server/inet6/accept", test_accept);
    g_test_add_func("/vmrpc/server/inet6/bind", test_bind);
    g_test_add_func("/vmrpc/server/inet6/datagrams", test_datagrams);
    g_test_add_func("/vmrpc/server/inet6/options", test_options);
    g_test_add_func("/vmrpc/server/inet6/options-of-both", test_options_of_both);
    g_test_add_func("/vmrpc/server/inet6/flow-labels", test_flow_labels);
    g_test_add_func("/vmrpc/server/inet6/policy", test_policy);
    g_test_add_func("/vmrpc/server/inet6/turns", test_turns);
    g_test_add_func("/vmrpc/server/inet6/turns-of-datagrams",
                    test_turns_of_datagrams);
    g_test_add_func("/vmrpc/server/inet6/hostile", test_hostile);
    return g_test_run();
}
