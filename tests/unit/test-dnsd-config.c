/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration: the messages for wrong lines, and the values of right ones
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/config/config.h"

static DnsdErrors errors;

static DnsdConfig *read_text(const char *text)
{
    return dnsd_config_read("f.yaml", text, strlen(text), &errors);
}

static DnsdConfig *read_right(const char *text)
{
    DnsdConfig *config = read_text(text);

    if (!config) {
        g_error("%s", errors.text);
    }
    return config;
}

static bool have(const DnsdRanges *ranges, const char *text)
{
    DnsdRange range;

    g_assert_null(dnsd_range_read(&range, text));
    return dnsd_ranges_have(ranges, &range.first);
}

#define SERVER(line)    "server:\n  " line "\n"
#define ZONE(line)      "zones:\n- name: a\n  image: /i\n" line "\n"

static const struct {
    const char *text, *told;
} wrong[] = {
    { "sever: {}", "f.yaml:1:1: 'sever' is no key here; the nearest is "
      "'server'" },
    { SERVER("thread: 2"), "f.yaml:2:3: server: 'thread' is no key here; the "
      "nearest is 'threads'" },
    { SERVER("threads: 0"), "f.yaml:2:12: server.threads: '0' is out of "
      "range; right is 'auto' or a number from 1 to 256" },
    { SERVER("threads: many"), "f.yaml:2:12: server.threads: 'many' is no "
      "number; right is 'auto' or a number from 1 to 256" },
    { SERVER("listen: 192.0.2.1"), "f.yaml:2:11: server.listen: '192.0.2.1' "
      "is no list; right is a list of addresses as '192.0.2.1', "
      "'2001:db8::1@5353' or 'fe80::1%eth0', at most 32" },
    { SERVER("listen: ['fe80::1']"), "f.yaml:2:12: server.listen[0]: "
      "'fe80::1' is on each link, and names none; right is the address with "
      "its interface as 'fe80::1%eth0'" },
    { SERVER("listen: ['fe80::1%']"), "f.yaml:2:12: server.listen[0]: "
      "'fe80::1%' is no address; right is a list of addresses as '192.0.2.1', "
      "'2001:db8::1@5353' or 'fe80::1%eth0', at most 32" },
    { SERVER("listen: ['192.0.2.1%sixteen-octets-x']"), "f.yaml:2:12: "
      "server.listen[0]: '192.0.2.1%sixteen-octets-x' is no address; right is "
      "a list of addresses as '192.0.2.1', '2001:db8::1@5353' or "
      "'fe80::1%eth0', at most 32" },
    { SERVER("listen: [192.0.2.1, '::1@0']"), "f.yaml:2:23: server.listen[1]: "
      "'::1@0' is no address; right is a list of addresses as '192.0.2.1', "
      "'2001:db8::1@5353' or 'fe80::1%eth0', at most 32" },
    { SERVER("metrics: 192.0.2.1@80"), "f.yaml:2:12: server.metrics: "
      "'192.0.2.1@80' is seen by other hosts; right is 'off', or an address "
      "of this host as '127.0.0.1@9153'" },
    { SERVER("control: run/x"), "f.yaml:2:12: server.control: 'run/x' is no "
      "absolute path; right is 'off' or an absolute path" },
    { SERVER("nsid: 0x123"), "f.yaml:2:9: server.nsid: '0x123' is no "
      "hexadecimal number of octets; right is 'off', a text of at most 255 "
      "octets, or '0x' and hexadecimal digits" },
    { SERVER("udp-size: 65535"), "f.yaml:2:13: server.udp-size: '65535' is "
      "out of range; right is a number of octets from 512 to 4096" },
    { SERVER("user: a\n  user: b"), "f.yaml:3:3: server.user: 'user' is here "
      "twice; right is once" },
    { "tcp:\n  idle-timeout: -1", "f.yaml:2:17: tcp.idle-timeout: '-1' is no "
      "number; right is a number of seconds from 1 to 3600" },
    { "cookies:\n  enabled: maybe", "f.yaml:2:12: cookies.enabled: 'maybe' is "
      "neither; right is 'on' or 'off'" },
    { "rate-limit:\n  table-size: 5000", "f.yaml:2:15: rate-limit.table-size: "
      "'5000' is no power of two; right is a power of two from 1024 to "
      "16777216" },
    { "rate-limit: 5", "f.yaml:1:13: rate-limit: '5' is no map; right is "
      "'key: value' in each line" },
    { "zones: {}", "f.yaml:1:8: zones: a map is no list; right is a list of "
      "zones, each with 'name' and 'image', at most 200000" },
    { "zones:\n- name: a", "f.yaml:2:3: zones[0]: a map has no 'image'; right "
      "is an absolute path" },
    { "zones:\n- image: /a", "f.yaml:2:3: zones[0]: a map has no 'name'; "
      "right is a domain name as 'example.com'" },
    { "zones:\n- name: a..b\n  image: /a", "f.yaml:2:9: zones[0].name: 'a..b' "
      "is no domain name; right is a domain name as 'example.com'" },
    { ZONE("- name: A.\n  image: /j"), "f.yaml:2:1: zones: a list has 'a' "
      "twice; right is each zone once" },
    { ZONE("  allow-query: [192.0.2.1/24]"), "f.yaml:4:17: zones[0]."
      "allow-query[0]: '192.0.2.1/24' has bits behind its length; right is a "
      "prefix as '192.0.2.0/24' or '2001:db8::/32'" },
    { ZONE("  allow-query: ['::/129']"), "f.yaml:4:17: zones[0]."
      "allow-query[0]: '::/129' has no length from 0 to 128 behind the '/'; "
      "right is a prefix as '192.0.2.0/24' or '2001:db8::/32'" },
    { ZONE("  primaries: []"), "f.yaml:4:14: zones[0].primaries: a list is "
      "empty; right is a list of 1 to 32 addresses as '192.0.2.1', "
      "'2001:db8::1@5353' or 'fe80::1%eth0', or of maps with 'address' and "
      "'key'" },
    { ZONE("  primaries: ['fe80::1']"), "f.yaml:4:15: zones[0].primaries[0]: "
      "'fe80::1' is on each link, and names none; right is the address with "
      "its interface as 'fe80::1%eth0'" },
    { ZONE("  primaries: ['fe80::1%eth0']\n"
           "  transfer-source: ['fe80::2%eth1']"), "f.yaml:2:3: zones[0]: a "
      "map has 'transfer-source' on another interface than 'primaries'; right "
      "is the interface of the addresses that are asked or notified" },
    { "resolver: {allow: [192.0.2.1/32], forward: ['192.0.2.1%eth0']}\n",
      "f.yaml:1:45: resolver.forward[0]: '192.0.2.1%eth0' has an interface; "
      "right is an interface for link-local addresses only, as "
      "'fe80::1%eth0'" },
    { ZONE("  primaries: [here]"), "f.yaml:4:15: zones[0].primaries[0]: "
      "'here' is no address; right is an address as '192.0.2.1', "
      "'2001:db8::1@5353' or 'fe80::1%eth0'" },
    { ZONE("  primaries: [{key: k}]\nkeys: [{name: k, key-file: /k}]"),
      "f.yaml:4:15: zones[0].primaries[0]: a map has no 'address'; right is "
      "an address as '192.0.2.1', '2001:db8::1@5353' or 'fe80::1%eth0'" },
    { ZONE("  primaries: [{address: 192.0.2.1, key: k}]"), "f.yaml:4:41: "
      "zones[0].primaries[0].key: 'k' is no key; right is the name of a key "
      "in 'keys'" },
    { ZONE("  primaries: [192.0.2.1]\n  allow-notify: [192.0.2.1/8]"),
      "f.yaml:5:18: zones[0].allow-notify[0]: '192.0.2.1/8' is neither a "
      "prefix nor a key; right is a list of keys in 'keys' and of prefixes as "
      "'2001:db8::/32', at most 1000" },
    { ZONE("  allow-notify: []"), "f.yaml:2:3: zones[0]: a map has "
      "'allow-notify' without 'primaries'; right is 'primaries', which the "
      "zone is copied from" },
    { ZONE("  primaries: [192.0.2.1]\n  transfer-source: [192.0.2.2@53]"),
      "f.yaml:5:21: zones[0].transfer-source[0]: '192.0.2.2@53' has a port; "
      "right is an address of this host as '192.0.2.1', '2001:db8::1' or "
      "'fe80::1%eth0', without a port" },
    { ZONE("  primaries: [192.0.2.1]\n  transfer-source: ['::']"),
      "f.yaml:5:21: zones[0].transfer-source[0]: '::' is no host's own; right "
      "is an address of this host as '192.0.2.1', '2001:db8::1' or "
      "'fe80::1%eth0', without a port" },
    { ZONE("  primaries: [192.0.2.1]\n"
           "  transfer-source: [192.0.2.2, 192.0.2.3]"),
      "f.yaml:5:20: zones[0].transfer-source: a list has two of one family; "
      "right is a list of one address of this host, or of one of IPv4 and one "
      "of IPv6" },
    { ZONE("  notify: [192.0.2.1]\n  notify-source: [here]"),
      "f.yaml:5:19: zones[0].notify-source[0]: 'here' is no address; right is "
      "an address of this host as '192.0.2.1', '2001:db8::1' or "
      "'fe80::1%eth0', without a port" },
    { ZONE("  notify: [192.0.2.1]\n  notify-source: []"),
      "f.yaml:5:18: zones[0].notify-source: a list is empty; right is a list "
      "of one address of this host, or of one of IPv4 and one of IPv6" },
    { ZONE("  notify-source: [192.0.2.1]"), "f.yaml:2:3: zones[0]: a map has "
      "'notify-source' without 'notify'; right is 'notify', the servers "
      "to notify" },
    { ZONE("  transfer-source: [192.0.2.1]"), "f.yaml:2:3: zones[0]: a map "
      "has 'transfer-source' without 'primaries'; right is 'primaries', the "
      "servers to ask" },
    { ZONE("  primaries: [192.0.2.1]\n  transfer-limit: 0"), "f.yaml:5:19: "
      "zones[0].transfer-limit: '0' is out of range; right is a number of "
      "MiB from 1 to 1048576" },
    { ZONE("  primaries: [192.0.2.1]\n  allow-update: [k]\n"
           "keys: [{name: k, key-file: /k}]"),
      "f.yaml:2:3: zones[0]: a map has 'allow-update' and 'primaries'; right "
      "is one of them: a copy is changed by its primary alone, and updates go "
      "there" },
    { "server:\n  identity: \"a\\0b\"", "f.yaml:2:13: server.identity: 'a' "
      "has a NUL; right is 'off' or a text of at most 255 octets" },
    { "server:\n  user: \"a\\eb/0123456789012345678901234567890123456789"
      "01234567890123456789\"", "f.yaml:2:9: server.user: 'a?b/0123456789"
      "0123456789012345678901234567890123456789012345' is too long; right is "
      "the name of a user" },
    { "a: [b\nc: }", "f.yaml:2:2: no YAML: did not find expected ',' or ']' "
      "while parsing a flow sequence" },
};

static void test_wrong(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_null(read_text(wrong[i].text));
        g_assert_cmpstr(errors.text, ==, wrong[i].told);
        g_assert_cmpuint(errors.count, ==, 1);
    }
}

/* All errors are reported at once, as far as they fit. */
static void test_many(void)
{
    g_autoptr(GString) text = g_string_new("server:\n");

    for (unsigned i = 0; i < 1000; i++) {
        g_string_append_printf(text, "  key%u: 1\n", i);
    }
    g_assert_null(read_text(text->str));
    g_assert_cmpuint(errors.count, ==, 1000);
    g_assert_cmpuint(strlen(errors.text), <, sizeof(errors.text));
    g_assert_nonnull(strstr(errors.text, "\nf.yaml:3:3: server: 'key1' "));
}

static void test_defaults(void)
{
    DnsdConfig *c = read_right("");

    g_assert_cmpuint(c->listens, ==, 2);
    g_assert_cmpstr(c->listen[0].text, ==, "0.0.0.0");
    g_assert_cmpint(c->listen[1].addr.ss_family, ==, AF_INET6);
    g_assert_cmpuint(c->threads, ==, 0);
    g_assert_cmpuint(c->udp_size, ==, 1232);
    g_assert_true(c->cookies);
    g_assert_null(c->identity);
    g_assert_null(c->version);
    g_assert_cmpuint(c->nsid.len, ==, 0);
    g_assert_cmpuint(c->limit.rate, ==, 0);
    g_assert_cmpuint(c->zones, ==, 0);
    dnsd_config_free(c);
}

static void test_values(void)
{
    DnsdConfig *c = read_right(
        "server: {listen: [192.0.2.1, '2001:db8::1@5353', 'fe80::1%eth0@54',\n"
        "  '::%red'], threads: 3,\n"
        "  nsid: 0x00ff, identity: me, version: off, control: off,\n"
        "  metrics: '::1@9153'}\n"
        "tcp: {connections: 7, connections-per-client: 2, idle-timeout: 9}\n"
        "cookies: {enabled: no, secret-file: /s}\n"
        "rate-limit: {responses-per-second: 5, slip: 1, table-size: 2048}\n");
    const struct sockaddr_in6 *six = (const void *)&c->listen[1].addr;

    g_assert_cmpuint(ntohs(six->sin6_port), ==, 5353);
    g_assert_cmpstr(c->listen[1].device, ==, "");
    six = (const void *)&c->listen[2].addr;
    g_assert_cmpuint(ntohs(six->sin6_port), ==, 54);
    g_assert_cmpstr(c->listen[2].device, ==, "eth0");
    g_assert_cmpstr(c->listen[2].text, ==, "fe80::1%eth0@54");
    g_assert_cmpstr(c->listen[3].device, ==, "red");
    g_assert_cmpuint(c->threads, ==, 3);
    g_assert_cmpmem(c->nsid.octets, c->nsid.len, "\0\377", 2);
    g_assert_cmpstr(c->identity, ==, "me");
    g_assert_null(c->version);
    g_assert_null(c->control);
    g_assert_cmpuint(c->metrics.len, ==, sizeof(struct sockaddr_in6));
    g_assert_cmpuint(c->tcp.connections, ==, 7);
    g_assert_cmpuint(c->tcp.per_client, ==, 2);
    g_assert_cmpuint(c->tcp.idle_s, ==, 9);
    g_assert_false(c->cookies);
    g_assert_cmpstr(c->secret_file, ==, "/s");
    g_assert_cmpuint(c->limit.rate, ==, 5);
    g_assert_cmpuint(c->limit.slip, ==, 1);
    g_assert_cmpuint(c->limit.slots, ==, 2048);
    dnsd_config_free(c);
}

/* A list under a name (YAML's anchors) serves several zones. */
static void test_access(void)
{
    DnsdConfig *c = read_right(
        "zones:\n"
        "- {name: a.example, image: /a, allow-query: &inside [10.0.0.0/8,\n"
        "   10.1.0.0/16, 192.0.2.7, '2001:db8::/32', 10.255.0.0/16]}\n"
        "- {name: B.Example., image: /b, allow-query: *inside}\n"
        "- {name: ., image: /c}\n"
        "- {name: d, image: /d, allow-query: []}\n");
    const DnsdRanges *inside = &c->zone[1].allow_query;

    g_assert_cmpuint(c->zones, ==, 4);
    g_assert_cmpmem(c->zone[1].name.wire, c->zone[1].name.len,
                    "\1b\7example", 11);
    g_assert_false(c->zone[2].has_acl);
    g_assert_cmpuint(inside->count, ==, 3);
    g_assert_true(have(inside, "10.0.0.0"));
    g_assert_true(have(inside, "10.255.255.255"));
    g_assert_true(have(inside, "192.0.2.7"));
    g_assert_true(have(inside, "2001:db8:ffff::"));
    g_assert_false(have(inside, "11.0.0.0"));
    g_assert_false(have(inside, "9.255.255.255"));
    g_assert_false(have(inside, "192.0.2.8"));
    g_assert_false(have(inside, "2001:db9::"));
    g_assert_true(c->zone[3].has_acl);
    g_assert_false(have(&c->zone[3].allow_query, "10.0.0.1"));
    dnsd_config_free(c);
}

/* Primaries, and who may notify: by default the primaries, from any port */
static void test_primaries(void)
{
    DnsdConfig *c = read_right(
        "keys: [{name: K.Test, key-file: /k}]\n"
        "zones:\n"
        "- {name: a, image: /a, primaries: [192.0.2.1,\n"
        "   {address: '2001:db8::1@5353', key: k.test.}]}\n"
        "- {name: b, image: /b, primaries: [192.0.2.1], transfer-limit: 7,\n"
        "   allow-notify: [10.0.0.0/8, k.test]}\n"
        "- {name: c, image: /c}\n");
    const DnsdZoneConfig *a = &c->zone[0], *b = &c->zone[1];
    DnsName key;
    DnsdRange one, six, ten;

    dns_name_from_text(&key, "K.test");
    g_assert_null(dnsd_range_read(&one, "192.0.2.1"));
    g_assert_null(dnsd_range_read(&six, "2001:db8::1"));
    g_assert_null(dnsd_range_read(&ten, "10.1.2.3"));
    g_assert_cmpuint(c->copied, ==, 2);
    g_assert_cmpuint(c->changing, ==, 2);
    g_assert_cmpuint(a->primaries, ==, 2);
    g_assert_cmpuint(a->primary[0].key.len, ==, 0);
    g_assert_true(dns_name_equal(&a->primary[1].key, &key));
    g_assert_cmpuint(a->transfer_limit, ==, 4096);
    g_assert_cmpuint(b->transfer_limit, ==, 7);
    g_assert_true(dnsd_askers_have(a->notifier, a->notifiers, &one.first,
                                   NULL));
    g_assert_true(dnsd_askers_have(a->notifier, a->notifiers, &six.first,
                                   &key));
    g_assert_false(dnsd_askers_have(a->notifier, a->notifiers, &ten.first,
                                    &key));
    g_assert_false(dnsd_askers_have(b->notifier, b->notifiers, &one.first,
                                    NULL));
    g_assert_true(dnsd_askers_have(b->notifier, b->notifiers, &one.first,
                                   &key));
    g_assert_true(dnsd_askers_have(b->notifier, b->notifiers, &ten.first,
                                   NULL));
    dnsd_config_free(c);
}

/* Of each family one, in whatever order */
static void test_sources(void)
{
    DnsdConfig *c = read_right(
        "zones:\n"
        "- {name: a, image: /a, notify: [192.0.2.1],\n"
        "   notify-source: ['2001:db8::1', 192.0.2.2],\n"
        "   primaries: [192.0.2.1], transfer-source: ['2001:db8::3']}\n");
    DnsdListen four, six;

    g_assert_true(dnsd_listen_read(&four, "192.0.2.9", 53));
    g_assert_true(dnsd_listen_read(&six, "2001:db8::9", 53));
    g_assert_cmpstr(dnsd_source_for(&c->zone->notify_source, &four)->text, ==,
                    "192.0.2.2");
    g_assert_cmpstr(dnsd_source_for(&c->zone->notify_source, &six)->text, ==,
                    "2001:db8::1");
    g_assert_null(dnsd_source_for(&c->zone->transfer_source, &four));
    g_assert_cmpstr(dnsd_source_for(&c->zone->transfer_source, &six)->text,
                    ==, "2001:db8::3");
    dnsd_config_free(c);
}

static void test_restart(void)
{
    DnsdConfig *a = read_right("server: {threads: 1}");
    DnsdConfig *b = read_right("server: {threads: 2}");
    DnsdConfig *c = read_right("server: {threads: 1, nsid: x}\n"
                               "zones: [{name: a, image: /a}]");

    g_assert_cmpstr(dnsd_config_needs_restart(a, b), ==, "server.threads");
    g_assert_null(dnsd_config_needs_restart(a, c));
    dnsd_config_free(a);
    dnsd_config_free(b);
    dnsd_config_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/config/wrong", test_wrong);
    g_test_add_func("/dnsd/config/many", test_many);
    g_test_add_func("/dnsd/config/defaults", test_defaults);
    g_test_add_func("/dnsd/config/values", test_values);
    g_test_add_func("/dnsd/config/access", test_access);
    g_test_add_func("/dnsd/primaries", test_primaries);
    g_test_add_func("/dnsd/config/sources", test_sources);
    g_test_add_func("/dnsd/config/restart", test_restart);
    return g_test_run();
}
