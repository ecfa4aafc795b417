/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An UPDATE message from a client with all permissions
 *
 * Afterwards the zone must still be a zone: the apex has its SOA and NS, and
 * the edit can be undone.
 */
#include <glib.h>

#include "dnsd/update/update.h"
#include "tests/fixtures/dns-store-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ZoneLine zone[] = {
    { "*.example", DNS_TYPE_A, "192.0.2.1" },
    { "alias.example", DNS_TYPE_CNAME, "host.example" },
    { "host.example", DNS_TYPE_A, "192.0.2.1" },
    { "host.example", DNS_TYPE_AAAA, "2001:db8::1" },
    { "sub.example", DNS_TYPE_NS, "ns.sub.example" },
    { "a.b.sub.example", DNS_TYPE_A, "192.0.2.2" },
};

static StoreBed bed;
static DnsUpdateRule rule;

static void assert_apex(void)
{
    DnsName apex = zone_name("example");
    const DnsNode *node = dns_edit_node(dns_store_begin(bed.store), &apex);
    size_t count;

    g_assert_nonnull(dns_node_find(node, DNS_TYPE_NS, &count));
    g_assert_nonnull(dns_node_find(node, DNS_TYPE_SOA, &count));
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(dns_store_end(bed.store, false), ==, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_NS, DNS_TYPE_SOA,
                                      DNS_TYPE_CNAME, DNS_TYPE_MX };
    DnsUpdatePolicy policy = { &rule, 1 };
    DnsUpdateResult result;

    if (!bed.store) {
        store_bed_make(&bed, "example", zone, G_N_ELEMENTS(zone));
        rule = (DnsUpdateRule) { .key = zone_name("."),
                                 .below = zone_name("example"),
                                 .types = G_N_ELEMENTS(types) };
        memcpy(rule.type, types, sizeof(types));
    }
    dns_update(bed.store, &policy, data, size, NULL, &result);
    assert_apex();
    dns_store_abandon(bed.store);
    g_assert_cmpuint(dns_store_serial(bed.store), ==, 1);
    return 0;
}
