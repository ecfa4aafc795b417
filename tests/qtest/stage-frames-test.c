/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net/stage: frames that pass, and frames that wait */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <glib/gstdio.h>
#include <net/ethernet.h>

#include "netns.h"
#include "stage-fixture.h"
#include "standard-headers/linux/virtio_net.h"

#define NUMBERS         300             /* frames that must come in order */
#define RARP            0x8035
#define IPV4            0x0800

/* --- passing -------------------------------------------------------------- */

static const size_t lengths[] = { 60, 61, 590, 1514 };

static void test_pass(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 4 * ARRAY_SIZE(lengths); i++) {
        size_t len = lengths[i % ARRAY_SIZE(lengths)];

        nic_post(bed.nic, 0, 1);
        peer_send_frame(&bed, len, i);
        guest_expect_frame(&bed, len, i);
        guest_send_frame(&bed, len, 1000 + i);
        peer_expect_frame(&bed, len, 1000 + i);
    }
    bed_stop(&bed);
}

/* Only virtio-net delivers frames below Ethernet's minimum length. */
static void test_short(const Setup *setup)
{
    size_t want = setup->nic == &nic_e1000 ? 60 : 30;
    uint8_t frame[FRAME_MAX], got[FRAME_MAX];
    unsigned queue;
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 0; i < 3; i++) {
        nic_post(bed.nic, 0, 1);
        frame_make(frame, 30, i);
        memset(frame + 30, 0, 30);
        peer_send_any(&bed, NULL, frame, 30);
        do {
            len = guest_expect_any(&bed, got, sizeof(got), &queue);
        } while (!frame_is_ours(got, len));
        g_assert_cmpmem(got, len, frame, want);
    }
    bed_stop(&bed);
}

/* --- virtio-net headers and offloads -------------------------------------- */

/* A checksum left to the other side is announced to it. */
static void test_headers(const Setup *setup)
{
    struct virtio_net_hdr vnet = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = cpu_to_le16(34),
        .csum_offset = cpu_to_le16(16),
    };
    uint8_t header[NIC_VNET_MAX] = { }, frame[FRAME_MAX];
    unsigned queue;
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_cmpuint(bed.nic->vnet_len, ==, setup->nic->vnet_len);
    memcpy(header, &vnet, sizeof(vnet));
    frame_make(frame, 600, 1);
    nic_send(bed.nic, 0, header, frame, 600);
    len = peer_expect_any(&bed, header, frame, sizeof(frame));
    frame_check(frame, len, 600, 1);
    g_assert_cmpmem(header, sizeof(vnet), &vnet, sizeof(vnet));

    frame_make(frame, 700, 2);
    nic_post(bed.nic, 0, 1);
    peer_send_any(&bed, &vnet, frame, 700);
    len = guest_expect_any(&bed, frame, sizeof(frame), &queue);
    frame_check(frame, len, 700, 2);
    g_assert_cmpmem(bed.nic->vnet, sizeof(vnet), &vnet, sizeof(vnet));
    bed_stop(&bed);
}

/* TCP over IPv4, @len octets in all, to be cut into packets. */
static void make_tcp(uint8_t *frame, size_t len)
{
    frame_make(frame, len, 7);
    stw_be_p(frame + 12, IPV4);
    memset(frame + ETH_HLEN, 0, 40);
    frame[14] = 0x45;
    stw_be_p(frame + 16, len - ETH_HLEN);
    frame[22] = 64;
    frame[23] = IPPROTO_TCP;
    stl_be_p(frame + 26, 0xc0000201);
    stl_be_p(frame + 30, 0xc0000202);
    stw_be_p(frame + 34, 1000);
    stw_be_p(frame + 36, 2000);
    frame[46] = 0x50;
    frame[47] = 0x10;
}

/* Several packets in one frame reach a guest that has asked for them. */
static void test_offload(const Setup *setup)
{
    struct virtio_net_hdr vnet = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
        .hdr_len = cpu_to_le16(54),
        .gso_size = cpu_to_le16(1000),
        .csum_start = cpu_to_le16(34),
        .csum_offset = cpu_to_le16(16),
    };
    uint8_t frame[FRAME_MAX], got[FRAME_MAX];
    struct virtio_net_hdr seen;
    unsigned queue;
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    nic_post(bed.nic, 0, 2);
    make_tcp(frame, 54 + 5000);
    peer_send_any(&bed, &vnet, frame, 54 + 5000);
    len = guest_expect_any(&bed, got, sizeof(got), &queue);
    memcpy(&seen, bed.nic->vnet, sizeof(seen));
    g_assert_cmpuint(len, ==, 54 + 5000);
    g_assert_cmpuint(seen.gso_type, ==, VIRTIO_NET_HDR_GSO_TCPV4);
    g_assert_cmpuint(le16_to_cpu(seen.gso_size), ==, 1000);
    bed_stop(&bed);
}

/* --- announcements -------------------------------------------------------- */

static void test_announce(const Setup *setup)
{
    static const uint8_t mac[] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
    uint8_t frame[FRAME_MAX];
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    qtest_qmp_assert_success(bed.qts,
                             "{ 'execute': 'announce-self', 'arguments': "
                             "{ 'initial': 50, 'max': 50, 'rounds': 1, "
                             "'step': 10 } }");
    do {
        len = peer_expect_any(&bed, NULL, frame, sizeof(frame));
    } while (lduw_be_p(frame + 12) != RARP);
    g_assert_cmpuint(len, ==, 60);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmpuint(frame[i], ==, 0xff);
    }
    g_assert_cmpmem(frame + 6, 6, mac, 6);
    g_assert_cmpmem(frame + 22, 6, mac, 6);
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* --- filters -------------------------------------------------------------- */

/* Fails unless the frames in the pcap @file are those of bed_converse(). */
static void check_dump(const char *file, unsigned converses)
{
    g_autofree char *text = NULL;
    gsize size, pos = 24;

    g_assert_true(g_file_get_contents(file, &text, &size, NULL));
    for (unsigned i = 0; i < 2 * converses; i++) {
        uint8_t *record = (uint8_t *)text + pos;

        g_assert_cmpuint(pos + 16, <=, size);
        pos += 16 + ldl_le_p(record + 8);
        g_assert_cmpuint(pos, <=, size);
        frame_check(record + 16, ldl_le_p(record + 8), i % 2 ? 200 : 100,
                    i / 2);
    }
    g_assert_cmpuint(pos, ==, size);
}

static void test_filters(const Setup *setup)
{
    g_autofree char *dir = g_dir_make_tmp("stage-test-XXXXXX", NULL);
    g_autofree char *near = g_build_filename(dir, "near", NULL);
    g_autofree char *far = g_build_filename(dir, "far", NULL);
    g_autofree char *more = g_strdup_printf(
        "-object filter-dump,id=f0,netdev=net0,file=%s "
        "-object filter-dump,id=f1,netdev=st%u,file=%s",
        far, setup->stages, near);
    Bed bed;

    bed_start(&bed, setup, more);
    for (unsigned i = 0; i < 3; i++) {
        bed_converse(&bed, i);
    }
    bed_stop(&bed);
    check_dump(near, 3);
    check_dump(far, 3);
    g_unlink(near);
    g_unlink(far);
    g_rmdir(dir);
}

/* --- several queues ------------------------------------------------------- */

/* UDP over IPv4 of flow number @flow: the host chooses a queue by that. */
static void make_flow(uint8_t *frame, size_t len, unsigned flow)
{
    make_tcp(frame, len);
    frame[23] = IPPROTO_UDP;
    stw_be_p(frame + 34, 1000 + flow);
    stw_be_p(frame + 38, len - 34);
    stw_be_p(frame + 40, 0);
    stw_be_p(frame + 42, flow);
}

/* Sends 32 flows to the guest; returns how many came in the second queue. */
static unsigned send_flows(Bed *bed, unsigned pairs)
{
    uint8_t frame[FRAME_MAX], got[FRAME_MAX];
    unsigned second = 0, queue;
    uint32_t seen = 0;

    for (unsigned i = 0; i < pairs; i++) {
        nic_post(bed->nic, i, 32);
    }
    for (unsigned i = 0; i < 32; i++) {
        make_flow(frame, 200, i);
        peer_send_any(bed, NULL, frame, 200);
    }
    for (unsigned i = 0; i < 32; i++) {
        size_t len = guest_expect_any(bed, got, sizeof(got), &queue);
        unsigned flow = lduw_be_p(got + 42);

        g_assert_cmpuint(queue, <, pairs);
        make_flow(frame, 200, flow);
        g_assert_cmpmem(got, len, frame, 200);
        g_assert_false(seen & 1u << flow);
        seen |= 1u << flow;
        second += queue;
    }
    return second;
}

/*
 * The host has two queues.  As long as the guest uses one, all frames come
 * there; then they come in both, and the guest may send in both.
 */
static void test_queues(const Setup *setup)
{
    uint8_t frame[FRAME_MAX];
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    g_assert_cmpuint(bed.nic->pairs, ==, 2);
    send_flows(&bed, 1);
    nic_use_pairs(bed.nic, 2);
    g_assert_cmpuint(send_flows(&bed, 2), >, 0);
    for (unsigned i = 0; i < 4; i++) {
        frame_make(frame, 300, i);
        nic_send(bed.nic, i % 2, NULL, frame, 300);
        len = peer_expect_any(&bed, NULL, frame, sizeof(frame));
        frame_check(frame, len, 300, i);
    }
    nic_use_pairs(bed.nic, 1);
    send_flows(&bed, 1);
    bed_stop(&bed);
}

/* --- waiting -------------------------------------------------------------- */

/* A guest that sends more than the network takes loses no frame. */
static void test_full_network(const Setup *setup)
{
    unsigned burst = NIC_SLOTS - 1;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned done = 0; done < NUMBERS; done += burst) {
        for (unsigned i = 0; i < burst; i++) {
            guest_send_frame(&bed, 300, done + i);
        }
        bed_settle(&bed);
        if (setup->nic != &nic_e1000) {         /* that one never waits */
            g_assert_cmpuint(nic_sent(bed.nic, 0), <, done + burst);
        }
        for (unsigned i = 0; i < burst; i++) {
            peer_expect_frame(&bed, 300, done + i);
        }
    }
    bed_settle(&bed);
    g_assert_cmpuint(nic_sent(bed.nic, 0), >=, NUMBERS);
    bed_converse(&bed, 1);
    bed_stop(&bed);
}

/* A guest that takes frames late loses no frame that the network took. */
static void test_full_guest(const Setup *setup)
{
    unsigned sent = 0, received = 0, stopped = 0;
    Bed bed;

    bed_start(&bed, setup, "");
    while (received < NUMBERS) {
        while (sent < NUMBERS && peer_try_send_frame(&bed, 300, sent)) {
            sent++;
        }
        bed_settle(&bed);
        stopped += sent < NUMBERS;
        nic_post(bed.nic, 0, 7);
        for (unsigned i = 0; i < 7 && received < sent; i++) {
            guest_expect_frame(&bed, 300, received++);
        }
    }
    /* QEMU reads more of a stream than the guest takes. */
    g_assert_cmpuint(stopped, >, setup->backend == DGRAM ? 10 : 0);
    bed_stop(&bed);
}

/* Frames of both directions wait while the machine is stopped. */
static void test_stop(const Setup *setup)
{
    Bed bed;

    bed_start(&bed, setup, "");
    nic_post(bed.nic, 0, 20);
    for (unsigned round = 0; round < 3; round++) {
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'stop' }");
        for (unsigned i = 0; i < 5; i++) {
            peer_send_frame(&bed, 100, 10 * round + i);
        }
        guest_expect_nothing(&bed);
        qtest_qmp_assert_success(bed.qts, "{ 'execute': 'cont' }");
        for (unsigned i = 0; i < 5; i++) {
            guest_expect_frame(&bed, 100, 10 * round + i);
        }
        guest_send_frame(&bed, 100, round);
        peer_expect_frame(&bed, 100, round);
    }
    bed_stop(&bed);
}

/* Frames that wait when the machine stops do not block others. */
static void test_stop_full(const Setup *setup)
{
    uint32_t last = 0;
    uint8_t frame[FRAME_MAX];
    size_t len;
    Bed bed;

    bed_start(&bed, setup, "");
    for (unsigned i = 1; i < NIC_SLOTS; i++) {
        guest_send_frame(&bed, 300, i);
    }
    for (unsigned i = 0; i < 5; i++) {
        peer_send_frame(&bed, 300, i);
    }
    bed_settle(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'stop' }");
    bed_settle(&bed);
    qtest_qmp_assert_success(bed.qts, "{ 'execute': 'cont' }");
    /* QEMU drops a few, but keeps the order. */
    while (last != NIC_SLOTS - 1) {
        len = peer_expect_any(&bed, NULL, frame, sizeof(frame));
        g_assert_cmpuint(ldl_le_p(frame + ETH_HLEN), >, last);
        last = ldl_le_p(frame + ETH_HLEN);
        frame_check(frame, len, 300, last);
    }
    nic_post(bed.nic, 0, 20);
    peer_send_frame(&bed, 300, 100);
    do {
        unsigned queue;

        len = guest_expect_any(&bed, frame, sizeof(frame), &queue);
    } while (ldl_le_p(frame + ETH_HLEN) != 100);
    frame_check(frame, len, 300, 100);
    guest_send_frame(&bed, 300, 200);
    peer_expect_frame(&bed, 300, 200);
    bed_stop(&bed);
}

/* --- main ----------------------------------------------------------------- */

static const NicKind *const both[] = { &nic_virtio12, &nic_e1000, NULL };
static const NicKind *const headers[] = {
    &nic_virtio10, &nic_virtio12, &nic_virtio20, NULL
};
static const NicKind *const all[] = {
    &nic_virtio10, &nic_virtio12, &nic_virtio20, &nic_e1000, NULL
};
static const NicKind *const virtio[] = { &nic_virtio12, NULL };
static const NicKind *const several[] = { &nic_virtio_mq, NULL };

static void add_tests(void)
{
    add_test("pass", both, DGRAM, 0, test_pass);
    add_test("pass", both, STREAM, 0, test_pass);
    add_test("pass", virtio, SOCKET, 0, test_pass);
    add_test("pass", virtio, L2TPV3, 0, test_pass);
    add_test("pass", all, TAP, 0, test_pass);
    add_test("short", both, TAP, 0, test_short);
    add_test("headers", headers, TAP, 0, test_headers);
    add_test("offload", headers, TAP, 0, test_offload);
    add_test("announce", both, DGRAM, 0, test_announce);
    add_test("announce", both, STREAM, 0, test_announce);
    add_test("announce", all, TAP, 0, test_announce);
    add_test("filters", both, DGRAM, 1, test_filters);
    add_test("filters", both, STREAM, 1, test_filters);
    add_test("filters", headers, TAP, 1, test_filters);
    add_test("queues", several, TAP_MQ, 0, test_queues);
    add_test("full-network", both, DGRAM, 0, test_full_network);
    add_test("full-network", both, STREAM, 0, test_full_network);
    add_test("full-network", virtio, SOCKET, 0, test_full_network);
    add_test("full-guest", both, DGRAM, 0, test_full_guest);
    add_test("full-guest", virtio, STREAM, 0, test_full_guest);
    add_test("stop", both, DGRAM, 0, test_stop);
    add_test("stop", both, STREAM, 0, test_stop);
    add_test("stop-full", virtio, DGRAM, 0, test_stop_full);
    add_test("stop-full", virtio, STREAM, 0, test_stop_full);
}

int main(int argc, char **argv)
{
    return stage_test_main(argc, argv, add_tests);
}
