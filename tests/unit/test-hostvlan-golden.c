/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's view of an LNID table with given octets
 *
 * Other tests write tables as numbers of this host, and read them as such; a
 * host of another order of octets would agree with itself. The Python tests
 * demand these octets of the writer.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "tests/fixtures/hostvlan-fixture.h"
#include "net/hostvlan/table.h"

typedef struct Octets {
    uint32_t offset;
    uint8_t octet[8];
} Octets;

#define OCTETS(at, ...) { .offset = at, .octet = { __VA_ARGS__ } },
static const Octets golden2[] = {
#include "tests/fixtures/hostvlan-golden.h"
};
static const Octets golden3[] = {
#include "tests/fixtures/hostvlan-golden3.h"
};
static const Octets golden4[] = {
#include "tests/fixtures/hostvlan-golden4.h"
};
#undef OCTETS

static HostvlanTable *open_octets(const Octets *golden, size_t num,
                                  size_t size)
{
    g_autofree char *path = g_build_filename(hv_tmp(), "golden", NULL);
    g_autofree char *octets = g_malloc0(size + sizeof(golden->octet));
    g_autoptr(GError) err = NULL;
    HostvlanTable *t;

    /* For words of four octets the other four are 0, as the offsets ascend. */
    for (size_t i = 0; i < num; i++) {
        memcpy(octets + golden[i].offset, golden[i].octet, 8);
    }
    g_file_set_contents(path, octets, size, &err);
    g_assert_no_error(err);
    t = hostvlan_table_open(path, &err);
    g_assert_no_error(err);
    g_unlink(path);
    return t;
}

static HostvlanTable *open_golden(void)
{
    return open_octets(golden2, G_N_ELEMENTS(golden2), HOSTVLAN_GOLDEN_SIZE);
}

/* The table's own numbers. */
static void test_header(void)
{
    g_autoptr(HostvlanTable) t = open_golden();

    g_assert_cmpuint(hostvlan_table_macs(t), ==, 3);
    g_assert_cmpuint(hostvlan_table_generation(t), ==, 1);
    g_assert_false(hostvlan_table_superseded(t));
}

/* The only LNID of a MAC address without IP addresses. */
static void assert_one(const HostvlanTable *t, uint64_t mac, uint32_t lnid)
{
    uint64_t value = hostvlan_table_lookup(t, mac);
    HostvlanAddresses addresses;
    HostvlanLnids lnids;

    g_assert_cmpuint(value, !=, 0);
    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, lnid);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4 + addresses.num_ip6, ==, 0);
}

static void test_values(void)
{
    static const uint8_t frame[6] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55 };
    g_autoptr(HostvlanTable) t = open_golden();

    assert_one(t, hostvlan_mac(frame), 7);
    assert_one(t, 0x020000000001ull, HOSTVLAN_LNID_GLOBAL);
    g_assert_cmpuint(hostvlan_table_lookup(t, 0x554433221100ull), ==, 0);
}

static void test_record(void)
{
    static const uint32_t ip6[4] = { 0x20010db8u, 0, 0, 0x1234 };
    g_autoptr(HostvlanTable) t = open_golden();
    uint64_t value = hostvlan_table_lookup(t, 0x525400123456ull);
    HostvlanAddresses addresses;
    HostvlanLnids lnids;

    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 2);
    g_assert_cmpuint(lnids.lnid[0], ==, 1);
    g_assert_cmphex(lnids.lnid[1], ==, 0x01020304u);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4, ==, 1);
    g_assert_cmphex(addresses.ip4[0], ==, 0xc0000201u);
    g_assert_cmpuint(addresses.num_ip6, ==, 1);
    g_assert_cmpint(memcmp(addresses.ip6[0], ip6, sizeof(ip6)), ==, 0);
}

static void test_version_3(void)
{
    g_autoptr(HostvlanTable) t = open_octets(golden3, G_N_ELEMENTS(golden3),
                                             HOSTVLAN_GOLDEN3_SIZE);
    uint64_t value = hostvlan_table_lookup(t, 0x525400123456ull);
    HostvlanAddresses addresses;
    HostvlanRights rights;
    HostvlanLnids lnids;

    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 2);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmphex(addresses.ip4[0], ==, 0xc0000201u);
    g_assert_cmphex(addresses.ip6[0][3], ==, 0x1234);
    g_assert_true(hostvlan_table_rights(t, value, &rights));
    g_assert_cmpuint(rights.offers, ==, HOSTVLAN_OFFER_ROUTER);
    g_assert_cmpuint(rights.num_also, ==, 2);
    g_assert_cmphex(rights.also[0], ==, 0x00005e00010aull);
    g_assert_cmphex(rights.also[1], ==, 0x020000000001ull);
    value = hostvlan_table_lookup(t, 0x020000000001ull);
    g_assert_true(hostvlan_table_rights(t, value, &rights));
    g_assert_cmpuint(rights.offers, ==, HOSTVLAN_OFFER_ROUTER |
                                        HOSTVLAN_OFFER_DHCP);
    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, HOSTVLAN_LNID_GLOBAL);
    assert_one(t, 0x001122334455ull, 7);
}

static void test_version_4(void)
{
    g_autoptr(HostvlanTable) t = open_octets(golden4, G_N_ELEMENTS(golden4),
                                             HOSTVLAN_GOLDEN4_SIZE);
    uint64_t value = hostvlan_table_lookup(t, 0x525400123456ull);
    HostvlanAddresses addresses;
    HostvlanRights rights;
    HostvlanLnids lnids;

    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 2);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4, ==, 2);
    g_assert_cmphex(addresses.ip4[0], ==, 0xc0000201u);
    g_assert_cmpuint(addresses.host_bits4[0], ==, 0);
    g_assert_cmphex(addresses.ip4[1], ==, 0xc6336400u);
    g_assert_cmpuint(addresses.host_bits4[1], ==, 8);
    g_assert_cmpuint(addresses.num_ip6, ==, 3);
    g_assert_cmphex(addresses.ip6[0][3], ==, 0x1234);
    g_assert_cmpuint(addresses.host_bits6[0], ==, 0);
    g_assert_cmphex(addresses.ip6[1][1], ==, 1);
    g_assert_cmpuint(addresses.host_bits6[1], ==, 64);
    g_assert_cmphex(addresses.ip6[2][1], ==, 0x10000);
    g_assert_cmpuint(addresses.host_bits6[2], ==, 80);
    g_assert_true(hostvlan_table_rights(t, value, &rights));
    g_assert_cmpuint(rights.offers, ==, HOSTVLAN_OFFER_ROUTER);
    g_assert_cmpuint(rights.num_also, ==, 1);
    g_assert_cmphex(rights.also[0], ==, 0x00005e00010aull);
    value = hostvlan_table_lookup(t, 0x020000000001ull);
    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 1);
    g_assert_true(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmphex(addresses.ip4[0], ==, 0x0a080000u);
    g_assert_cmpuint(addresses.host_bits4[0], ==, 8);
    assert_one(t, 0x001122334455ull, 7);
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/golden/header", test_header);
    g_test_add_func("/hostvlan/golden/values", test_values);
    g_test_add_func("/hostvlan/golden/record", test_record);
    g_test_add_func("/hostvlan/golden/version-3", test_version_3);
    g_test_add_func("/hostvlan/golden/version-4", test_version_4);
    return g_test_run();
}
