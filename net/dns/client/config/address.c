/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses as text
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "net/dns/client/config/address.h"
#include "net/dns/client/config/number.h"

#define TEXT_MAX        128

static int parse_ip6(const char *text, VmmnetDnsAddress *addr)
{
    char alone[TEXT_MAX];
    unsigned long index = 0;
    const char *scope = strchr(text, '%');
    size_t len = scope ? (size_t)(scope - text) : strlen(text);
    int ret = 0;

    if (len >= sizeof(alone)) {
        return -EINVAL;
    }
    memcpy(alone, text, len);
    alone[len] = '\0';
    if (inet_pton(AF_INET6, alone, &addr->in6.sin6_addr) != 1) {
        return -EINVAL;
    }
    if (scope) {
        index = if_nametoindex(scope + 1);
        if (!index &&
            !dnsc_number_parse(scope + 1, UINT32_MAX, &index)) {
            ret = -ENXIO;
        }
    }
    addr->in6.sin6_family = AF_INET6;
    addr->in6.sin6_scope_id = index;
    addr->len = sizeof(addr->in6);
    return ret;
}

int dnsc_address_parse(const char *text, bool legacy, VmmnetDnsAddress *addr)
{
    memset(addr, 0, sizeof(*addr));
    if (inet_pton(AF_INET, text, &addr->in.sin_addr) == 1 ||
        (legacy && inet_aton(text, &addr->in.sin_addr))) {
        addr->in.sin_family = AF_INET;
        addr->len = sizeof(addr->in);
        return 0;
    }
    return parse_ip6(text, addr);
}

int dnsc_address_parse_server(const char *text, VmmnetDnsAddress *addr)
{
    const char *at = strrchr(text, '@');
    size_t len = at ? (size_t)(at - text) : strlen(text);
    unsigned long port = 53;
    char alone[TEXT_MAX];
    int ret;

    if (len >= sizeof(alone) ||
        (at &&
         (!dnsc_number_parse(at + 1, UINT16_MAX, &port) || !port))) {
        return -EINVAL;
    }
    memcpy(alone, text, len);
    alone[len] = '\0';
    ret = dnsc_address_parse(alone, false, addr);
    if (addr->sa.sa_family == AF_INET) {
        addr->in.sin_port = htons(port);
    } else if (addr->sa.sa_family == AF_INET6) {
        addr->in6.sin6_port = htons(port);
    }
    return ret;
}

bool dnsc_address_is_loopback(const VmmnetDnsAddress *addr)
{
    if (addr->sa.sa_family == AF_INET) {
        return ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
}
