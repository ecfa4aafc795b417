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

static void put_first(VmrpcNat64List *list, const Nat64Prefix *prefix,
                      int64_t now_ms)
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
    memmove(&list->told_ms[1], &list->told_ms[0],
            place * sizeof(list->told_ms[0]));
    list->prefix[0] = *prefix;
    list->told_ms[0] = now_ms;
}

const Nat64Prefix *vmrpc_nat64_in_use(const VmrpcNat64List *list)
{
    return list->told ? &list->prefix[0] : NULL;
}

void vmrpc_nat64_found(VmrpcNat64List *list, const Nat64Prefix *prefixes,
                       unsigned num, int64_t now_ms)
{
    g_assert(num <= VMRPC_NAT64_MAX);
    for (unsigned i = num; i-- > 0;) {
        put_first(list, &prefixes[i], now_ms);
    }
    list->told = num;
}

void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix,
                         int64_t told_ms)
{
    if (find(list, prefix) == list->num && list->num < VMRPC_NAT64_MAX) {
        list->prefix[list->num] = *prefix;
        list->told_ms[list->num++] = told_ms;
    }
}

void vmrpc_nat64_forget(VmrpcNat64List *list, int64_t now_ms)
{
    unsigned kept = list->told;

    for (unsigned i = kept; i < list->num; i++) {
        if (now_ms - list->told_ms[i] < VMRPC_NAT64_KEPT_MS) {
            list->prefix[kept] = list->prefix[i];
            list->told_ms[kept++] = list->told_ms[i];
        }
    }
    list->num = kept;
}
