/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TSIG keys and zones that change: the messages for wrong values */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/config/config.h"

static DnsdErrors errors;

static DnsdConfig *read_text(const char *text)
{
    return dnsd_config_read("f.yaml", text, strlen(text), &errors);
}

#define KEYS            "keys: [{name: k.test, secret-file: /s}]\n"
#define ONE_KEY(line)   "keys: [{" line "}]\n"
#define ZONE(line)      KEYS "zones:\n- name: a.test\n  image: /i\n  " line "\n"

static const struct {
    const char *text, *told;
} wrong[] = {
    { ONE_KEY("secret-file: /s"), "keys[0]: a map has no 'name'; right is a "
      "domain name as 'ddns.example'" },
    { ONE_KEY("name: a..b, secret-file: /s"), "keys[0].name: 'a..b' is no "
      "domain name; right is a domain name as 'ddns.example'" },
    { ONE_KEY("name: k"), "keys[0]: a map has no secret; right is either "
      "'secret-file', with the secret in base64, or 'key-file', as BIND has "
      "it" },
    { ONE_KEY("name: k, secret-file: /s, key-file: /k"), "keys[0]: a map has "
      "both files; right is either 'secret-file'" },
    { ONE_KEY("name: k, secret-file: s"), "keys[0].secret-file: 's' is no "
      "absolute path; right is an absolute path" },
    { ONE_KEY("name: k, key-file: k"), "keys[0].key-file: 'k' is no absolute "
      "path; right is an absolute path" },
    { ONE_KEY("name: k, secret-file: /s, algorithm: hmac-md5"),
      "keys[0].algorithm: 'hmac-md5' is no algorithm; right is "
      "'hmac-sha256', or the same with 1, 224, 384 or 512" },
    { ONE_KEY("name: k, key-file: /k, algorithm: hmac-sha256"), "keys[0]: a "
      "map has 'algorithm'; right is 'key-file' alone, which has it" },
    { "keys: [{name: K, key-file: /k}, {name: k, key-file: /l}]", "keys: a "
      "list has a name twice; right is each key once" },
    { ZONE("allow-update: k.test"), "zones[0].allow-update: 'k.test' is no "
      "list; right is " },
    { ZONE("allow-update: [l.test]"), "zones[0].allow-update[0]: 'l.test' is "
      "no key; right is the name of a key in 'keys'" },
    { ZONE("allow-update: [{types: [A]}]"), "zones[0].allow-update[0]: a map "
      "has no 'key'; right is the name of a key in 'keys'" },
    { ZONE("allow-update: [{key: k.test, types: [B]}]"),
      "zones[0].allow-update[0].types[0]: 'B' is no type; right is one as "
      "'AAAA' or 'TYPE28'" },
    { ZONE("allow-update: [{key: k.test, types: []}]"),
      "zones[0].allow-update[0].types: a list is empty; right is a list of 1 "
      "to 16 types as 'AAAA'" },
    { ZONE("allow-update: [{key: k.test, only-self: self}]"),
      "zones[0].allow-update[0].only-self: 'self' is neither; right is 'on' "
      "or 'off'" },
    { ZONE("allow-update: [{key: k.test, below: b.test}]"), "zones[0]: a map "
      "allows updates below 'b.test'; right is a name in the zone" },
    { ZONE("allow-transfer: [10.0.0.1/8]"), "zones[0].allow-transfer[0]: "
      "'10.0.0.1/8' is neither a prefix nor a key; right is " },
    { ZONE("notify: [here]"), "zones[0].notify[0]: 'here' is no address; "
      "right is a list of addresses" },
    { ZONE("notify: [{key: k.test}]"), "zones[0].notify[0]: a map has no "
      "'address'; right is a list of addresses" },
    { ZONE("notify: [{address: here, key: k.test}]"),
      "zones[0].notify[0].address: 'here' is no address; right is an address "
      "as '192.0.2.1', '2001:db8::1@5353' or 'fe80::1%eth0'" },
    { ZONE("notify: [{address: 192.0.2.1, key: l.test}]"),
      "zones[0].notify[0].key: 'l.test' is no key; right is the name of a "
      "key in 'keys'" },
};

static void test_wrong(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_null(read_text(wrong[i].text));
        if (!strstr(errors.text, wrong[i].told)) {
            g_error("'%s' is told '%s', not '%s'", wrong[i].text,
                    errors.text, wrong[i].told);
        }
        g_assert_true(g_str_has_prefix(errors.text, "f.yaml:"));
    }
}

static void test_right(void)
{
    DnsdConfig *c = read_text(ZONE(
        "allow-update: [K.test, {key: k.test, below: dyn.a.test, types: [A]}]\n"
        "  allow-transfer: [k.test, 10.0.0.0/8]\n"
        "  notify: [192.0.2.1, {address: '2001:db8::1@5353', key: K.test}]"));
    const DnsdZoneConfig *zone;

    g_assert_nonnull(c);
    g_assert_cmpuint(c->changing, ==, 1);
    zone = &c->zone[0];
    g_assert_cmpuint(zone->updates, ==, 2);
    g_assert_true(dns_name_equal(&zone->update[0].below, &zone->name));
    g_assert_cmpuint(zone->update[1].types, ==, 1);
    g_assert_cmpuint(zone->askers, ==, 2);
    g_assert_cmpuint(zone->asker[1].key.len, ==, 0);
    g_assert_cmpuint(zone->secondaries, ==, 2);
    g_assert_cmpuint(zone->secondary[0].key.len, ==, 0);
    g_assert_true(dns_name_equal(&zone->secondary[1].key, &c->key[0].name));
    g_assert_cmpuint(((const struct sockaddr_in6 *)
                      &zone->secondary[1].at.addr)->sin6_port, ==,
                     htons(5353));
    dnsd_config_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/changing/wrong", test_wrong);
    g_test_add_func("/dnsd/changing/right", test_right);
    return g_test_run();
}
