/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls for a socket
 */
#ifndef VMRPC_CALL_H
#define VMRPC_CALL_H

#include "sock/sock.h"
#include "transport/transport.h"

struct vmrpc_call *vmrpc_call_new(struct vmrpc_sock *vs, enum vmrpc_op op);
struct vmrpc_call *vmrpc_call_new_device(struct vmrpc_device *dev,
					 enum vmrpc_op op);
int vmrpc_call_run(struct vmrpc_call *call);
int vmrpc_call_run_simple(struct vmrpc_sock *vs, enum vmrpc_op op);

#endif /* VMRPC_CALL_H */
