/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the event queue and the request queues
 *
 * Unless noted otherwise, the functions need the BQL.
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_QUEUES_H
#define HW_VMRPC_VIRTIO_VMRPC_QUEUES_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_queues_realize: add all queues to the device
 *
 * After virtio_init(); the server and the number of queues are known.
 */
void virtio_vmrpc_queues_realize(VirtIOVmrpc *s);

/** virtio_vmrpc_queues_unrealize: before virtio_cleanup() */
void virtio_vmrpc_queues_unrealize(VirtIOVmrpc *s);

/** virtio_vmrpc_queues_init: make the locks, for instance_init() */
void virtio_vmrpc_queues_init(VirtIOVmrpc *s);

/**
 * virtio_vmrpc_queues_finalize: destroy the locks, for instance_finalize()
 *
 * Not earlier: unrealize() can run while the last call of a vCPU is still
 * inside qemu_event_set().
 */
void virtio_vmrpc_queues_finalize(VirtIOVmrpc *s);

/**
 * virtio_vmrpc_start_ioeventfd: begin to process the queues
 *
 * Returns: 0; or a negative errno, and the device is broken.
 */
int virtio_vmrpc_start_ioeventfd(VirtIODevice *vdev);

/** virtio_vmrpc_stop_ioeventfd: waits for the requests that are running */
void virtio_vmrpc_stop_ioeventfd(VirtIODevice *vdev);

/**
 * virtio_vmrpc_wait_calls: wait until no vCPU executes a request
 *
 * None can begin meanwhile, as the caller holds the BQL.
 */
void virtio_vmrpc_wait_calls(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_QUEUES_H */
