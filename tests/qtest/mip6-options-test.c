/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: wrong options, and their reports */
#include "qemu/osdep.h"

#include <glib/gstdio.h>

#include "base/octets.h"
#include "mip6-bed.h"
#include "qobject/qlist.h"

#define HOME_IS         "netdev=h0,home-address="
#define GOOD            HOME_IS HOME ",home-prefix-length=64,home-agent=" AGENT

static void check_refused(const char *options, const char *const *says)
{
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");
    g_autofree char *line = g_strdup_printf(
        "%s -machine none -accel qtest -nodefaults -display none "
        "-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 "
        "-netdev mip6,id=mip0,%s", qemu, options);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_autofree char *text = NULL;
    int status;

    g_assert_true(g_spawn_sync(NULL, argv, NULL,
                               G_SPAWN_SEARCH_PATH |
                               G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                               &text, &status, NULL));
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    for (unsigned n = 0; n < 3 && says[n]; n++) {
        if (!strstr(text, says[n])) {
            g_error("%s: %s", options, text);
        }
    }
}

/* The message names the option, its value, and valid values. */
static void test_wrong_options(void)
{
    static const struct {
        const char *options;
        const char *says[3];
    } wrong[] = {
        { HOME_IS HOME, { "is missing" } },
        { HOME_IS "192.0.2.1,home-prefix-length=64,home-agent=" AGENT,
          { "'mip0'", "home-address=192.0.2.1 is not", "2001:db8:2000::10" } },
        { HOME_IS "fe80::1,home-prefix-length=64,home-agent=" AGENT,
          { "home-address=fe80::1 is not" } },
        { HOME_IS HOME ",home-prefix-length=64,home-agent=198.51.100.1",
          { "home-agent=198.51.100.1 is not", "2001:db8:2000::10" } },
        { HOME_IS HOME ",home-prefix-length=0,home-agent=" AGENT,
          { "home-prefix-length=0 is not 1 to 127", "64" } },
        { HOME_IS HOME ",home-prefix-length=128,home-agent=" AGENT,
          { "home-prefix-length=128 is not 1 to 127" } },
        { HOME_IS HOME ",home-prefix-length=129,home-agent=" AGENT,
          { "home-prefix-length=129 is not 1 to 127" } },
        { HOME_IS "2001:db8:2000::,home-prefix-length=64,home-agent=" AGENT,
          { "home-address=2001:db8:2000:: is the address of all routers",
            "home-prefix-length=64" } },
        { HOME_IS HOME ",home-prefix-length=124,home-agent="
          "2001:db8:2000::11", { "home-prefix-length=124" } },
        { HOME_IS HOME ",home-prefix-length=64,home-agent=2001:db8:1::1",
          { "home-agent=2001:db8:1::1 is not on the home link",
            HOME "/64", "home-prefix-length" } },
        { HOME_IS HOME ",home-prefix-length=64,home-agent=" HOME,
          { "home-agent=" HOME " is the home address" } },
        { HOME_IS "2001:db8:2000::13,home-prefix-length=125,home-agent=auto",
          { "home-agent=auto with home-prefix-length=125", "120" } },
        { HOME_IS HOME ",home-prefix-length=64,home-agent=auto,ipsec=esp",
          { "home-agent=auto with ipsec=esp", "one home agent" } },
        { GOOD ",care-of=2001:db8:2000::77",
          { "care-of=2001:db8:2000::77 is on the home link", "auto" } },
        { GOOD ",location=home,care-of=2001:db8:3000::77",
          { "care-of=2001:db8:3000::77 has no use with location=home" } },
        { GOOD ",care-of-mac=01:00:5e:00:00:01",
          { "care-of-mac=01:00:5e:00:00:01 is not a unicast MAC address" } },
        { GOOD ",guest-mac=52:54:00:00:00:09,care-of-mac=52:54:00:00:00:09",
          { "care-of-mac=52:54:00:00:00:09 is guest-mac, too" } },
        { GOOD ",mtu=1279", { "'mip0'", "mtu=1279 is not 1280 to 1500" } },
        { GOOD ",mtu=1501", { "mtu=1501 is not 1280 to 1500" } },
        { GOOD ",mtu=1k", { "mtu" } },
        { GOOD ",location=abroad", { "location", "abroad" } },
        { GOOD ",early-registration=auto",
          { "early-registration", "'on' or 'off'" } },
        { GOOD ",guest-mac=01:00:5e:00:00:01",
          { "guest-mac=01:00:5e:00:00:01 is not", "52:54:00:12:34:56" } },
        { GOOD ",router-mac=1", { "router-mac=1 is not" } },
        { "netdev=h9,home-address=" HOME ",home-prefix-length=64,home-agent="
          AGENT, { "'h9' not found", "'mip0'" } },
        { GOOD " -netdev mip6,id=mip1,netdev=h1,home-address=" HOME
          ",home-prefix-length=64,home-agent=" AGENT,
          { "'mip1'", "home-address=" HOME " is that of 'mip0'" } },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
        check_refused(wrong[i].options, wrong[i].says);
    }
}

/* The VM runs; an event and "info mip6" show what is missing. */
static void test_no_agent(void)
{
    g_autofree char *hmp = NULL;
    PacketNd nd;
    Bed bed;

    bed_start(&bed, &nic_virtio12, false, "", "");
    peer_wait_nd(&bed, PACKET_ND_RS, &nd);
    peer_advertise(&bed, FOREIGN);
    bed_wait_state(&bed, "registering", "no-answer");
    hmp = qtest_hmp(bed.qts, "info mip6");
    g_assert_nonnull(strstr(hmp, "registering (no-answer)"));
    g_assert_nonnull(strstr(hmp, "agent " AGENT));
    peer_wait_update(&bed);
    peer_wait_update(&bed);
    bed_answer(&bed, MIP6_BA_NOT_HOME_SUBNET, "registering", "refused");
    bed_end(&bed);
}

/* mtu= is what the tunnel is made for. */
static void test_mtu(void)
{
    QDict *info;
    Bed bed;

    bed_start(&bed, &nic_virtio12, false, ",mtu=1400", "");
    bed_register(&bed, FOREIGN);
    info = bed_query(&bed);
    g_assert_cmpint(qdict_get_int(info, "mtu"), ==, 1360);
    qobject_unref(info);
    bed_end(&bed);
}

/* The VM's MAC address is not guest-mac: counted, and reported once. */
static void test_spoofed_mac(void)
{
    g_autofree char *dir = g_dir_make_tmp("mip6-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "stderr", NULL);
    g_autofree char *more = g_strdup_printf("2>%s", path);
    g_autofree char *text = NULL;
    uint8_t frame[FRAME_MAX];
    size_t len = bed_packet(frame, bed_router_mac, bed_guest_mac, HOME, FAR,
                            100);
    const char *said;
    QDict *info;
    Bed bed;

    bed_start(&bed, &nic_virtio12, false,
              ",location=away,guest-mac=02:00:00:00:00:0a", more);
    bed_register(&bed, FOREIGN);
    nic_send(bed.nic, 0, NULL, frame, len);
    nic_send(bed.nic, 0, NULL, frame, len);
    bed_settle(&bed);
    g_assert_cmpint(bed_dropped(&bed, "spoofed-mac"), ==, 2);
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "guest-mac"), ==,
                    "02:00:00:00:00:0a");
    qobject_unref(info);
    bed_end(&bed);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    said = strstr(text, "guest-mac=02:00:00:00:00:0a, but the guest sends "
                  "from " GUEST_TEXT);
    g_assert_nonnull(said);
    g_assert_null(strstr(said + 1, "guest-mac="));
    g_unlink(path);
    g_rmdir(dir);
}

/* A guest that has booted away gets no DHCPv6: counted, and reported once. */
static void test_dhcp6(void)
{
    g_autofree char *dir = g_dir_make_tmp("mip6-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "stderr", NULL);
    g_autofree char *more = g_strdup_printf("2>%s", path);
    g_autofree char *text = NULL;
    const uint8_t servers_mac[] = { 0x33, 0x33, 0, 1, 0, 2 };
    uint8_t frame[FRAME_MAX];
    size_t len = bed_packet(frame, servers_mac, bed_guest_mac, "fe80::a",
                            "ff02::1:2", 100);
    const char *said;
    Bed bed;

    put_be16(frame + PACKET_ETH_LEN + PACKET_IP6_LEN + 2, 547);
    bed_start(&bed, &nic_virtio12, false, ",location=away", more);
    bed_register(&bed, FOREIGN);
    nic_send(bed.nic, 0, NULL, frame, len);
    nic_send(bed.nic, 0, NULL, frame, len);
    bed_settle(&bed);
    g_assert_cmpint(bed_dropped(&bed, "dhcpv6"), ==, 2);
    g_assert_cmpint(bed_dropped(&bed, "multicast"), ==, 0);
    bed_end(&bed);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    said = strstr(text, "the guest asks for DHCPv6");
    g_assert_nonnull(said);
    g_assert_null(strstr(said + 1, "the guest asks"));
    g_unlink(path);
    g_rmdir(dir);
}

/* netdev_add reports the same, and a refused netdev leaves nothing behind. */
static void test_added(void)
{
    static const char add[] =
        "{ 'execute': 'netdev_add', 'arguments': { 'type': 'mip6', "
        "'id': 'mip1', 'netdev': 'net1', 'home-address': %s, "
        "'home-prefix-length': 64, 'home-agent': '" AGENT "' } }";
    QDict *error;
    Bed bed;

    bed_start(&bed, &nic_virtio12, false, "", "");
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_add', "
                             "'arguments': { 'type': 'hubport', "
                             "'id': 'net1', 'hubid': 1 } }");
    for (unsigned i = 0; i < 3; i++) {
        error = qtest_qmp_assert_failure_ref(bed.qts, add, HOME);
        g_assert_nonnull(strstr(qdict_get_str(error, "desc"),
                                "is that of 'mip0' already"));
        qobject_unref(error);
        qtest_qmp_assert_success(bed.qts, add, "2001:db8:2000::11");
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                                 "'arguments': { 'id': 'mip1' } }");
    }
    bed_end(&bed);
}

static void add_tests(void)
{
    qtest_add_func("/mip6/wrong-options", test_wrong_options);
    qtest_add_func("/mip6/no-agent", test_no_agent);
    qtest_add_func("/mip6/mtu", test_mtu);
    qtest_add_func("/mip6/spoofed-mac", test_spoofed_mac);
    qtest_add_func("/mip6/dhcpv6", test_dhcp6);
    qtest_add_func("/mip6/added", test_added);
}

int main(int argc, char **argv)
{
    return mip6_test_main(argc, argv, add_tests);
}
