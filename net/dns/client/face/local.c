/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are answered without asking servers */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/dns/client/config/address.h"
#include "net/dns/client/config/hosts.h"
#include "net/dns/client/face/local.h"

/* Is it the domain, or below it?  With or without final dot. */
static bool is_under(const char *name, const char *domain)
{
    size_t len = strlen(name), domain_len = strlen(domain);

    len -= len && name[len - 1] == '.';
    return len >= domain_len &&
           !strncasecmp(name + len - domain_len, domain, domain_len) &&
           (len == domain_len || name[len - domain_len - 1] == '.');
}

static void add(DnscLocal *local, int family, const char *text)
{
    VmmnetDnsAddress *addr = &local->addrs[local->count];

    dnsc_address_parse(text, false, addr);
    local->count += family == AF_UNSPEC || family == addr->sa.sa_family;
}

/* Convert a mapped IPv4 address if IPv4 is wanted. */
static void unmap(VmmnetDnsAddress *addr)
{
    struct in6_addr in6 = addr->in6.sin6_addr;

    if (addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6)) {
        memset(addr, 0, sizeof(*addr));
        addr->in.sin_family = AF_INET;
        memcpy(&addr->in.sin_addr, in6.s6_addr + 12,
               sizeof(addr->in.sin_addr));
        addr->len = sizeof(addr->in);
    }
}

bool dnsc_local_literal(const char *name, int family, DnscLocal *local)
{
    VmmnetDnsAddress addr;
    int ret = dnsc_address_parse(name, true, &addr);

    if (ret == -EINVAL) {
        return false;
    }
    if (!ret && family == AF_INET) {
        unmap(&addr);
    }
    local->no_such_name = ret;          /* -ENXIO: the scope does not exist */
    local->count = !ret && (family == AF_UNSPEC ||
                            family == addr.sa.sa_family);
    local->addrs[0] = addr;
    snprintf(local->canonical, sizeof(local->canonical), "%s", name);
    return true;
}

bool dnsc_local(const char *name, int family, const char *hosts, size_t len,
                DnscLocal *local)
{
    bool known;

    local->no_such_name = false;
    local->count = 0;
    if (dnsc_local_literal(name, family, local)) {
        return true;
    }
    if (hosts) {
        local->count = dnsc_hosts_find(hosts, len, name, family, local->addrs,
                                       DNSC_LOCAL_MAX, local->canonical,
                                       sizeof(local->canonical), &known);
        if (local->count) {
            return true;
        }
    }
    snprintf(local->canonical, sizeof(local->canonical), "%s", name);
    /* RFC 6761 sections 6.3 and 6.4, RFC 7686 section 2 */
    if (is_under(name, "localhost")) {
        add(local, family, "::1");
        add(local, family, "127.0.0.1");
        return true;
    }
    local->no_such_name = is_under(name, "invalid") ||
                          is_under(name, "onion");
    return local->no_such_name;
}
