/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: address6 belongs to one VM of the host
 *
 * All functions need the BQL.
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_CLAIM_H
#define HW_VMRPC_VIRTIO_VMRPC_CLAIM_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_claim_realize: claim address6
 *
 * Does nothing without address6.  A VM that arrives by migration claims the
 * address when it begins to run.
 *
 * Returns: true; false with @errp if another VM of this host has the address.
 */
bool virtio_vmrpc_claim_realize(VirtIOVmrpc *s, Error **errp);

/** virtio_vmrpc_claim_unrealize: give the address up; no claim is allowed */
void virtio_vmrpc_claim_unrealize(VirtIOVmrpc *s);

/**
 * virtio_vmrpc_claim_saved: the device's state is being saved
 *
 * The source of a migration gives the address up; a snapshot keeps it.
 */
void virtio_vmrpc_claim_saved(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_CLAIM_H */
