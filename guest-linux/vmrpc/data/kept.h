/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Received data that could not be copied to the program
 */
#ifndef VMRPC_KEPT_H
#define VMRPC_KEPT_H

#include "sock/sock.h"

void vmrpc_kept_add(struct vmrpc_sock *vs, const void *data, size_t len);
ssize_t vmrpc_kept_receive(struct vmrpc_sock *vs, struct msghdr *msg,
			   size_t len, int flags);
void vmrpc_kept_forget(struct vmrpc_sock *vs);

/* Is there something for vmrpc_kept_receive()?  Racy. */
static inline bool vmrpc_kept_exists(const struct vmrpc_sock *vs)
{
	return unlikely(READ_ONCE(vs->kept_size));
}

#endif /* VMRPC_KEPT_H */
