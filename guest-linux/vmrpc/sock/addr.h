/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses: on the wire, and whether the host can serve them
 */
#ifndef VMRPC_ADDR_H
#define VMRPC_ADDR_H

#include "sock/sock.h"

void vmrpc_addr_put(struct vmrpc_addr *to, const struct sockaddr_in *from);
bool vmrpc_addr_get(struct sockaddr_in *to, const struct vmrpc_addr *from);
bool vmrpc_addr_is_native(const struct vmrpc_sock *vs, __be32 addr);
bool vmrpc_addr_is_shared(const struct vmrpc_sock *vs, __be32 addr);
__be32 vmrpc_addr_chosen_source(const struct vmrpc_sock *vs);
int vmrpc_addr_chosen_device(const struct vmrpc_sock *vs);
bool vmrpc_addr_device_is_other(const struct vmrpc_sock *vs);
bool vmrpc_addr_bound_elsewhere(const struct vmrpc_sock *vs);

#endif /* VMRPC_ADDR_H */
