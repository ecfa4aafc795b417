/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net/stage: properties of each backend */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>
#include <net/ethernet.h>

#include "qobject/qdict.h"
#include "stage-fixture.h"
#include "standard-headers/linux/virtio_net.h"

#define JUMBO           9000            /* so that few fill the network */
#define BURST           (NIC_SLOTS - 1)
#define LAST            9999            /* number of a frame of 100 octets */

/* --- streams that end, or are full ---------------------------------------- */

/* The guest sends until the network takes no more. */
static void fill(Bed *bed)
{
    unsigned before = nic_sent(bed->nic, 0);

    for (unsigned i = 0; i < BURST; i++) {
        guest_send_frame(bed, JUMBO, i);
    }
    bed_settle(bed);
    g_assert_cmpuint(nic_sent(bed->nic, 0), <, before + BURST);
}

static void await_sent(Bed *bed, unsigned number)
{
    gint64 end = g_get_monotonic_time() + NIC_TIMEOUT_US;

    while (nic_sent(bed->nic, 0) < number) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

/* A last frame comes, and the frames before it are complete. */
static void drain(Bed *bed)
{
    uint8_t frame[FRAME_MAX];
    size_t len;

    guest_send_frame(bed, 100, LAST);
    for (;;) {
        len = peer_expect_any(bed, NULL, frame, sizeof(frame));
        if (len == 100) {
            break;
        }
        frame_check(frame, len, JUMBO, ldl_le_p(frame + ETH_HLEN));
    }
    frame_check(frame, len, 100, LAST);
}

/* The stream's peer ends in the middle of a frame, and is restarted. */
static void test_reconnect(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned round = 0; round < 3; round++) {
        unsigned before;

        bed_converse(&bed, round);
        before = nic_sent(bed.nic, 0);
        fill(&bed);
        close(bed.peer);
        bed_accept(&bed);
        await_sent(&bed, before + BURST);
        drain(&bed);
        g_assert_true(nic_link_up(bed.nic));
    }
    bed_stop(&bed);
}

/* A machine that stops drops waiting frames, but never half a frame. */
static void test_stop_in_frame(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    fill(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'stop' }");
    bed_settle(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'cont' }");
    drain(&bed);
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* The same for a guest that restarts its driver. */
static void test_reset_in_frame(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    fill(&bed);
    nic_free(bed.nic);
    bed.nic = setup->nic->start(&bed.machine, setup->nic);
    drain(&bed);
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* QEMU holds a bounded number of frames for a slow guest. */
static void test_slow_guest(const Setup *setup)
{
    unsigned sent = 0;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned received = 0; received < 100; received++) {
        while (peer_try_send_frame(&bed, 300, sent)) {
            sent++;
        }
        bed_settle(&bed);
        nic_post(bed.nic, 0, 1);
        guest_expect_frame(&bed, 300, received);
        /* One read of 69,632 octets, and the sockets. */
        g_assert_cmpuint(sent - received, <, 500);
    }
    bed_stop(&bed);
}

/*
 * The peer ends the stream by an invalid length, while its frames wait for the
 * guest, which takes them later.
 */
static void test_bad_length(const Setup *setup)
{
    static const uint8_t junk[4096] = { 0xff, 0xff, 0xff, 0xff };
    gint64 end = g_get_monotonic_time() + NIC_TIMEOUT_US;
    bool is_over = false;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 8; i++) {
        peer_send_frame(&bed, 300, i);
    }
    bed_settle(&bed);
    for (unsigned i = 0; !is_over; i++) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        is_over = send(bed.peer, junk, sizeof(junk),
                       MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN;
        if (i % 8 == 0 && i < 64) {
            nic_post(bed.nic, 0, 1);
        }
        bed_settle(&bed);
    }
    nic_post(bed.nic, 0, 16);
    bed_settle(&bed);
    guest_send_frame(&bed, 100, LAST);
    await_sent(&bed, 1);
    bed_stop(&bed);
}

/* The peer has disconnected: sent frames are counted as dropped. */
static void test_disconnected(const Setup *setup)
{
    g_autofree char *info = NULL;
    Bed bed;

    bed_start(&bed, setup, "");
    close(bed.peer);
    bed.peer = -1;
    qtest_qmp_eventwait(bed.qts, "NETDEV_STREAM_DISCONNECTED");
    for (unsigned i = 0; i < 3; i++) {
        guest_send_frame(&bed, 100, i);
    }
    await_sent(&bed, 3);
    info = bed_info(&bed);
    if (setup->stages) {
        g_assert_nonnull(strstr(info, "nobody=0,down=3,"));
    }
    bed_set_link(&bed, "net0", true);
    guest_send_frame(&bed, 100, 3);
    await_sent(&bed, 4);
    bed_stop(&bed);
}

/* --- libslirp ------------------------------------------------------------- */

/* Who has 10.0.2.2? */
static void make_question(uint8_t *frame)
{
    static const uint8_t question[] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0x12, 0x34, 0x56,
        8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 0x52, 0x54, 0, 0x12, 0x34, 0x56,
        10, 0, 2, 15, 0, 0, 0, 0, 0, 0, 10, 0, 2, 2,
    };

    memset(frame, 0, ETH_ZLEN);
    memcpy(frame, question, sizeof(question));
}

static void ask_user(Bed *bed)
{
    static const uint8_t answer[] = { 8, 6, 0, 1, 8, 0, 6, 4, 0, 2 };
    static const uint8_t who[] = { 10, 0, 2, 2 };
    uint8_t frame[FRAME_MAX];
    unsigned queue;

    make_question(frame);
    nic_post(bed->nic, 0, 1);
    nic_send(bed->nic, 0, NULL, frame, ETH_ZLEN);
    g_assert_cmpuint(guest_expect_any(bed, frame, sizeof(frame), &queue), >=,
                     42);
    g_assert_cmpmem(frame + 12, sizeof(answer), answer, sizeof(answer));
    g_assert_cmpmem(frame + 28, sizeof(who), who, sizeof(who));
}

/* It answers before its receive function returns. */
static void test_user(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 3; i++) {
        ask_user(&bed);
        if (setup->nic == &nic_e1000) {         /* it negotiates by a clock */
            continue;
        }
        bed_set_link(&bed, "net0", false);
        g_assert_false(nic_link_up(bed.nic));
        bed_set_link(&bed, "net0", true);
        g_assert_true(nic_link_up(bed.nic));
    }
    bed_del_netdev(&bed, "net0");
    g_assert_false(nic_link_up(bed.nic));
    bed_stop(&bed);
}

/* --- features of the NIC -------------------------------------------------- */

/* Only a backend with virtio-net headers has large segments. */
static void test_features(const Setup *setup)
{
    const uint64_t offloads = 1ull << VIRTIO_NET_F_CSUM |
                              1ull << VIRTIO_NET_F_GUEST_CSUM |
                              1ull << VIRTIO_NET_F_GUEST_TSO4 |
                              1ull << VIRTIO_NET_F_HOST_TSO4 |
                              1ull << VIRTIO_NET_F_HOST_TSO6;
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_cmphex(bed.nic->offered & offloads, ==,
                    setup->backend == TAP ? offloads : 0);
    bed_stop(&bed);
}

/* A NIC that may have several queues has as many as its backend: one. */
static void test_one_queue(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_cmpuint(bed.nic->pairs, ==, 1);
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* A primary device would carry the guest's frames past the stage. */
static void test_failover(void)
{
    const Setup setup = { &nic_virtio12, DGRAM, 1 };
    QDict *resp;
    Bed bed;

    bed_start(&bed, &setup, "-netdev hubport,id=free0,hubid=7 "
              "-netdev stage,id=st9,netdev=free0 "
              "-netdev hubport,id=free1,hubid=7");
    resp = qtest_qmp(bed.qts, "{ 'execute': 'device_add', 'arguments': "
                     "{ 'driver': 'virtio-net-pci', 'id': 'nic1', "
                     "'netdev': 'st9', 'failover': true } }");
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(resp, "error"),
                                          "desc"),
                            "failover=on gives the guest a primary device, "
                            "whose frames do not pass 'st9'"));
    qobject_unref(resp);
    qtest_qmp_device_add(bed.qts, "virtio-net-pci", "nic1",
                         "{ 'netdev': 'free1', 'failover': true }");
    qtest_qmp_device_add(bed.qts, "virtio-net-pci", "nic2",
                         "{ 'netdev': 'st9' }");
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* --- migration to another backend ----------------------------------------- */

/* Migrates to a QEMU whose backend has no virtio-net headers. */
static bool has_arrived(Bed *bed)
{
    g_autofree char *dir = g_dir_make_tmp("stage-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "migration", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    const char *status = "";
    bool has_failed;
    QTestState *to;

    to = qtest_initf("-machine pc -nodefaults -m 64 "
                     "-netdev hubport,id=net0,hubid=0 "
                     "-netdev stage,id=st1,netdev=net0 "
                     "-device virtio-net-pci,id=nic0,addr=%d,netdev=st1,mac="
                     NIC_MAC " -incoming defer", NIC_PCI_SLOT);
    qtest_qmp_assert_success(to, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s, 'exit-on-error': false "
                             "} }", uri);
    qtest_qmp_assert_success(bed->qts, "{ 'execute': 'migrate', "
                             "'arguments': { 'uri': %s } }", uri);
    do {
        QDict *resp = qtest_qmp_assert_success_ref(
            to, "{ 'execute': 'query-migrate' }");

        status = qdict_haskey(resp, "status") ? qdict_get_str(resp, "status")
                                              : "";
        has_failed = g_str_equal(status, "failed");
        status = g_str_equal(status, "completed") || has_failed ? "end" : "";
        qobject_unref(resp);
    } while (!*status);
    qtest_quit(to);
    g_unlink(path);
    g_rmdir(dir);
    return !has_failed;
}

/* A guest that has begun to send large segments needs them there, too. */
static void test_migration(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_true(has_arrived(&bed) == (setup->backend == DGRAM));
    bed_stop(&bed);
}

/* --- main ----------------------------------------------------------------- */

static const NicKind *const both[] = { &nic_virtio12, &nic_e1000, NULL };
static const NicKind *const virtio[] = { &nic_virtio12, NULL };
static const NicKind *const several[] = { &nic_virtio_mq, NULL };

static void add_tests(void)
{
    static const Backend some[] = { STREAM, USER, TAP };

    add_test("reconnect", virtio, RECONNECT, 0, test_reconnect);
    add_test("stop-in-frame", virtio, STREAM, 0, test_stop_in_frame);
    add_test("stop-in-frame", virtio, SOCKET, 1, test_stop_in_frame);
    add_test("reset-in-frame", virtio, STREAM, 0, test_reset_in_frame);
    add_test("slow-guest", virtio, STREAM, 0, test_slow_guest);
    add_test("slow-guest", virtio, SOCKET, 1, test_slow_guest);
    add_test("bad-length", virtio, STREAM, 0, test_bad_length);
    add_test("disconnected", virtio, STREAM, 0, test_disconnected);
    add_test("user", both, USER, 0, test_user);
    for (unsigned i = 0; i < ARRAY_SIZE(some); i++) {
        add_test("features", virtio, some[i], 0, test_features);
    }
    add_test("one-queue", several, STREAM, 0, test_one_queue);
    qtest_add_func("/stage/failover", test_failover);
    add_test("migration", virtio, DGRAM, 0, test_migration);
    add_test("migration", virtio, TAP, 0, test_migration);
}

int main(int argc, char **argv)
{
    return stage_test_main(argc, argv, add_tests);
}
