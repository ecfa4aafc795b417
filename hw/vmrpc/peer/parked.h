/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets whose calls wait for the audit log
 */
#ifndef HW_VMRPC_PARKED_H
#define HW_VMRPC_PARKED_H

#include "hw/vmrpc/sock/state.h"

/* A call of @s waits; nothing happens if one does already. */
VMRPC_LOCKED void vmrpc_park(VmrpcServer *srv, VmrpcSock *s, VmrpcParked what);

/* None waits any more. */
VMRPC_LOCKED void vmrpc_unpark(VmrpcServer *srv, VmrpcSock *s);

/* Sockets that may go on (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_parked_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_parked_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_PARKED_H */
