/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Announcements on the home link: how often, and how many at a time */
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "ha/host/announce.h"

typedef struct Heard {
    unsigned count;             /* in all */
    unsigned of[4096];          /* by the last 16 bits of the address */
} Heard;

static void heard(void *opaque, const struct in6_addr *home)
{
    Heard *h = opaque;

    h->count++;
    h->of[(home->s6_addr[14] << 8 | home->s6_addr[15]) % 4096]++;
}

static struct in6_addr home(unsigned i)
{
    return (struct in6_addr) {
        .s6_addr = { 0x20, 1, [14] = i >> 8, [15] = i },
    };
}

/* Three of each, a second apart, as RFC 4861 section 7.2.6 has it. */
static void test_three(void)
{
    Heard h = { 0 };
    struct in6_addr a = home(1), b = home(2);
    Mip6Announce q;

    mip6_announce_init(&q, heard, &h);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, INT64_MAX);
    mip6_announce_add(&q, 0, &a, 3);
    mip6_announce_add(&q, 0, &b, 1);
    g_assert_cmpint(h.count, ==, 0);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, 0);
    mip6_announce_tick(&q, 0);
    g_assert_cmpint(h.count, ==, 2);
    mip6_announce_tick(&q, SECOND - 1);
    g_assert_cmpint(h.count, ==, 2);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, SECOND);
    mip6_announce_tick(&q, SECOND);
    mip6_announce_tick(&q, 2 * SECOND);
    mip6_announce_tick(&q, 3 * SECOND);
    g_assert_cmpint(h.of[1], ==, 3);
    g_assert_cmpint(h.of[2], ==, 1);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, INT64_MAX);
    /* The first one is sent at once, the others wait for their turn. */
    h.count = 0;
    mip6_announce_at_once(&q, 10 * SECOND, &a, 3);
    g_assert_cmpint(h.count, ==, 1);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, 11 * SECOND);
    mip6_announce_tick(&q, 11 * SECOND);
    mip6_announce_tick(&q, 12 * SECOND);
    g_assert_cmpint(h.count, ==, 3);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, INT64_MAX);
    /* A binding that has ended is not announced. */
    mip6_announce_add(&q, 0, &a, 3);
    mip6_announce_add(&q, 0, &a, 3);
    mip6_announce_remove(&q, &a);
    mip6_announce_remove(&q, &b);
    g_assert_cmpint(mip6_announce_deadline(&q), ==, INT64_MAX);
    mip6_announce_destroy(&q);
}

/* Many announcements are spread over time, and none is lost. */
static void test_many(void)
{
    Heard h = { 0 };
    int64_t now = 0, last = -1;
    unsigned before = 0;
    Mip6Announce q;

    mip6_announce_init(&q, heard, &h);
    for (unsigned i = 0; i < 4096; i++) {
        struct in6_addr a = home(i);

        mip6_announce_add(&q, 0, &a, 1);
    }
    for (; now != INT64_MAX; now = mip6_announce_deadline(&q)) {
        g_assert_cmpint(now, >=, last < 0 ? 0 : last + 20 * MS);
        mip6_announce_tick(&q, now);
        g_assert_cmpint(h.count - before, <=, MIP6_ANNOUNCE_TURN);
        before = h.count;
        last = now;
    }
    for (unsigned i = 0; i < 4096; i++) {
        g_assert_cmpint(h.of[i], ==, 1);
    }
    g_assert_cmpuint(q.sent, ==, 4096);
    mip6_announce_destroy(&q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/announce/three", test_three);
    g_test_add_func("/mip6/announce/many", test_many);
    return g_test_run();
}
