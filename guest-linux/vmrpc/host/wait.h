/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that wait for a socket
 */
#ifndef VMRPC_WAIT_H
#define VMRPC_WAIT_H

#include <linux/poll.h>

#include "sock/sock.h"

void vmrpc_wait_init(void);
int vmrpc_wait(struct vmrpc_sock *vs, u32 mask,
	       bool (*native)(struct sock *sk), long *timeo);
int vmrpc_wait_pause(long *timeo);
bool vmrpc_wait_expect(struct vmrpc_sock *vs, const poll_table *wait);
void vmrpc_wait_ask(struct vmrpc_sock *vs);
void vmrpc_wait_watch(struct vmrpc_sock *vs, const poll_table *wait);
void vmrpc_wait_watch_edges(struct vmrpc_sock *vs);
void vmrpc_wait_before_read(struct vmrpc_sock *vs);

#endif /* VMRPC_WAIT_H */
