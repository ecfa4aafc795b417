/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: secondary zones */
#include "dnsd/server/config/changing.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/server/config/secondary.h"

#define RIGHT_ADDRESS \
    "an address as '192.0.2.1', '2001:db8::1@5353' or 'fe80::1%eth0'"

/* --- primaries ------------------------------------------------------------ */

static const ConfigKey primary_keys[] = {
    { .name = "address", .read = dnsd_read_address,
      .offset = offsetof(DnsdPrimary, at), .right = RIGHT_ADDRESS },
    { .name = "key", .read = dnsd_read_key_name,
      .offset = offsetof(DnsdPrimary, key),
      .right = "the name of a key in 'keys'" },
    { 0 },
};

static void read_primary(ConfigReader *r, const yaml_node_t *node,
                         const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsdPrimary *primary = to;

    if (node->type == YAML_SCALAR_NODE) {
        dnsd_read_address(r, node, &primary_keys[0], &primary->at);
        return;
    }
    config_map(r, node, primary_keys, primary);
    if (r->errors->count == before && !primary->at.len) {
        config_wrong(r, node, "has no 'address'", RIGHT_ADDRESS);
    }
    dnsd_name_lower(&primary->key);
}

void dnsd_read_primaries(ConfigReader *r, const yaml_node_t *node,
                         const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->primary = config_list(r, node, key, sizeof(*zone->primary),
                                DNSD_PRIMARIES_MAX, read_primary,
                                &zone->primaries);
    if (node->type == YAML_SEQUENCE_NODE &&
        node->data.sequence.items.start == node->data.sequence.items.top) {
        config_wrong(r, node, "is empty", key->right);
    }
}

/* --- access for NOTIFY ---------------------------------------------------- */

void dnsd_read_notifiers(ConfigReader *r, const yaml_node_t *node,
                         const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->has_notifiers = true;
    zone->notifier = config_list(r, node, key, sizeof(*zone->notifier),
                                 DNSD_RULES_MAX, dnsd_read_asker,
                                 &zone->notifiers);
}

/* Without a list, the primaries may notify, from any port. */
static void let_primaries_notify(ConfigReader *r, DnsdZoneConfig *zone)
{
    zone->notifiers = zone->primaries;
    zone->notifier = config_memory_get(r->memory, zone->primaries *
                                       sizeof(*zone->notifier));
    for (size_t i = 0; i < zone->primaries; i++) {
        const DnsdListen *at = &zone->primary[i].at;
        DnsdAddr addr = dnsd_addr_of((const struct sockaddr *)&at->addr);

        zone->notifier[i].range = (DnsdRange) { addr, addr };
    }
}

/* --- a whole zone --------------------------------------------------------- */

void dnsd_read_secondary_end(ConfigReader *r, const yaml_node_t *node,
                             DnsdZoneConfig *zone)
{
    DnsdConfig *config = r->whole;

    if (!zone->primaries) {
        if (zone->has_notifiers || zone->transfer_limit) {
            config_wrong(r, node, zone->has_notifiers
                         ? "has 'allow-notify' without 'primaries'"
                         : "has 'transfer-limit' without 'primaries'",
                         "'primaries', which the zone is copied from");
        }
        return;
    }
    if (zone->updates) {
        config_wrong(r, node, "has 'allow-update' and 'primaries'",
                     "one of them: a copy is changed by its primary "
                     "alone, and updates go there");
    }
    if (!zone->has_notifiers) {
        let_primaries_notify(r, zone);
    }
    if (!zone->transfer_limit) {
        zone->transfer_limit = DNSD_TRANSFER_LIMIT;
    }
    config->copied++;
}
