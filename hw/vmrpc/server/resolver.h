/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the DNS proxy as the guest's sockets meet it
 */
#ifndef HW_VMRPC_RESOLVER_H
#define HW_VMRPC_RESOLVER_H

#include "hw/vmrpc/sock/call.h"
#include "hw/vmrpc/sock/state.h"

/* A stream to the proxy. */
extern const VmrpcBackingOps vmrpc_resolver_backing;

/*
 * Makes the proxy and its upstream, if there is a resolver4.  Returns 0 or
 * -EINVAL with @errp set; vmrpc_resolver_cleanup() may be called in both cases.
 */
VMRPC_LOCKED int vmrpc_resolver_init(VmrpcServer *srv, GError **errp);
VMRPC_LOCKED void vmrpc_resolver_cleanup(VmrpcServer *srv);

/* True if @addr is where the DNS proxy answers. */
bool vmrpc_is_resolver(const VmrpcServer *srv, const struct sockaddr_in *addr);

/* The stream @s goes to the proxy from now on; its host socket is closed. */
VMRPC_LOCKED void vmrpc_resolver_attach(VmrpcServer *srv, VmrpcSock *s);

/* Forgets all queries of @s. */
VMRPC_LOCKED void vmrpc_resolver_detach(VmrpcServer *srv, VmrpcSock *s);

/*
 * A datagram, or bytes of a stream, from the guest to the proxy.  Returns the
 * bytes taken or a negative errno.
 */
VMRPC_LOCKED ssize_t vmrpc_resolver_send(VmrpcServer *srv, VmrpcSock *s,
                                         VmrpcCall *call);

/* An answer, or bytes of it; -EAGAIN if there is none. */
VMRPC_LOCKED ssize_t vmrpc_resolver_recv(VmrpcServer *srv, VmrpcSock *s,
                                         VmrpcCall *call, int flags);

/* The policy, a zone or the map has changed: cached answers are void. */
void vmrpc_resolver_forget(VmrpcServer *srv);

/* The DNS servers as they are now, and their source; NULL without resolver4. */
VMRPC_LOCKED const DnsOrigin *vmrpc_resolver_origin(VmrpcServer *srv);

/* Tells the tracer which DNS servers are asked, if some are missing. */
void vmrpc_resolver_tell_servers(VmrpcServer *srv);

/* The upstream's descriptor is readable. */
VMRPC_LOCKED void vmrpc_resolver_process_fd(VmrpcServer *srv);

/* Timeouts of the proxy and the upstream, and turns (VmrpcTimerOps). */
VMRPC_LOCKED int vmrpc_resolver_timeout_ms(VmrpcServer *srv);
VMRPC_LOCKED void vmrpc_resolver_process_timer(VmrpcServer *srv);

#endif /* HW_VMRPC_RESOLVER_H */
