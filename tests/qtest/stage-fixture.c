/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of net/stage's qtests: see stage-fixture.h */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#include "netns.h"
#include "qobject/qdict.h"
#include "stage-fixture.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"

#define COMMON_ARGS     "-machine pc -nodefaults -m 64 "
#define TAP_NAME        "tap0"
#define TAP_QUEUES      2
#define ETHERTYPE       0x88b5          /* IEEE 802: for local experiments */
#define L2TPV3_HEADER   8               /* in UDP, without cookie and counter */
#define L2TPV3_SESSION  7

/* --- the network ---------------------------------------------------------- */

/* One queue of the tap; QEMU inherits it. */
static int tap_open(bool several)
{
    struct ifreq ifr = {
        .ifr_name = TAP_NAME,
        .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR |
                     (several ? IFF_MULTI_QUEUE : 0),
    };
    int fd = open("/dev/net/tun", O_RDWR);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ioctl(fd, TUNSETIFF, &ifr), ==, 0);
    return fd;
}

/* Limits a socket to some twenty frames. */
static void make_small(int fd)
{
    int size = 8192;

    g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
                               sizeof(size)), ==, 0);
}

static void pair_open(int type, int pair[2])
{
    g_assert_cmpint(socketpair(AF_UNIX, type, 0, pair), ==, 0);
    qemu_set_cloexec(pair[0]);
    make_small(pair[0]);
    make_small(pair[1]);
}

static char *pair_network_open(Bed *bed, int *fd)
{
    bool dgram = bed->setup->backend == DGRAM;
    int pair[2];

    pair_open(dgram ? SOCK_DGRAM : SOCK_STREAM, pair);
    bed->peer = pair[0];
    *fd = pair[1];
    switch (bed->setup->backend) {
    case DGRAM:
        return g_strdup_printf("dgram,id=net0,local.type=fd,local.str=%d", *fd);
    case STREAM:
        return g_strdup_printf("stream,id=net0,addr.type=fd,addr.str=%d", *fd);
    default:
        return g_strdup_printf("socket,id=net0,fd=%d", *fd);
    }
}

/* An abstract name belongs to the namespace, and needs no removal. */
static char *reconnect_network_open(Bed *bed)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0stage" };

    bed->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bed->listener, >=, 0);
    g_assert_cmpint(bind(bed->listener, (struct sockaddr *)&name,
                         offsetof(struct sockaddr_un, sun_path) + 6), ==, 0);
    g_assert_cmpint(listen(bed->listener, 1), ==, 0);
    return g_strdup("stream,id=net0,addr.type=unix,addr.path=stage,"
                    "addr.abstract=on,addr.tight=on,reconnect-ms=10");
}

static char *l2tpv3_network_open(Bed *bed)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(1701),
    };

    bed->peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bed->peer, >=, 0);
    g_assert_cmpint(bind(bed->peer, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    at.sin_port = htons(1702);
    g_assert_cmpint(connect(bed->peer, (struct sockaddr *)&at, sizeof(at)), ==,
                    0);
    return g_strdup_printf("l2tpv3,id=net0,src=127.0.0.1,dst=127.0.0.1,udp=on,"
                           "srcport=1702,dstport=1701,rxsession=%d,"
                           "txsession=%d", L2TPV3_SESSION, L2TPV3_SESSION);
}

/* Makes the network; returns what -netdev is given, and QEMU's ends. */
static char *network_open(Bed *bed, int fds[TAP_QUEUES], unsigned *num)
{
    *num = 0;
    switch (bed->setup->backend) {
    case DGRAM:
    case STREAM:
    case SOCKET:
        *num = 1;
        return pair_network_open(bed, &fds[0]);
    case RECONNECT:
        return reconnect_network_open(bed);
    case L2TPV3:
        return l2tpv3_network_open(bed);
    case USER:
        bed->peer = -1;
        return g_strdup("user,id=net0,ipv6=off");
    default:
        break;
    }
    *num = bed->setup->backend == TAP_MQ ? TAP_QUEUES : 1;
    for (unsigned i = 0; i < *num; i++) {
        fds[i] = tap_open(*num > 1);
    }
    netns_set_up(TAP_NAME);
    bed->peer = peer_open_packets(TAP_NAME);
    bed->peer_has_vnet = true;
    if (*num == 1) {
        return g_strdup_printf("tap,id=net0,fd=%d", fds[0]);
    }
    return g_strdup_printf("tap,id=net0,fds=%d:%d", fds[0], fds[1]);
}

/* --- the machine ---------------------------------------------------------- */

static const char *stage_id(unsigned number)
{
    static const char *const ids[] = { "net0", "st1", "st2" };

    g_assert_cmpuint(number, <, ARRAY_SIZE(ids));
    return ids[number];
}

const char *bed_top(const Bed *bed)
{
    return stage_id(bed->setup->stages);
}

static char *stage_args(const Setup *setup)
{
    GString *args = g_string_new("");

    for (unsigned i = 1; i <= setup->stages; i++) {
        g_string_append_printf(args, "-netdev stage,id=%s,netdev=%s ",
                               stage_id(i), stage_id(i - 1));
    }
    return g_string_free(args, false);
}

/* A thread connects a stream; until then QEMU drops frames. */
static void await_stream(Bed *bed)
{
    gint64 end = g_get_monotonic_time() + NIC_TIMEOUT_US;
    bool waits;

    do {
        g_autofree char *info = bed_info(bed);

        g_assert_cmpint(g_get_monotonic_time(), <, end);
        waits = strstr(info, "connecting");
    } while (waits);
}

void bed_accept(Bed *bed)
{
    bed->peer = RETRY_ON_EINTR(accept4(bed->listener, NULL, NULL,
                                       SOCK_CLOEXEC));
    g_assert_cmpint(bed->peer, >=, 0);
    make_small(bed->peer);
    await_stream(bed);
}

static void bed_start_nic(Bed *bed)
{
    bed->nic = bed->setup->nic->start(&bed->machine, bed->setup->nic);
}

void bed_start(Bed *bed, const Setup *setup, const char *more)
{
    g_autofree char *backend = NULL, *stages = stage_args(setup);
    int fds[TAP_QUEUES];
    unsigned num;

    *bed = (Bed) { .setup = setup, .listener = -1 };
    backend = network_open(bed, fds, &num);
    bed->qts = qtest_initf(COMMON_ARGS "-netdev %s %s -device %s,id=nic0,"
                           "addr=%d,netdev=%s,mac=" NIC_MAC "%s %s",
                           backend, stages, setup->nic->driver, NIC_PCI_SLOT,
                           bed_top(bed), setup->nic->options, more);
    while (num) {
        close(fds[--num]);
    }
    if (setup->backend == STREAM) {
        await_stream(bed);
    } else if (setup->backend == RECONNECT) {
        bed_accept(bed);
    }
    bed->machine.qts = bed->qts;
    pc_alloc_init(&bed->machine.alloc, bed->qts, ALLOC_NO_FLAGS);
    bed->machine.bus = qpci_new_pc(bed->qts, &bed->machine.alloc);
    bed_start_nic(bed);
}

void bed_stop(Bed *bed)
{
    if (bed->nic) {
        nic_free(bed->nic);
    }
    qpci_free_pc(bed->machine.bus);
    alloc_destroy(&bed->machine.alloc);
    qtest_quit(bed->qts);
    if (bed->peer >= 0) {
        close(bed->peer);
    }
    if (bed->listener >= 0) {
        close(bed->listener);
    }
}

void bed_settle(Bed *bed)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(bed->qts, "{ 'execute': 'query-status' }");
    }
}

void bed_unplug_nic(Bed *bed)
{
    if (bed->nic) {
        nic_free(bed->nic);
        bed->nic = NULL;
    }
    qpci_unplug_acpi_device_test(bed->qts, "nic0", NIC_PCI_SLOT);
    bed_settle(bed);
}

void bed_pull_nic(Bed *bed)
{
    Nic *nic = bed->nic;

    bed->nic = NULL;
    bed_unplug_nic(bed);
    nic_forget(nic);
}

/* device_add takes what the command line had, as strings. */
void bed_plug_nic(Bed *bed)
{
    g_autofree char *addr = g_strdup_printf("%d", NIC_PCI_SLOT);

    g_assert_cmpstr(bed->setup->nic->options, ==, "");
    qtest_qmp_device_add(bed->qts, bed->setup->nic->driver, "nic0",
                         "{ 'addr': %s, 'netdev': %s, 'mac': " "'" NIC_MAC "'"
                         " }", addr, bed_top(bed));
    bed_start_nic(bed);
}

void bed_add_backend(Bed *bed)
{
    int pair[2];

    pair_open(SOCK_DGRAM, pair);
    qtest_qmp_fds_assert_success(bed->qts, &pair[1], 1,
                                 "{ 'execute': 'getfd', 'arguments': "
                                 "{ 'fdname': 'pair' } }");
    qtest_qmp_assert_success(bed->qts,
                             "{ 'execute': 'netdev_add', 'arguments': "
                             "{ 'type': 'dgram', 'id': 'net0', 'local': "
                             "{ 'type': 'fd', 'str': 'pair' } } }");
    close(pair[1]);
    if (bed->peer >= 0) {
        close(bed->peer);
    }
    bed->peer = pair[0];
}

void bed_add_stages(Bed *bed)
{
    for (unsigned i = 1; i <= bed->setup->stages; i++) {
        qtest_qmp_assert_success(bed->qts,
                                 "{ 'execute': 'netdev_add', 'arguments': "
                                 "{ 'type': 'stage', 'id': %s, "
                                 "'netdev': %s } }",
                                 stage_id(i), stage_id(i - 1));
    }
}

void bed_del_netdev(Bed *bed, const char *id)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'netdev_del', "
                             "'arguments': { 'id': %s } }", id);
    bed_settle(bed);
}

void bed_set_link(Bed *bed, const char *id, bool up)
{
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'set_link', 'arguments': "
                             "{ 'name': %s, 'up': %i } }", id, up);
    bed_settle(bed);
}

char *bed_info(Bed *bed)
{
    return qtest_hmp(bed->qts, "info network");
}

/* --- frames --------------------------------------------------------------- */

void frame_make(uint8_t *frame, size_t len, uint32_t number)
{
    static const uint8_t header[] = {
        0x52, 0x54, 0, 0x12, 0x34, 0x56, 0x02, 0, 0, 0, 0, 1,
        ETHERTYPE >> 8, ETHERTYPE & 0xff,
    };

    g_assert_cmpuint(len, >=, sizeof(header) + sizeof(number));
    memcpy(frame, header, sizeof(header));
    stl_le_p(frame + sizeof(header), number);
    for (size_t i = sizeof(header) + sizeof(number); i < len; i++) {
        frame[i] = number * 31 + i;
    }
}

void frame_check(const uint8_t *frame, size_t len, size_t want,
                 uint32_t number)
{
    uint8_t made[FRAME_MAX];

    g_assert_cmpuint(len, >=, ETH_HLEN + sizeof(number));
    g_assert_cmpuint(ldl_le_p(frame + ETH_HLEN), ==, number);
    frame_make(made, want, number);
    g_assert_cmpmem(frame, len, made, want);
}

bool frame_is_ours(const uint8_t *frame, size_t len)
{
    return len >= ETH_HLEN && lduw_be_p(frame + 12) == ETHERTYPE;
}

void guest_send_frame(Bed *bed, size_t len, uint32_t number)
{
    uint8_t frame[FRAME_MAX];

    frame_make(frame, len, number);
    nic_send(bed->nic, 0, NULL, frame, len);
}

size_t guest_expect_any(Bed *bed, uint8_t *frame, size_t size,
                        unsigned *queue)
{
    gint64 end = g_get_monotonic_time() + NIC_TIMEOUT_US;

    for (;;) {
        for (unsigned i = 0; i < bed->nic->pairs; i++) {
            ssize_t len = nic_poll(bed->nic, i, frame, size);

            if (len >= 0) {
                *queue = i;
                return len;
            }
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

void guest_expect_frame(Bed *bed, size_t len, uint32_t number)
{
    uint8_t frame[FRAME_MAX];
    unsigned queue;
    size_t got;

    do {
        got = guest_expect_any(bed, frame, sizeof(frame), &queue);
    } while (!frame_is_ours(frame, got));
    frame_check(frame, got, len, number);
}

/* Each frame has its length before it. */
static bool is_stream(const Bed *bed)
{
    return bed->setup->backend == STREAM || bed->setup->backend == RECONNECT ||
           bed->setup->backend == SOCKET;
}

static bool peer_send(Bed *bed, const void *vnet, const uint8_t *frame,
                      size_t len, int flags)
{
    static const uint8_t nothing[PEER_VNET_LEN];
    static const uint8_t l2tpv3[L2TPV3_HEADER] = {
        0, 3, 0, 0, 0, 0, 0, L2TPV3_SESSION,
    };
    uint32_t count = cpu_to_be32(len);
    struct iovec iov[] = {
        { (void *)(vnet ?: nothing), bed->peer_has_vnet ? PEER_VNET_LEN : 0 },
        { (void *)frame, len },
    };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov) };
    ssize_t n;

    if (is_stream(bed)) {
        iov[0] = (struct iovec) { &count, sizeof(count) };
    } else if (bed->setup->backend == L2TPV3) {
        iov[0] = (struct iovec) { (void *)l2tpv3, sizeof(l2tpv3) };
    }
    n = RETRY_ON_EINTR(sendmsg(bed->peer, &msg, flags));
    if (n < 0) {
        g_assert_cmpint(errno, ==, EAGAIN);
        return false;
    }
    g_assert_cmpint(n, ==, iov[0].iov_len + len);
    return true;
}

void peer_send_any(Bed *bed, const void *vnet, const uint8_t *frame,
                   size_t len)
{
    g_assert_true(peer_send(bed, vnet, frame, len, 0));
}

bool peer_try_send_frame(Bed *bed, size_t len, uint32_t number)
{
    uint8_t frame[FRAME_MAX];

    frame_make(frame, len, number);
    return peer_send(bed, NULL, frame, len, MSG_DONTWAIT);
}

void peer_send_frame(Bed *bed, size_t len, uint32_t number)
{
    uint8_t frame[FRAME_MAX];

    frame_make(frame, len, number);
    peer_send_any(bed, NULL, frame, len);
}

/* The same of a stream, where each frame has its length before it. */
static ssize_t peer_poll_stream(int fd, uint8_t *frame, size_t size)
{
    uint32_t count;
    ssize_t n = RETRY_ON_EINTR(recv(fd, &count, sizeof(count),
                                    MSG_PEEK | MSG_DONTWAIT));

    if (n < (ssize_t)sizeof(count)) {
        g_assert_true(n > 0 || (n < 0 && errno == EAGAIN));
        return -1;
    }
    peer_read(fd, &count, sizeof(count));
    count = be32_to_cpu(count);
    g_assert_cmpuint(count, <=, size);
    peer_read(fd, frame, count);
    return count;
}

static ssize_t peer_poll_l2tpv3(int fd, uint8_t *frame, size_t size)
{
    uint8_t header[L2TPV3_HEADER];
    struct iovec iov[] = { { header, sizeof(header) }, { frame, size } };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov) };
    ssize_t n = RETRY_ON_EINTR(recvmsg(fd, &msg, MSG_DONTWAIT));

    if (n < 0) {
        g_assert_cmpint(errno, ==, EAGAIN);
        return -1;
    }
    g_assert_cmpuint(n, >, sizeof(header));
    g_assert_cmpuint(ldl_be_p(header + 4), ==, L2TPV3_SESSION);
    return n - sizeof(header);
}

/* Takes a frame that is there; returns its length, or -1. */
static ssize_t peer_poll(Bed *bed, uint8_t *vnet, uint8_t *frame, size_t size)
{
    uint8_t header[PEER_VNET_LEN];

    if (is_stream(bed)) {
        return peer_poll_stream(bed->peer, frame, size);
    }
    if (bed->setup->backend == L2TPV3) {
        return peer_poll_l2tpv3(bed->peer, frame, size);
    }
    return peer_poll_frame(bed->peer, vnet ?: header,
                           bed->peer_has_vnet ? PEER_VNET_LEN : 0, frame,
                           size);
}

size_t peer_expect_any(Bed *bed, uint8_t *vnet, uint8_t *frame, size_t size)
{
    struct pollfd pfd = { .fd = bed->peer, .events = POLLIN };
    ssize_t len;

    while ((len = peer_poll(bed, vnet, frame, size)) < 0) {
        int ret = RETRY_ON_EINTR(poll(&pfd, 1, NETNS_TIMEOUT_MS));

        g_assert_cmpint(ret, ==, 1);
    }
    return len;
}

void peer_expect_frame(Bed *bed, size_t len, uint32_t number)
{
    uint8_t frame[FRAME_MAX];
    size_t got;

    do {
        got = peer_expect_any(bed, NULL, frame, sizeof(frame));
    } while (!frame_is_ours(frame, got));
    frame_check(frame, got, len, number);
}

void guest_expect_nothing(Bed *bed)
{
    uint8_t frame[FRAME_MAX];

    bed_settle(bed);
    for (unsigned i = 0; i < bed->nic->pairs; i++) {
        ssize_t len;

        while ((len = nic_poll(bed->nic, i, frame, sizeof(frame))) >= 0) {
            g_assert_false(frame_is_ours(frame, len));
        }
    }
}

void peer_expect_nothing(Bed *bed)
{
    uint8_t frame[FRAME_MAX];
    ssize_t len;

    bed_settle(bed);
    while ((len = peer_poll(bed, NULL, frame, sizeof(frame))) >= 0) {
        g_assert_false(frame_is_ours(frame, len));
    }
}

void bed_converse(Bed *bed, uint32_t number)
{
    nic_post(bed->nic, 0, 1);
    peer_send_frame(bed, 100, number);
    guest_expect_frame(bed, 100, number);
    guest_send_frame(bed, 200, number);
    peer_expect_frame(bed, 200, number);
}

/* --- main ----------------------------------------------------------------- */

typedef struct Case {
    Setup setup;
    void (*func)(const Setup *setup);
} Case;

static void run_case(const void *data)
{
    const Case *c = data;

    c->func(&c->setup);
}

void add_test(const char *name, const NicKind *const *nics, Backend backend,
              unsigned least, void (*func)(const Setup *setup))
{
    static const char *const backends[] = {
        "dgram", "stream", "reconnect", "socket", "l2tpv3", "user",
        "tap", "tap-mq"
    };
    static const char *const chains[] = { "plain", "stage", "two" };

    for (; *nics; nics++) {
        for (unsigned stages = least; stages <= MAX_STAGES; stages++) {
            g_autofree char *path = g_strdup_printf(
                "/stage/%s/%s-%s-%s", name, (*nics)->name, backends[backend],
                chains[stages]);
            Case *c = g_new(Case, 1);

            *c = (Case) { { *nics, backend, stages }, func };
            qtest_add_data_func_full(path, c, run_case, g_free);
        }
    }
}

/* The kernel must send nothing on the tap. */
static void keep_ipv6_quiet(void)
{
    int fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6",
                  O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        g_assert_cmpint(write(fd, "1", 1), ==, 1);
        close(fd);
    }
}

int stage_test_main(int argc, char **argv, void (*add_tests)(void))
{
    g_test_init(&argc, &argv, NULL);
    if (netns_new() < 0) {
        printf("1..0 # SKIP no network namespace: %s (not root? unshare -r)\n",
               strerror(errno));
        return 0;
    }
    keep_ipv6_quiet();
    add_tests();
    return g_test_run();
}
