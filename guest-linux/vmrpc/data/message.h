/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One SENDMSG or RECVMSG request
 */
#ifndef VMRPC_MESSAGE_H
#define VMRPC_MESSAGE_H

#include "sock/sock.h"

int vmrpc_message_check(struct vmrpc_sock *vs, struct msghdr *msg);
void vmrpc_message_discard(struct vmrpc_sock *vs);
ssize_t vmrpc_message_send(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, const union vmrpc_name *to,
			   u32 wait_us);
ssize_t vmrpc_message_recv(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, size_t *room, int flags, u32 wait_us);

#endif /* VMRPC_MESSAGE_H */
