/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the buffers of one direction
 */
#ifndef HW_VMRPC_ALG_FLOW_H
#define HW_VMRPC_ALG_FLOW_H

#include "hw/vmrpc/alg/alg-internal.h"

/** vmrpc_alg_hold: append bytes to those that are held */
void vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len);

/** vmrpc_alg_release: deliver the held bytes unchanged */
void vmrpc_alg_release(VmrpcAlgFlow *flow);

/**
 * vmrpc_alg_replace: deliver other bytes in place of the held ones
 * @out: becomes the flow's; NULL: none
 *
 * The flow must have no bytes to deliver yet.
 */
void vmrpc_alg_replace(VmrpcAlgFlow *flow, GByteArray *out);

/** vmrpc_alg_drop: forget the held bytes */
void vmrpc_alg_drop(VmrpcAlgFlow *flow);

#endif /* HW_VMRPC_ALG_FLOW_H */
