/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP sockets
 */
#ifndef VMRPC_STREAM_H
#define VMRPC_STREAM_H

#include "sock/sock.h"
#include "transport/compat.h"

extern struct proto_ops vmrpc_stream_ops;

#ifdef VMRPC_HAVE_URING_CMD
int vmrpc_stream_prot_ioctl(struct sock *sk, int cmd, int *value);
#endif

#endif /* VMRPC_STREAM_H */
