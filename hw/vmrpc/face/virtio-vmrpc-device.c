/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the state of a device
 */
#include "qemu/osdep.h"

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

const char *virtio_vmrpc_id(VirtIOVmrpc *s)
{
    BusState *bus = qdev_get_parent_bus(DEVICE(s));

    /* Users give an id to the PCI device, which contains this one. */
    return DEVICE(s)->id ?: bus && bus->parent ? bus->parent->id : NULL;
}
