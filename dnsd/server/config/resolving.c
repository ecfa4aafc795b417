/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: the section "resolver" */
#include <string.h>

#include "dnsd/server/config/keys.h"
#include "dnsd/server/config/resolving.h"

#define DEFAULT_ANCHOR      "/usr/share/dns/root.key"
#define DEFAULT_CACHE       (64u << 20)
#define DEFAULT_QUERIES     4096
#define DEFAULT_PER_CLIENT  256
#define CACHE_MIN           (1u << 20)
#define QUERIES_MAX         65536

#define BOUNDED(member, key, how, low, high, what)                  \
    { .name = key, .read = how, .right = what, .min = low,          \
      .max = high, .offset = offsetof(DnsdResolverConfig, member) }
#define KEY(member, key, how, what) BOUNDED(member, key, how, 0, 0, what)
#define NUMBER(member, key, low, high, what) \
    BOUNDED(member, key, config_read_number, low, high, what)

void dnsd_resolver_defaults(DnsdResolverConfig *c)
{
    *c = (DnsdResolverConfig) {
        .trust_anchor = DEFAULT_ANCHOR, .cache_size = DEFAULT_CACHE,
        .queries_max = DEFAULT_QUERIES, .per_client = DEFAULT_PER_CLIENT,
        .threads = 1,
    };
}

/* --- values --------------------------------------------------------------- */

static void read_allow(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    DnsdResolverConfig *c = to;

    c->is_on = true;
    dnsd_read_ranges(r, node, key, &c->allow);
}

/* libunbound knows interfaces as the scope of link-local addresses only. */
static void read_forwarder(ConfigReader *r, const yaml_node_t *node,
                           const ConfigKey *key, void *to)
{
    const DnsdListen *at = to;

    dnsd_read_address(r, node, key, to);
    if (*at->device && !dnsd_listen_is_local(at)) {
        config_wrong(r, node, "has an interface", "an interface for "
                     "link-local addresses only, as 'fe80::1%eth0'");
    }
}

static void read_forward(ConfigReader *r, const yaml_node_t *node,
                         const ConfigKey *key, void *to)
{
    DnsdResolverConfig *c = to;

    c->forward = config_list(r, node, key, sizeof(*c->forward),
                             DNSD_FORWARDS_MAX, read_forwarder,
                             &c->forwards);
    if (node->type == YAML_SEQUENCE_NODE && !c->forwards) {
        config_wrong(r, node, "is empty", "one address or more; without "
                     "the key the resolver begins at the root");
    }
}

/* libunbound would prefer the trust anchor of the root to the exception. */
static void read_insecure_name(ConfigReader *r, const yaml_node_t *node,
                               const ConfigKey *key, void *to)
{
    const DnsName *name = to;
    unsigned before = r->errors->count;

    dnsd_read_name(r, node, key, to);
    if (r->errors->count == before && !name->labels) {
        config_wrong(r, node, "is the root", "a name below it; to "
                     "validate nothing, 'dnssec: off'");
    }
}

static void read_insecure(ConfigReader *r, const yaml_node_t *node,
                          const ConfigKey *key, void *to)
{
    DnsdResolverConfig *c = to;

    c->insecure = config_list(r, node, key, sizeof(*c->insecure),
                              DNSD_INSECURES_MAX, read_insecure_name,
                              &c->insecures);
}

static void read_dnssec(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    static const char *const words[] = {
        [DNSD_DNSSEC_STRICT] = "strict",
        [DNSD_DNSSEC_PERMISSIVE] = "permissive",
    };
    const char *text = config_scalar(r, node, key);
    DnsdDnssec *dnssec = to;

    if (!text) {
        return;
    }
    if (config_is_off(text)) {
        *dnssec = DNSD_DNSSEC_OFF;
        return;
    }
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!strcmp(text, words[i])) {
            *dnssec = i;
            return;
        }
    }
    config_wrong(r, node, "is none of them", key->right);
}

/* Read a path that cannot be off. */
static void read_anchor(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (text && config_is_off(text)) {
        config_wrong(r, node, "is no path", "an absolute path; without "
                     "DNSSEC, 'dnssec: off'");
    } else if (text) {
        config_read_path(r, node, key, to);
    }
}

static const ConfigKey resolver_keys[] = {
    { .name = "allow", .read = read_allow,
      .right = "a list of prefixes as '192.0.2.0/24' or '2001:db8::/32'" },
    { .name = "forward", .read = read_forward,
      .right = "a list of addresses as '192.0.2.1', '2001:db8::1@5353' or "
               "'fe80::1%eth0', at most 16" },
    KEY(dnssec, "dnssec", read_dnssec, "'off', 'permissive' or 'strict'"),
    { .name = "insecure", .read = read_insecure,
      .right = "a list of domain names as 'corp.example', at most 1000" },
    KEY(trust_anchor, "trust-anchor", read_anchor, "an absolute path"),
    KEY(root_hints, "root-hints", config_read_path,
        "'off' or an absolute path"),
    KEY(serve_stale, "serve-stale", config_read_switch, "'on' or 'off'"),
    NUMBER(cache_size, "cache-size", CACHE_MIN, UINT32_MAX,
           "a number of octets from 1048576 to 4294967295"),
    NUMBER(queries_max, "max-queries", 1, QUERIES_MAX,
           "a number from 1 to 65536"),
    NUMBER(per_client, "max-queries-per-client", 1, QUERIES_MAX,
           "a number from 1 to 65536"),
    NUMBER(threads, "threads", 1, DNSD_RESOLVERS_MAX,
           "a number from 1 to 64"),
    { 0 },
};

void dnsd_read_resolver(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    DnsdConfig *config = to;
    DnsdResolverConfig *c = &config->resolver;
    unsigned before = r->errors->count;

    config_map(r, node, resolver_keys, c);
    if (r->errors->count == before && !c->is_on) {
        config_wrong(r, node, "has no 'allow'", "the prefixes of those "
                     "who may recurse; without the section nobody may");
    }
}

/* --- reload --------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_forwards(const DnsdResolverConfig *a,
                          const DnsdResolverConfig *b)
{
    for (size_t i = 0; i < a->forwards && i < b->forwards; i++) {
        if (strcmp(a->forward[i].text, b->forward[i].text) ||
            dnsd_listen_scope(&a->forward[i]) !=
            dnsd_listen_scope(&b->forward[i])) {
            return false;
        }
    }
    return a->forwards == b->forwards;
}

static bool same_insecures(const DnsdResolverConfig *a,
                           const DnsdResolverConfig *b)
{
    for (size_t i = 0; i < a->insecures && i < b->insecures; i++) {
        if (!dns_name_equal(&a->insecure[i], &b->insecure[i])) {
            return false;
        }
    }
    return a->insecures == b->insecures;
}

bool dnsd_resolver_same(const DnsdResolverConfig *a,
                        const DnsdResolverConfig *b)
{
    return a->is_on == b->is_on && same_forwards(a, b) &&
           same_insecures(a, b) &&
           (a->dnssec == DNSD_DNSSEC_OFF) == (b->dnssec == DNSD_DNSSEC_OFF) &&
           same_text(a->trust_anchor, b->trust_anchor) &&
           same_text(a->root_hints, b->root_hints) &&
           a->serve_stale == b->serve_stale && a->cache_size == b->cache_size;
}
