/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets that have come with the guest, and wait for the host
 */
#ifndef HW_VMRPC_ARRIVING_H
#define HW_VMRPC_ARRIVING_H

#include "hw/vmrpc/sock/state.h"

/* The socket did not survive a migration: nothing stands behind it. */
extern const VmrpcBackingOps vmrpc_lost_backing;

/* The socket has no host socket yet that is all that it was. */
extern const VmrpcBackingOps vmrpc_arriving_backing;

/*
 * @s becomes what its fields say as soon as the host has what that needs.  It
 * has vmrpc_lost_backing; or vmrpc_host_backing, if another socket of the VM's
 * has its port (vmrpc_host_is_second()).
 */
VMRPC_LOCKED void vmrpc_arriving_begin(VmrpcServer *srv, VmrpcSock *s);

/* @s could not follow: its program finds out by @error and a hang-up. */
VMRPC_LOCKED void vmrpc_sock_lose(VmrpcServer *srv, VmrpcSock *s, int error);

/*
 * @s gives up its port, or no longer listens there: another socket may have
 * waited for that.
 */
VMRPC_LOCKED void vmrpc_arriving_port_freed(VmrpcServer *srv,
                                            const VmrpcSock *s);

/* As VmrpcRouteWatcher: what was missing may have come. */
VMRPC_LOCKED void vmrpc_arriving_routing_changed(VmrpcServer *srv);

/* Tries those that wait (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_arriving_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_arriving_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_ARRIVING_H */
