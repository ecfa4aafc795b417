/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the table of sockets
 */
#ifndef HW_VMRPC_TABLE_H
#define HW_VMRPC_TABLE_H

#include "hw/vmrpc/sock/state.h"

/* The socket of that handle and generation; NULL: there is none. */
VMRPC_LOCKED VmrpcSock *vmrpc_sock_find(VmrpcServer *srv, uint32_t handle,
                                        uint32_t gen);

/**
 * vmrpc_sock_add: make a socket
 * @handle: any value
 * @type: SOCK_STREAM or SOCK_DGRAM
 * @ops: its backing; it has no host socket yet
 * @sp: the socket, on success
 *
 * Returns: 0; -EBADF if the handle is too large, -EEXIST if there is a socket,
 * -ENOMEM.
 */
VMRPC_LOCKED int vmrpc_sock_add(VmrpcServer *srv, uint32_t handle, uint32_t gen,
                                int type, const VmrpcBackingOps *ops,
                                VmrpcSock **sp);

/*
 * A call holds a reference to the socket that it is about, and so does the
 * table.  vmrpc_sock_unref() gives one back.  If it was the last one, @s is
 * freed, and the caller must close the descriptor that is returned; -1: none.
 */
void vmrpc_sock_ref(VmrpcSock *s);
int vmrpc_sock_unref(VmrpcSock *s);

/*
 * Takes @s out of the table, whose reference is given back.  Only
 * vmrpc_sock_close() (calls.h) calls this.  Returns as vmrpc_sock_unref().
 */
VMRPC_LOCKED int vmrpc_sock_remove(VmrpcServer *srv, VmrpcSock *s);

/* Another backing stands behind @s from now on. */
void vmrpc_sock_set_backing(const VmrpcServer *srv, VmrpcSock *s,
                            const VmrpcBackingOps *ops);

/* The host socket of @s has a port from now on, or none. */
void vmrpc_sock_has_port(const VmrpcServer *srv, VmrpcSock *s, bool has);

/* The guest has bound @s: it did not before. */
void vmrpc_sock_guest_binds(const VmrpcServer *srv, VmrpcSock *s);

/* Another socket has the port of @s: it is as before the guest's bind(). */
void vmrpc_sock_unbind(const VmrpcServer *srv, VmrpcSock *s);

/* As VmrpcBackingOps.admit(). */
VMRPC_LOCKED int vmrpc_sock_admit(VmrpcServer *srv, VmrpcSock *s, unsigned op);

/*
 * VmrpcBackingOps.admit() and .ready() of a stream that connects in a way which
 * its host socket does not show: a race, a proxy's handshake, a wait for the
 * audit log.  It admits what Linux does in SYN_SENT.
 */
VMRPC_LOCKED int vmrpc_sock_admit_connecting(VmrpcServer *srv, VmrpcSock *s,
                                             unsigned op);
uint32_t vmrpc_sock_ready_connecting(const VmrpcSock *s);

/* Is @s such a stream? */
static inline bool vmrpc_sock_is_connecting(const VmrpcSock *s)
{
    return s->ops->admit == vmrpc_sock_admit_connecting;
}

/*
 * If so, it ends without a connection.  Its host socket may still be connecting
 * to the address that the guest named.
 */
VMRPC_LOCKED void vmrpc_sock_stop_connecting(VmrpcServer *srv, VmrpcSock *s);

/*
 * Releases the lock, so that s->fd can be used without it, and takes it again.
 * The caller holds a reference.  vmrpc_sock_leave() returns false if the guest
 * has closed @s meanwhile; s->removed says so, too.
 */
void vmrpc_sock_enter(VmrpcServer *srv, VmrpcSock *s)
    VMMNET_RELEASE(vmrpc_server_lock);
bool vmrpc_sock_leave(VmrpcServer *srv, VmrpcSock *s)
    VMMNET_ACQUIRE(vmrpc_server_lock);

/*
 * Keeps the entry that an address has in the address map.  Returns whether it
 * has one, for vmrpc_address_release().
 */
VMRPC_LOCKED bool vmrpc_address_hold(VmrpcServer *srv, struct in_addr addr);
VMRPC_LOCKED void vmrpc_address_release(VmrpcServer *srv, struct in_addr addr,
                                        bool held);

/*
 * @s has another peer from now on, or none.
 * @peer: any but VMRPC_PEER_NONE
 * @addr: of VMRPC_PEER_REMOTE and VMRPC_PEER_RESOLVER, whose entry in the
 *        address map is referenced; else NULL
 */
VMRPC_LOCKED void vmrpc_sock_set_peer(VmrpcServer *srv, VmrpcSock *s,
                                      VmrpcPeer peer,
                                      const struct sockaddr_in *addr);
VMRPC_LOCKED void vmrpc_sock_clear_peer(VmrpcServer *srv, VmrpcSock *s);

/* @s is connected by a rule with these terms, which it takes; NULL: none. */
VMRPC_LOCKED void vmrpc_sock_take_terms(VmrpcSock *s, VmrpcTerms *terms);

#endif /* HW_VMRPC_TABLE_H */
