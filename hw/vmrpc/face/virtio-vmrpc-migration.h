/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: migration
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_MIGRATION_H
#define HW_VMRPC_VIRTIO_VMRPC_MIGRATION_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"
#include "migration/vmstate.h"

extern const VMStateDescription vmstate_virtio_vmrpc;

/**
 * virtio_vmrpc_drop_saved: free the records of a migration
 *
 * Also those of a migration that failed half-way.
 */
void virtio_vmrpc_drop_saved(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_MIGRATION_H */
