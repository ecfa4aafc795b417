/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy file and a destination: 22 bytes (family, protocol, port, is_local,
 * address), then the text
 */
#include <string.h>

#include "hw/vmrpc/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER = 22 };
    g_autoptr(VmrpcPolicy) policy = NULL;
    g_autoptr(GError) err = NULL;
    VmrpcVerdictReason with, without;
    VmrpcDest dest = { 0 };
    int ret;

    if (size < HEADER) {
        return 0;
    }
    dest.family = data[0] & 1 ? AF_INET6 : data[0] & 2 ? AF_UNIX : AF_INET;
    dest.proto = data[1] & 1 ? IPPROTO_TCP : data[1] & 2 ? data[1]
                                                         : IPPROTO_UDP;
    dest.is_local = data[2] & 1;
    memcpy(&dest.port, data + 4, sizeof(dest.port));
    memcpy(&dest.addr6, data + 6, sizeof(dest.addr6));

    policy = vmrpc_policy_parse((const char *)data + HEADER, size - HEADER,
                                "policy", &err);
    g_assert(!policy == !!err);
    ret = vmrpc_policy_check(policy, &dest, &with);
    g_assert(with < VMRPC_VERDICT_COUNT);
    g_assert((ret == 0) == (with == VMRPC_VERDICT_ALLOW_DEFAULT ||
                            with == VMRPC_VERDICT_ALLOW_RULE));
    /* a default never opens what is refused without any rule */
    ret = vmrpc_policy_check(NULL, &dest, &without);
    g_assert(ret == 0 || with != VMRPC_VERDICT_ALLOW_DEFAULT);
    return 0;
}
