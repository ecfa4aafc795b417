/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: SENDMSG, RECVMSG
 */
#ifndef HW_VMRPC_CALLS_DATA_H
#define HW_VMRPC_CALLS_DATA_H

#include "hw/vmrpc/sock/call.h"

VMRPC_LOCKED VmrpcCallFunc vmrpc_call_sendmsg, vmrpc_call_recvmsg;

#endif /* HW_VMRPC_CALLS_DATA_H */
