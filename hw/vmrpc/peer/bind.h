/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the port, the options and the peer of a host socket
 */
#ifndef HW_VMRPC_BIND_H
#define HW_VMRPC_BIND_H

#include "hw/vmrpc/sock/state.h"

/**
 * vmrpc_host_open: make a socket whose backing is a host socket
 * @fd: the host socket; closed on failure
 * @buffers: what was granted to it; released on failure
 * @s: the socket, on success
 *
 * Returns: 0 or a negative errno, as vmrpc_sock_add().
 */
VMRPC_LOCKED int vmrpc_host_open(VmrpcServer *srv, uint32_t handle,
                                 uint32_t gen, int type, int fd,
                                 VmrpcBuffers *buffers, VmrpcSock **s);

/*
 * Binds @s to the VM's own address and @port (network byte order).
 * Returns 0 or a negative errno.
 */
VMRPC_LOCKED int vmrpc_host_bind(VmrpcServer *srv, VmrpcSock *s,
                                 in_port_t port);

/* Listens on @s, which is bound.  Returns 0 or a negative errno. */
VMRPC_LOCKED int vmrpc_host_listen(VmrpcServer *srv, VmrpcSock *s,
                                   int backlog);

/*
 * Gives @s the VM's address before the kernel chooses another, unless it is
 * bound or the VM has none.  Returns 0 or a negative errno.
 */
VMRPC_LOCKED int vmrpc_host_bind_source(VmrpcServer *srv, VmrpcSock *s);

/*
 * Binds @s to @port (network byte order) again.  A socket that loses its peer,
 * or stops listening, loses its port in Linux unless bind() named the port; the
 * guest's socket keeps it.  Returns 0 or a negative errno.
 */
VMRPC_LOCKED int vmrpc_host_restore_port(VmrpcServer *srv, VmrpcSock *s,
                                         in_port_t port);

/*
 * The guest's own address as peer: the peer is a program inside the guest.  The
 * datagram socket @s, which is bound, keeps the datagrams that are queued and
 * takes nothing more, as only it can send to itself.  Returns 0 or a negative
 * errno.
 */
VMRPC_LOCKED int vmrpc_host_connect_self(VmrpcServer *srv, VmrpcSock *s);

/*
 * Ends the connection of @s: a stream by a reset, and a datagram socket has no
 * peer then.  The guest gets @error, a positive errno; 0: what the host makes of
 * that, which for a stream is ECONNRESET.
 */
VMRPC_LOCKED void vmrpc_host_abort(VmrpcServer *srv, VmrpcSock *s, int error);

/*
 * The peer of @s is the resolver, to which a host socket cannot connect; so the
 * host socket would receive from every peer.  A filter drops all that arrives;
 * datagrams that are queued stay.  Where the filter cannot be set, RECVMSG
 * drops both.
 */
void vmrpc_host_filter_all(VmrpcSock *s);

/*
 * Sets one option of the guest's on the host socket of @s and on its
 * receivers.  Returns 0 or a negative errno.
 */
VMRPC_LOCKED int vmrpc_host_setsockopt(VmrpcServer *srv, VmrpcSock *s,
                                       int level, int name, const void *value,
                                       uint32_t len);

/* Sets on @to all options that the guest has set on @s. */
VMRPC_LOCKED void vmrpc_host_copy_options(VmrpcServer *srv, const VmrpcSock *s,
                                          VmrpcSock *to);

/*
 * @s, of AF_INET6, has to do with IPv4-mapped peers from now on, or with
 * others.  Sets the options that are in force with these.
 */
VMRPC_LOCKED void vmrpc_host_name_peers(VmrpcServer *srv, VmrpcSock *s,
                                        bool mapped);

/*
 * Another NAT64 prefix is in use: datagram sockets with a peer behind the NAT64
 * send there from now on.  Streams keep their peer, and end with it.
 */
VMRPC_LOCKED void vmrpc_nat64_moved(VmrpcServer *srv);

/*
 * Has a socket of the VM's of the other family the port of @s?  @listens: and
 * listens there.
 */
VMRPC_LOCKED bool vmrpc_host_is_second(const VmrpcServer *srv,
                                       const VmrpcSock *s, in_port_t port,
                                       bool listens);

#endif /* HW_VMRPC_BIND_H */
