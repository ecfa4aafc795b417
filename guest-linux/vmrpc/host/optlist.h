/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that are remembered for a later host socket
 */
#ifndef VMRPC_OPTLIST_H
#define VMRPC_OPTLIST_H

#include "sock/sock.h"

int vmrpc_optlist_add(struct vmrpc_sock *vs, int level, int name,
		      const void *value, unsigned int len);
bool vmrpc_optlist_remove(struct vmrpc_sock *vs, int level, int name,
			  const void *value);
bool vmrpc_optlist_has(const struct vmrpc_sock *vs, int level, int name,
		       const void *value);
int vmrpc_optlist_replay(struct vmrpc_sock *vs);
void vmrpc_optlist_free(struct vmrpc_sock *vs);

#endif /* VMRPC_OPTLIST_H */
