/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file of vmmnet-ha, and its error messages */
#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "ha/service/config.h"

#define GOOD    "interface eth0\naddress 2001:db8:2000::1/64\n"

static void test_good(void)
{
    g_autoptr(GError) error = NULL;
    struct in6_addr addr;
    Mip6HaConfig *c;

    c = mip6_ha_config_parse(GOOD, "ha.conf", 0, &error);
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
                             "tun home0", "ha.conf", 0, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(c->interface, ==, "eth1");
    g_assert_cmpstr(c->tun, ==, "home0");
    g_assert_cmpint(c->agent.prefix_len, ==, 56);
    g_assert_cmpint(c->agent.lifetime_max, ==, 65535);
    g_assert_cmpint(c->agent.bindings_max, ==, 1);
    g_assert_cmpint(c->agent.mtu, ==, 1320);
    g_assert_cmpint(c->fast_path, ==, MIP6_HA_FAST_AUTO);
    g_assert_cmpint(g_hash_table_size(c->agent.allowed), ==, 2);
    inet_pton(AF_INET6, "2001:db8:1::11", &addr);
    g_assert_true(g_hash_table_contains(c->agent.allowed, &addr));
    mip6_ha_config_free(c);
}

/* Both forms of the same settings */
static void test_forms(void)
{
    g_autoptr(GError) error = NULL;
    Mip6HaConfig *old = mip6_ha_config_parse(
        GOOD "allow 2001:db8:2000::10\nallow 2001:db8:2000::11\n"
        "prefix 2001:db8:2000::/64,3600,1800\nprefix 2001:db8:3000::/56\n"
        "dad off\nmulticast on\nstate /s\ncontrol /c\npreference -3\n"
        "fast-path off\nrefresh 300\nbindings 7\n", "ha.conf", 0, &error);
    Mip6HaConfig *new;

    g_assert_no_error(error);
    g_assert_cmpstr(old->old, ==, "ha.conf:1: 'interface eth0' is the old "
                    "form, which is read for one more release: write "
                    "'interface: eth0'; allow, prefix and esp are lists");
    new = mip6_ha_config_parse(
        "# a comment: with a colon\n\ninterface: eth0\n"
        "address: 2001:db8:2000::1/64\n"
        "allow: ['2001:db8:2000::10', 2001:db8:2000::11]\n"
        "prefix:\n- prefix: 2001:db8:2000::/64\n  valid: 3600\n"
        "  preferred: 1800\n- 2001:db8:3000::/56\n"
        "dad: off\nmulticast: on\nstate: /s\ncontrol: /c\npreference: -3\n"
        "fast-path: off\nrefresh: 300\nbindings: 7\n", "ha.conf", 0, &error);
    g_assert_no_error(error);
    g_assert_null(new->old);
    g_assert_null(mip6_ha_config_fixed(old, new));
    g_assert_cmpint(g_hash_table_size(new->agent.allowed), ==, 2);
    g_assert_cmpint(new->agent.prefixes, ==, 2);
    g_assert_cmpmem(new->agent.prefix_info, sizeof(new->agent.prefix_info),
                    old->agent.prefix_info, sizeof(old->agent.prefix_info));
    g_assert_cmpint(new->agent.dad, ==, MIP6_AGENT_DAD_OFF);
    g_assert_true(new->agent.multicast);
    g_assert_cmpint(new->agent.preference, ==, -3);
    g_assert_cmpint(new->agent.refresh, ==, old->agent.refresh);
    g_assert_cmpint(new->agent.bindings_max, ==, 7);
    g_assert_cmpint(mip6_ha_config_line(new, "control"), ==, 14);
    mip6_ha_config_free(old);
    mip6_ha_config_free(new);

    old = mip6_ha_config_parse("allow 2001:db8:2000::10\n" GOOD, "ha.conf", 0,
                               &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(old->old,
                            "write 'allow: [\"2001:db8:2000::10\"]'"));
    mip6_ha_config_free(old);
}

/* The settings that may change while the agent runs. */
static void test_fixed(void)
{
    static const struct { const char *text, *differs; } cases[] = {
        { GOOD, NULL },
        { GOOD "allow 2001:db8:2000::10\nlifetime 8\nbindings 3\nmtu 1400\n"
          "dad off\nrefresh 4\nfast-path auto\n", NULL },
        { "interface eth1\naddress 2001:db8:2000::1/64\n", "interface" },
        { "interface eth0\naddress 2001:db8:2000::2/64\n", "address" },
        { "interface eth0\naddress 2001:db8:2000::1/65\n", "address" },
        { GOOD "tun other\n", "tun" },
        { GOOD "state /a\n", "state" },
        { GOOD "control /a\n", "control" },
        { GOOD "fast-path off\n", "fast-path" },
    };
    Mip6HaConfig *old = mip6_ha_config_parse(GOOD, "ha.conf", 0, NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Mip6HaConfig *c = mip6_ha_config_parse(cases[i].text, "ha.conf", 0,
                                               NULL);

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
        { GOOD "fast-path yes\n", "ha.conf:3: fast-path 'yes' is not auto, "
                                  "on or off" },
        { GOOD "fast-path\n", "ha.conf:3: 'fast-path' needs one value" },
        { GOOD "interface eth1\n", "ha.conf:3: interface 'eth1' is the second "
                                   "one: line 1 has one" },
        { GOOD "address 2001:db8:1::1/64\n", "ha.conf:3: address "
          "'2001:db8:1::1/64' is the second one: line 2 has one" },
        { GOOD "lifetime 8\n\nlifetime 8\n", "ha.conf:5: lifetime '8' is the "
                                              "second one: line 3 has one" },
        { GOOD "replay-window 0\nreplay-window 64\n",
          "ha.conf:4: replay-window '64' is the second one: line 3" },
        { GOOD "allow 2001:db8:2000::9\nallow 2001:db8:1::10\n"
          "allow 2001:db8:1::11\n", "ha.conf:4: allow '2001:db8:1::10' is not "
                                    "in the home prefix" },
        { "allow 2001:db8:1::10\n" GOOD, "ha.conf:1: allow '2001:db8:1::10' "
                                         "is not in the home prefix" },
        { GOOD "allow 2001:db8:2000::1\n", "ha.conf:3: allow "
          "'2001:db8:2000::1' is the agent's own address" },
        { GOOD "allow 2001:db8:2000:0:fdff:ffff:ffff:fffe\n",
          "ha.conf:3: allow '2001:db8:2000:0:fdff:ffff:ffff:fffe' is the "
          "anycast address" },
        { GOOD "refresh 600\n", "ha.conf:3: refresh '600' is not less than "
                                "lifetime '600'" },
        { GOOD "refresh 300\nlifetime 200\n", "ha.conf:3: refresh '300' is not "
                                              "less than lifetime '200'" },
        { GOOD "tun eth0\n", "ha.conf:3: tun 'eth0' is the interface, too" },
        { GOOD "tun a/b\n", "ha.conf:3: tun 'a/b' is not a name for an" },
        { "interface ..\n", "ha.conf:1: interface '..' is not a name for an" },
        { GOOD "state /a\ncontrol /a\n", "ha.conf:4: control '/a' is the "
                                         "state file, too" },
        { GOOD "prefix ff02::/64\n", "ha.conf:3: prefix 'ff02::/64' is not a "
                                     "global unicast prefix" },
        { "address ::ffff:192.0.2.1/96\n", "ha.conf:1: address "
          "'::ffff:192.0.2.1/96' is not a global unicast address" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(mip6_ha_config_parse(mistakes[i].text, "ha.conf", 0,
                                           &error));
        g_assert_nonnull(error);
        if (!g_str_has_prefix(error->message, mistakes[i].message)) {
            g_assert_cmpstr(error->message, ==, mistakes[i].message);
        }
    }
}

#define YAML    "interface: eth0\naddress: 2001:db8:2000::1/64\n"

static void test_yaml_mistakes(void)
{
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        { "interface: eth0\n", "ha.conf: there is no line 'address'" },
        { YAML "alow: []\n", "ha.conf:3:1: 'alow' is no key here; the nearest "
                             "is 'allow'" },
        /* all of them at once */
        { "interface:\naddress: x\nmtu: 1\n", "ha.conf:1:11: interface: '' is "
          "empty; right is the name of an interface\nha.conf:2:10: address "
          "'x' is not an IPv6 address with the length of the home prefix: "
          "write it as 2001:db8:2000::1/64\nha.conf:3:6: mtu '1' is not a "
          "number from 1320 to 2048" },
        { YAML "mtu: 1400\nmtu: 1400\n", "ha.conf:4:1: mtu: 'mtu' is here "
          "twice; right is once" },
        { YAML "mtu: [1400]\n", "ha.conf:3:6: mtu: a list is no value; right "
          "is a number of octets" },
        { YAML "allow: 2001:db8:2000::10\n", "ha.conf:3:8: allow: "
          "'2001:db8:2000::10' is no list; right is a list of home addresses "
          "as '2001:db8:2000::10'" },
        { YAML "allow:\n- nobody\n", "ha.conf:4:3: allow 'nobody' is not an "
          "IPv6 address" },
        { YAML "allow:\n- 2001:db8:2000::10\n- 2001:db8:1::10\n", "ha.conf:5: "
          "allow '2001:db8:1::10' is not in the home prefix" },
        { YAML "prefix: [{valid: 3}]\n", "ha.conf:3:10: prefix[0]: a map has "
          "no 'prefix'; right is a list of prefixes as" },
        { YAML "prefix: [{prefix: \"2001:db8::/64\", preferred: 3}]\n",
          "ha.conf:3:10: prefix[0]: a map has no 'valid'" },
        { YAML "prefix: [{prefix: \"2001:db8::/64\", valid: x}]\n",
          "ha.conf:3:10: prefix '2001:db8::/64,x' is not an IPv6 prefix" },
        { YAML "esp: [{home: \"2001:db8:2000::10\", sa: signal-in, spi: 1}]\n",
          "ha.conf:3:7: esp[0]: a map has no 'cipher'; right is a list of "
          "maps with 'home'" },
        { YAML "refresh: 600\n", "ha.conf:3: refresh '600' is not less than "
                                 "lifetime '600'" },
        { "- interface\n", "ha.conf:1:1: a list is no map" },
        { "interface: [\n", "ha.conf:2:1: no YAML: " },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(mip6_ha_config_parse(mistakes[i].text, "ha.conf", 0,
                                           &error));
        g_assert_nonnull(error);
        if (!g_str_has_prefix(error->message, mistakes[i].message)) {
            g_assert_cmpstr(error->message, ==, mistakes[i].message);
        }
    }
}

/* --- ESP ------------------------------------------------------------------ */

/* Key file number i has 20 octets of i; "open" can be read by all. */
static char *key_folder(void)
{
    g_autoptr(GError) error = NULL;
    char *folder = g_dir_make_tmp("ha-keys-XXXXXX", &error);

    g_assert_no_error(error);
    for (unsigned i = 0; i < 7; i++) {
        g_autofree char *path = g_strdup_printf("%s/%u", folder, i);
        g_autofree char *text = g_strnfill(i < 5 ? 40 : 32, '0' + i);
        g_autofree char *line = g_strdup_printf("%s%s\n", i % 2 ? "0x" : "",
                                                i == 6 ? "" : text);

        g_assert_true(g_file_set_contents_full(path, line, -1,
                                               G_FILE_SET_CONTENTS_NONE,
                                               i == 4 ? 0640 : 0600, NULL));
    }
    return folder;
}

static void remove_folder(const char *folder)
{
    for (unsigned i = 0; i < 7; i++) {
        g_autofree char *path = g_strdup_printf("%s/%u", folder, i);

        g_unlink(path);
    }
    g_rmdir(folder);
}

#define ESP(sa, spi, key) "esp 2001:db8:2000::10 " sa " " spi " aes-gcm-128 " \
                          "@/" key "\n"
#define SA(sa, spi, key) "- {home: \"2001:db8:2000::10\", sa: " sa ", spi: " \
                         spi ", cipher: aes-gcm-128, key-file: @/" key "}\n"
#define ESP2(sa, spi, key) "esp 2001:db8:2000::11 " sa " " spi \
                           " null-hmac-sha1 @/" key "\n"
#define THREE   ESP("signal-in", "0x1001", "0") \
                ESP("signal-out", "0x1002", "1") ESP("tunnel-in", "4099", "2")
#define FOUR    THREE ESP("tunnel-out", "0x1004", "3")

/* "@" is the folder. */
static Mip6HaConfig *parse_in(const char *folder, const char *text,
                              GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "@", -1);
    g_autofree char *whole = g_strjoinv(folder, parts);

    return mip6_ha_config_parse(whole, "ha.conf", 0, error);
}

static void test_esp(void)
{
    g_autofree char *folder = key_folder();
    g_autoptr(GError) error = NULL;
    struct in6_addr home, other;
    Mip6HaConfig *c = parse_in(folder, GOOD FOUR "replay-window 128\n", &error);
    const Mip6Keys *keys;

    g_assert_no_error(error);
    inet_pton(AF_INET6, "2001:db8:2000::10", &home);
    inet_pton(AF_INET6, "2001:db8:2000::11", &other);
    keys = mip6_keyring_of(c->agent.keys, &home);
    g_assert_nonnull(keys);
    g_assert_null(mip6_keyring_of(c->agent.keys, &other));
    g_assert_true(mip6_keyring_by_spi(c->agent.keys, 0x1001) == keys);
    g_assert_true(mip6_keyring_by_spi(c->agent.keys, 0x1003) == keys);
    g_assert_null(mip6_keyring_by_spi(c->agent.keys, 0x1002));
    g_assert_cmpint(esp_sa_spi(mip6_protect_sa(keys->protect,
                                               MIP6_TUNNEL_OUT)), ==, 0x1004);
    mip6_ha_config_free(c);

    c = parse_in(folder, YAML "esp:\n" SA("signal-in", "0x1001", "0")
                 SA("signal-out", "0x1002", "1") SA("tunnel-in", "4099", "2")
                 SA("tunnel-out", "0x1004", "3"), &error);
    g_assert_no_error(error);
    keys = mip6_keyring_of(c->agent.keys, &home);
    g_assert_nonnull(keys);
    g_assert_cmpint(esp_sa_spi(mip6_protect_sa(keys->protect,
                                               MIP6_TUNNEL_OUT)), ==, 0x1004);
    mip6_ha_config_free(c);

    c = parse_in(folder, GOOD, &error);
    g_assert_no_error(error);
    g_assert_null(c->agent.keys);
    mip6_ha_config_free(c);
    remove_folder(folder);
}

static void test_esp_mistakes(void)
{
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        { GOOD "esp\n", "ha.conf:3: 'esp' needs" },
        { GOOD "esp 2001:db8::1 signal-in 0x1001 aes-gcm-128 @/0\n",
          "ha.conf:3: esp '2001:db8::1' is not in the home prefix" },
        { GOOD "esp 2001:db8::1 signal-in 0x1001\n",
          "ha.conf:3: 'esp' needs a home address, one of signal-in" },
        { GOOD "esp x signal-in 0x1001 aes-gcm-128 @/0\n",
          "ha.conf:3: esp 'x' is not an IPv6 address" },
        { GOOD ESP("signal", "0x1001", "0"), "ha.conf:3: esp 'signal' is not "
          "signal-in, signal-out, tunnel-in or tunnel-out" },
        { GOOD ESP("signal-in", "255", "0"),
          "ha.conf:3: esp SPI '255' is not a number from 256 to" },
        { GOOD ESP("signal-in", "-1", "0"), "ha.conf:3: esp SPI '-1' is" },
        { GOOD ESP("signal-in", "0x100000000", "0"), "ha.conf:3: esp SPI '0x" },
        { GOOD "esp 2001:db8::1 signal-in 256 rot13 @/0\n",
          "ha.conf:3: esp 'rot13' is not one of aes-gcm-128, aes-gcm-256, " },
        { GOOD THREE "\n", "ha.conf:5: esp 2001:db8:2000::10 has no line "
          "tunnel-out: it needs signal-in, signal-out," },
        { GOOD THREE ESP("tunnel-in", "0x1009", "3"),
          "ha.conf:6: esp 2001:db8:2000::10 tunnel-in is in line 5 already" },
        { GOOD THREE ESP("tunnel-out", "0x1004", "0"),
          "ha.conf:6: esp 2001:db8:2000::10 tunnel-out: the key is the key of "
          "signal-in, too: each needs its own" },
        { GOOD THREE ESP("tunnel-out", "0x1002", "3"),
          "ha.conf:6: esp 2001:db8:2000::10 tunnel-out: the SPI is the SPI of "
          "signal-out, too" },
        { GOOD THREE ESP("tunnel-out", "0x1004", "5"),
          "ha.conf:6: esp 2001:db8:2000::10 tunnel-out: the key has 16 octets, "
          "and aes-gcm-128 needs 20: 16 of cipher, 4 of salt, 0 of HMAC" },
        { GOOD ESP("tunnel-out", "0x1004", "6") "esp x\n",
          "ha.conf:4: 'esp' needs" },
        { GOOD FOUR ESP2("signal-in", "0x1001", "0")
          ESP2("signal-out", "0x1002", "0") ESP2("tunnel-in", "0x1013", "0")
          ESP2("tunnel-out", "0x1004", "0"),
          "ha.conf:7: esp 2001:db8:2000::11 signal-in: the SPI is an SPI of "
          "2001:db8:2000::10, too: each needs its own" },
        { GOOD "replay-window 63\n", "ha.conf:3: replay-window '63' is not a "
          "multiple of 64" },
        { GOOD "replay-window 1088\n", "ha.conf:3: replay-window '1088' is not "
          "a number from 0 to 1024" },
    };
    g_autofree char *folder = key_folder();

    for (unsigned i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(parse_in(folder, mistakes[i].text, &error));
        g_assert_nonnull(error);
        if (!g_str_has_prefix(error->message, mistakes[i].message)) {
            g_assert_cmpstr(error->message, ==, mistakes[i].message);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *message = g_strdup_printf(
            "ha.conf:3: key file '%s/%s", folder, i ? "9': No such file"
            : "4': is not a file that only its owner can read");

        g_assert_null(parse_in(folder, i ? GOOD ESP("signal-in", "256", "9")
                               : GOOD ESP("signal-in", "256", "4"), &error));
        g_assert_true(g_str_has_prefix(error->message, message));
    }
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/config/good", test_good);
    g_test_add_func("/mip6/config/mistakes", test_mistakes);
    g_test_add_func("/mip6/config/forms", test_forms);
    g_test_add_func("/mip6/config/yaml-mistakes", test_yaml_mistakes);
    g_test_add_func("/mip6/config/fixed", test_fixed);
    g_test_add_func("/mip6/config/esp", test_esp);
    g_test_add_func("/mip6/config/esp-mistakes", test_esp_mistakes);
    return g_test_run();
}
