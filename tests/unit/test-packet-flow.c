/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields that a switch matches, in frames of every kind */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/arp.h"
#include "net/packet/flow.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

static const uint8_t a[] = { 2, 0, 0, 0, 0, 1 }, b[] = { 2, 0, 0, 0, 0, 2 };
static const struct in6_addr src6 = { .s6_addr = { 0xfe, 0x80, [15] = 1 } };
static const struct in6_addr dst6 = { .s6_addr = { 0xfe, 0x80, [15] = 2 } };

static size_t ip4(uint8_t *p, uint8_t protocol, uint16_t offset, bool more,
                  const uint8_t *l4, size_t len)
{
    PacketIp4 ip = {
        .src.s_addr = htonl(0x0a000001), .dst.s_addr = htonl(0x0a000002),
        .tos = 0xb9, .ttl = 61, .protocol = protocol, .more = more,
        .fragment_offset = offset, .total = PACKET_IP4_LEN + len,
    };

    packet_eth_build(p, a, b, PACKET_ETH_IP4);
    packet_ip4_build(p + 14, &ip);
    memcpy(p + 34, l4, len);
    return 34 + len;
}

static size_t ip6(uint8_t *p, uint8_t next, const uint8_t *rest, size_t len)
{
    PacketIp6 ip = {
        .src = src6, .dst = dst6, .flow = 0x54321, .tclass = 0xb9,
        .next = next, .hops = 60, .payload = len,
    };

    packet_eth_build(p, a, b, PACKET_ETH_IP6);
    packet_ip6_build(p + 14, &ip);
    memcpy(p + 54, rest, len);
    return 54 + len;
}

static const uint8_t tcp[20] = {
    0x0f, 0xa0, 0, 80, [12] = 0x51, [13] = 0x12,
};

static void test_transports(void)
{
    static const struct {
        uint8_t protocol;
        size_t len;
        uint16_t has;
    } t[] = {
        { 6, 20, PACKET_FLOW_TCP }, { 17, 8, PACKET_FLOW_UDP },
        { 132, 12, PACKET_FLOW_SCTP },
    };
    uint8_t frame[200];
    PacketFlow f;

    for (unsigned i = 0; i < 6; i++) {
        bool is_ip4 = i >= 3;
        size_t len = is_ip4 ? ip4(frame, t[i % 3].protocol, 0, false, tcp,
                                  t[i % 3].len)
                            : ip6(frame, t[i % 3].protocol, tcp, t[i % 3].len);

        g_assert_true(packet_flow_parse(&f, frame, len, len));
        g_assert_cmphex(f.has, ==, t[i % 3].has | (is_ip4 ? PACKET_FLOW_IP4
                                                         : PACKET_FLOW_IP6));
        g_assert_true(f.src_port == 4000 && f.dst_port == 80);
        g_assert_cmphex(f.tcp_flags, ==, i % 3 ? 0 : 0x112);
        g_assert_cmphex(f.tos, ==, 0xb9);
        g_assert_true(f.protocol == t[i % 3].protocol && f.l3 == 14);
        g_assert_true(f.ttl == (is_ip4 ? 61 : 60));
        g_assert_true(f.l4 == (is_ip4 ? 34 : 54));
        if (is_ip4) {
            g_assert_cmphex(ntohl(f.ip4_src.s_addr), ==, 0x0a000001);
            g_assert_cmphex(ntohl(f.ip4_dst.s_addr), ==, 0x0a000002);
        } else {
            g_assert_cmphex(f.ip6_label, ==, 0x54321);
            g_assert_true(packet_ip6_equal(&f.ip6_src, &src6) &&
                          packet_ip6_equal(&f.ip6_dst, &dst6));
        }
        /* The transport's header is cut: the fields of IP exist. */
        g_assert_false(packet_flow_parse(&f, frame, len - 1, len - 1));
        g_assert_cmphex(f.has, ==, is_ip4 ? PACKET_FLOW_IP4
                                         : PACKET_FLOW_IP6);
        g_assert_true(f.src_port == 0 && f.protocol == t[i % 3].protocol);
        /* The head of a long frame is enough. */
        put_be16(frame + (is_ip4 ? 16 : 18), 1000);
        g_assert_true(packet_flow_parse(&f, frame, len, 2000));
        g_assert_false(packet_flow_parse(&f, frame, len, 500));
        g_assert_cmpint(f.dst_port, ==, 80);
    }
}

/* Padding is no header. */
static void test_padding(void)
{
    uint8_t frame[60] = { 0 };
    PacketFlow f;

    ip4(frame, 17, 0, false, tcp, 4);
    g_assert_false(packet_flow_parse(&f, frame, 60, 60));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP4);
}

static void test_fragments(void)
{
    static const uint8_t first[28] = { 17, 0, 0, 1, 0, 0, 0, 9, 0x0f, 0xa0, 0,
                                       80 };
    static const uint8_t later[16] = { 17, 0, 0, 8, 0, 0, 0, 9, 1, 2, 3, 4 };
    static const uint8_t atomic[16] = { 17, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 2 };
    uint8_t frame[100];
    PacketFlow f;
    size_t len = ip4(frame, 6, 0, true, tcp, 20);

    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP4 | PACKET_FLOW_FRAGMENT |
                    PACKET_FLOW_TCP);
    len = ip4(frame, 6, 8, false, tcp, 2);
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP4 | PACKET_FLOW_FRAGMENT |
                    PACKET_FLOW_LATER);
    g_assert_true(f.protocol == 6 && f.src_port == 0);
    len = ip6(frame, 44, first, sizeof(first));
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP6 | PACKET_FLOW_FRAGMENT |
                    PACKET_FLOW_UDP);
    g_assert_cmpint(f.src_port, ==, 4000);
    len = ip6(frame, 44, later, sizeof(later));
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP6 | PACKET_FLOW_FRAGMENT |
                    PACKET_FLOW_LATER);
    g_assert_cmphex(f.ip6_has, ==, PACKET_IP6_HAS_FRAGMENT);
    len = ip6(frame, 44, atomic, sizeof(atomic));
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP6 | PACKET_FLOW_UDP);
}

/* OpenFlow's IPV6_EXTHDR. Headers of eight octets, by their numbers. */
static void test_extensions(void)
{
    static const struct {
        uint8_t chain[6];       /* to the first 59, or 17 */
        uint16_t has;
    } t[] = {
        { { 0, 60, 43, 60, 59 }, 0x40 | 0x08 | 0x20 | 0x01 },
        { { 60, 59 }, 0x08 | 0x01 },
        { { 43, 60, 17 }, 0x20 | 0x08 },
        { { 43, 43, 17 }, 0x20 | 0x80 },
        { { 60, 60, 17 }, 0x08 | 0x80 },
        { { 60, 43, 60, 60, 17 }, 0x08 | 0x20 | 0x80 },
        { { 44, 43, 17 }, 0x10 | 0x20 | 0x100 },
        { { 43, 60, 44, 17 }, 0x20 | 0x08 | 0x10 | 0x100 },
        { { 50 }, 0x02 },
    };
    uint8_t rest[64], frame[200];
    PacketFlow f;

    for (unsigned i = 0; i < G_N_ELEMENTS(t); i++) {
        size_t n = 0, len;

        memset(rest, 0, sizeof(rest));
        for (; t[i].chain[n] != 59 && t[i].chain[n] != 17 &&
               t[i].chain[n] != 50; n++) {
            rest[n * 8] = t[i].chain[n + 1];
        }
        len = ip6(frame, t[i].chain[0], rest, n * 8 + 8);
        g_assert_true(packet_flow_parse(&f, frame, len, len));
        g_assert_cmphex(f.ip6_has, ==, t[i].has);
        g_assert_cmpint(f.protocol, ==, t[i].chain[n]);
        g_assert_cmpint(f.l4, ==, 54 + n * 8);
    }
}

static void test_nd(void)
{
    struct in6_addr group = packet_ip6_solicited(&dst6);
    uint8_t frame[200];
    PacketFlow f;
    size_t len;

    packet_eth_build(frame, a, b, PACKET_ETH_IP6);
    len = 14 + packet_nd_build_ns(frame + 14, &src6, &group, &dst6, b);
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP6 | PACKET_FLOW_ICMP6 |
                    PACKET_FLOW_ND);
    g_assert_true(f.icmp_type == 135 && f.icmp_code == 0);
    g_assert_true(packet_ip6_equal(&f.nd_target, &dst6));
    g_assert_true(!memcmp(f.nd_sll, b, 6) && f.nd_tll[0] == 0);
    frame[54 + 24 + 1] = 0;     /* an option of no length */
    g_assert_false(packet_flow_parse(&f, frame, len, len));
    len = 14 + packet_nd_build_na(frame + 14, &dst6, &src6, &dst6, 0, a);
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_true(f.icmp_type == 136 && !memcmp(f.nd_tll, a, 6));
    g_assert_true(f.nd_sll[0] == 0);
    frame[55] = 1;              /* with another code it is none */
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP6 | PACKET_FLOW_ICMP6);
    len = ip4(frame, 1, 0, false, (uint8_t[]) { 3, 4, 0, 0 }, 4);
    g_assert_true(packet_flow_parse(&f, frame, len, len));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_IP4 | PACKET_FLOW_ICMP4);
    g_assert_true(f.icmp_type == 3 && f.icmp_code == 4);
}

static void test_arp(void)
{
    PacketArp arp = {
        .operation = 1, .sender_mac = { 2, [5] = 9 },
        .target_mac = { 2, [5] = 8 },
        .sender.s_addr = htonl(0x0a000001), .target.s_addr = htonl(0x0a000002),
    };
    uint8_t frame[60] = { 0 };
    PacketFlow f;

    packet_eth_build(frame, a, b, PACKET_ETH_ARP);
    packet_arp_build(frame + 14, &arp);
    g_assert_true(packet_flow_parse(&f, frame, 60, 60));
    g_assert_cmphex(f.has, ==, PACKET_FLOW_ARP);
    g_assert_true(f.arp_operation == 1 && f.arp_sha[5] == 9 &&
                  f.arp_tha[5] == 8 && f.arp_spa.s_addr == arp.sender.s_addr &&
                  f.arp_tpa.s_addr == arp.target.s_addr);
    g_assert_false(packet_flow_parse(&f, frame, 41, 41));
}

/* Two tags, SNAP, a length, and a frame that is none. */
static void test_ethernet(void)
{
    uint8_t frame[100], tagged[108], snap[108];
    size_t len = ip4(frame, 6, 0, false, tcp, 20);
    PacketFlow f;

    memcpy(tagged, frame, 12);
    put_be32(tagged + 12, 0x88a86005);
    put_be32(tagged + 16, 0x8100e007);
    memcpy(tagged + 20, frame + 12, len - 12);
    g_assert_true(packet_flow_parse(&f, tagged, len + 8, len + 8));
    g_assert_true(f.eth.tags == 2 && f.eth.tci[0] == 0x6005 &&
                  f.eth.tci[1] == 0xe007 && f.eth.tpid[0] == 0x88a8);
    g_assert_true(f.eth.type == 0x800 && f.l3 == 22 && f.dst_port == 80);
    memcpy(snap, frame, 12);
    put_be16(snap + 12, len - 6);
    put_be32(snap + 14, 0xaaaa0300);
    put_be16(snap + 18, 0);
    memcpy(snap + 20, frame + 12, len - 12);
    g_assert_true(packet_flow_parse(&f, snap, len + 8, len + 8));
    g_assert_true(f.eth.type == 0x800 && f.l3 == 22 && f.dst_port == 80);
    snap[14] = 0x42;            /* another protocol of LLC */
    g_assert_true(packet_flow_parse(&f, snap, len + 8, len + 8));
    g_assert_true(f.eth.type == PACKET_FLOW_NO_TYPE && f.has == 0);
    g_assert_false(packet_flow_parse(&f, frame, 13, 13));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/flow/transports", test_transports);
    g_test_add_func("/packet/flow/padding", test_padding);
    g_test_add_func("/packet/flow/fragments", test_fragments);
    g_test_add_func("/packet/flow/extensions", test_extensions);
    g_test_add_func("/packet/flow/nd", test_nd);
    g_test_add_func("/packet/flow/arp", test_arp);
    g_test_add_func("/packet/flow/ethernet", test_ethernet);
    return g_test_run();
}
