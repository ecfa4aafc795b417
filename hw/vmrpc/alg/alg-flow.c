/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the buffers of one direction
 */
#include "hw/vmrpc/alg/alg-flow.h"

void vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len)
{
    if (!flow->held) {
        flow->held = g_byte_array_new();
    }
    g_byte_array_append(flow->held, data, len);
}

void vmrpc_alg_release(VmrpcAlgFlow *flow)
{
    vmrpc_alg_replace(flow, g_steal_pointer(&flow->held));
}

void vmrpc_alg_replace(VmrpcAlgFlow *flow, GByteArray *out)
{
    g_assert(!flow->out);
    vmrpc_alg_drop(flow);
    flow->out = out;
    flow->out_done = 0;
}

void vmrpc_alg_drop(VmrpcAlgFlow *flow)
{
    g_clear_pointer(&flow->held, g_byte_array_unref);
}
