/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NAT64 prefixes that the policy knows
 *
 * A network can have several prefixes, and a prefix of yesterday may still be
 * translated.  Addresses are made with one prefix; the policy must know all of
 * them to see the IPv4 address behind an IPv6 address.
 *
 * The list has at most VMRPC_NAT64_MAX prefixes; when it is full, the one that
 * was found longest ago leaves.  A prefix that the network no longer announces
 * leaves after VMRPC_NAT64_KEPT_MS: otherwise a wrong DNS answer could change
 * the verdict on its addresses for ever.  Times are as in addrmap.h.
 */
#ifndef HW_VMRPC_NAT64_LIST_H
#define HW_VMRPC_NAT64_LIST_H

#include <stdbool.h>

#include "net/packet/nat64.h"

#define VMRPC_NAT64_MAX 8
#define VMRPC_NAT64_KEPT_MS (7 * 24 * 3600 * 1000LL)

/* All zero: empty. */
typedef struct VmrpcNat64List {
    Nat64Prefix prefix[VMRPC_NAT64_MAX];    /* the latest first; all differ */
    int64_t seen_ms[VMRPC_NAT64_MAX];       /* when it was announced last */
    unsigned num;
    unsigned current;           /* the first ones: the network has them now */
} VmrpcNat64List;

/**
 * vmrpc_nat64_in_use: the prefix that addresses are made with
 *
 * Returns: valid until the list changes; NULL if the network has none.
 */
const Nat64Prefix *vmrpc_nat64_in_use(const VmrpcNat64List *list);

/**
 * vmrpc_nat64_found: the network has these prefixes, and no others
 * @prefixes: not of @list; all different; the first one will be in use
 * @num: at most VMRPC_NAT64_MAX; 0: the network has no NAT64
 */
void vmrpc_nat64_found(VmrpcNat64List *list, const Nat64Prefix *prefixes,
                       unsigned num, int64_t now_ms);

/**
 * vmrpc_nat64_found_unused: the network has these prefixes, for the policy only
 * @prefixes: as for vmrpc_nat64_found()
 * @num: at most VMRPC_NAT64_MAX, less the current ones
 *
 * The prefix in use, if there is one, stays.
 */
void vmrpc_nat64_found_unused(VmrpcNat64List *list,
                              const Nat64Prefix *prefixes, unsigned num,
                              int64_t now_ms);

/**
 * vmrpc_nat64_add_old: add a prefix of another network, behind all others
 * @seen_ms: when that network announced it last
 *
 * Does nothing if @prefix is in the list, or the list is full.
 */
void vmrpc_nat64_add_old(VmrpcNat64List *list, const Nat64Prefix *prefix,
                         int64_t seen_ms);

/**
 * vmrpc_nat64_adopt: put the prefixes of another list before those of @list
 * @source: its current prefixes become those of @list; the prefixes of @list
 *          itself are no longer current
 */
void vmrpc_nat64_adopt(VmrpcNat64List *list, const VmrpcNat64List *source);

/**
 * vmrpc_nat64_forget: remove prefixes that are neither current nor younger
 * than VMRPC_NAT64_KEPT_MS
 */
void vmrpc_nat64_forget(VmrpcNat64List *list, int64_t now_ms);

#endif /* HW_VMRPC_NAT64_LIST_H */
