/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's own addresses, according to its routing tables
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

/* Addresses, routes, rules or links have changed. */
typedef void VmrpcRouteWatcher(void *opaque);

/*
 * Any function below may notice a change, and then calls @changed in its own
 * thread.  vmrpc_route_fd() is readable while vmrpc_route_process() has a
 * change to notice.
 */
void vmrpc_route_watch(VmrpcRoute *route, VmrpcRouteWatcher *changed,
                       void *opaque);
int vmrpc_route_fd(const VmrpcRoute *route);

/* The number of changes up to now; at least 1 */
uint64_t vmrpc_route_changes(VmrpcRoute *route);
void vmrpc_route_process(VmrpcRoute *route);

/*
 * True if the host would deliver a packet to @dest to itself: one of its
 * addresses, an anycast address, or a prefix with a route of type local.
 * If the kernel gives no answer, the result is true: the policy then refuses
 * the destination.  Without a route the result is false; the guest's call
 * fails with the host's error.
 *
 * @dest: AF_INET or AF_INET6, with its port
 * @source: the packet's source, of the same family; NULL: the host chooses
 * @proto: the protocol on the wire, IPPROTO_TCP ...; 0: any
 */
bool vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                          const struct sockaddr *source, int proto);

/* True if a route or a rule of type prohibit rejects such a packet. */
bool vmrpc_route_is_prohibited(VmrpcRoute *route, const struct sockaddr *dest,
                               const struct sockaddr *source, int proto);

/*
 * The interface for packets from @own, an address of this host: the one that
 * has it; if that is the loopback, the one of the default route for this
 * source.  Returns its index, or -ENODEV.
 */
int vmrpc_route_interface(VmrpcRoute *route, const struct in6_addr *own);

#endif /* VMRPC_ROUTE_H */
