/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: reports of the server, for the trace, the log and QMP
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_REPORT_H
#define HW_VMRPC_VIRTIO_VMRPC_REPORT_H

#include "hw/vmrpc/face/virtio-vmrpc-device.h"

/** virtio_vmrpc_tracer: the callbacks for vmrpc_server_set_tracer() */
VmrpcTracer virtio_vmrpc_tracer(VirtIOVmrpc *s);

/** virtio_vmrpc_missing: QMP's value for the thing that a socket waits for */
VmrpcSocketMissing virtio_vmrpc_missing(VmrpcMissing missing);

#endif /* HW_VMRPC_VIRTIO_VMRPC_REPORT_H */
