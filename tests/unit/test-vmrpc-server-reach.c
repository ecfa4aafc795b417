/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a guest gets to, by which names, with which options; datagrams */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/net_tstamp.h>

#include "tests/fixtures/server-fixture.h"

/* --- where a guest may go ------------------------------------------------ */

static struct {
    unsigned calls;
    unsigned refusals;
    char reason[32];
    char dest[INET6_ADDRSTRLEN];
} traced;

static void trace_call(void *opaque, unsigned op, uint32_t handle, int error,
                       uint32_t value)
{
    traced.calls++;
}

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    traced.refusals++;
    g_strlcpy(traced.dest, refusal->dest, sizeof(traced.dest));
    g_strlcpy(traced.reason, refusal->reason, sizeof(traced.reason));
    g_assert_cmpuint(refusal->port, ==, 9);
}

static void test_policy(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "deny 2001:db8:1::/48\n" });
    VmrpcTracer tracer = { .call = trace_call, .refused = trace_refused };

    vmrpc_server_set_tracer(fx->srv, &tracer);
    memset(&traced, 0, sizeof(traced));
    fx_fails(fx_try_connect(fx, fx_map(fx, "::1"), SOCK_STREAM), ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 1);
    g_assert_cmpstr(traced.reason, ==, "loopback");
    g_assert_cmpstr(traced.dest, ==, "::1");
    fx_fails(fx_try_connect(fx, fx_map(fx, "fe80::1"), SOCK_DGRAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 2);
    g_assert_cmpstr(traced.reason, ==, "link-local");
    fx_fails(fx_try_connect(fx, fx_map(fx, "2001:db8:1::5"), SOCK_STREAM),
             EACCES);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 1);
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_fails(fx_sendto(fx, 1, fx_map(fx, "ff02::1"), 9, "x", 1), ENETUNREACH);
    fx_fails(fx_sendto(fx, 1, fx_map(fx, "::ffff:127.0.0.1"), 9, "x", 1),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 4);
    fx_fails(fx_try_connect(fx, fx_ip4("224.0.0.1"), SOCK_DGRAM), ENETUNREACH);
    fx_fails(fx_try_connect(fx, fx_ip4("255.255.255.255"), SOCK_DGRAM),
             ENETUNREACH);
    if (fx_has_namespace()) {
        fx_fails(fx_try_connect(fx, fx->peer4, SOCK_STREAM), ENETUNREACH);
        g_assert_cmpuint(fx_reach_counters(fx)->refused_host_address, ==, 1);
        g_assert_cmpstr(traced.reason, ==, "host");
        /* 0.0.0.0 and the guest's own address are the VM's own, too */
        fx_fails(fx_try_connect(fx, fx_ip4("0.0.0.0"), SOCK_STREAM),
                 ENETUNREACH);
        fx_fails(fx_try_connect(fx, fx->guest4, SOCK_STREAM), ENETUNREACH);
        g_assert_cmpuint(fx_reach_counters(fx)->refused_host_address, ==, 3);
    }
    /* a virtual address that stands for nobody */
    fx_fails(fx_try_connect(fx, fx_ip4("198.18.200.1"), SOCK_STREAM),
             EHOSTUNREACH);
    fx_fails(fx_try_connect(fx, fx_ip4("198.18.0.0"), SOCK_STREAM),
             EHOSTUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->unreachable_no_mapping, ==, 2);
    /* IPv4 without NAT64 */
    fx_fails(fx_try_connect(fx, fx_ip4("198.51.100.1"), SOCK_STREAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->unreachable_no_nat64, ==, 1);
    g_assert_cmpuint(traced.calls, >, 20);
    fx_free(fx);
}

/* The resolver is one port of an address that never meets the network. */
static void test_resolver_ports(void)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\n", .nat64 = true });

    fx_fails(fx_try_connect(fx, fx->resolver4, SOCK_STREAM), ECONNREFUSED);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(fx_sendto(fx, 0, fx->resolver4, 853, "x", 1), ECONNREFUSED);
    fx_free(fx);
}

static void test_nat64(void)
{
    static const char *const refused[] = {
        "127.0.0.1", "169.254.169.254", "169.254.1.1", "100.100.100.200",
        "0.1.2.3", "240.0.0.1",
    };
    Fx *fx = fx_new(&(FxOptions) { .policy = "allow host\n", .nat64 = true });
    uint64_t before = fx_reach_counters(fx)->refused_builtin;
    FxReply r;

    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        fx_fails(fx_try_connect(fx, fx_ip4(refused[i]), SOCK_STREAM),
                 ENETUNREACH);
        g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==,
                         before + i + 1);
    }
    /* the same by a name that leads into the prefix */
    fx_fails(fx_try_connect(fx, fx_map(fx, FX_NAT64 "a9fe:a9fe"), SOCK_STREAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->unreachable_no_nat64, ==, 0);
    if (fx_has_namespace()) {
        /* allowed, and nobody listens */
        r = fx_try_connect(fx, fx_ip4("198.51.100.5"), SOCK_STREAM);
        g_assert_true(r.error == EINPROGRESS || r.error == ECONNREFUSED);
    }
    fx_free(fx);
}

/* One datagram to the VM from an address inside the NAT64 prefix. */
static struct in_addr seen_from(Fx *fx, uint16_t port, const char *from)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    char buf[1];
    FxReply r;

    inet_pton(AF_INET6, from, &sin6.sin6_addr);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)), ==, 0);
    inet_pton(AF_INET6, fx_vm6, &sin6.sin6_addr);
    sin6.sin6_port = htons(port);
    g_assert_cmpint(sendto(fd, "x", 1, 0, (struct sockaddr *)&sin6,
                           sizeof(sin6)), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, buf, 1, 0);
    fx_ok(r);
    close(fd);
    return r.addr.sin_addr;
}

/* Nobody behind the translator can appear as somebody he is not. */
static void test_nat64_peers(void)
{
    static const char *const liars[] = {
        FX_NAT64 "7f00:1",              /* loopback */
        FX_NAT64 "a00:20f",             /* the guest itself */
        FX_NAT64 "c000:1",              /* its resolver */
        FX_NAT64 "c612:5",              /* another peer's virtual address */
    };
    VmrpcAddrMap *map;
    uint16_t port;
    FxReply r;
    Fx *fx;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    fx = fx_new(&(FxOptions) { .policy = "allow host\n", .nat64 = true });
    map = vmrpc_server_addrmap(fx->srv);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    port = ntohs(r.addr.sin_port);
    g_assert_cmphex(seen_from(fx, port, FX_NAT64 "c633:6405").s_addr, ==,
                    fx_ip4("198.51.100.5").s_addr);
    for (size_t i = 0; i < G_N_ELEMENTS(liars); i++) {
        struct in_addr seen = seen_from(fx, port, liars[i]);
        struct in6_addr want, back;

        inet_pton(AF_INET6, liars[i], &want);
        g_assert_true(vmrpc_addrmap_contains(map, seen));
        g_assert_cmpint(vmrpc_addrmap_lookup4(map, seen, &back), ==, 0);
        g_assert_cmpmem(&back, sizeof(back), &want, sizeof(want));
    }
    fx_free(fx);
}

/* --- what the host's routing makes of it ---------------------------------- */

#define TO_TABLE        "2001:db8:77::5"    /* local, but in table 77 */
#define TO_TABLE4       "10.77.0.5"         /* too */

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/*
 * A way out by r0, and a table by which the host would have more of its own,
 * if a rule led there.  False where that cannot be made.
 */
static bool make_table(void)
{
    if (!fx_has_namespace() ||
        system("ip link add r0 type veth peer name r1") != 0) {
        g_test_skip("needs a network namespace and veth");
        return false;
    }
    run("ip link set r0 up && ip link set r1 up &&"
        "ip -6 address add 2001:db8:9::1/64 dev r0 nodad &&"
        "ip address add 192.0.2.1/24 dev r0 &&"
        "ip -6 route add default via 2001:db8:9::2 dev r0 &&"
        "ip route add default via 192.0.2.2 dev r0 &&"
        "ip -6 route add local 2001:db8:77::/64 dev lo table 77 &&"
        "ip route add local 10.77.0.0/16 dev lo table 77");
    return true;
}

static void drop_table(void)
{
    run("ip link del r0; ip -6 route flush table 77; ip route flush table 77");
}

static bool is_the_hosts(Fx *fx, const char *to, int type)
{
    struct in_addr addr = strchr(to, ':') ? fx_map(fx, to) : fx_ip4(to);
    uint64_t before = fx_reach_counters(fx)->refused_host_address;

    fx_try_connect(fx, addr, type);
    return fx_reach_counters(fx)->refused_host_address == before + 1;
}

/* Each is in force for the very next call, and no longer than it is there. */
static void test_rules(void)
{
    static const struct {
        const char *family, *selector;
        const char *to;
        bool tcp, udp;          /* is that the host's own then? */
    } cases[] = {
        { "-6", "", TO_TABLE, true, true },
        { "-6", "from 2001:db8::10", TO_TABLE, true, true },
        { "-6", "from 2001:db8:9::1", TO_TABLE, false, false },
        { "-6", "ipproto tcp", TO_TABLE, true, false },
        { "-6", "ipproto udp dport 9", TO_TABLE, false, true },
        { "-6", "ipproto udp dport 10", TO_TABLE, false, false },
        { "-4", "", TO_TABLE4, true, true },
        { "-4", "ipproto tcp dport 9", TO_TABLE4, true, false },
    };
    static const char *const verb[] = { NULL, "add", "del" };
    Fx *fx;

    if (!make_table()) {
        return;
    }
    g_assert_cmpstr(fx_vm6, ==, "2001:db8::10");
    fx = fx_new(&(FxOptions) { .policy = "", .nat64 = true });
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (unsigned there = 0; there < 3; there++) {
            if (there) {
                g_autofree char *command = g_strdup_printf(
                    "ip %s rule %s prio 100 %s lookup 77", cases[i].family,
                    verb[there], cases[i].selector);

                run(command);
                g_test_message("%s", command);
            }
            g_assert_cmpint(is_the_hosts(fx, cases[i].to, SOCK_STREAM), ==,
                            there == 1 && cases[i].tcp);
            g_assert_cmpint(is_the_hosts(fx, cases[i].to, SOCK_DGRAM), ==,
                            there == 1 && cases[i].udp);
        }
    }
    fx_free(fx);
    drop_table();
}

/* A VM without an address has the one that the host chooses. */
static void test_rules_no_address6(void)
{
    Fx *fx;

    if (!make_table()) {
        return;
    }
    fx = fx_new(&(FxOptions) { .no_address6 = true, .policy = "" });
    g_assert_false(is_the_hosts(fx, TO_TABLE, SOCK_STREAM));
    run("ip -6 rule add prio 100 from 2001:db8:9::1 lookup 77");
    g_assert_true(is_the_hosts(fx, TO_TABLE, SOCK_STREAM));
    run("ip -6 rule del prio 100");
    g_assert_false(is_the_hosts(fx, TO_TABLE, SOCK_STREAM));
    fx_free(fx);
    drop_table();
}

/*
 * The route that leads elsewhere goes, and behind it is the host's own.  The
 * kernel says so of links and next hops only, not of the routes that go along.
 */
static void test_routes_go_along(void)
{
    Fx *fx;

    if (!make_table()) {
        return;
    }
    fx = fx_new(&(FxOptions) { .policy = "", .nat64 = true });
    /* Without IPv6, of which the kernel would tell. */
    run("ip link add q0 type veth peer name q1 &&"
        "sysctl -qw net.ipv6.conf.q0.disable_ipv6=1 &&"
        "sysctl -qw net.ipv6.conf.q1.disable_ipv6=1 &&"
        "ip link set q1 up && ip link set q0 up &&"
        "ip route add 10.77.0.0/16 dev q0 &&"
        "ip rule add prio 32000 lookup main suppress_prefixlength 0 &&"
        "ip rule add prio 32001 lookup 77");
    g_assert_false(is_the_hosts(fx, TO_TABLE4, SOCK_STREAM));
    run("ip link set q0 down");
    g_assert_true(is_the_hosts(fx, TO_TABLE4, SOCK_STREAM));
    run("ip rule del prio 32000 && ip rule del prio 32001 &&"
        "ip link del q0");

    if (system("sysctl -qw net.ipv4.nexthop_compat_mode=0") == 0) {
        run("ip -6 nexthop add id 7 via 2001:db8:9::2 dev r0 &&"
            "ip -6 route add 2001:db8:77::/64 nhid 7 &&"
            "ip -6 rule add prio 32000 lookup main suppress_prefixlength 0 &&"
            "ip -6 rule add prio 32001 lookup 77");
        g_assert_false(is_the_hosts(fx, TO_TABLE, SOCK_STREAM));
        run("ip -6 nexthop del id 7");
        g_assert_true(is_the_hosts(fx, TO_TABLE, SOCK_STREAM));
        run("ip -6 rule del prio 32000 && ip -6 rule del prio 32001");
    }
    fx_free(fx);
    drop_table();
}

/* --- names, options, flags ----------------------------------------------- */

static void test_names(void)
{
    Fx *fx = fx_new_default();
    struct in_addr any = { };
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    struct sockaddr_in6 sin6;
    socklen_t len = sizeof(sin6);
    struct in6_addr vm6;
    FxReply r;

    /* the peer sees the VM's own address */
    g_assert_cmpint(getpeername(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    inet_pton(AF_INET6, fx_vm6, &vm6);
    g_assert_cmpmem(&sin6.sin6_addr, 16, &vm6, 16);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    fx_assert_addr(&r, fx->guest4, ntohs(sin6.sin6_port));
    r = fx_op(fx, VMRPC_GETPEERNAME, 0, 0, 0);
    fx_assert_addr(&r, fx->peer4, port);

    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    r = fx_op(fx, VMRPC_GETSOCKNAME, 1, 0, 0);
    fx_assert_addr(&r, any, 0);
    fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 1, 0, 0), ENOTCONN);
    r = fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, port);
    fx_ok(r);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, fx->guest4.s_addr);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    r = fx_op(fx, VMRPC_GETPEERNAME, 1, 0, 0);
    fx_assert_addr(&r, fx->peer4, port);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 1, 0, 0));
    fx_fails(fx_op(fx, VMRPC_GETPEERNAME, 1, 0, 0), ENOTCONN);
    close(fd);
    close(listener);
    fx_free(fx);
}

/* A peer's address stays as long as a socket holds it, and no longer. */
static void test_references(void)
{
    Fx *fx = fx_new_default();
    VmrpcAddrMap *map = vmrpc_server_addrmap(fx->srv);
    VmrpcAddrMapStats stats;
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);

    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, port));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, port));
    vmrpc_addrmap_stats(map, &stats);
    g_assert_cmpuint(stats.in_use, ==, 1);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    vmrpc_addrmap_stats(map, &stats);
    g_assert_cmpuint(stats.in_use, ==, 1);
    fx_ok(fx_op(fx, VMRPC_CONNECT, 1, 0, 0));
    fx_ok(fx_op(fx, VMRPC_CONNECT, 1, 0, 0));
    vmrpc_addrmap_stats(map, &stats);
    g_assert_cmpuint(stats.in_use, ==, 0);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_options(void)
{
    Fx *fx = fx_new_default();
    uint32_t one = fx_le(1), big = fx_le(7);
    uint32_t linger[2] = { fx_le(1), fx_le(30) };
    uint8_t value[300] = { 0 };
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_TYPE), ==,
                    SOCK_STREAM);
    g_assert_cmpint(fx_getsockopt_int(fx, 0, SOL_SOCKET, SO_DOMAIN), ==,
                    AF_INET);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, &one, 4));
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_TCP, TCP_NODELAY), ==,
                    1);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_TTL, &big, 4));
    g_assert_cmpint(fx_getsockopt_int(fx, 0, IPPROTO_IP, IP_TTL), ==, 7);
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_LINGER, linger, 8));
    fx_fails(fx_setsockopt(fx, 0, SOL_SOCKET, SO_MARK, &one, 4), EPERM);
    fx_fails(fx_setsockopt(fx, 0, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3),
             EPERM);
    fx_fails(fx_setsockopt(fx, 0, 4711, 1, &one, 4), ENOPROTOOPT);
    fx_fails(fx_getsockopt(fx, 0, 4711, 1, value, 4), ENOPROTOOPT);
    fx_fails(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value, 2),
             EINVAL);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value, 256));
    fx_fails(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value, 257),
             EINVAL);
    /* room for more than any value: only what there is is written */
    r = fx_getsockopt(fx, 0, IPPROTO_TCP, TCP_INFO, value, sizeof(value));
    fx_ok(r);
    g_assert_cmpuint(r.value, <=, VMRPC_OPTVAL_MAX);
    g_assert_cmpint(r.ret, ==, sizeof(struct vmrpc_resp) + r.value);
    r = fx_getsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 0);
    fx_fails(fx_op(fx, VMRPC_IOCTL, 0, 0x8912, 0), ENOTTY);
    fx_free(fx);
}

/* A guest gets TCP_INFO whole, if it knows that values can be so long. */
static void test_long_values(void)
{
    Fx *fx = fx_new_default();
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    uint8_t value[2 * VMRPC_OPTVAL_LONG_MAX];
    socklen_t whole = sizeof(value);

    g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_INFO, value, &whole), ==,
                    0);
    g_assert_cmpuint(whole, <=, VMRPC_OPTVAL_LONG_MAX);
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    for (int i = 0; i < 3; i++) {
        uint32_t max = i % 2 ? VMRPC_OPTVAL_LONG_MAX : VMRPC_OPTVAL_MAX;
        FxReply r;

        vmrpc_server_set_features(fx->srv,
                                  i % 2 ? 1 << VMRPC_F_LONG_VALUES : 0);
        r = fx_getsockopt(fx, 0, IPPROTO_TCP, TCP_INFO, value, sizeof(value));
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, MIN(whole, max));
        r = fx_getsockopt(fx, 0, IPPROTO_TCP, TCP_INFO, value, 250);
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, MIN(whole, 250));
        /* What is set, and so what migrates, is not longer. */
        memset(value, 0, sizeof(value));
        fx_ok(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value,
                            VMRPC_OPTVAL_MAX));
        fx_fails(fx_setsockopt(fx, 0, IPPROTO_TCP, TCP_NODELAY, value,
                               VMRPC_OPTVAL_MAX + 1), EINVAL);
    }
    close(fd);
    fx_free(fx);
}

/* However long the guest would linger, close is at once. */
static void test_linger(void)
{
    static char data[1 << 16];
    Fx *fx = fx_new_default();
    uint32_t linger[2] = { fx_le(1), fx_le(3600) };
    uint32_t abort_[2] = { fx_le(1), fx_le(0) };
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    gint64 start;
    char c;

    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_LINGER, abort_, 8));
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_LINGER, linger, 8));
    while (!fx_send(fx, 0, data, sizeof(data)).error) {
        /* until the peer, who does not read, is full */
    }
    start = g_get_monotonic_time();
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpint(g_get_monotonic_time() - start, <, FX_WAIT_MS * 1000);
    /* and nothing was lost */
    g_assert_cmpint(recv(fd, &c, 1, 0), ==, 1);
    close(fd);

    /* linger of 0 seconds is a reset, as everywhere */
    fd = fx_connect_stream(fx, 1, listener, port);
    fx_ok(fx_setsockopt(fx, 1, SOL_SOCKET, SO_LINGER, abort_, 8));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    peer_await(fd);
    g_assert_cmpint(recv(fd, &c, 1, 0), ==, -1);
    g_assert_cmpint(errno, ==, ECONNRESET);
    close(fd);
    close(listener);
    fx_free(fx);
}

static void test_peek_stream(void)
{
    Fx *fx = fx_new_default();
    char buf[16];
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int fd = fx_connect_stream(fx, 0, listener, port);
    FxReply r;

    g_assert_cmpint(send(fd, "abcdef", 6, 0), ==, 6);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0).value, ==, 6);
    r = fx_recv(fx, 0, buf, 3, MSG_PEEK);
    g_assert_cmpuint(r.value, ==, 3);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, VMRPC_IN);
    g_assert_cmpuint(fx_counters(fx)->bytes_received, ==, 0);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    g_assert_cmpuint(r.value, ==, 6);
    g_assert_cmpmem(buf, 6, "abcdef", 6);
    /* flags that would make the host wait, or take what is its own */
    fx_fails(fx_recv(fx, 0, buf, 1, MSG_WAITALL), EAGAIN);
    close(fd);
    close(listener);
    fx_free(fx);
}

/* --- datagrams ----------------------------------------------------------- */

static void test_datagrams(void)
{
    Fx *fx = fx_new_default();
    struct sockaddr_in6 from;
    socklen_t from_len = sizeof(from);
    uint16_t port, own;
    int peer = peer_socket(SOCK_DGRAM, &port);
    char buf[32];
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(fx_send(fx, 0, "x", 1), EDESTADDRREQ);
    r = fx_sendto(fx, 0, fx->peer4, port, "ping", 4);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 4);
    g_assert_cmpint(recvfrom(peer, buf, sizeof(buf), 0,
                             (struct sockaddr *)&from, &from_len), ==, 4);
    g_assert_cmpint(sendto(peer, "pong!", 5, 0, (struct sockaddr *)&from,
                           from_len), ==, 5);
    fx_wait(fx, 0, VMRPC_IN);
    g_assert_cmpuint(fx_op(fx, VMRPC_IOCTL, 0, SIOCINQ, 0).value, ==, 5);
    /* a part of it, without taking it */
    r = fx_recv(fx, 0, buf, 2, MSG_PEEK);
    g_assert_cmpuint(r.value, ==, 2);
    g_assert_cmphex(r.msg_flags, ==, MSG_TRUNC);
    r = fx_recv(fx, 0, buf, 2, MSG_PEEK | MSG_TRUNC);
    g_assert_cmpuint(r.value, ==, 5);
    g_assert_cmpint(r.ret, ==, sizeof(struct vmrpc_resp) + 2);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    g_assert_cmpuint(r.value, ==, 5);
    g_assert_cmphex(r.msg_flags, ==, 0);
    g_assert_cmpmem(buf, 5, "pong!", 5);
    fx_assert_addr(&r, fx_peer4(fx), port);
    g_assert_cmphex(r.ready & VMRPC_IN, ==, 0);
    /* of no length, and none */
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, NULL, 0));
    g_assert_cmpint(recv(peer, buf, sizeof(buf), 0), ==, 0);
    fx_fails(fx_recv(fx, 0, buf, sizeof(buf), 0), EAGAIN);

    /* connected: only from there */
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port));
    fx_ok(fx_send(fx, 0, "again", 5));
    g_assert_cmpint(recv(peer, buf, sizeof(buf), 0), ==, 5);
    r = fx_op(fx, VMRPC_GETSOCKNAME, 0, 0, 0);
    own = ntohs(r.addr.sin_port);
    g_assert_cmpuint(own, ==, ntohs(from.sin6_port));
    fd = peer_connect(SOCK_DGRAM, own);
    send(fd, "stranger", 8, 0);
    g_assert_cmpint(sendto(peer, "friend", 6, 0, (struct sockaddr *)&from,
                           from_len), ==, 6);
    fx_wait(fx, 0, VMRPC_IN);
    r = fx_recv(fx, 0, buf, sizeof(buf), 0);
    g_assert_cmpmem(buf, r.value, "friend", 6);
    close(fd);

    /* nobody there any more: an asynchronous error, once */
    close(peer);
    fx_ok(fx_send(fx, 0, "x", 1));
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
    g_assert_cmpuint(fx->sock[0].so_errors, ==, 1);
    fx_free(fx);
}

/* Ancillary data in both directions, and the error queue. */
static void test_control(void)
{
    Fx *fx = fx_new_default();
    struct vmrpc_req req;
    uint32_t one = fx_le(1);
    uint8_t in[200 + 4];
    uint8_t out[32 + 1] = { };
    uint16_t port, own;
    int peer = peer_socket(SOCK_DGRAM, &port);
    struct in_addr seen;
    char buf[8];
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    own = ntohs(r.addr.sin_port);
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_PKTINFO, &one, 4));
    fx_ok(fx_setsockopt(fx, 0, IPPROTO_IP, IP_RECVERR, &one, 4));
    fd = peer_connect(SOCK_DGRAM, own);
    g_assert_cmpint(send(fd, "data", 4, 0), ==, 4);
    fx_wait(fx, 0, VMRPC_IN);
    for (size_t cut = 0; cut < 2; cut++) {
        fx->cut = cut * 13;
        req = fx_req(fx, VMRPC_RECVMSG, 0);
        req.control_len = fx_le(200);
        req.u.msg.flags = fx_le(cut ? 0 : MSG_PEEK);
        r = fx_call(fx, &req, NULL, 0, in, sizeof(in));
        fx_ok(r);
        g_assert_cmpuint(r.value, ==, 4);
        /* struct cmsghdr of 64 bits, in_pktinfo: the guest's own address */
        g_assert_cmpuint(r.control_len, ==, 16 + 12 + 4);
        g_assert_cmpuint(in[0], ==, 28);
        memcpy(&seen, in + 24, 4);
        g_assert_cmphex(seen.s_addr, ==, fx->guest4.s_addr);
        g_assert_cmpmem(in + 200, 4, "data", 4);
    }
    fx->cut = 0;
    /* no room for it */
    g_assert_cmpint(send(fd, "data", 4, 0), ==, 4);
    fx_wait(fx, 0, VMRPC_IN);
    req.control_len = fx_le(8);
    r = fx_call(fx, &req, NULL, 0, in, 8 + 4);
    fx_ok(r);
    g_assert_cmphex(r.msg_flags & MSG_CTRUNC, ==, MSG_CTRUNC);
    g_assert_cmpuint(fx_counters(fx)->control_dropped, ==, 1);

    /* sending: a TTL, then a source that is not the guest's */
    req = fx_req(fx, VMRPC_SENDMSG, 0);
    req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
    req.addr.addr = fx->peer4.s_addr;
    req.addr.port = htons(port);
    req.control_len = fx_le(24);
    out[0] = 20;
    out[12] = IP_TTL;
    out[16] = 9;
    out[24] = 'x';
    r = fx_call(fx, &req, out, 25, NULL, 0);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 1);
    peer_read(peer, buf, 1);
    memset(out, 0, sizeof(out));
    req.control_len = fx_le(32);
    out[0] = 28;
    out[12] = IP_PKTINFO;
    memcpy(out + 20, &fx->guest4, 4);
    fx_ok(fx_call(fx, &req, out, 33, NULL, 0));
    out[20]++;
    fx_fails(fx_call(fx, &req, out, 33, NULL, 0), EINVAL);
    out[0] = 255;
    fx_fails(fx_call(fx, &req, out, 33, NULL, 0), EINVAL);

    /* the error queue of a port that nobody has */
    close(peer);
    fx_ok(fx_sendto(fx, 0, fx->peer4, port, "gone", 4));
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ECONNREFUSED);
    req = fx_req(fx, VMRPC_RECVMSG, 0);
    req.control_len = fx_le(200);
    req.u.msg.flags = fx_le(MSG_ERRQUEUE);
    r = fx_call(fx, &req, NULL, 0, in, sizeof(in));
    fx_ok(r);
    g_assert_cmphex(r.msg_flags & MSG_ERRQUEUE, ==, MSG_ERRQUEUE);
    fx_assert_addr(&r, fx_peer4(fx), port);
    g_assert_cmpuint(r.control_len, >=, 16 + 16 + 16);
    fx_fails(fx_call(fx, &req, NULL, 0, in, sizeof(in)), EAGAIN);
    close(fd);
    fx_free(fx);
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/*
 * Receives one message, and what is told of @type in two numbers of 64 bits;
 * it may be behind others.
 */
static void recv_time(Fx *fx, int flags, int type, uint64_t time[2])
{
    struct vmrpc_req req = fx_req(fx, VMRPC_RECVMSG, 0);
    uint8_t in[200 + 4];
    FxReply r;

    fx_wait(fx, 0, flags & MSG_ERRQUEUE ? VMRPC_ERR : VMRPC_IN);
    req.control_len = fx_le(200);
    req.u.msg.flags = fx_le(flags);
    r = fx_call(fx, &req, NULL, 0, in, sizeof(in));
    fx_ok(r);
    for (unsigned at = 0; at + 32 <= r.control_len;
         at += (in[at] + 7) & ~7) {
        if (in[at + 8] == SOL_SOCKET && in[at + 12] == type) {
            memcpy(time, in + at + 16, 16);
            return;
        }
    }
    g_assert_not_reached();
}

static void assert_time(const uint64_t time[2], bool moment, int64_t mono,
                        int64_t real)
{
    if (moment) {
        g_assert_cmpuint(time[0], >=, mono);
        g_assert_cmpuint(time[0], <=, time[1]);
        g_assert_cmpuint(time[1], <=, clock_ns(CLOCK_MONOTONIC));
    } else {
        g_assert_cmpuint(time[0] * 1000000000 + time[1], >=, real);
    }
}

/* A module that does not understand moments gets the host's time. */
static void test_moments(void)
{
    uint32_t one = fx_le(1), stamping = fx_le(SOF_TIMESTAMPING_TX_SOFTWARE |
                                              SOF_TIMESTAMPING_SOFTWARE);
    Fx *fx = fx_new_default();
    uint16_t port, own;
    int peer = peer_socket(SOCK_DGRAM, &port);
    int64_t real, mono;
    uint64_t time[2];
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    own = ntohs(r.addr.sin_port);
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_TIMESTAMPNS_OLD, &one, 4));
    fx_ok(fx_setsockopt(fx, 0, SOL_SOCKET, SO_TIMESTAMPING_OLD, &stamping, 4));
    fd = peer_connect(SOCK_DGRAM, own);
    for (int i = 0; i < 3; i++) {
        vmrpc_server_set_features(fx->srv, i % 2 ? 1 << VMRPC_F_MOMENTS : 0);
        mono = clock_ns(CLOCK_MONOTONIC);
        real = clock_ns(CLOCK_REALTIME);
        g_assert_cmpint(send(fd, "data", 4, 0), ==, 4);
        recv_time(fx, 0, SO_TIMESTAMPNS_OLD, time);
        assert_time(time, i % 2, mono, real);
        /* when it was sent */
        fx_ok(fx_sendto(fx, 0, fx->peer4, port, "x", 1));
        recv_time(fx, MSG_ERRQUEUE, SO_TIMESTAMPING_OLD, time);
        assert_time(time, i % 2, mono, real);
    }
    close(fd);
    close(peer);
    fx_free(fx);
}

/* Its later parts name no destination, whether or not the VM has an address. */
static void test_datagram_in_parts(void)
{
    uint16_t port;
    int peer = peer_socket(SOCK_DGRAM, &port);
    struct vmrpc_req req, discard;
    char buf[8];
    Fx *fx;

    for (int own = 0; own < 2; own++) {
        fx = fx_new(&(FxOptions) { .no_address6 = !own,
                                   .policy = "allow host\nallow ::1\n" });
        fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
        req = fx_req(fx, VMRPC_SENDMSG, 0);
        req.addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
        req.addr.addr = fx_peer4(fx).s_addr;
        req.addr.port = htons(port);
        req.u.msg.flags = fx_le(MSG_MORE);
        fx_ok(fx_call(fx, &req, "one ", 4, NULL, 0));
        fx_ok(fx_send(fx, 0, "two", 3));
        g_assert_cmpint(recv(peer, buf, sizeof(buf), 0), ==, 7);
        g_assert_cmpmem(buf, 7, "one two", 7);
        fx_fails(fx_send(fx, 0, "x", 1), EDESTADDRREQ);
        /* what is begun can be given up, and nothing is no error */
        fx_ok(fx_call(fx, &req, "one ", 4, NULL, 0));
        discard = fx_req(fx, VMRPC_SENDMSG, 0);
        discard.u.msg.flags = fx_le(VMRPC_MSG_DISCARD);
        fx_ok(fx_call(fx, &discard, NULL, 0, NULL, 0));
        fx_ok(fx_call(fx, &discard, NULL, 0, NULL, 0));
        req.u.msg.flags = 0;
        fx_ok(fx_call(fx, &req, "three", 5, NULL, 0));
        g_assert_cmpint(recv(peer, buf, sizeof(buf), 0), ==, 5);
        g_assert_cmpmem(buf, 5, "three", 5);
        fx_free(fx);
    }
    close(peer);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/policy", test_policy);
    g_test_add_func("/vmrpc/server/resolver-ports", test_resolver_ports);
    g_test_add_func("/vmrpc/server/nat64", test_nat64);
    g_test_add_func("/vmrpc/server/nat64-peers", test_nat64_peers);
    g_test_add_func("/vmrpc/server/rules", test_rules);
    g_test_add_func("/vmrpc/server/rules-no-address6", test_rules_no_address6);
    g_test_add_func("/vmrpc/server/routes-go-along", test_routes_go_along);
    g_test_add_func("/vmrpc/server/names", test_names);
    g_test_add_func("/vmrpc/server/references", test_references);
    g_test_add_func("/vmrpc/server/options", test_options);
    g_test_add_func("/vmrpc/server/long-values", test_long_values);
    g_test_add_func("/vmrpc/server/linger", test_linger);
    g_test_add_func("/vmrpc/server/peek-stream", test_peek_stream);
    g_test_add_func("/vmrpc/server/datagrams", test_datagrams);
    g_test_add_func("/vmrpc/server/datagram-in-parts", test_datagram_in_parts);
    g_test_add_func("/vmrpc/server/control", test_control);
    g_test_add_func("/vmrpc/server/moments", test_moments);
    return g_test_run();
}
