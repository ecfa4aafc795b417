/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the properties of the command line
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_PROPERTIES_H
#define HW_VMRPC_VIRTIO_VMRPC_PROPERTIES_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_parse_properties: check the properties of @s
 * @config: filled in; its strings stay the device's
 *
 * Returns: true; false with @errp, which names property and value.
 */
bool virtio_vmrpc_parse_properties(VirtIOVmrpc *s, VmrpcServerConfig *config,
                                   Error **errp);

#endif /* HW_VMRPC_VIRTIO_VMRPC_PROPERTIES_H */
