/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers that programs use again and again
 */
#ifndef VMRPC_BUFFER_H
#define VMRPC_BUFFER_H

#include <linux/types.h>

struct iov_iter;
struct vmrpc_buffer;
struct vmrpc_sock;

#ifdef CONFIG_MMU_NOTIFIER
struct vmrpc_buffer *vmrpc_buffer_get(struct vmrpc_sock *vs,
				      const struct iov_iter *iter, size_t *len,
				      bool in, u32 *offset);
void vmrpc_buffer_put(struct vmrpc_buffer *b, bool stale);
u32 vmrpc_buffer_id(const struct vmrpc_buffer *b);
void vmrpc_buffer_init(struct vmrpc_sock *vs);
void vmrpc_buffer_drop(struct vmrpc_sock *vs);
#else
static inline struct vmrpc_buffer *
vmrpc_buffer_get(struct vmrpc_sock *vs, const struct iov_iter *iter,
		 size_t *len, bool in, u32 *offset)
{
	return NULL;
}

static inline void vmrpc_buffer_put(struct vmrpc_buffer *b, bool stale)
{
}

static inline u32 vmrpc_buffer_id(const struct vmrpc_buffer *b)
{
	return 0;
}

static inline void vmrpc_buffer_init(struct vmrpc_sock *vs)
{
}

static inline void vmrpc_buffer_drop(struct vmrpc_sock *vs)
{
}
#endif

#endif /* VMRPC_BUFFER_H */
