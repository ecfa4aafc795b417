/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames for the controller: their rate and format */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/event/packet-in.h"
#include "net/packet/sum.h"

enum { ROOM = 200, FRAME_LEN = 300 };

/*
 * A limited rate of frames is reported for a flooding guest, more after a
 * pause.
 */
static void test_bucket(void)
{
    CvswBucket bucket = { 0 };
    unsigned taken = 0;

    for (uint64_t now = 1000; now < 11000; now++) {
        taken += cvsw_bucket_take(&bucket, now) +
                 cvsw_bucket_take(&bucket, now);
    }
    g_assert_cmpint(taken, >=, 10 * CVSW_PACKET_IN_RATE);
    g_assert_cmpint(taken, <=, 10 * CVSW_PACKET_IN_RATE +
                               CVSW_PACKET_IN_BURST);
    taken = 0;
    while (cvsw_bucket_take(&bucket, 100000)) {
        taken++;
    }
    g_assert_cmpint(taken, ==, CVSW_PACKET_IN_BURST);
}

static uint8_t data[FRAME_LEN];

/* UDP over IPv4, whose checksum is the NIC's to make. */
static void make_frame(CvswFrame *frame)
{
    static const uint8_t head[] = {
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
        0x45, 0, 1, 30, 0, 0, 0, 0, 64, 17, 0, 0,
        192, 0, 2, 1, 192, 0, 2, 2,
        0x12, 0x34, 0, 53, 1, 10, 0, 0,
    };
    struct iovec iov[2] = { { data, 60 }, { data + 60, FRAME_LEN - 60 } };
    PacketOffload offload = {
        .needs_csum = true, .csum_start = 34, .csum_offset = 6,
    };

    for (unsigned i = 0; i < FRAME_LEN; i++) {
        data[i] = i;
    }
    memcpy(data, head, sizeof(head));
    put_be16(data + 40, packet_sum_partial(
        packet_sum_pseudo(data + 14, 17, FRAME_LEN - 34)));
    g_assert_true(cvsw_frame_take(frame, iov, 2, &offload));
}

static void test_10(void)
{
    static const uint8_t head[] = {
        1, 10, 0, 118, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        FRAME_LEN >> 8, FRAME_LEN & 0xff, 0, 2, 1, 0,
    };
    CvswEntry entry = { .flags = CVSW_FLOW_OPENFLOW10, .cookie = 7 };
    g_autofree CvswFrame *frame = g_new0(CvswFrame, 1);
    uint8_t buf[ROOM];

    make_frame(frame);
    frame->offload.needs_csum = false;
    g_assert_cmpuint(cvsw_packet_in_build(buf, ROOM, frame, CVSW_PORT_WIRE,
                                          100, &entry), ==, 118);
    g_assert_cmpmem(buf, 18, head, sizeof(head));
    g_assert_cmpmem(buf + 18, 100, data, 100);
    /* As much as fits. */
    g_assert_cmpuint(cvsw_packet_in_build(buf, ROOM, frame, CVSW_PORT_WIRE,
                                          0xffff, &entry), ==, ROOM);
    g_assert_cmpuint(get_be16(buf + 2), ==, ROOM);
    g_assert_cmpuint(cvsw_packet_in_build(buf, ROOM, frame, CVSW_PORT_WIRE, 0,
                                          &entry), ==, 18);
}

static void test_13(void)
{
    static const uint8_t head[] = {
        4, 10, 0, 142, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        FRAME_LEN >> 8, FRAME_LEN & 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 7,
        0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
    };
    static const uint8_t inside[] = {
        0, 1, 0, 24, 0x80, 0, 0, 4, 0, 0, 0, 2,
        0x80, 0, 0x4c, 8, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0,
    };
    CvswEntry entry = { .cookie = 7, .priority = 1 };
    g_autofree CvswFrame *frame = g_new0(CvswFrame, 1);
    uint8_t buf[ROOM];

    make_frame(frame);
    g_assert_cmpuint(cvsw_packet_in_build(buf, ROOM, frame, CVSW_PORT_GUEST,
                                          100, &entry), ==, 142);
    g_assert_cmpmem(buf, sizeof(head), head, sizeof(head));
    /* Out of a tunnel, and by a flow that matches all frames. */
    frame->tunnel_id = 100;
    entry.priority = 0;
    g_assert_cmpuint(cvsw_packet_in_build(buf, ROOM, frame, CVSW_PORT_WIRE,
                                          100, &entry), ==, 150);
    g_assert_cmpmem(buf + 24, sizeof(inside), inside, sizeof(inside));
    g_assert_cmpint(buf[14], ==, 0);
}

/* The controller receives a complete packet. */
static void test_checksum(void)
{
    CvswEntry entry = { .flags = CVSW_FLOW_OPENFLOW10 };
    g_autofree CvswFrame *frame = g_new0(CvswFrame, 1);
    uint8_t buf[18 + FRAME_LEN], *told = buf + 18;
    uint32_t sum;

    make_frame(frame);
    cvsw_packet_in_build(buf, sizeof(buf), frame, CVSW_PORT_GUEST, 0xffff,
                         &entry);
    sum = packet_sum_pseudo(told + 14, 17, FRAME_LEN - 34);
    sum = packet_sum_add(sum, told + 34, FRAME_LEN - 34);
    g_assert_cmphex(packet_sum_fold(sum), ==, 0);
    /* The forwarded frame is unchanged. */
    g_assert_cmpmem(frame->head, 60, data, 60);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/packet-in/bucket", test_bucket);
    g_test_add_func("/cvsw/packet-in/10", test_10);
    g_test_add_func("/cvsw/packet-in/13", test_13);
    g_test_add_func("/cvsw/packet-in/checksum", test_checksum);
    return g_test_run();
}
