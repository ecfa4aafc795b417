/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features that virtio-net-cvsw offers to the guest, by machine type
 *
 * Machine types from 10.2 on turn virtio-net's tunnel offloads on, which makes
 * the guest's header longer.  The guest of virtio-net-cvsw sees the same device
 * in each machine type.
 */
#include "qemu/osdep.h"

#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "stage-fixture.h"

/* virtio_net.h has them from 10.2 on: these features, and the tap's offloads. */
#define TUNNELS         (0xfull << (65 - 64))
#define TUN_F_TUNNELS   0x180

static const char *const machines[] = { "pc-i440fx-9.2", "pc-i440fx-10.0",
                                        "pc" };

static NicKind kind_of(const char *driver, const char *options)
{
    NicKind kind = nic_virtio12;

    kind.driver = driver;
    kind.options = options;
    return kind;
}

static void start(Bed *bed, const Setup *setup, const char *machine)
{
    g_autofree char *more = g_strdup_printf(
        "-machine %s -object secret,id=key,"
        "data=0123456789abcdef0123456789abcdef", machine);

    bed_start(bed, setup, more);
}

/* It has all that virtio-net has, but the tunnels and their header. */
static void test_cvsw(const void *data)
{
    NicKind net = kind_of("virtio-net-pci", "");
    NicKind cvsw = kind_of("virtio-net-cvsw-pci", data);
    const Setup plain = { &net, TAP, 0 }, ours = { &cvsw, TAP, 0 };

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        uint64_t offered;
        Bed bed;

        start(&bed, &plain, machines[i]);
        offered = bed.nic->offered;
        bed_stop(&bed);

        start(&bed, &ours, machines[i]);
        g_assert_cmphex(bed.nic->offered, ==, offered);
        g_assert_cmphex(bed.nic->offered_more, ==, 0);
        if (!*cvsw.options) {
            /* A switch takes the test's frames for those of its controller. */
            bed_converse(&bed, i);
        }
        bed_stop(&bed);
    }
}

/* Nor are they offered behind a netdev of ours. */
static void test_stage(void)
{
    NicKind net = kind_of("virtio-net-pci", "");
    const Setup setup = { &net, TAP, 1 };

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        Bed bed;

        start(&bed, &setup, machines[i]);
        g_assert_cmphex(bed.nic->offered_more, ==, 0);
        bed_converse(&bed, i);
        bed_stop(&bed);
    }
}

/* --- virtio-net, which proves that there is something to keep off --------- */

static bool kernel_has_tunnels(void)
{
    struct ifreq ifr = {
        .ifr_name = "probe%d",
        .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
    };
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    bool has;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ioctl(fd, TUNSETIFF, &ifr), ==, 0);
    has = !ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TUNNELS);
    close(fd);
    return has;
}

static bool qemu_has_tunnels(QTestState *qts)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'device-list-properties', "
                              "'arguments': { 'typename': 'virtio-net-pci' } }");
    const QListEntry *entry;
    bool has = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(answer, "return"), entry) {
        QDict *property = qobject_to(QDict, qlist_entry_obj(entry));

        has |= g_str_equal(qdict_get_str(property, "name"), "guest_tunnel");
    }
    qobject_unref(answer);
    return has;
}

static void test_virtio_net(void)
{
    NicKind net = kind_of("virtio-net-pci", "");
    const Setup setup = { &net, TAP, 0 };

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        bool is_newest = g_str_equal(machines[i], "pc");
        Bed bed;

        start(&bed, &setup, machines[i]);
        g_assert_cmphex(bed.nic->offered_more, ==,
                        is_newest && kernel_has_tunnels() &&
                        qemu_has_tunnels(bed.qts) ? TUNNELS : 0);
        bed_stop(&bed);
    }
}

static void add_tests(void)
{
    qtest_add_func("/cvsw/features/virtio-net", test_virtio_net);
    qtest_add_func("/cvsw/features/stage", test_stage);
    qtest_add_data_func("/cvsw/features/no-switch", "", test_cvsw);
    qtest_add_data_func("/cvsw/features/switch", ",control-secret=key",
                        test_cvsw);
}

int main(int argc, char **argv)
{
    return stage_test_main(argc, argv, add_tests);
}
