/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: its state, for management
 *
 * The table is read under the server's lock, but only VMRPC_INSPECT_MAX sockets
 * at a time, so that the guest never waits for long.  The host's kernel is
 * asked for everything that the server does not keep, by calls that change
 * nothing.  Reading SO_ERROR would clear it; so only an error that the server
 * has taken already is shown.
 */
#include "hw/vmrpc/server/inspect.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/gateway.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/table.h"

void vmrpc_inspect_server(VmrpcServer *srv, VmrpcServerView *view)
{
    const DnsOrigin *origin;

    memset(view, 0, sizeof(*view));
    view->config = srv->config;
    vmrpc_lock(srv);
    view->has_nat64 = vmrpc_nat64_in_use(&srv->reach.nat64);
    view->nat64 = srv->reach.nat64.prefix[0];
    view->sockets = srv->sock_num;
    view->arriving = srv->arriving_num - srv->missing_num[VMRPC_MISSING_TURN];
    view->counters = srv->counters;
    view->reach_counters = srv->reach.counters;
    view->alg_counters = srv->alg_counters;
    if (srv->dns_proxy) {
        view->dns_counters = *dns_proxy_counters(srv->dns_proxy);
        dns_upstream_counters(srv->dns_upstream, &view->upstream_counters);
    }
    origin = vmrpc_resolver_origin(srv);
    if (origin) {
        view->servers_from = origin->from;
        view->servers = origin->list;
    }
    if (srv->own_zones) {
        view->zone_counters = *dns_own_zones_counters(srv->own_zones);
    }
    if (srv->reach.map) {
        vmrpc_addrmap_stats(srv->reach.map, &view->map);
    }
    vmrpc_unlock(srv);
}

GArray *vmrpc_inspect_rules(VmrpcServer *srv)
{
    GArray *rules = NULL;

    vmrpc_lock(srv);
    if (srv->reach.policy) {
        rules = vmrpc_policy_copy_hits(srv->reach.policy);
    }
    vmrpc_unlock(srv);
    return rules;
}

static void view_guest(const VmrpcServer *srv, const VmrpcSock *s,
                       VmrpcSockView *view)
{
    if (vmrpc_sock_is_lost(s) ||
        vmrpc_local_address(srv, s, &view->guest_local) < 0) {
        view->guest_local.sin_family = 0;
    }
    if (vmrpc_sock_is_connected(s)) {
        view->guest_peer.sin_family = AF_INET;
        view->guest_peer.sin_addr = s->peer4;
        view->guest_peer.sin_port = s->peer_port;
    }
}

/* Has the peer an address on the host?  Does not count a failure. */
static bool peer_has_address(const VmrpcServer *srv, const VmrpcSock *s)
{
    return s->peer == VMRPC_PEER_REMOTE &&
           (s->peer_held || vmrpc_nat64_in_use(&srv->reach.nat64) ||
            !srv->config.reach.translate);
}

static void view_host(VmrpcServer *srv, const VmrpcSock *s,
                      VmrpcSockView *view)
{
    socklen_t len = sizeof(view->host_local);

    if (getsockname(s->fd, (struct sockaddr *)&view->host_local, &len) < 0) {
        view->host_local.ss_family = 0;
    }
    len = sizeof(view->host_peer);
    if (getpeername(s->fd, (struct sockaddr *)&view->host_peer, &len) == 0) {
        return;
    }
    /* Until there is a connection, the kernel does not know the peer. */
    if (!peer_has_address(srv, s) ||
        vmrpc_addr_to_host(&srv->reach, s->peer4, s->peer_port,
                           &view->host_peer) < 0) {
        view->host_peer.ss_family = 0;
    }
}

static uint32_t queue_size(int fd, unsigned long cmd)
{
    int value;

    return ioctl(fd, cmd, &value) < 0 ? 0 : value;
}

static void view_stream(const VmrpcSock *s, VmrpcSockView *view)
{
    struct tcp_info info = { };
    socklen_t len = sizeof(info);

    if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0) {
        return;
    }
    view->state = vmrpc_sock_is_connecting(s) ? TCP_SYN_SENT
                                              : info.tcpi_state;
    if (info.tcpi_state == TCP_LISTEN) {
        /* As ss(8) has it. */
        view->recv_queue = info.tcpi_unacked;
        view->send_queue = info.tcpi_sacked;
    }
}

/* The state of a socket that the host's TCP does not know. */
static int plain_state(const VmrpcSock *s)
{
    if (vmrpc_sock_is_lost(s)) {
        return TCP_CLOSE;
    }
    if (vmrpc_sock_is_listening(s)) {
        return TCP_LISTEN;
    }
    return vmrpc_sock_is_connected(s) ? TCP_ESTABLISHED : TCP_CLOSE;
}

static void view_sock(VmrpcServer *srv, const VmrpcSock *s,
                      VmrpcSockView *view)
{
    memset(view, 0, sizeof(*view));
    view->handle = s->handle;
    view->type = s->type;
    view->proto = s->proto;
    view->backing = s->ops->kind;
    view->missing = s->missing;
    view->missing_error = s->missing_error;
    view->state = plain_state(s);
    view->bytes_sent = s->bytes_sent;
    view->bytes_received = s->bytes_received;
    view->error = s->so_error;
    view->watched = s->watched;
    view_guest(srv, s, view);
    if (vmrpc_sock_is_host(s)) {
        view_host(srv, s, view);
        view->recv_queue = queue_size(s->fd, SIOCINQ);
        view->send_queue = queue_size(s->fd, SIOCOUTQ);
        if (s->type == SOCK_STREAM) {
            view_stream(s, view);
        }
    }
    view->recv_queue += s->dns_rx_bytes - s->dns_rx_offset +
                        vmrpc_gateway_unread(s);
    view->send_queue += vmrpc_resolver_unsent(s);
}

/* The end of the part of the table that one hold of the lock is for. */
static uint32_t end_of_part(const VmrpcServer *srv, uint32_t handle)
{
    return handle + MIN(srv->config.max_sockets - handle, VMRPC_INSPECT_EMPTY);
}

/* As vmrpc_inspect_socks(), for one hold of the lock. */
static unsigned inspect_some(VmrpcServer *srv, uint32_t *handle,
                             VmrpcSockView *view, unsigned max)
{
    uint32_t end = end_of_part(srv, *handle);
    uint32_t h = *handle;
    unsigned n = 0;

    vmrpc_lock(srv);
    for (; n < max && h < end; h++) {
        if (srv->socks[h]) {
            view_sock(srv, srv->socks[h], &view[n++]);
        }
    }
    vmrpc_unlock(srv);
    *handle = h;
    return n;
}

unsigned vmrpc_inspect_socks(VmrpcServer *srv, uint32_t *handle,
                             VmrpcSockView *view, unsigned max)
{
    unsigned n = 0;

    while (!n && *handle < srv->config.max_sockets) {
        n = inspect_some(srv, handle, view, max);
    }
    return n;
}

bool vmrpc_inspect_next(VmrpcServer *srv, uint32_t *handle)
{
    bool found = false;

    while (!found && *handle < srv->config.max_sockets) {
        uint32_t end = end_of_part(srv, *handle);

        vmrpc_lock(srv);
        while (*handle < end && !srv->socks[*handle]) {
            ++*handle;
        }
        found = *handle < end;
        vmrpc_unlock(srv);
    }
    return found;
}
