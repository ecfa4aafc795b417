/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Membership in multicast groups
 */
#ifndef VMRPC_GROUP_H
#define VMRPC_GROUP_H

#include "sock/sock.h"

bool vmrpc_group_is_option(int level, int name);
bool vmrpc_group_is_native(const struct vmrpc_sock *vs,
			   const union vmrpc_name *group);
int vmrpc_group_setsockopt(struct socket *sock, struct vmrpc_sock *vs,
			   int level, int name, sockptr_t optval,
			   unsigned int optlen);

#endif /* VMRPC_GROUP_H */
