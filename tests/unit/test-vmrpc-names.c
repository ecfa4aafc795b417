/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names led to an address, and where else they lead */

#include <arpa/inet.h>
#include <string.h>

#include "base/units.h"
#include "hw/vmrpc/reach/names.h"
#include "net/packet/siphash.h"

static DnsName name_of(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

static struct in6_addr addr_of(const char *text)
{
    struct in6_addr addr6;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr6), ==, 1);
    return addr6;
}

/* The @n-th address of a big network. */
static struct in6_addr addr_no(uint32_t n)
{
    struct in6_addr addr6 = addr_of("2001:db8:ffff::");

    n = htonl(n);
    memcpy(addr6.s6_addr + 12, &n, sizeof(n));
    return addr6;
}

static VmrpcNames *new_table(size_t size)
{
    g_autoptr(GError) err = NULL;
    VmrpcNames *names = vmrpc_names_new(size, &err);

    g_assert_no_error(err);
    return names;
}

/* @addrs: addresses, separated by spaces */
static void note(VmrpcNames *names, const char *name, const char *addrs,
                 uint32_t ttl_s, int64_t now_ms)
{
    g_auto(GStrv) addr_text = g_strsplit(addrs, " ", -1);
    DnsName wire = name_of(name);
    VmrpcNameAddr list[40];
    size_t addr_num;

    for (addr_num = 0; addr_text[addr_num]; addr_num++) {
        list[addr_num].addr6 = addr_of(addr_text[addr_num]);
        list[addr_num].ttl_s = ttl_s;
    }
    vmrpc_names_note(names, &wire, list, addr_num, now_ms);
}

/* The names of an address, separated by spaces */
static void assert_names(const VmrpcNames *names, const char *addr,
                         const char *expected)
{
    g_autoptr(GString) got = g_string_new(NULL);
    struct in6_addr addr6 = addr_of(addr);
    VmrpcNameFound found[8];
    size_t num = vmrpc_names_lookup(names, &addr6, found, 8), i;

    for (i = 0; i < num; i++) {
        char text[DNS_NAME_TEXT_MAX];

        dns_name_to_text(found[i].name, text);
        g_string_append_printf(got, "%s%s", i ? " " : "", text);
    }
    g_assert_cmpstr(got->str, ==, expected);
}

/* The siblings of an address by its latest name */
static void assert_siblings(const VmrpcNames *names, const char *addr,
                            int64_t now_ms, const char *expected)
{
    g_autoptr(GString) got = g_string_new(NULL);
    struct in6_addr addr6 = addr_of(addr);
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameFound found;
    size_t num, i;

    g_assert_cmpint(vmrpc_names_lookup(names, &addr6, &found, 1), ==, 1);
    num = vmrpc_names_siblings(names, &found, now_ms, addrs);
    for (i = 0; i < num; i++) {
        char text[INET6_ADDRSTRLEN];

        inet_ntop(AF_INET6, &addrs[i], text, sizeof(text));
        g_string_append_printf(got, "%s%s", i ? " " : "", text);
    }
    g_assert_cmpstr(got->str, ==, expected);
}

static void use(VmrpcNames *names, const char *addr, int64_t now_ms)
{
    struct in6_addr addr6 = addr_of(addr);
    VmrpcNameFound found;

    g_assert_cmpint(vmrpc_names_lookup(names, &addr6, &found, 1), ==, 1);
    vmrpc_names_use(names, &found, now_ms);
}

static VmrpcNamesStats stats_of(const VmrpcNames *names)
{
    VmrpcNamesStats stats;

    vmrpc_names_stats(names, &stats);
    return stats;
}

static void test_siphash(void)
{
    /* What CPython makes of them, as it does with PYTHONHASHSEED=0 */
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {
        { "a", 0x407448d2b89b1813 },
        { "abcdefg", 0x6db12aae9070f506 },
        { "abcdefgh", 0x3f7b849c0b8e35ea },
        { "0123456789abcdef0", 0xf738bb4f30801228 },
    };
    const uint64_t no_key[2] = { 0, 0 };
    const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(known); i++) {
        g_assert_cmphex(siphash_1_3(no_key, known[i].text,
                                      strlen(known[i].text)), ==,
                        known[i].hash);
    }
    /* the authors' first two vectors */
    g_assert_cmphex(siphash_1_3(key, "", 0), ==, 0xabac0158050fc4dc);
    g_assert_cmphex(siphash_1_3(key, "", 1), ==, 0xc9f49bf37d57ca93);
}

static void test_one_answer(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);

    note(names, "www.example.org", "2001:db8::1 2001:db8::2", 300, 0);
    assert_names(names, "2001:db8::1", "www.example.org");
    assert_names(names, "2001:db8::2", "www.example.org");
    assert_names(names, "2001:db8::3", "");
    assert_siblings(names, "2001:db8::2", 0, "2001:db8::1 2001:db8::2");
    g_assert_cmpint(stats_of(names).names, ==, 1);
    g_assert_cmpint(stats_of(names).addresses, ==, 2);

    /* An answer without addresses is no reason to have a name. */
    vmrpc_names_note(names, (DnsName[]) { name_of("nothing.example.org") },
                     NULL, 0, 0);
    g_assert_cmpint(stats_of(names).names, ==, 1);
}

static void test_case(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);

    note(names, "WWW.Example.ORG", "2001:db8::1", 300, 0);
    note(names, "www.eXample.org", "2001:db8::2", 300, 0);
    assert_names(names, "2001:db8::1", "www.example.org");
    assert_siblings(names, "2001:db8::1", 0, "2001:db8::2 2001:db8::1");
    g_assert_cmpint(stats_of(names).names, ==, 1);
}

/* Names that look alike in text or in part share nothing. */
static void test_names_alike(void)
{
    static const char *const alike[] = {
        "www.bank.example", "www\\.bank.example", "www.bank\\.example",
        "www.bank.example\\000", "www.bank.example\\000.evil.example",
        "wwww.bank.example", "ww.bank.example", "bank.example", ".",
        "www.bank.exampl\\229", "www\\000bank.example",
    };
    g_autoptr(VmrpcNames) names = new_table(16);
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(alike); i++) {
        DnsName name = name_of(alike[i]);
        VmrpcNameAddr addr = { addr_no(i), 300 };

        vmrpc_names_note(names, &name, &addr, 1, 0);
    }
    for (i = 0; i < G_N_ELEMENTS(alike); i++) {
        DnsName name = name_of(alike[i]);
        struct in6_addr addr6 = addr_no(i), addrs[VMRPC_NAMES_MAX_ADDRESSES];
        VmrpcNameFound found[2];

        g_assert_cmpint(vmrpc_names_lookup(names, &addr6, found, 2), ==, 1);
        g_assert_true(dns_name_equal(found[0].name, &name));
        g_assert_cmpint(vmrpc_names_siblings(names, &found[0], 0, addrs), ==,
                        1);
    }
}

static void test_longest_name(void)
{
    g_autoptr(VmrpcNames) names = new_table(4);
    g_autoptr(GString) text = g_string_new(NULL);
    int i;

    for (i = 0; i < 127; i++) {
        g_string_append(text, i ? ".x" : "x");
    }
    g_assert_cmpint(name_of(text->str).len, ==, DNS_NAME_MAX);
    note(names, text->str, "2001:db8::1", 300, 0);
    assert_names(names, "2001:db8::1", text->str);
}

static void test_latest_first(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);

    note(names, "a.example", "2001:db8::1", 300, 0);
    note(names, "b.example", "2001:db8::1", 300, 1);
    note(names, "c.example", "2001:db8::1", 300, 2);
    assert_names(names, "2001:db8::1", "c.example b.example a.example");
    note(names, "a.example", "2001:db8::1", 300, 3);
    assert_names(names, "2001:db8::1", "a.example c.example b.example");
    /* It counts when the answer had the address, not when it was asked. */
    note(names, "b.example", "2001:db8::2", 300, 4);
    assert_names(names, "2001:db8::1", "a.example c.example b.example");
}

static void test_found_is_bounded(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);
    struct in6_addr addr6 = addr_of("2001:db8::1");
    VmrpcNameFound found[4] = { { .number = 99 }, { .number = 99 },
                                { .number = 99 }, { .number = 99 } };

    note(names, "a.example", "2001:db8::1", 300, 0);
    note(names, "b.example", "2001:db8::1", 300, 1);
    note(names, "c.example", "2001:db8::1", 300, 2);
    g_assert_cmpint(vmrpc_names_lookup(names, &addr6, found, 2), ==, 2);
    g_assert_cmpint(found[2].number, ==, 99);
    g_assert_cmpint(vmrpc_names_lookup(names, &addr6, NULL, 0), ==, 0);
    g_assert_cmpint(vmrpc_names_lookup(names, &addr6, found, 4), ==, 3);
}

static void test_rotating_answers(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);

    note(names, "a.example", "2001:db8::1 2001:db8::2", 300, 0);
    note(names, "a.example", "2001:db8::3 2001:db8::2", 300, 1);
    assert_siblings(names, "2001:db8::1", 1,
                    "2001:db8::3 2001:db8::2 2001:db8::1");
    /* The same address twice in one answer stands where it was first. */
    note(names, "a.example", "2001:db8::1 2001:db8::4 2001:db8::1", 300, 2);
    assert_siblings(names, "2001:db8::1", 2,
                    "2001:db8::1 2001:db8::4 2001:db8::3 2001:db8::2");
    g_assert_cmpint(stats_of(names).addresses, ==, 4);
}

/* Beyond the limit the addresses of the oldest answers go. */
static void test_many_addresses(void)
{
    g_autoptr(VmrpcNames) names = new_table(2);
    DnsName name = name_of("many.example");
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameAddr list[VMRPC_NAMES_MAX_ADDRESSES + 8];
    VmrpcNameFound found;
    uint32_t i, round;

    for (round = 0; round < 100; round++) {
        for (i = 0; i < G_N_ELEMENTS(list); i++) {
            list[i] = (VmrpcNameAddr) { addr_no(round * 20 + i), 300 };
        }
        vmrpc_names_note(names, &name, list, G_N_ELEMENTS(list), round);
        g_assert_cmpint(stats_of(names).addresses, ==,
                        VMRPC_NAMES_MAX_ADDRESSES);
        g_assert_cmpint(vmrpc_names_lookup(names, &list[0].addr6, &found, 1),
                        ==, 1);
        g_assert_cmpint(vmrpc_names_siblings(names, &found, round, addrs),
                        ==, VMRPC_NAMES_MAX_ADDRESSES);
        for (i = 0; i < VMRPC_NAMES_MAX_ADDRESSES; i++) {
            g_assert_cmpmem(&addrs[i], 16, &list[i].addr6, 16);
        }
        /* what did not fit leads nowhere */
        g_assert_cmpint(vmrpc_names_lookup(names, &list[i].addr6, &found, 1),
                        ==, 0);
    }
    vmrpc_names_note(names, &name,
                     &(VmrpcNameAddr) { addr_of("2001:db8::1"), 300 }, 1,
                     round);
    vmrpc_names_lookup(names, &list[0].addr6, &found, 1);
    vmrpc_names_siblings(names, &found, round, addrs);
    g_assert_cmpmem(&addrs[1], 16, &list[0].addr6, 16);
    g_assert_cmpint(vmrpc_names_lookup(names,
                        &list[VMRPC_NAMES_MAX_ADDRESSES - 1].addr6, &found,
                        1), ==, 0);
}

static void test_ttl(void)
{
    g_autoptr(VmrpcNames) names = new_table(16);

    note(names, "a.example", "2001:db8::1", 300, 0);
    note(names, "a.example", "2001:db8::2", 100, 0);
    assert_siblings(names, "2001:db8::1", 100 * MS_PER_S - 1,
                    "2001:db8::2 2001:db8::1");
    assert_siblings(names, "2001:db8::1", 100 * MS_PER_S, "2001:db8::1");
    assert_siblings(names, "2001:db8::1", 300 * MS_PER_S, "");
    /* the name stays while there is room */
    assert_names(names, "2001:db8::2", "a.example");
    /* a lesser TTL takes nothing back */
    note(names, "a.example", "2001:db8::1", 400, 0);
    note(names, "a.example", "2001:db8::1", 100, 0);
    assert_siblings(names, "2001:db8::1", 400 * MS_PER_S - 1, "2001:db8::1");
    /* nothing and everything have their limits */
    note(names, "b.example", "2001:db8::3", 0, 0);
    assert_siblings(names, "2001:db8::3",
                    VMRPC_NAMES_MIN_TTL_S * MS_PER_S - 1, "2001:db8::3");
    assert_siblings(names, "2001:db8::3", VMRPC_NAMES_MIN_TTL_S * MS_PER_S, "");
    note(names, "b.example", "2001:db8::4", UINT32_MAX, 0);
    assert_siblings(names, "2001:db8::4",
                    VMRPC_NAMES_MAX_TTL_S * MS_PER_S - 1, "2001:db8::4");
    assert_siblings(names, "2001:db8::4", VMRPC_NAMES_MAX_TTL_S * MS_PER_S, "");
}

/* Who gives way: first what is over, and of that what was over first. */
static void test_reclaim(void)
{
    g_autoptr(VmrpcNames) names = new_table(3);

    note(names, "long.example", "2001:db8::1 2001:db8::11", 3600, 0);
    note(names, "b.example", "2001:db8::2 2001:db8::11", 200, 1);
    note(names, "a.example", "2001:db8::3 2001:db8::11", 100, 2);
    note(names, "d.example", "2001:db8::4", 100, 300 * MS_PER_S);
    assert_names(names, "2001:db8::3", "");
    assert_names(names, "2001:db8::11", "b.example long.example");
    note(names, "e.example", "2001:db8::5", 100, 300 * MS_PER_S);
    assert_names(names, "2001:db8::2", "");
    assert_names(names, "2001:db8::11", "long.example");
    g_assert_cmpint(stats_of(names).names, ==, 3);
    g_assert_cmpint(stats_of(names).created, ==, 5);
    g_assert_cmpint(stats_of(names).reclaimed, ==, 2);
    g_assert_cmpint(stats_of(names).evicted, ==, 0);
    g_assert_cmpint(stats_of(names).addresses, ==, 4);
}

/* A name is over when the longest of its TTLs is. */
static void test_reclaim_longest_ttl(void)
{
    g_autoptr(VmrpcNames) names = new_table(2);
    DnsName name = name_of("a.example");
    VmrpcNameAddr list[] = { { addr_of("2001:db8::1"), 300 },
                             { addr_of("2001:db8::2"), 3600 },
                             { addr_of("2001:db8::3"), 300 } };

    vmrpc_names_note(names, &name, list, G_N_ELEMENTS(list), 0);
    note(names, "b.example", "2001:db8::4", 500, 0);
    note(names, "c.example", "2001:db8::5", 300, 500 * MS_PER_S);
    assert_names(names, "2001:db8::1", "a.example");
    assert_names(names, "2001:db8::4", "");
    g_assert_cmpint(stats_of(names).reclaimed, ==, 1);
}

/* If none is over: the one that was asked for least recently. */
static void test_evict(void)
{
    g_autoptr(VmrpcNames) names = new_table(3);

    note(names, "a.example", "2001:db8::1", 300, 0);
    note(names, "b.example", "2001:db8::2", 200, 1);
    note(names, "c.example", "2001:db8::3", 100, 2);
    note(names, "a.example", "2001:db8::1", 300, 3);
    note(names, "d.example", "2001:db8::4", 100, 4);
    assert_names(names, "2001:db8::2", "");
    assert_names(names, "2001:db8::1", "a.example");
    assert_names(names, "2001:db8::3", "c.example");
    note(names, "e.example", "2001:db8::5", 100, 5);
    assert_names(names, "2001:db8::3", "");
    g_assert_cmpint(stats_of(names).evicted, ==, 2);
    g_assert_cmpint(stats_of(names).reclaimed, ==, 0);
}

/*
 * A page that looks up thousands of names with long TTLs costs a name of
 * another program its place only if it is not within its own TTL or not used.
 */
static void test_flood(void)
{
    g_autoptr(VmrpcNames) names = new_table(64);
    uint32_t i;

    note(names, "db.example", "2001:db8::1", 86400, 0);
    note(names, "api.example", "2001:db8::2", 60, 0);
    for (i = 0; i < 10000; i++) {
        int64_t now_ms = 100 * MS_PER_S * i / 10;
        VmrpcNameAddr addr = { addr_no(i), 60 };
        g_autofree char *text = g_strdup_printf("n%u.flood.example", i);
        DnsName name = name_of(text);

        vmrpc_names_note(names, &name, &addr, 1, now_ms);
        if (i % 10 == 0) {
            use(names, "2001:db8::2", now_ms);
        }
        if (now_ms < 86400 * MS_PER_S) {
            assert_names(names, "2001:db8::1", "db.example");
        }
    }
    assert_names(names, "2001:db8::1", "");
    assert_names(names, "2001:db8::2", "api.example");
    g_assert_cmpint(stats_of(names).evicted, ==, 0);
}

/* Use counts where none is over, too. */
static void test_use(void)
{
    g_autoptr(VmrpcNames) names = new_table(2);

    note(names, "a.example", "2001:db8::1", 300, 0);
    note(names, "b.example", "2001:db8::2", 300, 1);
    use(names, "2001:db8::1", 2);
    note(names, "c.example", "2001:db8::3", 300, 3);
    assert_names(names, "2001:db8::1", "a.example");
    assert_names(names, "2001:db8::2", "");
    /* and does not make addresses last */
    use(names, "2001:db8::1", 300 * MS_PER_S);
    assert_siblings(names, "2001:db8::1", 300 * MS_PER_S, "");
}

static void test_smallest_table(void)
{
    g_autoptr(VmrpcNames) names = new_table(1);

    note(names, "b.example", "2001:db8::1 2001:db8::2", 300, 0);
    note(names, "a.example", "2001:db8::1 2001:db8::2", 300, 0);
    assert_names(names, "2001:db8::1", "a.example");
    note(names, "d.example", "2001:db8::1", 300, 0);
    assert_names(names, "2001:db8::1", "d.example");
    assert_names(names, "2001:db8::2", "");
    g_assert_cmpint(stats_of(names).addresses, ==, 1);
}

/* Names with all the addresses they can have follow one another. */
static void test_turnover(void)
{
    g_autoptr(VmrpcNames) names = new_table(3);
    VmrpcNameAddr list[VMRPC_NAMES_MAX_ADDRESSES];
    uint32_t i, round;

    for (round = 0; round < 1000; round++) {
        g_autofree char *text = g_strdup_printf("n%u.example", round);
        DnsName name = name_of(text);

        for (i = 0; i < G_N_ELEMENTS(list); i++) {
            list[i] = (VmrpcNameAddr) { addr_no(round * 100 + i), 300 };
        }
        vmrpc_names_note(names, &name, list, 1 + round % 32, round);
    }
    g_assert_cmpint(stats_of(names).names, ==, 3);
    g_assert_cmpint(stats_of(names).addresses, ==,
                    3 + 999 % 32 + 998 % 32 + 997 % 32);
}

static double ns_since(gint64 start_us, int ops)
{
    return (g_get_monotonic_time() - start_us) * 1000.0 / ops;
}

/* Run with -m perf: what an operation costs in a full table. */
static void test_cost(void)
{
    g_autoptr(VmrpcNames) names = new_table(VMRPC_NAMES_DEFAULT_SIZE);
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    enum { N = VMRPC_NAMES_DEFAULT_SIZE, ADDRS = 4, ROUNDS = 100 };
    g_autofree DnsName *list = g_new(DnsName, 2 * N);
    VmrpcNameAddr addr[ADDRS];
    VmrpcNameFound found;
    struct in6_addr addr6;
    uint32_t i, j;
    gint64 start;

    for (i = 0; i < 2 * N; i++) {
        g_autofree char *text = g_strdup_printf("host-%u.example.org", i);

        list[i] = name_of(text);
    }
    start = g_get_monotonic_time();
    for (i = 0; i < 2 * N * 10; i++) {
        for (j = 0; j < ADDRS; j++) {
            addr[j] = (VmrpcNameAddr) { addr_no(i % (2 * N) * ADDRS + j),
                                        300 };
        }
        vmrpc_names_note(names, &list[i % (2 * N)], addr, ADDRS, i);
    }
    g_test_message("note a new name with 4 addresses: %.0f ns",
                   ns_since(start, 2 * N * 10));
    start = g_get_monotonic_time();
    for (i = 0; i < N * ROUNDS; i++) {
        addr6 = addr_no((N + i * 2654435761u % N) * ADDRS);
        g_assert(vmrpc_names_lookup(names, &addr6, &found, 1) == 1);
    }
    g_test_message("lookup: %.0f ns", ns_since(start, N * ROUNDS));
    start = g_get_monotonic_time();
    for (i = 0; i < N * ROUNDS; i++) {
        addr6 = addr_no(i * 2654435761u % N * ADDRS);
        g_assert(vmrpc_names_lookup(names, &addr6, &found, 1) == 0);
    }
    g_test_message("lookup in vain: %.0f ns", ns_since(start, N * ROUNDS));
    start = g_get_monotonic_time();
    for (i = 0; i < N * ROUNDS; i++) {
        addr6 = addr_no((N + i * 2654435761u % N) * ADDRS);
        vmrpc_names_lookup(names, &addr6, &found, 1);
        g_assert(vmrpc_names_siblings(names, &found, i % N, addrs) == ADDRS);
    }
    g_test_message("lookup and 4 siblings: %.0f ns",
                   ns_since(start, N * ROUNDS));
}

/* What comes from elsewhere is as old as it was there. */
static void test_restore(void)
{
    g_autoptr(VmrpcNames) names = new_table(4);
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcNameAddr over = { .addr6 = addr_of("2001:db8::1") };
    VmrpcNameAddr stands = { .addr6 = addr_of("2001:db8::2"), .ttl_s = 5 };
    DnsName name = name_of("a.example");
    VmrpcNameFound found;

    vmrpc_names_restore(names, &name, &over, MS_PER_S);
    vmrpc_names_restore(names, &name, &stands, MS_PER_S);
    g_assert_cmpuint(vmrpc_names_lookup(names, &over.addr6, &found, 1), ==, 1);
    g_assert_cmpuint(vmrpc_names_siblings(names, &found, MS_PER_S, addrs), ==,
                     1);
    g_assert_cmpmem(&addrs[0], 16, &stands.addr6, 16);
    g_assert_cmpuint(vmrpc_names_siblings(names, &found, 6 * MS_PER_S, addrs),
                     ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/names/siphash", test_siphash);
    g_test_add_func("/names/one-answer", test_one_answer);
    g_test_add_func("/names/case", test_case);
    g_test_add_func("/names/alike", test_names_alike);
    g_test_add_func("/names/longest", test_longest_name);
    g_test_add_func("/names/latest-first", test_latest_first);
    g_test_add_func("/names/found-is-bounded", test_found_is_bounded);
    g_test_add_func("/names/rotating-answers", test_rotating_answers);
    g_test_add_func("/names/many-addresses", test_many_addresses);
    g_test_add_func("/names/ttl", test_ttl);
    g_test_add_func("/names/reclaim", test_reclaim);
    g_test_add_func("/names/reclaim-longest-ttl", test_reclaim_longest_ttl);
    g_test_add_func("/names/evict", test_evict);
    g_test_add_func("/names/flood", test_flood);
    g_test_add_func("/names/use", test_use);
    g_test_add_func("/names/smallest-table", test_smallest_table);
    g_test_add_func("/names/turnover", test_turnover);
    if (g_test_perf()) {
        g_test_add_func("/names/cost", test_cost);
    }
    g_test_add_func("/vmrpc/names/restore", test_restore);
    return g_test_run();
}
