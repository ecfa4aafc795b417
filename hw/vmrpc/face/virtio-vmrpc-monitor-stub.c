/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the commands of a QEMU whose target lacks the device
 */
#include "qemu/osdep.h"

#include "qapi/error.h"
#include "qapi/qapi-commands-vmrpc.h"

VmrpcDeviceInfoList *coroutine_fn qmp_query_vmrpc(const char *id,
                                                  bool has_sockets_from,
                                                  uint32_t sockets_from,
                                                  bool has_sockets_limit,
                                                  uint32_t sockets_limit,
                                                  bool has_rules, bool rules,
                                                  Error **errp)
{
    if (id) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no virtio-vmrpc device '%s'", id);
    }
    return NULL;
}

void qmp_vmrpc_reload_policy(const char *id, bool has_established,
                             VmrpcEstablished established, Error **errp)
{
    error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
              "There is no virtio-vmrpc device '%s'", id ?: "");
}
