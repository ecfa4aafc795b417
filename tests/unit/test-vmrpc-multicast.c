/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups of IPv4 and of IPv6
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/wire/multicast.h"

static struct in_addr ip4(const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return addr;
}

static struct in6_addr ip6(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void test_table(void)
{
    static const char *const pairs[][2] = {
        { "224.0.0.0", "ff02::" },
        { "224.0.0.1", "ff02::1" },             /* all nodes */
        { "224.0.0.251", "ff02::fb" },          /* mDNS */
        { "224.0.0.255", "ff02::ff" },
        { "224.0.1.0", "ff1e::224.0.1.0" },
        { "224.0.1.129", "ff1e::224.0.1.129" },
        { "232.1.2.3", "ff1e::232.1.2.3" },
        { "239.0.0.1", "ff1e::239.0.0.1" },
        { "239.191.255.255", "ff1e::239.191.255.255" },
        { "239.192.0.0", "ff18::239.192.0.0" },
        { "239.195.255.255", "ff18::239.195.255.255" },
        { "239.196.0.0", "ff1e::239.196.0.0" },
        { "239.254.255.255", "ff1e::239.254.255.255" },
        { "239.255.0.0", "ff15::239.255.0.0" },
        { "239.255.255.250", "ff15::239.255.255.250" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        struct in_addr group4 = ip4(pairs[i][0]), back;
        struct in6_addr expected = ip6(pairs[i][1]), group6;

        g_assert_true(vmrpc_group_to6(group4, &group6));
        g_assert_cmpmem(&group6, 16, &expected, 16);
        g_assert_true(vmrpc_group_to4(&group6, &back));
        g_assert_cmpint(back.s_addr, ==, group4.s_addr);
    }
}

static void test_not_groups(void)
{
    static const char *const no4[] = {
        "0.0.0.0", "127.0.0.1", "192.0.0.2", "223.255.255.255", "240.0.0.0",
        "255.255.255.255",
    };
    /* what stands for none, or for one that has another */
    static const char *const no6[] = {
        "::", "::1", "2001:db8::1", "fe80::1", "ff02::1:fb", "ff02::100",
        "ff02::1:ff00:1", "ff02::224.0.0.251", "ff05::239.255.0.1",
        "ff1e::239.255.0.1", "ff15::239.192.0.1", "ff15::239.254.0.1",
        "ff1e::10.0.0.1", "ff1e::224.0.0.1", "ff1e:1::239.0.0.1",
        "ff0e::239.0.0.1", "ff3e::232.1.2.3", "fe1e::239.0.0.1",
    };
    struct in6_addr addr6;
    struct in_addr addr4;

    for (size_t i = 0; i < G_N_ELEMENTS(no4); i++) {
        g_assert_false(vmrpc_group_to6(ip4(no4[i]), &addr6));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(no6); i++) {
        addr6 = ip6(no6[i]);
        g_assert_false(vmrpc_group_to4(&addr6, &addr4));
    }
}

/* Every group has one of its own, and it leads back. */
static void test_reversible(void)
{
    for (uint32_t i = 0; i < 1 << 20; i++) {
        struct in_addr group4 = { htonl(0xe0000000 | i * 255u % (1 << 28)) };
        struct in6_addr group6;
        struct in_addr back;

        g_assert_true(vmrpc_group_to6(group4, &group6));
        g_assert_true(IN6_IS_ADDR_MULTICAST(&group6));
        g_assert_true(vmrpc_group_to4(&group6, &back));
        g_assert_cmpint(back.s_addr, ==, group4.s_addr);
    }
}

static int parse(int level, int name, const char *group, const char *interface,
                 uint32_t ifindex, size_t len, VmrpcMembership *m)
{
    struct in_addr addr4[2] = { ip4(group), ip4(interface) };
    uint8_t value[16] = { };

    memcpy(value, addr4, 8);
    ifindex = GUINT32_TO_LE(ifindex);
    memcpy(value + 8, &ifindex, 4);
    return vmrpc_membership_parse(level, name, value, len, ip4("192.0.0.2"), m);
}

static void test_membership(void)
{
    VmrpcMembership m;

    g_assert_cmpint(parse(SOL_IP, IP_ADD_MEMBERSHIP, "239.1.2.3", "0.0.0.0",
                          0, 8, &m), ==, 1);
    g_assert_true(m.join);
    g_assert_true(IN6_IS_ADDR_V4MAPPED(&m.group));
    g_assert_cmpint(m.group.s6_addr32[3], ==, ip4("239.1.2.3").s_addr);
    g_assert_cmpint(parse(SOL_IP, IP_DROP_MEMBERSHIP, "239.1.2.3", "192.0.0.2",
                          0, 12, &m), ==, 1);
    g_assert_false(m.join);

    g_assert_cmpint(parse(SOL_IP, IP_TTL, "239.1.2.3", "0.0.0.0", 0, 8, &m),
                    ==, 0);
    g_assert_cmpint(parse(SOL_SOCKET, IP_ADD_MEMBERSHIP, "239.1.2.3",
                          "0.0.0.0", 0, 8, &m), ==, 0);
    g_assert_cmpint(parse(SOL_IP, IP_ADD_MEMBERSHIP, "239.1.2.3", "0.0.0.0",
                          0, 7, &m), ==, -EINVAL);
    g_assert_cmpint(parse(SOL_IP, IP_ADD_MEMBERSHIP, "10.1.2.3", "0.0.0.0",
                          0, 8, &m), ==, -EINVAL);
    g_assert_cmpint(parse(SOL_IP, IP_DROP_MEMBERSHIP, "10.1.2.3", "0.0.0.0",
                          0, 8, &m), ==, -EADDRNOTAVAIL);
    g_assert_cmpint(parse(SOL_IP, IP_ADD_MEMBERSHIP, "239.1.2.3", "0.0.0.0",
                          1, 12, &m), ==, -ENODEV);
    g_assert_cmpint(parse(SOL_IP, IP_ADD_MEMBERSHIP, "239.1.2.3", "10.0.0.1",
                          0, 8, &m), ==, -ENODEV);
}

static int parse6(int name, const char *group, uint32_t ifindex, size_t len,
                  VmrpcMembership *m)
{
    uint8_t value[20];

    g_assert_cmpint(inet_pton(AF_INET6, group, value), ==, 1);
    ifindex = GUINT32_TO_LE(ifindex);
    memcpy(value + 16, &ifindex, 4);
    return vmrpc_membership_parse(SOL_IPV6, name, value, len,
                                  ip4("192.0.0.2"), m);
}

static void test_membership6(void)
{
    struct in6_addr group;
    VmrpcMembership m;

    inet_pton(AF_INET6, "ff05::7", &group);
    g_assert_cmpint(parse6(IPV6_ADD_MEMBERSHIP, "ff05::7", 0, 20, &m), ==, 1);
    g_assert_true(m.join);
    g_assert_cmpmem(&m.group, 16, &group, 16);
    g_assert_cmpint(parse6(IPV6_DROP_MEMBERSHIP, "ff05::7", 0, 20, &m), ==, 1);
    g_assert_false(m.join);

    g_assert_cmpint(parse6(IPV6_UNICAST_HOPS, "ff05::7", 0, 20, &m), ==, 0);
    g_assert_cmpint(parse6(IPV6_ADD_MEMBERSHIP, "ff05::7", 0, 19, &m), ==,
                    -EINVAL);
    g_assert_cmpint(parse6(IPV6_ADD_MEMBERSHIP, "ff05::7", 2, 20, &m), ==,
                    -ENODEV);
    g_assert_cmpint(parse6(IPV6_ADD_MEMBERSHIP, "::ffff:239.1.2.3", 0, 20, &m),
                    ==, -EINVAL);
    g_assert_cmpint(parse6(IPV6_DROP_MEMBERSHIP, "2001:db8::1", 0, 20, &m), ==,
                    -EADDRNOTAVAIL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/multicast/table", test_table);
    g_test_add_func("/vmrpc/multicast/not-groups", test_not_groups);
    g_test_add_func("/vmrpc/multicast/reversible", test_reversible);
    g_test_add_func("/vmrpc/multicast/membership", test_membership);
    g_test_add_func("/vmrpc/multicast/membership6", test_membership6);
    return g_test_run();
}
