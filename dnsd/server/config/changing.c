/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: TSIG keys, and settings of zones that change */
#include <stdio.h>
#include <string.h>

#include "dnsd/server/config/changing.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/text/types.h"
#include "dnsd/update/tsig/keys.h"

#define RIGHT_KEY_NAME  "a domain name as 'ddns.example'"
#define RIGHT_KEY       "the name of a key in 'keys'"

/* --- keys ----------------------------------------------------------------- */

static void read_algorithm(ConfigReader *r, const yaml_node_t *node,
                           const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (text && tsig_algorithm_find(text) == TSIG_ALGORITHMS) {
        config_wrong(r, node, "is no algorithm", key->right);
    } else if (text) {
        *(const char **)to = config_memory_text(r->memory, text);
    }
}

/* Its value is not quoted: it is secret. */
static void note_secret(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    *(bool *)to = true;
}

static const ConfigKey key_keys[] = {
    { .name = "name", .read = dnsd_read_name,
      .offset = offsetof(DnsdKeyConfig, name), .right = RIGHT_KEY_NAME },
    { .name = "algorithm", .read = read_algorithm,
      .offset = offsetof(DnsdKeyConfig, algorithm),
      .right = "'hmac-sha256', or the same with 1, 224, 384 or 512" },
    { .name = "secret-file", .read = config_read_path,
      .offset = offsetof(DnsdKeyConfig, secret_file),
      .right = "an absolute path" },
    { .name = "key-file", .read = config_read_path,
      .offset = offsetof(DnsdKeyConfig, key_file),
      .right = "an absolute path" },
    { .name = "secret", .read = note_secret,
      .offset = offsetof(DnsdKeyConfig, has_secret) },
    { 0 },
};

static void read_key(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsdKeyConfig *one = to;

    config_map(r, node, key_keys, one);
    if (r->errors->count > before) {
        return;
    }
    if (one->name.len <= 1) {
        config_wrong(r, node, "has no 'name'", RIGHT_KEY_NAME);
    } else if (one->has_secret) {
        config_wrong(r, node, "has 'secret'", "'secret-file': the "
                     "configuration may be read by all, the secret in "
                     "base64 is in a file that may not");
    } else if (!one->secret_file == !one->key_file) {
        config_wrong(r, node, one->key_file ? "has both files"
                     : "has no secret", "either 'secret-file', with the "
                     "secret in base64, or 'key-file', as BIND has it");
    } else if (one->key_file && one->algorithm) {
        config_wrong(r, node, "has 'algorithm'", "'key-file' alone, "
                     "which has it");
    }
    dnsd_name_lower(&one->name);
}

void dnsd_read_keys(ConfigReader *r, const yaml_node_t *node,
                    const ConfigKey *key, void *to)
{
    DnsdConfig *c = r->whole;

    c->key = config_list(r, node, key, sizeof(*c->key), DNSD_KEYS_MAX,
                         read_key, &c->keys);
    for (size_t i = 0; i < c->keys; i++) {
        for (size_t j = 0; j < i; j++) {
            if (c->key[i].name.len &&
                dns_name_equal(&c->key[i].name, &c->key[j].name)) {
                config_wrong(r, node, "has a name twice",
                             "each key once");
            }
        }
    }
}

static bool is_name(const yaml_node_t *node, const DnsName *name)
{
    DnsName other;

    return node->type == YAML_SCALAR_NODE &&
           dns_name_from_text(&other, (const char *)node->data.scalar.value)
           >= 0 && dns_name_equal(&other, name);
}

static const yaml_node_t *value_of(ConfigReader *r, const yaml_node_t *map,
                                   const char *word)
{
    if (!map || map->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&r->document, pair->key);

        if (key->type == YAML_SCALAR_NODE &&
            !strcmp((const char *)key->data.scalar.value, word)) {
            return yaml_document_get_node(&r->document, pair->value);
        }
    }
    return NULL;
}

/* Searches the file itself, because 'keys' may follow 'zones' in it. */
static bool is_key(ConfigReader *r, const DnsName *name)
{
    const yaml_node_t *keys = value_of(
        r, yaml_document_get_root_node(&r->document), "keys");

    if (!keys || keys->type != YAML_SEQUENCE_NODE) {
        return false;
    }
    for (yaml_node_item_t *item = keys->data.sequence.items.start;
         item < keys->data.sequence.items.top; item++) {
        const yaml_node_t *one = value_of(
            r, yaml_document_get_node(&r->document, *item), "name");

        if (one && is_name(one, name)) {
            return true;
        }
    }
    return false;
}

void dnsd_read_key_name(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    DnsName *name = to;

    if (text && (!*text || dns_name_from_text(name, text) < 0 ||
                 !name->labels || !is_key(r, name))) {
        config_wrong(r, node, "is no key", RIGHT_KEY);
    }
}

/* --- updates -------------------------------------------------------------- */

static void read_type(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    int type = text ? dns_type_from_text(text, strlen(text)) : 0;

    if (text && type <= 0) {
        config_wrong(r, node, "is no type", "one as 'AAAA' or 'TYPE28'");
    } else {
        *(uint16_t *)to = type;
    }
}

static void read_types(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    DnsUpdateRule *rule = to;
    size_t count;
    uint16_t *types = config_list(r, node, key, sizeof(*types),
                                  DNS_POLICY_TYPES_MAX, read_type,
                                  &count);

    if (node->type == YAML_SEQUENCE_NODE && !count) {
        config_wrong(r, node, "is empty", key->right);
    }
    rule->types = count;
    if (count) {
        memcpy(rule->type, types, count * sizeof(*types));
    }
}

static const ConfigKey rule_keys[] = {
    { .name = "key", .read = dnsd_read_key_name,
      .offset = offsetof(DnsUpdateRule, key), .right = RIGHT_KEY },
    { .name = "below", .read = dnsd_read_name,
      .offset = offsetof(DnsUpdateRule, below),
      .right = "a domain name in the zone" },
    { .name = "only-self", .read = config_read_switch,
      .offset = offsetof(DnsUpdateRule, only_self), .right = "'on' or 'off'" },
    { .name = "types", .read = read_types,
      .right = "a list of 1 to 16 types as 'AAAA'" },
    { 0 },
};

static void read_rule(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsUpdateRule *rule = to;

    if (node->type == YAML_SCALAR_NODE) {
        dnsd_read_key_name(r, node, key, &rule->key);
        return;
    }
    config_map(r, node, rule_keys, rule);
    if (r->errors->count == before && !rule->key.labels) {
        config_wrong(r, node, "has no 'key'", RIGHT_KEY);
    }
}

void dnsd_read_updates(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->update = config_list(r, node, key, sizeof(*zone->update),
                               DNSD_RULES_MAX, read_rule,
                               &zone->updates);
}

/* --- transfers ------------------------------------------------------------ */

void dnsd_read_asker(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    DnsdAsker *asker = to;

    if (!text || !dnsd_range_read(&asker->range, text)) {
        return;
    }
    if (!*text || dns_name_from_text(&asker->key, text) < 0 ||
        !asker->key.labels || !is_key(r, &asker->key)) {
        config_wrong(r, node, "is neither a prefix nor a key",
                     key->right);
    }
}

void dnsd_read_transfer(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->asker = config_list(r, node, key, sizeof(*zone->asker),
                              DNSD_RULES_MAX, dnsd_read_asker,
                              &zone->askers);
}

static const ConfigKey secondary_keys[] = {
    { .name = "address", .read = dnsd_read_address,
      .offset = offsetof(DnsdSecondary, at),
      .right = "an address as '192.0.2.1', '2001:db8::1@5353' or "
               "'fe80::1%eth0'" },
    { .name = "key", .read = dnsd_read_key_name,
      .offset = offsetof(DnsdSecondary, key), .right = RIGHT_KEY },
    { 0 },
};

/* Read an address, or a map of an address and a key. */
static void read_secondary(ConfigReader *r, const yaml_node_t *node,
                           const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsdSecondary *secondary = to;

    if (node->type == YAML_SCALAR_NODE) {
        dnsd_read_address(r, node, key, &secondary->at);
        return;
    }
    config_map(r, node, secondary_keys, secondary);
    if (r->errors->count == before && !secondary->at.len) {
        config_wrong(r, node, "has no 'address'", key->right);
    }
}

void dnsd_read_notify(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    DnsdZoneConfig *zone = to;

    zone->secondary = config_list(r, node, key, sizeof(*zone->secondary),
                                  DNSD_SECONDARIES_MAX, read_secondary,
                                  &zone->secondaries);
}

/* --- a whole zone --------------------------------------------------------- */

void dnsd_read_changing_end(ConfigReader *r, const yaml_node_t *node,
                            DnsdZoneConfig *zone)
{
    char below[DNS_NAME_TEXT_MAX], how[DNS_NAME_TEXT_MAX + 64];

    for (size_t i = 0; i < zone->updates; i++) {
        DnsUpdateRule *rule = &zone->update[i];

        if (!rule->below.len) {
            rule->below = zone->name;
        }
        if (!dns_name_within(&rule->below, &zone->name)) {
            dns_name_to_text(&rule->below, below);
            snprintf(how, sizeof(how), "allows updates below '%s'", below);
            config_wrong(r, node, how, "a name in the zone");
        }
    }
}

bool dnsd_zone_may_change(const DnsdZoneConfig *zone)
{
    return zone->updates || zone->askers || zone->secondaries ||
           zone->primaries;
}

bool dnsd_askers_have(const DnsdAsker *asker, size_t count,
                      const DnsdAddr *addr, const DnsName *key)
{
    for (size_t i = 0; i < count; i++) {
        DnsdRange range = asker[i].range;
        DnsdRanges ranges = { 1, &range };

        if (asker[i].key.len ? key && dns_name_equal(&asker[i].key, key)
                             : dnsd_ranges_have(&ranges, addr)) {
            return true;
        }
    }
    return false;
}
