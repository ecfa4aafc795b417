/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Neighbour discovery: both directions, and messages that RFC 4861 calls
 * invalid
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

static const uint8_t mac[] = { 0x52, 0x54, 0, 1, 2, 3 };

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void test_ns(void)
{
    struct in6_addr src = address("2001:db8::1"), dst;
    struct in6_addr target = address("2001:db8::2");
    uint8_t buf[PACKET_ND_SHORT_MAX];
    PacketNd nd;
    size_t len;

    dst = packet_ip6_solicited(&target);
    len = packet_nd_build_ns(buf, &src, &dst, &target, mac);
    g_assert_cmpint(len, ==, 72);
    g_assert_true(packet_nd_parse(&nd, buf, len));
    g_assert_cmpint(nd.type, ==, PACKET_ND_NS);
    g_assert_cmpmem(&nd.target, 16, &target, 16);
    g_assert_true(nd.has_slla);
    g_assert_cmpmem(nd.slla, 6, mac, 6);
    /* Duplicate address detection: no source, so no link-layer address. */
    len = packet_nd_build_ns(buf, &in6addr_any, &dst, &target, NULL);
    g_assert_true(packet_nd_parse(&nd, buf, len));
    len = packet_nd_build_ns(buf, &in6addr_any, &dst, &target, mac);
    g_assert_false(packet_nd_parse(&nd, buf, len));
    len = packet_nd_build_ns(buf, &in6addr_any, &src, &target, NULL);
    g_assert_false(packet_nd_parse(&nd, buf, len));
}

static void test_na(void)
{
    struct in6_addr src = address("2001:db8::1");
    struct in6_addr dst = address("2001:db8::2");
    uint8_t buf[PACKET_ND_SHORT_MAX];
    PacketNd nd;
    size_t len;

    for (unsigned flags = 0; flags < 8; flags++) {
        len = packet_nd_build_na(buf, &src, &dst, &src, flags, mac);
        g_assert_true(packet_nd_parse(&nd, buf, len));
        g_assert_cmpint(nd.flags, ==, flags);
        g_assert_true(nd.has_tlla);
    }
    /* No solicitation with a group as source. */
    len = packet_nd_build_na(buf, &src, &packet_ip6_all_nodes, &src,
                             PACKET_NA_SOLICITED, mac);
    g_assert_false(packet_nd_parse(&nd, buf, len));
}

static void test_ra(void)
{
    struct in6_addr src = address("fe80::1");
    PacketNdRa ra = {
        .hop_limit = 64,
        .managed = true,
        .home_agent = true,
        .preference = -1,
        .lifetime = 1800,
        .reachable = 30000,
        .retrans = 1000,
        .mtu = 1480,
        .has_ha_info = true,
        .ha_preference = -7,
        .ha_lifetime = 900,
        .interval = 3000,
        .prefixes = 2,
        .prefix = {
            { address("2001:db8:1::"), 64, true, true, false, 86400, 14400 },
            { address("2001:db8:2::1"), 64, true, false, true,
              PACKET_ND_INFINITE, PACKET_ND_INFINITE },
        },
    };
    uint8_t buf[512];
    PacketNd nd;
    size_t len;

    len = packet_nd_build_ra(buf, sizeof(buf), &src, &packet_ip6_all_nodes,
                             &ra, mac);
    g_assert_true(packet_nd_parse(&nd, buf, len));
    g_assert_cmpmem(&nd.ra, sizeof(nd.ra), &ra, sizeof(ra));
    g_assert_true(nd.has_slla);
    g_assert_cmpint(packet_nd_build_ra(buf, len - 1, &src,
                                       &packet_ip6_all_nodes, &ra, mac), ==,
                    0);
    /* Routers use only their link-local addresses. */
    src = address("2001:db8::1");
    len = packet_nd_build_ra(buf, sizeof(buf), &src, &packet_ip6_all_nodes,
                             &ra, mac);
    g_assert_false(packet_nd_parse(&nd, buf, len));
}

static void test_invalid(void)
{
    struct in6_addr src = address("2001:db8::1");
    uint8_t good[PACKET_ND_SHORT_MAX], buf[PACKET_ND_SHORT_MAX];
    size_t len = packet_nd_build_rs(good, &src, mac);
    PacketNd nd;

    g_assert_true(packet_nd_parse(&nd, good, len));
    for (size_t cut = 0; cut < len; cut++) {
        g_assert_false(packet_nd_parse(&nd, good, cut));
    }
    memcpy(buf, good, len);
    buf[7] = 254;               /* it comes from beyond the link */
    g_assert_false(packet_nd_parse(&nd, buf, len));
    memcpy(buf, good, len);
    buf[41] = 1;                /* code */
    packet_icmp6_seal(buf, len);
    g_assert_false(packet_nd_parse(&nd, buf, len));
    memcpy(buf, good, len);
    buf[49] = 0;                /* an option of length 0 */
    packet_icmp6_seal(buf, len);
    g_assert_false(packet_nd_parse(&nd, buf, len));
    memcpy(buf, good, len);
    buf[49] = 2;                /* one that goes beyond the end */
    packet_icmp6_seal(buf, len);
    g_assert_false(packet_nd_parse(&nd, buf, len));
    for (size_t bit = 40 * 8; bit < len * 8; bit++) {
        memcpy(buf, good, len);
        buf[bit / 8] ^= 1 << bit % 8;
        g_assert_false(packet_nd_parse(&nd, buf, len));
    }
}

static void test_error(void)
{
    struct in6_addr router = address("fe80::1");
    struct in6_addr src = address("2001:db8::1");
    uint8_t cause[1500] = { 0 }, buf[1280];
    PacketIp6 ip = { .src = src, .dst = address("2001:db8::2"), .next = 17,
                     .hops = 64, .payload = 1460 };
    size_t len;

    packet_ip6_build(cause, &ip);
    len = packet_icmp6_error(buf, sizeof(buf), &router, 255,
                             PACKET_ICMP6_TOO_BIG, 0, 1460, cause, 1500);
    g_assert_cmpint(len, ==, 1280);
    g_assert_cmpint(buf[40], ==, 2);
    g_assert_cmpint(get_be32(buf + 44), ==, 1460);
    g_assert_cmpmem(buf + 24, 16, &src, 16);
    g_assert_cmpmem(buf + 48, 1232, cause, 1232);
    /* Not about an error, not to a group, not from the unspecified address. */
    ip.next = 58;
    packet_ip6_build(cause, &ip);
    cause[40] = PACKET_ICMP6_UNREACHABLE;
    g_assert_cmpint(packet_icmp6_error(buf, sizeof(buf), &router, 255, 1, 0, 0,
                                       cause, 1500), ==, 0);
    cause[40] = PACKET_ICMP6_ECHO;
    g_assert_cmpint(packet_icmp6_error(buf, sizeof(buf), &router, 255, 1, 0, 0,
                                       cause, 1500), >, 0);
    ip.dst = packet_ip6_all_nodes;
    packet_ip6_build(cause, &ip);
    g_assert_cmpint(packet_icmp6_error(buf, sizeof(buf), &router, 255, 1, 0, 0,
                                       cause, 1500), ==, 0);
    g_assert_cmpint(packet_icmp6_error(buf, sizeof(buf), &router, 255,
                                       PACKET_ICMP6_TOO_BIG, 0, 1400, cause,
                                       1500), >, 0);
    ip.src = in6addr_any;
    packet_ip6_build(cause, &ip);
    g_assert_cmpint(packet_icmp6_error(buf, sizeof(buf), &router, 255,
                                       PACKET_ICMP6_TOO_BIG, 0, 1400, cause,
                                       1500), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/nd/ns", test_ns);
    g_test_add_func("/packet/nd/na", test_na);
    g_test_add_func("/packet/nd/ra", test_ra);
    g_test_add_func("/packet/nd/invalid", test_invalid);
    g_test_add_func("/packet/nd/error", test_error);
    return g_test_run();
}
