/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets of other network namespaces than the first
 */
#ifndef VMRPC_NETNS_H
#define VMRPC_NETNS_H

#include "sock/sock.h"

bool vmrpc_netns_is_served(const struct net *net);
bool vmrpc_netns_is_native(struct vmrpc_sock *vs, const union vmrpc_name *to);
void vmrpc_netns_name(const struct vmrpc_sock *vs, union vmrpc_name *name);

#endif /* VMRPC_NETNS_H */
