/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: frames at home and away, and held frames */
#include "qemu/osdep.h"

#include <glib/gstdio.h>

#include "mip6-bed.h"
#include "netns.h"

/* Without a virtio-net header behind the stage, and with one. */
static bool is_tap(const void *data)
{
    return GPOINTER_TO_INT(data);
}

static void test_home(const void *data)
{
    uint8_t frame[FRAME_MAX], got[FRAME_MAX];
    size_t len;
    Bed bed;

    bed_start(&bed, &nic_virtio12, is_tap(data), "", "");
    len = bed_packet(frame, bed_router_mac, bed_guest_mac, HOME, FAR, 1400);
    nic_send(bed.nic, 0, NULL, frame, len);
    do {
        /* RS and DAD of the host, for a later move, are on the link, too. */
        g_assert_cmpuint(peer_wait(&bed, got, sizeof(got)), >, 0);
    } while (memcmp(got + 6, bed_guest_mac, 6));
    g_assert_cmpmem(got, len, frame, len);
    len = bed_packet(frame, bed_guest_mac, bed_router_mac, FAR, HOME, 100);
    peer_send(&bed, frame, len);
    do {
        /* So are groups of the host's kernel, on its tap. */
        g_assert_cmpuint(guest_wait(&bed, got, sizeof(got)), >, 0);
    } while (packet_eth_is_group(got));
    g_assert_cmpmem(got, len, frame, len);
    bed_end(&bed);
}

/* The guest gets a tunnelled packet, without the tunnel. */
static void check_tunnel_in(Bed *bed)
{
    uint8_t inner[FRAME_MAX], got[FRAME_MAX];
    size_t len = bed_packet(inner, bed_guest_mac, bed_router_mac, FAR, HOME,
                            100);

    peer_tunnel(bed, inner + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
    do {
        g_assert_cmpuint(guest_wait(bed, got, sizeof(got)), >, 0);
    } while (packet_eth_is_group(got));
    g_assert_cmpmem(got, 6, bed_guest_mac, 6);
    g_assert_cmpmem(got + PACKET_ETH_LEN, len - PACKET_ETH_LEN,
                    inner + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
}

/* The next tunnelled packet on the link is that of the guest's @frame. */
static void expect_tunnelled(Bed *bed, const uint8_t *frame, size_t len)
{
    struct in6_addr agent = bed_address(AGENT);
    uint8_t got[FRAME_MAX];
    PacketIp6 outer;
    size_t size;

    do {
        size = peer_wait(bed, got, sizeof(got));
        g_assert_true(packet_ip6_parse(&outer, got + PACKET_ETH_LEN,
                                       size - PACKET_ETH_LEN));
    } while (outer.next != PACKET_PROTO_IP6);
    g_assert_cmpmem(got, 6, bed_router_mac, 6);
    g_assert_cmpmem(got + 6, 6, bed->node_mac, 6);
    g_assert_cmpmem(&outer.src, 16, &bed->care_of, 16);
    g_assert_cmpmem(&outer.dst, 16, &agent, 16);
    g_assert_cmpmem(got + 54, size - 54, frame + PACKET_ETH_LEN,
                    len - PACKET_ETH_LEN);
}

static void check_tunnel_out(Bed *bed)
{
    uint8_t frame[FRAME_MAX];
    size_t len = bed_packet(frame, bed_router_mac, bed_guest_mac, HOME, FAR,
                            100);

    nic_send(bed->nic, 0, NULL, frame, len);
    expect_tunnelled(bed, frame, len);
}

static void test_away(const void *data)
{
    PacketNd nd;
    QDict *info;
    Bed bed;

    bed_start(&bed, &nic_virtio12, is_tap(data), "", "");
    peer_wait_nd(&bed, PACKET_ND_RS, &nd);
    peer_advertise(&bed, FOREIGN);
    do {
        peer_wait_nd(&bed, PACKET_ND_NS, &nd);
        g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&nd.src));
    } while (IN6_IS_ADDR_LINKLOCAL(&nd.target));
    peer_wait_update(&bed);
    g_assert_cmpmem(&bed.care_of, 16, &nd.target, 16);
    g_assert_cmpint(bed.update.lifetime, ==, 150);
    bed_bind(&bed);
    /* The guest has sent nothing: its MAC address is that of the NIC. */
    check_tunnel_in(&bed);
    check_tunnel_out(&bed);
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "state"), ==, "bound");
    g_assert_cmpstr(qdict_get_str(info, "guest-mac"), ==, GUEST_TEXT);
    g_assert_cmpint(qdict_get_int(info, "remaining"), >, 500);
    g_assert_cmpint(qdict_get_int(info, "sent"), ==, 1);
    g_assert_cmpint(qdict_get_int(info, "received"), ==, 1);
    qobject_unref(info);
    bed_end(&bed);
}

/* A frame that waits for a binding is sent when there is one, once. */
static void test_held(void)
{
    uint8_t frame[FRAME_MAX];
    size_t len = bed_packet(frame, bed_router_mac, bed_guest_mac, HOME, FAR,
                            100);
    PacketNd nd;
    Bed bed;

    bed_start(&bed, &nic_virtio12, false, ",location=away", "");
    peer_wait_nd(&bed, PACKET_ND_RS, &nd);
    nic_send(bed.nic, 0, NULL, frame, len);
    bed_settle(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'cont' }");
    peer_advertise(&bed, FOREIGN);
    peer_wait_update(&bed);
    nic_send(bed.nic, 0, NULL, frame, len);
    bed_bind(&bed);
    expect_tunnelled(&bed, frame, len);
    bed_end(&bed);
}

/* Reset, unplugged, deleted: with waiting frames of both sides. */
static void test_ends_held(void)
{
    uint8_t frame[FRAME_MAX];
    size_t len = bed_packet(frame, bed_router_mac, bed_guest_mac, HOME, FAR,
                            100);
    Bed bed;

    bed_start(&bed, &nic_virtio12, false, ",location=away", "");
    for (unsigned i = 0; i < 8; i++) {
        nic_send(bed.nic, 0, NULL, frame, len);
    }
    bed_settle(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(bed.qts, "RESET");
    bed_settle(&bed);
    nic_forget(bed.nic);
    bed.nic = bed.kind->start(&bed.machine, bed.kind);
    nic_post(bed.nic, 0, 16);
    for (unsigned i = 0; i < 8; i++) {
        nic_send(bed.nic, 0, NULL, frame, len);
    }
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                             "'arguments': { 'id': 'mip0' } }");
    bed_settle(&bed);
    nic_free(bed.nic);
    bed.nic = NULL;
    qpci_unplug_acpi_device_test(bed.qts, "nic0", NIC_PCI_SLOT);
    bed_settle(&bed);
    bed_end(&bed);
}

static bool migration_is(QTestState *qts, const char *state)
{
    QDict *resp = qtest_qmp_assert_success_ref(
        qts, "{ 'execute': 'query-migrate' }");
    bool is = qdict_haskey(resp, "status") &&
              g_str_equal(qdict_get_str(resp, "status"), state);

    g_assert_false(qdict_haskey(resp, "error-desc"));
    qobject_unref(resp);
    return is;
}

/* A file that a VM is saved in. */
typedef struct Saved {
    char *dir, *path, *uri, *incoming;
} Saved;

static void saved_make(Saved *saved)
{
    saved->dir = g_dir_make_tmp("mip6-XXXXXX", NULL);
    saved->path = g_build_filename(saved->dir, "state", NULL);
    saved->uri = g_strdup_printf("file:%s", saved->path);
    saved->incoming = g_strdup_printf("-incoming %s", saved->uri);
}

static void saved_remove(Saved *saved)
{
    g_unlink(saved->path);
    g_rmdir(saved->dir);
    g_free(saved->incoming);
    g_free(saved->uri);
    g_free(saved->path);
    g_free(saved->dir);
}

/* Migration of a few megabytes is short. */
static void wait_migrated(Bed *bed)
{
    while (!migration_is(bed->qts, "completed")) {
        /* ask again */
    }
}

/* Saves the VM, and ends this QEMU. */
static void bed_save(Bed *bed, const Saved *saved)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", saved->uri);
    wait_migrated(bed);
    nic_forget(bed->nic);
    bed->nic = NULL;
    bed_end(bed);
}

/* A saved VM continues its sequence, and knows its earlier binding. */
static void test_saved(void)
{
    uint16_t sequence;
    Saved saved;
    PacketNd nd;
    QDict *info;
    Bed bed;

    saved_make(&saved);
    bed_start(&bed, &nic_virtio12, false, "", "");
    bed_register(&bed, FOREIGN);
    check_tunnel_out(&bed);
    sequence = bed.update.sequence;
    bed_save(&bed, &saved);

    bed_start(&bed, &nic_virtio12, false, "", saved.incoming);
    peer_wait_nd(&bed, PACKET_ND_RS, &nd);
    peer_advertise(&bed, FOREIGN_2);
    wait_migrated(&bed);
    info = bed_query(&bed);
    g_assert_cmpint(qdict_get_int(info, "remaining"), >, 500);
    g_assert_cmpstr(qdict_get_str(info, "guest-mac"), ==, GUEST_TEXT);
    qobject_unref(info);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'cont' }");
    peer_wait_update(&bed);
    g_assert_cmpint(bed.update.sequence, ==, (uint16_t)(sequence + 1));
    g_assert_cmpint(bed.care_of.s6_addr[4], ==, 0x40);
    bed_bind(&bed);
    bed_end(&bed);
    saved_remove(&saved);
}

/* Returns: true if the care-of address answers a solicitation. */
static bool care_of_answers(Bed *bed)
{
    struct in6_addr router = packet_ip6_link_local(bed_router_mac);
    uint8_t frame[FRAME_MAX];
    uint8_t vnet[PEER_VNET_LEN];
    bool answers = false;
    PacketNd nd;
    ssize_t len;

    packet_eth_build(frame, bed->node_mac, bed_router_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &router, &bed->care_of,
                             &bed->care_of, bed_router_mac);
    peer_send(bed, frame, PACKET_ETH_LEN + len);
    bed_settle(bed);
    while ((len = peer_poll_frame(bed->peer, vnet, 0, frame,
                                  sizeof(frame))) >= 0) {
        answers |= packet_nd_parse(&nd, frame + PACKET_ETH_LEN,
                                   len - PACKET_ETH_LEN) &&
                   nd.type == PACKET_ND_NA;
    }
    return answers;
}

static void del_netdev(Bed *bed)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'netdev_del', "
                             "'arguments': { 'id': 'mip0' } }");
}

static void add_netdev(Bed *bed, const char *behind)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'netdev_add', "
                             "'arguments': { 'type': 'mip6', 'id': 'mip0', "
                             "'netdev': %s, 'home-address': '" HOME "', "
                             "'home-prefix-length': 64, "
                             "'home-agent': '" AGENT "' } }", behind);
}

/* The NIC of a deleted netdev goes; it gets a new one of the same ID. */
static void replug_nic(Bed *bed)
{
    nic_free(bed->nic);
    bed->nic = NULL;
    qpci_unplug_acpi_device_test(bed->qts, "nic0", NIC_PCI_SLOT);
    bed_settle(bed);
    del_netdev(bed);
    add_netdev(bed, "net0");            /* which is free again */
    qtest_qmp_device_add(bed->qts, bed->kind->driver, "nic0",
                         "{ 'addr': '4', 'netdev': 'mip0', "
                         "'mac': '" GUEST_TEXT "' }");
    bed->nic = bed->kind->start(&bed->machine, bed->kind);
    nic_post(bed->nic, 0, 16);
}

/*
 * A netdev that is deleted under its NIC ends at once: it sends no more, and
 * the next one may have its ID. The VM migrates, with the NIC that has lost its
 * netdev, and with the next NIC.
 */
static void test_deleted(const void *replugged)
{
    Saved saved;
    QDict *info;
    Bed bed;

    saved_make(&saved);
    bed_start(&bed, &nic_virtio12, false, "", "");
    bed_register(&bed, FOREIGN);
    g_assert_true(care_of_answers(&bed));
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_add', "
                             "'arguments': { 'type': 'hubport', "
                             "'id': 'net1', 'hubid': 1 } }");
    for (unsigned i = 0; i < 3; i++) {
        del_netdev(&bed);
        add_netdev(&bed, "net1");
        g_assert_false(care_of_answers(&bed));
    }
    info = bed_query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "netdev"), ==, "net1");
    qobject_unref(info);
    if (replugged) {
        replug_nic(&bed);
        bed_register(&bed, FOREIGN_2);
        check_tunnel_out(&bed);
    }
    bed_save(&bed, &saved);
    bed_start(&bed, &nic_virtio12, false, "", saved.incoming);
    wait_migrated(&bed);
    bed_end(&bed);
    saved_remove(&saved);
}

static void add_tests(void)
{
    qtest_add_data_func("/mip6/home/plain", GINT_TO_POINTER(false), test_home);
    qtest_add_data_func("/mip6/home/vnet", GINT_TO_POINTER(true), test_home);
    qtest_add_data_func("/mip6/away/plain", GINT_TO_POINTER(false), test_away);
    qtest_add_data_func("/mip6/away/vnet", GINT_TO_POINTER(true), test_away);
    qtest_add_func("/mip6/held", test_held);
    qtest_add_func("/mip6/ends-held", test_ends_held);
    qtest_add_func("/mip6/saved", test_saved);
    qtest_add_data_func("/mip6/deleted/plugged", NULL, test_deleted);
    qtest_add_data_func("/mip6/deleted/replugged", "replugged", test_deleted);
}

int main(int argc, char **argv)
{
    return mip6_test_main(argc, argv, add_tests);
}
