/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NAT64 prefixes that the network tells of, or told of once */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"
#include "tests/fixtures/server-dns-fixture.h"

/* NAT64 prefix learnt from the network (RFC 7050). */
static void test_nat64_auto(void)
{
    struct in_addr far;
    const VmrpcReachCounters *c;
    uint64_t seen;
    Dns d;
    Fx *fx;

    dns_init(&d, true);
    fx = d.fx;
    c = fx_reach_counters(fx);
    inet_pton(AF_INET, "198.51.100.1", &far);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, far, 9), ENETUNREACH);
    g_assert_cmpuint(c->unreachable_no_nat64, ==, 1);
    /* translated then; that no route leads there is another matter */
    do {
        seen = c->unreachable_no_nat64;
        fx_wait_any(fx);
        fx_addr_op(fx, VMRPC_CONNECT, 0, far, 9);
    } while (c->unreachable_no_nat64 > seen);
    g_assert_cmpuint(d.queries, ==, 1);
    /* what would be loopback on the translator is refused */
    inet_pton(AF_INET, "127.0.0.1", &far);
    fx_fails(fx_addr_op(fx, VMRPC_CONNECT, 0, far, 9), ENETUNREACH);
    g_assert_cmpuint(c->refused_builtin, ==, 1);
    dns_clear(&d);
}

/* Discovery is due; waits for what comes of it. */
static void discover(Dns *d)
{
    VmrpcServer *srv = d->fx->srv;

    srv->nat64_due_ms = 0;
    vmrpc_timer_rearm(srv);
    do {
        fx_wait_any(d->fx);
    } while (srv->nat64_asking || !srv->nat64_due_ms);
}

static void assert_nat64(const Dns *d, const char *expected)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&d->fx->srv->reach.nat64);
    char text[INET6_ADDRSTRLEN];

    g_assert_nonnull(prefix);
    inet_ntop(AF_INET6, &prefix->addr, text, sizeof(text));
    g_assert_cmpstr(text, ==, expected);
    g_assert_cmpuint(prefix->len, ==, 96);
}

/* Networks whose prefix is odd, or is not the only one, or never ends. */
static void test_nat64_odd(void)
{
    const int64_t day_ms = 24 * 3600 * 1000;
    VmrpcServer *srv;
    Dns d;

    dns_init(&d, true);
    srv = d.fx->srv;
    d.nat64 = "2001:db8:64:ff9b:100:0:192.0.0.170";
    d.ttl_s = INT32_MAX;
    discover(&d);
    assert_nat64(&d, "2001:db8:64:ff9b:100::");
    g_assert_cmpint(srv->nat64_due_ms, <=, vmrpc_now_ms() + day_ms);
    g_assert_cmpint(srv->nat64_due_ms, >, vmrpc_now_ms() + day_ms / 2);

    /* another before it is no reason to go there */
    d.nat64 = "64:ff9b::192.0.0.170 2001:db8:64:ff9b:100:0:192.0.0.170";
    discover(&d);
    assert_nat64(&d, "2001:db8:64:ff9b:100::");
    d.nat64 = "64:ff9b::192.0.0.170";
    discover(&d);
    assert_nat64(&d, "64:ff9b::");

    /* a lame server does not say that there is none */
    d.lame = true;
    discover(&d);
    assert_nat64(&d, "64:ff9b::");
    g_assert_cmpint(srv->nat64_due_ms, <=, vmrpc_now_ms() + 10000);
    dns_clear(&d);
}

static void assert_host_peer(const VmrpcSock *s, const char *expected)
{
    struct sockaddr_in6 sin6;
    socklen_t len = sizeof(sin6);
    char text[INET6_ADDRSTRLEN];

    g_assert_cmpint(getpeername(s->fd, (struct sockaddr *)&sin6, &len), ==, 0);
    inet_ntop(AF_INET6, &sin6.sin6_addr, text, sizeof(text));
    g_assert_cmpstr(text, ==, expected);
    g_assert_cmpuint(ntohs(sin6.sin6_port), ==, 9);
}

/* Who sends through a NAT64 uses the one that there is. */
static void test_nat64_moved(void)
{
    VmrpcServer *srv;
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init(&d, true);
    srv = d.fx->srv;
    d.nat64 = FX_NAT64 "192.0.0.170";
    discover(&d);
    for (unsigned i = 0; i < 2; i++) {
        fx_ok(fx_socket(d.fx, i, i, SOCK_DGRAM));
    }
    fx_ok(fx_addr_op(d.fx, VMRPC_CONNECT, 0, fx_ip4("198.51.100.5"), 9));
    fx_ok(fx_addr_op(d.fx, VMRPC_CONNECT, 1, fx_map(d.fx, fx_peer6), 9));
    assert_host_peer(srv->socks[0], FX_NAT64 "c633:6405");

    d.nat64 = FX_NAT64_TOO "192.0.0.170";
    discover(&d);
    assert_host_peer(srv->socks[0], FX_NAT64_TOO "c633:6405");
    assert_host_peer(srv->socks[1], fx_peer6);

    /* no route leads there: it stays, which is counted */
    d.nat64 = "64:ff9b::192.0.0.170";
    discover(&d);
    assert_host_peer(srv->socks[0], FX_NAT64_TOO "c633:6405");
    g_assert_cmpuint(fx_counters(d.fx)->connections_lost, ==, 1);

    /* nor does it move if the same is there again */
    d.nat64 = NULL;
    discover(&d);
    d.nat64 = "64:ff9b::192.0.0.170";
    discover(&d);
    g_assert_cmpuint(fx_counters(d.fx)->connections_lost, ==, 1);
    dns_clear(&d);
}

static void keep_sock(void *opaque, const VmrpcSavedSock *saved)
{
    *(VmrpcSavedSock *)opaque = *saved;
}

/* 10.1.2.3 and the metadata service behind FX_NAT64, and an address of it. */
static void assert_judged(Fx *fx, bool as_ipv4)
{
    uint64_t builtin = fx_reach_counters(fx)->refused_builtin;

    /* No route leads there. */
    fx_fails(fx_try_connect(fx, fx_map(fx, FX_NAT64 "a01:203"), SOCK_DGRAM),
             as_ipv4 ? EACCES : ENETUNREACH);
    fx_fails(fx_try_connect(fx, fx_map(fx, FX_NAT64 "a9fe:a9fe"), SOCK_DGRAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin - builtin, ==,
                     as_ipv4);
    fx_fails(fx_try_connect(fx, fx_map(fx, FX_NAT64 "c633:6401"), SOCK_DGRAM),
             ENETUNREACH);
}

/* What was found goes with the VM, and its sockets' peers with it. */
static void test_nat64_migration(void)
{
    static const FxOptions options = {
        .policy = "deny 10.0.0.0/8\nallow host\n", .nat64_auto = true,
        .incoming = true,
    };
    g_autofree VmrpcSavedSock *sock = g_new0(VmrpcSavedSock, 1);
    VmrpcSavedNat64 nat64[VMRPC_NAT64_MAX];
    Dns d;
    Fx *fx;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, true, options.policy);
    d.nat64 = FX_NAT64 "192.0.0.170";
    g_assert_cmpuint(vmrpc_server_save_nat64(d.fx->srv, nat64), ==, 0);
    assert_judged(d.fx, false);
    discover(&d);
    assert_judged(d.fx, true);
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(d.fx, VMRPC_CONNECT, 0, fx_ip4("198.51.100.5"), 9));
    g_assert_cmpuint(vmrpc_server_save_nat64(d.fx->srv, nat64), ==, 1);
    vmrpc_server_save(d.fx->srv, keep_sock, sock);
    dns_clear(&d);

    /* nobody answers here */
    fx = fx_new(&options);
    g_assert_cmpuint(vmrpc_server_restore_nat64(fx->srv, nat64, 1), ==, 1);
    assert_judged(fx, true);
    fx->sock[0] = (FxMirror) { .gen = 1, .seq = sock->ready_seq };
    fx->edge = true;  /* restored sockets report edges */
    g_assert_cmpint(vmrpc_server_restore(fx->srv, sock), ==, 0);
    g_assert_cmpuint(fx_counters(fx)->connections_lost, ==, 0);
    fx_ok(fx_send(fx, 0, "x", 1));
    fx_free(fx);

    /* a source that has found none, or does not tell */
    fx = fx_new(&options);
    fx->sock[0] = (FxMirror) { .gen = 1, .seq = sock->ready_seq };
    fx->edge = true;  /* restored sockets report edges */
    g_assert_cmpint(vmrpc_server_restore(fx->srv, sock), ==, 0);
    g_assert_cmpint(fx_wait_error(fx, 0), ==, ENETUNREACH);
    fx_free(fx);

    /* another network has another, before or after the VM has come */
    for (unsigned after = 0; after < 2; after++) {
        dns_init_policy(&d, true, options.policy);
        for (unsigned i = 0; i < 2; i++) {
            if (i == after) {
                g_assert_cmpuint(vmrpc_server_restore_nat64(d.fx->srv, nat64,
                                                            1), ==, 1);
                assert_judged(d.fx, true);
            } else {
                discover(&d);
            }
        }
        assert_nat64(&d, "64:ff9b::");
        assert_judged(d.fx, true);
        dns_clear(&d);
    }
}

/* The network tells of no NAT64 any more: nobody is judged more kindly. */
static void test_nat64_gone(void)
{
    static const char *const policy = "deny 10.0.0.0/8\nallow host\n";
    struct in_addr far = fx_ip4("198.51.100.5");
    VmrpcSavedNat64 nat64[VMRPC_NAT64_MAX];
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, true, policy);
    d.nat64 = FX_NAT64 "192.0.0.170";
    discover(&d);
    fx_ok(fx_try_connect(d.fx, far, SOCK_DGRAM));
    d.nat64 = NULL;
    discover(&d);
    fx_fails(fx_try_connect(d.fx, far, SOCK_DGRAM), ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(d.fx)->unreachable_no_nat64, ==, 1);
    assert_judged(d.fx, true);
    g_assert_cmpuint(vmrpc_server_save_nat64(d.fx->srv, nat64), ==, 1);
    dns_clear(&d);

    /* nor elsewhere, where there is none either */
    dns_init_policy(&d, true, policy);
    d.nat64 = NULL;
    g_assert_cmpuint(vmrpc_server_restore_nat64(d.fx->srv, nat64, 1), ==, 1);
    for (unsigned i = 0; i < 2; i++) {
        fx_fails(fx_try_connect(d.fx, far, SOCK_DGRAM), ENETUNREACH);
        assert_judged(d.fx, true);
        discover(&d);
    }
    d.nat64 = "64:ff9b::192.0.0.170";
    discover(&d);
    assert_judged(d.fx, true);
    dns_clear(&d);
}

/* Whichever of the network's is in use: there are translators behind others. */
static void test_nat64_several(void)
{
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, true, "deny 10.0.0.0/8\nallow host\n");
    d.nat64 = "64:ff9b::192.0.0.170 " FX_NAT64 "192.0.0.170 "
              "64:ff9b::192.0.0.171 " FX_NAT64 "192.0.0.171";
    discover(&d);
    assert_nat64(&d, "64:ff9b::");
    assert_judged(d.fx, true);

    /* the network has changed, but who knows what still translates */
    for (unsigned i = 0; i < 2 * VMRPC_NAT64_MAX; i++) {
        g_autofree char *prefix = g_strdup_printf("2001:db8:%x::", i + 1);
        g_autofree char *addr = g_strdup_printf("%s192.0.0.170", prefix);

        d.nat64 = addr;
        discover(&d);
        assert_nat64(&d, prefix);
        /* until there were as many as are kept */
        assert_judged(d.fx, i < VMRPC_NAT64_MAX - 2);
    }
    dns_clear(&d);
}

/* A translator of which nobody tells any more opens nothing. */
static void test_nat64_not_told(void)
{
    static const char *const answers[] = {
        FX_NAT64 "192.0.0.170",
        "64:ff9b::192.0.0.170 " FX_NAT64 "192.0.0.170 "
        "64:ff9b::192.0.0.171 " FX_NAT64 "192.0.0.171",
        "64:ff9b::192.0.0.170",
        NULL,
    };
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, true, "allow 203.0.113.0/24\ndefault deny\n");
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        d.nat64 = answers[i];
        discover(&d);
        /* no route leads there */
        fx_fails(fx_try_connect(d.fx, fx_map(d.fx, FX_NAT64 "cb00:7101"),
                                SOCK_DGRAM), i < 2 ? ENETUNREACH : EACCES);
    }
    dns_clear(&d);
}

/* Without a NAT64 of its own the guest gets behind the network's by names. */
static void test_nat64_unused(void)
{
    VmrpcSavedNat64 nat64[VMRPC_NAT64_MAX];
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, false, "deny 10.0.0.0/8\nallow host\n");
    d.nat64 = FX_NAT64 "192.0.0.170";
    discover(&d);
    assert_judged(d.fx, true);
    g_assert_null(vmrpc_nat64_in_use(&d.fx->srv->reach.nat64));
    fx_fails(fx_try_connect(d.fx, fx_ip4("198.51.100.5"), SOCK_DGRAM),
             ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(d.fx)->unreachable_no_nat64, ==, 1);
    d.nat64 = NULL;
    discover(&d);
    assert_judged(d.fx, true);
    g_assert_cmpuint(vmrpc_server_save_nat64(d.fx->srv, nat64), ==, 1);
    g_assert_cmpuint(nat64[0].in_use, ==, 0);
    dns_clear(&d);
}

/* This host's IPv4 address is this host's behind any translator. */
static void test_nat64_host(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET,
                               .sin_addr = fx_ip4("192.0.2.7") };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq ifr = { .ifr_name = "lo:7" };
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        close(fd);
        return;
    }
    memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
    g_assert_cmpint(ioctl(fd, SIOCSIFADDR, &ifr), ==, 0);
    dns_init_policy(&d, false, NULL);
    fx_fails(fx_try_connect(d.fx, fx_map(d.fx, "64:ff9b::c000:207"),
                            SOCK_DGRAM), ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(d.fx)->refused_host_address, ==, 1);
    /* no route leads there, which is another matter */
    fx_fails(fx_try_connect(d.fx, fx_map(d.fx, "64:ff9b::c633:6401"),
                            SOCK_DGRAM), ENETUNREACH);
    g_assert_cmpuint(fx_reach_counters(d.fx)->refused_host_address, ==, 1);
    dns_clear(&d);
    ifr.ifr_flags = 0;
    g_assert_cmpint(ioctl(fd, SIOCSIFFLAGS, &ifr), ==, 0);
    close(fd);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/server/nat64/auto", test_nat64_auto);
    g_test_add_func("/vmrpc/server/nat64/odd", test_nat64_odd);
    g_test_add_func("/vmrpc/server/nat64/moved", test_nat64_moved);
    g_test_add_func("/vmrpc/server/nat64/migration", test_nat64_migration);
    g_test_add_func("/vmrpc/server/nat64/gone", test_nat64_gone);
    g_test_add_func("/vmrpc/server/nat64/several", test_nat64_several);
    g_test_add_func("/vmrpc/server/nat64/not-told", test_nat64_not_told);
    g_test_add_func("/vmrpc/server/nat64/unused", test_nat64_unused);
    g_test_add_func("/vmrpc/server/nat64/host", test_nat64_host);
    return g_test_run();
}
