/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: host sockets: make, name and close them
 */
#ifndef HW_VMRPC_HOSTSOCK_H
#define HW_VMRPC_HOSTSOCK_H

#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/wire/sockopt.h"

/*
 * A host socket as the guest asked for it; returns it or a negative errno.
 * @proto: the guest's, IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 */
int vmrpc_host_socket(VmrpcServer *srv, int type, int proto);

/* The families and the type of @s, for its options. */
VmrpcSockKind vmrpc_sock_kind(const VmrpcServer *srv, const VmrpcSock *s);

/*
 * Sets one option of the guest's on @fd, a host socket of that kind, or only
 * checks it if @fd is -1.  Returns 0 or a negative errno.
 */
int vmrpc_fd_setsockopt(VmrpcSockKind kind, int fd, int level, int name,
                        const void *value, uint32_t len);

/*
 * The errno of a call for @s, from a negative one of the host: that of ICMP
 * where the guest sees IPv4 (vmrpc_peer_error()).  @dest: may be NULL.
 */
int vmrpc_sock_error(const VmrpcServer *srv, const VmrpcSock *s,
                     const struct sockaddr_storage *dest, int error);

/*
 * The guest's view of the local address of @s: its own, or INADDR_ANY.
 * Returns 0 or a negative errno.
 */
int vmrpc_local_address(const VmrpcServer *srv, const VmrpcSock *s,
                        struct sockaddr_in *sin);

/*
 * Binds s->fd to the VM's address, and to no port if it is a stream.  Changes
 * no field of @s.  Returns 1, 0 if the VM has no address, or a negative errno.
 */
int vmrpc_host_bind_address(const VmrpcServer *srv, const VmrpcSock *s);

/* Closes the host socket of @s, if there is one, and releases its buffers. */
VMRPC_LOCKED void vmrpc_sock_close_host(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_HOSTSOCK_H */
