/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Home agent discovery and pings are answered */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "ha/parts/discovery.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define AGENT   "2001:db8:2000::1"
#define ANYCAST "2001:db8:2000:0:fdff:ffff:ffff:fffe"
#define COA     "2001:db8:3000::b"

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

/* RFC 2526 section 2: of 64 bits, and of other lengths. */
static void test_anycast(void)
{
    const struct {
        const char *prefix;
        unsigned len;
        const char *anycast;
    } cases[] = {
        { AGENT, 64, ANYCAST },    /* the agent's identifier is lost */
        { "2001:db8::", 112, "2001:db8::fffe" },
        { "2001:db8::", 121, "::" },
        { "2001:db8::", 52, "2001:db8:0:fff:ffff:ffff:ffff:fffe" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct in6_addr prefix = address(cases[i].prefix);
        struct in6_addr expected = address(cases[i].anycast), found;

        found = mip6_icmp_anycast(&prefix, cases[i].len);
        g_assert_cmpmem(&found, 16, &expected, 16);
    }
}

static const Mip6Icmp agents = {
    .type = MIP6_ICMP_AGENT_REPLY, .agents = 1,
    .agent = { { .s6_addr = { 0x20, 1, 0x0d, 0xb8, 0x20, [15] = 1 } } },
};

static size_t question(uint8_t *p, const char *src, const char *dst,
                       uint8_t type, size_t payload)
{
    PacketIp6 ip = {
        .src = address(src),
        .dst = address(dst),
        .next = PACKET_PROTO_ICMP6,
        .hops = 64,
        .payload = 8 + payload,
    };

    packet_ip6_build(p, &ip);
    memset(p + PACKET_IP6_LEN, 0, 8);
    p[PACKET_IP6_LEN] = type;
    p[PACKET_IP6_LEN + 4] = 0x12;
    p[PACKET_IP6_LEN + 5] = 0x34;
    memset(p + PACKET_IP6_LEN + 8, 0xa5, payload);
    packet_icmp6_seal(p, PACKET_IP6_LEN + 8 + payload);
    return PACKET_IP6_LEN + 8 + payload;
}

static size_t answer(uint8_t *buf, const char *src, const char *dst,
                     uint8_t type, size_t payload)
{
    struct in6_addr agent = address(AGENT);
    uint8_t p[4096];
    size_t len = question(p, src, dst, type, payload);

    return mip6_discovery_answer(buf, &agent, &agents, p, PACKET_IP6_LEN, len);
}

static void expect(const uint8_t *buf, size_t len, uint8_t type, size_t payload)
{
    struct in6_addr agent = address(AGENT), coa = address(COA);
    PacketIp6 ip;

    g_assert_true(packet_ip6_parse(&ip, buf, len));
    g_assert_true(packet_ip6_equal(&ip.src, &agent));
    g_assert_true(packet_ip6_equal(&ip.dst, &coa));
    g_assert_cmpuint(ip.payload, ==, 8 + payload);
    g_assert_cmpuint(buf[PACKET_IP6_LEN], ==, type);
    g_assert_cmpuint(buf[PACKET_IP6_LEN + 4], ==, 0x12);
    g_assert_cmpuint(buf[PACKET_IP6_LEN + 5], ==, 0x34);
}

static void test_discovery(void)
{
    struct in6_addr agent = address(AGENT);
    uint8_t buf[MIP6_DISCOVERY_MAX];
    size_t len = answer(buf, COA, ANYCAST, MIP6_ICMP_AGENT_REQUEST, 0);

    expect(buf, len, MIP6_ICMP_AGENT_REPLY, 16);
    g_assert_cmpmem(buf + PACKET_IP6_LEN + 8, 16, &agent, 16);
}

static void test_echo(void)
{
    uint8_t buf[MIP6_DISCOVERY_MAX], p[256];
    struct in6_addr agent = address(AGENT);
    size_t len = answer(buf, COA, AGENT, PACKET_ICMP6_ECHO, 1000);

    expect(buf, len, PACKET_ICMP6_ECHO_REPLY, 1000);
    g_assert_cmpuint(buf[PACKET_IP6_LEN + 8 + 999], ==, 0xa5);
    g_assert_cmpuint(answer(buf, COA, ANYCAST, PACKET_ICMP6_ECHO, 4), ==, 0);
    g_assert_cmpuint(answer(buf, COA, AGENT, PACKET_ICMP6_ECHO, 2048), ==, 0);
    g_assert_cmpuint(answer(buf, "ff02::1", AGENT, PACKET_ICMP6_ECHO, 4), ==,
                     0);
    g_assert_cmpuint(answer(buf, COA, AGENT, PACKET_ICMP6_TOO_BIG, 4), ==, 0);

    len = question(p, COA, AGENT, PACKET_ICMP6_ECHO, 4);
    p[len - 1]++;               /* the checksum is wrong */
    g_assert_cmpuint(mip6_discovery_answer(buf, &agent, &agents, p,
                                           PACKET_IP6_LEN,
                                           len), ==, 0);
    g_assert_cmpuint(mip6_discovery_answer(buf, &agent, &agents, p,
                                           PACKET_IP6_LEN,
                                           PACKET_IP6_LEN + 7), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-discovery/anycast", test_anycast);
    g_test_add_func("/mip6-discovery/discovery", test_discovery);
    g_test_add_func("/mip6-discovery/echo", test_echo);
    return g_test_run();
}
