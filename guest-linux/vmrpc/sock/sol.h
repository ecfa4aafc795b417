/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of SOL_SOCKET
 */
#ifndef VMRPC_SOL_H
#define VMRPC_SOL_H

#include "sock/sock.h"

void vmrpc_sol_reset(struct vmrpc_sock *vs);
void vmrpc_sol_peeked(struct vmrpc_sock *vs, int n);
void vmrpc_sol_inherit(struct vmrpc_sock *child,
		       const struct vmrpc_sock *parent);
bool vmrpc_sol_stale(const struct vmrpc_sock *vs);
bool vmrpc_sol_is_in_the_way(const struct vmrpc_sock *vs);
bool vmrpc_sol_wants_stamps(const struct vmrpc_sock *vs);
bool vmrpc_sol_keeps_stamp(const struct vmrpc_sock *vs);
bool vmrpc_sol_is_elsewhere(const struct vmrpc_sock *vs);
int vmrpc_sol_sync(struct vmrpc_sock *vs);
int vmrpc_sol_refresh(struct vmrpc_sock *vs);

#endif /* VMRPC_SOL_H */
