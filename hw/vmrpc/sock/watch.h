/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: which host sockets wake the server
 */
#ifndef HW_VMRPC_WATCH_H
#define HW_VMRPC_WATCH_H

#include "hw/vmrpc/sock/state.h"

/* Events of s->fd are wanted from now on. */
VMRPC_LOCKED void vmrpc_sock_watch(VmrpcServer *srv, VmrpcSock *s);

/* Events are wanted in VMRPC_WATCH_MS, unless @s is closed by then. */
VMRPC_LOCKED void vmrpc_watch_later(VmrpcServer *srv, VmrpcSock *s);

/* @s is being closed, or has no host socket any more. */
VMRPC_LOCKED void vmrpc_watch_forget(VmrpcServer *srv, VmrpcSock *s);

/*
 * @s has woken the server once more without an event for the guest.  Bulk data
 * does so for every segment, and a call that waits needs no event: after some
 * of these, the socket wakes the server less.  Constant time.
 */
VMRPC_LOCKED void vmrpc_watch_less(VmrpcServer *srv, VmrpcSock *s);

/* The guest's cache of the readiness has changed: unmutes what it lacks. */
VMRPC_LOCKED void vmrpc_watch_again(VmrpcServer *srv, VmrpcSock *s);

/* Sockets whose time has come (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_watch_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_watch_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_WATCH_H */
