/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Super-frames: the pieces are the same as a NIC's */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/segment.h"
#include "net/packet/sum.h"

#define PAYLOAD         10000u

typedef struct Frame {
    uint8_t buf[128 + PAYLOAD];
    size_t l3, l4, head, len;
    bool is_ip4;
    struct iovec iov[5];
} Frame;

/* Ethernet, perhaps a tag; IPv4 or IPv6, perhaps an extension; TCP or UDP. */
static void make(Frame *f, bool is_ip4, bool is_tcp, bool extra)
{
    uint8_t *p = f->buf;
    size_t cut;

    memset(f, 0, sizeof(*f));
    f->is_ip4 = is_ip4;
    f->l3 = 14 + (extra ? 4 : 0);
    put_be16(p + 12, extra ? 0x8100 : is_ip4 ? 0x800 : 0x86dd);
    put_be16(p + 16, is_ip4 ? 0x800 : 0x86dd);
    p += f->l3;
    if (is_ip4) {
        f->l4 = f->l3 + (extra ? 24 : 20);
        p[0] = extra ? 0x46 : 0x45;
        put_be16(p + 4, 0xfffe);
        p[8] = 64;
        p[9] = is_tcp ? 6 : 17;
        put_be32(p + 12, 0x0a000001);
        put_be32(p + 16, 0x0a000002);
    } else {
        f->l4 = f->l3 + 40 + (extra ? 8 : 0);
        p[0] = 0x60;
        p[6] = extra ? 60 : is_tcp ? 6 : 17;
        p[40] = is_tcp ? 6 : 17;
        p[7] = 64;
        p[8] = p[24] = 0x20;
        p[23] = 1;
        p[39] = 2;
    }
    p = f->buf + f->l4;
    f->head = f->l4 + (is_tcp ? 32 : 8);
    memset(p, 0, f->head - f->l4);
    put_be32(p, 80 << 16 | 4000);
    if (is_tcp) {
        put_be32(p + 4, 0xfffff000);
        p[12] = 8 << 4;
        p[13] = 0x80 | 0x10 | 0x08 | 0x01;      /* CWR, ACK, PSH, FIN */
    }
    f->len = f->head + PAYLOAD;
    for (size_t i = f->head; i < f->len; i++) {
        f->buf[i] = g_test_rand_int();
    }
    /* In parts, cut anywhere. */
    cut = g_test_rand_int_range(0, f->len);
    f->iov[0] = (struct iovec) { f->buf, MIN(cut, 7) };
    f->iov[1] = (struct iovec) { f->buf + MIN(cut, 7), cut - MIN(cut, 7) };
    f->iov[2] = (struct iovec) { NULL, 0 };
    f->iov[3] = (struct iovec) { f->buf + cut, f->len - cut };
}

static bool begin(PacketSegments *s, const Frame *f, bool is_tcp, size_t size)
{
    PacketOffload offload = {
        .gso = !is_tcp ? PACKET_GSO_UDP
               : f->is_ip4 ? PACKET_GSO_TCP4 : PACKET_GSO_TCP6,
        .gso_size = size,
    };

    return packet_segments_begin(s, &offload, f->iov, 4, size);
}

/* The checksum of the whole transport packet is right. */
static void check_sum(const Frame *f, const uint8_t *p, size_t len,
                      uint8_t proto)
{
    const uint8_t *ip = p + f->l3;
    struct in6_addr src6, dst6;
    struct in_addr src4, dst4;
    uint32_t sum;

    if (f->is_ip4) {
        g_assert_cmphex(packet_sum_fold(packet_sum_add(0, ip,
                                                       f->l4 - f->l3)), ==, 0);
        memcpy(&src4, ip + 12, 4);
        memcpy(&dst4, ip + 16, 4);
        sum = packet_sum_pseudo4(src4, dst4, proto, len - f->l4);
    } else {
        memcpy(&src6, ip + 8, 16);
        memcpy(&dst6, ip + 24, 16);
        sum = packet_sum_pseudo6(&src6, &dst6, proto, len - f->l4);
    }
    sum = packet_sum_add(sum, p + f->l4, len - f->l4);
    g_assert_cmphex(packet_sum_fold(sum), ==, 0);
}

static void check(const Frame *f, bool is_tcp, size_t size)
{
    uint8_t piece[PACKET_SEGMENT_HEAD_MAX + PAYLOAD];
    struct iovec payload[4];
    PacketSegments s;
    size_t done = 0, head, len;
    unsigned number = 0;
    int parts;

    g_assert_true(begin(&s, f, is_tcp, size));
    while ((parts = packet_segments_next(&s, piece, &head, payload, 4)) >= 0) {
        bool last;

        g_assert_cmpint(head, ==, f->head);
        len = head + packet_iov_copy(payload, parts, 0, piece + head, PAYLOAD);
        g_assert_cmpint(len - head, ==, MIN(size, PAYLOAD - done));
        g_assert_cmpmem(piece + head, len - head, f->buf + f->head + done,
                        len - head);
        done += len - head;
        last = done == PAYLOAD;
        check_sum(f, piece, len, is_tcp ? 6 : 17);
        g_assert_cmpint(get_be16(piece + f->l3 + (f->is_ip4 ? 2 : 4)), ==,
                        len - f->l3 - (f->is_ip4 ? 0 : 40));
        if (f->is_ip4) {
            g_assert_cmphex(get_be16(piece + f->l3 + 4), ==,
                            (0xfffe + number) & 0xffff);
        }
        if (is_tcp) {
            g_assert_cmphex(get_be32(piece + f->l4 + 4), ==,
                            0xfffff000 + (uint32_t)(number * size));
            g_assert_cmphex(piece[f->l4 + 13], ==,
                            0x10 | (last ? 0x09 : 0) | (number ? 0 : 0x80));
        } else {
            g_assert_cmpint(get_be16(piece + f->l4 + 4), ==, len - f->l4);
        }
        number++;
    }
    g_assert_cmpint(done, ==, PAYLOAD);
}

static void test_pieces(void)
{
    Frame *f = g_new(Frame, 1);

    for (unsigned round = 0; round < 64; round++) {
        make(f, round & 1, round & 2, round & 4);
        check(f, round & 2, g_test_rand_int_range(100, PAYLOAD + 100));
    }
    g_free(f);
}

static void test_refused(void)
{
    Frame *f = g_new(Frame, 1);
    PacketSegments s;

    make(f, false, true, false);
    g_assert_false(begin(&s, f, true, 0));
    f->is_ip4 = true;           /* TCP over IPv4, it says */
    g_assert_false(begin(&s, f, true, 1000));
    make(f, false, true, false);
    g_assert_false(begin(&s, f, false, 1000));
    f->buf[f->l4 + 13] |= 0x02; /* SYN */
    g_assert_false(begin(&s, f, true, 1000));
    make(f, false, true, false);
    f->buf[f->l4 + 12] = 4 << 4;        /* shorter than TCP's header */
    g_assert_false(begin(&s, f, true, 1000));
    make(f, true, true, false);
    put_be16(f->buf + f->l3 + 6, 0x2000);   /* a fragment */
    g_assert_false(begin(&s, f, true, 1000));
    make(f, true, true, false);
    f->iov[0].iov_len = 7;
    g_assert_false(packet_segments_begin(&s, &(PacketOffload) {
        .gso = PACKET_GSO_TCP4, .gso_size = 9 }, f->iov, 1, 9));
    g_free(f);
}

static void test_slice(void)
{
    uint8_t buf[10];
    struct iovec iov[] = { { buf, 3 }, { buf + 3, 0 }, { buf + 3, 7 } };
    struct iovec out[2];

    g_assert_cmpint(packet_iov_slice(iov, 3, 0, 10, out, 2), ==, 2);
    g_assert_cmpint(packet_iov_slice(iov, 3, 2, 3, out, 2), ==, 2);
    g_assert_true(out[0].iov_base == buf + 2 && out[0].iov_len == 1);
    g_assert_true(out[1].iov_base == buf + 3 && out[1].iov_len == 2);
    g_assert_cmpint(packet_iov_slice(iov, 3, 2, 3, out, 1), ==, -1);
    g_assert_cmpint(packet_iov_slice(iov, 3, 5, 6, out, 2), ==, -1);
    g_assert_cmpint(packet_iov_slice(iov, 3, 10, 0, out, 2), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/segment/pieces", test_pieces);
    g_test_add_func("/packet/segment/refused", test_refused);
    g_test_add_func("/packet/segment/slice", test_slice);
    return g_test_run();
}
