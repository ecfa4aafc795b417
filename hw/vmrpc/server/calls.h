/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the socket calls
 */
#ifndef HW_VMRPC_CALLS_H
#define HW_VMRPC_CALLS_H

#include "hw/vmrpc/server/call.h"
#include "hw/vmrpc/server/state.h"

/* Executes @call; returns 0 or a negative errno. */
int vmrpc_call_execute(VmrpcServer *srv, VmrpcCall *call);

/*
 * Closes @s with everything that belongs to it.  Returns as
 * vmrpc_sock_remove().
 */
int vmrpc_sock_close(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_CALLS_H */
