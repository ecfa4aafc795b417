/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache, and the choice of servers */

#include <arpa/inet.h>
#include <glib.h>

#include "base/units.h"
#include "net/dns/client/core/cache.h"
#include "net/dns/client/core/servers.h"

static DnsQuestion question(const char *text)
{
    DnsQuestion q = { .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN };

    g_assert_cmpint(dns_name_from_text(&q.name, text), ==, 0);
    return q;
}

static void put(DnscCache *cache, const char *name, VmmnetDnsError error,
                uint32_t ttl, int64_t now)
{
    DnsQuestion q = question(name);
    DnscResult *r = dnsc_result_error(error, "");

    r->ttl = ttl;
    dnsc_cache_put(cache, &q, r, now);
    dnsc_result_unref(r);
}

/* The cached error, or -1 */
static int get(DnscCache *cache, const char *name, int64_t now)
{
    DnsQuestion q = question(name);
    uint32_t ttl;
    DnscResult *r = dnsc_cache_get(cache, &q, now, &ttl);
    int error = r ? (int)r->error : -1;

    dnsc_result_unref(r);
    return error;
}

static void test_ttl(void)
{
    DnscCache *cache = dnsc_cache_new(8);
    DnsQuestion q = question("WWW.example");
    DnscResult *r;
    uint32_t ttl;

    put(cache, "www.example", VMMNET_DNS_OK, 10, 5 * US_PER_S);
    put(cache, "none.example", VMMNET_DNS_NO_NAME, 3, 5 * US_PER_S);
    put(cache, "never.example", VMMNET_DNS_NO_DATA, 0, 5 * US_PER_S);
    r = dnsc_cache_get(cache, &q, 8 * US_PER_S, &ttl);
    g_assert_nonnull(r);
    g_assert_cmpuint(ttl, ==, 7);
    dnsc_result_unref(r);
    g_assert_cmpint(get(cache, "none.example", 7 * US_PER_S), ==,
                    VMMNET_DNS_NO_NAME);
    g_assert_cmpint(get(cache, "none.example", 8 * US_PER_S), ==, -1);
    g_assert_cmpint(get(cache, "never.example", 5 * US_PER_S), ==, -1);
    g_assert_cmpint(get(cache, "www.example", 15 * US_PER_S), ==, -1);
    dnsc_cache_free(cache);
}

static void test_bounded(void)
{
    DnscCache *cache = dnsc_cache_new(100);
    char name[32];

    for (int i = 0; i < 1000; i++) {
        g_snprintf(name, sizeof(name), "n%d.example", i);
        put(cache, name, VMMNET_DNS_OK, 60, 0);
        g_assert_cmpint(get(cache, "n0.example", 0), ==, VMMNET_DNS_OK);
    }
    /*
     * The entry in constant use and the newest stay; the others are deleted.
     */
    g_assert_cmpint(get(cache, "n999.example", 0), ==, VMMNET_DNS_OK);
    g_assert_cmpint(get(cache, "n901.example", 0), ==, VMMNET_DNS_OK);
    g_assert_cmpint(get(cache, "n900.example", 0), ==, -1);
    dnsc_cache_clear(cache);
    g_assert_cmpint(get(cache, "n0.example", 0), ==, -1);
    dnsc_cache_free(cache);
}

/*
 * RFC 9520: a failure is cached for a second, then longer, but never for long.
 */
static void test_failures(void)
{
    DnsQuestion unreachable = question("z.example");
    DnscCache *cache = dnsc_cache_new(8);
    DnscResult *r;
    int64_t now = 0;

    put(cache, "x.example", VMMNET_DNS_TIMEOUT, 0, now);
    g_assert_cmpint(get(cache, "x.example", now + US_PER_S - 1), ==,
                    VMMNET_DNS_TIMEOUT);
    g_assert_cmpint(get(cache, "x.example", now + US_PER_S), ==, -1);
    for (int i = 0; i < 20; i++) {
        put(cache, "x.example", VMMNET_DNS_TIMEOUT, 0, now);
    }
    g_assert_cmpint(get(cache, "x.example", now + 7 * US_PER_S), ==,
                    VMMNET_DNS_TIMEOUT);
    g_assert_cmpint(get(cache, "x.example", now + 8 * US_PER_S), ==, -1);
    put(cache, "x.example", VMMNET_DNS_OK, 60, now);
    g_assert_cmpint(get(cache, "x.example", now), ==, VMMNET_DNS_OK);
    /* A local error is not cached for the name. */
    put(cache, "y.example", VMMNET_DNS_RESOURCES, 0, now);
    g_assert_cmpint(get(cache, "y.example", now), ==, -1);
    r = dnsc_result_error(VMMNET_DNS_UNREACHABLE, "");
    r->local = true;
    dnsc_cache_put(cache, &unreachable, r, now);
    g_assert_cmpint(get(cache, "z.example", now), ==, -1);
    r->local = false;
    dnsc_cache_put(cache, &unreachable, r, now);
    g_assert_cmpint(get(cache, "z.example", now), ==, VMMNET_DNS_UNREACHABLE);
    dnsc_result_unref(r);
    dnsc_cache_free(cache);
}

/* RFC 8767: a failure does not replace a known answer. */
static void test_stale(void)
{
    DnscCache *cache = dnsc_cache_new(8);
    DnsQuestion q = question("x.example");
    DnscResult *r;

    put(cache, "x.example", VMMNET_DNS_OK, 10, 0);
    put(cache, "x.example", VMMNET_DNS_FAILED, 0, 20 * US_PER_S);
    g_assert_cmpint(get(cache, "x.example", 20 * US_PER_S), ==,
                    VMMNET_DNS_FAILED);
    r = dnsc_cache_get_stale(cache, &q, 20 * US_PER_S);
    g_assert_nonnull(r);
    g_assert_cmpint(r->error, ==, VMMNET_DNS_OK);
    dnsc_result_unref(r);
    g_assert_null(dnsc_cache_get_stale(cache, &q, 86410 * US_PER_S));
    dnsc_cache_free(cache);
}

static DnscServers three(void)
{
    VmmnetDnsAddress addrs[3] = { 0 };
    DnscServers servers = { 0 };

    for (int i = 0; i < 3; i++) {
        addrs[i].in.sin_family = AF_INET;
        addrs[i].in.sin_addr.s_addr = htonl(0xc0000201 + i);
        addrs[i].len = sizeof(addrs[i].in);
    }
    dnsc_servers_set(&servers, addrs, 3);
    return servers;
}

static int first(DnscServers *servers, int64_t now)
{
    uint8_t order[DNSC_SERVERS_MAX];

    dnsc_servers_order(servers, false, now, order);
    return order[0];
}

/* A dead server is avoided, gets one probe, and is used again. */
static void test_back_off(void)
{
    DnscServers servers = three();
    DnscServer *s = &servers.server[0];

    g_assert_cmpint(first(&servers, 10 * US_PER_S), ==, 0);
    dnsc_server_silent(s, 10 * US_PER_S, 11 * US_PER_S);
    g_assert_cmpint(first(&servers, 11 * US_PER_S), ==, 1);
    g_assert_cmpint(first(&servers, 12 * US_PER_S), ==, 0);
    g_assert_cmpint(first(&servers, 12 * US_PER_S), ==, 1);
    dnsc_server_silent(s, 12 * US_PER_S, 13 * US_PER_S);
    g_assert_cmpint(first(&servers, 14 * US_PER_S), ==, 1);
    g_assert_cmpint(first(&servers, 15 * US_PER_S), ==, 0);
    dnsc_server_answered(s, 15 * US_PER_S, 16 * US_PER_S);
    g_assert_cmpint(first(&servers, 16 * US_PER_S), ==, 0);
    g_assert_cmpint(first(&servers, 16 * US_PER_S), ==, 0);
}

/* A server that answers for A and drops AAAA is alive. */
static void test_one_question_dropped(void)
{
    DnscServers servers = three();
    DnscServer *s = &servers.server[0];

    dnsc_server_answered(s, 10 * US_PER_S, 11 * US_PER_S);
    dnsc_server_silent(s, 10 * US_PER_S, 15 * US_PER_S);
    g_assert_cmpint(first(&servers, 15 * US_PER_S), ==, 0);
}

/* An outage that hits many questions at once counts once. */
static void test_parallel_losses(void)
{
    DnscServers servers = three();
    DnscServer *s = &servers.server[0];

    for (int i = 0; i < 20; i++) {
        dnsc_server_silent(s, 10 * US_PER_S + i, 11 * US_PER_S + i);
    }
    g_assert_cmpuint(s->failures, ==, 1);
    g_assert_cmpint(first(&servers, 12 * US_PER_S - 1), ==, 1);
    g_assert_cmpint(first(&servers, 12 * US_PER_S), ==, 0);
    /* A loss of a question from before the outage does not end a probe. */
    dnsc_server_silent(s, 11 * US_PER_S - 1, 12 * US_PER_S);
    g_assert_cmpint(first(&servers, 12 * US_PER_S), ==, 1);
    dnsc_server_silent(s, 12 * US_PER_S, 13 * US_PER_S);
    g_assert_cmpuint(s->failures, ==, 2);
    g_assert_cmpint(first(&servers, 15 * US_PER_S), ==, 0);
}

/* If the probe is cancelled, the server is avoided for a while. */
static void test_probe_given_up(void)
{
    DnscServers servers = three();

    dnsc_server_silent(&servers.server[0], 10 * US_PER_S, 11 * US_PER_S);
    g_assert_cmpint(first(&servers, 12 * US_PER_S), ==, 0);
    g_assert_cmpint(first(&servers, 17 * US_PER_S - 1), ==, 1);
    g_assert_cmpint(first(&servers, 17 * US_PER_S), ==, 0);
}

static void test_wait(void)
{
    DnscServers servers = three();
    DnscServer *s = &servers.server[0];

    g_assert_cmpint(dnsc_server_wait(s, 0, 5 * US_PER_S), ==, US_PER_S);
    for (int i = 0; i < 20; i++) {
        dnsc_server_answered(s, i * US_PER_S, i * US_PER_S + 400000);
    }
    g_assert_cmpint(dnsc_server_wait(s, 0, 5 * US_PER_S), >=, 400000);
    g_assert_cmpint(dnsc_server_wait(s, 0, 5 * US_PER_S), <, 600000);
    g_assert_cmpint(dnsc_server_wait(s, 9, 5 * US_PER_S), ==, 5 * US_PER_S);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/cache/ttl", test_ttl);
    g_test_add_func("/dns-client/cache/bounded", test_bounded);
    g_test_add_func("/dns-client/cache/failures", test_failures);
    g_test_add_func("/dns-client/cache/stale", test_stale);
    g_test_add_func("/dns-client/servers/back-off", test_back_off);
    g_test_add_func("/dns-client/servers/dropped", test_one_question_dropped);
    g_test_add_func("/dns-client/servers/parallel-losses",
                    test_parallel_losses);
    g_test_add_func("/dns-client/servers/probe-given-up",
                    test_probe_given_up);
    g_test_add_func("/dns-client/servers/wait", test_wait);
    return g_test_run();
}
