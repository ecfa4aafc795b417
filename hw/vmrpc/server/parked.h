/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets whose calls wait for the audit log
 */
#ifndef HW_VMRPC_PARKED_H
#define HW_VMRPC_PARKED_H

#include "hw/vmrpc/server/state.h"

/* A call of @s waits; nothing happens if one does already. */
VMRPC_LOCKED void vmrpc_park(VmrpcServer *srv, VmrpcSock *s, VmrpcParked what);

/* None waits any more. */
VMRPC_LOCKED void vmrpc_unpark(VmrpcServer *srv, VmrpcSock *s);

/* @ready without the events that a call of @s waits for */
static inline uint32_t vmrpc_parked_mask(const VmrpcSock *s, uint32_t ready)
{
    switch (s->parked) {
    case VMRPC_PARKED_SEND:
        return ready & ~VMRPC_OUT;
    case VMRPC_PARKED_ACCEPT:
        return ready & ~VMRPC_IN;
    default:
        return ready;
    }
}

/* Sockets that may go on (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_parked_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_parked_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_PARKED_H */
