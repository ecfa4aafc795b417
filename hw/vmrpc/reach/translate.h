/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: addresses of the guest and of the host
 */
#ifndef HW_VMRPC_TRANSLATE_H
#define HW_VMRPC_TRANSLATE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "hw/vmrpc/reach/candidate.h"
#include "hw/vmrpc/reach/reach.h"

/*
 * The host's address for a destination that the guest named, after the policy
 * allowed it.  @proto is IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP.
 * Returns the length of *@host, or a negative errno.
 */
int vmrpc_dest_to_host(VmrpcReach *reach, const struct sockaddr_in *guest,
                       int proto, struct sockaddr_storage *host);

/*
 * May the guest hear @group4 at @port (network byte order)?  If there is no
 * port yet, 0: at any?  Counts and traces what is refused.  Returns 0 or a
 * negative errno.
 */
int vmrpc_group_check(VmrpcReach *reach, struct in_addr group4, in_port_t port);

/*
 * Where a connection to @named can go, as all names by which the guest got to
 * know it have other addresses: @named itself, then those that the policy
 * allows.  Returns how many, at least 1.
 */
size_t vmrpc_dest_candidates(VmrpcReach *reach,
                             const struct sockaddr_in6 *named,
                             VmrpcCandidate *candidates, size_t max);

/*
 * Does the policy still allow it?  Time goes by until it is tried, and rules
 * and routes may change.
 */
bool vmrpc_candidate_is_allowed(VmrpcReach *reach,
                                const VmrpcCandidate *candidate);

/* Counts and traces what was refused. */
void vmrpc_refused(VmrpcReach *reach, const VmrpcRefusal *refusal,
                   uint64_t *counter);

/* The same for a limit; with the name by which the guest knows @dest. */
void vmrpc_refused_by_limit(VmrpcReach *reach,
                            const struct sockaddr_storage *dest,
                            const char *reason, uint64_t *counter);

/* The same without policy, for restoring a connected datagram socket. */
int vmrpc_addr_to_host(VmrpcReach *reach, struct in_addr guest,
                       in_port_t port, struct sockaddr_storage *host);

/*
 * What @guest is called on the host's side, where it is only spoken of:
 * INADDR_ANY is no address there, either, and nothing is counted.  False if
 * it has no name there.
 */
bool vmrpc_addr_named(VmrpcReach *reach, struct in_addr guest,
                      struct in6_addr *addr6);

/* Is this guest's address one behind the NAT64, and stands for nothing else? */
bool vmrpc_addr_nat64_eligible(const VmrpcReach *reach, struct in_addr addr4);

/* The IPv4 address of a peer behind the NAT64, if it leads back to it. */
bool vmrpc_nat64_peer(const VmrpcReach *reach, const struct in6_addr *addr6,
                      struct in_addr *addr4);

/*
 * Is this a "private-address" of the policy file to which @name may not lead?
 * Then @line is its line.  An IPv4 address as ::ffff:192.0.2.1.
 */
bool vmrpc_addr_is_private(const VmrpcReach *reach,
                           const struct in6_addr *addr6, const char *name,
                           unsigned *line);

/*
 * @error (negative errno) of a call that reaches a peer, as the guest's program
 * shall have it: an IPv4 socket's.
 * @dest: where the call itself looked for the way to; NULL: it did not
 * @proto: IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 */
int vmrpc_peer_error(VmrpcReach *reach, const struct sockaddr_storage *dest,
                     int proto, int error);

/* The VM's own address on the host; returns its length, or -EADDRNOTAVAIL. */
int vmrpc_own_address(const VmrpcReach *reach, in_port_t port,
                      struct sockaddr_storage *host);

/*
 * What the guest shall see for an address of the host side.  A peer without a
 * virtual address gets one.  Returns 0, or -ENOSPC if the pool is full.
 */
int vmrpc_addr_to_guest(VmrpcReach *reach, const struct sockaddr_storage *host,
                        struct sockaddr_in *guest);

#endif /* HW_VMRPC_TRANSLATE_H */
