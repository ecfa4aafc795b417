/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the guest's memory
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_MEMORY_H
#define HW_VMRPC_VIRTIO_VMRPC_MEMORY_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_memory_ops: how the server keeps mapped buffers
 *
 * Only if @s sees the guest's memory without an IOMMU.  The callbacks may run
 * in any thread.
 */
VmrpcMemoryOps virtio_vmrpc_memory_ops(VirtIOVmrpc *s);

/**
 * virtio_vmrpc_memory_limit: requests may use RAM only
 *
 * QEMU then refuses to map the registers of other devices.
 */
void virtio_vmrpc_memory_limit(VirtIOVmrpc *s);

/** virtio_vmrpc_memory_cleanup: end of virtio_vmrpc_memory_limit() */
void virtio_vmrpc_memory_cleanup(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_MEMORY_H */
