/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the audit log's way out, a character device
 *
 * All functions need the BQL.
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_AUDIT_H
#define HW_VMRPC_VIRTIO_VMRPC_AUDIT_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/**
 * virtio_vmrpc_audit_realize: make s->audit, if the device has "audit"
 *
 * Before the server, which writes to it.
 *
 * Returns: false with @errp if "audit-full" is wrong.
 */
bool virtio_vmrpc_audit_realize(VirtIOVmrpc *s, Error **errp);

/** virtio_vmrpc_audit_start: from here on lines are written; with a server */
void virtio_vmrpc_audit_start(VirtIOVmrpc *s);

/**
 * virtio_vmrpc_audit_unrealize: write what can be written, and free s->audit
 *
 * After the server.  Also of a device that has no log.
 */
void virtio_vmrpc_audit_unrealize(VirtIOVmrpc *s);

/** virtio_vmrpc_audit_info: for query-vmrpc; NULL without a log */
VmrpcAuditInfo *virtio_vmrpc_audit_info(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_AUDIT_H */
