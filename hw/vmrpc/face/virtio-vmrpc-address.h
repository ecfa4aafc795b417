/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: is the VM's address one of this host's?
 *
 * All functions need the BQL.
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_ADDRESS_H
#define HW_VMRPC_VIRTIO_VMRPC_ADDRESS_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_address_realize: follow the VM's address on this host
 *
 * Does nothing if the device has no address of its own.
 *
 * Returns: true; false with @errp if the host has no descriptor.
 */
bool virtio_vmrpc_address_realize(VirtIOVmrpc *s, Error **errp);

/** virtio_vmrpc_address_unrealize: also of a device that follows none */
void virtio_vmrpc_address_unrealize(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_ADDRESS_H */
