/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recvmsg(2) of a stream
 */
#ifndef VMRPC_RECEIVE_H
#define VMRPC_RECEIVE_H

#include "sock/sock.h"

bool vmrpc_receive_at_mark(struct vmrpc_sock *vs);
int vmrpc_receive(struct vmrpc_sock *vs, struct msghdr *msg, size_t size,
		  int flags);

#endif /* VMRPC_RECEIVE_H */
