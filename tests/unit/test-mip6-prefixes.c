/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mobile node's requests for prefixes */
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "net/mip6/core/prefixes.h"

typedef struct Fixture {
    Mip6Prefixes p;
    int64_t now;
    unsigned sent;
    int64_t at[64];
    uint16_t id;
    uint32_t random;
} Fixture;

static void solicit(void *opaque, uint16_t id)
{
    Fixture *f = opaque;

    f->at[f->sent++ % 64] = f->now;
    f->id = id;
}

static uint32_t next_random(void *opaque)
{
    Fixture *f = opaque;

    return ++f->random;
}

static const Mip6PrefixesOps ops = { .solicit = solicit,
                                     .random = next_random };

static void begin(Fixture *f)
{
    memset(f, 0, sizeof(*f));
    mip6_prefixes_init(&f->p, &ops, f);
    mip6_prefixes_bound(&f->p, true);
}

static void pass(Fixture *f, int64_t s)
{
    int64_t end = f->now + s * SECOND;

    while (mip6_prefixes_deadline(&f->p) <= end) {
        f->now = MAX(f->now, mip6_prefixes_deadline(&f->p));
        mip6_prefixes_tick(&f->p, f->now);
    }
    f->now = end;
}

static void advert(Fixture *f, uint16_t id, uint32_t preferred)
{
    Mip6Icmp m = { .type = MIP6_ICMP_PREFIX_ADVERT, .id = id };

    mip6_prefixes_advert(&f->p, f->now, &m, preferred);
}

/* Before the lifetime ends; an answer renews it. */
static void test_in_time(void)
{
    Fixture f;

    begin(&f);
    pass(&f, 100000);
    g_assert_cmpint(f.sent, ==, 0);
    mip6_prefixes_lifetime(&f.p, f.now, 4000);
    pass(&f, 2999);
    g_assert_cmpint(f.sent, ==, 0);
    pass(&f, 1);
    g_assert_cmpint(f.sent, ==, 1);
    advert(&f, f.id, 100);
    pass(&f, 49);
    g_assert_cmpint(f.sent, ==, 1);
    pass(&f, 1);
    g_assert_cmpint(f.sent, ==, 2);
    advert(&f, f.id, PACKET_ND_INFINITE);
    pass(&f, 100000);
    g_assert_cmpint(f.sent, ==, 2);
    /* No request without a binding. */
    mip6_prefixes_bound(&f.p, false);
    mip6_prefixes_ask(&f.p, f.now);
    pass(&f, 100);
    g_assert_cmpint(f.sent, ==, 2);
    mip6_prefixes_bound(&f.p, true);
    pass(&f, 0);
    g_assert_cmpint(f.sent, ==, 3);
}

static void test_no_answer(void)
{
    Fixture f;
    int64_t gap = 3;
    uint16_t first;

    begin(&f);
    mip6_prefixes_ask(&f.p, f.now);
    pass(&f, 0);
    first = f.id;
    pass(&f, 10000);
    for (unsigned i = 1; i < f.sent; i++) {
        g_assert_cmpint(f.at[i] - f.at[i - 1], ==, gap * SECOND);
        gap = MIN(gap * 2, 1000);
    }
    g_assert_cmpint(f.id, !=, first);
    /* A request in between changes nothing. */
    first = f.sent;
    mip6_prefixes_ask(&f.p, f.now);
    pass(&f, 0);
    g_assert_cmpint(f.sent, ==, first);
}

/* An unsolicited advertisement is answered; the reply to this answer is not. */
static void test_unsolicited(void)
{
    Fixture f;

    begin(&f);
    advert(&f, 1000, 4000);
    pass(&f, 0);
    g_assert_cmpint(f.sent, ==, 1);
    advert(&f, f.id, 4000);
    pass(&f, 2999);
    g_assert_cmpint(f.sent, ==, 1);
    pass(&f, 1);
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpuint(f.p.advertised, ==, 2);
    g_assert_cmpuint(f.p.solicited, ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/prefixes/in-time", test_in_time);
    g_test_add_func("/mip6/prefixes/no-answer", test_no_answer);
    g_test_add_func("/mip6/prefixes/unsolicited", test_unsolicited);
    return g_test_run();
}
