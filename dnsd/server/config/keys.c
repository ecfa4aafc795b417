/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: addresses, prefixes, names */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/number.h"
#include "dnsd/server/config/keys.h"

#define PREFIXES_MAX    100000
#define PLAIN_MAX       64      /* octets of an address and a port */

/* --- addresses ------------------------------------------------------------ */

static bool read_port(const char *text, uint16_t *port)
{
    uint32_t value;

    if (number_read(text, 1, UINT16_MAX, &value)) {
        return false;
    }
    *port = value;
    return true;
}

bool dnsd_listen_read(DnsdListen *listen, const char *text, uint16_t port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&listen->addr;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&listen->addr;
    const char *at = strchr(text, '@');
    size_t len = at ? (size_t)(at - text) : strlen(text);
    char addr[INET6_ADDRSTRLEN];

    memset(listen, 0, sizeof(*listen));
    if (len >= sizeof(addr) || (at && !read_port(at + 1, &port))) {
        return false;
    }
    memcpy(addr, text, len);
    addr[len] = 0;
    if (inet_pton(AF_INET, addr, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        listen->len = sizeof(*four);
        return true;
    }
    if (inet_pton(AF_INET6, addr, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        listen->len = sizeof(*six);
        return true;
    }
    return false;
}

/* Split "ADDRESS%DEVICE@PORT" into "ADDRESS@PORT" and the device. */
static bool split_device(const char *text, char plain[PLAIN_MAX],
                         char device[IF_NAMESIZE])
{
    const char *from = strchr(text, '%');
    size_t len = from ? strcspn(from + 1, "@") : 0;

    *device = 0;
    if (!from) {
        return snprintf(plain, PLAIN_MAX, "%s", text) < PLAIN_MAX;
    }
    if (!len || len >= IF_NAMESIZE) {
        return false;
    }
    memcpy(device, from + 1, len);
    device[len] = 0;
    return snprintf(plain, PLAIN_MAX, "%.*s%s", (int)(from - text), text,
                    from + 1 + len) < PLAIN_MAX;
}

bool dnsd_listen_is_local(const DnsdListen *listen)
{
    const struct sockaddr_in6 *six = (const void *)&listen->addr;

    return listen->addr.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

void dnsd_read_address(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    char plain[PLAIN_MAX], device[IF_NAMESIZE];
    DnsdListen *listen = to;

    if (!text) {
        return;
    }
    if (!split_device(text, plain, device) ||
        !dnsd_listen_read(listen, plain, DNSD_PORT)) {
        config_wrong(r, node, "is no address", key->right);
    } else if (dnsd_listen_is_local(listen) && !*device) {
        config_wrong(r, node, "is on each link, and names none",
                     "the address with its interface as 'fe80::1%eth0'");
    } else {
        memcpy(listen->device, device, sizeof(device));
        listen->text = config_memory_text(r->memory, text);
    }
}

void dnsd_read_listen(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    DnsdConfig *c = r->whole;

    c->listen = config_list(r, node, key, sizeof(*c->listen),
                            DNSD_LISTEN_MAX, dnsd_read_address,
                            &c->listens);
}

unsigned dnsd_listen_scope(const DnsdListen *listen)
{
    return listen->addr.ss_family == AF_INET6
           ? ((const struct sockaddr_in6 *)&listen->addr)->sin6_scope_id : 0;
}

/* Metrics have no access control, so only loopback addresses are allowed. */
static bool is_loopback(const DnsdListen *listen)
{
    const struct sockaddr_in *four = (const void *)&listen->addr;
    const struct sockaddr_in6 *six = (const void *)&listen->addr;

    return listen->addr.ss_family == AF_INET
           ? ntohl(four->sin_addr.s_addr) >> 24 == 127
           : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

void dnsd_read_metrics(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    DnsdListen *listen = to;

    if (!text) {
        return;
    }
    if (config_is_off(text)) {
        listen->len = 0;
    } else if (!strchr(text, '@') || !dnsd_listen_read(listen, text, 0)) {
        config_wrong(r, node, "is no address and port", key->right);
    } else if (!is_loopback(listen)) {
        config_wrong(r, node, "is seen by other hosts", key->right);
    } else {
        listen->text = config_memory_text(r->memory, text);
    }
}

/* --- prefixes ------------------------------------------------------------- */

static void read_range(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    const char *wrong = text ? dnsd_range_read(to, text) : NULL;

    if (wrong) {
        config_wrong(r, node, wrong,
                     "a prefix as '192.0.2.0/24' or '2001:db8::/32'");
    }
}

void dnsd_read_ranges(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    DnsdRanges *ranges = to;

    ranges->range = config_list(r, node, key, sizeof(DnsdRange),
                                PREFIXES_MAX, read_range, &ranges->count);
    dnsd_ranges_sort(ranges);
}

/* --- the server ----------------------------------------------------------- */

void dnsd_read_threads(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (text && !strcmp(text, "auto")) {
        *(uint32_t *)to = 0;
    } else if (text) {
        config_read_number(r, node, key, to);
    }
}

void dnsd_read_slots(ConfigReader *r, const yaml_node_t *node,
                     const ConfigKey *key, void *to)
{
    uint32_t value = DNSD_LIMIT_SLOTS_MIN;

    config_read_number(r, node, key, &value);
    if (value & (value - 1)) {
        config_wrong(r, node, "is no power of two", key->right);
        return;
    }
    *(uint32_t *)to = value;
}

static bool from_hex(DnsdOctets *to, const char *text)
{
    to->len = 0;
    for (; text[0] && text[1] && to->len < sizeof(to->octets); text += 2) {
        unsigned value;
        int used;

        if (sscanf(text, "%2x%n", &value, &used) != 1 || used != 2) {
            return false;
        }
        to->octets[to->len++] = value;
    }
    return !*text && to->len;
}

void dnsd_read_octets(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);
    DnsdOctets *octets = to;

    if (!text) {
        return;
    }
    if (config_is_off(text)) {
        octets->len = 0;
    } else if (!strncmp(text, "0x", 2)) {
        if (!from_hex(octets, text + 2)) {
            config_wrong(r, node, "is no hexadecimal number of octets",
                         key->right);
        }
    } else if (!*text || strlen(text) > sizeof(octets->octets)) {
        config_wrong(r, node, *text ? "is too long" : "is empty",
                     key->right);
    } else {
        octets->len = strlen(text);
        memcpy(octets->octets, text, octets->len);
    }
}

/* --- names ---------------------------------------------------------------- */

void dnsd_read_name(ConfigReader *r, const yaml_node_t *node,
                    const ConfigKey *key, void *to)
{
    const char *text = config_scalar(r, node, key);

    if (text && (!*text || config_is_off(text) ||
                 dns_name_from_text(to, text) < 0)) {
        config_wrong(r, node, "is no domain name", key->right);
    }
}

void dnsd_name_lower(DnsName *name)
{
    for (unsigned i = 0; i < name->len; i++) {
        if (name->wire[i] >= 'A' && name->wire[i] <= 'Z') {
            name->wire[i] |= 0x20;
        }
    }
}
