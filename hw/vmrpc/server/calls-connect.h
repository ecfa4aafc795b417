/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: BIND, LISTEN, CONNECT, ACCEPT
 */
#ifndef HW_VMRPC_CALLS_CONNECT_H
#define HW_VMRPC_CALLS_CONNECT_H

#include "hw/vmrpc/sock/call.h"

VMRPC_LOCKED VmrpcCallFunc vmrpc_call_bind, vmrpc_call_listen;
VMRPC_LOCKED VmrpcCallFunc vmrpc_call_connect, vmrpc_call_accept;

#endif /* HW_VMRPC_CALLS_CONNECT_H */
