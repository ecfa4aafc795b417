/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS servers of the host's network: what the user says of them
 */

#include <arpa/inet.h>
#include <string.h>

#include "net/dns/upstream.h"

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

bool dns_server_parse(const char *text, DnsServer *server, GError **err)
{
    const char *percent = strrchr(text, '%');
    g_autofree char *addr = percent ? g_strndup(text, percent - text)
                                    : g_strdup(text);
    DnsServer result = { .port = DEFAULT_PORT };

    if (percent && !parse_port(percent + 1, &result.port)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': '%s' is not a port number "
                    "(zone names are not supported)", text, percent + 1);
        return false;
    }
    if (inet_pton(AF_INET, addr, &result.addr.in) == 1) {
        result.family = AF_INET;
    } else if (inet_pton(AF_INET6, addr, &result.addr.in6) == 1) {
        result.family = AF_INET6;
    } else {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': '%s' is not an IPv4 or IPv6 address",
                    text, addr);
        return false;
    }
    if (result.family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&result.addr.in6)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': a link-local address cannot be used, "
                    "as it does not say on which link", text);
        return false;
    }
    if (!has_address(&result)) {
        g_set_error(err, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "DNS server '%s': the unspecified address is no server",
                    text);
        return false;
    }
    *server = result;
    return true;
}
