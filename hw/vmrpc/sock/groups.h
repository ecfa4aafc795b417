/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: membership in multicast groups
 */
#ifndef HW_VMRPC_GROUPS_H
#define HW_VMRPC_GROUPS_H

#include <netinet/in.h>

#include "hw/vmrpc/sock/state.h"

/*
 * Groups of either family have the names that reach/inet6.h gives them.
 *
 * Options that join or leave.  Returns 1 if it was done, 0 for any other
 * option, or a negative errno.
 */
VMRPC_LOCKED int vmrpc_groups_option(VmrpcServer *srv, VmrpcSock *s, int level,
                                     int name, const void *value, uint32_t len);

/* Sets any other option of the guest's on the receivers where it is in force */
VMRPC_LOCKED void vmrpc_groups_setsockopt(VmrpcServer *srv, const VmrpcSock *s,
                                          int level, int name,
                                          const void *value, uint32_t len);

/*
 * May @s, which is about to get @port (network byte order; 0: the host will
 * choose), hear its groups there?  Returns 0 or a negative errno.
 */
int vmrpc_groups_check(VmrpcServer *srv, const VmrpcSock *s, in_port_t port);

/*
 * @s has got its port.  Returns 0 or a negative errno.
 * @asked: the port that was checked; 0: the host has chosen one, which is
 *         checked now, and @s is unbound again if it may not have it
 */
VMRPC_LOCKED int vmrpc_groups_bind(VmrpcServer *srv, VmrpcSock *s,
                                   in_port_t asked);

/*
 * Instead of vmrpc_host_bind(), if the guest binds @s to a group; @port in
 * network byte order.  Returns 0 or a negative errno.
 */
VMRPC_LOCKED int vmrpc_groups_bind_socket(VmrpcServer *srv, VmrpcSock *s,
                                          struct in_addr group4,
                                          in_port_t port);

/* Room for vmrpc_groups_source(). */
#define VMRPC_GROUPS_SOURCE CMSG_SPACE(sizeof(struct in6_pktinfo))

/*
 * Ancillary data that a socket bound to a group needs to send from the VM's
 * address.  Returns its length, 0 if @s needs none.
 */
size_t vmrpc_groups_source(const VmrpcServer *srv, const VmrpcSock *s,
                           void *control);

/*
 * Before a socket sends or connects to @dest, an address of the host's: if that
 * is a group, datagrams must leave by the interface of the VM's address.
 * Returns 0 or a negative errno.
 */
VMRPC_LOCKED int
vmrpc_groups_prepare_send(VmrpcServer *srv, VmrpcSock *s,
                          const struct sockaddr_storage *dest);

/* @s, which is arriving, shall be bound to the group @group4, or to none (0). */
VMRPC_LOCKED void vmrpc_groups_set_bound(VmrpcServer *srv, VmrpcSock *s,
                                         struct in_addr group4);

/* Memberships, and the receiver of each; -1 if @s is bound to a group. */
unsigned vmrpc_groups_num(const VmrpcSock *s);
int vmrpc_groups_fd(const VmrpcSock *s, unsigned i);
/* Is it a group of IPv4? */
bool vmrpc_groups_is_mapped(const VmrpcSock *s, unsigned i);
VmrpcBuffers *vmrpc_groups_buffers(const VmrpcSock *s, unsigned i);

/* The readiness of the receivers: VMRPC_IN, or 0. */
uint32_t vmrpc_groups_ready(const VmrpcSock *s);

/* Leaves all groups. */
VMRPC_LOCKED void vmrpc_groups_forget(VmrpcServer *srv, VmrpcSock *s);

/* Memberships as options, at most VMRPC_GROUPS_MAX; returns how many. */
VMRPC_LOCKED unsigned vmrpc_groups_save(const VmrpcServer *srv,
                                        const VmrpcSock *s,
                                        VmrpcSavedOption *option);

/*
 * Makes @s, which is arriving, a member.  Ignores an option that
 * vmrpc_groups_save() cannot have made.
 */
VMRPC_LOCKED void vmrpc_groups_restore(VmrpcServer *srv, VmrpcSock *s,
                                       const VmrpcSavedOption *option);

/*
 * Could @s, which is arriving, join its groups?  Returns 0, also if there are
 * none, -EADDRNOTAVAIL if the VM's address is not here, -ENODEV if there is no
 * interface for it.
 */
VMRPC_LOCKED int vmrpc_groups_ready_to_join(VmrpcServer *srv,
                                            const VmrpcSock *s);

/*
 * Takes the memberships of @s, which is arriving, so that it can be bound; puts
 * them back; or joins, now that @s is a host socket: what cannot be joined is
 * counted as lost.  @groups is NULL if there are none.
 */
VMRPC_LOCKED GArray *vmrpc_groups_set_aside(VmrpcServer *srv, VmrpcSock *s);
VMRPC_LOCKED void vmrpc_groups_put_back(VmrpcServer *srv, VmrpcSock *s,
                                        GArray *groups);
VMRPC_LOCKED void vmrpc_groups_join_again(VmrpcServer *srv, VmrpcSock *s,
                                          GArray *groups);

/*
 * The host's routing has changed: soon makes the memberships anew whose
 * interface is not that of the VM's address any more.  VmrpcTimerOps do it.
 */
VMRPC_LOCKED void vmrpc_groups_routing_changed(VmrpcServer *srv);
VMRPC_LOCKED int vmrpc_groups_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_groups_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_GROUPS_H */
