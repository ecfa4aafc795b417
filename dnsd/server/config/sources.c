/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: source addresses */
#include <netinet/in.h>
#include <string.h>

#include "dnsd/server/config/keys.h"
#include "dnsd/server/config/sources.h"

#define RIGHT_SOURCE \
    "an address of this host as '192.0.2.1', '2001:db8::1' or 'fe80::1%eth0', " \
    "without a port"

static const ConfigKey source_key = { .right = RIGHT_SOURCE };

static bool is_unicast(const DnsdListen *source)
{
    const struct sockaddr_in *four = (const void *)&source->addr;
    const struct sockaddr_in6 *six = (const void *)&source->addr;
    uint32_t addr = ntohl(four->sin_addr.s_addr);

    return source->addr.ss_family == AF_INET
           ? addr && !IN_MULTICAST(addr) && addr != INADDR_BROADCAST
           : !IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) &&
             !IN6_IS_ADDR_MULTICAST(&six->sin6_addr);
}

static void set_port(DnsdListen *source, uint16_t port)
{
    struct sockaddr_in *four = (void *)&source->addr;
    struct sockaddr_in6 *six = (void *)&source->addr;

    if (source->addr.ss_family == AF_INET) {
        four->sin_port = htons(port);
    } else {
        six->sin6_port = htons(port);
    }
}

/* The kernel chooses the port, so that it is not predictable (RFC 5452). */
static void read_source(ConfigReader *r, const yaml_node_t *node,
                        const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsdListen *source = to;

    dnsd_read_address(r, node, &source_key, source);
    if (r->errors->count > before || !source->text) {
        return;
    }
    if (strchr(source->text, '@')) {
        config_wrong(r, node, "has a port", RIGHT_SOURCE);
    } else if (!is_unicast(source)) {
        config_wrong(r, node, "is no host's own", RIGHT_SOURCE);
    }
    set_port(source, 0);
}

void dnsd_read_sources(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    DnsdSources *sources = to;
    size_t count;
    DnsdListen *source = config_list(r, node, key, sizeof(*source),
                                     DNSD_FAMILIES, read_source, &count);

    if (r->errors->count > before) {
        return;
    }
    if (!count) {
        config_wrong(r, node, "is empty", key->right);
    }
    for (size_t i = 0; i < count; i++) {
        DnsdListen *of = &sources->of[source[i].addr.ss_family == AF_INET6];

        if (of->len) {
            config_wrong(r, node, "has two of one family", key->right);
        }
        *of = source[i];
    }
}

static bool has_any(const DnsdSources *sources)
{
    return sources->of[0].len || sources->of[1].len;
}

/* Packets have one interface: that of both ends, or of the one with a name. */
static void check_device(ConfigReader *r, const yaml_node_t *node,
                         const DnsdSources *sources, const DnsdListen *to,
                         const char *what)
{
    const DnsdListen *from = dnsd_source_for(sources, to);

    if (from && *from->device && *to->device &&
        strcmp(from->device, to->device)) {
        config_wrong(r, node, what, "the interface of the addresses that "
                     "are asked or notified");
    }
}

void dnsd_read_sources_end(ConfigReader *r, const yaml_node_t *node,
                           const DnsdZoneConfig *zone)
{
    if (has_any(&zone->notify_source) && !zone->secondaries) {
        config_wrong(r, node, "has 'notify-source' without 'notify'",
                     "'notify', the servers to notify");
    }
    if (has_any(&zone->transfer_source) && !zone->primaries) {
        config_wrong(r, node, "has 'transfer-source' without "
                     "'primaries'", "'primaries', the servers to ask");
    }
    for (size_t i = 0; i < zone->secondaries; i++) {
        check_device(r, node, &zone->notify_source, &zone->secondary[i].at,
                     "has 'notify-source' on another interface than 'notify'");
    }
    for (size_t i = 0; i < zone->primaries; i++) {
        check_device(r, node, &zone->transfer_source, &zone->primary[i].at,
                     "has 'transfer-source' on another interface than "
                     "'primaries'");
    }
}

const char *dnsd_listen_device(const DnsdListen *from, const DnsdListen *to)
{
    return from && *from->device ? from->device : to->device;
}

const DnsdListen *dnsd_source_for(const DnsdSources *sources,
                                  const DnsdListen *to)
{
    const DnsdListen *of = &sources->of[to->addr.ss_family == AF_INET6];

    return of->len ? of : NULL;
}
