/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests about a host socket
 */
#ifndef VMRPC_ASK_H
#define VMRPC_ASK_H

#include "sock/sock.h"

int vmrpc_ask_name(struct vmrpc_sock *vs, enum vmrpc_op op,
		   union vmrpc_name *name);
int vmrpc_ask_ioctl(struct vmrpc_sock *vs, unsigned int cmd, int *value);
int vmrpc_ask_shutdown(struct vmrpc_sock *vs, int how);
int vmrpc_ask_setopt(struct vmrpc_sock *vs, int level, int name,
		     const void *value, unsigned int len);
int vmrpc_ask_getopt(struct vmrpc_sock *vs, int level, int name, void *value,
		     unsigned int len);
u8 vmrpc_ask_tcp_state(struct vmrpc_sock *vs);

#endif /* VMRPC_ASK_H */
