/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration: its keys, their types and their defaults */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "dnsd/server/config/changing.h"
#include "dnsd/server/config/config.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/server/config/resolving.h"
#include "dnsd/server/config/zones.h"

#define DEFAULT_USER        "vmmnet-dns"
#define DEFAULT_CONTROL     "/run/vmmnet-dns/control.sock"
#define DEFAULT_UDP_SIZE    DNS_UDP_ADVERTISED
#define DEFAULT_RECEIVE     (4u << 20)
#define DEFAULT_CONNECTIONS 256
#define DEFAULT_PER_CLIENT  32
#define DEFAULT_IDLE_S      10
#define DEFAULT_SLIP        2
#define DEFAULT_SLOTS       65536

#define BOUNDED(member, key, how, low, high, what)                      \
    { .name = key, .read = how, .offset = offsetof(DnsdConfig, member), \
      .right = what, .min = low, .max = high }
#define KEY(member, key, how, what) BOUNDED(member, key, how, 0, 0, what)
#define NUMBER(member, key, low, high, what) \
    BOUNDED(member, key, config_read_number, low, high, what)
#define TEXT(member, key, longest, what) \
    BOUNDED(member, key, config_read_text, 0, longest, what)
#define SECTION(key, how, what) { .name = key, .read = how, .right = what }

/* --- sections ------------------------------------------------------------- */

static const ConfigKey server_keys[] = {
    KEY(listen, "listen", dnsd_read_listen,
        "a list of addresses as '192.0.2.1', '2001:db8::1@5353' or "
        "'fe80::1%eth0', at most 32"),
    BOUNDED(threads, "threads", dnsd_read_threads, 1, DNSD_THREADS_MAX,
            "'auto' or a number from 1 to 256"),
    TEXT(user, "user", 32, "the name of a user"),
    NUMBER(udp_size, "udp-size", DNS_UDP_MIN, DNSD_UDP_MAX,
           "a number of octets from 512 to 4096"),
    NUMBER(receive_buffer, "receive-buffer", 4096, 1u << 30,
           "a number of octets from 4096 to 1073741824"),
    TEXT(identity, "identity", DNSD_TEXT_MAX,
         "'off' or a text of at most 255 octets"),
    TEXT(version, "version", DNSD_TEXT_MAX,
         "'off' or a text of at most 255 octets"),
    KEY(nsid, "nsid", dnsd_read_octets,
        "'off', a text of at most 255 octets, or '0x' and hexadecimal digits"),
    KEY(control, "control", config_read_path, "'off' or an absolute path"),
    KEY(metrics, "metrics", dnsd_read_metrics,
        "'off', or an address of this host as '127.0.0.1@9153'"),
    { 0 },
};

static const ConfigKey tcp_keys[] = {
    NUMBER(tcp.connections, "connections", 1, 65536,
           "a number from 1 to 65536"),
    NUMBER(tcp.per_client, "connections-per-client", 1, 65536,
           "a number from 1 to 65536"),
    NUMBER(tcp.idle_s, "idle-timeout", 1, 3600,
           "a number of seconds from 1 to 3600"),
    { 0 },
};

static const ConfigKey cookie_keys[] = {
    KEY(cookies, "enabled", config_read_switch, "'on' or 'off'"),
    KEY(secret_file, "secret-file", config_read_path,
        "'off' or an absolute path"),
    { 0 },
};

static const ConfigKey limit_keys[] = {
    NUMBER(limit.rate, "responses-per-second", 0, DNSD_LIMIT_RATE_MAX,
           "a number from 0 (no limit) to 100000"),
    NUMBER(limit.slip, "slip", 0, 10, "a number from 0 (none) to 10"),
    BOUNDED(limit.slots, "table-size", dnsd_read_slots, DNSD_LIMIT_SLOTS_MIN,
            DNSD_LIMIT_SLOTS_MAX, "a power of two from 1024 to 16777216"),
    KEY(limit_exempt, "exempt", dnsd_read_ranges,
        "a list of prefixes as '192.0.2.0/24' or '2001:db8::/32'"),
    { 0 },
};

static void read_server(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    config_map(r, node, server_keys, to);
}

static void read_tcp(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    config_map(r, node, tcp_keys, to);
}

static void read_cookies(ConfigReader *r, const yaml_node_t *node,
                         const ConfigKey *key, void *to)
{
    config_map(r, node, cookie_keys, to);
}

static void read_limit(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    config_map(r, node, limit_keys, to);
}

static const ConfigKey top_keys[] = {
    SECTION("server", read_server, "a map"),
    SECTION("tcp", read_tcp, "a map"),
    SECTION("cookies", read_cookies, "a map"),
    SECTION("rate-limit", read_limit, "a map"),
    SECTION("resolver", dnsd_read_resolver, "a map"),
    SECTION("keys", dnsd_read_keys, "a list of keys, each with 'name' and "
            "'secret-file' or 'key-file', at most 1000"),
    SECTION("zones", dnsd_read_zones,
            "a list of zones, each with 'name' and 'image', at most 200000"),
    { 0 },
};

/* --- reading -------------------------------------------------------------- */

static void set_defaults(DnsdConfig *c)
{
    static const char *const everywhere[] = { "0.0.0.0", "::" };

    c->listens = 2;
    c->listen = config_memory_get(&c->memory, 2 * sizeof(*c->listen));
    for (unsigned i = 0; i < 2; i++) {
        dnsd_listen_read(&c->listen[i], everywhere[i], DNSD_PORT);
        c->listen[i].text = everywhere[i];
    }
    c->user = DEFAULT_USER;
    c->udp_size = DEFAULT_UDP_SIZE;
    c->receive_buffer = DEFAULT_RECEIVE;
    c->control = DEFAULT_CONTROL;
    c->tcp = (DnsdTcpConfig) {
        DEFAULT_CONNECTIONS, DEFAULT_PER_CLIENT, DEFAULT_IDLE_S,
    };
    c->cookies = true;
    c->limit.slip = DEFAULT_SLIP;
    c->limit.slots = DEFAULT_SLOTS;
    dnsd_resolver_defaults(&c->resolver);
}

DnsdConfig *dnsd_config_read(const char *path, const char *text, size_t len,
                             DnsdErrors *errors)
{
    ConfigMemory *memory = NULL;
    DnsdConfig *config = config_memory_get(&memory, sizeof(*config));
    ConfigReader r = {
        .path = path, .errors = errors, .whole = config,
        .memory = &config->memory,
    };

    config->memory = memory;
    config->users = 1;
    set_defaults(config);
    if (!config_read(&r, text, len, top_keys, config)) {
        dnsd_config_free(config);
        return NULL;
    }
    return config;
}

DnsdConfig *dnsd_config_ref(DnsdConfig *config)
{
    config->users++;
    return config;
}

void dnsd_config_free(DnsdConfig *config)
{
    if (config && !--config->users) {
        config_memory_free(config->memory);
    }
}

/* --- reload --------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_listens(const DnsdConfig *a, const DnsdConfig *b)
{
    if (a->listens != b->listens) {
        return false;
    }
    for (size_t i = 0; i < a->listens; i++) {
        if (a->listen[i].len != b->listen[i].len ||
            memcmp(&a->listen[i].addr, &b->listen[i].addr, a->listen[i].len) ||
            strcmp(a->listen[i].device, b->listen[i].device)) {
            return false;
        }
    }
    return true;
}

static bool same_limits(const DnsdLimitOptions *a, const DnsdLimitOptions *b)
{
    return a->rate == b->rate && a->slip == b->slip && a->slots == b->slots;
}

const char *dnsd_config_needs_restart(const DnsdConfig *a,
                                      const DnsdConfig *b)
{
    const struct {
        const char *key;
        bool same;
    } fixed[] = {
        { "server.listen", same_listens(a, b) },
        { "server.threads", a->threads == b->threads },
        { "server.user", same_text(a->user, b->user) },
        { "server.receive-buffer", a->receive_buffer == b->receive_buffer },
        { "server.control", same_text(a->control, b->control) },
        { "server.metrics", a->metrics.len == b->metrics.len &&
                            !memcmp(&a->metrics.addr, &b->metrics.addr,
                                    a->metrics.len) },
        { "tcp.connections", a->tcp.connections == b->tcp.connections },
        { "rate-limit", same_limits(&a->limit, &b->limit) },
        { "resolver.threads", a->resolver.threads == b->resolver.threads },
        { "the first of resolver.allow",
          a->resolver.is_on || !b->resolver.is_on },
        { "the first of zones' allow-update, allow-transfer and notify",
          a->changing || !b->changing },
        { "the first of zones' primaries", a->copied || !b->copied },
    };

    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (!fixed[i].same) {
            return fixed[i].key;
        }
    }
    return NULL;
}
