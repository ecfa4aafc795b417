/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen(2) and accept(2)
 */
#ifndef VMRPC_ACCEPT_H
#define VMRPC_ACCEPT_H

#include "sock/sock.h"
#include "transport/compat.h"

int vmrpc_listen(struct socket *sock, int backlog);
int vmrpc_accept(struct socket *sock, struct socket *newsock,
		 struct proto_accept_arg *arg);

#endif /* VMRPC_ACCEPT_H */
