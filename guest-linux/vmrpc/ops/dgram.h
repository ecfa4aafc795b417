/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP and ping sockets
 */
#ifndef VMRPC_DGRAM_H
#define VMRPC_DGRAM_H

#include "sock/sock.h"
#include "transport/compat.h"

extern struct proto_ops vmrpc_dgram_ops;

#ifdef VMRPC_HAVE_URING_CMD
int vmrpc_dgram_prot_ioctl(struct sock *sk, int cmd, int *value);
#endif

#endif /* VMRPC_DGRAM_H */
