/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap against a sorted array, and ten thousand bindings that end */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "ha/agent/agent.h"

#define MANY    10000u

static int compare(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void test_order(void)
{
    g_autofree Mip6Due *due = g_new0(Mip6Due, 1000);
    g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(int64_t));
    Mip6Expiry e;
    Mip6Due *next;

    mip6_expiry_init(&e);
    for (unsigned i = 0; i < 1000; i++) {
        mip6_expiry_set(&e, &due[i], g_test_rand_int_range(0, 500));
    }
    for (unsigned i = 0; i < 1000; i++) {
        if (i % 3 == 0) {
            mip6_expiry_set(&e, &due[i], g_test_rand_int_range(0, 500));
        } else if (i % 3 == 1) {
            mip6_expiry_remove(&e, &due[i]);
            mip6_expiry_remove(&e, &due[i]);
            continue;
        }
        g_array_append_val(sorted, due[i].at);
    }
    g_array_sort(sorted, compare);
    for (unsigned i = 0; i < sorted->len; i++) {
        next = mip6_expiry_next(&e);
        g_assert_nonnull(next);
        g_assert_cmpint(next->at, ==, g_array_index(sorted, int64_t, i));
        mip6_expiry_remove(&e, next);
        g_assert_cmpuint(next->place, ==, 0);
    }
    g_assert_null(mip6_expiry_next(&e));
    mip6_expiry_destroy(&e);
}

typedef struct Host {
    unsigned proxied, changes;
} Host;

static void forward(void *opaque, const void *packet, size_t len)
{
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    Host *host = opaque;

    host->proxied += on ? 1 : -1;
    return true;
}

static void changed(void *opaque, const Mip6AgentBinding *b)
{
    Host *host = opaque;

    g_assert_cmpuint(b->lifetime, ==, 0);
    host->changes++;
}

static const Mip6AgentOps ops = {
    .forward = forward,
    .proxy = proxy,
    .changed = changed,
};

static Mip6AgentConfig config(void)
{
    Mip6AgentConfig c = {
        .prefix_len = 64,
        .lifetime_max = 150,
        .bindings_max = MANY,
        .mtu = 1500,
    };

    inet_pton(AF_INET6, "2001:db8:2000::1", &c.address);
    c.prefix = c.address;
    return c;
}

static Mip6AgentBinding numbered(unsigned number, int64_t expires)
{
    Mip6AgentBinding b = { .sequence = 1, .lifetime = 10, .expires = expires };

    inet_pton(AF_INET6, "2001:db8:2000::1:0", &b.home);
    inet_pton(AF_INET6, "2001:db8:3000::b", &b.care_of);
    b.home.s6_addr[14] = number >> 8;
    b.home.s6_addr[15] = number;
    return b;
}

/* One call ends a bounded number of bindings. */
static void test_many(void)
{
    Mip6AgentConfig c = config();
    Mip6AgentBinding b;
    Host host = { 0 };
    unsigned turns = 0;
    Mip6Agent a;

    mip6_agent_init(&a, &c, &ops, &host);
    g_assert_cmpint(mip6_agent_deadline(&a), ==, INT64_MAX);
    for (unsigned i = 0; i < MANY; i++) {
        b = numbered(i, (1 + i % 7) * SECOND);
        g_assert_cmpuint(mip6_agent_restore(&a, 0, &b), ==, MIP6_BA_ACCEPTED);
    }
    b = numbered(MANY, SECOND);
    g_assert_cmpuint(mip6_agent_restore(&a, 0, &b), ==, MIP6_BA_RESOURCES);
    g_assert_cmpuint(host.proxied, ==, MANY);
    g_assert_cmpuint(a.restored, ==, MANY);

    mip6_agent_tick(&a, SECOND - 1);
    g_assert_cmpuint(a.expired, ==, 0);
    g_assert_cmpint(mip6_agent_deadline(&a), ==, SECOND);
    while (mip6_agent_deadline(&a) <= 7 * SECOND) {
        uint64_t before = a.expired;

        mip6_agent_tick(&a, 7 * SECOND);
        g_assert_cmpuint(a.expired - before, <=, MIP6_AGENT_TURN);
        turns++;
    }
    g_assert_cmpuint(turns, ==, (MANY + MIP6_AGENT_TURN - 1) / MIP6_AGENT_TURN);
    g_assert_cmpuint(host.proxied, ==, 0);
    g_assert_cmpuint(host.changes, ==, MANY);
    g_assert_cmpint(mip6_agent_deadline(&a), ==, INT64_MAX);
    mip6_agent_destroy(&a);
}

/* The configuration may have changed meanwhile. */
static void test_restore_refused(void)
{
    Mip6AgentConfig c = config();
    Mip6AgentBinding b = numbered(1, SECOND);
    Host host = { 0 };
    Mip6Agent a;

    inet_pton(AF_INET6, "2001:db8:2001::", &c.prefix);
    mip6_agent_init(&a, &c, &ops, &host);
    g_assert_cmpuint(mip6_agent_restore(&a, 0, &b), ==,
                     MIP6_BA_NOT_HOME_SUBNET);
    g_assert_cmpuint(host.proxied, ==, 0);
    mip6_agent_destroy(&a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-expiry/order", test_order);
    g_test_add_func("/mip6-expiry/many", test_many);
    g_test_add_func("/mip6-expiry/restore-refused", test_restore_refused);
    return g_test_run();
}
