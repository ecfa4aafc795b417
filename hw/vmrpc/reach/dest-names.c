/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: the names by which the guest got to know a destination
 */
#include "hw/vmrpc/reach/dest-names.h"

size_t vmrpc_dest_names_behind(const VmrpcReach *reach,
                               const struct in6_addr *addr6,
                               const struct in_addr *addr4,
                               VmrpcNameFound *found, size_t max)
{
    struct in6_addr mapped;
    size_t num;

    if (!reach->names) {
        return 0;
    }
    num = vmrpc_names_lookup(reach->names, addr6, found, max);
    if (addr4) {
        mapped = vmrpc_names_key4(*addr4);
        num += vmrpc_names_lookup(reach->names, &mapped, found + num,
                                  max - num);
    }
    return num;
}

size_t vmrpc_dest_names(const VmrpcReach *reach, const struct in6_addr *addr6,
                        VmrpcNameFound *found, size_t max)
{
    const Nat64Prefix *prefix = vmrpc_nat64_in_use(&reach->nat64);
    struct in_addr addr4;
    bool translated = prefix && nat64_extract(prefix, addr6, &addr4);

    return vmrpc_dest_names_behind(reach, addr6, translated ? &addr4 : NULL,
                                   found, max);
}
