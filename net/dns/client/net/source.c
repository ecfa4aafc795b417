/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source addresses that this host would use, for RFC 6724
 */

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/client/net/source.h"

static void map(const VmmnetDnsAddress *addr, struct in6_addr *mapped)
{
    if (addr->sa.sa_family == AF_INET6) {
        *mapped = addr->in6.sin6_addr;
        return;
    }
    memset(mapped, 0, sizeof(*mapped));
    mapped->s6_addr[10] = mapped->s6_addr[11] = 0xff;
    memcpy(mapped->s6_addr + 12, &addr->in.sin_addr, 4);
}

/* One socket for each family is connected to all addresses in turn. */
static void find_source(int fd, const VmmnetDnsAddress *addr,
                        DnscDestination *d)
{
    struct sockaddr none = { .sa_family = AF_UNSPEC };
    VmmnetDnsAddress to = *addr, from;

    /* Without a port the kernel would not connect. */
    if (to.sa.sa_family == AF_INET) {
        to.in.sin_port = htons(53);
    } else {
        to.in6.sin6_port = htons(53);
    }
    from.len = sizeof(from.storage);
    if (fd >= 0 && !connect(fd, &to.sa, to.len) &&
        !getsockname(fd, &from.sa, &from.len)) {
        map(&from, &d->source);
        d->usable = true;
    }
    if (fd >= 0) {
        connect(fd, &none, sizeof(none));
    }
}

static unsigned prefix_len(const struct sockaddr *mask)
{
    const struct in6_addr *bits = &((const struct sockaddr_in6 *)mask)->
                                  sin6_addr;
    unsigned len = 0;

    while (len < 128 && bits->s6_addr[len / 8] & 0x80 >> len % 8) {
        len++;
    }
    return len;
}

/* Rule 9 compares only the bits of the source's prefix. */
static void find_prefixes(DnscDestination *d, size_t count)
{
    struct ifaddrs *all, *i;
    size_t n;

    if (getifaddrs(&all)) {
        return;
    }
    for (i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || !i->ifa_netmask ||
            i->ifa_addr->sa_family != AF_INET6) {
            continue;
        }
        for (n = 0; n < count; n++) {
            if (d[n].usable && IN6_ARE_ADDR_EQUAL(&d[n].source,
                    &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr)) {
                d[n].source_len = prefix_len(i->ifa_netmask);
            }
        }
    }
    freeifaddrs(all);
}

static void put_in_order(VmmnetDnsAddress *addrs, VmmnetDnsAddress *copy,
                         DnscDestination *d, size_t count)
{
    int fd4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    size_t i, v6 = 0;

    for (i = 0; i < count; i++) {
        bool ip6 = addrs[i].sa.sa_family == AF_INET6;

        copy[i] = addrs[i];
        d[i] = (DnscDestination){ .index = i };
        map(&addrs[i], &d[i].addr);
        find_source(ip6 ? fd6 : fd4, &addrs[i], &d[i]);
        v6 += ip6;
    }
    if (fd4 >= 0) {
        close(fd4);
    }
    if (fd6 >= 0) {
        close(fd6);
    }
    if (v6 > 1) {
        find_prefixes(d, count);
    }
    dnsc_order(dnsc_default_policy, d, count);
    for (i = 0; i < count; i++) {
        addrs[i] = copy[d[i].index];
    }
}

int dnsc_sort(VmmnetDnsAddress *addrs, size_t count)
{
    VmmnetDnsAddress *copy;
    DnscDestination *d;

    if (count < 2) {
        return 0;
    }
    copy = calloc(count, sizeof(*copy));
    d = calloc(count, sizeof(*d));
    if (copy && d) {
        put_in_order(addrs, copy, d, count);
    }
    free(d);
    free(copy);
    return copy && d ? 0 : -ENOMEM;
}

bool dnsc_has_route(const VmmnetDnsAddress *addrs, size_t count)
{
    DnscDestination d = { 0 };
    size_t i;
    int fd;

    fd = socket(addrs[0].sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        /* Unknown, except that this host does not have the family. */
        return errno != EAFNOSUPPORT;
    }
    for (i = 0; i < count && !d.usable; i++) {
        find_source(fd, &addrs[i], &d);
    }
    close(fd);
    return d.usable;
}

void dnsc_families(bool *ip4, bool *ip6)
{
    struct ifaddrs *all, *i;

    *ip4 = *ip6 = true;
    if (getifaddrs(&all)) {
        return;
    }
    *ip4 = *ip6 = false;
    for (i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_flags & IFF_LOOPBACK) {
            continue;
        }
        *ip4 |= i->ifa_addr->sa_family == AF_INET;
        *ip6 |= i->ifa_addr->sa_family == AF_INET6;
    }
    freeifaddrs(all);
}
