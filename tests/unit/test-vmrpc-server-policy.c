/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: the policy file at work
 *
 * Destinations are addresses that no route leads to: what the policy lets
 * through gets ENETUNREACH from the host, and nothing is counted as refused.
 */
#include "tests/fixtures/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/inspect.h"
#include "hw/vmrpc/server/policy-file.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"

static struct {
    unsigned refusals;
    char dest[INET6_ADDRSTRLEN];
    char name[64];
    char reason[32];
    unsigned port, line;
} traced;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    traced.refusals++;
    g_strlcpy(traced.dest, refusal->dest ?: "", sizeof(traced.dest));
    g_strlcpy(traced.name, refusal->name ?: "", sizeof(traced.name));
    g_strlcpy(traced.reason, refusal->reason, sizeof(traced.reason));
    traced.port = refusal->port;
    traced.line = refusal->line;
}

static Fx *fx_with(const char *policy, bool nat64)
{
    Fx *fx = fx_new(&(FxOptions) { .policy = policy, .nat64 = nat64,
                                   .max_sockets = 1024 });
    VmrpcTracer tracer = { .refused = trace_refused };

    vmrpc_server_set_tracer(fx->srv, &tracer);
    memset(&traced, 0, sizeof(traced));
    return fx;
}

/* The guest asked for @name, and DNS said @addr6. */
static void asked(Fx *fx, const char *name, const char *addr6)
{
    VmrpcNameAddr addr = { .ttl_s = 60 };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    g_assert_cmpint(inet_pton(AF_INET6, addr6, &addr.addr6), ==, 1);
    vmrpc_names_note(fx->srv->reach.names, &wire, &addr, 1, vmrpc_now_ms());
}

static int try4(Fx *fx, struct in_addr addr, int type, unsigned port)
{
    FxReply r;

    fx_ok(fx_socket(fx, 0, 1, type));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, addr, port);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    return r.error;
}

static int try6(Fx *fx, const char *addr6, unsigned port)
{
    return try4(fx, fx_map(fx, addr6), SOCK_STREAM, port);
}

static int try_ip4(Fx *fx, const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return try4(fx, addr, SOCK_STREAM, 443);
}

/* What the host says of a destination that the policy lets through. */
#define PASSED ENETUNREACH

static void assert_passed(Fx *fx, int error)
{
    g_assert_cmpint(error, ==, PASSED);
    g_assert_cmpuint(traced.refusals, ==, 0);
}

static void assert_refused(Fx *fx, int error, const char *dest,
                           const char *name, const char *reason, unsigned line)
{
    g_assert_cmpint(error, ==, EACCES);
    g_assert_cmpuint(traced.refusals, ==, 1);
    g_assert_cmpstr(traced.dest, ==, dest);
    g_assert_cmpstr(traced.name, ==, name);
    g_assert_cmpstr(traced.reason, ==, reason);
    g_assert_cmpuint(traced.line, ==, line);
    memset(&traced, 0, sizeof(traced));
}

static void test_allow_by_name(void)
{
    Fx *fx = fx_with("allow www.test tcp 443\n"
                     "allow *.cdn.test\n"
                     "default deny\n", false);

    asked(fx, "WWW.test", "2001:db8:7::1");
    asked(fx, "a.cdn.test", "2001:db8:7::2");
    asked(fx, "other.test", "2001:db8:7::3");
    assert_passed(fx, try6(fx, "2001:db8:7::1", 443));
    assert_passed(fx, try6(fx, "2001:db8:7::2", 80));
    assert_refused(fx, try6(fx, "2001:db8:7::1", 80), "2001:db8:7::1",
                   "www.test", "deny-default", 3);
    assert_refused(fx, try6(fx, "2001:db8:7::3", 443), "2001:db8:7::3",
                   "other.test", "deny-default", 3);
    /* nobody asked */
    assert_refused(fx, try6(fx, "2001:db8:7::4", 443), "2001:db8:7::4", "",
                   "deny-default", 3);
    /* datagrams, by either call */
    assert_passed(fx, try4(fx, fx_map(fx, "2001:db8:7::2"), SOCK_DGRAM, 9));
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    assert_refused(fx, fx_sendto(fx, 1, fx_map(fx, "2001:db8:7::1"), 443, "x",
                                 1).error, "2001:db8:7::1", "www.test",
                   "deny-default", 3);
    /* a second name of the same address opens it */
    asked(fx, "b.cdn.test", "2001:db8:7::3");
    assert_passed(fx, try6(fx, "2001:db8:7::3", 443));
    g_assert_cmpuint(fx_reach_counters(fx)->refused_default, ==, 4);
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 0);
    fx_free(fx);
}

static void test_deny_by_name(void)
{
    Fx *fx = fx_with("# no\ndeny *.ads.test\n", false);

    asked(fx, "x.ads.test", "2001:db8:7::1");
    asked(fx, "www.test", "2001:db8:7::2");
    assert_refused(fx, try6(fx, "2001:db8:7::1", 443), "2001:db8:7::1",
                   "x.ads.test", "deny-rule", 2);
    g_assert_cmpuint(traced.port, ==, 0);
    assert_passed(fx, try6(fx, "2001:db8:7::2", 443));
    g_assert_cmpuint(fx_reach_counters(fx)->refused_policy, ==, 1);
    fx_free(fx);
}

/* Without a rule by name the name is told all the same. */
static void test_name_in_trace(void)
{
    Fx *fx = fx_with("deny 2001:db8:7::/48\n", false);

    asked(fx, "www.test", "2001:db8:7::1");
    assert_refused(fx, try6(fx, "2001:db8:7::1", 443), "2001:db8:7::1",
                   "www.test", "deny-rule", 1);
    fx_free(fx);
}

/* Who runs a zone cannot open the host with it. */
static void test_rebinding(void)
{
    Fx *fx = fx_with("allow evil.test\n", true);

    asked(fx, "evil.test", "fd00:ec2::254");
    asked(fx, "evil.test", "::ffff:169.254.169.254");
    g_assert_cmpint(try6(fx, "fd00:ec2::254", 80), ==, ENETUNREACH);
    g_assert_cmpstr(traced.reason, ==, "metadata");
    g_assert_cmpint(try_ip4(fx, "169.254.169.254"), ==, ENETUNREACH);
    g_assert_cmpstr(traced.name, ==, "evil.test");
    g_assert_cmpuint(fx_reach_counters(fx)->refused_builtin, ==, 2);
    if (fx_has_namespace()) {
        asked(fx, "evil.test", fx_peer6);
        g_assert_cmpint(try6(fx, fx_peer6, 80), ==, ENETUNREACH);
        g_assert_cmpuint(fx_reach_counters(fx)->refused_host_address, ==, 1);
    }
    fx_free(fx);
}

/* Behind the NAT64: one destination, whichever way it is written. */
static void test_nat64(void)
{
    /* 192.0.2.1, 198.51.100.1, 203.0.113.1 */
    Fx *fx = fx_with("deny 203.0.113.0/24\n"
                     "allow 192.0.2.0/24\n"
                     "allow four.test\n"
                     "default deny\n", true);

    assert_passed(fx, try_ip4(fx, "192.0.2.1"));
    assert_passed(fx, try6(fx, FX_NAT64 "c000:201", 443));
    assert_refused(fx, try_ip4(fx, "198.51.100.1"), FX_NAT64 "c633:6401", "",
                   "deny-default", 4);
    /* the name's A, however the address is written then */
    asked(fx, "four.test", "::ffff:198.51.100.1");
    assert_passed(fx, try_ip4(fx, "198.51.100.1"));
    assert_passed(fx, try6(fx, FX_NAT64 "c633:6401", 443));
    /* the name's AAAA, from a DNS64 */
    asked(fx, "four.test", FX_NAT64 "c633:6402");
    assert_passed(fx, try_ip4(fx, "198.51.100.2"));
    /* a name does not undo what is above it */
    asked(fx, "four.test", FX_NAT64 "cb00:7101");
    assert_refused(fx, try_ip4(fx, "203.0.113.1"), FX_NAT64 "cb00:7101",
                   "four.test", "deny-rule", 1);
    assert_refused(fx, try6(fx, FX_NAT64 "cb00:7101", 443),
                   FX_NAT64 "cb00:7101", "four.test", "deny-rule", 1);
    fx_free(fx);
}

/* The network has these NAT64 prefixes. */
static void find_prefixes(Fx *fx, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 0);
    Nat64Prefix prefixes[VMRPC_NAT64_MAX];
    unsigned num = g_strv_length(words);

    for (unsigned i = 0; i < num; i++) {
        g_assert_true(nat64_prefix_parse(words[i], &prefixes[i], NULL));
    }
    vmrpc_nat64_found(&fx->srv->reach.nat64, prefixes, num, vmrpc_now_ms());
}

/* One prefix inside another: 198.51.100.1 by this, 10.1.2.3 by that. */
static void test_nat64_nested(void)
{
    static const char *const orders[] = {
        "2001:db8::/32 2001:db8:a01:203::/96",
        "2001:db8:a01:203::/96 2001:db8::/32",
    };
    static const struct {
        const char *policy;
        int error;
    } cases[] = {
        { "", PASSED },
        { "deny 10.0.0.0/8\n", EACCES },
        { "deny 198.51.100.0/24\n", EACCES },
        { "allow 10.0.0.0/8\ndefault deny\n", EACCES },
        { "allow 198.51.100.0/24\ndefault deny\n", EACCES },
        { "allow 198.51.100.0/24\nallow 10.0.0.0/8\ndefault deny\n", PASSED },
        { "allow by-inner.test\ndefault deny\n", EACCES },
        { "allow *.test\ndefault deny\n", PASSED },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (size_t order = 0; order < G_N_ELEMENTS(orders); order++) {
            Fx *fx = fx_with(cases[i].policy, true);
            int error;

            asked(fx, "by-inner.test", "::ffff:198.51.100.1");
            asked(fx, "by-outer.test", "::ffff:10.1.2.3");
            find_prefixes(fx, orders[order]);
            error = try6(fx, "2001:db8:a01:203::c633:6401", 443);
            g_assert_cmpint(error, ==, cases[i].error);
            g_assert_cmpuint(traced.refusals, ==, error == EACCES);
            fx_free(fx);
        }
    }
}

/* 10.1.2.3 behind a /64, with octet 8 zero or not: a translator removes it. */
static void test_nat64_octet8(void)
{
    static const char *const ways[] = {
        "2001:db8:64:64:a:102:300:0", "2001:db8:64:64:10a:102:300:0",
        "2001:db8:64:64:ff0a:102:300:1",
    };
    Fx *fx = fx_with("deny 10.0.0.0/8\n", true);
    struct sockaddr_storage peer = { .ss_family = AF_INET6 };
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&peer;
    struct sockaddr_in seen;

    find_prefixes(fx, "2001:db8:64:64::/64");
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        assert_refused(fx, try6(fx, ways[i], 443), ways[i], "", "deny-rule",
                       1);
        /* a peer that writes itself like that has no way back by IPv4 */
        inet_pton(AF_INET6, ways[i], &sin6->sin6_addr);
        g_assert_cmpint(vmrpc_addr_to_guest(&fx->srv->reach, &peer, &seen), ==,
                        0);
        g_assert_cmpint(seen.sin_addr.s_addr == htonl(0x0a010203), ==,
                        i == 0);
    }
    fx_free(fx);
}

/*
 * Rules about an IPv6 address behind the NAT64 are about what RFC 6052 makes,
 * and hold for all that a translator takes for it.
 */
static void test_nat64_canonical(void)
{
    static const struct {
        const char *policy, *prefix, *addr6;
        int error;
    } cases[] = {
#define NET "2001:db8:64:0:a::/80"              /* 10.0.0.0/16 */
#define RULE "deny " NET "\n", "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:a:0:100:0", EACCES },
        { RULE, "2001:db8:64:0:10a:0:100:0", EACCES },
        { RULE, "2001:db8:64:0:ff0a:0:100:1", EACCES },
        { RULE, "2001:db8:64:0:10b:0:100:0", PASSED },
#undef RULE
#define RULE "deny 2001:db8:64:0:14:100:100:0\n", "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:14:100:100:0", EACCES },
        { RULE, "2001:db8:64:0:14:100:100:1", EACCES },
        { RULE, "2001:db8:64:0:114:100:1ff:0", EACCES },
        { RULE, "2001:db8:64:0:14:100:200:0", PASSED },
#undef RULE
#define RULE "deny 2001:db8:1401:1::/64\n", "2001:db8::/32"
        { RULE, "2001:db8:1401:1::", EACCES },
        { RULE, "2001:db8:1401:1:ff00::2", EACCES },
#undef RULE
        /* what is allowed as RFC 6052 has it is not what else it may be, */
#define RULE "allow " NET "\ndefault deny\n", "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:a:0:100:0", PASSED },
        { RULE, "2001:db8:64:0:10a:0:100:0", EACCES },
#undef RULE
        /* nor the other way round, */
#define RULE "allow 2001:db8:64:0:10a::/80\ndefault deny\n", \
             "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:a:0:100:0", EACCES },
        { RULE, "2001:db8:64:0:10a:0:100:0", EACCES },
#undef RULE
        /* but the IPv4 address is one, */
#define RULE "allow 10.0.0.0/8\ndefault deny\n", "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:a:0:100:0", PASSED },
        { RULE, "2001:db8:64:0:10a:0:100:1", PASSED },
#undef RULE
        /* and so is a name's address */
#define RULE "deny canonical.test\n", "2001:db8:64::/64"
        { RULE, "2001:db8:64:0:a:0:100:0", EACCES },
        { RULE, "2001:db8:64:0:10a:0:100:1", EACCES },
#undef RULE
        /* octet 8 of a /96 is the network's own */
#define RULE "deny 2001:db8:64:0:100:0:a00:0/104\n", "2001:db8:64:0:100::/96"
        { RULE, "2001:db8:64:0:100:0:a00:1", EACCES },
        { RULE, "2001:db8:64:0:100:0:1400:1", PASSED },
        { RULE, "2001:db8:64:0:0:0:a00:1", PASSED },
#undef RULE
#define RULE "allow 2001:db8:64:0:100::/72\ndefault deny\n", \
             "2001:db8:64:0:100::/96"
        { RULE, "2001:db8:64:0:100:0:a00:1", PASSED },
#undef RULE
#undef NET
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Fx *fx = fx_with(cases[i].policy, true);
        int error;

        asked(fx, "canonical.test", "2001:db8:64:0:a:0:100:0");
        find_prefixes(fx, cases[i].prefix);
        error = try6(fx, cases[i].addr6, 443);
        if (error != cases[i].error) {
            g_error("'%s', %s: %s", cases[i].policy, cases[i].addr6,
                    g_strerror(error));
        }
        /* what is told is what the guest tried to reach */
        g_assert_cmpstr(traced.dest, ==,
                        error != EACCES ? "" : cases[i].addr6);
        fx_free(fx);
    }
}

/* --- limits -------------------------------------------------------------- */

static void test_limit_connections(void)
{
    Fx *fx = fx_with("allow host\nlimit connections 1/s burst 3\n", false);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    unsigned ok = 0;
    int error;

    asked(fx, "peer.test", fx_peer6);
    /* a burst of three, and one for each second that this takes */
    do {
        error = try4(fx, fx->peer4, SOCK_STREAM, port);
        ok += error == EINPROGRESS || !error;
    } while (error != ENOBUFS && ok < 100);
    g_assert_cmpint(error, ==, ENOBUFS);
    g_assert_cmpuint(ok, >=, 3);
    g_assert_cmpuint(fx_counters(fx)->connections_refused_limit, ==, 1);
    g_assert_cmpstr(traced.reason, ==, "limit-connections");
    g_assert_cmpstr(traced.dest, ==, fx_peer6);
    g_assert_cmpuint(traced.port, ==, port);
    g_assert_cmpstr(traced.name, ==, "peer.test");
    /* datagrams do not count */
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_DGRAM, 9), ==, 0);
    close(listener);
    fx_free(fx);
}

/* To ask how a connect() goes costs nothing; to try once more does. */
static void test_limit_counts_attempts(void)
{
    Fx *fx = fx_with("allow host\nlimit connections 1/s burst 2\n", false);
    uint16_t port, closed;
    int listener = peer_socket(SOCK_STREAM, &port);
    FxReply r;

    close(peer_socket(SOCK_STREAM, &closed));
    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
    g_assert_true(!r.error || r.error == EINPROGRESS);
    fx_wait(fx, 0, VMRPC_OUT);
    for (int i = 0; i < 10; i++) {
        r = fx_addr_op(fx, VMRPC_CONNECT, 0, fx->peer4, port);
        g_assert_true(!r.error || r.error == EISCONN);
    }
    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    for (int i = 0; i < 100 && r.error != ENOBUFS; i++) {
        r = fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, closed);
    }
    fx_fails(r, ENOBUFS);
    close(listener);
    fx_free(fx);
}

static void test_limit_sockets(void)
{
    Fx *fx = fx_with("allow host\nlimit sockets 3\n", false);
    uint16_t port;
    FxReply r;
    int peer;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    fx_ok(r);
    port = ntohs(r.addr.sin_port);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 5, 0));
    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    fx_fails(fx_socket(fx, 3, 1, SOCK_DGRAM), EMFILE);
    /* who waits to be accepted waits on */
    peer = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_fails(fx_accept(fx, 0, 3, 1), EMFILE);
    g_assert_cmpuint(fx_counters(fx)->sockets_refused_limit, ==, 2);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    fx_ok(fx_accept(fx, 0, 3, 1));
    close(peer);
    fx_free(fx);
}

static void test_limit_dns(void)
{
    static const uint8_t query[] = {
        0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 4, 't', 'e', 's', 't', 0,
        0, 1, 0, 1,
    };
    Fx *fx = fx_with("limit dns 1/s burst 5\n", false);
    uint8_t msg[512];

    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    do {
        fx_ok(fx_sendto(fx, 0, fx->resolver4, 53, query, sizeof(query)));
    } while (!traced.refusals);
    g_assert_cmpstr(traced.reason, ==, "limit-dns");
    g_assert_cmpstr(traced.name, ==, "a.test");
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_recv(fx, 0, msg, sizeof(msg), 0));
    g_assert_cmpuint(msg[3] & 15, ==, 5);       /* REFUSED */
    g_assert_cmpuint(fx_counters(fx)->queries_refused_limit, >=, 1);
    fx_free(fx);
}

static uint32_t buffers_of(Fx *fx, uint32_t handle)
{
    return fx_getsockopt_int(fx, handle, SOL_SOCKET, SO_SNDBUF) +
           fx_getsockopt_int(fx, handle, SOL_SOCKET, SO_RCVBUF);
}

static void set_buffer(Fx *fx, uint32_t handle, int name, uint32_t size)
{
    uint32_t value = GUINT32_TO_LE(size);

    fx_ok(fx_setsockopt(fx, handle, SOL_SOCKET, name, &value, sizeof(value)));
}

/* What is counted is what the kernel may really use, never more than said. */
static void test_limit_buffers(void)
{
    Fx *fx = fx_with("allow host\nlimit buffers 640K\n", false);
    VmrpcLimits *limits = &fx->srv->reach.limits;
    uint16_t port;
    FxReply r;
    int peer;

    fx_ok(fx_socket(fx, 0, 1, SOCK_STREAM));
    g_assert_cmpuint(buffers_of(fx, 0), ==, 2 * VMRPC_LIMITS_BUFFER_START);
    g_assert_cmpuint(limits->buffers, ==, 256 << 10);
    /* smaller frees, larger takes what is left and says so */
    set_buffer(fx, 0, SO_RCVBUF, 16 << 10);
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 0));
    set_buffer(fx, 0, SO_SNDBUF, 1000 << 10);
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 0));
    g_assert_cmpuint(limits->buffers, <=, 640 << 10);
    g_assert_cmpuint(fx_counters(fx)->buffers_cut, ==, 1);
    set_buffer(fx, 0, SO_SNDBUF, 64 << 10);
    set_buffer(fx, 0, SO_RCVBUF, 0);
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 0));

    /* who is accepted has what the listener has */
    r = fx_addr_op(fx, VMRPC_BIND, 0, fx->guest4, 0);
    port = ntohs(r.addr.sin_port);
    fx_ok(fx_op(fx, VMRPC_LISTEN, 0, 5, 0));
    peer = peer_connect(SOCK_STREAM, port);
    fx_wait(fx, 0, VMRPC_IN);
    fx_ok(fx_accept(fx, 0, 1, 1));
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 0) +
                     buffers_of(fx, 1));
    /* full: no socket more, of either kind */
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    do {
        r = fx_socket(fx, 3, 1, SOCK_DGRAM);
        if (!r.error) {
            set_buffer(fx, 3, SO_SNDBUF, 1000 << 10);
            set_buffer(fx, 2, SO_SNDBUF, 1000 << 10);
            r = fx_socket(fx, 4, 1, SOCK_DGRAM);
        }
    } while (!r.error);
    fx_fails(r, ENOBUFS);
    g_assert_cmpuint(fx_counters(fx)->buffers_refused_limit, ==, 1);
    g_assert_cmpuint(limits->buffers, <=, 640 << 10);
    /* all of it comes back */
    for (uint32_t i = 0; i < 4; i++) {
        fx_op(fx, VMRPC_CLOSE, i, 0, 0);
    }
    g_assert_cmpuint(limits->buffers, ==, 0);
    close(peer);
    fx_free(fx);
}

/* --- reload -------------------------------------------------------------- */

typedef struct File {
    char *dir, *path;
} File;

static void write_text(const char *path, const char *text)
{
    g_autoptr(GError) err = NULL;

    /* a new file of another name, renamed over this one */
    g_assert_true(g_file_set_contents(path, text, -1, &err));
    g_assert_no_error(err);
}

static File file_new(const char *text)
{
    File f = { .dir = g_dir_make_tmp("vmrpc-reload-XXXXXX", NULL) };

    g_assert_nonnull(f.dir);
    f.path = g_build_filename(f.dir, "p.policy", NULL);
    write_text(f.path, text);
    return f;
}

static void file_clear(File *f)
{
    g_unlink(f->path);
    g_rmdir(f->dir);
    g_free(f->path);
    g_free(f->dir);
}

static struct {
    unsigned num;
    char *error;
} reloads;

static void trace_policy(void *opaque, const char *error)
{
    reloads.num++;
    g_free(reloads.error);
    reloads.error = g_strdup(error);
}

static Fx *fx_with_file(const File *f)
{
    Fx *fx = fx_new(&(FxOptions) { .policy_path = f->path });
    VmrpcTracer tracer = { .refused = trace_refused, .policy = trace_policy };

    reloads.num = 0;
    vmrpc_server_set_tracer(fx->srv, &tracer);
    g_assert_cmpuint(reloads.num, ==, 0);
    return fx;
}

static void await_reload(Fx *fx)
{
    unsigned before = reloads.num;

    while (reloads.num == before) {
        fx_wait_any(fx);
    }
}

/* A new file is in force at once; what is connected stays so. */
static void test_reload(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_with_file(&f);
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port);
    int peer = peer_socket(SOCK_DGRAM, &port);
    char buf[4];

    fx_ok(fx_socket(fx, 1, 1, SOCK_DGRAM));
    fx_ok(fx_addr_op(fx, VMRPC_CONNECT, 1, fx->peer4, port));
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 2, fx->peer4, port, "1", 1));
    write_text(f.path, "deny host\n");
    await_reload(fx);
    g_assert_null(reloads.error);
    fx_ok(fx_send(fx, 1, "2", 1));
    fx_fails(fx_sendto(fx, 2, fx->peer4, port, "x", 1), EACCES);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, port), ==, EACCES);
    peer_read(peer, buf, 1);
    peer_read(peer, buf + 1, 1);
    g_assert_cmpmem(buf, 2, "12", 2);
    g_assert_cmpuint(fx_counters(fx)->policy_reloads, ==, 1);

    /* a mistake changes nothing, and says where it is */
    write_text(f.path, "allow host\nallow hots\n");
    await_reload(fx);
    g_assert_nonnull(strstr(reloads.error, "p.policy:2: 'hots'"));
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, port), ==, EACCES);
    g_assert_cmpuint(fx_counters(fx)->policy_errors, ==, 1);
    close(listener);
    close(peer);
    fx_free(fx);
    file_clear(&f);
}

/* Other ways in which files change. */
static void test_reload_in_place(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_with_file(&f);
    g_autofree char *other = g_build_filename(f.dir, "other", NULL);
    FILE *out;

    /* written in place: not before it is whole */
    out = fopen(f.path, "w");
    fputs("deny 2001:db8:1::/48\n", out);
    fflush(out);
    write_text(other, "x");
    fx_wait_any(fx);
    g_assert_cmpuint(reloads.num, ==, 0);
    fputs("deny host\n", out);
    fclose(out);
    await_reload(fx);
    g_assert_null(reloads.error);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, 9), ==, EACCES);
    /* without it the old rules stay */
    g_unlink(f.path);
    write_text(other, "allow host\n");
    fx_pump(fx);
    g_assert_cmpuint(reloads.num, ==, 1);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, 9), ==, EACCES);
    /* a link instead, then to another file */
    g_assert_cmpint(symlink("other", f.path), ==, 0);
    await_reload(fx);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, 9), !=, EACCES);
    write_text(other, "deny host\n");
    await_reload(fx);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, 9), ==, EACCES);
    g_unlink(other);
    fx_free(fx);
    file_clear(&f);
}

static int try_host(Fx *fx)
{
    return try4(fx, fx->peer4, SOCK_STREAM, 9);
}

static void move(const char *from, const char *to)
{
    g_assert_cmpint(g_rename(from, to), ==, 0);
}

/* The folder goes, and another comes in its place; or one above it does. */
static void test_reload_folder(void)
{
    g_autofree char *tmp = g_dir_make_tmp("vmrpc-reload-XXXXXX", NULL);
    g_autofree char *above = g_build_filename(tmp, "a", NULL);
    g_autofree char *folder = g_build_filename(above, "b", NULL);
    g_autofree char *path = g_build_filename(folder, "p.policy", NULL);
    g_autofree char *old = g_build_filename(tmp, "old", NULL);
    g_autofree char *old_folder = g_build_filename(old, "b", NULL);
    g_autofree char *old_path = g_build_filename(old_folder, "p.policy", NULL);
    File f = { .path = path };
    Fx *fx;

    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    write_text(path, "allow host\n");
    fx = fx_with_file(&f);
    g_assert_cmpint(try_host(fx), !=, EACCES);

    /* moved away: nothing changes; made anew: the new one counts */
    g_assert_cmpint(g_mkdir(old, 0700), ==, 0);
    move(folder, old_folder);
    fx_pump(fx);
    g_assert_cmpuint(reloads.num, ==, 0);
    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    write_text(path, "deny host\n");
    await_reload(fx);
    g_assert_null(reloads.error);
    g_assert_cmpint(try_host(fx), ==, EACCES);
    write_text(old_path, "allow host\n");
    fx_pump(fx);
    g_assert_cmpuint(reloads.num, ==, 1);

    /* deleted and made anew */
    g_unlink(path);
    g_rmdir(folder);
    g_rmdir(above);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    write_text(path, "allow host\n");
    await_reload(fx);
    g_assert_cmpint(try_host(fx), !=, EACCES);
    /* changes in the new one are seen, too */
    write_text(path, "deny host\n");
    await_reload(fx);
    g_assert_cmpint(try_host(fx), ==, EACCES);

    /* another takes the place of the one above, with all that is in it */
    g_unlink(path);
    g_rmdir(folder);
    g_rmdir(above);
    move(old, above);
    await_reload(fx);
    g_assert_cmpint(try_host(fx), !=, EACCES);
    g_assert_cmpuint(fx_counters(fx)->policy_reloads, ==, reloads.num);
    g_assert_cmpuint(fx_counters(fx)->policy_errors, ==, 0);
    fx_free(fx);
    g_unlink(path);
    g_rmdir(folder);
    g_rmdir(above);
    g_rmdir(tmp);
}

/* p.policy -> ..data/p.policy, ..data -> the folder that has it. */
static void test_reload_kubernetes(void)
{
    static const char *const texts[] = { "allow host\n", "deny host\n" };
    g_autofree char *tmp = g_dir_make_tmp("vmrpc-reload-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(tmp, "p.policy", NULL);
    g_autofree char *data = g_build_filename(tmp, "..data", NULL);
    g_autofree char *data_new = g_build_filename(tmp, "..data_tmp", NULL);
    char *folder[2], *file[2];
    File f = { .path = path };
    Fx *fx;

    for (int i = 0; i < 2; i++) {
        folder[i] = g_build_filename(tmp, i ? "..2" : "..1", NULL);
        file[i] = g_build_filename(folder[i], "p.policy", NULL);
        g_assert_cmpint(g_mkdir(folder[i], 0700), ==, 0);
        write_text(file[i], texts[i]);
    }
    g_assert_cmpint(symlink("..1", data), ==, 0);
    g_assert_cmpint(symlink("..data/p.policy", path), ==, 0);
    fx = fx_with_file(&f);
    for (unsigned i = 1; i < 4; i++) {
        g_assert_cmpint(symlink(i & 1 ? "..2" : "..1", data_new), ==, 0);
        move(data_new, data);
        await_reload(fx);
        g_assert_cmpuint(reloads.num, ==, i);
        g_assert_null(reloads.error);
        g_assert_cmpint(try_host(fx) == EACCES, ==, i & 1);
    }
    /* where the link leads, it is followed as well */
    write_text(file[1], "allow host\n");
    await_reload(fx);
    g_assert_cmpint(try_host(fx), !=, EACCES);
    fx_free(fx);
    g_unlink(path);
    g_unlink(data);
    for (int i = 0; i < 2; i++) {
        g_unlink(file[i]);
        g_rmdir(folder[i]);
        g_free(folder[i]);
        g_free(file[i]);
    }
    g_rmdir(tmp);
}

/* Nothing tells of changes: the timer looks, and waits until it is whole. */
static void test_reload_unwatched(void)
{
    g_autofree char *tmp = g_dir_make_tmp("vmrpc-reload-XXXXXX", NULL);
    g_autoptr(GString) folder = g_string_new(tmp);
    g_autofree char *path = NULL;
    VmrpcTracer tracer = { .policy = trace_policy };
    struct pollfd pfd = { .events = POLLIN };
    unsigned turns = 0;
    Fx *fx;

    /* deeper than any watch */
    for (unsigned i = 0; i < PATH_WATCH_MAX; i++) {
        g_string_append(folder, "/d");
    }
    g_assert_cmpint(g_mkdir_with_parents(folder->str, 0700), ==, 0);
    path = g_build_filename(folder->str, "p.policy", NULL);
    write_text(path, "allow host\n");
    fx = fx_new(&(FxOptions) { .policy_path = path, .no_resolver = true });
    vmrpc_server_set_tracer(fx->srv, &tracer);
    reloads.num = 0;
    g_assert_false(path_watch_is_complete(&fx->srv->policy_file.watch));
    write_text(path, "deny host\n");
    vmrpc_policy_file_follow(fx->srv);
    g_assert_cmpuint(reloads.num, ==, 0);
    write_text(path, "deny host  # longer\n");
    vmrpc_policy_file_follow(fx->srv);
    g_assert_cmpuint(reloads.num, ==, 0);
    /* the timer does the rest */
    await_reload(fx);
    g_assert_null(reloads.error);
    g_assert_cmpint(try_host(fx), ==, EACCES);
    /* and leaves time for others in between */
    pfd.fd = vmrpc_server_fd(fx->srv);
    do {
        fx_pump(fx);
        g_assert_cmpuint(turns++, <, 100);
    } while (poll(&pfd, 1, 0) > 0);
    fx_free(fx);
    g_unlink(path);
    while (g_rmdir(folder->str) == 0 && strcmp(folder->str, tmp) != 0) {
        g_string_truncate(folder, strrchr(folder->str, '/') - folder->str);
    }
}

/* A file that could not be read is read when it can be. */
static void test_reload_unreadable(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_with_file(&f);

    g_unlink(f.path);
    g_assert_cmpint(g_mkdir(f.path, 0700), ==, 0);
    await_reload(fx);
    g_assert_nonnull(reloads.error);
    g_assert_cmpint(try_host(fx), !=, EACCES);
    g_rmdir(f.path);
    write_text(f.path, "deny host\n");
    await_reload(fx);
    g_assert_null(reloads.error);
    g_assert_cmpint(try_host(fx), ==, EACCES);
    fx_free(fx);
    file_clear(&f);
}

static void test_reload_by_hand(void)
{
    g_autoptr(GError) err = NULL;
    File f = file_new("allow host\n");
    Fx *fx = fx_with_file(&f);

    g_assert_true(vmrpc_server_reload_policy(fx->srv, &err));
    g_assert_no_error(err);
    g_unlink(f.path);
    g_assert_false(vmrpc_server_reload_policy(fx->srv, &err));
    g_assert_nonnull(strstr(err->message, "p.policy"));
    g_clear_error(&err);
    g_assert_cmpuint(fx_counters(fx)->policy_reloads, ==, 1);
    g_assert_cmpuint(fx_counters(fx)->policy_errors, ==, 1);
    g_assert_cmpint(try4(fx, fx->peer4, SOCK_STREAM, 9), !=, EACCES);
    fx_free(fx);
    file_clear(&f);

    fx = fx_new(&(FxOptions) { });
    g_assert_false(vmrpc_server_reload_policy(fx->srv, &err));
    g_assert_nonnull(strstr(err->message, "policy"));
    fx_free(fx);
}

/* Limits that come with a new file know what is there already. */
static void test_reload_limits(void)
{
    File f = file_new("allow host\n");
    Fx *fx = fx_with_file(&f);
    VmrpcLimits *limits = &fx->srv->reach.limits;

    fx_ok(fx_socket(fx, 1, 1, SOCK_STREAM));
    fx_ok(fx_socket(fx, 2, 1, SOCK_DGRAM));
    g_assert_cmpuint(limits->buffers, ==, 0);
    write_text(f.path, "limit buffers 64K\nlimit sockets 2\n");
    await_reload(fx);
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 1) +
                     buffers_of(fx, 2));
    fx_fails(fx_socket(fx, 3, 1, SOCK_DGRAM), EMFILE);
    fx_ok(fx_op(fx, VMRPC_CLOSE, 2, 0, 0));
    g_assert_cmpuint(limits->buffers, ==, buffers_of(fx, 1));
    fx_fails(fx_socket(fx, 3, 1, SOCK_DGRAM), ENOBUFS);
    /* and go */
    write_text(f.path, "allow host\n");
    await_reload(fx);
    g_assert_cmpuint(limits->buffers, ==, 0);
    fx_ok(fx_socket(fx, 3, 1, SOCK_DGRAM));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 1, 0, 0));
    g_assert_cmpuint(limits->buffers, ==, 0);
    fx_free(fx);
    file_clear(&f);
}

/* --- who has decided ----------------------------------------------------- */

/* All counts as "LINE:DESTINATIONS/NAMES ...". */
static char *hits_text(Fx *fx)
{
    g_autoptr(GArray) rules = vmrpc_inspect_rules(fx->srv);
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < rules->len; i++) {
        VmrpcPolicyHits *h = &g_array_index(rules, VmrpcPolicyHits, i);

        g_string_append_printf(text, "%s%u:%" PRIu64 "/%" PRIu64,
                               i ? " " : "", h->line, h->destinations,
                               h->names);
    }
    return g_string_free(text, FALSE);
}

static void assert_hits(Fx *fx, const char *expected)
{
    g_autofree char *text = hits_text(fx);

    g_assert_cmpstr(text, ==, expected);
}

/* A query of the guest's, which the policy refuses. */
static void ask_refused(Fx *fx, const char *name)
{
    DnsQuestion q = { .type = DNS_TYPE_AAAA, .qclass = DNS_CLASS_IN };
    uint64_t before = fx_reach_counters(fx)->refused_name;
    uint8_t buf[512];
    DnsBuilder b;

    g_assert_cmpint(dns_name_from_text(&q.name, name), ==, 0);
    dns_builder_init(&b, buf, sizeof(buf), 7, DNS_FLAG_RD);
    dns_builder_question(&b, &q);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    fx_ok(fx_sendto(fx, 0, fx->resolver4, 53, buf, b.len));
    fx_ok(fx_op(fx, VMRPC_CLOSE, 0, 0, 0));
    g_assert_cmpuint(fx_reach_counters(fx)->refused_name, ==, before + 1);
}

static void test_hits(void)
{
    Fx *fx = fx_with("deny  *.ads.test   # not these\n"
                     "\n"
                     "allow 2001:db8:7::/48 tcp 443\n"
                     "limit dns 1000/s\n"
                     "deny 2001:db8:8::/48\n"
                     "default deny\n", false);

    assert_hits(fx, "1:0/0 3:0/0 5:0/0 6:0/0");
    try6(fx, "2001:db8:7::1", 443);
    try6(fx, "2001:db8:7::2", 443);
    try6(fx, "2001:db8:7::1", 80);
    try6(fx, "2001:db8:8::1", 80);
    /* what no statement decided is in the counters */
    g_assert_cmpint(try_ip4(fx, "127.0.0.1"), ==, ENETUNREACH);
    ask_refused(fx, "x.ads.test");
    ask_refused(fx, "y.ads.test");
    asked(fx, "z.ads.test", "2001:db8:7::3");
    g_assert_cmpint(try6(fx, "2001:db8:7::3", 443), ==, EACCES);
    assert_hits(fx, "1:1/2 3:2/0 5:1/0 6:1/0");
    fx_free(fx);
}

/* What stays in the file keeps its counts, in whatever line. */
static void test_reload_hits(void)
{
    File f = file_new("deny 2001:db8:7::/48\nallow host\ndefault deny\n");
    Fx *fx = fx_with_file(&f);

    g_assert_cmpint(try6(fx, "2001:db8:7::1", 443), ==, EACCES);
    g_assert_cmpint(try6(fx, "2001:db8:8::1", 443), ==, EACCES);
    assert_hits(fx, "1:1/0 2:0/0 3:1/0");
    write_text(f.path, "# new\ndeny 2001:db8:8::/48\n"
               "  deny   2001:db8:7::/48 # the same\n"
               "deny 2001:db8:7::/48\ndefault allow\n");
    await_reload(fx);
    assert_hits(fx, "2:0/0 3:1/0 4:0/0 5:0/0");
    g_assert_cmpint(try6(fx, "2001:db8:7::1", 443), ==, EACCES);
    assert_hits(fx, "2:0/0 3:2/0 4:0/0 5:0/0");
    write_text(f.path, "deny hots\n");
    await_reload(fx);
    assert_hits(fx, "2:0/0 3:2/0 4:0/0 5:0/0");
    fx_free(fx);
    file_clear(&f);
}

/* --- what the guest may read ---------------------------------------------- */

static FxReply refusal(Fx *fx, uint64_t from, struct vmrpc_refusal *r)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_REFUSED, 0);

    req.sock = GUINT32_TO_LE(UINT32_MAX);
    req.u.refused.from = GUINT64_TO_LE(from);
    return fx_call(fx, &req, NULL, 0, r, sizeof(*r));
}

/* The reason of the last 64 refusals, the first one from a number on. */
static void test_refusals(void)
{
    Fx *fx = fx_with("deny 2001:db8:9::/48\n", false);
    struct in_addr denied = fx_map(fx, "2001:db8:9::1");
    struct vmrpc_req req = fx_req(fx, VMRPC_REFUSED, 0);
    struct vmrpc_refusal r;
    char addr[16];
    FxReply reply;

    g_assert_cmpint(refusal(fx, 0, &r).error, ==, ENOENT);
    asked(fx, "evil.test", "2001:db8:9::1");
    g_assert_cmpint(try4(fx, denied, SOCK_STREAM, 80), ==, EACCES);
    fx_ok(fx_socket(fx, 0, 1, SOCK_DGRAM));
    g_assert_cmpint(fx_sendto(fx, 0, fx_map(fx, "::1"), 53, "x", 1).error, ==,
                    ENETUNREACH);
    reply = refusal(fx, 0, &r);
    fx_ok(reply);
    g_assert_cmpint(reply.ret, ==, sizeof(struct vmrpc_resp) + sizeof(r));
    inet_pton(AF_INET6, "2001:db8:9::1", addr);
    g_assert_cmpmem(r.addr, 16, addr, 16);
    g_assert_cmpuint(r.number, ==, GUINT64_TO_LE(1));
    g_assert_cmpuint(GUINT64_FROM_LE(r.ago_ms), <, FX_WAIT_MS);
    g_assert_cmpuint(ntohs(r.port), ==, 80);
    g_assert_cmpuint(r.protocol, ==, IPPROTO_TCP);
    g_assert_cmpuint(GUINT32_FROM_LE(r.error), ==, EACCES);
    g_assert_cmpstr(r.reason, ==, "deny-rule");
    g_assert_cmpstr(r.name, ==, "evil.test");
    fx_ok(refusal(fx, 2, &r));
    g_assert_cmpuint(r.protocol, ==, IPPROTO_UDP);
    g_assert_cmpstr(r.reason, ==, "loopback");
    g_assert_cmpstr(r.name, ==, "");
    g_assert_cmpint(refusal(fx, 3, &r).error, ==, ENOENT);
    g_assert_cmpint(refusal(fx, UINT64_MAX, &r).error, ==, ENOENT);

    for (unsigned i = 0; i < 100; i++) {
        fx_sendto(fx, 0, denied, 1 + i, "x", 1);
    }
    fx_ok(refusal(fx, 0, &r));
    g_assert_cmpuint(r.number, ==, GUINT64_TO_LE(102 - 64 + 1));
    fx_ok(refusal(fx, 102, &r));
    g_assert_cmpuint(ntohs(r.port), ==, 100);
    /* no room */
    req.sock = GUINT32_TO_LE(UINT32_MAX);
    g_assert_cmpint(fx_call(fx, &req, NULL, 0, &r, sizeof(r) - 1).error, ==,
                    EINVAL);
    /* Another kernel of the guest has met none of them. */
    vmrpc_server_reset(fx->srv);
    g_assert_cmpint(refusal(fx, 0, &r).error, ==, ENOENT);
    fx_free(fx);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        g_print("1..0 # SKIP needs a network namespace\n");
        return 0;
    }
    g_test_add_func("/vmrpc/server/policy/allow-by-name", test_allow_by_name);
    g_test_add_func("/vmrpc/server/policy/refusals", test_refusals);
    g_test_add_func("/vmrpc/server/policy/deny-by-name", test_deny_by_name);
    g_test_add_func("/vmrpc/server/policy/name-in-trace", test_name_in_trace);
    g_test_add_func("/vmrpc/server/policy/rebinding", test_rebinding);
    g_test_add_func("/vmrpc/server/policy/nat64", test_nat64);
    g_test_add_func("/vmrpc/server/policy/nat64-nested", test_nat64_nested);
    g_test_add_func("/vmrpc/server/policy/nat64-octet8", test_nat64_octet8);
    g_test_add_func("/vmrpc/server/policy/nat64-canonical",
                    test_nat64_canonical);
    g_test_add_func("/vmrpc/server/policy/limit/connections",
                    test_limit_connections);
    g_test_add_func("/vmrpc/server/policy/limit/counts-attempts",
                    test_limit_counts_attempts);
    g_test_add_func("/vmrpc/server/policy/limit/sockets", test_limit_sockets);
    g_test_add_func("/vmrpc/server/policy/limit/dns", test_limit_dns);
    g_test_add_func("/vmrpc/server/policy/limit/buffers", test_limit_buffers);
    g_test_add_func("/vmrpc/server/policy/reload", test_reload);
    g_test_add_func("/vmrpc/server/policy/reload/in-place",
                    test_reload_in_place);
    g_test_add_func("/vmrpc/server/policy/reload/folder", test_reload_folder);
    g_test_add_func("/vmrpc/server/policy/reload/kubernetes",
                    test_reload_kubernetes);
    g_test_add_func("/vmrpc/server/policy/reload/unwatched",
                    test_reload_unwatched);
    g_test_add_func("/vmrpc/server/policy/reload/unreadable",
                    test_reload_unreadable);
    g_test_add_func("/vmrpc/server/policy/reload/by-hand",
                    test_reload_by_hand);
    g_test_add_func("/vmrpc/server/policy/reload/limits", test_reload_limits);
    g_test_add_func("/vmrpc/server/policy/hits", test_hits);
    g_test_add_func("/vmrpc/server/policy/reload/hits", test_reload_hits);
    return g_test_run();
}
