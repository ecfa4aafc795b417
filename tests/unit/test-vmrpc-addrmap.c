/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 46/64 address map, also against a naive model of it */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/reach/addrmap.h"

static struct in_addr v4(const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return addr;
}

/* The @n-th peer. */
static struct in6_addr peer(uint32_t n)
{
    struct in6_addr addr = { .s6_addr = { 0x20, 0x01, 0x0d, 0xb8 } };

    n = htonl(n);
    memcpy(addr.s6_addr + 12, &n, sizeof(n));
    return addr;
}

static VmrpcAddrMap *new_map_at(const char *base, unsigned len, uint32_t start)
{
    g_autoptr(GError) err = NULL;
    VmrpcAddrMap *map = vmrpc_addrmap_new(v4(base), len, start, NULL, 0, &err);

    g_assert_no_error(err);
    g_assert_nonnull(map);
    return map;
}

static VmrpcAddrMap *new_map(const char *base, unsigned len)
{
    return new_map_at(base, len, 0);
}

static VmrpcAddrMapStats stats_of(const VmrpcAddrMap *map)
{
    VmrpcAddrMapStats stats;

    vmrpc_addrmap_stats(map, &stats);
    return stats;
}

static struct in_addr lease(VmrpcAddrMap *map, uint32_t n, uint32_t ttl_s,
                            int64_t now_ms)
{
    struct in6_addr addr6 = peer(n);
    struct in_addr addr4;

    g_assert_cmpint(vmrpc_addrmap_lease(map, &addr6, ttl_s, now_ms, &addr4,
                                        NULL), ==, 0);
    return addr4;
}

/* How many names a pool of 254 addresses has room for. */
#define NAMES_OF_254 (254 - 254 / 8)

static void assert_refused(VmrpcAddrMap *map, uint32_t n, uint32_t ttl_s,
                           int64_t now_ms)
{
    uint64_t full = stats_of(map).full;
    struct in6_addr addr6 = peer(n);
    struct in_addr addr4;

    g_assert_cmpint(vmrpc_addrmap_lease(map, &addr6, ttl_s, now_ms, &addr4,
                                        NULL), ==, -ENOSPC);
    g_assert_cmpint(stats_of(map).full, ==, full + 1);
}

/* A peer that comes by itself finds no address. */
static void assert_stranger_refused(VmrpcAddrMap *map, uint32_t n,
                                    int64_t now_ms)
{
    assert_refused(map, n, 0, now_ms);
}

static bool peer_is(const VmrpcAddrMap *map, struct in_addr addr4, uint32_t n)
{
    struct in6_addr addr6, expected = peer(n);

    return vmrpc_addrmap_lookup4(map, addr4, &addr6) == 0 &&
           IN6_ARE_ADDR_EQUAL(&addr6, &expected);
}

static void test_both_ways(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("198.18.0.0", 15);
    struct in_addr a = lease(map, 1, 60, 0), b = lease(map, 2, 60, 0), back;
    struct in6_addr addr6 = peer(2), unknown = peer(3);

    g_assert_cmphex(a.s_addr, ==, v4("198.18.0.1").s_addr);
    g_assert_cmphex(b.s_addr, ==, v4("198.18.0.2").s_addr);
    g_assert_true(peer_is(map, a, 1));
    g_assert_true(peer_is(map, b, 2));
    g_assert_cmpint(vmrpc_addrmap_lookup6(map, &addr6, &back), ==, 0);
    g_assert_cmphex(back.s_addr, ==, b.s_addr);
    g_assert_cmphex(lease(map, 1, 60, 1000).s_addr, ==, a.s_addr);
    g_assert_cmpint(stats_of(map).entries, ==, 2);
    g_assert_cmpint(stats_of(map).created, ==, 2);
    g_assert_cmpint(stats_of(map).capacity, ==, 131070);

    g_assert_cmpint(vmrpc_addrmap_lookup6(map, &unknown, &back), ==, -ENOENT);
    g_assert_cmpint(vmrpc_addrmap_lookup4(map, v4("198.18.0.3"), &addr6), ==,
                    -ENOENT);
    g_assert_cmpint(vmrpc_addrmap_lookup4(map, v4("198.18.0.0"), &addr6), ==,
                    -ENOENT);
    g_assert_cmpint(vmrpc_addrmap_lookup4(map, v4("192.0.2.1"), &addr6), ==,
                    -ENOENT);
}

static void test_contains(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("198.18.0.0", 15);

    g_assert_true(vmrpc_addrmap_contains(map, v4("198.18.0.0")));
    g_assert_true(vmrpc_addrmap_contains(map, v4("198.19.255.255")));
    g_assert_false(vmrpc_addrmap_contains(map, v4("198.17.255.255")));
    g_assert_false(vmrpc_addrmap_contains(map, v4("198.20.0.0")));
}

static void test_lease_time(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in6_addr addr6 = peer(1);
    struct in_addr addr4;
    uint32_t left;

    vmrpc_addrmap_lease(map, &addr6, 60, 5000, &addr4, &left);
    g_assert_cmpint(left, ==, 60);
    /* never shortened */
    vmrpc_addrmap_lease(map, &addr6, 10, 15000, &addr4, &left);
    g_assert_cmpint(left, ==, 50);
    /* extended */
    vmrpc_addrmap_lease(map, &addr6, 100, 15000, &addr4, &left);
    g_assert_cmpint(left, ==, 100);
    vmrpc_addrmap_lease(map, &addr6, UINT32_MAX, 15000, &addr4, &left);
    g_assert_cmpint(left, ==, VMRPC_ADDRMAP_MAX_LEASE_S);
}

static uint32_t week_for(VmrpcAddrMap *map, uint32_t n, int64_t now_ms)
{
    struct in6_addr addr6 = peer(n);
    struct in_addr addr4;
    uint32_t left;

    g_assert_cmpint(vmrpc_addrmap_lease(map, &addr6, VMRPC_ADDRMAP_MAX_LEASE_S,
                                        now_ms, &addr4, &left), ==, 0);
    return left;
}

/* The whole pool cannot be had for a week. */
static void test_lease_by_fill_level(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 24);
    uint32_t n;

    /* strangers promise nothing, so they do not count */
    for (n = 1; n <= 254; n++) {
        lease(map, 1000 + n, 0, -VMRPC_ADDRMAP_STRANGER_MS);
    }
    for (n = 1; n <= 128; n++) {
        g_assert_cmpint(week_for(map, n, 0), ==, VMRPC_ADDRMAP_MAX_LEASE_S);
    }
    for (; n <= 191; n++) {
        g_assert_cmpint(week_for(map, n, 0), ==, 3600);
    }
    for (; n <= NAMES_OF_254; n++) {
        g_assert_cmpint(week_for(map, n, 0), ==, 60);
    }
    assert_refused(map, n, 60, 0);
    /* what was promised stays, and is not made longer */
    g_assert_cmpint(week_for(map, 1, 1000), ==, VMRPC_ADDRMAP_MAX_LEASE_S - 1);
    /* a minute later there is room again, and it counts the same */
    for (n = 300; n < 331; n++) {
        g_assert_cmpint(week_for(map, n, 60000), ==, 60);
    }
    g_assert_cmpint(stats_of(map).reclaimed, ==, NAMES_OF_254 + 31);
}

/* Whatever the guest looks up, who calls it finds an address. */
static void test_share_of_strangers(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 24);
    uint32_t n;

    for (n = 1; n <= NAMES_OF_254; n++) {
        lease(map, n, 60, 0);
    }
    assert_refused(map, 1000, 60, 0);
    for (n = 0; n < 254 - NAMES_OF_254; n++) {
        lease(map, 2000 + n, 0, n);
    }
    /* names take from names now, strangers from strangers */
    for (n = 0; n < 1000; n++) {
        lease(map, 3000 + n, 1, 60000 + 1000 * n);
        lease(map, 5000 + n, 0, 60000 + 1000 * n);
    }
    g_assert_cmpint(stats_of(map).entries, ==, 254);
}

/* A stranger whose name is looked up takes no share from the others. */
static void test_share_of_known(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 24);
    struct in_addr a = lease(map, 1, 10, 0), met;
    uint32_t n;

    for (n = 2; n <= NAMES_OF_254; n++) {
        lease(map, n, 60, 0);
    }
    met = lease(map, 1000, 0, 0);
    assert_refused(map, 1000, 60, 9999);
    g_assert_true(peer_is(map, met, 1000));
    g_assert_cmphex(lease(map, 1000, 60, 10000).s_addr, ==, met.s_addr);
    /* in exchange for the name that was over first, which may go now */
    g_assert_true(peer_is(map, a, 1));
    for (n = 0; n < 254 - NAMES_OF_254; n++) {
        lease(map, 2000 + n, 0, 20000);
    }
    g_assert_false(peer_is(map, a, 1));
    g_assert_true(peer_is(map, met, 1000));
}

/* Who was heard a moment ago is about to be answered. */
static void test_strangers_just_met(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in_addr a = lease(map, 1, 0, 0);

    lease(map, 2, 0, 500);
    assert_refused(map, 3, 0, VMRPC_ADDRMAP_STRANGER_MS - 1);
    assert_refused(map, 3, 60, VMRPC_ADDRMAP_STRANGER_MS - 1);
    lease(map, 1, 0, VMRPC_ADDRMAP_STRANGER_MS - 1);
    assert_refused(map, 3, 0, VMRPC_ADDRMAP_STRANGER_MS);
    lease(map, 3, 0, VMRPC_ADDRMAP_STRANGER_MS + 500);
    g_assert_true(peer_is(map, a, 1));
}

/* A stranger whose name is looked up counts from then on, and once. */
static void test_fill_level_of_known(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);

    lease(map, 1, 0, 0);
    lease(map, 2, 0, 0);
    g_assert_cmpint(week_for(map, 1, 0), ==, VMRPC_ADDRMAP_MAX_LEASE_S);
    g_assert_cmpint(week_for(map, 1, 1000), ==, VMRPC_ADDRMAP_MAX_LEASE_S);
    g_assert_cmpint(week_for(map, 2, 1000), ==, VMRPC_ADDRMAP_MAX_LEASE_S);
    g_assert_cmpint(week_for(map, 2, 2000), ==, VMRPC_ADDRMAP_MAX_LEASE_S - 1);
}

static void test_full_and_reclaimed(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in_addr a = lease(map, 1, 10, 0), b = lease(map, 2, 20, 0), c;
    struct in6_addr third = peer(3);

    /* the network and the broadcast address are not handed out */
    g_assert_cmphex(a.s_addr, ==, v4("10.0.0.1").s_addr);
    g_assert_cmphex(b.s_addr, ==, v4("10.0.0.2").s_addr);
    g_assert_cmpint(vmrpc_addrmap_lease(map, &third, 1, 9999, &c, NULL), ==,
                    -ENOSPC);
    g_assert_cmpint(stats_of(map).full, ==, 1);

    /* a lease that is over keeps its address until somebody needs it */
    g_assert_true(peer_is(map, a, 1));
    c = lease(map, 3, 1, 10000);
    g_assert_cmphex(c.s_addr, ==, a.s_addr);
    g_assert_true(peer_is(map, a, 3));
    g_assert_true(peer_is(map, b, 2));
    g_assert_cmpint(stats_of(map).reclaimed, ==, 1);
    g_assert_cmpint(stats_of(map).created, ==, 3);
    g_assert_cmpint(stats_of(map).entries, ==, 2);
    third = peer(1);
    g_assert_cmpint(vmrpc_addrmap_lookup6(map, &third, &c), ==, -ENOENT);
}

static void test_order(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 29);
    struct in_addr a = lease(map, 1, 30, 0), b = lease(map, 2, 10, 0);
    struct in_addr c = lease(map, 3, 0, 50000), d = lease(map, 4, 0, 50001);

    /* never used first, though both names are over */
    g_assert_cmphex(c.s_addr, ==, v4("10.0.0.6").s_addr);
    lease(map, 5, 0, 50002);
    lease(map, 6, 0, 50003);
    /* a stranger takes from a stranger, the one that was met first */
    g_assert_cmphex(lease(map, 7, 0, 60000).s_addr, ==, c.s_addr);
    /* so does a name, as long as there are some */
    g_assert_cmphex(lease(map, 8, 100, 60000).s_addr, ==, d.s_addr);
    lease(map, 9, 100, 60000);
    lease(map, 10, 100, 60000);
    g_assert_cmphex(lease(map, 11, 100, 61000).s_addr, ==, c.s_addr);
    /* then from the name that was over first, not the one created first */
    assert_stranger_refused(map, 12, 61000);
    g_assert_cmphex(lease(map, 12, 100, 61000).s_addr, ==, b.s_addr);
    g_assert_cmphex(lease(map, 13, 100, 61000).s_addr, ==, a.s_addr);
}

/*
 * Programs have the addresses of all names of a device that was unplugged
 * since: no stranger gets one while there are addresses of the strangers' part.
 */
static void test_stranger_of_new_map(void)
{
    for (uint32_t start = 0; start < NAMES_OF_254; start += 13) {
        g_autoptr(VmrpcAddrMap) before = new_map_at("10.0.0.0", 24, 100);
        g_autoptr(VmrpcAddrMap) after = new_map_at("10.0.0.0", 24, start);

        for (uint32_t n = 1; n <= NAMES_OF_254; n++) {
            lease(before, 1000 + n, 3600, 0);
        }
        for (uint32_t n = 1; n <= 254 / 8; n++) {
            struct in_addr addr4 = lease(after, n, 0, 0);
            struct in6_addr old;

            g_assert_cmpint(vmrpc_addrmap_lookup4(before, addr4, &old), ==,
                            -ENOENT);
        }
    }
}

/* The address of a name of the earlier map is met by chance only. */
static void test_name_of_new_map(void)
{
    g_autoptr(VmrpcAddrMap) before = new_map_at("10.0.0.0", 24, 200);
    g_autoptr(VmrpcAddrMap) after = new_map_at("10.0.0.0", 24, 60);

    for (uint32_t n = 1; n <= 80; n++) {
        lease(before, 1000 + n, 3600, 0);
    }
    for (uint32_t n = 1; n <= 80; n++) {
        struct in_addr addr4 = lease(after, n, 3600, 0);
        struct in6_addr old;

        g_assert_cmpint(vmrpc_addrmap_lookup4(before, addr4, &old), ==,
                        -ENOENT);
    }
}

/* Names go round their part of the pool, whatever the start is. */
static void test_start(void)
{
    const uint32_t starts[] = {
        0, 1, NAMES_OF_254 - 1, NAMES_OF_254, 253, UINT32_MAX
    };

    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
        g_autoptr(VmrpcAddrMap) map = new_map_at("10.0.0.0", 24, starts[i]);
        uint32_t base = ntohl(v4("10.0.0.1").s_addr), n;

        for (n = 0; n < NAMES_OF_254; n++) {
            uint32_t at = (starts[i] % NAMES_OF_254 + n) % NAMES_OF_254;

            g_assert_cmphex(ntohl(lease(map, 1 + n, 60, 0).s_addr), ==,
                            base + at);
        }
        /* the strangers' part, from its end; then it is full */
        for (; n < 254; n++) {
            g_assert_cmphex(ntohl(lease(map, 1 + n, 0, 0).s_addr), ==,
                            base + 253 - (n - NAMES_OF_254));
        }
        g_assert_cmpint(stats_of(map).reclaimed, ==, 0);
        assert_stranger_refused(map, 1000, 0);
    }
}

/* What a migration restored stays; new names go round it. */
static void test_start_and_restored(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map_at("10.0.0.0", 24, 220);
    struct in6_addr addr6;
    uint32_t n;

    for (n = 1; n <= 50; n++) {
        addr6 = peer(n);
        g_assert_cmpint(vmrpc_addrmap_restore(
                            map, (struct in_addr) { v4("10.0.0.0").s_addr |
                                                    htonl(n) },
                            &addr6, 3600000, 0), ==, 0);
    }
    for (; n <= NAMES_OF_254; n++) {
        lease(map, n, 60, 0);
    }
    g_assert_cmpint(stats_of(map).entries, ==, NAMES_OF_254);
    g_assert_cmpint(stats_of(map).reclaimed, ==, 0);
    for (n = 1; n <= 50; n++) {
        g_assert_true(peer_is(map, (struct in_addr) { v4("10.0.0.0").s_addr |
                                                      htonl(n) }, n));
    }
}

/* Whoever sends to the guest does not get what a program looked up long ago. */
static void test_flood_of_strangers(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 24);
    struct in_addr bank = lease(map, 1, 1, 0), met = lease(map, 2, 0, 0);
    uint32_t n;

    lease(map, 2, 1, 0);        /* a name led to it later */
    for (n = 0; n < 1000; n++) {
        lease(map, 100 + n, 0, 10000000 + 10 * n);
    }
    g_assert_true(peer_is(map, bank, 1));
    g_assert_true(peer_is(map, met, 2));
    /* nor after a socket had it, or that peer came by itself */
    vmrpc_addrmap_ref(map, bank);
    vmrpc_addrmap_unref(map, bank, 10010000);
    lease(map, 2, 0, 10010000);
    for (n = 0; n < 1000; n++) {
        lease(map, 2000 + n, 0, 20000000 + 10 * n);
    }
    g_assert_true(peer_is(map, bank, 1));
    g_assert_true(peer_is(map, met, 2));
}

/* A pool full of names has room for strangers when the names are forgotten. */
static void test_forgotten_names(void)
{
    const int64_t kept_ms = 1000LL * VMRPC_ADDRMAP_KEPT_S;
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in_addr a = lease(map, 1, 10, 0);

    lease(map, 2, 20, 0);
    assert_stranger_refused(map, 3, 10000 + kept_ms - 1);
    g_assert_cmphex(lease(map, 3, 0, 10000 + kept_ms).s_addr, ==, a.s_addr);
    vmrpc_addrmap_ref(map, a);
    assert_stranger_refused(map, 4, 20000 + kept_ms - 1);
}

static void test_references(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in_addr a = lease(map, 1, 10, 0), b = lease(map, 2, 20, 0), c;
    struct in6_addr third = peer(3);

    g_assert_cmpint(vmrpc_addrmap_unref(map, a, 0), ==, -EINVAL);
    g_assert_cmpint(vmrpc_addrmap_ref(map, v4("192.0.2.1")), ==, -ENOENT);
    g_assert_cmpint(vmrpc_addrmap_unref(map, v4("10.0.0.0"), 0), ==, -ENOENT);
    g_assert_cmpint(vmrpc_addrmap_ref(map, a), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_ref(map, a), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_ref(map, b), ==, 0);
    g_assert_cmpint(stats_of(map).in_use, ==, 2);
    g_assert_cmpint(vmrpc_addrmap_lease(map, &third, 1, 1000000, &c, NULL),
                    ==, -ENOSPC);
    g_assert_cmpint(vmrpc_addrmap_unref(map, a, 1000000), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_lease(map, &third, 1, 1000000, &c, NULL),
                    ==, -ENOSPC);
    g_assert_cmpint(vmrpc_addrmap_unref(map, a, 1000000), ==, 0);
    g_assert_cmpint(stats_of(map).in_use, ==, 1);
    g_assert_cmphex(lease(map, 3, 1, 1000000).s_addr, ==, a.s_addr);
}

/* What a socket has just let go of is not the next to be reused. */
static void test_release_counts_as_use(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 30);
    struct in_addr a = lease(map, 1, 0, 0), b = lease(map, 2, 0, 5000);

    vmrpc_addrmap_ref(map, a);
    vmrpc_addrmap_unref(map, a, 10000);
    g_assert_cmphex(lease(map, 3, 60, 10000).s_addr, ==, b.s_addr);
}

static void collect(const VmrpcAddrMapEntry *entry, void *opaque)
{
    g_array_append_val((GArray *)opaque, *entry);
}

static void test_migration(void)
{
    g_autoptr(VmrpcAddrMap) from = new_map("10.0.0.0", 24);
    g_autoptr(VmrpcAddrMap) to = new_map("10.0.0.0", 24);
    g_autoptr(GArray) entries =
        g_array_new(FALSE, FALSE, sizeof(VmrpcAddrMapEntry));
    struct in_addr a = lease(from, 1, 60, 0), b = lease(from, 2, 0, 0);
    guint i;

    vmrpc_addrmap_ref(from, b);
    vmrpc_addrmap_foreach(from, 10000, collect, entries);
    g_assert_cmpint(entries->len, ==, 2);
    g_assert_cmpint(g_array_index(entries, VmrpcAddrMapEntry, 0).remaining_ms,
                    ==, 50000);
    g_assert_cmpint(g_array_index(entries, VmrpcAddrMapEntry, 1).remaining_ms,
                    ==, -1);
    g_assert_cmpint(g_array_index(entries, VmrpcAddrMapEntry, 1).refs, ==, 1);

    for (i = entries->len; i-- > 0;) {
        VmrpcAddrMapEntry *e = &g_array_index(entries, VmrpcAddrMapEntry, i);

        g_assert_cmpint(vmrpc_addrmap_restore(to, e->addr4, &e->addr6,
                                              e->remaining_ms, 777), ==, 0);
    }
    g_assert_true(peer_is(to, a, 1));
    g_assert_true(peer_is(to, b, 2));
    /* what is fresh, at both ends, steps over what was restored */
    g_assert_cmphex(lease(to, 3, 1, 777).s_addr, ==, v4("10.0.0.2").s_addr);
    g_assert_cmphex(lease(to, 4, 0, 777).s_addr, ==, v4("10.0.0.253").s_addr);
}

/* What a name led to is known as such after a migration. */
static void test_migration_of_names(void)
{
    g_autoptr(VmrpcAddrMap) from = new_map("10.0.0.0", 30);
    g_autoptr(VmrpcAddrMap) to = new_map("10.0.0.0", 30);
    g_autoptr(GArray) entries =
        g_array_new(FALSE, FALSE, sizeof(VmrpcAddrMapEntry));
    struct in_addr a = lease(from, 1, 10, 0), b = lease(from, 2, 0, 50000);

    vmrpc_addrmap_foreach(from, 60000, collect, entries);
    for (guint i = 0; i < entries->len; i++) {
        VmrpcAddrMapEntry *e = &g_array_index(entries, VmrpcAddrMapEntry, i);

        g_assert_cmpint(e->remaining_ms, ==, (i ? -1 : -50001));
        g_assert_cmpint(vmrpc_addrmap_restore(to, e->addr4, &e->addr6,
                                              e->remaining_ms, 0), ==, 0);
    }
    g_assert_cmphex(lease(to, 3, 0, 1000).s_addr, ==, b.s_addr);
    g_assert_cmphex(lease(to, 4, 10, 2000).s_addr, ==, b.s_addr);
    assert_stranger_refused(to, 5, 2000);
    g_assert_true(peer_is(to, a, 1));
    /* it does not begin to be forgotten again with each migration */
    assert_stranger_refused(to, 5,
                            1000LL * VMRPC_ADDRMAP_KEPT_S - 50000 - 1);
    g_assert_cmphex(lease(to, 5, 0, 1000LL * VMRPC_ADDRMAP_KEPT_S - 50000)
                    .s_addr, ==, a.s_addr);
}

/* Which name was over first is known after a migration. */
static void test_migration_of_order(void)
{
    g_autoptr(VmrpcAddrMap) from = new_map("10.0.0.0", 29);
    g_autoptr(VmrpcAddrMap) to = new_map("10.0.0.0", 29);
    g_autoptr(GArray) entries =
        g_array_new(FALSE, FALSE, sizeof(VmrpcAddrMapEntry));
    struct in_addr second = { 0 };

    for (uint32_t n = 1; n <= 6; n++) {
        struct in_addr addr = lease(from, n, n == 2 ? 1 : 10 * n, 0);

        second = n == 2 ? addr : second;
    }
    vmrpc_addrmap_foreach(from, 100000, collect, entries);
    for (guint i = 0; i < entries->len; i++) {
        VmrpcAddrMapEntry *e = &g_array_index(entries, VmrpcAddrMapEntry, i);

        g_assert_cmpint(vmrpc_addrmap_restore(to, e->addr4, &e->addr6,
                                              e->remaining_ms, 0), ==, 0);
    }
    g_assert_cmphex(lease(to, 9, 10, 0).s_addr, ==, second.s_addr);
}

static void test_restore_refuses(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("10.0.0.0", 24);
    struct in6_addr one = peer(1), two = peer(2);
    struct in_addr a = v4("10.0.0.9");

    g_assert_cmpint(vmrpc_addrmap_restore(map, a, &one, INT64_MAX, 0), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_restore(map, a, &one, INT64_MIN, 0), ==, 0);
    g_assert_cmpint(vmrpc_addrmap_restore(map, a, &two, 0, 0), ==, -EEXIST);
    g_assert_cmpint(vmrpc_addrmap_restore(map, v4("10.0.0.10"), &one, 0, 0),
                    ==, -EEXIST);
    g_assert_cmpint(vmrpc_addrmap_restore(map, v4("10.0.0.0"), &two, 0, 0),
                    ==, -ERANGE);
    g_assert_cmpint(vmrpc_addrmap_restore(map, v4("10.0.0.255"), &two, 0, 0),
                    ==, -ERANGE);
    g_assert_cmpint(vmrpc_addrmap_restore(map, v4("10.0.1.1"), &two, 0, 0),
                    ==, -ERANGE);
    g_assert_cmpint(vmrpc_addrmap_restore(map, v4("9.255.255.255"), &two, 0,
                                          0), ==, -ERANGE);
    g_assert_cmpint(stats_of(map).entries, ==, 1);
}

static void test_pools_refused(void)
{
    VmrpcAddrReserved reserved[] = {
        { v4("198.18.0.5"), "guest4" },
        { v4("198.51.100.53"), "resolver4" },
    };
    static const struct {
        const char *base;
        unsigned len;
        int code;
        const char *says;
    } bad[] = {
        { "198.18.0.0", 15, VMRPC_ADDRMAP_ERROR_OVERLAP,
          "pool4=198.18.0.0/15 holds guest4=198.18.0.5; *" },
        { "198.51.100.0", 24, VMRPC_ADDRMAP_ERROR_OVERLAP,
          "pool4=198.51.100.0/24 holds resolver4=198.51.100.53; *" },
        { "198.18.0.1", 15, VMRPC_ADDRMAP_ERROR_POOL,
          "pool4=198.18.0.1/15*198.18.0.0/15" },
        { "10.0.0.0", 8, VMRPC_ADDRMAP_ERROR_POOL,
          "pool4=10.0.0.0/8:*12 (1048576 addresses*30*" },
        { "10.0.0.0", 31, VMRPC_ADDRMAP_ERROR_POOL, "*" },
        { "10.0.0.0", 0, VMRPC_ADDRMAP_ERROR_POOL, "*" },
        { "10.0.0.0", UINT_MAX, VMRPC_ADDRMAP_ERROR_POOL, "*" },
        { "0.0.0.0", 24, VMRPC_ADDRMAP_ERROR_OVERLAP, "*0.0.0.0/8*" },
        { "127.16.0.0", 16, VMRPC_ADDRMAP_ERROR_OVERLAP, "*loopback*" },
        { "169.254.0.0", 16, VMRPC_ADDRMAP_ERROR_OVERLAP, "*link-local*" },
        { "169.240.0.0", 12, VMRPC_ADDRMAP_ERROR_OVERLAP, "*link-local*" },
        { "239.0.0.0", 16, VMRPC_ADDRMAP_ERROR_OVERLAP, "*multicast*" },
        { "255.255.255.252", 30, VMRPC_ADDRMAP_ERROR_OVERLAP, "*reserved*" },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) err = NULL;
        VmrpcAddrMap *map;

        map = vmrpc_addrmap_new(v4(bad[i].base), bad[i].len, 0, reserved,
                                G_N_ELEMENTS(reserved), &err);
        g_assert_null(map);
        g_assert_error(err, VMRPC_ADDRMAP_ERROR, bad[i].code);
        if (!g_pattern_match_simple(bad[i].says, err->message)) {
            g_error("unexpected message: %s", err->message);
        }
    }
}

static void test_whole_pool(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("198.18.0.0", 15);
    struct in6_addr addr6 = peer(131071);
    struct in_addr addr4;
    const uint32_t names = 131070 - 131070 / 8;
    uint32_t n;

    for (n = 1; n <= 131070; n++) {
        lease(map, n, n <= names ? 60 : 0, 0);
    }
    g_assert_cmpint(vmrpc_addrmap_lease(map, &addr6, 60, 0, &addr4, NULL),
                    ==, -ENOSPC);
    g_assert_cmpint(vmrpc_addrmap_lease(map, &addr6, 0, 0, &addr4, NULL),
                    ==, -ENOSPC);
    for (n = 1; n <= 131070; n++) {
        addr4.s_addr = htonl(ntohl(v4("198.18.0.0").s_addr) + n);
        g_assert_true(peer_is(map, addr4, n <= names ? n
                                                     : names + 131071 - n));
    }
    /* all of them change hands, and none keeps two */
    for (n = 1; n <= 131070; n++) {
        lease(map, 1000000 + n, n <= names ? 60 : 0, 60000);
    }
    g_assert_cmpint(stats_of(map).entries, ==, 131070);
    g_assert_cmpint(stats_of(map).reclaimed, ==, 131070);
    addr6 = peer(1);
    g_assert_cmpint(vmrpc_addrmap_lookup6(map, &addr6, &addr4), ==, -ENOENT);
}

/*
 * The model: one hash table from address to what is known about it. It does
 * not say which address a new peer gets, but which ones it may get.
 */
typedef struct ModelEntry {
    uint32_t peer;
    int64_t until;
    uint32_t refs;
    bool named;
} ModelEntry;

#define MODEL_PEERS 60
#define MODEL_BITS  27
#define MODEL_SIZE  (1u << (32 - MODEL_BITS))

typedef struct Model {
    VmrpcAddrMap *map;
    GHashTable *entries;        /* offset in the pool -> ModelEntry */
    uint32_t base;
    int64_t now_ms;
    uint64_t full, reclaimed, created, exchanged;
    ModelEntry *victim;         /* who may lose his address, or his name, now */
} Model;

static ModelEntry *model_find(Model *m, uint32_t peer_no, uint32_t *offset)
{
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, m->entries);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        if (((ModelEntry *)value)->peer == peer_no) {
            *offset = GPOINTER_TO_UINT(key);
            return value;
        }
    }
    return NULL;
}

static bool model_has_room_for_name(Model *m)
{
    const uint32_t capacity = MODEL_SIZE - 2;
    uint32_t names = 0;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, m->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        names += ((ModelEntry *)value)->named;
    }
    return names < capacity - capacity / 8;
}

/* Who may lose his address to @named now; NULL: nobody. */
static ModelEntry *model_victim(Model *m, bool named)
{
    bool full = named && !model_has_room_for_name(m);
    ModelEntry *victim = NULL;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, m->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        ModelEntry *entry = value;

        if (entry->refs || entry->until > m->now_ms ||
            (!entry->named &&
             (full || m->now_ms - entry->until < VMRPC_ADDRMAP_STRANGER_MS)) ||
            (entry->named && !named &&
             m->now_ms - entry->until < 1000LL * VMRPC_ADDRMAP_KEPT_S)) {
            continue;
        }
        if (!victim || entry->named < victim->named ||
            (entry->named == victim->named && entry->until < victim->until)) {
            victim = entry;
        }
    }
    return victim;
}

static void model_put(Model *m, uint32_t offset, uint32_t peer_no,
                      int64_t until, bool named)
{
    ModelEntry *entry = g_new0(ModelEntry, 1);

    entry->peer = peer_no;
    entry->until = until;
    entry->named = named;
    g_hash_table_insert(m->entries, GUINT_TO_POINTER(offset), entry);
}

/* One that was over as @victim was is a stranger's now. */
static void forget_name(const VmrpcAddrMapEntry *got, void *opaque)
{
    Model *m = opaque;
    ModelEntry *entry =
        g_hash_table_lookup(m->entries,
                            GUINT_TO_POINTER(ntohl(got->addr4.s_addr) -
                                             m->base));

    if (entry->named && got->remaining_ms == -1) {
        g_assert_nonnull(m->victim);
        g_assert_cmpint(entry->refs, ==, 0);
        g_assert_cmpint(entry->until, ==, m->victim->until);
        entry->named = false;
        m->victim = NULL;
    }
}

/* A lookup, or a meeting, of a peer that has an address. */
static void model_lease_known(Model *m, ModelEntry *entry, uint32_t ttl_s,
                              int ret)
{
    bool exchange = ttl_s && !entry->named && !model_has_room_for_name(m);

    if (exchange && !m->victim) {
        g_assert_cmpint(ret, ==, -ENOSPC);
        m->full++;
        return;
    }
    g_assert_cmpint(ret, ==, 0);
    if (exchange) {
        vmrpc_addrmap_foreach(m->map, m->now_ms, forget_name, m);
        g_assert_null(m->victim);
        m->exchanged++;
    }
    entry->until = MAX(entry->until, m->now_ms + 1000LL * ttl_s);
    entry->named |= ttl_s > 0;
}

static void model_lease_new(Model *m, uint32_t peer_no, uint32_t ttl_s,
                            struct in_addr addr4, int ret)
{
    bool may_be_fresh = g_hash_table_size(m->entries) < MODEL_SIZE - 2 &&
                        (!ttl_s || model_has_room_for_name(m));
    uint32_t offset = ntohl(addr4.s_addr) - m->base;
    ModelEntry *old;

    if (!may_be_fresh && !m->victim) {
        g_assert_cmpint(ret, ==, -ENOSPC);
        m->full++;
        return;
    }
    g_assert_cmpint(ret, ==, 0);
    g_assert_cmpint(offset, >, 0);
    g_assert_cmpint(offset, <, MODEL_SIZE - 1);
    old = g_hash_table_lookup(m->entries, GUINT_TO_POINTER(offset));
    g_assert_true(may_be_fresh == !old);
    if (old) {
        g_assert_cmpint(old->refs, ==, 0);
        g_assert_cmpint(old->named, ==, m->victim->named);
        g_assert_cmpint(old->until, ==, m->victim->until);
        m->reclaimed++;
    }
    m->created++;
    model_put(m, offset, peer_no, m->now_ms + 1000LL * ttl_s, ttl_s > 0);
}

static void model_lease(Model *m, uint32_t peer_no, uint32_t ttl_s)
{
    struct in6_addr addr6 = peer(peer_no);
    struct in_addr addr4 = { 0 };
    uint32_t left = 0, offset;
    ModelEntry *entry = model_find(m, peer_no, &offset);
    int ret;

    m->victim = model_victim(m, ttl_s > 0);
    ret = vmrpc_addrmap_lease(m->map, &addr6, ttl_s, m->now_ms, &addr4, &left);
    if (!entry) {
        model_lease_new(m, peer_no, ttl_s, addr4, ret);
        return;
    }
    model_lease_known(m, entry, ttl_s, ret);
    if (ret == 0) {
        g_assert_cmpint(ntohl(addr4.s_addr) - m->base, ==, offset);
        g_assert_cmpint(left, ==, (entry->until - m->now_ms) / 1000);
    }
}

static void model_ref(Model *m, uint32_t offset, bool ref)
{
    struct in_addr addr4 = { htonl(m->base + offset) };
    ModelEntry *entry = g_hash_table_lookup(m->entries,
                                            GUINT_TO_POINTER(offset));
    int ret = ref ? vmrpc_addrmap_ref(m->map, addr4)
                  : vmrpc_addrmap_unref(m->map, addr4, m->now_ms);

    if (!entry) {
        g_assert_cmpint(ret, ==, -ENOENT);
    } else if (ref) {
        g_assert_cmpint(ret, ==, 0);
        entry->refs++;
    } else if (!entry->refs) {
        g_assert_cmpint(ret, ==, -EINVAL);
    } else {
        g_assert_cmpint(ret, ==, 0);
        if (!--entry->refs) {
            entry->until = MAX(entry->until, m->now_ms);
        }
    }
}

static void model_restore(Model *m, uint32_t offset, uint32_t peer_no,
                          int64_t remaining)
{
    struct in_addr addr4 = { htonl(m->base + offset) };
    struct in6_addr addr6 = peer(peer_no);
    uint32_t at = 0;
    int64_t until = m->now_ms + remaining + (remaining < 0);
    ModelEntry *known = model_find(m, peer_no, &at);
    bool taken = g_hash_table_contains(m->entries, GUINT_TO_POINTER(offset));
    int ret = vmrpc_addrmap_restore(m->map, addr4, &addr6, remaining,
                                    m->now_ms);

    if (offset == 0 || offset >= MODEL_SIZE - 1) {
        g_assert_cmpint(ret, ==, -ERANGE);
    } else if (known && at == offset) {
        g_assert_cmpint(ret, ==, 0);
        known->until = MAX(known->until, until);
        known->named |= remaining != -1;
    } else if (known || taken) {
        g_assert_cmpint(ret, ==, -EEXIST);
    } else {
        g_assert_cmpint(ret, ==, 0);
        model_put(m, offset, peer_no, until, remaining != -1);
    }
}

static void check_entry(const VmrpcAddrMapEntry *got, void *opaque)
{
    Model *m = opaque;
    uint32_t offset = ntohl(got->addr4.s_addr) - m->base;
    ModelEntry *entry = g_hash_table_lookup(m->entries,
                                            GUINT_TO_POINTER(offset));
    struct in6_addr addr6;
    int64_t left;

    g_assert_nonnull(entry);
    addr6 = peer(entry->peer);
    g_assert_cmpmem(&addr6, 16, &got->addr6, 16);
    g_assert_cmpint(got->refs, ==, entry->refs);
    left = entry->until - m->now_ms;
    g_assert_cmpint(got->remaining_ms, ==,
                    (!entry->named ? -1 : left >= 0 ? left : left - 1));
}

static void model_compare(Model *m)
{
    VmrpcAddrMapStats stats = stats_of(m->map);
    uint32_t n, offset, in_use = 0;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, m->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        in_use += ((ModelEntry *)value)->refs > 0;
    }
    g_assert_cmpint(stats.entries, ==, g_hash_table_size(m->entries));
    g_assert_cmpint(stats.in_use, ==, in_use);
    g_assert_cmpint(stats.full, ==, m->full);
    g_assert_cmpint(stats.created, ==, m->created);
    g_assert_cmpint(stats.reclaimed, ==, m->reclaimed);
    vmrpc_addrmap_foreach(m->map, m->now_ms, check_entry, m);
    for (n = 0; n < MODEL_PEERS; n++) {
        struct in6_addr addr6 = peer(n);
        struct in_addr addr4;
        int ret = vmrpc_addrmap_lookup6(m->map, &addr6, &addr4);

        if (model_find(m, n, &offset)) {
            g_assert_cmpint(ret, ==, 0);
            g_assert_cmpint(ntohl(addr4.s_addr) - m->base, ==, offset);
            g_assert_true(peer_is(m->map, addr4, n));
        } else {
            g_assert_cmpint(ret, ==, -ENOENT);
        }
    }
}

static void model_step(Model *m)
{
    uint32_t offset = g_test_rand_int_range(0, MODEL_SIZE + 2);
    uint32_t peer_no = g_test_rand_int_range(0, MODEL_PEERS);

    switch (g_test_rand_int_range(0, 16)) {
    case 0 ... 5:
        model_lease(m, peer_no, g_test_rand_bit()
                                ? g_test_rand_int_range(0, 60) : 0);
        break;
    case 6 ... 8:
        model_ref(m, offset, true);
        break;
    case 9 ... 13:
        model_ref(m, offset, false);
        break;
    case 14:
        model_restore(m, offset, peer_no,
                      g_test_rand_bit() ? g_test_rand_int_range(-30000, 30000)
                                        : -1);
        break;
    default:
        m->now_ms += g_test_rand_int_range(0, 20000);
        break;
    }
}

static void test_model(void)
{
    uint64_t full = 0, reclaimed = 0, exchanged = 0;
    int round, step;

    for (round = 0; round < 50; round++) {
        g_autoptr(VmrpcAddrMap) map =
            new_map_at("100.64.0.0", MODEL_BITS, g_test_rand_int());
        g_autoptr(GHashTable) entries =
            g_hash_table_new_full(NULL, NULL, NULL, g_free);
        Model m = {
            .map = map,
            .entries = entries,
            .base = ntohl(v4("100.64.0.0").s_addr),
            .now_ms = g_test_rand_int_range(0, 1000000),
        };

        for (step = 0; step < 4000; step++) {
            model_step(&m);
            if (step % 16 == 0) {
                model_compare(&m);
            }
        }
        full += m.full;
        reclaimed += m.reclaimed;
        exchanged += m.exchanged;
    }
    /* the walks must have been everywhere */
    g_assert_cmpint(full, >, 0);
    g_assert_cmpint(reclaimed, >, 0);
    g_assert_cmpint(exchanged, >, 0);
}

static double ns_since(gint64 start_us, int ops)
{
    return (g_get_monotonic_time() - start_us) * 1000.0 / ops;
}

/* Run with -m perf: what an operation costs with 131,070 peers. */
static void test_cost(void)
{
    g_autoptr(VmrpcAddrMap) map = new_map("198.18.0.0", 15);
    enum { N = 131070 };
    g_autofree uint32_t *order = g_new(uint32_t, N);
    struct in6_addr addr6;
    struct in_addr addr4;
    uint32_t i, j, base = ntohl(v4("198.18.0.0").s_addr);
    gint64 start;

    for (i = 0; i < N; i++) {
        j = g_test_rand_int_range(0, i + 1);
        order[i] = order[j];
        order[j] = i + 1;
    }
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        lease(map, order[i], i % 8 ? i % 300 : 0, 0);
    }
    g_test_message("create: %.0f ns", ns_since(start, N));
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        addr4.s_addr = htonl(base + order[i]);
        vmrpc_addrmap_lookup4(map, addr4, &addr6);
    }
    g_test_message("lookup4: %.0f ns", ns_since(start, N));
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        addr6 = peer(order[N - 1 - i]);
        vmrpc_addrmap_lookup6(map, &addr6, &addr4);
    }
    g_test_message("lookup6: %.0f ns", ns_since(start, N));
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        addr4.s_addr = htonl(base + order[i]);
        vmrpc_addrmap_ref(map, addr4);
        vmrpc_addrmap_unref(map, addr4, 1000);
    }
    g_test_message("ref and unref: %.0f ns", ns_since(start, N));
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        lease(map, order[i], 400, 2000);
    }
    g_test_message("extend: %.0f ns", ns_since(start, N));
    start = g_get_monotonic_time();
    for (i = 0; i < N; i++) {
        lease(map, N + order[i], 400, 1000000);
    }
    g_test_message("reclaim and create: %.0f ns", ns_since(start, N));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/addrmap/both-ways", test_both_ways);
    g_test_add_func("/addrmap/contains", test_contains);
    g_test_add_func("/addrmap/lease-time", test_lease_time);
    g_test_add_func("/addrmap/lease-by-fill-level", test_lease_by_fill_level);
    g_test_add_func("/addrmap/fill-level-of-known", test_fill_level_of_known);
    g_test_add_func("/addrmap/share-of-strangers", test_share_of_strangers);
    g_test_add_func("/addrmap/share-of-known", test_share_of_known);
    g_test_add_func("/addrmap/strangers-just-met", test_strangers_just_met);
    g_test_add_func("/addrmap/full-and-reclaimed", test_full_and_reclaimed);
    g_test_add_func("/addrmap/order", test_order);
    g_test_add_func("/addrmap/flood-of-strangers", test_flood_of_strangers);
    g_test_add_func("/addrmap/forgotten-names", test_forgotten_names);
    g_test_add_func("/addrmap/references", test_references);
    g_test_add_func("/addrmap/release-counts-as-use",
                    test_release_counts_as_use);
    g_test_add_func("/addrmap/migration", test_migration);
    g_test_add_func("/addrmap/migration-of-names", test_migration_of_names);
    g_test_add_func("/addrmap/migration-of-order", test_migration_of_order);
    g_test_add_func("/addrmap/restore-refuses", test_restore_refuses);
    g_test_add_func("/addrmap/pools-refused", test_pools_refused);
    g_test_add_func("/addrmap/stranger-of-new-map", test_stranger_of_new_map);
    g_test_add_func("/addrmap/name-of-new-map", test_name_of_new_map);
    g_test_add_func("/addrmap/start", test_start);
    g_test_add_func("/addrmap/start-and-restored", test_start_and_restored);
    g_test_add_func("/addrmap/whole-pool", test_whole_pool);
    g_test_add_func("/addrmap/model", test_model);
    if (g_test_perf()) {
        g_test_add_func("/addrmap/cost", test_cost);
    }
    return g_test_run();
}
