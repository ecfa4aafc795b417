/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: addresses of the guest and of the host
 *
 * Theory of operation
 * ===================
 *
 * Only this file, the address map and the DNS proxy know both families (paper,
 * section 4.3).  Towards the host a guest's IPv4 address becomes
 *
 *   INADDR_ANY, guest4    the VM's own address6
 *   in pool4              the peer in the address map; EHOSTUNREACH if there
 *                         is none
 *   a multicast group     the IPv6 group that stands for it (multicast.h)
 *   any other             the address inside the NAT64 prefix (RFC 6052);
 *                         ENETUNREACH at once if there is no prefix
 *
 * and back.  A peer that the map does not know gets a new virtual address.
 * With translate=off the host's side is IPv4, and only INADDR_ANY changes,
 * into guest4.
 *
 * The guest sees an address inside the NAT64 prefix as the IPv4 address in it
 * only if that would be translated back to the same IPv6 address.  Otherwise
 * anybody who can send from the prefix could appear in the guest as its
 * loopback address, its resolver or another peer's virtual address.  Both
 * directions use the one prefix that is in use.
 */
#include "hw/vmrpc/reach/translate.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/wire/icmp-error.h"
#include "hw/vmrpc/wire/multicast.h"

static int put_in6(struct sockaddr_storage *ss, const struct in6_addr *addr,
                   in_port_t port)
{
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

    memset(sin6, 0, sizeof(*sin6));
    sin6->sin6_family = AF_INET6;
    sin6->sin6_addr = *addr;
    sin6->sin6_port = port;
    return sizeof(*sin6);
}

static int put_in4(struct sockaddr_storage *ss, struct in_addr addr,
                   in_port_t port)
{
    struct sockaddr_in *sin = (struct sockaddr_in *)ss;

    memset(sin, 0, sizeof(*sin));
    sin->sin_family = AF_INET;
    sin->sin_addr = addr;
    sin->sin_port = port;
    return sizeof(*sin);
}

int vmrpc_own_address(const VmrpcReach *reach, in_port_t port,
                      struct sockaddr_storage *host)
{
    if (!reach->config->translate) {
        return put_in4(host, reach->config->guest4, port);
    }
    if (!reach->config->has_address6) {
        return -EADDRNOTAVAIL;
    }
    return put_in6(host, &reach->config->address6, port);
}

const struct sockaddr *vmrpc_own_source(const VmrpcReach *reach,
                                        struct sockaddr_storage *own)
{
    return vmrpc_own_address(reach, 0, own) < 0 ? NULL
                                                : (struct sockaddr *)own;
}

static bool is_own(const VmrpcReach *reach, struct in_addr addr)
{
    return addr.s_addr == INADDR_ANY ||
           addr.s_addr == reach->config->guest4.s_addr;
}

bool vmrpc_addr_is_group(struct in_addr addr4)
{
    uint32_t host = ntohl(addr4.s_addr);

    return IN_MULTICAST(host) || host == INADDR_BROADCAST;
}

bool vmrpc_addr_is_multicast(const VmrpcReach *reach, struct in_addr addr4)
{
    struct in6_addr addr6;

    return IN_MULTICAST(ntohl(addr4.s_addr)) ||
           (reach->map &&
            vmrpc_addrmap_lookup4(reach->map, addr4, &addr6) == 0 &&
            IN6_IS_ADDR_MULTICAST(&addr6));
}

static bool is_resolver4(const VmrpcReach *reach, struct in_addr addr)
{
    return reach->config->resolver4.s_addr &&
           addr.s_addr == reach->config->resolver4.s_addr;
}

bool vmrpc_addr_nat64_eligible(const VmrpcReach *reach, struct in_addr addr4)
{
    uint8_t net = ntohl(addr4.s_addr) >> 24;

    return net != 0 && net != IN_LOOPBACKNET && !vmrpc_addr_is_group(addr4) &&
           !is_own(reach, addr4) && !is_resolver4(reach, addr4) &&
           !vmrpc_addrmap_contains(reach->map, addr4);
}

bool vmrpc_nat64_peer(const VmrpcReach *reach, const struct in6_addr *addr6,
                      struct in_addr *addr4)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in6_addr back;

    if (!prefix || !nat64_extract(prefix, addr6, addr4) ||
        !vmrpc_addr_nat64_eligible(reach, *addr4)) {
        return false;
    }
    nat64_embed(prefix, *addr4, &back);
    return IN6_ARE_ADDR_EQUAL(&back, addr6);
}

/* As vmrpc_addr_to_host(), but counts nothing: @why says what to count. */
static int to_host(const VmrpcReach *reach, struct in_addr guest,
                   in_port_t port, struct sockaddr_storage *host,
                   VmrpcUnreachable *why)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in6_addr addr6;

    *why = VMRPC_UNREACHABLE_OTHER;
    if (is_own(reach, guest)) {
        return vmrpc_own_address(reach, port, host);
    }
    if (!reach->config->translate) {
        return put_in4(host, guest, port);
    }
    if (is_resolver4(reach, guest)) {
        /* Only the DNS proxy is there, at port 53, and no host socket. */
        return -ECONNREFUSED;
    }
    if (vmrpc_addr_is_group(guest)) {
        return vmrpc_group_to6(guest, &addr6) ? put_in6(host, &addr6, port)
                                              : -ENETUNREACH;
    }
    if (vmrpc_addrmap_contains(reach->map, guest)) {
        if (vmrpc_addrmap_lookup4(reach->map, guest, &addr6) < 0) {
            *why = VMRPC_UNREACHABLE_NO_MAPPING;
            return -EHOSTUNREACH;
        }
        return put_in6(host, &addr6, port);
    }
    if (!prefix) {
        *why = VMRPC_UNREACHABLE_NO_NAT64;
        return -ENETUNREACH;
    }
    nat64_embed(prefix, guest, &addr6);
    return put_in6(host, &addr6, port);
}

int vmrpc_addr_to_host(VmrpcReach *reach, struct in_addr guest, in_port_t port,
                       struct sockaddr_storage *host)
{
    VmrpcUnreachable why;
    int ret = to_host(reach, guest, port, host, &why);

    vmrpc_count_unreachable(reach, guest, why);
    return ret;
}

bool vmrpc_addr_named(const VmrpcReach *reach, struct in_addr guest,
                      struct in6_addr *addr6)
{
    struct sockaddr_storage host;
    VmrpcUnreachable why;

    if (guest.s_addr == INADDR_ANY) {
        *addr6 = in6addr_any;
        return true;
    }
    if (to_host(reach, guest, 0, &host, &why) < 0 ||
        host.ss_family != AF_INET6) {
        return false;
    }
    *addr6 = ((struct sockaddr_in6 *)&host)->sin6_addr;
    return true;
}

/* The IPv4 address of a peer, other than INADDR_ANY; 0 or -ENOSPC. */
static int peer_to_guest(const VmrpcReach *reach, const struct in6_addr *addr6,
                         struct in_addr *addr4)
{
    if (reach->config->has_address6 &&
        IN6_ARE_ADDR_EQUAL(addr6, &reach->config->address6)) {
        *addr4 = reach->config->guest4;
        return 0;
    }
    if (IN6_IS_ADDR_MULTICAST(addr6)) {
        return vmrpc_group_to4(addr6, addr4) ? 0 : -ENOSPC;
    }
    if (vmrpc_nat64_peer(reach, addr6, addr4)) {
        return 0;
    }
    /*
     * No lease: a flood of peers takes addresses from one another, but not
     * from a name that was looked up, even long after its TTL.  A connected
     * socket holds a reference to its peer's entry.
     */
    return vmrpc_addrmap_lease(reach->map, addr6, 0, reach->now_ms(), addr4,
                               NULL) < 0 ? -ENOSPC : 0;
}

int vmrpc_addr_to_guest(const VmrpcReach *reach,
                        const struct sockaddr_storage *host,
                        struct sockaddr_in *guest)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;
    struct in_addr addr4;
    int ret;

    memset(guest, 0, sizeof(*guest));
    if (host->ss_family == AF_INET) {
        memcpy(guest, host, sizeof(*guest));
        return 0;
    }
    if (host->ss_family != AF_INET6) {
        return 0;
    }
    guest->sin_family = AF_INET;
    guest->sin_port = sin6->sin6_port;
    if (IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr)) {
        return 0;
    }
    ret = peer_to_guest(reach, &sin6->sin6_addr, &addr4);
    if (ret == 0) {
        guest->sin_addr = addr4;
    }
    return ret;
}

int vmrpc_peer_error(const VmrpcReach *reach,
                     const struct sockaddr_storage *dest, int proto, int error)
{
    struct sockaddr_storage own;

    if (error != -EACCES || !reach->config->translate) {
        return error;
    }
    /*
     * An ICMPv6 message leaves EACCES on the socket where ICMP would leave
     * another errno; a route of type prohibit gives EACCES in both families.
     * The kernel looks up the route before it reports a pending error, so a
     * route that is prohibited now is the reason.
     */
    if (dest && vmrpc_route_is_prohibited(reach->route,
                                          (const struct sockaddr *)dest,
                                          vmrpc_own_source(reach, &own),
                                          vmrpc_host_proto(dest->ss_family,
                                                           proto))) {
        return error;
    }
    return -vmrpc_icmp_pending(-error);
}
