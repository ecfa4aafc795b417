/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An LNID table whose octets are given: what the reader makes of it
 *
 * Other tests write tables as numbers of this host, and read them as such; a
 * host of another order of octets would agree with itself. The Python tests
 * demand these octets of the writer.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "hostvlan-fixture.h"
#include "net/hostvlan/table.h"

static const struct {
    uint32_t offset;
    uint8_t octet[8];
} golden[] = {
#define OCTETS(at, ...) { .offset = at, .octet = { __VA_ARGS__ } },
#include "hostvlan-golden.h"
#undef OCTETS
};

static HostvlanTable *open_golden(void)
{
    g_autofree char *path = g_build_filename(hv_tmp(), "golden", NULL);
    g_autofree char *octets = g_malloc0(HOSTVLAN_GOLDEN_SIZE);
    g_autoptr(GError) err = NULL;
    HostvlanTable *t;

    /* Of those with four octets the other four are 0: the offsets ascend. */
    for (size_t i = 0; i < G_N_ELEMENTS(golden); i++) {
        memcpy(octets + golden[i].offset, golden[i].octet, 8);
    }
    g_file_set_contents(path, octets, HOSTVLAN_GOLDEN_SIZE, &err);
    g_assert_no_error(err);
    t = hostvlan_table_open(path, &err);
    g_assert_no_error(err);
    g_unlink(path);
    return t;
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostvlan/golden/header", test_header);
    g_test_add_func("/hostvlan/golden/values", test_values);
    g_test_add_func("/hostvlan/golden/record", test_record);
    return hv_test_run();
}
