/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -netdev hostvlan: who reaches whom, and what becomes of the table
 *
 * The test is the guest (stage-nic.c), it is the network behind the netdev
 * (a pair of sockets, or a tap where virtio-net headers matter), and it is who
 * writes the table (hostvlan-fixture.c).  In the table the guest is in LNID 1
 * with PEER; OTHER is in LNID 2, ROUTER in the global one, and a STRANGER is
 * not there.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "netns.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "stage-nic.h"
#include "standard-headers/linux/virtio_net.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/unit/vmmnet/hostvlan-fixture.h"

#define GUEST           0x525400123456ull
#define GUEST_TEXT      "52:54:00:12:34:56"
#define PEER            0x020000000001ull
#define OTHER           0x020000000002ull
#define ROUTER          0x020000000003ull
#define STRANGER        0x020000000004ull
#define BROADCAST       0xffffffffffffull

#define ETHERTYPE       0x88b5          /* IEEE 802: for local experiments */
#define VNET_LEN        10              /* of the packet socket */
#define FRAME_MAX       2000
#define TAP_NAME        "tap0"

typedef struct Bed {
    Machine machine;
    QTestState *qts;
    const NicKind *kind;
    Nic *nic;                           /* NULL: not driven */
    bool tap;
    int peer;
    char *dir, *path;
    HvWriter *table;                    /* NULL: none */
} Bed;

/* --- the network ---------------------------------------------------------- */

static void tap_set_up(void)
{
    struct ifreq ifr = { .ifr_name = TAP_NAME, .ifr_flags = IFF_UP };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret = ioctl(fd, SIOCSIFFLAGS, &ifr);

    g_assert_cmpint(ret, ==, 0);
    close(fd);
}

static int packet_socket_open(void)
{
    struct sockaddr_ll ll = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = if_nametoindex(TAP_NAME),
    };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    int on = 1;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on,
                               sizeof(on)), ==, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&ll, sizeof(ll)), ==, 0);
    return fd;
}

/* --- the machine ---------------------------------------------------------- */

static HvWriter *make_table(const char *path)
{
    HvWriter *w = hv_create(path, 64, 1024);

    hv_set_lnids(w, GUEST, 1, 1);
    hv_set_lnids(w, PEER, 2, 1, 7);
    hv_set_lnids(w, OTHER, 1, 2);
    hv_set_lnids(w, ROUTER, 1, HOSTVLAN_LNID_GLOBAL);
    return w;
}

/* What QMP says of the port; the caller's to unref. */
static QDict *query(Bed *bed)
{
    QDict *resp = qtest_qmp(bed->qts, "{ 'execute': 'query-hostvlan', "
                            "'arguments': { 'id': 'hv0' } }");
    QList *list = qdict_get_qlist(resp, "return");
    QDict *info;

    g_assert_nonnull(list);
    g_assert_cmpuint(qlist_size(list), ==, 1);
    info = qobject_to(QDict, qlist_peek(list));
    qobject_ref(info);
    qobject_unref(resp);
    return info;
}

static uint64_t counter(Bed *bed, const char *direction, const char *reason)
{
    QDict *info = query(bed);
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

/* A folder with a path for a table in it. */
static void make_place(Bed *bed)
{
    static unsigned serial;

    bed->dir = g_strdup_printf("%s/%u", hv_tmp(), serial++);
    bed->path = g_build_filename(bed->dir, "table", NULL);
}

/* @device: of -device, with its options; @options: of the netdev. */
static void start(Bed *bed, const char *device, const char *options)
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
        tap_set_up();
        bed->peer = packet_socket_open();
    } else {
        close(pair[1]);
        bed->peer = pair[0];
    }
    start_nic(bed);
}

/* The usual: the table is there from the beginning. */
static void begin(Bed *bed, const NicKind *kind, const char *options)
{
    *bed = (Bed) { .kind = kind };
    make_place(bed);
    g_assert_cmpint(g_mkdir(bed->dir, 0700), ==, 0);
    bed->table = make_table(bed->path);
    start(bed, kind->driver, options);
}

static void end(Bed *bed)
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

static void settle(Bed *bed)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
    }
}

/* --- frames --------------------------------------------------------------- */

static void put_mac(uint8_t *p, uint64_t mac)
{
    stw_be_p(p, mac >> 32);
    stl_be_p(p + 2, mac & 0xffffffff);
}

static void make_frame(uint8_t *frame, size_t len, uint64_t source,
                       uint64_t dest, uint16_t type)
{
    put_mac(frame, dest);
    put_mac(frame + 6, source);
    stw_be_p(frame + 12, type);
    for (size_t i = 14; i < len; i++) {
        frame[i] = i * 31 + len;
    }
}

static void peer_send(Bed *bed, const uint8_t *frame, size_t len)
{
    uint8_t vnet[VNET_LEN] = { };
    struct iovec iov[] = {
        { vnet, bed->tap ? VNET_LEN : 0 }, { (void *)frame, len },
    };

    g_assert_cmpint(writev(bed->peer, iov, 2), ==, iov[0].iov_len + len);
}

/* Of our type, or RARP; -1 if there is none. */
static ssize_t peer_poll(Bed *bed, uint8_t *frame, size_t size)
{
    uint8_t vnet[VNET_LEN];
    struct iovec iov[] = {
        { vnet, bed->tap ? VNET_LEN : 0 }, { frame, size },
    };
    struct sockaddr_ll from = { };
    struct msghdr msg = {
        .msg_iov = iov, .msg_iovlen = 2,
        .msg_name = bed->tap ? &from : NULL,
        .msg_namelen = bed->tap ? sizeof(from) : 0,
    };
    ssize_t n;

    while ((n = recvmsg(bed->peer, &msg, MSG_DONTWAIT)) >= 0) {
        if (from.sll_pkttype != PACKET_OUTGOING) {
            return n - iov[0].iov_len;
        }
    }
    g_assert_cmpint(errno, ==, EAGAIN);
    return -1;
}

static size_t peer_wait(Bed *bed, uint8_t *frame, size_t size)
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

    settle(bed);
    g_assert_cmpint(nic_poll(bed->nic, 0, frame, sizeof(frame)), ==, -1);
}

static void peer_has_nothing(Bed *bed)
{
    uint8_t frame[FRAME_MAX];

    settle(bed);
    g_assert_cmpint(peer_poll(bed, frame, sizeof(frame)), ==, -1);
}

static void wait_counter(Bed *bed, const char *direction, const char *reason,
                         uint64_t n)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;

    while (counter(bed, direction, reason) != n) {
        if (g_get_monotonic_time() > late) {
            g_error("%s %s is %" PRIu64 ", not %" PRIu64, direction, reason,
                    counter(bed, direction, reason), n);
        }
    }
}

/* Any frame to the guest: what becomes of it, and that it is counted so. */
static void frame_received(Bed *bed, const uint8_t *frame, size_t len,
                           const char *reason)
{
    uint64_t before = counter(bed, "receive", reason);
    uint8_t got[FRAME_MAX];

    peer_send(bed, frame, len);
    wait_counter(bed, "receive", reason, before + 1);
    if (strcmp(reason, "passed") == 0) {
        g_assert_cmpmem(got, guest_wait(bed, got, sizeof(got)), frame, len);
    }
    guest_has_nothing(bed);
}

static void received_from(Bed *bed, uint64_t source, const char *reason)
{
    static const uint64_t dests[] = { GUEST, BROADCAST, 0x333300000001ull };
    uint8_t frame[FRAME_MAX];

    for (unsigned i = 0; i < ARRAY_SIZE(dests); i++) {
        make_frame(frame, 1514 - 400 * i, source, dests[i], ETHERTYPE);
        frame_received(bed, frame, 1514 - 400 * i, reason);
    }
}

static void frame_sent(Bed *bed, const void *vnet, const uint8_t *frame,
                       size_t len, const char *reason)
{
    uint64_t before = counter(bed, "send", reason);
    uint8_t got[FRAME_MAX];

    nic_send(bed->nic, 0, vnet, frame, len);
    wait_counter(bed, "send", reason, before + 1);
    if (strcmp(reason, "passed") == 0) {
        g_assert_cmpmem(got, peer_wait(bed, got, sizeof(got)), frame, len);
    }
    peer_has_nothing(bed);
}

static void sent_as(Bed *bed, uint64_t source, const char *reason)
{
    static const size_t lengths[] = { 60, 100, 1514 };
    uint8_t frame[FRAME_MAX];

    for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
        make_frame(frame, lengths[i], source, PEER, ETHERTYPE);
        frame_sent(bed, NULL, frame, lengths[i], reason);
    }
}

/* A frame each way. */
static void converse(Bed *bed)
{
    received_from(bed, PEER, "passed");
    sent_as(bed, GUEST, "passed");
}

/* --- verdicts ------------------------------------------------------------- */

static void check_verdicts(const NicKind *kind)
{
    Bed bed;

    begin(&bed, kind, "");
    converse(&bed);
    received_from(&bed, ROUTER, "passed");
    received_from(&bed, OTHER, "other-tenant");
    received_from(&bed, STRANGER, "unknown-source");
    received_from(&bed, BROADCAST, "unknown-source");
    received_from(&bed, 0, "unknown-source");
    sent_as(&bed, PEER, "spoofed");
    sent_as(&bed, GUEST ^ 1, "spoofed");
    sent_as(&bed, BROADCAST, "spoofed");
    converse(&bed);
    end(&bed);
}

static void test_verdicts_virtio(void)
{
    check_verdicts(&nic_virtio12);
}

static void test_verdicts_e1000(void)
{
    check_verdicts(&nic_e1000);
}

/* What is changed in the table holds for the next frame. */
static void test_changes(void)
{
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    received_from(&bed, OTHER, "other-tenant");
    hv_set_lnids(bed.table, GUEST, 2, 1, 2);
    received_from(&bed, OTHER, "passed");
    received_from(&bed, PEER, "passed");
    hv_set_lnids(bed.table, OTHER, 1, 3);
    received_from(&bed, OTHER, "other-tenant");
    hv_remove(bed.table, PEER);
    received_from(&bed, PEER, "unknown-source");
    hv_set_lnids(bed.table, STRANGER, 1, 2);
    received_from(&bed, STRANGER, "passed");
    hv_remove(bed.table, GUEST);
    received_from(&bed, STRANGER, "no-port");
    sent_as(&bed, GUEST, "passed");
    end(&bed);
}

/* Also when it comes as another file. */
static void test_replaced(void)
{
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    converse(&bed);
    for (unsigned i = 1; i < 20; i++) {
        uint8_t frame[100];

        /* One more frame waits before the other file is there. */
        make_frame(frame, sizeof(frame), PEER, GUEST, ETHERTYPE);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 2 : 1);
        bed.table = hv_replace(bed.table, 64 + i, 1024);
        frame_received(&bed, frame, sizeof(frame),
                       i & 1 ? "other-tenant" : "passed");
    }
    end(&bed);
}

/*
 * Where no watch sees it, the table itself says that it is superseded, and the
 * very next frame is judged by the new one.
 */
static void test_superseded(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *real = NULL;
    uint8_t frame[100];

    make_place(&bed);
    real = g_strdup_printf("%s/superseded", hv_tmp());
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    g_assert_cmpint(symlink(real, bed.path), ==, 0);
    bed.table = make_table(real);
    start(&bed, bed.kind->driver, "");
    make_frame(frame, sizeof(frame), PEER, GUEST, ETHERTYPE);
    frame_received(&bed, frame, sizeof(frame), "passed");
    for (unsigned i = 0; i < 10; i++) {
        HvWriter *old = bed.table;

        bed.table = make_table(real);
        hv_set_lnids(bed.table, PEER, 1, i & 1 ? 1 : 2);
        __atomic_store_n(&old->header->superseded, 1, __ATOMIC_RELEASE);
        frame_received(&bed, frame, sizeof(frame),
                       i & 1 ? "passed" : "other-tenant");
        hv_close(old);
    }
    end(&bed);
}

/* --- tables that come, go, and are wrong ---------------------------------- */

/* Until what is at the path is in force, or is not. */
static void wait_error(Bed *bed, const char *says)
{
    gint64 late = g_get_monotonic_time() + NIC_TIMEOUT_US;

    for (;;) {
        QDict *info = query(bed);
        g_autofree char *error = g_strdup(qdict_get_try_str(info, "error"));

        qobject_unref(info);
        if (says ? error && strstr(error, says) : !error) {
            return;
        }
        if (g_get_monotonic_time() > late) {
            g_error("error is '%s', not '%s'", error, says);
        }
    }
}

static void assert_in_force(Bed *bed, bool is)
{
    QDict *info = query(bed);

    g_assert_cmpint(qdict_haskey(info, "generation"), ==, is);
    g_assert_cmpint(qdict_haskey(info, "macs"), ==, is);
    qobject_unref(info);
}

static void test_appears(void)
{
    Bed bed = { .kind = &nic_virtio12 };

    make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    start(&bed, bed.kind->driver, "");
    wait_error(&bed, "No such file");
    assert_in_force(&bed, false);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    bed.table = make_table(bed.path);
    wait_error(&bed, NULL);
    assert_in_force(&bed, true);
    converse(&bed);
    /* Taken away, it stays in force. */
    g_unlink(bed.path);
    wait_error(&bed, "No such file");
    assert_in_force(&bed, true);
    converse(&bed);
    end(&bed);
}

/* The folder comes later, is moved away, and comes anew. */
static void test_folder(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *away = NULL;

    make_place(&bed);
    away = g_strdup_printf("%s.away", bed.dir);
    start(&bed, bed.kind->driver, "");
    sent_as(&bed, GUEST, "no-table");
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = make_table(bed.path);
    wait_error(&bed, NULL);
    converse(&bed);
    g_assert_cmpint(g_rename(bed.dir, away), ==, 0);
    wait_error(&bed, "No such file");
    converse(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    hv_close(bed.table);
    bed.table = make_table(bed.path);
    hv_set_lnids(bed.table, PEER, 1, 2);
    wait_error(&bed, NULL);
    received_from(&bed, PEER, "other-tenant");
    end(&bed);
}

/* A table that is wrong leaves in force the one before it. */
static void test_damaged(void)
{
    g_autofree char *other = NULL;
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    other = g_strdup_printf("%s.other", bed.path);
    converse(&bed);
    hv_close(bed.table);
    bed.table = make_table(other);
    bed.table->header->version = 2;
    g_assert_cmpint(g_rename(other, bed.path), ==, 0);
    wait_error(&bed, "version 2");
    assert_in_force(&bed, true);
    converse(&bed);
    received_from(&bed, OTHER, "other-tenant");
    hv_close(bed.table);
    bed.table = make_table(bed.path);
    hv_set_lnids(bed.table, OTHER, 1, 1);
    wait_error(&bed, NULL);
    received_from(&bed, OTHER, "passed");
    end(&bed);
}

/* Without one before it, nothing passes. */
static void test_damaged_first(void)
{
    Bed bed = { .kind = &nic_virtio12 };

    make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = make_table(bed.path);
    bed.table->header->magic[0] = 'v';
    start(&bed, bed.kind->driver, "");
    wait_error(&bed, "not an LNID table");
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    end(&bed);
}

/* The file in force is shortened: noticed by the watch. */
static void test_truncated(void)
{
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    converse(&bed);
    g_assert_cmpint(truncate(bed.path, 4096), ==, 0);
    wait_error(&bed, "4096 octets");
    assert_in_force(&bed, false);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    hv_close(bed.table);
    bed.table = make_table(bed.path);
    wait_error(&bed, NULL);
    converse(&bed);
    end(&bed);
}

/*
 * Noticed by the first frame only, as the file is where no watch is: QEMU
 * reads what is not there any more.
 */
static void test_truncated_unseen(void)
{
    Bed bed = { .kind = &nic_virtio12 };
    g_autofree char *real = NULL;

    make_place(&bed);
    real = g_strdup_printf("%s/elsewhere", hv_tmp());
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    g_assert_cmpint(symlink(real, bed.path), ==, 0);
    bed.table = make_table(real);
    start(&bed, bed.kind->driver, "");
    converse(&bed);
    g_assert_cmpint(truncate(real, 0), ==, 0);
    received_from(&bed, PEER, "no-table");
    sent_as(&bed, GUEST, "no-table");
    wait_error(&bed, "0 octets");
    hv_close(bed.table);
    bed.table = make_table(real);
    wait_error(&bed, NULL);
    converse(&bed);
    end(&bed);
}

/* --- whose MAC address ---------------------------------------------------- */

static void test_mac_option(void)
{
    QDict *info;
    Bed bed;

    begin(&bed, &nic_virtio12, ",mac=02:00:00:00:00:02");
    info = query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, "02:00:00:00:00:02");
    qobject_unref(info);
    sent_as(&bed, GUEST, "spoofed");
    sent_as(&bed, OTHER, "passed");
    received_from(&bed, PEER, "other-tenant");
    received_from(&bed, OTHER, "passed");
    end(&bed);
}

#define EEPRO_STATUS    0x00
#define EEPRO_COMMAND   0x02
#define EEPRO_POINTER   0x04
#define   CU_BASE       0x60
#define   CU_START      0x10
#define   CB_LAST_SETUP 0x8001          /* the address of the station */

/* What a driver of the i82559 does to give it another address. */
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
    put_mac(data + 8, mac);
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
 * This NIC forgets what it was configured with when the guest programs another
 * address, and so do QEMU's announcements: the port does not.
 */
static void test_programmed(void)
{
    Bed bed = { .kind = NULL };
    uint8_t frame[FRAME_MAX];
    QDict *info;

    make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = make_table(bed.path);
    start(&bed, "i82559er", "");
    announce(&bed);
    wait_counter(&bed, "send", "passed", 1);
    peer_wait(&bed, frame, sizeof(frame));
    program_eepro100(&bed, OTHER);
    announce(&bed);
    wait_counter(&bed, "send", "spoofed", 1);
    peer_has_nothing(&bed);
    info = query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, GUEST_TEXT);
    qobject_unref(info);
    end(&bed);
}

/* QEMU tells the network where the guest is now, in its name. */
static void test_announce(void)
{
    uint8_t frame[FRAME_MAX], source[6];
    Bed bed;

    begin(&bed, &nic_e1000, ",check-sender=on");
    announce(&bed);
    g_assert_cmpuint(peer_wait(&bed, frame, sizeof(frame)), >=, 60);
    put_mac(source, GUEST);
    g_assert_cmpmem(frame + 6, 6, source, 6);
    g_assert_cmpuint(lduw_be_p(frame + 12), ==, 0x8035);
    g_assert_cmpuint(counter(&bed, "send", "passed"), ==, 1);
    end(&bed);
}

/* A port without a NIC stands for nobody; the next NIC has its own address. */
static void test_unplug(void)
{
    QDict *info;
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    converse(&bed);
    nic_free(bed.nic);
    bed.nic = NULL;
    qpci_unplug_acpi_device_test(bed.qts, "nic0", NIC_PCI_SLOT);
    settle(&bed);
    info = query(&bed);
    g_assert_false(qdict_haskey(info, "mac"));
    g_assert_false(qdict_haskey(info, "lnids"));
    qobject_unref(info);
    qtest_qmp_device_add(bed.qts, bed.kind->driver, "nic0",
                         "{ 'addr': '4', 'netdev': 'hv0', "
                         "'mac': '02:00:00:00:00:02' }");
    bed.nic = bed.kind->start(&bed.machine, bed.kind);
    nic_post(bed.nic, 0, 16);
    info = query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, "02:00:00:00:00:02");
    qobject_unref(info);
    sent_as(&bed, GUEST, "spoofed");
    sent_as(&bed, OTHER, "passed");
    received_from(&bed, PEER, "other-tenant");
    end(&bed);
}

/* --- senders -------------------------------------------------------------- */

/* An ARP reply by the guest, that @ip4 is at @sha; behind @tags VLAN tags. */
static size_t make_arp(uint8_t *frame, uint64_t sha, uint32_t ip4,
                       unsigned tags)
{
    static const uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0, 2 };
    uint8_t *p = frame + 12;

    make_frame(frame, 100, GUEST, BROADCAST, 0);
    for (unsigned i = 0; i < tags; i++, p += 4) {
        stl_be_p(p, 0x81000000 | (i + 1));
    }
    stw_be_p(p, 0x0806);
    memcpy(p + 2, head, sizeof(head));
    put_mac(p + 10, sha);
    stl_be_p(p + 16, ip4);
    return 100;
}

static void test_senders(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_ip4 = 1, .ip4 = { 0xc0000201 },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    begin(&bed, &nic_virtio12, ",check-sender=on");
    for (unsigned tags = 0; tags <= 2; tags++) {
        make_arp(frame, OTHER, 0xc0000201, tags);
        frame_sent(&bed, NULL, frame, 100, "forged-address");
        /* Without addresses in the table, any is the guest's. */
        make_arp(frame, GUEST, 0xc0000202, tags);
        frame_sent(&bed, NULL, frame, 100, "passed");
    }
    g_assert_true(hv_set(bed.table, GUEST, &e));
    for (unsigned tags = 0; tags <= 2; tags++) {
        make_arp(frame, GUEST, 0xc0000201, tags);
        frame_sent(&bed, NULL, frame, 100, "passed");
        make_arp(frame, GUEST, 0xc0000202, tags);
        frame_sent(&bed, NULL, frame, 100, "forged-address");
    }
    make_arp(frame, GUEST, 0xc0000201, 3);
    frame_sent(&bed, NULL, frame, 100, "malformed");
    /* Longer than what is looked at. */
    make_frame(frame, 1900, GUEST, PEER, 0x0800);
    frame[14] = 0x45;
    stl_be_p(frame + 26, 0xc0000201);
    frame_sent(&bed, NULL, frame, 1900, "passed");
    stl_be_p(frame + 26, 0xc0000202);
    frame_sent(&bed, NULL, frame, 1900, "forged-address");
    converse(&bed);
    end(&bed);
}

/* Without the option, nobody looks. */
static void test_senders_off(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 }, .num_ip4 = 1, .ip4 = { 0xc0000201 },
    };
    uint8_t frame[FRAME_MAX];
    Bed bed;

    begin(&bed, &nic_virtio12, "");
    g_assert_true(hv_set(bed.table, GUEST, &e));
    make_arp(frame, OTHER, 0xc0000202, 0);
    frame_sent(&bed, NULL, frame, 100, "passed");
    end(&bed);
}

/*
 * The host writes the checksum that the guest asks for where the guest says:
 * not over the source address.
 */
static void test_checksum(void)
{
    struct virtio_net_hdr vnet = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM };
    uint8_t header[NIC_VNET_MAX] = { }, frame[FRAME_MAX], got[FRAME_MAX];
    static const struct {
        unsigned start, offset;
        const char *reason;
    } cases[] = {
        { 0, 6, "malformed" }, { 6, 0, "malformed" }, { 0, 10, "malformed" },
        { 13, 0, "malformed" }, { 34, 6, "passed" },
    };
    Bed bed = { .kind = &nic_virtio12, .tap = true };

    make_place(&bed);
    g_assert_cmpint(g_mkdir(bed.dir, 0700), ==, 0);
    bed.table = make_table(bed.path);
    start(&bed, bed.kind->driver, "");
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t before = counter(&bed, "send", cases[i].reason);

        vnet.csum_start = cpu_to_le16(cases[i].start);
        vnet.csum_offset = cpu_to_le16(cases[i].offset);
        memcpy(header, &vnet, sizeof(vnet));
        make_frame(frame, 600, GUEST, PEER, ETHERTYPE);
        nic_send(bed.nic, 0, header, frame, 600);
        wait_counter(&bed, "send", cases[i].reason, before + 1);
        if (strcmp(cases[i].reason, "passed") == 0) {
            g_assert_cmpuint(peer_wait(&bed, got, sizeof(got)), ==, 600);
            g_assert_cmpmem(got, 34, frame, 34);
        }
        peer_has_nothing(&bed);
    }
    converse(&bed);
    end(&bed);
}

/* --- what is shown -------------------------------------------------------- */

static void test_query(void)
{
    g_autofree char *hmp = NULL, *none = NULL;
    QDict *info, *error;
    QList *lnids;
    Bed bed;

    begin(&bed, &nic_virtio12, ",check-sender=on");
    hv_set_lnids(bed.table, GUEST, 2, HOSTVLAN_LNID_GLOBAL, 0xfffffffeu);
    sent_as(&bed, PEER, "spoofed");
    info = query(&bed);
    g_assert_cmpstr(qdict_get_str(info, "id"), ==, "hv0");
    g_assert_cmpstr(qdict_get_str(info, "netdev"), ==, "net0");
    g_assert_cmpstr(qdict_get_str(info, "mac"), ==, GUEST_TEXT);
    g_assert_cmpstr(qdict_get_str(info, "table"), ==, bed.path);
    g_assert_true(qdict_get_bool(info, "check-sender"));
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
                            ", LNIDs global 4294967294, checks senders"));
    g_assert_nonnull(strstr(hmp, "generation 6, 4 MAC addresses"));
    g_assert_nonnull(strstr(hmp, "passed=0 spoofed=3\r\n"));
    none = qtest_hmp(bed.qts, "info hostvlan hv1");
    g_assert_nonnull(strstr(none, "There is no netdev 'hv1'"));
    error = qtest_qmp_assert_failure_ref(
        bed.qts, "{ 'execute': 'query-hostvlan', 'arguments': "
        "{ 'id': 'net0' } }");
    g_assert_cmpstr(qdict_get_str(error, "class"), ==, "DeviceNotFound");
    qobject_unref(error);
    end(&bed);
}

/* netdev_add and netdev_del, also of the one that a NIC uses. */
static void test_add_del(void)
{
    QDict *resp;
    Bed bed;

    begin(&bed, &nic_virtio12, "");
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
    converse(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'netdev_del', "
                             "'arguments': { 'id': 'hv0' } }");
    resp = qtest_qmp(bed.qts, "{ 'execute': 'query-hostvlan' }");
    g_assert_true(qlist_empty(qdict_get_qlist(resp, "return")));
    qobject_unref(resp);
    settle(&bed);
    end(&bed);
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

/* --- main ----------------------------------------------------------------- */

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (netns_new() < 0) {
        printf("1..0 # SKIP no network namespace: %s (not root? unshare -r)\n",
               strerror(errno));
        return 0;
    }
    qtest_add_func("/hostvlan/verdicts/virtio", test_verdicts_virtio);
    qtest_add_func("/hostvlan/verdicts/e1000", test_verdicts_e1000);
    qtest_add_func("/hostvlan/changes", test_changes);
    qtest_add_func("/hostvlan/replaced", test_replaced);
    qtest_add_func("/hostvlan/superseded", test_superseded);
    qtest_add_func("/hostvlan/appears", test_appears);
    qtest_add_func("/hostvlan/folder", test_folder);
    qtest_add_func("/hostvlan/damaged", test_damaged);
    qtest_add_func("/hostvlan/damaged-first", test_damaged_first);
    qtest_add_func("/hostvlan/truncated", test_truncated);
    qtest_add_func("/hostvlan/truncated-unseen", test_truncated_unseen);
    qtest_add_func("/hostvlan/mac-option", test_mac_option);
    qtest_add_func("/hostvlan/programmed", test_programmed);
    qtest_add_func("/hostvlan/announce", test_announce);
    qtest_add_func("/hostvlan/unplug", test_unplug);
    qtest_add_func("/hostvlan/senders", test_senders);
    qtest_add_func("/hostvlan/senders-off", test_senders_off);
    qtest_add_func("/hostvlan/checksum", test_checksum);
    qtest_add_func("/hostvlan/query", test_query);
    qtest_add_func("/hostvlan/add-del", test_add_del);
    qtest_add_func("/hostvlan/wrong-options", test_wrong_options);
    return hv_test_run();
}
