/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan: the owner of a port, and the monitor's output */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>

#include "hostvlan-bed.h"
#include "qobject/qlist.h"

/* --- whose MAC address ---------------------------------------------------- */

static void test_mac_option(void)
{
    QDict *info;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",mac=02:00:00:00:00:02");
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, "02:00:00:00:00:02");
    qobject_unref(info);
    sent_as(&bed, GUEST, "spoofed");
    sent_as(&bed, OTHER, "passed");
    received_from(&bed, PEER, "other-tenant");
    received_from(&bed, OTHER, "passed");
    bed_end(&bed);
}

#define EEPRO_STATUS    0x00
#define EEPRO_COMMAND   0x02
#define EEPRO_POINTER   0x04
#define   CU_BASE       0x60
#define   CU_START      0x10
#define   CB_LAST_SETUP 0x8001          /* the address of the station */

/* Gives the i82559 another address, as its driver does. */
static void program_eepro100(Bed *bed, uint64_t mac)
{
    QPCIDevice *pci = qpci_device_find(bed->machine.bus,
                                       QPCI_DEVFN(NIC_PCI_SLOT, 0));
    uint64_t block = guest_alloc(&bed->machine.alloc, 64);
    uint8_t data[16] = { };
    QPCIBar bar;

    g_assert_nonnull(pci);
    qpci_device_enable(pci);
    bar = qpci_iomap(pci, 0, NULL);
    stw_le_p(data + 2, CB_LAST_SETUP);
    frame_put_mac(data + 8, mac);
    qtest_memwrite(bed->qts, block, data, sizeof(data));
    qpci_io_writel(pci, bar, EEPRO_POINTER, 0);
    qpci_io_writeb(pci, bar, EEPRO_COMMAND, CU_BASE);
    qpci_io_writel(pci, bar, EEPRO_POINTER, block);
    qpci_io_writeb(pci, bar, EEPRO_COMMAND, CU_START);
    qpci_iounmap(pci, bar);
    g_free(pci);
}

static void announce(Bed *bed)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'announce-self', "
                             "'arguments': { 'initial': 10, 'max': 10, "
                             "'rounds': 1, 'step': 10 } }");
}

/*
 * This NIC forgets its configured address when the guest programs another one,
 * and so do QEMU's announcements: the port keeps it.
 */
static void test_programmed(void)
{
    Bed bed = { .kind = NULL };
    uint8_t frame[FRAME_MAX];
    QDict *info;

    bed_make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = bed_make_table(bed.path);
    bed_start(&bed, "i82559er", "");
    announce(&bed);
    bed_wait_counter(&bed, "send", "passed", 1);
    peer_wait(&bed, frame, sizeof(frame));
    program_eepro100(&bed, OTHER);
    announce(&bed);
    bed_wait_counter(&bed, "send", "spoofed", 1);
    peer_has_nothing(&bed);
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, GUEST_TEXT);
    qobject_unref(info);
    bed_end(&bed);
}

/* QEMU announces the guest's location with the guest's address. */
static void test_announce(void)
{
    uint8_t frame[FRAME_MAX], source[6];
    Bed bed;

    bed_begin(&bed, &nic_e1000, ",check-sender=on");
    announce(&bed);
    g_assert_cmpuint(peer_wait(&bed, frame, sizeof(frame)), >=, 60);
    frame_put_mac(source, GUEST);
    g_assert_cmpmem(frame + 6, 6, source, 6);
    g_assert_cmpuint(lduw_be_p(frame + 12), ==, 0x8035);
    g_assert_cmpuint(bed_counter(&bed, "send", "passed"), ==, 1);
    bed_end(&bed);
}

/* A port without a NIC has no owner; the next NIC has its own address. */
static void test_unplug(void)
{
    QDict *info;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    bed_converse(&bed);
    nic_free(bed.nic);
    bed.nic = NULL;
    qpci_unplug_acpi_device_test(bed.qts, "nic0", NIC_PCI_SLOT);
    bed_settle(&bed);
    info = bed_query(&bed);
    g_assert_false(qdict_haskey(info, "mac"));
    g_assert_false(qdict_haskey(info, "lnids"));
    qobject_unref(info);
    qtest_qmp_device_add(bed.qts, bed.kind->driver, "nic0",
                         "{ 'addr': '4', 'netdev': 'hv0', "
                         "'mac': '02:00:00:00:00:02' }");
    bed.nic = bed.kind->start(&bed.machine, bed.kind);
    nic_post(bed.nic, 0, 16);
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, "02:00:00:00:00:02");
    qobject_unref(info);
    sent_as(&bed, GUEST, "spoofed");
    sent_as(&bed, OTHER, "passed");
    received_from(&bed, PEER, "other-tenant");
    bed_end(&bed);
}

/* --- what is shown -------------------------------------------------------- */

static void test_query(void)
{
    g_autofree char *hmp = NULL, *none = NULL;
    QDict *info, *error;
    QList *lnids;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, ",check-sender=on,l2-control=on");
    hv_set_lnids(bed.table, GUEST, 2, HOSTVLAN_LNID_GLOBAL, 0xfffffffeu);
    sent_as(&bed, PEER, "spoofed");
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "id"), ==, "hv0");
    g_assert_cmpstr(qdict_get_str(info, "netdev"), ==, "net0");
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, GUEST_TEXT);
    g_assert_cmpstr(qdict_get_str(info, "table"), ==, bed.path);
    g_assert_true(qdict_get_bool(info, "check-sender"));
    g_assert_true(qdict_get_bool(info, "l2-control"));
    /* Behind it is a socket. */
    g_assert_false(qdict_haskey(info, "interface"));
    g_assert_cmpint(qdict_get_int(info, "macs"), ==, 4);
    g_assert_cmpint(qdict_get_int(info, "generation"), ==, 6);
    g_assert_false(qdict_haskey(info, "error"));
    lnids = qdict_get_qlist(info, "lnids");
    g_assert_cmpuint(qlist_size(lnids), ==, 2);
    g_assert_cmpint(qdict_get_int(qdict_get_qdict(info, "send"), "spoofed"),
                    ==, 3);
    qobject_unref(info);

    hmp = qtest_hmp(bed.qts, "info hostvlan");
    g_assert_nonnull(strstr(hmp, "hv0: netdev net0, MAC address " GUEST_TEXT
                            ", LNIDs global 4294967294, checks senders, "
                            "L2 control passes"));
    g_assert_nonnull(strstr(hmp, "generation 6, 4 MAC addresses"));
    g_assert_nonnull(strstr(hmp, "passed=0 spoofed=3\r\n"));
    none = qtest_hmp(bed.qts, "info hostvlan hv1");
    g_assert_nonnull(strstr(none, "There is no netdev 'hv1'"));
    error = qtest_qmp_assert_failure_ref(
        bed.qts, "{ 'execute': 'query-hostvlan', 'arguments': "
        "{ 'id': 'net0' } }");
    g_assert_cmpstr(qdict_get_str(error, "class"), ==, "DeviceNotFound");
    qobject_unref(error);
    bed_end(&bed);
}

/* netdev_add and netdev_del, also of the one that a NIC uses. */
static void test_add_del(void)
{
    QDict *resp, *info;
    Bed bed;

    bed_begin(&bed, &nic_virtio12, "");
    for (unsigned i = 0; i < 3; i++) {
        qtest_qmp_assert_success(
            bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
            "'hubport', 'id': 'net1', 'hubid': 1 } }");
        qtest_qmp_assert_success(
            bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
            "'hostvlan', 'id': 'hv1', 'netdev': 'net1', 'table': %s, "
            "'check-sender': true } }", bed.path);
        resp = qtest_qmp(bed.qts, "{ 'execute': 'query-hostvlan' }");
        g_assert_cmpuint(qlist_size(qdict_get_qlist(resp, "return")), ==, 2);
        qobject_unref(resp);
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                                 "'arguments': { 'id': 'hv1' } }");
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                                 "'arguments': { 'id': 'net1' } }");
    }
    bed_converse(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                             "'arguments': { 'id': 'hv0' } }");
    resp = qtest_qmp(bed.qts, "{ 'execute': 'query-hostvlan' }");
    g_assert_true(qlist_empty(qdict_get_qlist(resp, "return")));
    qobject_unref(resp);
    bed_settle(&bed);
    /* The NIC is still there, but the ID is free. */
    qtest_qmp_assert_success(
        bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
        "'hubport', 'id': 'net1', 'hubid': 1 } }");
    qtest_qmp_assert_success(
        bed.qts, "{ 'execute': 'netdev_add', 'arguments': { 'type': "
        "'hostvlan', 'id': 'hv0', 'netdev': 'net1', 'table': %s } }", bed.path);
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "netdev"), ==, "net1");
    qobject_unref(info);
    bed_end(&bed);
}

static void test_wrong_options(void)
{
    static const struct {
        const char *options;
        const char *says[3];
    } wrong[] = {
        { "netdev=h0", { "'table' is missing" } },
        { "table=/t", { "'netdev' is missing" } },
        { "netdev=h0,table=", { "'hv0'", "table= is empty" } },
        { "netdev=h0,table=/t,mac=52:54:00", { "'hv0'", "mac=52:54:00 is not",
                                              "52:54:00:12:34:56" } },
        { "netdev=h0,table=/t,mac=1", { "mac=1 is not" } },
        { "netdev=h0,table=/t,mac=01:00:5e:00:00:01", { "mac=01:00:5e" } },
        { "netdev=h0,table=/t,mac=00:00:00:00:00:00", { "mac=00:00:00" } },
        { "netdev=h0,table=/t,check-sender=maybe", { "check-sender" } },
        { "netdev=h0,table=/t,l2-control=maybe", { "l2-control" } },
        { "netdev=h1,table=/t", { "'h1'" } },
    };
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");

    for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
        g_autofree char *line = g_strdup_printf(
            "%s -machine none -accel qtest -nodefaults -display none "
            "-netdev hubport,id=h0,hubid=0 -netdev hostvlan,id=hv0,%s", qemu,
            wrong[i].options);
        g_auto(GStrv) argv = g_strsplit(line, " ", -1);
        g_autofree char *text = NULL;
        int status;

        g_assert_true(g_spawn_sync(NULL, argv, NULL,
                                   G_SPAWN_SEARCH_PATH |
                                   G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                                   NULL, &text, &status, NULL));
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 1);
        for (unsigned n = 0; n < 3 && wrong[i].says[n]; n++) {
            if (!strstr(text, wrong[i].says[n])) {
                g_error("%s: %s", wrong[i].options, text);
            }
        }
    }
}

static void add_tests(void)
{
    qtest_add_func("/hostvlan/mac-option", test_mac_option);
    qtest_add_func("/hostvlan/programmed", test_programmed);
    qtest_add_func("/hostvlan/announce", test_announce);
    qtest_add_func("/hostvlan/unplug", test_unplug);
    qtest_add_func("/hostvlan/query", test_query);
    qtest_add_func("/hostvlan/add-del", test_add_del);
    qtest_add_func("/hostvlan/wrong-options", test_wrong_options);
}

int main(int argc, char **argv)
{
    return hostvlan_test_main(argc, argv, add_tests);
}
