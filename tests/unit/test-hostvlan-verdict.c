/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May this frame pass? */

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fixtures/hostvlan-fixture.h"
#include "net/hostvlan/verdict.h"

#define MAC(n)  (0x020000000000ull + (n))

typedef struct Fx {
    char *dir, *path;
    HvWriter *w;
    HostvlanTable *table;
} Fx;

static Fx fx_begin(void)
{
    Fx fx = {
        .dir = g_build_filename(hv_tmp(), "XXXXXX", NULL),
    };
    g_autoptr(GError) err = NULL;

    g_assert_nonnull(g_mkdtemp(fx.dir));
    fx.path = g_build_filename(fx.dir, "table", NULL);
    fx.w = hv_create(fx.path, 16, 1024);
    fx.table = hostvlan_table_open(fx.path, &err);
    g_assert_no_error(err);
    return fx;
}

static void fx_end(Fx *fx)
{
    hostvlan_table_close(fx->table);
    hv_close(fx->w);
    g_unlink(fx->path);
    g_assert_cmpint(g_rmdir(fx->dir), ==, 0);
    g_free(fx->path);
    g_free(fx->dir);
}

static void put_mac(uint8_t *p, uint64_t mac)
{
    for (int i = 0; i < 6; i++) {
        p[i] = mac >> (40 - 8 * i) & 0xff;
    }
}

#define BROADCAST 0xffffffffffffull

static enum hostvlan_reason send(const HostvlanTable *t, uint64_t port,
                                 uint64_t source, size_t len)
{
    uint8_t frame[14] = { 0 };
    size_t fixed;

    put_mac(frame, BROADCAST);
    put_mac(frame + 6, source);
    return hostvlan_verdict_send(t, port, false, frame, len, &fixed);
}

static enum hostvlan_reason receive(const HostvlanTable *t, uint64_t port,
                                    uint64_t source, uint64_t dest, size_t len)
{
    uint8_t frame[14] = { 0 };

    put_mac(frame, dest);
    put_mac(frame + 6, source);
    return hostvlan_verdict_receive(t, port, frame, len, len);
}

#define assert_receive(table, port, source, reason) do {                      \
    g_assert_cmpint(receive(table, port, source, port, 14), ==, reason);      \
    g_assert_cmpint(receive(table, port, source, BROADCAST, 14), ==, reason); \
} while (0)

/* The paper's figure 6: seven VMs on three hosts, and an LNID that is added. */
static void test_paper(void)
{
    static const struct {
        uint64_t mac;
        uint32_t lnid;
    } vms[] = {
        { MAC(0x11), 1 }, { MAC(0x12), 2 },
        { MAC(0x21), 1 }, { MAC(0x23), 3 },
        { MAC(0x321), 2 }, { MAC(0x322), 2 }, { MAC(0x33), 3 },
    };
    Fx fx = fx_begin();

    for (size_t i = 0; i < G_N_ELEMENTS(vms); i++) {
        hv_set_lnids(fx.w, vms[i].mac, 1, vms[i].lnid);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(vms); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(vms); j++) {
            assert_receive(fx.table, vms[i].mac, vms[j].mac,
                           vms[i].lnid == vms[j].lnid ?
                           HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT);
        }
    }
    hv_set_lnids(fx.w, MAC(0x11), 2, 1, 3);
    assert_receive(fx.table, MAC(0x23), MAC(0x11), HOSTVLAN_PASSED);
    assert_receive(fx.table, MAC(0x11), MAC(0x23), HOSTVLAN_PASSED);
    assert_receive(fx.table, MAC(0x33), MAC(0x11), HOSTVLAN_PASSED);
    assert_receive(fx.table, MAC(0x21), MAC(0x11), HOSTVLAN_PASSED);
    assert_receive(fx.table, MAC(0x12), MAC(0x11), HOSTVLAN_OTHER_TENANT);
    /* And removed again. */
    hv_set_lnids(fx.w, MAC(0x11), 1, 1);
    assert_receive(fx.table, MAC(0x23), MAC(0x11), HOSTVLAN_OTHER_TENANT);
    hv_remove(fx.w, MAC(0x11));
    assert_receive(fx.table, MAC(0x21), MAC(0x11), HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(0x11), MAC(0x21), HOSTVLAN_NO_PORT);
    fx_end(&fx);
}

static void test_send(void)
{
    Fx fx = fx_begin();

    /* The sender need not be in the table. */
    g_assert_cmpint(send(fx.table, MAC(1), MAC(1), 14), ==, HOSTVLAN_PASSED);
    g_assert_cmpint(send(fx.table, MAC(1), MAC(2), 14), ==, HOSTVLAN_SPOOFED);
    g_assert_cmpint(send(fx.table, MAC(1), 0, 14), ==, HOSTVLAN_SPOOFED);
    g_assert_cmpint(send(fx.table, MAC(1), BROADCAST, 14), ==,
                    HOSTVLAN_SPOOFED);
    for (int bit = 0; bit < 48; bit++) {
        g_assert_cmpint(send(fx.table, MAC(1), MAC(1) ^ 1ull << bit, 14), ==,
                        HOSTVLAN_SPOOFED);
    }
    fx_end(&fx);
}

/* The order of reasons if several apply. */
static void test_order(void)
{
    Fx fx = fx_begin();

    hv_set_lnids(fx.w, MAC(1), 1, 1);
    hv_set_lnids(fx.w, MAC(2), 1, 2);
    g_assert_cmpint(send(NULL, 0, 0, 13), ==, HOSTVLAN_MALFORMED);
    g_assert_cmpint(send(NULL, 0, 0, 14), ==, HOSTVLAN_NO_TABLE);
    g_assert_cmpint(send(fx.table, 0, 0, 14), ==, HOSTVLAN_NO_PORT);
    g_assert_cmpint(send(fx.table, BROADCAST, BROADCAST, 14), ==,
                    HOSTVLAN_NO_PORT);
    g_assert_cmpint(receive(NULL, 0, 0, 0, 13), ==, HOSTVLAN_MALFORMED);
    g_assert_cmpint(receive(fx.table, MAC(1), MAC(1), 0, 0), ==,
                    HOSTVLAN_MALFORMED);
    assert_receive(NULL, MAC(1), MAC(1), HOSTVLAN_NO_TABLE);
    assert_receive(fx.table, 0, MAC(1), HOSTVLAN_NO_PORT);
    assert_receive(fx.table, BROADCAST, MAC(1), HOSTVLAN_NO_PORT);
    assert_receive(fx.table, MAC(3), MAC(9), HOSTVLAN_NO_PORT);
    assert_receive(fx.table, MAC(1), MAC(9), HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(1), 0, HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(1), BROADCAST, HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(1), MAC(1) | 1ull << 40,
                   HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(1), MAC(2), HOSTVLAN_OTHER_TENANT);
    fx_end(&fx);
}

static void test_global(void)
{
    Fx fx = fx_begin();

    hv_set_lnids(fx.w, MAC(1), 1, HOSTVLAN_LNID_GLOBAL);
    hv_set_lnids(fx.w, MAC(2), 2, HOSTVLAN_LNID_GLOBAL, 77);
    hv_set_lnids(fx.w, MAC(3), 1, 5);
    hv_set_lnids(fx.w, MAC(4), 2, 6, 7);
    for (unsigned i = 1; i <= 4; i++) {
        for (unsigned j = 1; j <= 4; j++) {
            assert_receive(fx.table, MAC(i), MAC(j),
                           i <= 2 || j <= 2 || i == j ?
                           HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT);
        }
    }
    /*
     * A sender that is not in the table is unknown, with and without a global
     * LNID.
     */
    assert_receive(fx.table, MAC(1), MAC(9), HOSTVLAN_UNKNOWN_SOURCE);
    assert_receive(fx.table, MAC(9), MAC(1), HOSTVLAN_NO_PORT);
    fx_end(&fx);
}

static bool by_heart(const HvEntry *a, const HvEntry *b)
{
    for (unsigned i = 0; i < a->num_lnids; i++) {
        for (unsigned j = 0; j < b->num_lnids; j++) {
            if (a->lnid[i] == 0 || b->lnid[j] == 0 ||
                a->lnid[i] == b->lnid[j]) {
                return true;
            }
        }
    }
    return false;
}

/* Ascending, at most HOSTVLAN_LNIDS_MAX, seldom the global one. */
static HvEntry random_lnids(GRand *rand)
{
    HvEntry e = { 0 };
    unsigned num = g_rand_int_range(rand, 1, g_rand_boolean(rand) ? 4 : 65);
    uint32_t lnid = g_rand_int_range(rand, 0, 20);

    while (e.num_lnids < num) {
        e.lnid[e.num_lnids++] = lnid;
        lnid += g_rand_int_range(rand, 1, 30);
    }
    return e;
}

/* Random pairs of sets, compared with the definition. */
static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20111107);
    unsigned passed = 0, total = 4000;
    Fx fx = fx_begin();

    for (unsigned n = 0; n < total; n++) {
        HvEntry a = random_lnids(rand), b = random_lnids(rand);
        bool pass = by_heart(&a, &b);

        fx.w->header->words_used = 0;
        g_assert_true(hv_set(fx.w, MAC(1), &a));
        g_assert_true(hv_set(fx.w, MAC(2), &b));
        assert_receive(fx.table, MAC(1), MAC(2),
                       pass ? HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT);
        assert_receive(fx.table, MAC(2), MAC(1),
                       pass ? HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT);
        passed += pass;
    }
    /* Both results must be frequent. */
    g_assert_cmpuint(passed, >, total / 10);
    g_assert_cmpuint(passed, <, total * 9 / 10);
    fx_end(&fx);
}

/* With a truncated table nothing passes in either direction. */
static void test_lost(void)
{
    Fx fx = fx_begin();

    hv_set_lnids(fx.w, MAC(1), 2, 0, 1);
    assert_receive(fx.table, MAC(1), MAC(1), HOSTVLAN_PASSED);
    g_assert_cmpint(truncate(fx.path, 0), ==, 0);
    assert_receive(fx.table, MAC(1), MAC(1), HOSTVLAN_NO_TABLE);
    g_assert_cmpint(send(fx.table, MAC(1), MAC(1), 14), ==,
                    HOSTVLAN_NO_TABLE);
    fx_end(&fx);
}

static void test_names(void)
{
    g_assert_cmpstr(hostvlan_reason_name(HOSTVLAN_PASSED), ==, "passed");
    g_assert_cmpstr(hostvlan_reason_name(HOSTVLAN_OTHER_TENANT), ==,
                    "other-tenant");
    g_assert_cmpstr(hostvlan_reason_name(HOSTVLAN_NO_PORT), ==, "no-port");
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/verdict/paper", test_paper);
    g_test_add_func("/hostvlan/verdict/send", test_send);
    g_test_add_func("/hostvlan/verdict/order", test_order);
    g_test_add_func("/hostvlan/verdict/global", test_global);
    g_test_add_func("/hostvlan/verdict/random", test_random);
    g_test_add_func("/hostvlan/verdict/lost", test_lost);
    g_test_add_func("/hostvlan/verdict/names", test_names);
    return g_test_run();
}
