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

/* By what a destination was allowed. */
typedef struct VmrpcPass {
    VmrpcSays says;             /* what it demands of a stream's first octets */
    VmrpcTerms *terms;          /* a reference, the caller's; NULL: none */
    /* With terms->via: the name that matched, as DNS text; "" without one. */
    char name[VMRPC_VIA_NAME_MAX + 1];
} VmrpcPass;

/**
 * vmrpc_dest_to_host: translate a destination, if the policy allows it
 * @guest: the destination that the guest named
 * @proto: IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 * @host: the same on the host's side
 * @pass: written if the result is not an error
 *
 * Counts and traces refusals.
 *
 * Returns: the length of *@host, or a negative errno for the guest's call.
 */
int vmrpc_dest_to_host(VmrpcReach *reach, const struct sockaddr_in *guest,
                       int proto, struct sockaddr_storage *host,
                       VmrpcPass *pass);

/**
 * vmrpc_dest_is_allowed: does the policy allow this destination?
 * @host: the destination on the host's side
 * @proto: as for vmrpc_dest_to_host()
 * @terms: by these, and no others; NULL: without any
 * @says: as in VmrpcPass; may be NULL
 *
 * Counts and traces nothing.
 */
bool vmrpc_dest_is_allowed(VmrpcReach *reach,
                           const struct sockaddr_storage *host, int proto,
                           const VmrpcTerms *terms, VmrpcSays *says);

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
 * elsewhere by it and by the names that the answers for it name (targets.h);
 * -EACCES if the rules refuse it.
 */
int vmrpc_dest_says(VmrpcReach *reach, const struct sockaddr_storage *host,
                    int proto, const char *name, unsigned *line);

/**
 * vmrpc_dest_terms: by which terms does the policy allow this destination?
 * @terms: a reference, the caller's; NULL: none
 * @says: as in VmrpcPass
 *
 * Counts and traces nothing.
 *
 * Returns: 0, or a negative errno and *@terms and *@says are untouched.
 */
int vmrpc_dest_terms(VmrpcReach *reach, const struct sockaddr_storage *host,
                     int proto, VmrpcTerms **terms, VmrpcSays *says);

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
