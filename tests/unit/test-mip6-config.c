/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file of vmmnet-ha, and what it says about mistakes */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/mip6/ha/config.h"

#define GOOD    "interface eth0\naddress 2001:db8:2000::1/64\n"

static void test_good(void)
{
    g_autoptr(GError) error = NULL;
    struct in6_addr addr;
    Mip6HaConfig *c;

    c = mip6_ha_config_parse(GOOD, "ha.conf", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(c->interface, ==, "eth0");
    g_assert_cmpstr(c->tun, ==, "mip6ha");
    inet_pton(AF_INET6, "2001:db8:2000::1", &addr);
    g_assert_cmpmem(&c->agent.address, 16, &addr, 16);
    g_assert_cmpint(c->agent.prefix_len, ==, 64);
    g_assert_cmpint(c->agent.lifetime_max, ==, 150);
    g_assert_cmpint(c->agent.bindings_max, ==, 10000);
    g_assert_cmpint(c->agent.mtu, ==, 1500);
    g_assert_null(c->agent.allowed);
    mip6_ha_config_free(c);

    c = mip6_ha_config_parse("# a comment\n\n\t interface\teth1  # another\r\n"
                             "address 2001:db8:1::9/56\n"
                             "allow 2001:db8:1::10\nallow 2001:db8:1::11\n"
                             "lifetime 262140\nbindings 1\nmtu 1320\n"
                             "tun home0", "ha.conf", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(c->interface, ==, "eth1");
    g_assert_cmpstr(c->tun, ==, "home0");
    g_assert_cmpint(c->agent.prefix_len, ==, 56);
    g_assert_cmpint(c->agent.lifetime_max, ==, 65535);
    g_assert_cmpint(c->agent.bindings_max, ==, 1);
    g_assert_cmpint(c->agent.mtu, ==, 1320);
    g_assert_cmpint(g_hash_table_size(c->agent.allowed), ==, 2);
    inet_pton(AF_INET6, "2001:db8:1::11", &addr);
    g_assert_true(g_hash_table_contains(c->agent.allowed, &addr));
    mip6_ha_config_free(c);
}

/* What another configuration may change while the agent runs. */
static void test_fixed(void)
{
    static const struct { const char *text, *differs; } cases[] = {
        { GOOD, NULL },
        { GOOD "allow 2001:db8:2000::10\nlifetime 8\nbindings 3\nmtu 1400\n"
          "dad off\nrefresh 4\n", NULL },
        { "interface eth1\naddress 2001:db8:2000::1/64\n", "interface" },
        { "interface eth0\naddress 2001:db8:2000::2/64\n", "address" },
        { "interface eth0\naddress 2001:db8:2000::1/65\n", "address" },
        { GOOD "tun other\n", "tun" },
        { GOOD "state /a\n", "state" },
        { GOOD "control /a\n", "control" },
    };
    Mip6HaConfig *old = mip6_ha_config_parse(GOOD, "ha.conf", NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Mip6HaConfig *c = mip6_ha_config_parse(cases[i].text, "ha.conf", NULL);

        g_assert_nonnull(c);
        g_assert_cmpstr(mip6_ha_config_fixed(old, c), ==, cases[i].differs);
        mip6_ha_config_free(c);
    }
    mip6_ha_config_free(old);
}

static void test_mistakes(void)
{
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        { "", "ha.conf: there is no line 'interface'" },
        { "interface eth0\n", "ha.conf: there is no line 'address'" },
        { "address 2001:db8::1/64\n", "ha.conf: there is no line 'interfac" },
        { "interface\n", "ha.conf:1: 'interface' needs one value" },
        { "interface eth0 eth1\n", "ha.conf:1: 'interface' needs one value" },
        { GOOD "interfaec eth0\n", "ha.conf:3: 'interfaec' is not interface" },
        { "interface a-name-much-too-long\n",
          "ha.conf:1: interface 'a-name-much-too-long' is longer than 15" },
        { "\n#\naddress 2001:db8::1\n", "ha.conf:3: address '2001:db8::1' is" },
        { "address 2001:db8::1/0\n", "ha.conf:1: address '2001:db8::1/0' is" },
        { "address 2001:db8::1/128\n", "ha.conf:1: address '2001:db8::1/12" },
        { "address 2001:db8::1/x\n", "ha.conf:1: address '2001:db8::1/x' is" },
        { "address 192.0.2.1/24\n", "ha.conf:1: address '192.0.2.1/24' is" },
        { "address fe80::1/64\n", "ha.conf:1: address 'fe80::1/64' is not a "
                                  "global unicast address" },
        { "address ff02::1/64\n", "ha.conf:1: address 'ff02::1/64' is not a "
                                  "global unicast address" },
        { "address ::/64\n", "ha.conf:1: address '::/64' is not a global" },
        { "address ::1/64\n", "ha.conf:1: address '::1/64' is not a global" },
        { GOOD "allow eth0\n", "ha.conf:3: allow 'eth0' is not an IPv6" },
        { GOOD "lifetime 3\n", "ha.conf:3: lifetime '3' is not a number from "
                               "4 to 262140" },
        { GOOD "lifetime 262141\n", "ha.conf:3: lifetime '262141' is not a" },
        { GOOD "lifetime 10m\n", "ha.conf:3: lifetime '10m' is not a number" },
        { GOOD "bindings 0\n", "ha.conf:3: bindings '0' is not a number from" },
        { GOOD "bindings -1\n", "ha.conf:3: bindings '-1' is not a number" },
        { GOOD "mtu 1319\n", "ha.conf:3: mtu '1319' is not a number from" },
        { GOOD "mtu 2049\n", "ha.conf:3: mtu '2049' is not a number from" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(mip6_ha_config_parse(mistakes[i].text, "ha.conf",
                                           &error));
        g_assert_nonnull(error);
        if (!g_str_has_prefix(error->message, mistakes[i].message)) {
            g_assert_cmpstr(error->message, ==, mistakes[i].message);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/config/good", test_good);
    g_test_add_func("/mip6/config/mistakes", test_mistakes);
    g_test_add_func("/mip6/config/fixed", test_fixed);
    return g_test_run();
}
