/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the guest's calls take of the policy file's limits
 *
 * Refusals are counted and traced.  @dest is the destination on the host's
 * side; NULL: none is known yet.
 */
#ifndef HW_VMRPC_BUDGET_H
#define HW_VMRPC_BUDGET_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* May there be one more socket?  Returns 0 or -EMFILE. */
VMRPC_LOCKED int vmrpc_budget_socket(VmrpcServer *srv,
                                     const struct sockaddr_storage *dest);

/*
 * May @s, which the guest connects, have a connection?  Returns 0 or -ENOBUFS.
 */
VMRPC_LOCKED int vmrpc_budget_connection(VmrpcServer *srv, const VmrpcSock *s,
                                         const struct sockaddr_storage *dest);

/* May there be one more attempt at a connection?  Returns 0 or -ENOBUFS. */
int vmrpc_budget_attempt(VmrpcServer *srv, const struct sockaddr_storage *dest);

/* May the guest ask for this name?  Returns 0 or -EBUSY. */
int vmrpc_budget_query(VmrpcServer *srv, const char *name);

/*
 * What @call may send of its data by a rule with @terms; takes it from the
 * rule's budget.  Cuts the data of a stream.  Returns 0, and *@taken octets are
 * to be settled by vmrpc_budget_sent(); or -EACCES.
 */
VMRPC_LOCKED int vmrpc_budget_send(VmrpcServer *srv, const VmrpcTerms *terms,
                                   const VmrpcSock *s, VmrpcCall *call,
                                   const struct sockaddr_storage *dest,
                                   uint64_t *taken);

/* The host has sent @n of @taken octets, or n is a negative errno. */
VMRPC_LOCKED void vmrpc_budget_sent(const VmrpcTerms *terms, uint64_t taken,
                                    ssize_t n);

/* May the guest ask for @name by a rule with @terms?  Returns 0 or -EACCES. */
VMRPC_LOCKED int vmrpc_budget_name(VmrpcServer *srv, const VmrpcTerms *terms,
                                   const char *name, unsigned line);

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
