/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Behind which NAT64 prefixes may a translator be?
 *
 * A network can have several, and one that it had yesterday may translate
 * still.  Addresses are made with one of them; who judges where a packet goes
 * must know them all.  They are few: VMRPC_NAT64_MAX are kept, and the one
 * that was found longest ago is the first to be forgotten.
 */
#ifndef HW_VMRPC_NAT64_LIST_H
#define HW_VMRPC_NAT64_LIST_H

#include <stdbool.h>

#include "net/packet/nat64.h"

#define VMRPC_NAT64_MAX 8

/* All zero: none is known. */
typedef struct VmrpcNat64List {
    Nat64Prefix prefix[VMRPC_NAT64_MAX];    /* the latest first; all differ */
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
                       unsigned num);

/**
 * vmrpc_nat64_add_old: another network had this one
 *
 * Nothing is forgotten for it: if there is no room it is not kept.
 */
void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix);

#endif /* HW_VMRPC_NAT64_LIST_H */
