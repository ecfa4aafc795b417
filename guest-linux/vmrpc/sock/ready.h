/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readiness of a socket
 */
#ifndef VMRPC_READY_H
#define VMRPC_READY_H

#include <linux/poll.h>

#include "sock/sock.h"

__poll_t vmrpc_ready_mask(const struct vmrpc_sock *vs);
void vmrpc_ready_report(struct vmrpc_sock *vs, u32 gen, u32 ready, u32 seq,
			u32 error, u32 edge_event, bool watched);
void vmrpc_ready_begin(struct vmrpc_sock *vs, u32 ready);
void vmrpc_ready_show(struct vmrpc_sock *vs, enum vmrpc_mode mode);
void vmrpc_ready_kill_all(struct vmrpc_device *dev);
void vmrpc_ready_wake_tasks(struct vmrpc_sock *vs, u32 bits);
void vmrpc_ready_wake(struct vmrpc_sock *vs, u32 bits);
void vmrpc_ready_keep_error(struct vmrpc_sock *vs, ssize_t err);

#endif /* VMRPC_READY_H */
