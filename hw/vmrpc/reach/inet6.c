/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: addresses of the guest's AF_INET6 sockets
 *
 * Theory of operation
 * ===================
 *
 * An AF_INET6 socket names a peer in one of two ways:
 *
 *   ::ffff:a.b.c.d   all that a.b.c.d means to an AF_INET socket: a virtual
 *                    address, the resolver, a destination behind the NAT64
 *   any other        that IPv6 address, without translation
 *
 * The second needs no path of its own: the peer gets a virtual address in the
 * map, as one that comes by itself does, and translate.c finds the IPv6 address
 * behind it again.  So policy, references, migration and the view of
 * management are the same for both.  An IPv6 group gets one, too, also if it
 * stands for an IPv4 group: so the address tells which of the two was named.
 *
 * Back, the same address has two names.  The caller knows which of them its
 * program uses.
 */
#include "hw/vmrpc/reach/inet6.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/reach/translate.h"

struct in6_addr vmrpc_own6(const VmrpcReachConfig *config)
{
    /* "vmmnet" in ASCII, and guest4 */
    struct in6_addr own = { { { 0xfd, 0x76, 0x6d, 0x6d, 0x6e, 0x65, 0x74 } } };

    if (config->has_address6) {
        return config->address6;
    }
    memcpy(&own.s6_addr[12], &config->guest4, sizeof(config->guest4));
    return own;
}

int vmrpc_inet6_to_guest4(VmrpcReach *reach, const struct in6_addr *named,
                          struct in_addr *guest4)
{
    struct in6_addr own = vmrpc_own6(reach->config);

    if (IN6_IS_ADDR_V4MAPPED(named)) {
        memcpy(guest4, &named->s6_addr[12], sizeof(*guest4));
        return 0;
    }
    if (IN6_IS_ADDR_UNSPECIFIED(named)) {
        guest4->s_addr = INADDR_ANY;
        return 0;
    }
    if (IN6_ARE_ADDR_EQUAL(named, &own)) {
        *guest4 = reach->config->guest4;
        return 0;
    }
    return vmrpc_addrmap_lease(reach->map, named, 0, reach->now_ms(), guest4,
                               NULL) < 0 ? -ENOBUFS : 0;
}

/* The IPv6 address of @guest4, if it has one. */
static bool plain(const VmrpcReach *reach, struct in_addr guest4,
                  struct in6_addr *addr6)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);

    if (guest4.s_addr == INADDR_ANY) {
        *addr6 = in6addr_any;
        return true;
    }
    if (guest4.s_addr == reach->config->guest4.s_addr) {
        *addr6 = vmrpc_own6(reach->config);
        return true;
    }
    if (vmrpc_addrmap_contains(reach->map, guest4)) {
        return vmrpc_addrmap_lookup4(reach->map, guest4, addr6) == 0;
    }
    if (!prefix || !vmrpc_addr_nat64_eligible(reach, guest4)) {
        return false;
    }
    nat64_embed(prefix, guest4, addr6);
    return true;
}

struct in6_addr vmrpc_inet6_from_guest4(const VmrpcReach *reach,
                                        struct in_addr guest4, bool mapped)
{
    struct in6_addr addr6;

    if (mapped || !plain(reach, guest4, &addr6)) {
        addr6 = (struct in6_addr) { { { [10] = 0xff, [11] = 0xff } } };
        memcpy(&addr6.s6_addr[12], &guest4, sizeof(guest4));
    }
    return addr6;
}
