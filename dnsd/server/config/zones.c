/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: zones */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/config/changing.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/server/config/secondary.h"
#include "dnsd/server/config/sources.h"
#include "dnsd/server/config/zones.h"

#define RIGHT_SOURCES \
    "a list of one address of this host, or of one of IPv4 and one of IPv6"

static void read_acl(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->has_acl = true;
    dnsd_read_ranges(r, node, key, &zone->allow_query);
}

static const ConfigKey zone_keys[] = {
    { .name = "name", .read = dnsd_read_name,
      .offset = offsetof(DnsdZoneConfig, name),
      .right = "a domain name as 'example.com'" },
    { .name = "image", .read = config_read_path,
      .offset = offsetof(DnsdZoneConfig, image), .right = "an absolute path" },
    { .name = "allow-query", .read = read_acl,
      .right = "a list of prefixes as '192.0.2.0/24' or '2001:db8::/32'" },
    { .name = "allow-update", .read = dnsd_read_updates,
      .right = "a list of keys, or of maps with 'key', 'below', 'only-self' "
               "and 'types', at most 1000" },
    { .name = "allow-transfer", .read = dnsd_read_transfer,
      .right = "a list of keys in 'keys' and of prefixes as "
               "'2001:db8::/32', at most 1000" },
    { .name = "notify", .read = dnsd_read_notify,
      .right = "a list of addresses as '192.0.2.1', '2001:db8::1@5353' or "
               "'fe80::1%eth0', at most 32" },
    { .name = "notify-source", .read = dnsd_read_sources,
      .offset = offsetof(DnsdZoneConfig, notify_source),
      .right = RIGHT_SOURCES },
    { .name = "primaries", .read = dnsd_read_primaries,
      .right = "a list of 1 to 32 addresses as '192.0.2.1', "
               "'2001:db8::1@5353' or 'fe80::1%eth0', or of maps with "
               "'address' and 'key'" },
    { .name = "transfer-source", .read = dnsd_read_sources,
      .offset = offsetof(DnsdZoneConfig, transfer_source),
      .right = RIGHT_SOURCES },
    { .name = "allow-notify", .read = dnsd_read_notifiers,
      .right = "a list of keys in 'keys' and of prefixes as "
               "'2001:db8::/32', at most 1000" },
    { .name = "transfer-limit", .read = config_read_number,
      .offset = offsetof(DnsdZoneConfig, transfer_limit),
      .right = "a number of MiB from 1 to 1048576",
      .min = 1, .max = 1048576 },
    { 0 },
};

static void read_zone(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    DnsdConfig *config = r->whole;
    DnsdZoneConfig *zone = to;
    unsigned before = r->errors->count;

    config_map(r, node, zone_keys, zone);
    if (r->errors->count > before) {
        return;
    }
    if (!zone->name.len) {
        config_wrong(r, node, "has no 'name'", zone_keys[0].right);
    }
    if (!zone->image) {
        config_wrong(r, node, "has no 'image'", zone_keys[1].right);
    }
    dnsd_read_changing_end(r, node, zone);
    dnsd_read_secondary_end(r, node, zone);
    dnsd_read_sources_end(r, node, zone);
    config->changing += dnsd_zone_may_change(zone);
}

static int compare_zones(const void *a, const void *b)
{
    const DnsdZoneConfig *const *x = a, *const *y = b;
    int order = memcmp(&(*x)->name, &(*y)->name,
                       offsetof(DnsName, wire) + (*x)->name.len);

    return order ? order : *x < *y ? -1 : 1;
}

/* dnsd_read_zones() has converted the names to lower case. */
static void find_twins(ConfigReader *r, const yaml_node_t *node,
                       DnsdZoneConfig *zone, size_t count)
{
    DnsdZoneConfig **sorted = config_memory_get(r->memory,
                                                count * sizeof(*sorted));
    char text[DNS_NAME_TEXT_MAX], how[DNS_NAME_TEXT_MAX + 32];

    for (size_t i = 0; i < count; i++) {
        sorted[i] = &zone[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_zones);
    for (size_t i = 1; i < count; i++) {
        if (sorted[i]->name.len &&
            dns_name_equal(&sorted[i]->name, &sorted[i - 1]->name)) {
            dns_name_to_text(&sorted[i]->name, text);
            snprintf(how, sizeof(how), "has '%s' twice", text);
            config_wrong(r, node, how, "each zone once");
        }
    }
}

void dnsd_read_zones(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    DnsdConfig *c = r->whole;

    c->zone = config_list(r, node, key, sizeof(*c->zone), DNSD_ZONES_MAX,
                          read_zone, &c->zones);
    for (size_t i = 0; i < c->zones; i++) {
        dnsd_name_lower(&c->zone[i].name);
    }
    find_twins(r, node, c->zone, c->zones);
}
