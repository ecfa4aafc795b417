/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Behind which NAT64 prefixes may a translator be? */
#include "hw/vmrpc/reach/nat64-list.h"

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

/* Puts @prefix, which is not among the first @place, behind these. */
static void put_behind(VmrpcNat64List *list, unsigned place,
                       const Nat64Prefix *prefix, int64_t now_ms)
{
    unsigned old = find(list, prefix);

    if (old == list->num) {
        if (list->num < VMRPC_NAT64_MAX) {
            list->num++;
        } else {
            old--;
        }
    }
    memmove(&list->prefix[place + 1], &list->prefix[place],
            (old - place) * sizeof(list->prefix[0]));
    memmove(&list->told_ms[place + 1], &list->told_ms[place],
            (old - place) * sizeof(list->told_ms[0]));
    list->prefix[place] = *prefix;
    list->told_ms[place] = now_ms;
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
        put_behind(list, 0, &prefixes[i], now_ms);
    }
    list->told = num;
}

void vmrpc_nat64_found_unused(VmrpcNat64List *list,
                              const Nat64Prefix *prefixes, unsigned num,
                              int64_t now_ms)
{
    for (unsigned i = num; i-- > 0;) {
        if (find(list, &prefixes[i]) >= list->told) {
            put_behind(list, list->told, &prefixes[i], now_ms);
        }
    }
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
