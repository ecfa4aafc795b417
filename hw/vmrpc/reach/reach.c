/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: creates and frees the tables
 */
#include "hw/vmrpc/reach/reach.h"

/* Makes an empty map at *@map; NULL without translation. */
static bool make_map(const VmrpcReachConfig *config, VmrpcAddrMap **map,
                     GError **errp)
{
    VmrpcAddrReserved reserved[] = {
        { config->guest4, "guest4" },
        { config->resolver4, "resolver4" },
    };
    size_t num = config->resolver4.s_addr ? 2 : 1;

    *map = NULL;
    if (!config->translate) {
        return true;
    }
    *map = vmrpc_addrmap_new(config->pool4, config->pool4_prefix,
                             config->pool4_start, reserved, num, errp);
    return *map;
}

/* Makes an empty table at *@names; NULL if nobody will look up a name. */
static bool make_names(const VmrpcReachConfig *config, VmrpcNames **names,
                       GError **errp)
{
    *names = NULL;
    if (!config->translate || !config->resolver4.s_addr) {
        return true;
    }
    *names = vmrpc_names_new(VMRPC_NAMES_DEFAULT_SIZE, errp);
    return *names;
}

bool vmrpc_reach_init(VmrpcReach *reach, const VmrpcReachConfig *config,
                      int64_t (*now_ms)(void), GError **errp)
{
    reach->config = config;
    reach->now_ms = now_ms;
    if (!make_map(config, &reach->map, errp) ||
        !make_names(config, &reach->names, errp)) {
        return false;
    }
    reach->route = vmrpc_route_new(errp);
    return reach->route;
}

void vmrpc_reach_destroy(VmrpcReach *reach)
{
    vmrpc_route_free(reach->route);
    vmrpc_policy_free(reach->policy);
    vmrpc_names_free(reach->names);
    vmrpc_targets_free(reach->targets);
    vmrpc_addrmap_free(reach->map);
}

bool vmrpc_reach_nat64_found(VmrpcReach *reach, const Nat64Prefix *prefixes,
                             unsigned num, bool use)
{
    VmrpcNat64List *list = &reach->nat64;
    /* The first one was in use last, even if none is now. */
    const Nat64Prefix old = list->prefix[0];

    if (!use) {
        /* Leave room for the one that is configured. */
        vmrpc_nat64_found_unused(list, prefixes, MIN(num, VMRPC_NAT64_MAX - 1),
                                 reach->now_ms());
        return false;
    }
    num = MIN(num, VMRPC_NAT64_MAX);
    vmrpc_nat64_found(list, prefixes, num, reach->now_ms());
    return num && !nat64_prefix_equal(&old, &prefixes[0]);
}

bool vmrpc_reach_forget(VmrpcReach *reach, GError **errp)
{
    VmrpcAddrMap *map;
    VmrpcNames *names;

    if (!make_names(reach->config, &names, errp)) {
        return false;
    }
    if (!make_map(reach->config, &map, errp)) {
        vmrpc_names_free(names);
        return false;
    }
    vmrpc_addrmap_free(reach->map);
    vmrpc_names_free(reach->names);
    g_clear_pointer(&reach->targets, vmrpc_targets_free);
    reach->map = map;
    reach->names = names;
    return true;
}
