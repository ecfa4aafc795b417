/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: a destination before the policy
 */
#ifndef HW_VMRPC_JUDGE_H
#define HW_VMRPC_JUDGE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "hw/vmrpc/reach/reach.h"

/**
 * vmrpc_dest_to_host: translate a destination, if the policy allows it
 * @guest: the destination that the guest named
 * @proto: IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 * @host: the same on the host's side
 *
 * Counts and traces refusals.
 *
 * Returns: the length of *@host, or a negative errno for the guest's call.
 */
int vmrpc_dest_to_host(VmrpcReach *reach, const struct sockaddr_in *guest,
                       int proto, struct sockaddr_storage *host);

/**
 * vmrpc_dest_to_connect: the same for a stream
 * @says: what the deciding rule demands of it; written if the policy allows it
 */
int vmrpc_dest_to_connect(VmrpcReach *reach, const struct sockaddr_in *guest,
                          int proto, struct sockaddr_storage *host,
                          VmrpcSays *says);

/**
 * vmrpc_dest_is_allowed: does the policy allow this destination?
 * @host: the destination on the host's side
 * @proto: as for vmrpc_dest_to_host()
 * @says: as for vmrpc_dest_to_connect(); may be NULL
 *
 * Counts and traces nothing.
 */
bool vmrpc_dest_is_allowed(VmrpcReach *reach,
                           const struct sockaddr_storage *host, int proto,
                           VmrpcSays *says);

/**
 * vmrpc_dest_says: may the guest say this name to a destination?
 * @host: the destination on the host's side
 * @proto: as for vmrpc_dest_to_host()
 * @name: as text
 * @line: of the policy file, that decides; 0: none
 *
 * The rules are read as if the destination had this one name.
 *
 * Returns: 0; -ENOENT if the guest has not asked for the name, or was led
 * elsewhere; -EACCES if the rules refuse it.
 */
int vmrpc_dest_says(VmrpcReach *reach, const struct sockaddr_storage *host,
                    int proto, const char *name, unsigned *line);

/**
 * vmrpc_group_check: may the guest receive what is sent to a group?
 * @group4: a multicast group
 * @port: of the receiving socket, network byte order; 0: the socket has no
 *        port yet; the group is refused if the policy refuses every port
 *
 * Counts and traces refusals.
 *
 * Returns: 0 or a negative errno for the guest's call.
 */
int vmrpc_group_check(VmrpcReach *reach, struct in_addr group4, in_port_t port);

/**
 * vmrpc_addr_is_private: may a name not lead to this address?
 * @addr6: an address of a DNS answer; of an A record as ::ffff:192.0.2.1
 * @name: the name that the guest asked for, as text
 * @line: the line of the "private-address" statement; written if it is private
 */
bool vmrpc_addr_is_private(const VmrpcReach *reach,
                           const struct in6_addr *addr6, const char *name,
                           unsigned *line);

#endif /* HW_VMRPC_JUDGE_H */
