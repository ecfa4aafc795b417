/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the table of sockets
 *
 * Theory of operation
 * ===================
 *
 * A socket is found by its handle, which is its place in the table, and its
 * generation, which tells it from an earlier socket at the same place.
 *
 * The server's lock guards the table and every field of every socket.  A call
 * gives it up with vmrpc_sock_enter() while the host's kernel moves data or
 * reaches a peer, and takes it again with vmrpc_sock_leave().  Another call may
 * close the socket in between.  It is then removed from the table, but the
 * call holds a reference: the socket and its descriptor stay until the last
 * reference has been given back.
 *
 * vmrpc_sock_set_backing() makes every change of the backing, and
 * vmrpc_sock_set_peer() and vmrpc_sock_clear_peer() make every change of the
 * peer.  They assert that it is possible.
 */
#include "hw/vmrpc/sock/table.h"

#include <errno.h>

#include "hw/vmrpc/sock/timer.h"

VmrpcSock *vmrpc_sock_find(VmrpcServer *srv, uint32_t handle, uint32_t gen)
{
    VmrpcSock *s;

    if (handle >= srv->config.max_sockets) {
        return NULL;
    }
    s = srv->socks[handle];
    return s && s->gen == gen ? s : NULL;
}

int vmrpc_sock_add(VmrpcServer *srv, uint32_t handle, uint32_t gen, int type,
                   const VmrpcBackingOps *ops, VmrpcSock **sp)
{
    VmrpcSock *s;

    if (handle >= srv->config.max_sockets) {
        return -EBADF;
    }
    if (srv->socks[handle]) {
        return -EEXIST;
    }
    s = g_try_new0(VmrpcSock, 1);
    if (!s) {
        return -ENOMEM;
    }
    s->handle = handle;
    s->gen = gen;
    s->type = type;
    s->proto = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
    s->ops = ops;
    s->fd = -1;
    s->refs = 1;
    g_queue_init(&s->dns_rx);
    s->dns_link.data = s;
    srv->socks[handle] = s;
    srv->sock_num++;
    srv->counters.sockets_opened++;
    *sp = s;
    return 0;
}

void vmrpc_sock_ref(VmrpcSock *s)
{
    s->refs++;
}

int vmrpc_sock_unref(VmrpcSock *s)
{
    int fd = s->fd;

    if (--s->refs) {
        return -1;
    }
    g_free(s);
    return fd;
}

int vmrpc_sock_remove(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_sock_clear_peer(srv, s);
    if (s->options) {
        g_byte_array_unref(s->options);
        s->options = NULL;
    }
    vmrpc_sock_take_terms(s, NULL);
    srv->socks[s->handle] = NULL;
    srv->sock_num--;
    srv->counters.sockets_closed++;
    s->removed = true;
    return vmrpc_sock_unref(s);
}

/* A state of @s changes: for debugging. */
static void trace_move(const VmrpcServer *srv, const VmrpcSock *s,
                       const char *what, const char *from, const char *to)
{
    if (srv->tracer.moved && from != to) {
        srv->tracer.moved(srv->tracer.opaque, s->handle, what, from, to);
    }
}

void vmrpc_sock_set_backing(const VmrpcServer *srv, VmrpcSock *s,
                            const VmrpcBackingOps *ops)
{
    static const char *const names[] = {
        [VMRPC_BACKING_HOST] = "host",
        [VMRPC_BACKING_RESOLVER] = "resolver",
        [VMRPC_BACKING_ARRIVING] = "arriving",
        [VMRPC_BACKING_LOST] = "lost",
    };
    static const unsigned next[] = {
        [VMRPC_BACKING_HOST] = 1u << VMRPC_BACKING_HOST |
                               1u << VMRPC_BACKING_RESOLVER |
                               1u << VMRPC_BACKING_ARRIVING,
        [VMRPC_BACKING_RESOLVER] = 0,
        [VMRPC_BACKING_ARRIVING] = 1u << VMRPC_BACKING_HOST |
                                   1u << VMRPC_BACKING_LOST,
        [VMRPC_BACKING_LOST] = 1u << VMRPC_BACKING_ARRIVING |
                               1u << VMRPC_BACKING_LOST,
    };

    g_assert(next[s->ops->kind] & 1u << ops->kind);
    trace_move(srv, s, "backing", names[s->ops->kind], names[ops->kind]);
    s->ops = ops;
}

/* The one place that changes s->binding. */
static void set_binding(const VmrpcServer *srv, VmrpcSock *s, VmrpcBinding to)
{
    static const char *const names[] = {
        [VMRPC_BINDING_NONE] = "none",
        [VMRPC_BINDING_HOST] = "host",
        [VMRPC_BINDING_GUEST] = "guest",
        [VMRPC_BINDING_PROMISED] = "promised",
    };
    static const unsigned next[] = {
        [VMRPC_BINDING_NONE] = 1u << VMRPC_BINDING_HOST |
                               1u << VMRPC_BINDING_PROMISED,
        [VMRPC_BINDING_HOST] = 1u << VMRPC_BINDING_NONE |
                               1u << VMRPC_BINDING_GUEST,
        [VMRPC_BINDING_GUEST] = 1u << VMRPC_BINDING_NONE |
                                1u << VMRPC_BINDING_PROMISED,
        [VMRPC_BINDING_PROMISED] = 1u << VMRPC_BINDING_GUEST,
    };

    g_assert(s->binding == to || next[s->binding] & 1u << to);
    trace_move(srv, s, "binding", names[s->binding], names[to]);
    s->binding = to;
}

void vmrpc_sock_has_port(const VmrpcServer *srv, VmrpcSock *s, bool has)
{
    if (vmrpc_sock_is_bound_by_guest(s)) {
        set_binding(srv, s, has ? VMRPC_BINDING_GUEST : VMRPC_BINDING_PROMISED);
    } else {
        set_binding(srv, s, has ? VMRPC_BINDING_HOST : VMRPC_BINDING_NONE);
    }
}

void vmrpc_sock_guest_binds(const VmrpcServer *srv, VmrpcSock *s)
{
    g_assert(!vmrpc_sock_is_bound_by_guest(s));
    set_binding(srv, s, vmrpc_sock_is_bound(s) ? VMRPC_BINDING_GUEST
                                               : VMRPC_BINDING_PROMISED);
}

void vmrpc_sock_unbind(const VmrpcServer *srv, VmrpcSock *s)
{
    set_binding(srv, s, VMRPC_BINDING_NONE);
}

int vmrpc_sock_admit(VmrpcServer *srv, VmrpcSock *s, unsigned op)
{
    return s->ops->admit ? s->ops->admit(srv, s, op) : 0;
}

int vmrpc_sock_admit_connecting(VmrpcServer *srv, VmrpcSock *s, unsigned op)
{
    if (s->ops->refresh) {
        s->ops->refresh(srv, s);        /* it may be over */
    }
    if (!vmrpc_sock_is_connecting(s)) {
        return 0;
    }
    switch (op) {
    case VMRPC_BIND:
    case VMRPC_LISTEN:
        return -EINVAL;
    case VMRPC_CONNECT:
        return -EALREADY;
    case VMRPC_SENDMSG:
    case VMRPC_RECVMSG:
        return -EAGAIN;
    case VMRPC_GETPEERNAME:
        return -ENOTCONN;
    default:
        return 0;               /* SHUTDOWN stops it */
    }
}

uint32_t vmrpc_sock_ready_connecting(const VmrpcSock *s)
{
    return 0;
}

void vmrpc_sock_stop_connecting(VmrpcServer *srv, VmrpcSock *s)
{
    if (vmrpc_sock_is_connecting(s)) {
        s->ops->detach(srv, s);
    }
}

void vmrpc_sock_enter(VmrpcServer *srv, VmrpcSock *s)
{
    s->users++;
    vmrpc_unlock(srv);
}

bool vmrpc_sock_leave(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_lock(srv);
    s->users--;
    return !s->removed;
}

bool vmrpc_address_hold(VmrpcServer *srv, struct in_addr addr)
{
    return srv->reach.map && vmrpc_addrmap_ref(srv->reach.map, addr) == 0;
}

void vmrpc_address_release(VmrpcServer *srv, struct in_addr addr, bool held)
{
    if (held) {
        vmrpc_addrmap_unref(srv->reach.map, addr, vmrpc_now_ms());
    }
}

/* The one place that changes s->peer. */
static void become(const VmrpcServer *srv, VmrpcSock *s, VmrpcPeer peer)
{
    static const char *const names[] = {
        [VMRPC_PEER_NONE] = "none",
        [VMRPC_PEER_CLIENTS] = "clients",
        [VMRPC_PEER_REMOTE] = "remote",
        [VMRPC_PEER_RESOLVER] = "resolver",
        [VMRPC_PEER_SELF] = "self",
    };

    g_assert(s->peer == VMRPC_PEER_NONE || peer == VMRPC_PEER_NONE);
    g_assert(peer != VMRPC_PEER_CLIENTS || s->type == SOCK_STREAM);
    g_assert(peer != VMRPC_PEER_SELF || s->type == SOCK_DGRAM);
    trace_move(srv, s, "peer", names[s->peer], names[peer]);
    s->peer = peer;
}

void vmrpc_sock_set_peer(VmrpcServer *srv, VmrpcSock *s, VmrpcPeer peer,
                         const struct sockaddr_in *addr)
{
    /* Take the new reference first: both may be of the same address. */
    bool held = addr && vmrpc_address_hold(srv, addr->sin_addr);

    vmrpc_sock_clear_peer(srv, s);
    become(srv, s, peer);
    s->peer_held = held;
    if (addr) {
        s->peer4 = addr->sin_addr;
        s->peer_port = addr->sin_port;
    }
}

void vmrpc_sock_clear_peer(VmrpcServer *srv, VmrpcSock *s)
{
    int value = 0;              /* ignored, but there must be one */

    vmrpc_address_release(srv, s->peer4, s->peer_held);
    s->peer_held = false;
    become(srv, s, VMRPC_PEER_NONE);
    if (s->filtered) {
        setsockopt(s->fd, SOL_SOCKET, SO_DETACH_FILTER, &value, sizeof(value));
        s->filtered = false;
    }
    s->peer4.s_addr = 0;
    s->peer_port = 0;
    s->says = VMRPC_SAYS_ANYTHING;
    g_clear_pointer(&s->said, g_free);
}

void vmrpc_sock_take_terms(VmrpcSock *s, VmrpcTerms *terms)
{
    vmrpc_terms_unref(s->terms);
    s->terms = terms;
}
