/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bed of all qtests of mip6: see mip6-bed.h */
#include "qemu/osdep.h"

#include <poll.h>

#include "mip6-bed.h"
#include "netdev-query.h"
#include "netns.h"
#include "qobject/qlist.h"
#include "qemu/sockets.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"

#define TAP_NAME        "tap0"

const uint8_t bed_guest_mac[] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
const uint8_t bed_router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };

/* --- the machine ---------------------------------------------------------- */

static char *open_link(Bed *bed, int *qemus)
{
    int pair[2];

    if (bed->tap) {
        *qemus = -1;
        return g_strdup("tap,id=net0,script=no,downscript=no,"
                        "ifname=" TAP_NAME);
    }
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), ==, 0);
    qemu_set_cloexec(pair[0]);
    bed->peer = pair[0];
    *qemus = pair[1];
    return g_strdup_printf("dgram,id=net0,local.type=fd,local.str=%d",
                           pair[1]);
}

void bed_start(Bed *bed, const NicKind *kind, bool tap, const char *options,
               const char *more)
{
    g_autofree char *backend = NULL;
    int qemus;

    *bed = (Bed) { .kind = kind, .tap = tap };
    backend = open_link(bed, &qemus);
    bed->qts = qtest_initf("-machine pc -nodefaults -m 64 -netdev %s "
                           "-netdev " MIP6_ARGS "%s -device %s,id=nic0,"
                           "addr=%d,netdev=mip0,mac=" GUEST_TEXT " %s",
                           backend, options, kind->driver, NIC_PCI_SLOT, more);
    if (tap) {
        netns_set_up(TAP_NAME);
        bed->peer = peer_open_packets(TAP_NAME);
    } else {
        close(qemus);
    }
    bed->machine.qts = bed->qts;
    pc_alloc_init(&bed->machine.alloc, bed->qts, ALLOC_NO_FLAGS);
    bed->machine.bus = qpci_new_pc(bed->qts, &bed->machine.alloc);
    if (!strstr(more, "-incoming")) {
        bed->nic = kind->start(&bed->machine, kind);
        nic_post(bed->nic, 0, 16);
    }
}

void bed_end(Bed *bed)
{
    if (bed->nic) {
        nic_free(bed->nic);
    }
    qpci_free_pc(bed->machine.bus);
    alloc_destroy(&bed->machine.alloc);
    qtest_quit(bed->qts);
    close(bed->peer);
}

void bed_settle(Bed *bed)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
    }
}

QDict *bed_query(Bed *bed)
{
    return netdev_query(bed->qts, "query-mip6", "mip0");
}

uint64_t bed_dropped(Bed *bed, const char *reason)
{
    QDict *info = bed_query(bed);
    const QListEntry *entry;
    uint64_t count = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "dropped"), entry) {
        QDict *drop = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(drop, "reason"), reason)) {
            count = qdict_get_int(drop, "count");
        }
    }
    qobject_unref(info);
    return count;
}

static bool says(const QDict *data, const char *state, const char *reason)
{
    return g_str_equal(qdict_get_str(data, "state"), state) &&
           g_str_equal(qdict_get_str(data, "reason"), reason);
}

void bed_wait_state(Bed *bed, const char *state, const char *reason)
{
    bool found = false;

    while (!found) {
        QDict *event = qtest_qmp_eventwait_ref(bed->qts, "MIP6_STATE");
        QDict *data = qdict_get_qdict(event, "data");

        found = says(data, state, reason);
        qobject_unref(event);
    }
}

struct in6_addr bed_address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

size_t bed_packet(uint8_t *frame, const uint8_t *dst_mac,
                  const uint8_t *src_mac, const char *src, const char *dst,
                  size_t payload)
{
    PacketIp6 ip = {
        .src = bed_address(src), .dst = bed_address(dst), .hops = 64,
        .next = PACKET_PROTO_UDP, .payload = payload,
    };

    packet_eth_build(frame, dst_mac, src_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    memset(frame + PACKET_ETH_LEN + PACKET_IP6_LEN, 0x5a, payload);
    return PACKET_ETH_LEN + PACKET_IP6_LEN + payload;
}

/* --- the link ------------------------------------------------------------- */

void peer_send(Bed *bed, const uint8_t *frame, size_t len)
{
    uint8_t vnet[PEER_VNET_LEN] = { };
    struct iovec iov[] = {
        { vnet, bed->tap ? PEER_VNET_LEN : 0 }, { (void *)frame, len },
    };

    g_assert_cmpint(writev(bed->peer, iov, 2), ==, iov[0].iov_len + len);
}

size_t peer_wait(Bed *bed, uint8_t *frame, size_t size)
{
    struct pollfd pfd = { .fd = bed->peer, .events = POLLIN };
    uint8_t vnet[PEER_VNET_LEN];
    ssize_t len;

    while ((len = peer_poll_frame(bed->peer, vnet,
                                  bed->tap ? PEER_VNET_LEN : 0, frame,
                                  size)) < 0) {
        g_assert_cmpint(poll(&pfd, 1, NETNS_TIMEOUT_MS), ==, 1);
    }
    return len;
}

void peer_wait_nd(Bed *bed, uint8_t type, PacketNd *nd)
{
    uint8_t frame[FRAME_MAX];
    size_t len;

    do {
        len = peer_wait(bed, frame, sizeof(frame));
    } while (len < PACKET_ETH_LEN ||
             !packet_nd_parse(nd, frame + PACKET_ETH_LEN,
                              len - PACKET_ETH_LEN) || nd->type != type);
    memcpy(bed->node_mac, frame + PACKET_ETH_ADDR_LEN, PACKET_ETH_ADDR_LEN);
    /* No frame of the guest is on a foreign link. */
    g_assert_cmpint(memcmp(bed->node_mac, bed_guest_mac, 6), !=, 0);
}

void peer_wait_update(Bed *bed)
{
    struct in6_addr home = bed_address(HOME), agent = bed_address(AGENT), hao;
    uint8_t frame[FRAME_MAX];
    const uint8_t *packet = frame + PACKET_ETH_LEN;
    PacketIp6Ext ext;
    PacketIp6 ip;
    size_t len;

    do {
        len = peer_wait(bed, frame, sizeof(frame)) - PACKET_ETH_LEN;
    } while (!packet_ip6_parse(&ip, packet, len) ||
             !packet_ip6_walk(&ext, packet, len) ||
             ext.next != PACKET_PROTO_MH);
    g_assert_cmpmem(frame, 6, bed_router_mac, 6);
    g_assert_cmpmem(frame + 6, 6, bed->node_mac, 6);
    g_assert_cmpmem(&ip.dst, 16, &agent, 16);
    g_assert_cmpint(ip.next, ==, PACKET_PROTO_DSTOPTS);
    g_assert_true(mip6_hao_parse(&hao, packet + PACKET_IP6_LEN, MIP6_HAO_LEN));
    g_assert_cmpmem(&hao, 16, &home, 16);
    g_assert_cmpint(mip6_mh_parse(&bed->update, &home, &agent,
                                  packet + ext.offset, len - ext.offset), ==,
                    MIP6_MH_GOOD);
    g_assert_cmpint(bed->update.type, ==, MIP6_MH_BU);
    g_assert_cmphex(bed->update.flags, ==, MIP6_BU_ACK | MIP6_BU_HOME);
    g_assert_true(bed->update.has_alternate);
    g_assert_cmpmem(&bed->update.alternate, 16, &ip.src, 16);
    bed->care_of = ip.src;
}

void peer_advertise(Bed *bed, const char *prefix)
{
    struct in6_addr src = packet_ip6_link_local(bed_router_mac);
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = 1800, .prefixes = 1,
        .prefix[0] = { bed_address(prefix), 64, true, true, false, 7200,
                       3600 },
    };
    uint8_t frame[512], group[PACKET_ETH_ADDR_LEN];
    size_t len;

    packet_eth_group6(group, &packet_ip6_all_nodes);
    packet_eth_build(frame, group, bed_router_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                             sizeof(frame) - PACKET_ETH_LEN, &src,
                             &packet_ip6_all_nodes, &ra, bed_router_mac);
    peer_send(bed, frame, PACKET_ETH_LEN + len);
}

/* Behind @frame's IPv6 header are @payload octets for the care-of address. */
static void send_from_agent(Bed *bed, uint8_t *frame, uint8_t next,
                            size_t payload)
{
    PacketIp6 ip = {
        .src = bed_address(AGENT), .dst = bed->care_of, .next = next,
        .hops = 64, .payload = payload,
    };

    packet_eth_build(frame, bed->node_mac, bed_router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    peer_send(bed, frame, PACKET_ETH_LEN + PACKET_IP6_LEN + payload);
}

void peer_acknowledge(Bed *bed, uint8_t status)
{
    struct in6_addr home = bed_address(HOME), agent = bed_address(AGENT);
    uint8_t frame[256], *at = frame + PACKET_ETH_LEN + PACKET_IP6_LEN;
    Mip6Mh ba = {
        .type = MIP6_MH_BA, .status = status,
        .sequence = bed->update.sequence, .lifetime = bed->update.lifetime,
    };
    size_t len = mip6_rh2_build(at, PACKET_PROTO_MH, &home);

    len += mip6_mh_build(at + len, 128, &agent, &home, &ba);
    send_from_agent(bed, frame, PACKET_PROTO_ROUTING, len);
}

void peer_tunnel(Bed *bed, const uint8_t *inner, size_t len)
{
    uint8_t frame[FRAME_MAX];

    memcpy(frame + PACKET_ETH_LEN + PACKET_IP6_LEN, inner, len);
    send_from_agent(bed, frame, PACKET_PROTO_IP6, len);
}

/* Returns: the next header of the waiting frame, which stays; -1: none. */
static int peer_peek(Bed *bed)
{
    uint8_t buf[PEER_VNET_LEN + FRAME_MAX];
    size_t at = (bed->tap ? PEER_VNET_LEN : 0) + PACKET_ETH_LEN;
    ssize_t len = recv(bed->peer, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
    PacketIp6 ip;

    if (len < 0) {
        return -1;
    }
    return len > at && packet_ip6_parse(&ip, buf + at, len - at)
           ? ip.next : PACKET_PROTO_NONE;
}

static bool has_state(Bed *bed, const char *state, const char *reason)
{
    QDict *info = bed_query(bed);
    bool has = says(info, state, reason);

    qobject_unref(info);
    return has;
}

void bed_answer(Bed *bed, uint8_t status, const char *state, const char *reason)
{
    uint8_t frame[FRAME_MAX];
    int next;

    peer_acknowledge(bed, status);
    while (!has_state(bed, state, reason)) {
        next = peer_peek(bed);
        if (next == PACKET_PROTO_DSTOPTS) {
            peer_wait_update(bed);
            peer_acknowledge(bed, status);
        } else if (next >= 0 && next != PACKET_PROTO_IP6) {
            peer_wait(bed, frame, sizeof(frame));
        }
    }
    bed_wait_state(bed, state, reason);
}

void bed_bind(Bed *bed)
{
    bed_answer(bed, MIP6_BA_ACCEPTED, "bound", "none");
}

void bed_register(Bed *bed, const char *prefix)
{
    PacketNd nd;

    peer_wait_nd(bed, PACKET_ND_RS, &nd);
    peer_advertise(bed, prefix);
    peer_wait_update(bed);
    bed_bind(bed);
}

/* --- the guest ------------------------------------------------------------ */

size_t guest_wait(Bed *bed, uint8_t *frame, size_t size)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;
    ssize_t len;

    while ((len = nic_poll(bed->nic, 0, frame, size)) < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, late);
    }
    nic_post(bed->nic, 0, 1);
    return len;
}

int mip6_test_main(int argc, char **argv, void (*add_tests)(void))
{
    g_test_init(&argc, &argv, NULL);
    if (netns_new() < 0) {
        printf("1..0 # SKIP no network namespace: %s (not root? unshare -r)\n",
               strerror(errno));
        return 0;
    }
    add_tests();
    return g_test_run();
}
