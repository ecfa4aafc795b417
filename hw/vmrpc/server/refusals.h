/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the latest refusals, which the guest may read
 */
#ifndef HW_VMRPC_REFUSALS_H
#define HW_VMRPC_REFUSALS_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* The policy or a limit refused something; @s: of this socket, or NULL */
VMRPC_LOCKED void vmrpc_refusals_note(VmrpcServer *srv,
                                      const VmrpcRefusal *refusal,
                                      const VmrpcSock *s);

/* The guest has been started anew. */
VMRPC_LOCKED void vmrpc_refusals_clear(VmrpcServer *srv);

/* VMRPC_REFUSED; returns 0 or a negative errno. */
VMRPC_LOCKED int vmrpc_call_refused(VmrpcServer *srv, VmrpcCall *call);

#endif /* HW_VMRPC_REFUSALS_H */
