/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Response rate limits: shared accounts, limits, and recovery */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/core/limit.h"

static const uint64_t key[2] = { 1, 2 };

static DnsdLimit *limit_of(uint32_t rate, uint32_t slip)
{
    const DnsdLimitOptions options = { rate, slip, DNSD_LIMIT_SLOTS_MIN };

    return dnsd_limit_new(&options, key);
}

static DnsdLimitAccount account_of(const char *text, unsigned kind,
                                   const char *name)
{
    DnsdRange range;

    g_assert_null(dnsd_range_read(&range, text));
    return (DnsdLimitAccount) {
        .client = range.first, .kind = kind,
        .name = (const uint8_t *)name, .name_len = name ? strlen(name) : 0,
    };
}

/* How many of @count responses at one time are sent */
static unsigned sent(DnsdLimit *limit, const DnsdLimitAccount *account,
                     unsigned count, uint64_t now_ms)
{
    unsigned n = 0;

    while (count--) {
        n += dnsd_limit_judge(limit, account, now_ms) == DNSD_LIMIT_SEND;
    }
    return n;
}

static void test_rate(void)
{
    DnsdLimit *limit = limit_of(10, 0);
    DnsdLimitAccount a = account_of("192.0.2.1", 1, NULL);

    g_assert_cmpuint(sent(limit, &a, 100, 5000), ==, 10);
    g_assert_cmpuint(sent(limit, &a, 100, 5100), ==, 1);
    g_assert_cmpuint(sent(limit, &a, 100, 5500), ==, 4);
    /* Unused allowance is kept for one second at most. */
    g_assert_cmpuint(sent(limit, &a, 100, 500000), ==, 10);
    dnsd_limit_free(limit);
}

static void test_accounts(void)
{
    DnsdLimit *limit = limit_of(10, 0);
    DnsdLimitAccount a = account_of("192.0.2.1", 1, "www");
    DnsdLimitAccount same = account_of("192.0.2.255", 1, "www");
    DnsdLimitAccount six = account_of("2001:db8::1", 1, "www");
    DnsdLimitAccount same6 = account_of("2001:db8:0:ff::1", 1, "www");
    const DnsdLimitAccount other[] = {
        account_of("192.0.3.1", 1, "www"), account_of("192.0.2.1", 2, "www"),
        account_of("192.0.2.1", 1, "wwx"), account_of("192.0.2.1", 1, NULL),
        account_of("2001:db8:0:100::1", 1, "www"),
    };

    g_assert_cmpuint(sent(limit, &a, 50, 1), ==, 10);
    g_assert_cmpuint(sent(limit, &same, 50, 1), ==, 0);
    g_assert_cmpuint(sent(limit, &six, 50, 1), ==, 10);
    g_assert_cmpuint(sent(limit, &same6, 50, 1), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(other); i++) {
        g_assert_cmpuint(sent(limit, &other[i], 50, 1), ==, 10);
    }
    dnsd_limit_free(limit);
}

static void test_slip(void)
{
    DnsdLimit *limit = limit_of(10, 3);
    DnsdLimitAccount a = account_of("192.0.2.1", 1, NULL);

    g_assert_cmpuint(sent(limit, &a, 10, 1), ==, 10);
    for (unsigned i = 1; i < 100; i++) {
        g_assert_cmpint(dnsd_limit_judge(limit, &a, 1), ==,
                        i % 3 ? DNSD_LIMIT_DROP : DNSD_LIMIT_SLIP);
    }
    dnsd_limit_free(limit);
}

/* A flood from a million networks does not reset an account over its limit. */
static void test_flood(void)
{
    DnsdLimit *limit = limit_of(100, 0);
    DnsdLimitAccount victim = account_of("192.0.2.1", 1, NULL);
    uint64_t now_ms = 1000;

    g_assert_cmpuint(sent(limit, &victim, 200, now_ms), ==, 100);
    for (unsigned i = 0; i < 1000000; i++) {
        DnsdLimitAccount stranger = { .kind = 1 };

        memcpy(stranger.client.octets, &i, sizeof(i));
        g_assert_cmpuint(sent(limit, &stranger, 1, now_ms), ==, 1);
    }
    g_assert_cmpuint(sent(limit, &victim, 100, now_ms), ==, 0);
    g_assert_cmpuint(dnsd_limit_bytes(DNSD_LIMIT_SLOTS_MIN), <=,
                     DNSD_LIMIT_SLOTS_MIN * 16 + 64);
    dnsd_limit_free(limit);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/limit/rate", test_rate);
    g_test_add_func("/dnsd/limit/accounts", test_accounts);
    g_test_add_func("/dnsd/limit/slip", test_slip);
    g_test_add_func("/dnsd/limit/flood", test_flood);
    return g_test_run();
}
