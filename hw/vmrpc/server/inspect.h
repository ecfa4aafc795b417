/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: its state, for management
 *
 * Thread safety: as vmrpc_server_call().  The view of one socket is of one
 * moment; the views of two sockets may be of two.
 */
#ifndef VMRPC_INSPECT_H
#define VMRPC_INSPECT_H

#include <sys/socket.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/server/server.h"
#include "net/dns/own/zones.h"
#include "net/dns/proxy/proxy.h"
#include "net/dns/upstream/upstream.h"

/*
 * Sockets that are read in one hold of the lock.  Each takes about five system
 * calls.
 */
#define VMRPC_INSPECT_MAX       64

/* Empty places in the table that are skipped in one hold of the lock. */
#define VMRPC_INSPECT_EMPTY     16384

typedef struct VmrpcServerView {
    VmrpcServerConfig config;   /* policy_file, dns and zones are NULL */
    bool has_nat64;
    Nat64Prefix nat64;          /* in use, given or found */
    VmrpcAddrMapStats map;      /* all zero without translation */
    uint32_t sockets;           /* how many there are */
    uint32_t arriving;          /* of these, VMRPC_BACKING_ARRIVING */
    VmrpcCounters counters;
    VmrpcReachCounters reach_counters;
    VmrpcAlgCounters alg_counters;
    DnsProxyCounters dns_counters;  /* all zero without resolver4 */
    DnsUpstreamCounters upstream_counters;      /* so are these */
    DnsServersFrom servers_from;
    DnscServerList servers;     /* of DNS; empty without resolver4 */
    DnsOwnZonesCounters zone_counters;  /* and without zones */
} VmrpcServerView;

/* Addresses whose family is 0 are not there. */
typedef struct VmrpcSockView {
    uint32_t handle;
    int type;                   /* SOCK_STREAM, SOCK_DGRAM */
    int proto;                  /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP */
    VmrpcBacking backing;
    VmrpcMissing missing;       /* with VMRPC_BACKING_ARRIVING */
    int missing_error;          /* and the host's error, positive errno */
    /*
     * TCP_ESTABLISHED .. TCP_CLOSING; a socket that is not TCP is
     * TCP_ESTABLISHED if it has a peer, and TCP_CLOSE otherwise
     */
    int state;
    struct sockaddr_in guest_local;         /* as the guest's programs see it */
    struct sockaddr_in guest_peer;
    struct sockaddr_storage host_local;     /* AF_INET6, or AF_INET */
    struct sockaddr_storage host_peer;
    /* bytes for the guest to read; of datagrams the next; connections */
    uint32_t recv_queue;
    /* bytes that are not acknowledged; connections that recv_queue can hold */
    uint32_t send_queue;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    int error;                  /* SO_ERROR that is on its way to the guest */
    bool watched;
} VmrpcSockView;

VMRPC_UNLOCKED void vmrpc_inspect_server(VmrpcServer *srv,
                                         VmrpcServerView *view);

/*
 * The statements of the policy file and how often they decided: an array of
 * VmrpcPolicyHits, to be freed with g_array_unref(); NULL without a file.
 */
VMRPC_UNLOCKED GArray *vmrpc_inspect_rules(VmrpcServer *srv);

/*
 * Reads sockets in the order of their handles.
 *
 * @handle: the handle to go on with, 0 at first
 * @view: room for @max, which is 1 .. VMRPC_INSPECT_MAX
 *
 * Returns the number of views; 0: there are no more sockets.  Sockets may be
 * made and closed between two calls.
 */
VMRPC_UNLOCKED unsigned vmrpc_inspect_socks(VmrpcServer *srv, uint32_t *handle,
                                            VmrpcSockView *view, unsigned max);

/*
 * Increments *@handle up to that of a socket; it may be one already.  Returns
 * false if there are no more.
 */
VMRPC_UNLOCKED bool vmrpc_inspect_next(VmrpcServer *srv, uint32_t *handle);

#endif /* VMRPC_INSPECT_H */
