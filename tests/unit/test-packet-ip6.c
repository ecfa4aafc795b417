/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ethernet, IPv6, extension headers, checksums: parsed and written */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void test_eth(void)
{
    static const uint8_t dst[] = { 1, 2, 3, 4, 5, 6 };
    static const uint8_t src[] = { 2, 0, 0, 0, 0, 9 };
    uint8_t buf[32] = { 0 };
    PacketEth eth;

    g_assert_cmpint(packet_eth_build(buf, dst, src, 0x86dd), ==, 14);
    for (size_t len = 0; len < 14; len++) {
        g_assert_false(packet_eth_parse(&eth, buf, len));
    }
    g_assert_true(packet_eth_parse(&eth, buf, 14));
    g_assert_cmphex(eth.type, ==, PACKET_ETH_IP6);
    g_assert_cmpint(eth.len, ==, 14);
    g_assert_true(packet_eth_is_group(eth.dst));
    /* Two tags are skipped, a third is the type. */
    for (unsigned i = 0; i < 3; i++) {
        put_be16(buf + 12 + 4 * i, i ? 0x8100 : 0x88a8);
        put_be16(buf + 14 + 4 * i, 100 + i);
    }
    g_assert_false(packet_eth_parse(&eth, buf, 21));
    g_assert_true(packet_eth_parse(&eth, buf, sizeof(buf)));
    g_assert_cmpint(eth.tags, ==, 2);
    g_assert_cmpint(eth.tci[1], ==, 101);
    g_assert_cmphex(eth.type, ==, 0x8100);
    g_assert_cmpint(eth.len, ==, 22);
}

static void test_header(void)
{
    PacketIp6 ip = {
        .src = address("2001:db8::1"),
        .dst = address("2001:db8::2"),
        .flow = 0xabcde,
        .tclass = 0x5a,
        .next = 17,
        .hops = 3,
        .payload = 8,
    }, got = { 0 };
    uint8_t buf[48] = { 0 };

    g_assert_cmpint(packet_ip6_build(buf, &ip), ==, 40);
    g_assert_true(packet_ip6_parse(&got, buf, sizeof(buf)));
    g_assert_cmpmem(&got.src, 32, &ip.src, 32);
    g_assert_cmphex(got.flow, ==, ip.flow);
    g_assert_cmphex(got.tclass, ==, ip.tclass);
    g_assert_cmpint(got.payload, ==, 8);
    g_assert_false(packet_ip6_parse(&got, buf, 47));
    buf[0] = 0x45;
    g_assert_false(packet_ip6_parse(&got, buf, sizeof(buf)));
}

/* Hop-by-hop, destination, routing, destination, fragment, UDP. */
static void test_walk(void)
{
    uint8_t buf[40 + 8 + 8 + 24 + 8 + 8 + 8] = { 0x60 };
    PacketIp6Ext ext;

    buf[6] = PACKET_PROTO_HOPOPTS;
    buf[40] = PACKET_PROTO_DSTOPTS;
    buf[48] = PACKET_PROTO_ROUTING;
    buf[56] = PACKET_PROTO_DSTOPTS;
    buf[57] = 2;
    buf[80] = PACKET_PROTO_FRAGMENT;
    buf[88] = PACKET_PROTO_UDP;
    buf[91] = 1;                /* the first of several */
    put_be32(buf + 92, 0xdeadbeef);
    g_assert_true(packet_ip6_walk(&ext, buf, sizeof(buf)));
    g_assert_cmpint(ext.next, ==, PACKET_PROTO_UDP);
    g_assert_cmpint(ext.offset, ==, 96);
    g_assert_cmpint(ext.hopopts, ==, 40);
    g_assert_cmpint(ext.dst1, ==, 48);
    g_assert_cmpint(ext.routing, ==, 56);
    g_assert_cmpint(ext.dst2, ==, 80);
    g_assert_cmpint(ext.fragment, ==, 88);
    g_assert_cmphex(ext.fragment_id, ==, 0xdeadbeef);
    g_assert_true(ext.more);
    for (size_t len = 0; len < 96; len++) {
        g_assert_false(packet_ip6_walk(&ext, buf, len));
    }
    /* A later fragment has no headers behind it. */
    put_be16(buf + 90, 1480);
    buf[88] = PACKET_PROTO_HOPOPTS;
    g_assert_true(packet_ip6_walk(&ext, buf, 96));
    g_assert_cmpint(ext.fragment_offset, ==, 1480);
    /* Hop-by-hop options only at the beginning. */
    buf[48] = PACKET_PROTO_HOPOPTS;
    g_assert_false(packet_ip6_walk(&ext, buf, sizeof(buf)));
}

static void test_too_many(void)
{
    uint8_t buf[40 + 9 * 8 + 8] = { 0x60 };
    PacketIp6Ext ext;

    buf[6] = PACKET_PROTO_DSTOPTS;
    for (unsigned i = 0; i < 9; i++) {
        buf[40 + 8 * i] = i < 8 ? PACKET_PROTO_DSTOPTS : PACKET_PROTO_NONE;
    }
    g_assert_false(packet_ip6_walk(&ext, buf, sizeof(buf)));
    buf[40 + 8 * 7] = PACKET_PROTO_NONE;
    g_assert_true(packet_ip6_walk(&ext, buf, sizeof(buf)));
}

static void test_options(void)
{
    static const uint8_t header[] = {
        59, 1, 0, 1, 2, 0, 0, 0xc9, 2, 7, 8, 0, 5, 0, 1, 0,
    };
    uint8_t cut[sizeof(header)];
    PacketIp6Option option;
    size_t pos = 0;

    g_assert_true(packet_ip6_option_next(header, sizeof(header), &pos,
                                         &option));
    g_assert_cmphex(option.type, ==, 0xc9);
    g_assert_cmpint(option.len, ==, 2);
    g_assert_cmpint(option.data[1], ==, 8);
    g_assert_true(packet_ip6_option_next(header, sizeof(header), &pos,
                                         &option));
    g_assert_cmpint(option.type, ==, 5);
    g_assert_false(packet_ip6_option_next(header, sizeof(header), &pos,
                                          &option));
    g_assert_cmpint(pos, ==, sizeof(header));
    memcpy(cut, header, sizeof(cut));
    cut[15] = 1;
    pos = 14;
    g_assert_false(packet_ip6_option_next(cut, sizeof(cut), &pos, &option));
    g_assert_cmpint(pos, <, sizeof(cut));
}

static void test_addresses(void)
{
    static const uint8_t mac[] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
    struct in6_addr want = address("fe80::5054:ff:fe12:3456"), got;
    struct in6_addr prefix = address("2001:db8:8000::");
    struct in6_addr in = address("2001:db8:bfff::1");

    got = packet_ip6_link_local(mac);
    g_assert_cmpmem(&got, 16, &want, 16);
    want = address("ff02::1:ff12:3456");
    got = packet_ip6_solicited(&got);
    g_assert_cmpmem(&got, 16, &want, 16);
    g_assert_true(packet_ip6_in_prefix(&in, &prefix, 34));
    g_assert_false(packet_ip6_in_prefix(&in, &prefix, 35));
    g_assert_true(packet_ip6_in_prefix(&in, &prefix, 0));
    g_assert_false(packet_ip6_in_prefix(&in, &prefix, 128));
}

/* The sum as RFC 1071 writes it, a word at a time. */
static uint16_t plain_sum(const uint8_t *p, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += i & 1 ? p[i] : p[i] << 8;
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return ~sum;
}

static void test_routable(void)
{
    static const struct { const char *addr; bool routable; } cases[] = {
        { "2001:db8::1", true }, { "fd00::1", true }, { "64:ff9b::1", true },
        { "0:0:0:1::1", true }, { "101::1", true }, { "fec0::1", true },
        { "::", false }, { "::1", false }, { "::ffff:192.0.2.1", false },
        { "::192.0.2.1", false }, { "::ffff:0:192.0.2.1", false },
        { "100::1", false }, { "fe80::1", false }, { "febf::1", false },
        { "ff02::1", false }, { "ff0e::1", false },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct in6_addr addr;

        inet_pton(AF_INET6, cases[i].addr, &addr);
        g_assert_cmpint(packet_ip6_is_routable(&addr), ==, cases[i].routable);
    }
}

static void test_sum(void)
{
    /* RFC 1071 section 3 */
    static const uint8_t example[] = { 0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7 };
    uint8_t buf[3001];

    g_assert_cmphex(packet_sum_fold(packet_sum_add(0, example, 8)), ==,
                    0xffff & ~0xddf2);
    for (unsigned round = 0; round < 500; round++) {
        size_t len = g_test_rand_int_range(0, sizeof(buf));
        size_t a = g_test_rand_int_range(0, len + 1);
        size_t b = g_test_rand_int_range(a, len + 1);
        struct iovec iov[] = {
            { buf, a }, { NULL, 0 }, { buf + a, b - a }, { buf + b, len - b },
        };
        size_t from = g_test_rand_int_range(0, len + 1);

        for (size_t i = 0; i < len; i++) {
            buf[i] = round & 1 ? 0xff : g_test_rand_int();
        }
        g_assert_cmphex(packet_sum_fold(packet_sum_add(0, buf, len)), ==,
                        plain_sum(buf, len));
        g_assert_cmphex(packet_sum_fold(packet_sum_iov(0, iov, 4, from,
                                                       len - from)), ==,
                        plain_sum(buf + from, len - from));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/eth", test_eth);
    g_test_add_func("/packet/ip6/header", test_header);
    g_test_add_func("/packet/ip6/walk", test_walk);
    g_test_add_func("/packet/ip6/too-many", test_too_many);
    g_test_add_func("/packet/ip6/options", test_options);
    g_test_add_func("/packet/ip6/addresses", test_addresses);
    g_test_add_func("/packet/ip6/routable", test_routable);
    g_test_add_func("/packet/sum", test_sum);
    return g_test_run();
}
