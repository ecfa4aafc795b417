/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the socket calls
 */
#ifndef HW_VMRPC_CALLS_H
#define HW_VMRPC_CALLS_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* Executes @call; returns 0 or a negative errno. */
VMRPC_LOCKED int vmrpc_call_execute(VmrpcServer *srv, VmrpcCall *call);

/*
 * @call needs @s no longer, to which it has a reference.  If it was the last
 * one, the descriptor is closed with the call.
 */
void vmrpc_call_unref(VmrpcCall *call, VmrpcSock *s);

/*
 * Closes @s with everything that belongs to it.  Returns as
 * vmrpc_sock_unref().
 */
VMRPC_LOCKED int vmrpc_sock_close(VmrpcServer *srv, VmrpcSock *s);

#endif /* HW_VMRPC_CALLS_H */
