/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4, UDP, ARP and TCP headers: golden octets, and what is refused */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/arp.h"
#include "net/packet/crc32c.h"
#include "net/packet/ip4.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"
#include "net/packet/udp.h"

/* 192.168.0.1 to 192.168.0.199, UDP; its checksum is 0xb861. */
static const uint8_t ip4_golden[] = {
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61,
    0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
};

static void test_ip4(void)
{
    uint8_t packet[0x73] = { 0 }, built[PACKET_IP4_LEN];
    PacketIp4 ip;

    memcpy(packet, ip4_golden, sizeof(ip4_golden));
    g_assert_true(packet_ip4_parse(&ip, packet, sizeof(packet)));
    g_assert_cmphex(ntohl(ip.src.s_addr), ==, 0xc0a80001);
    g_assert_cmphex(ntohl(ip.dst.s_addr), ==, 0xc0a800c7);
    g_assert_true(ip.protocol == 17 && ip.ttl == 64 && ip.tos == 0);
    g_assert_true(ip.dont_fragment && !packet_ip4_is_fragment(&ip));
    g_assert_true(ip.total == 0x73 && ip.len == 20 && ip.id == 0);
    g_assert_true(packet_ip4_sum_is_good(packet, ip.len));
    g_assert_cmpint(packet_ip4_build(built, &ip), ==, PACKET_IP4_LEN);
    g_assert_cmpmem(built, sizeof(built), ip4_golden, sizeof(ip4_golden));
    packet[9] = 6;
    g_assert_false(packet_ip4_sum_is_good(packet, ip.len));

    ip.dont_fragment = false;
    ip.more = true;
    ip.fragment_offset = 65528;
    packet_ip4_build(packet, &ip);
    g_assert_true(packet_ip4_parse(&ip, packet, sizeof(packet)));
    g_assert_true(ip.more && ip.fragment_offset == 65528);
    g_assert_true(packet_ip4_is_fragment(&ip));
}

static void test_ip4_refused(void)
{
    uint8_t packet[0x73];
    PacketIp4 ip;

    for (size_t len = 0; len < sizeof(packet); len++) {
        g_autofree uint8_t *cut = g_malloc0(len + 1);

        memcpy(cut, ip4_golden, MIN(len, sizeof(ip4_golden)));
        g_assert_false(packet_ip4_parse(&ip, cut, len));
    }
    memset(packet, 0, sizeof(packet));
    memcpy(packet, ip4_golden, sizeof(ip4_golden));
    packet[0] = 0x65;
    g_assert_false(packet_ip4_parse(&ip, packet, sizeof(packet)));
    packet[0] = 0x44;           /* shorter than a header */
    g_assert_false(packet_ip4_parse(&ip, packet, sizeof(packet)));
    packet[0] = 0x4f;           /* longer than the packet */
    packet[3] = 59;
    g_assert_false(packet_ip4_parse(&ip, packet, sizeof(packet)));
}

/* Router alert, no-operation, an end; then one that is cut. */
static void test_ip4_options(void)
{
    static const uint8_t good[12] = { 1, 148, 4, 0, 9, 1, 7, 3, 4, 0, 68, 9 };
    static const uint8_t bad[][4] = {
        { 7, 1, 0, 0 }, { 7, 0, 0, 0 }, { 7, 5, 0, 0 }, { 1, 1, 1, 7 },
    };
    uint8_t header[PACKET_IP4_LEN_MAX] = { 0x48 };
    PacketIp4Option option;
    size_t pos = 0;

    memcpy(header + PACKET_IP4_LEN, good, sizeof(good));
    g_assert_true(packet_ip4_option_next(header, 32, &pos, &option));
    g_assert_true(option.type == 148 && option.len == 2);
    g_assert_cmphex(get_be16(option.data), ==, 9);
    g_assert_true(packet_ip4_option_next(header, 32, &pos, &option));
    g_assert_true(option.type == 7 && option.len == 1);
    g_assert_false(packet_ip4_option_next(header, 32, &pos, &option));
    g_assert_cmpint(pos, ==, 32);
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        pos = 0;
        memcpy(header + PACKET_IP4_LEN, bad[i], 4);
        g_assert_false(packet_ip4_option_next(header, 24, &pos, &option));
        g_assert_cmpint(pos, <, 24);
    }
}

static void test_udp(void)
{
    uint8_t datagram[12] = { 0 };
    PacketUdp udp = { 1234, 53, 12, 0 }, again;

    g_assert_cmpint(packet_udp_build(datagram, &udp), ==, PACKET_UDP_LEN);
    memcpy(datagram + 8, "abcd", 4);
    packet_udp_seal(datagram, 12, 77);
    g_assert_true(packet_udp_parse(&again, datagram, 12));
    g_assert_true(again.src == 1234 && again.dst == 53 && again.len == 12);
    g_assert_cmphex(again.checksum, ==, (uint16_t)
                    ~(1234 + 53 + 12 + 0x6162 + 0x6364 + 77));
    g_assert_true(packet_udp_sum_is_good(datagram, 12, 77, false));
    g_assert_false(packet_udp_sum_is_good(datagram, 12, 78, true));
    g_assert_false(packet_udp_parse(&again, datagram, 11));
    g_assert_false(packet_udp_parse(&again, datagram, 7));
    put_be16(datagram + 4, 7);
    g_assert_false(packet_udp_parse(&again, datagram, 12));
}

/*
 * Without a checksum is valid over IPv4 only, and a sum of 0 is sent as ones.
 */
static void test_udp_zero(void)
{
    uint8_t datagram[10] = { 0 };

    put_be16(datagram + 4, 10);
    g_assert_true(packet_udp_sum_is_good(datagram, 10, 0, true));
    g_assert_false(packet_udp_sum_is_good(datagram, 10, 0, false));
    put_be16(datagram + 8, 0xffff - 10);
    packet_udp_seal(datagram, 10, 0);
    g_assert_cmphex(get_be16(datagram + 6), ==, 0xffff);
    g_assert_true(packet_udp_sum_is_good(datagram, 10, 0, false));
    g_assert_cmphex(packet_sum_partial(0x1ffff), ==, 1);
}

static void test_arp(void)
{
    static const uint8_t golden[] = {
        0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1,
        2, 0, 0, 0, 0, 2, 10, 0, 0, 2,
    };
    uint8_t built[PACKET_ARP_LEN], bad[PACKET_ARP_LEN];
    static const unsigned fixed[] = { 1, 2, 4, 5 };
    PacketArp arp;

    g_assert_true(packet_arp_parse(&arp, golden, sizeof(golden)));
    g_assert_cmpint(arp.operation, ==, PACKET_ARP_REPLY);
    g_assert_cmphex(ntohl(arp.sender.s_addr), ==, 0x0a000001);
    g_assert_cmphex(ntohl(arp.target.s_addr), ==, 0x0a000002);
    g_assert_true(arp.sender_mac[5] == 1 && arp.target_mac[5] == 2);
    g_assert_cmpint(packet_arp_build(built, &arp), ==, PACKET_ARP_LEN);
    g_assert_cmpmem(built, sizeof(built), golden, sizeof(golden));
    g_assert_false(packet_arp_parse(&arp, golden, PACKET_ARP_LEN - 1));
    for (unsigned i = 0; i < G_N_ELEMENTS(fixed); i++) {
        memcpy(bad, golden, sizeof(bad));
        bad[fixed[i]] ^= 1;
        g_assert_false(packet_arp_parse(&arp, bad, sizeof(bad)));
    }
    g_assert_false(packet_arp_is_announcement(&arp));
    arp.operation = PACKET_ARP_REQUEST;
    arp.sender.s_addr = 0;
    g_assert_true(packet_arp_is_probe(&arp));
    g_assert_false(packet_arp_is_announcement(&arp));
    arp.sender = arp.target;
    g_assert_false(packet_arp_is_probe(&arp));
    g_assert_true(packet_arp_is_announcement(&arp));
}

static void test_tcp(void)
{
    static const uint8_t golden[24] = {
        0x0f, 0xa0, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x61, 0x12, 0x20, 0,
        0xab, 0xcd, 0, 9, 2, 4, 5, 0xa0,
    };
    uint8_t header[24];
    PacketTcp tcp;

    g_assert_true(packet_tcp_parse(&tcp, golden, sizeof(golden)));
    g_assert_true(tcp.src == 4000 && tcp.dst == 80 && tcp.len == 24);
    g_assert_true(tcp.sequence == 0x01020304 && tcp.ack == 0x05060708);
    g_assert_cmphex(tcp.flags, ==, 0x100 | PACKET_TCP_ACK | PACKET_TCP_SYN);
    g_assert_true(tcp.window == 0x2000 && tcp.urgent == 9);
    g_assert_cmphex(tcp.checksum, ==, 0xabcd);
    g_assert_false(packet_tcp_parse(&tcp, golden, 23));
    g_assert_false(packet_tcp_parse(&tcp, golden, 19));
    memcpy(header, golden, sizeof(header));
    header[12] = 0x40;          /* shorter than a header */
    g_assert_false(packet_tcp_parse(&tcp, header, sizeof(header)));
}

/* The check value of CRC-32C, in one piece and in all pairs of pieces. */
static void test_crc32c(void)
{
    static const char digits[] = "123456789";

    for (size_t cut = 0; cut <= 9; cut++) {
        uint32_t crc = packet_crc32c(0, digits, cut);

        crc = packet_crc32c(crc, digits + cut, 9 - cut);
        g_assert_cmphex(crc, ==, 0xe3069283);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/headers/ip4", test_ip4);
    g_test_add_func("/packet/headers/ip4-refused", test_ip4_refused);
    g_test_add_func("/packet/headers/ip4-options", test_ip4_options);
    g_test_add_func("/packet/headers/udp", test_udp);
    g_test_add_func("/packet/headers/udp-zero", test_udp_zero);
    g_test_add_func("/packet/headers/arp", test_arp);
    g_test_add_func("/packet/headers/tcp", test_tcp);
    g_test_add_func("/packet/headers/crc32c", test_crc32c);
    return g_test_run();
}
