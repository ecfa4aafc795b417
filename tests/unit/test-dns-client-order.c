/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order of destinations: the examples of RFC 6724 section 10
 */

#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/dns/client/core/order.h"

enum { DEPRECATED = 1, HOME = 2, CARE_OF = 4, UNUSABLE = 8 };

typedef struct Pair {
    const char *to;
    const char *from;           /* the source, as section 5 chooses it */
    unsigned flags;
} Pair;

static struct in6_addr address(const char *text)
{
    char mapped[64];
    struct in6_addr addr;

    g_snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') ? "" :
               "::ffff:", text);
    g_assert_cmpint(inet_pton(AF_INET6, mapped, &addr), ==, 1);
    return addr;
}

/* The pairs, in any order, are sorted into the given order. */
static void assert_order(const DnscPolicy *policy, const Pair *pairs, int n)
{
    for (int turn = 0; turn < n; turn++) {
        DnscDestination d[8] = { 0 };

        for (int i = 0; i < n; i++) {
            int at = (i + turn) % n;

            d[at].addr = address(pairs[i].to);
            d[at].source = address(pairs[i].from);
            d[at].usable = !(pairs[i].flags & UNUSABLE);
            d[at].deprecated = pairs[i].flags & DEPRECATED;
            d[at].home = pairs[i].flags & HOME;
            d[at].care_of = pairs[i].flags & CARE_OF;
            d[at].index = i;
        }
        dnsc_order(policy, d, n);
        for (int i = 0; i < n; i++) {
            g_assert_cmpuint(d[i].index, ==, i);
        }
    }
}

/* Section 10.2, in its order */
static void test_default(void)
{
    static const Pair examples[][2] = {
        { { "2001:db8:1::1", "2001:db8:1::2", 0 },
          { "198.51.100.121", "169.254.13.78", 0 } },
        { { "198.51.100.121", "198.51.100.117", 0 },
          { "2001:db8:1::1", "fe80::1", 0 } },
        { { "2001:db8:1::1", "2001:db8:1::2", 0 },
          { "10.1.2.3", "10.1.2.4", 0 } },
        { { "fe80::1", "fe80::2", 0 },
          { "2001:db8:1::1", "2001:db8:1::2", 0 } },
        { { "2001:db8:1::1", "2001:db8:3::1", HOME },
          { "fe80::1", "fe80::2", CARE_OF } },
        { { "2001:db8:1::1", "2001:db8:1::2", 0 },
          { "fe80::1", "fe80::2", DEPRECATED } },
        { { "2001:db8:1::1", "2001:db8:1::2", 0 },
          { "2001:db8:3ffe::1", "2001:db8:3f44::2", 0 } },
        { { "2002:c633:6401::1", "2002:c633:6401::2", 0 },
          { "2001:db8:1::1", "2002:c633:6401::2", 0 } },
        { { "2001:db8:1::1", "2001:db8:1::2", 0 },
          { "2002:c633:6401::1", "2002:c633:6401::2", 0 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
        assert_order(dnsc_default_policy, examples[i], 2);
    }
}

/* Section 10.3: IPv4 first */
static void test_ip4_first(void)
{
    static const DnscPolicy policy[] = {
        { { { { [15] = 1 } } }, 128, 50, 0 },
        { { { { [10] = 0xff, [11] = 0xff } } }, 96, 100, 4 },
        { { { { 0 } } }, 0, 40, 1 },
    };
    static const Pair examples[][2] = {
        { { "2001:db8::1", "2001:db8::2", 0 },
          { "198.51.100.121", "169.254.13.78", 0 } },
        { { "198.51.100.121", "198.51.100.117", 0 },
          { "2001:db8::1", "fe80::1", 0 } },
        { { "10.1.2.3", "10.1.2.4", 0 }, { "2001:db8::1", "2001:db8::2", 0 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
        assert_order(policy, examples[i], 2);
    }
}

/* Section 10.4: link-local addresses last */
static void test_link_local_last(void)
{
    static const DnscPolicy policy[] = {
        { { { { 0xfe, 0x80 } } }, 10, 33, 1 },
        { { { { 0 } } }, 0, 40, 1 },
    };
    static const Pair pairs[] = {
        { "2001:db8::1", "2001:db8::2", 0 }, { "fe80::1", "fe80::2", 0 },
    };

    assert_order(policy, pairs, 2);
}

static void test_unusable_last(void)
{
    static const Pair pairs[] = {
        { "10.1.2.3", "10.1.2.4", 0 }, { "2001:db8::1", "::", UNUSABLE },
    };

    assert_order(dnsc_default_policy, pairs, 2);
}

/* Rule 9 goes no further than the source's prefix; rule 10 keeps the rest. */
static void test_prefix_ends(void)
{
    DnscDestination d[2] = {
        { .addr = address("2001:db8::ff00:1"), .usable = true,
          .source = address("2001:db8::1"), .source_len = 64, .index = 0 },
        { .addr = address("2001:db8::2"), .usable = true,
          .source = address("2001:db8::1"), .source_len = 64, .index = 1 },
    };

    dnsc_order(dnsc_default_policy, d, 2);
    g_assert_cmpuint(d[0].index, ==, 0);
    d[0].source_len = d[1].source_len = 0;
    dnsc_order(dnsc_default_policy, d, 2);
    g_assert_cmpuint(d[0].index, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/order/default", test_default);
    g_test_add_func("/dns-client/order/ip4-first", test_ip4_first);
    g_test_add_func("/dns-client/order/link-local", test_link_local_last);
    g_test_add_func("/dns-client/order/unusable", test_unusable_last);
    g_test_add_func("/dns-client/order/prefix", test_prefix_ends);
    return g_test_run();
}
