/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peer of a datagram socket, and its port on both sides
 */
#ifndef VMRPC_PEER_H
#define VMRPC_PEER_H

#include "sock/sock.h"
#include "transport/compat.h"

bool vmrpc_peer_is_native(struct vmrpc_sock *vs, const union vmrpc_name *to);
bool vmrpc_peer_needs_broadcast(const struct vmrpc_sock *vs,
				const union vmrpc_name *to);
int vmrpc_peer_bind(struct socket *sock, struct vmrpc_sock *vs);
int vmrpc_peer_connect(struct socket *sock, struct vmrpc_sockaddr *uaddr,
		       int len, int flags);

#endif /* VMRPC_PEER_H */
