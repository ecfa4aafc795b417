/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: zone images, read at the start and again when they change
 */
#ifndef HW_VMRPC_ZONE_FILES_H
#define HW_VMRPC_ZONE_FILES_H

#include "hw/vmrpc/sock/state.h"

/* Reads the images, if there are any, and follows them.  Needs the proxy. */
VMRPC_UNLOCKED bool vmrpc_zone_files_init(VmrpcServer *srv, GError **errp);
void vmrpc_zone_files_cleanup(VmrpcServer *srv);

/*
 * Reads again what has changed, and reports that to the tracer.  Without the
 * lock, in the thread that processes.
 */
VMRPC_UNLOCKED void vmrpc_zone_files_follow(VmrpcServer *srv);

#endif /* HW_VMRPC_ZONE_FILES_H */
