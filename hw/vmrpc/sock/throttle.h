/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: "limit sent" and "limit received" of the policy file
 */
#ifndef HW_VMRPC_THROTTLE_H
#define HW_VMRPC_THROTTLE_H

#include "hw/vmrpc/sock/state.h"

/* vmrpc_throttle_admits(), where there is a limit. */
VMRPC_LOCKED bool vmrpc_throttle_asks(VmrpcServer *srv, VmrpcSock *s,
                                      VmrpcFlow flow);

/*
 * May octets of @flow pass now?  If not, @s is neither writable nor readable,
 * as the case may be, until they may, and the guest gets an event then.
 */
static inline VMRPC_LOCKED bool vmrpc_throttle_admits(VmrpcServer *srv,
                                                      VmrpcSock *s,
                                                      VmrpcFlow flow)
{
    return !srv->reach.limits.config.flow[flow].per_s ||
           vmrpc_throttle_asks(srv, s, flow);
}

/* @s is being closed. */
VMRPC_LOCKED void vmrpc_throttle_forget(VmrpcServer *srv, VmrpcSock *s);

/* Sockets whose turn has come (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_throttle_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_throttle_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_THROTTLE_H */
