/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: Happy Eyeballs (RFC 8305) for the guest's connect()
 */
#ifndef HW_VMRPC_RACE_H
#define HW_VMRPC_RACE_H

#include "hw/vmrpc/sock/state.h"

/*
 * connect() of @s to @host gave @ret: goes on with the other addresses of the
 * name, if there are any.  Returns what connect() shall give then.
 */
VMRPC_LOCKED int vmrpc_race_start(VmrpcServer *srv, VmrpcSock *s,
                                  const struct sockaddr_storage *host, int ret);

/* Something happened to an attempt of this socket, which may be gone. */
VMRPC_LOCKED void vmrpc_race_process_fd(VmrpcServer *srv, uint32_t handle);

/* Attempts whose time has come (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_race_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_race_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_RACE_H */
