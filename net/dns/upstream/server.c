/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS servers of the host's network: parser of the option */

#include <arpa/inet.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>

#include "net/dns/upstream/upstream.h"

#define DEFAULT_PORT 53

GQuark dns_upstream_error_quark(void)
{
    return g_quark_from_static_string("dns-upstream-error-quark");
}

static bool has_address(const DnsServer *server)
{
    return server->family == AF_INET
           ? server->addr.in.s_addr != INADDR_ANY
           : !IN6_IS_ADDR_UNSPECIFIED(&server->addr.in6);
}

static bool parse_port(const char *digits, uint16_t *port)
{
    guint64 value;

    if (!g_ascii_string_to_unsigned(digits, 10, 1, UINT16_MAX, &value,
                                    NULL)) {
        return false;
    }
    *port = value;
    return true;
}

static bool is_digits(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

static bool refuse(GError **err, const char *text, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static bool refuse(GError **err, const char *text, const char *format, ...)
{
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                "DNS server '%s': %s", text, why);
    return false;
}

/* Parse ADDR, without interface and port. */
static bool parse_address(const char *text, const char *addr,
                          DnsServer *server, GError **err)
{
    if (inet_pton(AF_INET, addr, &server->addr.in) == 1) {
        server->family = AF_INET;
    } else if (inet_pton(AF_INET6, addr, &server->addr.in6) == 1) {
        server->family = AF_INET6;
    } else if (strchr(text, ',')) {
        return refuse(err, text, "servers are separated by '+', not ','");
    } else {
        return refuse(err, text, "'%s' is not an IPv4 or IPv6 address; a "
                      "server is ADDR, ADDR@PORT or fe80::1%%INTERFACE", addr);
    }
    return has_address(server) ||
           refuse(err, text, "the unspecified address is no server");
}

/* Parse the zone of a link-local address, RFC 4007 section 11; NULL: none. */
static bool parse_zone(const char *text, const char *addr, const char *zone,
                       DnsServer *server, GError **err)
{
    char name[IF_NAMESIZE];
    guint64 index;

    if (server->family != AF_INET6 ||
        !IN6_IS_ADDR_LINKLOCAL(&server->addr.in6)) {
        return !zone ||
               (is_digits(zone)
                ? refuse(err, text, "a port is behind '@': %s@%s", addr, zone)
                : refuse(err, text, "only a link-local address has an "
                         "interface"));
    }
    if (!zone) {
        return refuse(err, text, "a link-local address does not say on which "
                      "link: %s%%INTERFACE", addr);
    }
    server->scope = if_nametoindex(zone);
    if (!server->scope &&
        g_ascii_string_to_unsigned(zone, 10, 1, G_MAXINT32, &index, NULL) &&
        if_indextoname(index, name)) {
        server->scope = index;
        return true;
    }
    if (!server->scope && is_digits(zone)) {
        return refuse(err, text, "this host has no interface '%s', and a port "
                      "is behind '@'", zone);
    }
    if (!*zone || strlen(zone) >= sizeof(server->zone) || strchr(zone, '/')) {
        return refuse(err, text, "no interface can be called '%s'", zone);
    }
    g_strlcpy(server->zone, zone, sizeof(server->zone));
    return true;
}

bool dns_server_parse(const char *text, DnsServer *server, GError **err)
{
    g_autofree char *addr = g_strdup(text);
    DnsServer result = { .port = DEFAULT_PORT };
    char *port = strrchr(addr, '@');
    char *zone;

    if (port) {
        *port++ = '\0';
    }
    zone = strchr(addr, '%');
    if (zone) {
        *zone++ = '\0';
    }
    if (!parse_address(text, addr, &result, err) ||
        !parse_zone(text, addr, zone, &result, err)) {
        return false;
    }
    if (port && !parse_port(port, &result.port)) {
        return refuse(err, text, "'%s' is not a port number, 1 to 65535",
                      port);
    }
    *server = result;
    return true;
}
