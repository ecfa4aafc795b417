/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setsockopt(2) and getsockopt(2)
 */
#ifndef VMRPC_SOCKOPT_H
#define VMRPC_SOCKOPT_H

#include <linux/net.h>

int vmrpc_setsockopt(struct socket *sock, int level, int name,
		     sockptr_t optval, unsigned int optlen);
int vmrpc_getsockopt(struct socket *sock, int level, int name,
		     char __user *optval, int __user *optlen);

#endif /* VMRPC_SOCKOPT_H */
