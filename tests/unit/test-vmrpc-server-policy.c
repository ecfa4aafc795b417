/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket server: the policy file at work
 *
 * Destinations are addresses that no route leads to: what the policy lets
 * through gets ENETUNREACH from the host, and nothing is counted as refused.
 */
#include "tests/unit/server-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "hw/vmrpc/server-internal.h"

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

static const VmrpcCounters *counters(Fx *fx)
{
    return vmrpc_server_counters(fx->srv);
}

/* The guest asked for @name, and DNS said @addr6. */
static void asked(Fx *fx, const char *name, const char *addr6)
{
    VmrpcNameAddr addr = { .ttl_s = 60 };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    g_assert_cmpint(inet_pton(AF_INET6, addr6, &addr.addr6), ==, 1);
    vmrpc_names_note(fx->srv->names, &wire, 1, &addr, 1, vmrpc_now_ms());
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
    g_assert_cmpuint(counters(fx)->refused_default, ==, 4);
    g_assert_cmpuint(counters(fx)->refused_policy, ==, 0);
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
    g_assert_cmpuint(counters(fx)->refused_policy, ==, 1);
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
    g_assert_cmpuint(counters(fx)->refused_builtin, ==, 2);
    if (fx_has_namespace()) {
        asked(fx, "evil.test", fx_peer6);
        g_assert_cmpint(try6(fx, fx_peer6, 80), ==, ENETUNREACH);
        g_assert_cmpuint(counters(fx)->refused_host_address, ==, 1);
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

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    if (!fx_has_namespace()) {
        g_print("1..0 # SKIP needs a network namespace\n");
        return 0;
    }
    g_test_add_func("/vmrpc/server/policy/allow-by-name", test_allow_by_name);
    g_test_add_func("/vmrpc/server/policy/deny-by-name", test_deny_by_name);
    g_test_add_func("/vmrpc/server/policy/name-in-trace", test_name_in_trace);
    g_test_add_func("/vmrpc/server/policy/rebinding", test_rebinding);
    g_test_add_func("/vmrpc/server/policy/nat64", test_nat64);
    return g_test_run();
}
