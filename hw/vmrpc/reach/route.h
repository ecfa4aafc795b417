/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses are the host's own, as its routing tables say.
 */
#ifndef VMRPC_ROUTE_H
#define VMRPC_ROUTE_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct VmrpcRoute VmrpcRoute;

/* Opens the netlink sockets.  Returns NULL and sets @errp on failure. */
VmrpcRoute *vmrpc_route_new(GError **errp);
void vmrpc_route_free(VmrpcRoute *route);

/*
 * @changed is called when it is found that addresses, routes, rules or links
 * have changed: by any function below, in its thread, or by
 * vmrpc_route_process(), for which vmrpc_route_fd() becomes readable.
 */
typedef void VmrpcRouteWatcher(void *opaque);

void vmrpc_route_watch(VmrpcRoute *route, VmrpcRouteWatcher *changed,
                       void *opaque);
int vmrpc_route_fd(const VmrpcRoute *route);

/* How often that has been found up to now; at least 1. */
uint64_t vmrpc_route_changes(VmrpcRoute *route);
void vmrpc_route_process(VmrpcRoute *route);

/*
 * True if a packet to @dest (AF_INET or AF_INET6, with port) would be delivered
 * to this host itself: one of its addresses, an anycast address, or a prefix
 * with a route of type local.  An answer that cannot be had counts as true:
 * what is not known to be elsewhere is not let out.  No route at all is false;
 * the call that follows then fails with the host's own error.
 *
 * Rules of the host may look at more than the destination.
 * @source: where the packet comes from, of the same family; NULL: the host
 *          chooses
 * @proto: the protocol on the wire, IPPROTO_TCP ...; 0: any
 */
bool vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                          const struct sockaddr *source, int proto);

/*
 * True if the host refuses to send such a packet: a route or a rule of type
 * prohibit.
 */
bool vmrpc_route_is_prohibited(VmrpcRoute *route, const struct sockaddr *dest,
                               const struct sockaddr *source, int proto);

/*
 * The interface that @own, an address of this host, speaks from: the one that
 * has it, or if that is the loopback, the one of the default route of packets
 * from it.  Returns its index, or -ENODEV.
 */
int vmrpc_route_interface(VmrpcRoute *route, const struct in6_addr *own);

#endif /* VMRPC_ROUTE_H */
