/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of a guest that are too big
 *
 * Input: an MTU (two octets), then the frame.
 *
 * The fragments of a packet are the packet, each fits, and its header is right.
 * An error is a packet that is right, about that one. A segment size that is
 * lowered leaves the checksum as right, or wrong, as it was.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/fragment4.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/mtu.h"
#include "net/packet/sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cut(const uint8_t *frame, size_t len, size_t mtu)
{
    size_t cut_at = len / 3, done = 0, head_len;
    struct iovec iov[] = {
        { (void *)frame, cut_at }, { (void *)(frame + cut_at), len - cut_at },
    };
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    g_autofree uint8_t *got = g_malloc(len + 1);
    struct iovec part[2];
    PacketCut4 cut;
    int parts;

    if (!packet_cut4_begin(&cut, iov, 2, mtu)) {
        return;
    }
    while ((parts = packet_cut4_next(&cut, head, &head_len, part, 2)) >= 0) {
        size_t ip_len = head_len - cut.l3;
        size_t part_len = packet_iov_len(part, parts);

        g_assert(ip_len + part_len <= mtu);
        g_assert(get_be16(head + cut.l3 + 2) == ip_len + part_len);
        g_assert(packet_ip4_sum_is_good(head + cut.l3, ip_len));
        packet_iov_copy(part, parts, 0, got, len);
        g_assert(!memcmp(got, frame + head_len + done, part_len));
        done += part_len;
    }
    g_assert(done == cut.payload && done <= len);
}

static void check_error(const uint8_t *packet, size_t len, size_t mtu)
{
    g_autofree uint8_t *error = g_malloc(PACKET_MTU_ERROR_MAX);
    size_t got = packet_mtu_error(error, mtu, packet, len), head;

    if (!got) {
        return;
    }
    g_assert(got <= PACKET_MTU_ERROR_MAX);
    if (error[0] >> 4 == 4) {
        head = PACKET_IP4_LEN;
        g_assert(packet_ip4_sum_is_good(error, head));
        g_assert(get_be16(error + 2) == got);
        g_assert(!packet_sum_fold(packet_sum_add(0, error + head,
                                                 got - head)));
    } else {
        head = PACKET_IP6_LEN;
        g_assert(get_be16(error + 4) == got - head);
        g_assert(!packet_sum_fold(packet_sum_add(
            packet_sum_pseudo6((void *)(error + 8), (void *)(error + 24),
                               PACKET_PROTO_ICMP6, got - head),
            error + head, got - head)));
    }
    g_assert(!memcmp(error + head + 8, packet, got - head - 8));
}

static void check_clamp(const uint8_t *packet, size_t len, size_t mtu)
{
    g_autofree uint8_t *copy = g_memdup2(packet, len);
    g_autofree uint8_t *again = NULL;
    uint32_t before = 0, after = 0;

    if (!packet_mtu_clamp(copy, len, mtu, false)) {
        g_assert(len == 0 || !memcmp(copy, packet, len));
        return;
    }
    /* Headers of IP have an even length, and so have the summed octets. */
    before = packet_sum_add(0, packet, len);
    after = packet_sum_add(0, copy, len);
    g_assert(packet_sum_fold(before) % 0xffff ==
             packet_sum_fold(after) % 0xffff);
    again = g_memdup2(copy, len);
    g_assert(!packet_mtu_clamp(again, len, mtu, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *frame = NULL;
    size_t len, mtu;
    PacketEth eth;

    if (size < 3 || size > 65536) {
        return 0;
    }
    mtu = get_be16(data);
    len = size - 2;
    frame = g_memdup2(data + 2, len);
    check_cut(frame, len, mtu);
    if (packet_eth_parse(&eth, frame, len)) {
        check_error(frame + eth.len, len - eth.len, mtu);
        check_clamp(frame + eth.len, len - eth.len, mtu);
    }
    return 0;
}
