/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: NAT64 prefix discovery (RFC 7050)
 */
#ifndef HW_VMRPC_NAT64_H
#define HW_VMRPC_NAT64_H

#include "hw/vmrpc/sock/state.h"

/* Asks when it is time to (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_nat64_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_nat64_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_NAT64_H */
