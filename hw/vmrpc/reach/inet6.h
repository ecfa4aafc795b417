/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: addresses of the guest's AF_INET6 sockets
 *
 * The rest of the server knows peers by IPv4 addresses.  Only this file knows
 * what an AF_INET6 socket calls them.
 */
#ifndef HW_VMRPC_REACH_INET6_H
#define HW_VMRPC_REACH_INET6_H

#include <netinet/in.h>
#include <stdbool.h>

#include "hw/vmrpc/reach/reach.h"

/**
 * vmrpc_own6: the guest's own IPv6 address, as it sees it
 *
 * That of the VM on the host; without one, a unique local address (RFC 4193)
 * that no packet ever has.
 */
struct in6_addr vmrpc_own6(const VmrpcReachConfig *config);

/**
 * vmrpc_inet6_to_guest4: the address by which the server knows another
 * @named: as an AF_INET6 socket names it
 * @guest4: written on success
 *
 * A peer without a virtual address gets one, for a second at least: longer if a
 * socket takes a reference.
 *
 * Returns: 0, or -ENOBUFS if the pool has no free address.
 */
int vmrpc_inet6_to_guest4(VmrpcReach *reach, const struct in6_addr *named,
                          struct in_addr *guest4);

/**
 * vmrpc_inet6_from_guest4: what an AF_INET6 socket calls an address
 * @guest4: as the server knows it
 * @mapped: as an IPv4-mapped address; else as an IPv6 address, if it has one
 */
struct in6_addr vmrpc_inet6_from_guest4(const VmrpcReach *reach,
                                        struct in_addr guest4, bool mapped);

#endif /* HW_VMRPC_REACH_INET6_H */
