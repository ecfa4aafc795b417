/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VmrpcReach without a server: translation, policy and NAT64 prefixes */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/reach/candidates.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/reach/translate.h"

#define GUEST4      "10.0.2.15"
#define RESOLVER4   "192.0.0.1"
#define VM6         "2001:db8:1::5"
#define SERVER6     "2001:db8:2::80"
#define OTHER6      "2001:db8:3::80"
#define SERVER4     "198.51.100.7"
#define PREFIX      "2001:db8:64::/96"
#define PREFIX_OLD  "2001:db8:65::/96"
#define DAY_MS      (24 * 3600 * 1000LL)

/* The clock of all tests. */
static int64_t now_ms;

static int64_t read_clock(void)
{
    return now_ms;
}

typedef struct World {
    VmrpcReachConfig config;
    VmrpcReach reach;
    char refused[256];          /* the last refusal, as text */
} World;

static struct in_addr ip4(const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return addr;
}

static struct in6_addr ip6(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void on_refused(void *opaque, const VmrpcRefusal *refusal)
{
    World *w = opaque;

    g_snprintf(w->refused, sizeof(w->refused), "%s %u %s %s %u",
               refusal->dest, refusal->port, refusal->name ?: "-",
               refusal->reason, refusal->line);
}

static void init(World *w, bool translate)
{
    g_autoptr(GError) err = NULL;

    now_ms = 1000;
    *w = (World) {
        .config = {
            .translate = translate,
            .has_address6 = translate,
            .guest4 = ip4(GUEST4),
            .guest4_prefix = 24,
            .pool4 = ip4("198.18.0.0"),
            .pool4_prefix = 16,
        },
    };
    if (translate) {
        w->config.address6 = ip6(VM6);
        w->config.resolver4 = ip4(RESOLVER4);
    }
    g_assert_true(vmrpc_reach_init(&w->reach, &w->config, read_clock, &err));
    g_assert_no_error(err);
    w->reach.tracer = (VmrpcReachTracer) { .refused = on_refused,
                                            .opaque = w };
}

static void use_policy(World *w, const char *text)
{
    g_autoptr(GError) err = NULL;

    vmrpc_policy_free(w->reach.policy);
    w->reach.policy = vmrpc_policy_parse(text, strlen(text), "test", &err);
    g_assert_no_error(err);
}

/* The network announces these prefixes; returns true if the first is new. */
static bool announce(World *w, const char *first, const char *second, bool use)
{
    Nat64Prefix prefixes[2];
    unsigned num = 0;

    if (first) {
        g_assert_true(nat64_prefix_parse(first, &prefixes[num++], NULL));
    }
    if (second) {
        g_assert_true(nat64_prefix_parse(second, &prefixes[num++], NULL));
    }
    return vmrpc_reach_nat64_found(&w->reach, prefixes, num, use);
}

/* DNS gave @name these addresses; @second may be NULL. */
static void note(World *w, const char *name, const char *first,
                 const char *second)
{
    VmrpcNameAddr addrs[2] = { { .addr6 = ip6(first), .ttl_s = 60 } };
    DnsName wire;

    g_assert_cmpint(dns_name_from_text(&wire, name), ==, 0);
    if (second) {
        addrs[1] = (VmrpcNameAddr) { .addr6 = ip6(second), .ttl_s = 60 };
    }
    vmrpc_names_note(w->reach.names, &wire, addrs, second ? 2 : 1, now_ms);
}

/* The guest's address for a peer. */
static struct in_addr seen_as(World *w, const char *text)
{
    struct sockaddr_in6 sin6 = {
        .sin6_family = AF_INET6,
        .sin6_addr = ip6(text),
        .sin6_port = htons(7),
    };
    struct sockaddr_storage host = { };
    struct sockaddr_in guest;

    memcpy(&host, &sin6, sizeof(sin6));
    g_assert_cmpint(vmrpc_addr_to_guest(&w->reach, &host, &guest), ==, 0);
    g_assert_cmpint(guest.sin_family, ==, AF_INET);
    g_assert_cmpint(guest.sin_port, ==, htons(7));
    return guest.sin_addr;
}

/* The same as text; the string is valid until the next call. */
static const char *seen_text(World *w, const char *text)
{
    static char buf[INET_ADDRSTRLEN];
    struct in_addr addr4 = seen_as(w, text);

    return inet_ntop(AF_INET, &addr4, buf, sizeof(buf));
}

/* Asserts that @guest becomes @want, the text of an IPv6 address. */
static void assert_host(World *w, struct in_addr guest, const char *want)
{
    struct in6_addr want6 = ip6(want);
    struct sockaddr_storage host;
    const struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&host;

    g_assert_cmpint(vmrpc_addr_to_host(&w->reach, guest, htons(80), &host),
                    ==, sizeof(*sin6));
    g_assert_cmpint(sin6->sin6_family, ==, AF_INET6);
    g_assert_cmpint(sin6->sin6_port, ==, htons(80));
    g_assert_cmpmem(&sin6->sin6_addr, 16, &want6, 16);
}

/* 0 if the guest may go there, else the negative errno. */
static int go_to(World *w, struct in_addr guest, int proto)
{
    struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = guest,
                               .sin_port = htons(80) };
    struct sockaddr_storage host;
    VmrpcPass pass = { };
    int ret = vmrpc_dest_to_host(&w->reach, &sin, proto, &host, &pass);

    vmrpc_terms_unref(pass.terms);
    return MIN(ret, 0);
}

static int go_to6(World *w, const char *addr6)
{
    return go_to(w, seen_as(w, addr6), IPPROTO_TCP);
}

static int go_to4(World *w, const char *addr4)
{
    return go_to(w, ip4(addr4), IPPROTO_TCP);
}

/* --- translation ---------------------------------------------------------- */

static void test_to_host(void)
{
    struct sockaddr_storage host;
    struct in_addr peer;
    World w;

    init(&w, true);
    assert_host(&w, ip4("0.0.0.0"), VM6);
    assert_host(&w, ip4(GUEST4), VM6);
    assert_host(&w, ip4("224.0.0.251"), "ff02::fb");
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, ip4(RESOLVER4), 0, &host), ==,
                    -ECONNREFUSED);
    g_assert_cmpint(go_to(&w, ip4(RESOLVER4), IPPROTO_ICMP), ==,
                    -EHOSTUNREACH);
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, ip4("198.18.0.1"), 0, &host),
                    ==, -EHOSTUNREACH);
    g_assert_cmpuint(w.reach.counters.unreachable_no_mapping, ==, 1);
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, ip4(SERVER4), 0, &host), ==,
                    -ENETUNREACH);
    g_assert_cmpuint(w.reach.counters.unreachable_no_nat64, ==, 1);

    peer = seen_as(&w, SERVER6);
    g_assert_true(vmrpc_addrmap_contains(w.reach.map, peer));
    assert_host(&w, peer, SERVER6);
    vmrpc_reach_destroy(&w.reach);
}

static void test_to_guest(void)
{
    World w;

    init(&w, true);
    g_assert_cmpstr(seen_text(&w, VM6), ==, GUEST4);
    g_assert_cmpstr(seen_text(&w, "::"), ==, "0.0.0.0");
    g_assert_cmpstr(seen_text(&w, "ff02::fb"), ==, "224.0.0.251");
    g_assert_cmphex(seen_as(&w, SERVER6).s_addr, ==,
                    seen_as(&w, SERVER6).s_addr);
    g_assert_cmphex(seen_as(&w, SERVER6).s_addr, !=,
                    seen_as(&w, OTHER6).s_addr);
    vmrpc_reach_destroy(&w.reach);
}

/* What the guest mentions inside a payload is not counted. */
static void test_named(void)
{
    struct in6_addr addr6, want = ip6(VM6);
    World w;

    init(&w, true);
    g_assert_true(vmrpc_addr_named(&w.reach, ip4(GUEST4), &addr6));
    g_assert_cmpmem(&addr6, 16, &want, 16);
    g_assert_true(vmrpc_addr_named(&w.reach, ip4("0.0.0.0"), &addr6));
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&addr6));
    g_assert_false(vmrpc_addr_named(&w.reach, ip4(SERVER4), &addr6));
    g_assert_false(vmrpc_addr_named(&w.reach, ip4("198.18.0.1"), &addr6));
    g_assert_cmpuint(w.reach.counters.unreachable_no_nat64, ==, 0);
    g_assert_cmpuint(w.reach.counters.unreachable_no_mapping, ==, 0);
    vmrpc_reach_destroy(&w.reach);
}

static void test_untranslated(void)
{
    struct sockaddr_storage host;
    const struct sockaddr_in *sin = (struct sockaddr_in *)&host;
    struct sockaddr_in guest;
    World w;

    init(&w, false);
    g_assert_null(w.reach.map);
    g_assert_null(w.reach.names);
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, ip4("0.0.0.0"), 0, &host),
                    ==, sizeof(*sin));
    g_assert_cmphex(sin->sin_addr.s_addr, ==, ip4(GUEST4).s_addr);
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, ip4(SERVER4), htons(9),
                                       &host), ==, sizeof(*sin));
    g_assert_cmphex(sin->sin_addr.s_addr, ==, ip4(SERVER4).s_addr);
    g_assert_cmpint(vmrpc_addr_to_guest(&w.reach, &host, &guest), ==, 0);
    g_assert_cmphex(guest.sin_addr.s_addr, ==, ip4(SERVER4).s_addr);
    g_assert_cmpint(guest.sin_port, ==, htons(9));
    vmrpc_reach_destroy(&w.reach);
}

/* After vmrpc_reach_forget() no address and no name is known. */
static void test_forget(void)
{
    struct in6_addr addr6 = ip6(SERVER6);
    g_autoptr(GError) err = NULL;
    struct sockaddr_storage host;
    VmrpcNameFound found;
    struct in_addr peer;
    World w;

    init(&w, true);
    peer = seen_as(&w, SERVER6);
    note(&w, "www.example.org", SERVER6, NULL);
    g_assert_cmpuint(vmrpc_names_lookup(w.reach.names, &addr6, &found, 1), ==,
                     1);
    g_assert_true(vmrpc_reach_forget(&w.reach, &err));
    g_assert_no_error(err);
    g_assert_cmpint(vmrpc_addr_to_host(&w.reach, peer, 0, &host), ==,
                    -EHOSTUNREACH);
    g_assert_cmpuint(vmrpc_names_lookup(w.reach.names, &addr6, &found, 1), ==,
                     0);
    vmrpc_reach_destroy(&w.reach);
}

static void test_bad_pool(void)
{
    VmrpcReachConfig config = {
        .translate = true,
        .guest4 = ip4(GUEST4),
        .pool4 = ip4("198.18.0.0"),
        .pool4_prefix = 40,
    };
    g_autoptr(GError) err = NULL;
    VmrpcReach reach = { };

    g_assert_false(vmrpc_reach_init(&reach, &config, read_clock, &err));
    g_assert_nonnull(strstr(err->message, "pool4="));
    vmrpc_reach_destroy(&reach);
}

/* --- policy --------------------------------------------------------------- */

static void test_policy(void)
{
    World w;

    init(&w, true);
    g_assert_cmpint(go_to6(&w, SERVER6), ==, 0);
    g_assert_cmpint(go_to6(&w, "fe80::1"), ==, -ENETUNREACH);
    g_assert_cmpuint(w.reach.counters.refused_builtin, ==, 1);
    g_assert_cmpstr(w.refused, ==, "fe80::1 80 - link-local 0");

    use_policy(&w, "# test\ndeny 2001:db8:2::/48 tcp 80\n");
    g_assert_cmpint(go_to6(&w, SERVER6), ==, -EACCES);
    g_assert_cmpuint(w.reach.counters.refused_policy, ==, 1);
    g_assert_cmpstr(w.refused, ==, SERVER6 " 80 - deny-rule 2");
    g_assert_cmpint(go_to(&w, seen_as(&w, SERVER6), IPPROTO_UDP), ==, 0);
    g_assert_cmpint(go_to6(&w, OTHER6), ==, 0);

    use_policy(&w, "allow 2001:db8:2::/48\ndefault deny\n");
    g_assert_cmpint(go_to6(&w, SERVER6), ==, 0);
    g_assert_cmpint(go_to6(&w, OTHER6), ==, -EACCES);
    g_assert_cmpuint(w.reach.counters.refused_default, ==, 1);
    vmrpc_reach_destroy(&w.reach);
}

/* A destination is allowed by the name that the guest has looked up. */
static void test_policy_by_name(void)
{
    World w;

    init(&w, true);
    use_policy(&w, "allow www.example.org\ndefault deny\n");
    g_assert_cmpint(go_to6(&w, SERVER6), ==, -EACCES);
    note(&w, "www.example.org", SERVER6, NULL);
    g_assert_cmpint(go_to6(&w, SERVER6), ==, 0);
    note(&w, "other.example.org", OTHER6, NULL);
    g_assert_cmpint(go_to6(&w, OTHER6), ==, -EACCES);
    g_assert_nonnull(strstr(w.refused, "other.example.org"));

    /* The name of an A record, behind the NAT64. */
    announce(&w, PREFIX, NULL, true);
    g_assert_cmpint(go_to4(&w, SERVER4), ==, -EACCES);
    note(&w, "www.example.org", "::ffff:" SERVER4, NULL);
    g_assert_cmpint(go_to4(&w, SERVER4), ==, 0);
    vmrpc_reach_destroy(&w.reach);
}

static void test_group(void)
{
    World w;

    init(&w, true);
    use_policy(&w, "allow 224.0.0.251 udp 5353\nallow ff02::fb udp 5353\n"
                   "deny ff02::/16\n");
    g_assert_cmpint(vmrpc_group_check(&w.reach, ip4("224.0.0.251"),
                                      htons(5353)), ==, 0);
    g_assert_cmpint(vmrpc_group_check(&w.reach, ip4("224.0.0.251"), 0), ==, 0);
    g_assert_cmpint(vmrpc_group_check(&w.reach, ip4("224.0.0.251"), htons(9)),
                    ==, -EACCES);
    g_assert_cmpint(vmrpc_group_check(&w.reach, ip4("224.0.0.252"), 0), ==,
                    -EACCES);
    g_assert_cmpuint(w.reach.counters.refused_policy, ==, 2);
    vmrpc_reach_destroy(&w.reach);
}

static void test_limit_report(void)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_addr = ip6(SERVER6),
                                 .sin6_port = htons(443) };
    struct sockaddr_storage dest = { };
    uint64_t counter = 0;
    World w;

    init(&w, true);
    note(&w, "www.example.org", SERVER6, NULL);
    memcpy(&dest, &sin6, sizeof(sin6));
    vmrpc_refused_by_limit(&w.reach, &dest, EMFILE, "limit-test", &counter);
    g_assert_cmpuint(counter, ==, 1);
    g_assert_cmpstr(w.refused, ==, SERVER6 " 443 www.example.org limit-test 0");
    vmrpc_reach_destroy(&w.reach);
}

/* --- NAT64 prefixes ------------------------------------------------------- */

static void test_nat64(void)
{
    World w;

    init(&w, true);
    g_assert_cmpint(go_to4(&w, SERVER4), ==, -ENETUNREACH);
    g_assert_true(announce(&w, PREFIX, NULL, true));
    assert_host(&w, ip4(SERVER4), "2001:db8:64::198.51.100.7");
    g_assert_cmpstr(seen_text(&w, "2001:db8:64::198.51.100.7"), ==, SERVER4);
    g_assert_false(announce(&w, PREFIX, PREFIX_OLD, true));

    /* Addresses with another meaning in the guest get a virtual address. */
    g_assert_true(vmrpc_addrmap_contains(w.reach.map,
                                         seen_as(&w, "2001:db8:64::7f00:1")));
    g_assert_true(vmrpc_addrmap_contains(w.reach.map,
                                         seen_as(&w, "2001:db8:64::"
                                                 GUEST4)));

    /* The second prefix becomes the first: both directions follow. */
    g_assert_true(announce(&w, PREFIX_OLD, NULL, true));
    assert_host(&w, ip4(SERVER4), "2001:db8:65::198.51.100.7");
    g_assert_cmpstr(seen_text(&w, "2001:db8:65::198.51.100.7"), ==, SERVER4);
    g_assert_true(vmrpc_addrmap_contains(w.reach.map,
                                         seen_as(&w, "2001:db8:64::"
                                                 SERVER4)));

    /* The same prefix after a while without any is not another one. */
    g_assert_false(announce(&w, NULL, NULL, true));
    g_assert_cmpint(go_to4(&w, SERVER4), ==, -ENETUNREACH);
    g_assert_false(announce(&w, PREFIX_OLD, NULL, true));
    g_assert_cmpint(go_to4(&w, SERVER4), ==, 0);
    vmrpc_reach_destroy(&w.reach);
}

/* IPv4 rules apply behind a prefix for as long as it is in the list. */
static void test_nat64_policy(void)
{
    World w;

    init(&w, true);
    use_policy(&w, "deny 198.51.100.0/24\n");
    g_assert_cmpint(go_to6(&w, "2001:db8:64::" SERVER4), ==, 0);
    announce(&w, PREFIX, NULL, true);
    g_assert_cmpint(go_to4(&w, SERVER4), ==, -EACCES);
    g_assert_cmpint(go_to4(&w, "203.0.113.1"), ==, 0);
    g_assert_cmpint(go_to4(&w, "169.254.169.254"), ==, -ENETUNREACH);

    /* The network does not announce it any more: it still counts ... */
    announce(&w, NULL, NULL, true);
    now_ms += 6 * DAY_MS;
    g_assert_cmpint(go_to6(&w, "2001:db8:64::" SERVER4), ==, -EACCES);
    g_assert_cmpint(go_to6(&w, "2001:db8:64::203.0.113.1"), ==, 0);
    /* ... for a week. */
    now_ms += 2 * DAY_MS;
    g_assert_cmpint(go_to6(&w, "2001:db8:64::" SERVER4), ==, 0);
    g_assert_cmpuint(w.reach.nat64.num, ==, 0);
    vmrpc_reach_destroy(&w.reach);
}

/* A prefix that is not to be used matters to the policy only. */
static void test_nat64_unused(void)
{
    World w;

    init(&w, true);
    use_policy(&w, "deny 198.51.100.0/24\n");
    g_assert_false(announce(&w, PREFIX, NULL, false));
    g_assert_cmpint(go_to4(&w, "203.0.113.1"), ==, -ENETUNREACH);
    g_assert_cmpint(go_to6(&w, "2001:db8:64::" SERVER4), ==, -EACCES);
    vmrpc_reach_destroy(&w.reach);
}

/* A name may not lead to a private address, behind a NAT64 neither. */
/* What the guest says at port 80 of an address; the rule's line, or negative */
static int say(World *w, const char *addr6, const char *name)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_addr = ip6(addr6),
                                 .sin6_port = htons(80) };
    struct sockaddr_storage host = { };
    unsigned line;
    int ret;

    memcpy(&host, &sin6, sizeof(sin6));
    ret = vmrpc_dest_says(&w->reach, &host, IPPROTO_TCP, name, &line);
    return ret < 0 ? ret : (int)line;
}

static void test_says(void)
{
    DnsName from, to;
    char name[32];
    World w;

    init(&w, true);
    use_policy(&w, "allow www.test tcp 80 tls\ndeny bad.test\n"
                   "allow *.test tcp 80 tls\nallow four.example tcp 80 tls\n"
                   "default deny\n");
    note(&w, "www.test", SERVER6, NULL);
    note(&w, "bad.test", SERVER6, NULL);
    note(&w, "far.test", OTHER6, NULL);
    note(&w, "cdn.example", SERVER6, NULL);
    g_assert_cmpint(say(&w, SERVER6, "www.test"), ==, 1);
    g_assert_cmpint(say(&w, SERVER6, "WWW.Test"), ==, 1);
    g_assert_cmpint(say(&w, SERVER6, "bad.test"), ==, -EACCES);
    g_assert_cmpint(say(&w, SERVER6, "cdn.example"), ==, -EACCES);
    g_assert_cmpint(say(&w, SERVER6, "far.test"), ==, -ENOENT);
    g_assert_cmpint(say(&w, SERVER6, "never.test"), ==, -ENOENT);
    g_assert_cmpint(say(&w, OTHER6, "far.test"), ==, 3);
    /* However many names the address has, and after their time */
    for (int i = 0; i < 3 * VMRPC_POLICY_MAX_NAMES; i++) {
        g_snprintf(name, sizeof(name), "n%d.test", i);
        note(&w, name, SERVER6, NULL);
    }
    now_ms += DAY_MS;
    g_assert_cmpint(say(&w, SERVER6, "www.test"), ==, 1);
    g_assert_cmpint(say(&w, SERVER6, "n0.test"), ==, 3);
    /* By a name that the answers for it gave */
    w.reach.targets = vmrpc_targets_new();
    dns_name_from_text(&from, "origin.test");
    dns_name_from_text(&to, "cdn.example");
    g_assert_cmpint(say(&w, SERVER6, "origin.test"), ==, -ENOENT);
    vmrpc_targets_note(w.reach.targets, &from, &to);
    g_assert_cmpint(say(&w, SERVER6, "origin.test"), ==, 3);
    g_assert_cmpint(say(&w, OTHER6, "origin.test"), ==, -ENOENT);
    vmrpc_reach_destroy(&w.reach);
}

/* The address of an A record, behind the NAT64 */
static void test_says_nat64(void)
{
    World w;

    init(&w, true);
    use_policy(&w, "deny 198.51.100.9\nallow four.test tcp 80 tls\n"
                   "default deny\n");
    announce(&w, PREFIX, NULL, true);
    note(&w, "four.test", "::ffff:" SERVER4, "::ffff:198.51.100.9");
    g_assert_cmpint(say(&w, "2001:db8:64::c633:6407", "four.test"), ==, 2);
    g_assert_cmpint(say(&w, "2001:db8:64::c633:6408", "four.test"), ==,
                    -ENOENT);
    g_assert_cmpint(say(&w, "2001:db8:64::c633:6409", "four.test"), ==,
                    -EACCES);
    g_assert_cmpint(say(&w, "2001:db8:99::c633:6407", "four.test"), ==,
                    -ENOENT);
    vmrpc_reach_destroy(&w.reach);
}

static void test_private(void)
{
    struct in6_addr plain = ip6("fd00::1"), a = ip6("::ffff:192.168.0.1");
    struct in6_addr behind = ip6("2001:db8:64::192.168.0.1");
    unsigned line = 0;
    World w;

    init(&w, true);
    use_policy(&w, "private-address standard\nprivate-domain home.example\n");
    announce(&w, PREFIX, NULL, true);
    g_assert_true(vmrpc_addr_is_private(&w.reach, &plain, "evil.test", &line));
    g_assert_cmpuint(line, ==, 1);
    g_assert_true(vmrpc_addr_is_private(&w.reach, &a, "evil.test", &line));
    g_assert_true(vmrpc_addr_is_private(&w.reach, &behind, "evil.test",
                                        &line));
    g_assert_false(vmrpc_addr_is_private(&w.reach, &plain, "nas.home.example",
                                         &line));
    vmrpc_reach_destroy(&w.reach);
}

/* --- candidates ----------------------------------------------------------- */

static void test_candidates(void)
{
    struct sockaddr_in6 named = { .sin6_family = AF_INET6,
                                  .sin6_addr = ip6(SERVER6),
                                  .sin6_port = htons(80) };
    struct in6_addr other = ip6(OTHER6);
    VmrpcCandidate found[4];
    World w;

    init(&w, true);
    g_assert_cmpuint(vmrpc_dest_candidates(&w.reach, &named, found, 4,
                                           NULL), ==, 1);
    note(&w, "both.example.org", SERVER6, OTHER6);
    g_assert_cmpuint(vmrpc_dest_candidates(&w.reach, &named, found, 4,
                                           NULL), ==, 2);
    g_assert_cmpmem(&found[0].addr6, 16, &named.sin6_addr, 16);
    g_assert_cmpmem(&found[1].addr6, 16, &other, 16);
    g_assert_cmpint(found[1].port, ==, htons(80));
    g_assert_false(found[1].synthesized);

    use_policy(&w, "deny " OTHER6 "\n");
    g_assert_false(vmrpc_candidate_is_allowed(&w.reach, &found[1], NULL,
                                              NULL));
    g_assert_cmpuint(vmrpc_dest_candidates(&w.reach, &named, found, 4,
                                           NULL), ==, 1);
    g_assert_cmpuint(w.reach.counters.refused_policy, ==, 0);

    /* Another name has only the first of the addresses. */
    use_policy(&w, "");
    note(&w, "one.example.org", SERVER6, NULL);
    g_assert_cmpuint(vmrpc_dest_candidates(&w.reach, &named, found, 4,
                                           NULL), ==, 1);
    vmrpc_reach_destroy(&w.reach);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-reach/to-host", test_to_host);
    g_test_add_func("/vmrpc-reach/to-guest", test_to_guest);
    g_test_add_func("/vmrpc-reach/named", test_named);
    g_test_add_func("/vmrpc-reach/untranslated", test_untranslated);
    g_test_add_func("/vmrpc-reach/forget", test_forget);
    g_test_add_func("/vmrpc-reach/bad-pool", test_bad_pool);
    g_test_add_func("/vmrpc-reach/policy", test_policy);
    g_test_add_func("/vmrpc-reach/policy-by-name", test_policy_by_name);
    g_test_add_func("/vmrpc-reach/group", test_group);
    g_test_add_func("/vmrpc-reach/limit-report", test_limit_report);
    g_test_add_func("/vmrpc-reach/nat64", test_nat64);
    g_test_add_func("/vmrpc-reach/nat64-policy", test_nat64_policy);
    g_test_add_func("/vmrpc-reach/nat64-unused", test_nat64_unused);
    g_test_add_func("/vmrpc-reach/says", test_says);
    g_test_add_func("/vmrpc-reach/says-nat64", test_says_nat64);
    g_test_add_func("/vmrpc-reach/private", test_private);
    g_test_add_func("/vmrpc-reach/candidates", test_candidates);
    return g_test_run();
}
