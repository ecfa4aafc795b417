/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: addresses of the guest and of the host
 */
#ifndef HW_VMRPC_TRANSLATE_H
#define HW_VMRPC_TRANSLATE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "hw/vmrpc/reach/reach.h"

/**
 * vmrpc_own_address: the VM's own address on the host
 * @port: network byte order
 *
 * Returns: the length of *@host, or -EADDRNOTAVAIL if the VM has none.
 */
int vmrpc_own_address(const VmrpcReach *reach, in_port_t port,
                      struct sockaddr_storage *host);

/**
 * vmrpc_own_source: the source address of the VM's packets
 * @own: room for it
 *
 * Returns: @own with port 0, or NULL if the VM has no address of its own.
 */
const struct sockaddr *vmrpc_own_source(const VmrpcReach *reach,
                                        struct sockaddr_storage *own);

/**
 * vmrpc_addr_to_host: the host's address for one that the guest uses
 * @port: network byte order
 *
 * Does not ask the policy; vmrpc_dest_to_host() does.  Counts addresses that
 * lead nowhere.
 *
 * Returns: the length of *@host; -EADDRNOTAVAIL if the guest means its own
 * address and the VM has none; -ECONNREFUSED for the resolver's address;
 * -EHOSTUNREACH for an address of the pool without a peer; -ENETUNREACH
 * without a NAT64 prefix, or for a group without an IPv6 counterpart.
 */
int vmrpc_addr_to_host(VmrpcReach *reach, struct in_addr guest, in_port_t port,
                       struct sockaddr_storage *host);

/**
 * vmrpc_addr_named: the IPv6 address for one that the guest only mentions
 *
 * For the payload of FTP and SIP.  INADDR_ANY becomes the unspecified
 * address.  Counts nothing.
 *
 * Returns: false if @guest has no IPv6 address.
 */
bool vmrpc_addr_named(const VmrpcReach *reach, struct in_addr guest,
                      struct in6_addr *addr6);

/**
 * vmrpc_addr_to_guest: the address that the guest sees for one of the host
 * @guest: sin_family is 0 if @host is neither AF_INET nor AF_INET6
 *
 * A peer without a virtual address gets one.
 *
 * Returns: 0, or -ENOSPC if the pool has no free address, or no IPv4 group
 * corresponds to the IPv6 group.
 */
int vmrpc_addr_to_guest(const VmrpcReach *reach,
                        const struct sockaddr_storage *host,
                        struct sockaddr_in *guest);

/** vmrpc_addr_is_group: a multicast or broadcast address */
bool vmrpc_addr_is_group(struct in_addr addr4);

/**
 * vmrpc_addr_is_multicast: does the address stand for a group of either family?
 *
 * An address of the pool may stand for one of IPv6 (inet6.h).
 */
bool vmrpc_addr_is_multicast(const VmrpcReach *reach, struct in_addr addr4);

/**
 * vmrpc_addr_nat64_eligible: may the NAT64 translate to this IPv4 address?
 *
 * Returns: false for addresses with another meaning in the guest: its own, the
 * resolver's, those of the pool, loopback, 0.0.0.0/8 and groups.
 */
bool vmrpc_addr_nat64_eligible(const VmrpcReach *reach, struct in_addr addr4);

/**
 * vmrpc_nat64_peer: the IPv4 address of a peer behind the NAT64
 *
 * Returns: false if @addr6 is not inside the prefix in use, or @addr4 would
 * not be translated back to @addr6.
 */
bool vmrpc_nat64_peer(const VmrpcReach *reach, const struct in6_addr *addr6,
                      struct in_addr *addr4);

/**
 * vmrpc_peer_error: the errno that an IPv4 socket would have
 * @dest: the destination, if the call itself has looked up a route; else NULL
 * @proto: IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 * @error: negative errno of a call of the host that reaches a peer
 *
 * Returns: a negative errno.
 */
int vmrpc_peer_error(const VmrpcReach *reach,
                     const struct sockaddr_storage *dest, int proto, int error);

#endif /* HW_VMRPC_TRANSLATE_H */
