/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of hostvlan's qtests: see hostvlan-bed.h */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>
#include <poll.h>

#include "hostvlan-bed.h"
#include "netdev-query.h"
#include "netns.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"

#define TAP_NAME        "tap0"

/* --- the machine ---------------------------------------------------------- */

HvWriter *bed_make_table(const char *path)
{
    HvWriter *w = hv_create(path, 64, 1024);

    hv_set_lnids(w, GUEST, 1, 1);
    hv_set_lnids(w, PEER, 2, 1, 7);
    hv_set_lnids(w, OTHER, 1, 2);
    hv_set_lnids(w, ROUTER, 1, HOSTVLAN_LNID_GLOBAL);
    return w;
}

QDict *bed_query(Bed *bed)
{
    return netdev_query(bed->qts, "query-hostvlan", "hv0");
}

uint64_t bed_counter(Bed *bed, const char *direction, const char *reason)
{
    QDict *info = bed_query(bed);
    uint64_t n = qdict_get_int(qdict_get_qdict(info, direction), reason);

    qobject_unref(info);
    return n;
}

static void start_nic(Bed *bed)
{
    bed->machine.qts = bed->qts;
    pc_alloc_init(&bed->machine.alloc, bed->qts, ALLOC_NO_FLAGS);
    bed->machine.bus = qpci_new_pc(bed->qts, &bed->machine.alloc);
    if (bed->kind) {
        bed->nic = bed->kind->start(&bed->machine, bed->kind);
        nic_post(bed->nic, 0, 16);
    }
}

void bed_make_place(Bed *bed)
{
    static unsigned serial;

    bed->dir = g_strdup_printf("%s/%u", hv_tmp(), serial++);
    bed->path = g_build_filename(bed->dir, "table", NULL);
}

void bed_start(Bed *bed, const char *device, const char *options)
{
    g_autofree char *backend = NULL;
    int pair[2] = { -1, -1 };

    if (bed->tap) {
        backend = g_strdup("tap,id=net0,script=no,downscript=no,"
                           "ifname=" TAP_NAME);
    } else {
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), ==, 0);
        qemu_set_cloexec(pair[0]);
        backend = g_strdup_printf("dgram,id=net0,local.type=fd,local.str=%d",
                                  pair[1]);
    }
    bed->qts = qtest_initf("-machine pc -nodefaults -m 64 -netdev %s "
                           "-netdev hostvlan,id=hv0,netdev=net0,table=%s%s "
                           "-device %s,id=nic0,addr=%d,netdev=hv0,"
                           "mac=" GUEST_TEXT, backend, bed->path, options,
                           device, NIC_PCI_SLOT);
    if (bed->tap) {
        netns_set_up(TAP_NAME);
        bed->peer = peer_open_packets(TAP_NAME);
    } else {
        close(pair[1]);
        bed->peer = pair[0];
    }
    start_nic(bed);
}

void bed_begin(Bed *bed, const NicKind *kind, const char *options)
{
    *bed = (Bed) { .kind = kind };
    bed_make_place(bed);
    g_assert_cmpint(g_mkdir(bed->dir, 0700), ==, 0);
    bed->table = bed_make_table(bed->path);
    bed_start(bed, kind->driver, options);
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
    if (bed->table) {
        hv_close(bed->table);
    }
    g_free(bed->dir);
    g_free(bed->path);
}

void bed_settle(Bed *bed)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
    }
}

/* --- frames --------------------------------------------------------------- */

void frame_put_mac(uint8_t *p, uint64_t mac)
{
    stw_be_p(p, mac >> 32);
    stl_be_p(p + 2, mac & 0xffffffff);
}

void frame_make(uint8_t *frame, size_t len, uint64_t source, uint64_t dest,
                uint16_t type)
{
    frame_put_mac(frame, dest);
    frame_put_mac(frame + 6, source);
    stw_be_p(frame + 12, type);
    for (size_t i = 14; i < len; i++) {
        frame[i] = i * 31 + len;
    }
}

static void peer_send(Bed *bed, const uint8_t *frame, size_t len)
{
    uint8_t vnet[PEER_VNET_LEN] = { };
    struct iovec iov[] = {
        { vnet, bed->tap ? PEER_VNET_LEN : 0 }, { (void *)frame, len },
    };

    g_assert_cmpint(writev(bed->peer, iov, 2), ==, iov[0].iov_len + len);
}

static ssize_t peer_poll(Bed *bed, uint8_t *frame, size_t size)
{
    uint8_t vnet[PEER_VNET_LEN];

    return peer_poll_frame(bed->peer, vnet, bed->tap ? PEER_VNET_LEN : 0,
                           frame, size);
}

size_t peer_wait(Bed *bed, uint8_t *frame, size_t size)
{
    struct pollfd pfd = { .fd = bed->peer, .events = POLLIN };
    ssize_t len;

    while ((len = peer_poll(bed, frame, size)) < 0) {
        g_assert_cmpint(poll(&pfd, 1, NETNS_TIMEOUT_MS), ==, 1);
    }
    return len;
}

static size_t guest_wait(Bed *bed, uint8_t *frame, size_t size)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;
    ssize_t len;

    while ((len = nic_poll(bed->nic, 0, frame, size)) < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, late);
    }
    nic_post(bed->nic, 0, 1);
    return len;
}

static void guest_has_nothing(Bed *bed)
{
    uint8_t frame[FRAME_MAX];

    bed_settle(bed);
    g_assert_cmpint(nic_poll(bed->nic, 0, frame, sizeof(frame)), ==, -1);
}

void peer_has_nothing(Bed *bed)
{
    uint8_t frame[FRAME_MAX];

    bed_settle(bed);
    g_assert_cmpint(peer_poll(bed, frame, sizeof(frame)), ==, -1);
}

void bed_wait_counter(Bed *bed, const char *direction, const char *reason,
                      uint64_t n)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;

    while (bed_counter(bed, direction, reason) != n) {
        if (g_get_monotonic_time() > late) {
            g_error("%s %s is %" PRIu64 ", not %" PRIu64, direction, reason,
                    bed_counter(bed, direction, reason), n);
        }
    }
}

void frame_received(Bed *bed, const uint8_t *frame, size_t len,
                    const char *reason)
{
    uint64_t before = bed_counter(bed, "receive", reason);
    uint8_t got[FRAME_MAX];

    peer_send(bed, frame, len);
    bed_wait_counter(bed, "receive", reason, before + 1);
    if (strcmp(reason, "passed") == 0) {
        g_assert_cmpmem(got, guest_wait(bed, got, sizeof(got)), frame, len);
    }
    guest_has_nothing(bed);
}

void received_from(Bed *bed, uint64_t source, const char *reason)
{
    static const uint64_t dests[] = { GUEST, BROADCAST, 0x333300000001ull };
    uint8_t frame[FRAME_MAX];

    for (unsigned i = 0; i < ARRAY_SIZE(dests); i++) {
        frame_make(frame, 1514 - 400 * i, source, dests[i], ETHERTYPE);
        frame_received(bed, frame, 1514 - 400 * i, reason);
    }
}

void frame_sent(Bed *bed, const void *vnet, const uint8_t *frame, size_t len,
                const char *reason)
{
    uint64_t before = bed_counter(bed, "send", reason);
    uint8_t got[FRAME_MAX];

    nic_send(bed->nic, 0, vnet, frame, len);
    bed_wait_counter(bed, "send", reason, before + 1);
    if (strcmp(reason, "passed") == 0) {
        g_assert_cmpmem(got, peer_wait(bed, got, sizeof(got)), frame, len);
    }
    peer_has_nothing(bed);
}

void sent_as(Bed *bed, uint64_t source, const char *reason)
{
    static const size_t lengths[] = { 60, 100, 1514 };
    uint8_t frame[FRAME_MAX];

    for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
        frame_make(frame, lengths[i], source, PEER, ETHERTYPE);
        frame_sent(bed, NULL, frame, lengths[i], reason);
    }
}

void bed_converse(Bed *bed)
{
    received_from(bed, PEER, "passed");
    sent_as(bed, GUEST, "passed");
}

/* --- main ----------------------------------------------------------------- */

int hostvlan_test_main(int argc, char **argv, void (*add_tests)(void))
{
    hv_test_init(&argc, &argv);
    if (netns_new() < 0) {
        printf("1..0 # SKIP no network namespace: %s (not root? unshare -r)\n",
               strerror(errno));
        return 0;
    }
    add_tests();
    return g_test_run();
}
