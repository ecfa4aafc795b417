/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/stage: frames for the NIC are coalesced
 *
 * This program defines the stage's functions that gather.c calls, and records
 * the NIC's frames.  The end of a batch is a bottom half, as in QEMU.
 */
#include "qemu/osdep.h"
#include "base/octets.h"
#include "qemu/main-loop.h"
#include "net/packet/tcp.h"
#include "net/stage/gather.h"
#include "net/stage/offload.h"
#include "qapi/error.h"
#include "standard-headers/linux/virtio_net.h"
#include "tests/fixtures/packet-frames.h"

#define VNET_LEN        12
#define SIZE            1000

static unsigned offloads;
static bool full;
static unsigned last_queue;
static unsigned refused;
static GPtrArray *got;          /* GBytes, with virtio-net's header */
static uint8_t payload[SIZE], large[3 * SIZE];

unsigned net_stage_offloads(NetStage *stage)
{
    return offloads;
}

unsigned net_stage_vnet_len(NetStage *stage, NetStageSide side, unsigned queue)
{
    g_assert_cmpint(side, ==, NET_STAGE_NIC);
    return VNET_LEN;
}

bool net_stage_send(NetStage *stage, NetStageSide to,
                    const NetStageFrame *frame)
{
    size_t size = iov_size(frame->iov, frame->iovcnt);
    uint8_t *buf = g_malloc(size);

    g_assert_cmpint(to, ==, NET_STAGE_NIC);
    g_assert_cmpuint(frame->vnet_len, ==, VNET_LEN);
    iov_to_buf(frame->iov, frame->iovcnt, 0, buf, size);
    g_ptr_array_add(got, g_bytes_new_take(buf, size));
    last_queue = frame->queue;
    return !full;
}

static void count_refused(void *opaque)
{
    refused++;
}

static NetStageGather *begin(void)
{
    offloads = NET_STAGE_CSUM | NET_STAGE_TSO4 | NET_STAGE_TSO6;
    full = false;
    refused = 0;
    got = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    return net_stage_gather_new(NULL, count_refused, NULL);
}

static void end(NetStageGather *g)
{
    net_stage_gather_free(g);
    g_ptr_array_unref(got);
}

static void send_in(NetStageGather *g, unsigned queue, unsigned number,
                    bool join)
{
    static const PacketOffload none;
    FrameSpec spec = {
        .is_ip4 = true, .dont_fragment = true, .flags = PACKET_TCP_ACK,
        .sequence = 1 + number * SIZE, .payload = payload, .len = SIZE,
    };
    uint8_t frame[FRAME_MAX];
    struct iovec iov = { frame, frame_make(frame, &spec) };

    net_stage_gather_send(g, queue, &iov, 1, &none, join);
}

static void send_segment(NetStageGather *g, unsigned number, bool join)
{
    send_in(g, 0, number, join);
}

static void end_batch(void)
{
    while (aio_poll(qemu_get_aio_context(), false)) {
        /* the bottom half */
    }
}

/* The frame @i has segments from @first on, as many as @num. */
static void check(unsigned i, unsigned first, unsigned num)
{
    const struct virtio_net_hdr *hdr;
    const uint8_t *buf;
    size_t size, head = VNET_LEN + 14 + 20 + 20;

    g_assert_cmpuint(i, <, got->len);
    buf = g_bytes_get_data(g_ptr_array_index(got, i), &size);
    hdr = (const void *)buf;
    g_assert_cmpuint(size, ==, head + num * SIZE);
    g_assert_cmpuint(get_be32(buf + head - 16), ==, 1 + first * SIZE);
    g_assert_cmpint(hdr->gso_type, ==, num > 1 ? VIRTIO_NET_HDR_GSO_TCPV4
                                               : VIRTIO_NET_HDR_GSO_NONE);
    if (num > 1) {
        g_assert_cmpint(hdr->flags, ==, VIRTIO_NET_HDR_F_NEEDS_CSUM);
        g_assert_cmpint(lduw_le_p(&hdr->gso_size), ==, SIZE);
    }
}

/* A batch is one large segment, and the next batch another. */
static void test_batch(void)
{
    NetStageGather *g = begin();

    for (unsigned batch = 0; batch < 2; batch++) {
        for (unsigned i = 0; i < 10; i++) {
            send_segment(g, 10 * batch + i, true);
        }
        g_assert_cmpuint(got->len, ==, batch);
        g_assert_false(net_stage_gather_is_empty(g));
        end_batch();
        g_assert_true(net_stage_gather_is_empty(g));
        check(batch, 10 * batch, 10);
    }
    g_assert_cmpuint(net_stage_gather_packets(g), ==, 20);
    end(g);
}

/* A frame that cannot be held overtakes no frame of its flow. */
static void test_order(void)
{
    NetStageGather *g = begin();

    send_segment(g, 0, true);
    send_segment(g, 1, true);
    send_segment(g, 2, false);
    g_assert_cmpuint(got->len, ==, 2);
    check(0, 0, 2);
    check(1, 2, 1);
    send_segment(g, 3, true);
    net_stage_gather_flush(g);
    check(2, 3, 1);
    end_batch();
    g_assert_cmpuint(got->len, ==, 3);
    end(g);
}

/* Each frame goes to its queue. */
static void test_queues(void)
{
    NetStageGather *g = begin();

    send_in(g, 2, 0, true);
    send_in(g, 2, 1, true);
    send_in(g, 1, 2, true);
    g_assert_cmpuint(last_queue, ==, 2);
    check(0, 0, 2);
    end_batch();
    g_assert_cmpuint(last_queue, ==, 1);
    check(1, 2, 1);
    send_in(g, 3, 3, false);
    g_assert_cmpuint(last_queue, ==, 3);
    check(2, 3, 1);
    end(g);
}

static void test_pause(void)
{
    NetStageGather *g = begin();

    net_stage_gather_pause(g, true);
    send_segment(g, 0, true);
    send_segment(g, 1, true);
    end_batch();
    net_stage_gather_flush(g);
    g_assert_cmpuint(got->len, ==, 0);
    net_stage_gather_pause(g, false);
    end_batch();
    check(0, 0, 2);
    send_segment(g, 2, true);
    g_assert_cmpuint(net_stage_gather_discard(g), ==, 1);
    end_batch();
    g_assert_cmpuint(got->len, ==, 1);
    end(g);
}

/* The NIC does not take super-frames: never, no longer, or not yet. */
static void test_takes(void)
{
    NetStageGather *g = begin();

    offloads = NET_STAGE_TSO4;          /* not without checksums */
    send_segment(g, 0, true);
    check(0, 0, 1);
    offloads |= NET_STAGE_CSUM;
    send_segment(g, 1, true);
    send_segment(g, 2, true);
    g_assert_cmpuint(got->len, ==, 1);
    offloads &= ~NET_STAGE_TSO4;
    end_batch();
    g_assert_cmpuint(got->len, ==, 3);
    check(1, 1, 1);
    check(2, 2, 1);
    end(g);
}

/* A received super-frame is cut for a NIC that does not take it. */
static void test_cut(void)
{
    NetStageGather *g = begin();
    FrameSpec spec = {
        .is_ip4 = true, .dont_fragment = true, .flags = PACKET_TCP_ACK,
        .sequence = 1, .payload = large, .len = sizeof(large),
    };
    uint8_t frame[sizeof(large) + 100];
    size_t len = frame_make(frame, &spec);
    PacketOffload offload = frame_partial(frame, &spec);
    struct iovec iov[2] = { { frame, 100 }, { frame + 100, len - 100 } };

    offload.gso = PACKET_GSO_TCP4;
    offload.gso_size = SIZE;
    net_stage_gather_send(g, 0, iov, 2, &offload, true);
    check(0, 0, 3);
    offloads = NET_STAGE_CSUM | NET_STAGE_TSO6;
    net_stage_gather_send(g, 0, iov, 2, &offload, true);
    g_assert_cmpuint(got->len, ==, 4);
    for (unsigned i = 0; i < 3; i++) {
        check(1 + i, i, 1);
    }
    /* A frame that cannot be cut is dropped and reported. */
    offload.gso = PACKET_GSO_UDP;
    net_stage_gather_send(g, 0, iov, 2, &offload, true);
    g_assert_cmpuint(got->len, ==, 4);
    g_assert_cmpuint(refused, ==, 1);
    end(g);
}

/* A full receiver loses frames, which is reported. */
static void test_refused(void)
{
    NetStageGather *g = begin();

    full = true;
    send_segment(g, 0, true);
    send_segment(g, 1, true);
    g_assert_cmpuint(refused, ==, 0);
    end_batch();
    g_assert_cmpuint(refused, ==, 1);
    send_segment(g, 2, false);
    g_assert_cmpuint(refused, ==, 2);
    end(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qemu_init_main_loop(&error_abort);
    for (size_t i = 0; i < SIZE; i++) {
        payload[i] = i * 7;
    }
    g_test_add_func("/stage/gather/batch", test_batch);
    g_test_add_func("/stage/gather/order", test_order);
    g_test_add_func("/stage/gather/queues", test_queues);
    g_test_add_func("/stage/gather/pause", test_pause);
    g_test_add_func("/stage/gather/takes", test_takes);
    g_test_add_func("/stage/gather/cut", test_cut);
    g_test_add_func("/stage/gather/refused", test_refused);
    return g_test_run();
}
