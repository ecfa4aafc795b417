/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: the names by which the guest got to know a destination
 */
#ifndef HW_VMRPC_DEST_NAMES_H
#define HW_VMRPC_DEST_NAMES_H

#include <netinet/in.h>
#include <stddef.h>

#include "hw/vmrpc/reach/reach.h"

/**
 * vmrpc_dest_names_behind: names of an IPv6 address, and of an IPv4 address
 * @addr6: first come the names of this address, the latest first
 * @addr4: then those of this one, behind a NAT64; NULL: there is none
 * @found: room for @max names
 *
 * Returns: how many there are, at most @max; 0 without a resolver.
 */
size_t vmrpc_dest_names_behind(const VmrpcReach *reach,
                               const struct in6_addr *addr6,
                               const struct in_addr *addr4,
                               VmrpcNameFound *found, size_t max);

/**
 * vmrpc_dest_names: the same, with the IPv4 address that the NAT64 prefix in
 * use makes of @addr6
 */
size_t vmrpc_dest_names(const VmrpcReach *reach, const struct in6_addr *addr6,
                        VmrpcNameFound *found, size_t max);

#endif /* HW_VMRPC_DEST_NAMES_H */
