/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attach the outsourced side to a socket, and detach it
 */
#ifndef VMRPC_ATTACH_H
#define VMRPC_ATTACH_H

#include "sock/sock.h"

int vmrpc_attach(struct vmrpc_device *dev, struct socket *sock,
		 const struct proto_ops *ops);
void vmrpc_detach(struct vmrpc_sock *vs);

#endif /* VMRPC_ATTACH_H */
