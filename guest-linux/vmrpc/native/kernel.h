/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets of services of the kernel
 */
#ifndef VMRPC_KERNEL_H
#define VMRPC_KERNEL_H

#include <linux/types.h>

struct sk_buff;

#ifdef CONFIG_STACKTRACE
bool vmrpc_kernel_is_outsourced(void);
void vmrpc_kernel_refused(const struct sk_buff *skb);
#else
static inline bool vmrpc_kernel_is_outsourced(void)
{
	return false;
}

static inline void vmrpc_kernel_refused(const struct sk_buff *skb)
{
}
#endif

#endif /* VMRPC_KERNEL_H */
