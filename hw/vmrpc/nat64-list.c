/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Behind which NAT64 prefixes may a translator be? */
#include "hw/vmrpc/nat64-list.h"

#include <string.h>

/* Where @prefix is; list->num if it is not. */
static unsigned find(const VmrpcNat64List *list, const Nat64Prefix *prefix)
{
    unsigned i;

    for (i = 0; i < list->num; i++) {
        if (nat64_prefix_equal(&list->prefix[i], prefix)) {
            break;
        }
    }
    return i;
}

static void put_first(VmrpcNat64List *list, const Nat64Prefix *prefix)
{
    unsigned place = find(list, prefix);

    if (place == list->num) {
        if (list->num < VMRPC_NAT64_MAX) {
            list->num++;
        } else {
            place--;
        }
    }
    memmove(&list->prefix[1], &list->prefix[0],
            place * sizeof(list->prefix[0]));
    list->prefix[0] = *prefix;
}

const Nat64Prefix *vmrpc_nat64_in_use(const VmrpcNat64List *list)
{
    return list->told ? &list->prefix[0] : NULL;
}

void vmrpc_nat64_found(VmrpcNat64List *list, const Nat64Prefix *prefixes,
                       unsigned num)
{
    g_assert(num <= VMRPC_NAT64_MAX);
    for (unsigned i = num; i-- > 0;) {
        put_first(list, &prefixes[i]);
    }
    list->told = num;
}

void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix)
{
    if (find(list, prefix) == list->num && list->num < VMRPC_NAT64_MAX) {
        list->prefix[list->num++] = *prefix;
    }
}
