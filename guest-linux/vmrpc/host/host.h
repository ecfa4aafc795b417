/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host socket: open, bind, connect, close
 */
#ifndef VMRPC_HOST_H
#define VMRPC_HOST_H

#include "sock/sock.h"

int vmrpc_host_open(struct vmrpc_sock *vs);
int vmrpc_host_open_with(struct vmrpc_sock *vs);
int vmrpc_host_bind(struct vmrpc_sock *vs, const union vmrpc_name *to,
		    __be16 *port);
int vmrpc_host_connect(struct vmrpc_sock *vs, const union vmrpc_name *to,
		       u32 wait_us, bool watch);
int vmrpc_host_connect_self(struct vmrpc_sock *vs);
void vmrpc_host_close(struct vmrpc_sock *vs);
void vmrpc_host_turn_native(struct vmrpc_sock *vs);
void vmrpc_host_refresh_or_turn_native(struct vmrpc_sock *vs);

#endif /* VMRPC_HOST_H */
