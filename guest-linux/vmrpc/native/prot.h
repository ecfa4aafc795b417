/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of a sock whose ioctl is ours
 */
#ifndef VMRPC_PROT_H
#define VMRPC_PROT_H

#include <linux/types.h>

#include "transport/compat.h"

struct sock;

#ifdef VMRPC_HAVE_URING_CMD
typedef int (*vmrpc_prot_ioctl)(struct sock *sk, int cmd, int *value);

void vmrpc_prot_init(vmrpc_prot_ioctl stream, vmrpc_prot_ioctl dgram);
void vmrpc_prot_set(struct sock *sk, bool ours);
#else
static inline void vmrpc_prot_set(struct sock *sk, bool ours)
{
}
#endif

#endif /* VMRPC_PROT_H */
