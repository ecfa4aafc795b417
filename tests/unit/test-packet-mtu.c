/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A link with a smaller MTU: segment sizes, errors, fragments */
#include <arpa/inet.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/fragment4.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/mtu.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "tests/fixtures/packet-frames.h"

static uint8_t payload[4096];

/* --- segment sizes -------------------------------------------------------- */

/* A SYN that announces 1460. Returns: the packet's length. */
static size_t make_syn(uint8_t *packet, bool is_ip4, uint8_t flags)
{
    static const uint8_t option[] = { 2, 4, 0x05, 0xb4 };
    uint8_t frame[256];
    FrameSpec spec = {
        .is_ip4 = is_ip4, .flags = flags, .payload = option,
        .len = sizeof(option),
    };
    size_t len = frame_make(frame, &spec) - PACKET_ETH_LEN;
    uint8_t *tcp = packet + (is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN);
    size_t tcp_len = PACKET_TCP_LEN + sizeof(option);

    memcpy(packet, frame + PACKET_ETH_LEN, len);
    tcp[12] = 6 << 4;
    put_be16(tcp + PACKET_TCP_CHECKSUM, 0);
    put_be16(tcp + PACKET_TCP_CHECKSUM, packet_sum_fold(packet_sum_add(
        packet_sum_pseudo(packet, PACKET_PROTO_TCP, tcp_len), tcp, tcp_len)));
    return len;
}

static void test_clamp(void)
{
    for (unsigned is_ip4 = 0; is_ip4 < 2; is_ip4++) {
        size_t l4 = is_ip4 ? PACKET_IP4_LEN : PACKET_IP6_LEN;
        size_t head = l4 + PACKET_TCP_LEN;
        uint8_t packet[128], before[128];
        size_t len = make_syn(packet, is_ip4, PACKET_TCP_SYN);
        uint8_t *tcp = packet + l4;

        /* It fits already, or no size would fit. */
        memcpy(before, packet, len);
        g_assert_false(packet_mtu_clamp(packet, len, head + 1460, false));
        g_assert_false(packet_mtu_clamp(packet, len, head, false));
        g_assert_false(packet_mtu_clamp(packet, len, 0, false));
        g_assert_cmpmem(before, len, packet, len);
        g_assert_true(packet_mtu_clamp(packet, len, 1400, false));
        g_assert_cmpint(get_be16(tcp + PACKET_TCP_LEN + 2), ==,
                        1400 - head);
        g_assert_cmphex(packet_sum_fold(packet_sum_add(
            packet_sum_pseudo(packet, PACKET_PROTO_TCP, len - l4), tcp,
            len - l4)), ==, 0);
        /* The answer, too; but no other segment. */
        len = make_syn(packet, is_ip4, PACKET_TCP_SYN | PACKET_TCP_ACK);
        g_assert_true(packet_mtu_clamp(packet, len, 1400, false));
        len = make_syn(packet, is_ip4, PACKET_TCP_ACK);
        g_assert_false(packet_mtu_clamp(packet, len, 1400, false));
        /* Not of a cut packet, or without TCP. */
        len = make_syn(packet, is_ip4, PACKET_TCP_SYN);
        for (size_t cut = 0; cut < len; cut++) {
            g_autofree uint8_t *copy = g_memdup2(packet, cut);

            g_assert_false(packet_mtu_clamp(copy, cut, 1400, false));
        }
        packet[is_ip4 ? 9 : 6] = PACKET_PROTO_UDP;
        g_assert_false(packet_mtu_clamp(packet, len, 1400, false));
    }
}

/* --- errors --------------------------------------------------------------- */

static const FrameSpec big4 = {
    .is_ip4 = true, .is_udp = true, .dont_fragment = true, .payload = payload,
    .len = 1472,
};
static const FrameSpec big6 = {
    .is_udp = true, .payload = payload, .len = 1452,
};

/* Returns: octets of the packet. */
static size_t make_big(uint8_t *packet, const FrameSpec *spec)
{
    uint8_t frame[2048];
    size_t len = frame_make(frame, spec) - PACKET_ETH_LEN;

    memcpy(packet, frame + PACKET_ETH_LEN, len);
    return len;
}

static void test_error4(void)
{
    uint8_t packet[2048], error[PACKET_MTU_ERROR_MAX];
    const uint8_t *icmp = error + PACKET_IP4_LEN;
    size_t len = make_big(packet, &big4), got;
    PacketIp4 ip, was;

    got = packet_mtu_error(error, 1450, packet, len);
    g_assert_cmpuint(got, ==, 576);
    g_assert_true(packet_ip4_parse(&ip, error, got));
    packet_ip4_parse(&was, packet, len);
    g_assert_cmphex(ip.src.s_addr, ==, was.dst.s_addr);
    g_assert_cmphex(ip.dst.s_addr, ==, was.src.s_addr);
    g_assert_true(packet_ip4_sum_is_good(error, PACKET_IP4_LEN));
    g_assert_cmpint(ip.protocol, ==, 1);
    g_assert_cmpint(icmp[0], ==, 3);
    g_assert_cmpint(icmp[1], ==, 4);
    g_assert_cmpint(get_be16(icmp + 4), ==, 0);
    g_assert_cmpint(get_be16(icmp + 6), ==, 1450);
    g_assert_cmphex(packet_sum_fold(packet_sum_add(0, icmp,
                                                   got - PACKET_IP4_LEN)),
                    ==, 0);
    g_assert_cmpmem(icmp + 8, got - 28, packet, got - 28);
    /* A part of the packet is enough, its header is not. */
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, 48), ==, 76);
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, 20), ==, 0);
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, 0), ==, 0);
}

/* A changed octet of the packet with which it causes no error. */
typedef struct Quiet {
    size_t at;
    uint8_t octet;
    bool is_quiet;
} Quiet;

static void test_quiet4(void)
{
    static const Quiet quiet[] = {
        { 6, 0, true },                 /* fragments are not forbidden */
        { 7, 1, true },                 /* a fragment, and not the first */
        { 6, 0x60, false },             /* the first */
        { 12, 0, true }, { 12, 127, true }, { 12, 224, true },
        { 12, 255, true }, { 12, 192, false },
        { 16, 0, true }, { 16, 127, true }, { 16, 239, true },
        { 16, 255, true }, { 16, 223, false },
        { 0, 0x44, true },              /* a header that is too short */
        { 0, 0x55, true },
    };
    static const Quiet icmp[] = {
        { 20, 3, true }, { 20, 4, true }, { 20, 5, true }, { 20, 11, true },
        { 20, 12, true }, { 20, 0, false }, { 20, 8, false },
    };
    uint8_t packet[2048], error[PACKET_MTU_ERROR_MAX];

    for (size_t i = 0; i < G_N_ELEMENTS(quiet); i++) {
        size_t len = make_big(packet, &big4);

        packet[quiet[i].at] = quiet[i].octet;
        g_assert_cmpint(packet_mtu_error(error, 1450, packet, len) == 0, ==,
                        quiet[i].is_quiet);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(icmp); i++) {
        size_t len = make_big(packet, &big4);

        packet[9] = 1;
        packet[icmp[i].at] = icmp[i].octet;
        g_assert_cmpint(packet_mtu_error(error, 1450, packet, len) == 0, ==,
                        icmp[i].is_quiet);
    }
}

static void test_error6(void)
{
    uint8_t packet[2048], error[PACKET_MTU_ERROR_MAX];
    const uint8_t *icmp = error + PACKET_IP6_LEN;
    size_t len = make_big(packet, &big6), got;
    FrameSpec spec = big6;
    PacketIp6 ip;

    got = packet_mtu_error(error, 1450, packet, len);
    g_assert_cmpuint(got, ==, 1280);
    g_assert_true(packet_ip6_parse(&ip, error, got));
    g_assert_cmpmem(&ip.src, 16, packet + 24, 16);
    g_assert_cmpmem(&ip.dst, 16, packet + 8, 16);
    g_assert_cmpint(icmp[0], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(icmp[1], ==, 0);
    g_assert_cmpuint(get_be32(icmp + 4), ==, 1450);
    g_assert_cmphex(packet_sum_fold(packet_sum_add(
        packet_sum_pseudo(error, PACKET_PROTO_ICMP6, got - PACKET_IP6_LEN),
        icmp, got - PACKET_IP6_LEN)), ==, 0);
    g_assert_cmpmem(icmp + 8, got - 48, packet, got - 48);
    /* There is no IPv6 below 1280 octets. */
    g_assert_cmpuint(packet_mtu_error(error, 1000, packet, len), ==, 1280);
    g_assert_cmpuint(get_be32(icmp + 4), ==, 1280);
    spec.len = 1280 - 48;
    len = make_big(packet, &spec);
    g_assert_cmpuint(packet_mtu_error(error, 1000, packet, len), ==, 0);
    /* No error from or to a group, or about an error. */
    len = make_big(packet, &big6);
    packet[24] = 0xff;
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, len), ==, 0);
    len = make_big(packet, &big6);
    packet[8] = 0xff;
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, len), ==, 0);
    len = make_big(packet, &big6);
    packet[6] = PACKET_PROTO_ICMP6;
    packet[40] = PACKET_ICMP6_TOO_BIG;
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, len), ==, 0);
    packet[40] = PACKET_ICMP6_ECHO;
    g_assert_cmpuint(packet_mtu_error(error, 1450, packet, len), >, 0);
}

/* --- fragments ------------------------------------------------------------ */

/* Options: record route (not copied), router alert (copied), end. */
static const uint8_t options[12] = { 7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0, 0 };

typedef struct Cut {
    size_t payload, mtu, offset;
    bool options, more, tagged;
} Cut;

/* Returns: the frame's length, with padding behind the packet. */
static size_t make_cut(uint8_t *frame, const Cut *t)
{
    uint8_t *ip = frame + PACKET_ETH_LEN;
    size_t head = PACKET_IP4_LEN + (t->options ? sizeof(options) : 0);
    PacketIp4 fields = {
        .src.s_addr = htonl(0x0a000001), .dst.s_addr = htonl(0x0a000002),
        .ttl = 64, .protocol = 17, .id = 77, .more = t->more,
        .fragment_offset = t->offset, .total = head + t->payload,
    };

    memset(frame, 2, PACKET_ETH_LEN);
    put_be16(frame + 12, t->tagged ? PACKET_ETH_VLAN : PACKET_ETH_IP4);
    if (t->tagged) {
        put_be16(ip, 5);
        put_be16(ip + 2, PACKET_ETH_IP4);
        ip += PACKET_ETH_TAG_LEN;
    }
    packet_ip4_build(ip, &fields);
    ip[0] = 0x40 | head / 4;
    put_be16(ip + 6, t->offset / 8 | (t->more ? 0x2000 : 0));
    if (t->options) {
        memcpy(ip + PACKET_IP4_LEN, options, sizeof(options));
    }
    packet_ip4_seal(ip, head);
    memcpy(ip + head, payload, t->payload);
    memset(ip + head + t->payload, 0xee, 10);
    return ip - frame + head + t->payload + 10;
}

static void test_cut(void)
{
    static const Cut cuts[] = {
        { 1480, 1400, 0, false, false, false },
        { 1480, 1400, 0, false, false, true },
        { 1480, 1400, 0, true, false, false },
        { 1480, 1400, 2960, false, true, false },
        { 1001, 600, 2960, true, false, true },
        { 3000, 68, 0, true, false, false },
        { 17, 28, 0, false, false, false },
        { 1376, 1400, 0, false, false, false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
        const Cut *t = &cuts[i];
        uint8_t frame[4096], head[PACKET_SEGMENT_HEAD_MAX];
        size_t len = make_cut(frame, t), done = 0, head_len;
        size_t l3 = t->tagged ? 18 : 14;
        struct iovec iov[] = { { frame, 40 }, { frame + 40, len - 40 } };
        struct iovec part[2];
        PacketCut4 cut;
        int parts;

        g_test_message("case %zu", i);
        g_assert_true(packet_cut4_begin(&cut, iov, 2, t->mtu));
        while ((parts = packet_cut4_next(&cut, head, &head_len, part, 2)) > 0) {
            size_t ip_len = head_len - l3, size = packet_iov_len(part, parts);
            const uint8_t *ip = head + l3;
            uint8_t got[2048];
            uint16_t field = get_be16(ip + 6);
            bool last = done + size == t->payload;

            g_assert_cmpuint(ip_len + size, <=, t->mtu);
            g_assert_cmpuint(get_be16(ip + 2), ==, ip_len + size);
            g_assert_true(packet_ip4_sum_is_good(ip, ip_len));
            g_assert_cmpmem(head, l3, frame, l3);
            g_assert_cmpuint((field & 0x1fff) * 8u, ==, t->offset + done);
            g_assert_cmpint(!!(field & 0x2000), ==, t->more || !last);
            g_assert_cmpint(get_be16(ip + 4), ==, 77);
            packet_iov_copy(part, parts, 0, got, sizeof(got));
            g_assert_cmpmem(got, size, payload + done, size);
            if (t->options) {
                /* RFC 791: one is in all fragments, one in the first. */
                g_assert_cmpint(ip[PACKET_IP4_LEN], ==, done ? 1 : 7);
                g_assert_cmpint(ip[PACKET_IP4_LEN + 7], ==, 148);
            }
            done += size;
        }
        g_assert_cmpuint(done, ==, t->payload);
    }
}

static void test_not_cut(void)
{
    static const Cut whole = { 1480, 1400, 0, false, false, false };
    uint8_t frame[4096];
    size_t len = make_cut(frame, &whole);
    uint8_t *ip = frame + PACKET_ETH_LEN;
    struct iovec iov = { frame, len };
    PacketCut4 cut;

    g_assert_false(packet_cut4_begin(&cut, &iov, 1, 27));
    ip[6] = 0x40;                       /* fragments are forbidden */
    packet_ip4_seal(ip, PACKET_IP4_LEN);
    g_assert_false(packet_cut4_begin(&cut, &iov, 1, 1400));
    make_cut(frame, &whole);
    ip[8]++;                            /* a header that is damaged stays so */
    g_assert_false(packet_cut4_begin(&cut, &iov, 1, 1400));
    make_cut(frame, &whole);
    put_be16(ip + 6, 0x1fff);       /* beyond what an offset can say */
    packet_ip4_seal(ip, PACKET_IP4_LEN);
    g_assert_false(packet_cut4_begin(&cut, &iov, 1, 1400));
    make_cut(frame, &whole);
    for (iov.iov_len = 0; iov.iov_len < len - 10; iov.iov_len++) {
        g_assert_false(packet_cut4_begin(&cut, &iov, 1, 1400));
    }
    put_be16(frame + 12, PACKET_ETH_IP6);
    iov.iov_len = len;
    g_assert_false(packet_cut4_begin(&cut, &iov, 1, 1400));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = i * 31 + (i >> 8);
    }
    g_test_add_func("/packet/mtu/clamp", test_clamp);
    g_test_add_func("/packet/mtu/error4", test_error4);
    g_test_add_func("/packet/mtu/quiet4", test_quiet4);
    g_test_add_func("/packet/mtu/error6", test_error6);
    g_test_add_func("/packet/mtu/cut", test_cut);
    g_test_add_func("/packet/mtu/not-cut", test_not_cut);
    return g_test_run();
}
