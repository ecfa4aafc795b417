/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The LNID table as its readers see it, also while it changes */

#include <string.h>

#include "tests/fixtures/hostvlan-file.h"
#include "net/hostvlan/follow.h"

/* --- lookup ------------------------------------------------------------- */

static void test_lookup(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = hv_open(fx.path);
    HostvlanAddresses addresses;
    HostvlanLnids lnids;
    uint64_t value;

    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A), ==, 0);
    g_assert_cmpuint(hostvlan_table_lookup(t, 0), ==, 0);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, 0);

    /* Changes after opening are visible. */
    hv_set_lnids(fx.w, MAC_A, 1, 0xffffffffu);
    hv_set_lnids(fx.w, MAC_B, 3, 1, 2, 0x80000000u);
    g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, 0xffffffffu);
    g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 3);
    g_assert_cmpuint(lnids.lnid[0], ==, 1);
    g_assert_cmpuint(lnids.lnid[1], ==, 2);
    g_assert_cmpuint(lnids.lnid[2], ==, 0x80000000u);
    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_C), ==, 0);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, 2);
    g_assert_cmpuint(hostvlan_table_generation(t), ==, 3);

    /* Without addresses the list is empty. */
    value = hostvlan_table_lookup(t, MAC_A);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4 + addresses.num_ip6, ==, 0);
    value = hostvlan_table_lookup(t, MAC_B);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4 + addresses.num_ip6, ==, 0);

    /* A removed entry keeps its slot. */
    value = (uintptr_t)hv_slot(fx.w, MAC_A);
    hv_remove(fx.w, MAC_A);
    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A), ==, 0);
    g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==, 0);
    hv_set_lnids(fx.w, MAC_A, 1, 0);
    g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, HOSTVLAN_LNID_GLOBAL);
    g_assert_true(value == (uintptr_t)hv_slot(fx.w, MAC_A));
    hv_end(&fx);
}

static void test_addresses(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 5 },
        .num_ip4 = 2, .ip4 = { 0xc0000201u, 0xc6336401u },
        .num_ip6 = 1, .ip6 = { { 0x20010db8u, 0, 0, 1 } },
    };
    HvFile fx = hv_begin(4, 10);
    g_autoptr(HostvlanTable) t = hv_open(fx.path);
    HostvlanAddresses a;
    HostvlanLnids lnids;

    /* The record fills the area to the last word. */
    g_assert_true(hv_set(fx.w, MAC_A, &e));
    g_assert_false(hv_set(fx.w, MAC_B, &e));
    g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, 5);
    g_assert_true(hostvlan_table_addresses(t, hostvlan_table_lookup(t, MAC_A),
                                           &a));
    g_assert_cmpuint(a.num_ip4, ==, 2);
    g_assert_cmphex(a.ip4[0], ==, 0xc0000201u);
    g_assert_cmphex(a.ip4[1], ==, 0xc6336401u);
    g_assert_cmpuint(a.num_ip6, ==, 1);
    g_assert_cmpint(memcmp(a.ip6[0], e.ip6[0], 16), ==, 0);
    hv_end(&fx);
}

/* Beside the most LNIDs there are, whose number shares bits with the sign. */
static void test_prefixes(void)
{
    static const unsigned lnids[] = { 1, 2, 63, 64 };

    for (size_t i = 0; i < G_N_ELEMENTS(lnids); i++) {
        HvEntry e = {
            .num_lnids = lnids[i],
            .num_ip4 = 3, .ip4 = { 0xc0000201u, 0x0a080000u, 0x80000000u },
            .host_bits4 = { 0, 16, 31 },
            .num_ip6 = 2, .ip6 = { { 0x20010db8u, 1 }, { 0x80000000u } },
            .host_bits6 = { 64, 127 },
            .offers = HOSTVLAN_OFFER_ROUTER, .num_also = 1, .also = { MAC_B },
        };
        HvFile fx = hv_begin(4, 128);
        g_autoptr(HostvlanTable) t = NULL;
        HostvlanAddresses a;
        HostvlanRights rights;
        HostvlanLnids found;
        uint64_t value;

        for (unsigned n = 0; n < lnids[i]; n++) {
            e.lnid[n] = n;
        }
        g_assert_true(hv_set(fx.w, MAC_A, &e));
        t = hv_open(fx.path);
        value = hostvlan_table_lookup(t, MAC_A);
        g_assert_cmpuint(hv_lnids_of(t, MAC_A, &found), ==, lnids[i]);
        g_assert_true(hostvlan_table_addresses(t, value, &a));
        g_assert_cmpmem(a.ip4, 4 * a.num_ip4, e.ip4, 12);
        g_assert_cmpmem(a.ip6, 16 * a.num_ip6, e.ip6, 32);
        g_assert_cmpmem(a.host_bits4, 3, e.host_bits4, 3);
        g_assert_cmpmem(a.host_bits6, 2, e.host_bits6, 2);
        g_assert_true(hostvlan_table_rights(t, value, &rights));
        g_assert_cmpuint(rights.offers, ==, HOSTVLAN_OFFER_ROUTER);
        g_assert_cmphex(rights.also[0], ==, MAC_B);
        hv_end(&fx);
    }
}

/* All addresses of a table with the writers' highest load. */
static void test_many(void)
{
    enum { BUCKETS = 2000, MACS = BUCKETS * 8 / 3 };
    HvFile fx = hv_begin(BUCKETS, 0);
    g_autoptr(HostvlanTable) t = NULL;
    HostvlanLnids lnids;

    for (uint64_t n = 0; n < MACS; n++) {
        hv_set_lnids(fx.w, MAC_A + n, 1, (uint32_t)n);
    }
    t = hv_open(fx.path);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, MACS);
    for (uint64_t n = 0; n < MACS; n++) {
        hostvlan_table_prefetch(t, MAC_A + n);
        g_assert_cmpuint(hv_lnids_of(t, MAC_A + n, &lnids), ==, 1);
        g_assert_cmpuint(lnids.lnid[0], ==, n);
        g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A + MACS + n), ==, 0);
    }
    hv_end(&fx);
}

/* Fewer buckets than a search visits: after the last comes the first. */
static void test_small(void)
{
    for (uint32_t buckets = 1; buckets <= HOSTVLAN_PROBE_MAX + 1; buckets++) {
        HvFile fx = hv_begin(buckets, 0);
        HvEntry e = { .num_lnids = 1, .lnid = { 7 } };
        g_autoptr(HostvlanTable) t = hv_open(fx.path);
        g_autoptr(HostvlanTable) again = NULL;
        uint64_t mac = MAC_A;

        while (hv_set(fx.w, mac, &e)) {
            mac++;
        }
        g_assert_cmpuint(mac - MAC_A, >=, MIN(buckets, HOSTVLAN_PROBE_MAX) * 4);
        while (--mac >= MAC_A) {
            g_assert_cmpuint(hostvlan_table_lookup(t, mac), !=, 0);
        }
        g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A - 1), ==, 0);
        /* A full table is valid. */
        again = hv_open(fx.path);
        hv_end(&fx);
    }
}

/* Zeros written into a record in use stand for no LNID. */
static void test_zeros(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = hv_open(fx.path);
    HostvlanLnids lnids;
    uint32_t at;

    hv_set_lnids(fx.w, MAC_B, 3, 0, 2, 3);
    g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 3);
    at = hostvlan_value_number(hv_slot(fx.w, MAC_B)->value);
    for (unsigned i = 4; i > 0; i--) {
        fx.w->word[at + i] = 0;
        g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 0);
    }
    fx.w->word[at] = 0;
    g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 0);
    /* A value that points outside of the file. */
    hv_slot(fx.w, MAC_B)->value = hostvlan_value(hostvlan_key(MAC_B),
                                                 HOSTVLAN_VALUE_RECORD, 64);
    g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 0);
    hv_end(&fx);
}

/* --- changes while somebody reads --------------------------------------- */

/* The last change is no removal. */
enum { SETS = 4, CHANGES = 20001, READERS = 2 };

/* The entries that MAC_A gets in turn; a reader sees one of them completely. */
static HvEntry set_number(unsigned n)
{
    HvEntry e = { .num_lnids = n == 0 ? 1 : n * 20 };

    for (unsigned i = 0; i < e.num_lnids; i++) {
        e.lnid[i] = 1000 * (n + 1) + i;
    }
    return e;
}

static void assert_one_set(const HostvlanLnids *lnids)
{
    unsigned n = lnids->lnid[0] / 1000 - 1;
    HvEntry e;

    g_assert_cmpuint(n, <, SETS);
    e = set_number(n);
    g_assert_cmpuint(lnids->num, ==, e.num_lnids);
    g_assert_cmpint(memcmp(lnids->lnid, e.lnid, 4 * e.num_lnids), ==, 0);
}

typedef struct Reader {
    const char *path;
    int *stop;
    GAsyncQueue *started;
    GThread *thread;
    uint64_t seen, taken;
} Reader;

static void *read_along(void *opaque)
{
    Reader *r = opaque;
    HostvlanFollow f;
    HostvlanLnids lnids;

    hostvlan_follow_init(&f, r->path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_async_queue_push(r->started, r);
    /* Once more after the end, so that the last change is seen. */
    for (bool last = false; !last;) {
        last = __atomic_load_n(r->stop, __ATOMIC_ACQUIRE);
        if (hostvlan_follow_is_due(&f)) {
            r->taken += hostvlan_follow_look(&f) == HOSTVLAN_FOLLOW_TAKEN;
        }
        g_assert_no_error(f.error);
        /* MAC_A is added and removed, MAC_B stays, MAC_C never exists. */
        if (hv_lnids_of(f.table, MAC_A, &lnids)) {
            assert_one_set(&lnids);
            r->seen++;
        }
        g_assert_cmpuint(hv_lnids_of(f.table, MAC_B, &lnids), ==, 2);
        g_assert_cmpuint(lnids.lnid[1], ==, 43);
        g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_C), ==, 0);
    }
    hostvlan_follow_destroy(&f);
    return NULL;
}

/* One change; if there is no room, the table grows or is compacted. */
static void change(HvFile *fx, unsigned n)
{
    HvEntry e = set_number(n % SETS);
    bool fits;

    if (n % 7 == 0 && hv_slot(fx->w, MAC_A)) {
        hv_remove(fx->w, MAC_A);
        return;
    }
    /* A new address from time to time, so that searches grow longer. */
    fits = hv_set(fx->w, MAC_A, &e) &&
           (n % 16 || hv_set(fx->w, 0x060000000000ull + n, &e));
    if (!fits) {
        uint32_t buckets = fx->w->header->buckets;

        fx->w = hv_replace(fx->w, buckets + buckets / 4,
                           fx->w->header->words + 40000);
        g_assert_true(hv_set(fx->w, MAC_A, &e));
    }
}

static void test_changes(void)
{
    HvFile fx = hv_begin(64, 4000);
    g_autoptr(GAsyncQueue) started = g_async_queue_new();
    Reader r[READERS];
    int stop = 0;

    hv_set_lnids(fx.w, MAC_B, 2, 42, 43);
    for (int i = 0; i < READERS; i++) {
        r[i] = (Reader) {
            .path = fx.path, .stop = &stop, .started = started,
        };
        r[i].thread = g_thread_new("reader", read_along, &r[i]);
    }
    for (int i = 0; i < READERS; i++) {
        g_async_queue_pop(started);
    }
    for (unsigned n = 0; n < CHANGES; n++) {
        change(&fx, n);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < READERS; i++) {
        g_thread_join(r[i].thread);
        g_assert_cmpuint(r[i].seen, >, 0);
        g_assert_cmpuint(r[i].taken, >, 0);
    }
    hv_end(&fx);
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/table/lookup", test_lookup);
    g_test_add_func("/hostvlan/table/addresses", test_addresses);
    g_test_add_func("/hostvlan/table/prefixes", test_prefixes);
    g_test_add_func("/hostvlan/table/many", test_many);
    g_test_add_func("/hostvlan/table/small", test_small);
    g_test_add_func("/hostvlan/table/zeros", test_zeros);
    g_test_add_func("/hostvlan/table/changes", test_changes);
    return g_test_run();
}
