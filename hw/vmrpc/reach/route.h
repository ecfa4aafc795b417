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

/**
 * vmrpc_route_new: open the netlink sockets
 *
 * Returns: NULL, with @errp set, if the host has no descriptor.
 */
VmrpcRoute *vmrpc_route_new(GError **errp);

/** vmrpc_route_free: @route may be NULL. */
void vmrpc_route_free(VmrpcRoute *route);

/* Addresses, routes, rules or links have changed. */
typedef void VmrpcRouteWatcher(void *opaque);

/**
 * vmrpc_route_watch: call @changed when the host's routing has changed
 *
 * Any function below may notice a change, and then calls @changed in its own
 * thread.
 */
void vmrpc_route_watch(VmrpcRoute *route, VmrpcRouteWatcher *changed,
                       void *opaque);

/**
 * vmrpc_route_fd: a descriptor that is readable when routing has changed
 *
 * vmrpc_route_process() makes it unreadable again.  @route owns it.
 */
int vmrpc_route_fd(const VmrpcRoute *route);

/** vmrpc_route_process: notice changes; never blocks */
void vmrpc_route_process(VmrpcRoute *route);

/** vmrpc_route_changes: the number of changes up to now, at least 1 */
uint64_t vmrpc_route_changes(VmrpcRoute *route);

/**
 * vmrpc_route_is_local: would the host deliver a packet to itself?
 * @dest: the destination, AF_INET or AF_INET6, with its port
 * @source: the source, of the same family; NULL: the host chooses it
 * @proto: the protocol on the wire, IPPROTO_TCP ...; 0: any
 *
 * Local are the host's addresses, anycast addresses, and prefixes with a route
 * of type local.  The other arguments matter because rules of the host may
 * select by them.
 *
 * Returns: true also if the kernel gives no answer: the policy then refuses the
 * destination.  False without a route: the guest's call then fails with the
 * host's error.
 */
bool vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                          const struct sockaddr *source, int proto);

/**
 * vmrpc_route_is_prohibited: does a route or rule of type prohibit reject it?
 *
 * Arguments as for vmrpc_route_is_local().
 */
bool vmrpc_route_is_prohibited(VmrpcRoute *route, const struct sockaddr *dest,
                               const struct sockaddr *source, int proto);

/**
 * vmrpc_route_interface: the interface for packets from an own address
 * @own: an address of this host, AF_INET6 or AF_INET
 *
 * It is the interface that has the address; if that is the loopback, the one
 * of the default route for this source.
 *
 * Returns: the index, or -ENODEV.
 */
int vmrpc_route_interface(VmrpcRoute *route, const struct sockaddr *own);

/**
 * vmrpc_route_interface_gone: how often that interface was deleted
 *
 * Memberships of groups go with it, even if another gets its index.
 */
unsigned vmrpc_route_interface_gone(VmrpcRoute *route);

#endif /* VMRPC_ROUTE_H */
