/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect(2) of a stream
 */
#ifndef VMRPC_CONNECT_H
#define VMRPC_CONNECT_H

#include "sock/sock.h"
#include "transport/compat.h"

int vmrpc_connect(struct socket *sock, struct vmrpc_sockaddr *uaddr, int len,
		  int flags);
int vmrpc_connect_wait(struct socket *sock, struct vmrpc_sock *vs, int flags,
		       int err);
bool vmrpc_connect_is_over(struct vmrpc_sock *vs);
void vmrpc_connect_undo(struct socket *sock, struct vmrpc_sock *vs);
int vmrpc_connect_local(struct vmrpc_sock *vs, union vmrpc_name *name);

#endif /* VMRPC_CONNECT_H */
