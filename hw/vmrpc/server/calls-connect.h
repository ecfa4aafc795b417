/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: BIND, LISTEN, CONNECT, ACCEPT
 */
#ifndef HW_VMRPC_CALLS_CONNECT_H
#define HW_VMRPC_CALLS_CONNECT_H

#include "hw/vmrpc/server/call.h"

VmrpcCallFunc vmrpc_call_bind, vmrpc_call_listen, vmrpc_call_connect;
VmrpcCallFunc vmrpc_call_accept;

#endif /* HW_VMRPC_CALLS_CONNECT_H */
