/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Behind which NAT64 prefixes may a translator be?
 *
 * A network can have several, and one that it had yesterday may translate
 * still.  Addresses are made with one of them; who judges where a packet goes
 * must know them all.  They are few: VMRPC_NAT64_MAX are kept, and the one
 * that was found longest ago is the first to be forgotten.  After a week all
 * are that the network does not tell of any more: what a wrong answer named
 * would be judged as IPv4 for good.  Times are as in addrmap.h.
 */
#ifndef HW_VMRPC_NAT64_LIST_H
#define HW_VMRPC_NAT64_LIST_H

#include <stdbool.h>

#include "net/packet/nat64.h"

#define VMRPC_NAT64_MAX 8
#define VMRPC_NAT64_KEPT_MS (7 * 24 * 3600 * 1000LL)

/* All zero: none is known. */
typedef struct VmrpcNat64List {
    Nat64Prefix prefix[VMRPC_NAT64_MAX];    /* the latest first; all differ */
    int64_t told_ms[VMRPC_NAT64_MAX];       /* when it was told of last */
    unsigned num;
    unsigned told;              /* of these, that the network has now */
} VmrpcNat64List;

/**
 * vmrpc_nat64_in_use: the prefix that addresses are to be made with
 *
 * Returns: valid until the list changes; NULL if the network has none.
 */
const Nat64Prefix *vmrpc_nat64_in_use(const VmrpcNat64List *list);

/**
 * vmrpc_nat64_found: what the network has now, and nothing else any more
 * @prefixes: not of @list; all different; the first is the one to be used
 * @num: at most VMRPC_NAT64_MAX; 0 if it has none
 */
void vmrpc_nat64_found(VmrpcNat64List *list, const Nat64Prefix *prefixes,
                       unsigned num, int64_t now_ms);

/**
 * vmrpc_nat64_found_unused: what the network has, but is not to be used
 * @prefixes: as for vmrpc_nat64_found()
 * @num: less than VMRPC_NAT64_MAX if one is in use; else at most that
 *
 * Which one is in use, if any, stays.
 */
void vmrpc_nat64_found_unused(VmrpcNat64List *list,
                              const Nat64Prefix *prefixes, unsigned num,
                              int64_t now_ms);

/**
 * vmrpc_nat64_add_old: another network had this one
 * @told_ms: when it told of it last
 *
 * Nothing is forgotten for it: if there is no room it is not kept.
 */
void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix,
                         int64_t told_ms);

/** vmrpc_nat64_forget: what was told of last VMRPC_NAT64_KEPT_MS ago */
void vmrpc_nat64_forget(VmrpcNat64List *list, int64_t now_ms);

#endif /* HW_VMRPC_NAT64_LIST_H */
