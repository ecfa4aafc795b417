/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section "resolver", and how many queries may wait */
#include <glib.h>
#include <string.h>

#include "dnsd/server/config/config.h"
#include "dnsd/server/config/resolving.h"
#include "dnsd/server/core/tally.h"

static DnsdErrors errors;

static DnsdConfig *read_text(const char *text)
{
    return dnsd_config_read("f.yaml", text, strlen(text), &errors);
}

#define RESOLVER(line)  "resolver:\n  allow: [10.0.0.0/8]\n  " line "\n"

static const struct {
    const char *text, *told;
} wrong[] = {
    { "resolver: on", "f.yaml:1:11: resolver: 'on' is no map; right is "
      "'key: value' in each line" },
    { "resolver: {dnssec: off}", "f.yaml:1:11: resolver: a map has no "
      "'allow'; right is the prefixes of those who may recurse; without the "
      "section nobody may" },
    { "resolver: {allow: 10.0.0.0/8}", "f.yaml:1:19: resolver.allow: "
      "'10.0.0.0/8' is no list; right is a list of prefixes as "
      "'192.0.2.0/24' or '2001:db8::/32'" },
    { RESOLVER("forwards: []"), "f.yaml:3:3: resolver: 'forwards' is no key "
      "here; the nearest is 'forward'" },
    { RESOLVER("forward: []"), "f.yaml:3:12: resolver.forward: a list is "
      "empty; right is one address or more; without the key the resolver "
      "begins at the root" },
    { RESOLVER("forward: [dns.example]"), "f.yaml:3:13: resolver.forward[0]: "
      "'dns.example' is no address; right is a list of addresses as "
      "'192.0.2.1', '2001:db8::1@5353' or 'fe80::1%eth0', at most 16" },
    { RESOLVER("dnssec: lax"), "f.yaml:3:11: resolver.dnssec: 'lax' is none "
      "of them; right is 'off', 'permissive' or 'strict'" },
    { RESOLVER("insecure: ['']"), "f.yaml:3:14: resolver.insecure[0]: '' is "
      "no domain name; right is a list of domain names as 'corp.example', at "
      "most 1000" },
    { RESOLVER("insecure: [.]"), "f.yaml:3:14: resolver.insecure[0]: '.' is "
      "the root; right is a name below it; to validate nothing, "
      "'dnssec: off'" },
    { RESOLVER("trust-anchor: off"), "f.yaml:3:17: resolver.trust-anchor: "
      "'off' is no path; right is an absolute path; without DNSSEC, "
      "'dnssec: off'" },
    { RESOLVER("cache-size: 64M"), "f.yaml:3:15: resolver.cache-size: '64M' "
      "is no number; right is a number of octets from 1048576 to "
      "4294967295" },
    { RESOLVER("max-queries: 0"), "f.yaml:3:16: resolver.max-queries: '0' is "
      "out of range; right is a number from 1 to 65536" },
};

static void test_wrong(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_null(read_text(wrong[i].text));
        g_assert_cmpstr(errors.text, ==, wrong[i].told);
    }
}

static void test_defaults(void)
{
    DnsdConfig *config = read_text("zones: []\n");
    const DnsdResolverConfig *c = &config->resolver;

    g_assert_false(c->is_on);
    g_assert_cmpint(c->dnssec, ==, DNSD_DNSSEC_STRICT);
    g_assert_cmpstr(c->trust_anchor, ==, "/usr/share/dns/root.key");
    g_assert_cmpuint(c->cache_size, ==, 64 << 20);
    dnsd_config_free(config);
}

static void test_right(void)
{
    DnsdConfig *config = read_text(RESOLVER(
        "forward: [192.0.2.1, '2001:db8::1@5353']\n  dnssec: permissive\n"
        "  insecure: [corp.example]\n  serve-stale: on\n  threads: 3"));
    const DnsdResolverConfig *c = &config->resolver;

    g_assert_true(c->is_on && c->serve_stale);
    g_assert_cmpuint(c->allow.count, ==, 1);
    g_assert_cmpuint(c->forwards, ==, 2);
    g_assert_cmpstr(c->forward[1].text, ==, "2001:db8::1@5353");
    g_assert_cmpint(c->dnssec, ==, DNSD_DNSSEC_PERMISSIVE);
    g_assert_cmpuint(c->insecures, ==, 1);
    g_assert_cmpuint(c->threads, ==, 3);
    dnsd_config_free(config);
}

/* Settings that do not make the cache leave it as it is. */
static void test_same(void)
{
    static const struct {
        const char *line;
        bool same;
    } cases[] = {
        { "dnssec: permissive", true },
        { "max-queries: 7", true },
        { "dnssec: off", false },
        { "forward: [192.0.2.1]", false },
        { "insecure: [a.example]", false },
        { "cache-size: 1048576", false },
        { "serve-stale: on", false },
        { "trust-anchor: /a", false },
        { "root-hints: /a", false },
    };
    DnsdConfig *before = read_text(RESOLVER("dnssec: strict"));

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat("resolver:\n  allow: []\n  ",
                                            cases[i].line, NULL);
        DnsdConfig *config = read_text(text);

        g_assert_true(dnsd_resolver_same(&before->resolver,
                                         &config->resolver) == cases[i].same);
        dnsd_config_free(config);
    }
    dnsd_config_free(before);
}

/* --- queries that wait ---------------------------------------------------- */

static DnsdAddr addr_of(const char *text)
{
    DnsdRange range;

    g_assert_null(dnsd_range_read(&range, text));
    return range.first;
}

static void test_tally(void)
{
    static const uint64_t key[2] = { 5, 6 };
    DnsdTally *tally = dnsd_tally_new(key);
    DnsdAddr a = addr_of("192.0.2.1"), b = addr_of("192.0.2.2");
    DnsdAddr six = addr_of("2001:db8::1"), same = addr_of("2001:db8::2:1");

    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(dnsd_tally_enter(tally, &a, 6, 4), ==, DNSD_TALLY_IN);
    }
    g_assert_cmpint(dnsd_tally_enter(tally, &a, 6, 4), ==,
                    DNSD_TALLY_CLIENT_FULL);
    g_assert_cmpint(dnsd_tally_enter(tally, &b, 6, 4), ==, DNSD_TALLY_IN);
    g_assert_cmpint(dnsd_tally_enter(tally, &b, 6, 4), ==, DNSD_TALLY_IN);
    /* Refused queries are in no account. */
    for (unsigned i = 0; i < 9; i++) {
        g_assert_cmpint(dnsd_tally_enter(tally, &b, 6, 4), ==,
                        DNSD_TALLY_FULL);
    }
    g_assert_cmpuint(dnsd_tally_count(tally), ==, 6);
    dnsd_tally_leave(tally, &a);
    g_assert_cmpint(dnsd_tally_enter(tally, &b, 6, 4), ==, DNSD_TALLY_IN);
    dnsd_tally_leave(tally, &a);
    /* A /64 is one client. */
    g_assert_cmpint(dnsd_tally_enter(tally, &six, 6, 1), ==, DNSD_TALLY_IN);
    g_assert_cmpint(dnsd_tally_enter(tally, &same, 6, 1), ==,
                    DNSD_TALLY_CLIENT_FULL);
    dnsd_tally_free(tally);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/resolving/wrong", test_wrong);
    g_test_add_func("/dnsd/resolving/defaults", test_defaults);
    g_test_add_func("/dnsd/resolving/right", test_right);
    g_test_add_func("/dnsd/resolving/same", test_same);
    g_test_add_func("/dnsd/resolving/tally", test_tally);
    return g_test_run();
}
