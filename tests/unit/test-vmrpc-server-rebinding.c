/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket server: names that lead into private networks */

#include <arpa/inet.h>
#include <string.h>

#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/timer.h"
#include "tests/fixtures/server-dns-fixture.h"

static struct {
    unsigned refusals;
    char text[128];
} traced;

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    traced.refusals++;
    g_snprintf(traced.text, sizeof(traced.text), "%s %s %s %u",
               refusal->dest, refusal->name, refusal->reason, refusal->line);
}

static bool is_private(Fx *fx, const char *name, const char *text)
{
    struct in6_addr addr6;
    unsigned line = 0;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr6), ==, 1);
    return vmrpc_addr_is_private(&fx->srv->reach, &addr6, name, &line);
}

/* A peer behind a NAT64 is judged by the address there. */
static void test_nat64(void)
{
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "private-address standard\nprivate-domain corp.example\n",
        .nat64 = true, .max_sockets = 16,
    });

    g_assert_true(is_private(fx, "a.example", "fd00::1"));
    g_assert_false(is_private(fx, "a.corp.example", "fd00::1"));
    g_assert_true(is_private(fx, "a.example", "::ffff:10.0.0.1"));
    g_assert_false(is_private(fx, "a.example", "::ffff:192.0.2.1"));
    g_assert_true(is_private(fx, "a.example", FX_NAT64 "10.0.0.1"));
    g_assert_false(is_private(fx, "a.corp.example", FX_NAT64 "10.0.0.1"));
    g_assert_false(is_private(fx, "a.example", FX_NAT64 "192.0.2.1"));
    g_assert_true(is_private(fx, "a.example", "64:ff9b::10.0.0.1"));
    fx_free(fx);
}

/* A network's NAT64 may have a prefix of its private addresses. */
static void test_nat64_private(void)
{
    Nat64Prefix prefix;
    Fx *fx = fx_new(&(FxOptions) {
        .policy = "private-address standard\n", .max_sockets = 16,
    });

    g_assert_true(nat64_prefix_parse("fd00:64::/96", &prefix, NULL));
    g_assert_true(is_private(fx, "a.example", "fd00:64::192.0.2.1"));
    vmrpc_nat64_found(&fx->srv->reach.nat64, &prefix, 1, vmrpc_now_ms());
    g_assert_false(is_private(fx, "a.example", "fd00:64::192.0.2.1"));
    g_assert_false(is_private(fx, "a.example", "::ffff:192.0.2.1"));
    g_assert_true(is_private(fx, "a.example", "fd00:64::10.0.0.1"));
    g_assert_true(is_private(fx, "a.example", "fd00:65::192.0.2.1"));
    /* that it is told of no more does not make it public */
    vmrpc_nat64_found(&fx->srv->reach.nat64, NULL, 0, vmrpc_now_ms());
    g_assert_true(is_private(fx, "a.example", "fd00:64::192.0.2.1"));
    fx_free(fx);
}

/* Asks for A of a name; returns the answer's number of records. */
static unsigned ask(Dns *d, const char *name, DnsHeader *header)
{
    DnsQuestion question = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };
    uint8_t query[DNS_QUERY_MAX], msg[512];
    size_t len;
    FxReply r;

    g_assert_cmpint(dns_name_from_text(&question.name, name), ==, 0);
    len = dns_query_build(query, &question, DNS_FLAG_RD, false);
    fx_ok(fx_sendto(d->fx, 0, d->fx->resolver4, 53, query, len));
    fx_wait(d->fx, 0, VMRPC_IN);
    r = fx_recv(d->fx, 0, msg, sizeof(msg), 0);
    fx_ok(r);
    g_assert_cmpint(dns_header_parse(msg, r.value, header), ==, 0);
    g_assert_cmpuint(header->flags & DNS_FLAGS_RCODE, ==, 0);
    return header->ancount;
}

static void test_answers(void)
{
    VmrpcTracer tracer = { .refused = trace_refused };
    DnsHeader header;
    VmrpcServer *srv;
    Dns d;

    if (!fx_has_namespace()) {
        g_test_skip("needs a network namespace");
        return;
    }
    dns_init_policy(&d, false, "\nprivate-address standard\n"
                    "private-domain corp.example\n");
    srv = d.fx->srv;
    vmrpc_server_set_tracer(srv, &tracer);
    d.addr6 = "fd00::1";
    d.ttl_s = 0;                /* each time it is asked for again */
    fx_ok(fx_socket(d.fx, 0, 1, SOCK_DGRAM));
    g_assert_cmpuint(ask(&d, "a.corp.example", &header), ==, 1);
    g_assert_cmpuint(traced.refusals, ==, 0);
    g_assert_cmpuint(ask(&d, "www.evil.example", &header), ==, 0);
    g_assert_cmpuint(header.nscount, ==, 1);
    g_assert_cmpuint(traced.refusals, ==, 1);
    g_assert_cmpstr(traced.text, ==,
                    "fd00::1 www.evil.example private-address 2");
    g_assert_cmpuint(srv->reach.counters.refused_private, ==, 1);
    g_assert_cmpuint(dns_proxy_counters(srv->dns_proxy)->addresses_private,
                     ==, 1);
    d.addr6 = "2001:db8::1";
    g_assert_cmpuint(ask(&d, "www.evil.example", &header), ==, 1);
    dns_clear(&d);
}

int main(int argc, char **argv)
{
    fx_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/rebinding/nat64", test_nat64);
    g_test_add_func("/vmrpc/rebinding/nat64-private", test_nat64_private);
    g_test_add_func("/vmrpc/rebinding/answers", test_answers);
    return g_test_run();
}
