/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind(2)
 */
#ifndef VMRPC_BIND_H
#define VMRPC_BIND_H

#include "sock/sock.h"
#include "transport/compat.h"

int vmrpc_bind(struct socket *sock, struct vmrpc_sockaddr *uaddr, int len);
int vmrpc_bind_locked(struct socket *sock, struct vmrpc_sock *vs,
		      struct vmrpc_sockaddr *uaddr, int len);
bool vmrpc_bind_hold_port(struct vmrpc_sock *vs, bool hold);

#endif /* VMRPC_BIND_H */
