/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NAT64 prefixes that the policy knows */
#include "hw/vmrpc/reach/nat64-list.h"

#include <string.h>

/* The index of @prefix; list->num if it is not in the list. */
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

/* Puts @prefix, which is not among the first @place, right behind them. */
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
    memmove(&list->seen_ms[place + 1], &list->seen_ms[place],
            (old - place) * sizeof(list->seen_ms[0]));
    list->prefix[place] = *prefix;
    list->seen_ms[place] = now_ms;
}

const Nat64Prefix *vmrpc_nat64_in_use(const VmrpcNat64List *list)
{
    return list->current ? &list->prefix[0] : NULL;
}

void vmrpc_nat64_found(VmrpcNat64List *list, const Nat64Prefix *prefixes,
                       unsigned num, int64_t now_ms)
{
    g_assert(num <= VMRPC_NAT64_MAX);
    for (unsigned i = num; i-- > 0;) {
        put_behind(list, 0, &prefixes[i], now_ms);
    }
    list->current = num;
}

void vmrpc_nat64_found_unused(VmrpcNat64List *list,
                              const Nat64Prefix *prefixes, unsigned num,
                              int64_t now_ms)
{
    for (unsigned i = num; i-- > 0;) {
        if (find(list, &prefixes[i]) >= list->current) {
            put_behind(list, list->current, &prefixes[i], now_ms);
        }
    }
}

void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix,
                         int64_t seen_ms)
{
    if (find(list, prefix) == list->num && list->num < VMRPC_NAT64_MAX) {
        list->prefix[list->num] = *prefix;
        list->seen_ms[list->num++] = seen_ms;
    }
}

void vmrpc_nat64_adopt(VmrpcNat64List *list, const VmrpcNat64List *source)
{
    for (unsigned i = source->num; i-- > 0;) {
        put_behind(list, 0, &source->prefix[i], source->seen_ms[i]);
    }
    list->current = source->current;
}

void vmrpc_nat64_forget(VmrpcNat64List *list, int64_t now_ms)
{
    unsigned kept = list->current;

    for (unsigned i = kept; i < list->num; i++) {
        if (now_ms - list->seen_ms[i] < VMRPC_NAT64_KEPT_MS) {
            list->prefix[kept] = list->prefix[i];
            list->seen_ms[kept++] = list->seen_ms[i];
        }
    }
    list->num = kept;
}
