/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: connections through a proxy of the policy ("via")
 */
#ifndef HW_VMRPC_PROXIED_H
#define HW_VMRPC_PROXIED_H

#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/sock/state.h"

/*
 * connect() of the stream @s, which has no peer and is not in use, to @host,
 * which the policy allows by @pass, whose terms have a proxy: connects to the
 * proxy in its place.  Returns what
 * connect() shall give: -EINPROGRESS, or another negative errno.
 */
VMRPC_LOCKED int vmrpc_proxied_connect(VmrpcServer *srv, VmrpcSock *s,
                                       const struct sockaddr_storage *host,
                                       const VmrpcPass *pass);

/* Proxies that have not answered in time (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_proxied_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_proxied_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_PROXIED_H */
