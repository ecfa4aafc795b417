/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4 addresses inside IPv6 addresses: the vectors of RFC 6052, 2.4 */

#include <arpa/inet.h>

#include "net/packet/nat64.h"

static struct in6_addr v6(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static struct in_addr v4(const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return addr;
}

static void test_vectors(void)
{
    static const char *const vectors[][2] = {
        { "2001:db8::/32", "2001:db8:c000:221::" },
        { "2001:db8:100::/40", "2001:db8:1c0:2:21::" },
        { "2001:db8:122::/48", "2001:db8:122:c000:2:2100::" },
        { "2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::" },
        { "2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::" },
        { "2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33" },
        { "64:ff9b::/96", "64:ff9b::192.0.2.33" },
        /* not of 2.4: octet 8 is of the prefix */
        { "2001:db8:64:ff9b:100::/96", "2001:db8:64:ff9b:100:0:192.0.2.33" },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(vectors); i++) {
        g_autoptr(GError) err = NULL;
        struct in6_addr addr6, expected = v6(vectors[i][1]);
        struct in_addr addr4 = { 0 };
        Nat64Prefix prefix;

        g_assert_true(nat64_prefix_parse(vectors[i][0], &prefix, &err));
        g_assert_no_error(err);
        nat64_embed(&prefix, v4("192.0.2.33"), &addr6);
        g_assert_cmpmem(&addr6, 16, &expected, 16);
        g_assert_true(nat64_extract(&prefix, &expected, &addr4));
        g_assert_cmphex(addr4.s_addr, ==, v4("192.0.2.33").s_addr);
    }
}

/* Every bit of every address survives, under every length. */
static void test_round_trip(void)
{
    static const unsigned lengths[] = { 32, 40, 48, 56, 64, 96 };
    struct in6_addr base = v6("2001:db8::");
    size_t i;
    int n;

    for (i = 0; i < G_N_ELEMENTS(lengths); i++) {
        Nat64Prefix prefix;

        g_assert_true(nat64_prefix_init(&prefix, &base, lengths[i], NULL));
        for (n = 0; n < 10000; n++) {
            struct in_addr in = { g_test_rand_int() }, out = { 0 };
            struct in6_addr addr6;

            nat64_embed(&prefix, in, &addr6);
            g_assert_cmphex(addr6.s6_addr[8], ==, 0);
            g_assert_true(nat64_extract(&prefix, &addr6, &out));
            g_assert_cmphex(in.s_addr, ==, out.s_addr);
        }
    }
}

static void test_extract_refuses(void)
{
    struct in_addr addr4 = v4("192.0.2.1");
    struct in6_addr other = v6("64:ff9c::192.0.2.33");
    struct in6_addr octet8 = v6("64:ff9b::100:0:192.0.2.33");
    Nat64Prefix prefix;

    g_assert_true(nat64_prefix_parse("64:ff9b::/96", &prefix, NULL));
    g_assert_false(nat64_extract(&prefix, &other, &addr4));
    g_assert_false(nat64_extract(&prefix, &octet8, &addr4));
    g_assert_cmphex(addr4.s_addr, ==, v4("192.0.2.1").s_addr);
}

/*
 * RFC 6052, 2.3: octet 8 is ignored.  An address with a value in it reaches the
 * same host, so it must give the same IPv4 address, or it would bypass rules.
 */
static void test_octet8_is_ignored(void)
{
    static const char *const cases[][2] = {
        { "2001:db8::/32", "2001:db8:c000:221:ff00::" },
        { "2001:db8:100::/40", "2001:db8:1c0:2:121::" },
        { "2001:db8:122::/48", "2001:db8:122:c000:8002:2100::" },
        { "2001:db8:122:300::/56", "2001:db8:122:3c0:ff00:221::" },
        { "2001:db8:122:344::/64", "2001:db8:122:344:1c0:2:2100::" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct in6_addr addr6 = v6(cases[i][1]), back;
        struct in_addr addr4 = { 0 };
        Nat64Prefix prefix;

        g_assert_true(nat64_prefix_parse(cases[i][0], &prefix, NULL));
        g_assert_true(nat64_extract(&prefix, &addr6, &addr4));
        g_assert_cmphex(addr4.s_addr, ==, v4("192.0.2.33").s_addr);
        nat64_embed(&prefix, addr4, &back);
        g_assert_false(IN6_ARE_ADDR_EQUAL(&back, &addr6));
    }
}

/* RFC 6052, 2.2: any suffix is taken for zero. */
static void test_suffix_is_ignored(void)
{
    struct in6_addr addr6 = v6("2001:db8:c000:221:0:ffff:ffff:ffff");
    struct in_addr addr4;
    Nat64Prefix prefix;

    g_assert_true(nat64_prefix_parse("2001:db8::/32", &prefix, NULL));
    g_assert_true(nat64_extract(&prefix, &addr6, &addr4));
    g_assert_cmphex(addr4.s_addr, ==, v4("192.0.2.33").s_addr);
}

static void test_parse_errors(void)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } bad[] = {
        { "", NAT64_ERROR_SYNTAX, "*''*" },
        { "64:ff9b::", NAT64_ERROR_SYNTAX, "*64:ff9b::'*" },
        { "64:ff9b::/", NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/x", NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/96x", NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/ 96", NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/-96", NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/352", NAT64_ERROR_SYNTAX, "*" },
        { "10.0.0.0/32", NAT64_ERROR_SYNTAX, "*10.0.0.0/32*" },
        { "64:ff9b::%1/96", NAT64_ERROR_SYNTAX, "*" },
        { "0123456789012345678901234567890123456789012345678901234567/96",
          NAT64_ERROR_SYNTAX, "*" },
        { "64:ff9b::/95", NAT64_ERROR_LENGTH, "64:ff9b::/95:*32, 40*" },
        { "64:ff9b::/0", NAT64_ERROR_LENGTH, "*" },
        { "64:ff9b::/128", NAT64_ERROR_LENGTH, "*" },
        { "64:ff9b::1/96", NAT64_ERROR_BITS, "*after its prefix*" },
        { "2001:db8:1::/32", NAT64_ERROR_BITS, "*after its prefix*" },
        { "2001:db8:0:0:100::/64", NAT64_ERROR_BITS, "*after its prefix*" },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) err = NULL;
        Nat64Prefix prefix;

        g_assert_false(nat64_prefix_parse(bad[i].text, &prefix, &err));
        g_assert_error(err, NAT64_ERROR, bad[i].code);
        g_assert_true(g_pattern_match_simple(bad[i].says, err->message));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nat64/vectors", test_vectors);
    g_test_add_func("/nat64/round-trip", test_round_trip);
    g_test_add_func("/nat64/extract-refuses", test_extract_refuses);
    g_test_add_func("/nat64/octet8-is-ignored", test_octet8_is_ignored);
    g_test_add_func("/nat64/suffix-is-ignored", test_suffix_is_ignored);
    g_test_add_func("/nat64/parse-errors", test_parse_errors);
    return g_test_run();
}
