/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the guest's calls take of the policy file's limits
 *
 * Refusals are counted and traced.  @dest is the destination on the host's
 * side; NULL: none is known yet.
 */
#ifndef HW_VMRPC_BUDGET_H
#define HW_VMRPC_BUDGET_H

#include "hw/vmrpc/server/state.h"

/* May there be one more socket?  Returns 0 or -EMFILE. */
VMRPC_LOCKED int vmrpc_budget_socket(VmrpcServer *srv,
                                     const struct sockaddr_storage *dest);

/*
 * May @s, which the guest connects, have a connection?  Returns 0 or -ENOBUFS.
 */
VMRPC_LOCKED int vmrpc_budget_connection(VmrpcServer *srv, const VmrpcSock *s,
                                         const struct sockaddr_storage *dest);

/* Does connect() begin a connection, or ask for the state of one? */
bool vmrpc_budget_begins(const VmrpcSock *s);

/* May there be one more attempt at a connection?  Returns 0 or -ENOBUFS. */
int vmrpc_budget_attempt(VmrpcServer *srv, const struct sockaddr_storage *dest);

/* May the guest ask for this name?  Returns 0 or -EBUSY. */
int vmrpc_budget_query(VmrpcServer *srv, const char *name);

/*
 * Reserves the buffers of a host socket that will be made, or accepted from
 * @listener (NULL: made).  Returns 0 or -ENOBUFS, with nothing reserved.
 */
VMRPC_LOCKED int vmrpc_budget_reserve(VmrpcServer *srv,
                                      const VmrpcSock *listener,
                                      const struct sockaddr_storage *dest,
                                      VmrpcBuffers *buffers);

/* Sets the sizes that were reserved on @fd, a new host socket. */
VMRPC_LOCKED void vmrpc_budget_apply(VmrpcServer *srv, int fd,
                                     VmrpcBuffers *buffers);

/* The host socket was closed, or could not be made. */
void vmrpc_budget_release(VmrpcServer *srv, VmrpcBuffers *buffers);

/*
 * The guest sets SO_SNDBUF or SO_RCVBUF (@name).  Returns false if nothing
 * limits it.
 */
VMRPC_LOCKED bool vmrpc_budget_resize(VmrpcServer *srv, VmrpcSock *s, int name,
                                      int value);

/* Is there a "limit buffers"? */
VMRPC_LOCKED bool vmrpc_budget_is_limited(const VmrpcServer *srv);

/*
 * A limit comes into force: counts the buffers that @fd has, and fixes their
 * sizes, which Linux would let grow.  @fd is -1 if there is no socket.
 */
void vmrpc_budget_adopt(VmrpcServer *srv, int fd, VmrpcBuffers *buffers);

#endif /* HW_VMRPC_BUDGET_H */
