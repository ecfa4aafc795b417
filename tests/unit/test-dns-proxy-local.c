/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: special-use names */

#include <errno.h>

#include "tests/fixtures/dns-proxy-fixture.h"

#define ZERO8 "0.0.0.0.0.0.0.0."
#define IP6_LOOPBACK "1.0.0.0.0.0.0.0." ZERO8 ZERO8 ZERO8 "ip6.arpa"

static const struct {
    const char *name;
    uint16_t type;
    DnsRcode rcode;
    const char *records;
} answers[] = {
    { "localhost", DNS_TYPE_A, 0, "localhost 10800 1 127.0.0.1;" },
    { "LocalHost", DNS_TYPE_ANY, 0, "LocalHost 10800 1 127.0.0.1;" },
    { "a.b.localhost", DNS_TYPE_A, 0, "a.b.localhost 10800 1 127.0.0.1;" },
    { "localhost", DNS_TYPE_AAAA, 0, "localhost 10800 6 invalid 10800;" },
    { "a.localhost", DNS_TYPE_HTTPS, 0, "localhost 10800 6 invalid 10800;" },
    { "localhost", DNS_TYPE_MX, 0, "localhost 10800 6 invalid 10800;" },
    { "1.0.0.127.in-addr.arpa", DNS_TYPE_PTR, 0,
      "1.0.0.127.in-addr.arpa 10800 12 localhost;" },
    { "1.0.0.127.in-addr.arpa", DNS_TYPE_A, 0,
      "1.0.0.127.in-addr.arpa 10800 6 invalid 10800;" },
    { "2.0.0.127.in-addr.arpa", DNS_TYPE_PTR, 0,
      "127.in-addr.arpa 10800 6 invalid 10800;" },
    { IP6_LOOPBACK, DNS_TYPE_PTR, 0, IP6_LOOPBACK " 10800 12 localhost;" },
    { "ipv4only.arpa", DNS_TYPE_A, 0, "ipv4only.arpa 10800 1 192.0.0.170;"
      "ipv4only.arpa 10800 1 192.0.0.171;" },
    { "ipv4only.arpa", DNS_TYPE_AAAA, 0,
      "ipv4only.arpa 10800 6 invalid 10800;" },
    { "x.ipv4only.arpa", DNS_TYPE_A, DNS_RCODE_NXDOMAIN,
      "ipv4only.arpa 10800 6 invalid 10800;" },
    { "170.0.0.192.in-addr.arpa", DNS_TYPE_PTR, 0,
      "170.0.0.192.in-addr.arpa 10800 12 ipv4only.arpa;" },
    { "171.0.0.192.in-addr.arpa", DNS_TYPE_PTR, 0,
      "171.0.0.192.in-addr.arpa 10800 12 ipv4only.arpa;" },
    { "_dns.resolver.arpa", DNS_TYPE_SVCB, 0,
      "resolver.arpa 10800 6 invalid 10800;" },
    { "invalid", DNS_TYPE_A, DNS_RCODE_NXDOMAIN,
      "invalid 10800 6 invalid 10800;" },
    { "a.invalid", DNS_TYPE_TXT, DNS_RCODE_NXDOMAIN,
      "invalid 10800 6 invalid 10800;" },
    { "use-application-dns.net", DNS_TYPE_A, DNS_RCODE_NXDOMAIN,
      "use-application-dns.net 10800 6 invalid 10800;" },
    { "use-application-dns.net", DNS_TYPE_AAAA, DNS_RCODE_NXDOMAIN,
      "use-application-dns.net 10800 6 invalid 10800;" },
    { "a.onion", DNS_TYPE_A, DNS_RCODE_NXDOMAIN,
      "onion 10800 6 invalid 10800;" },
};

/* No server is asked, with and without a NAT64. */
static void test_answers(void)
{
    World *w = world_new();
    unsigned positive = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        w->nat64 = i % 2;
        ask(w, answers[i].name, answers[i].type);
        assert_answer(w, answers[i].rcode, answers[i].name, answers[i].type);
        assert_records(w, answers[i].records);
        g_assert_true(w->local);
        positive += !strstr(answers[i].records, " 6 ");
    }
    g_assert_cmpuint(COUNTER(w, answers_local), ==, positive);
    g_assert_cmpuint(w->sent_count, ==, 0);
    g_assert_cmpstr(w->resolved, ==, "");
    assert_balance(w, 0);
    world_free(w);
}

/* These are for the network to answer. */
static void test_others(void)
{
    static const struct {
        const char *name;
        uint16_t type;
    } others[] = {
        { "localhost.example", DNS_TYPE_TXT },
        { "xlocalhost", DNS_TYPE_TXT },
        { "www.example.test", DNS_TYPE_TXT },
        { "printer.local", DNS_TYPE_TXT },
        { "home.arpa", DNS_TYPE_TXT },
        { "1.0.0.10.in-addr.arpa", DNS_TYPE_PTR },
        { "126.in-addr.arpa", DNS_TYPE_SOA },
        { "arpa", DNS_TYPE_SOA },
        { ".", DNS_TYPE_NS },
        /* with a proof that the zones are not signed */
        { "ipv4only.arpa", DNS_TYPE_DS },
        { "resolver.arpa", DNS_TYPE_DS },
    };
    World *w = world_new();

    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        ask(w, others[i].name, others[i].type);
        assert_sent(w, i, others[i].name, others[i].type);
        g_assert_false(w->local);
    }
    g_assert_cmpuint(w->answers, ==, 0);
    world_free(w);
}

/* Their number may be limited. */
static void test_limited(void)
{
    World *w = world_new();

    w->admit = -EBUSY;
    ask(w, "localhost", DNS_TYPE_A);
    assert_answer(w, DNS_RCODE_REFUSED, "localhost", DNS_TYPE_A);
    g_assert_cmpuint(COUNTER(w, refused_rate), ==, 1);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/proxy/local/answers", test_answers);
    g_test_add_func("/dns/proxy/local/others", test_others);
    g_test_add_func("/dns/proxy/local/limited", test_limited);
    return g_test_run();
}
