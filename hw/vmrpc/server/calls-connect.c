/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: BIND, LISTEN, CONNECT, ACCEPT
 */
#include "hw/vmrpc/server/calls-connect.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "hw/vmrpc/peer/arriving.h"
#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/peer/parked.h"
#include "hw/vmrpc/peer/proxied.h"
#include "hw/vmrpc/peer/race.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/gateway.h"
#include "hw/vmrpc/server/policy-file.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* One ACCEPT drops at most this many connections while the pool is full. */
#define ACCEPT_DROP_MAX 16

int vmrpc_call_bind(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_in sin;
    int ret;

    vmrpc_call_addr(call, &sin);
    if (sin.sin_family != AF_INET) {
        return -EAFNOSUPPORT;
    }
    ret = vmrpc_sock_is_bound_by_guest(s)
          ? -EINVAL : vmrpc_sock_admit(srv, s, VMRPC_BIND);
    if (ret < 0) {
        return ret;
    }
    if (vmrpc_addr_is_multicast(&srv->reach, sin.sin_addr)) {
        ret = vmrpc_groups_bind_socket(srv, s, sin.sin_addr, sin.sin_port);
    } else if (sin.sin_addr.s_addr != INADDR_ANY &&
               sin.sin_addr.s_addr != srv->config.reach.guest4.s_addr) {
        return -EADDRNOTAVAIL;
    } else {
        ret = vmrpc_host_bind(srv, s, sin.sin_port);
    }
    if (ret == -EADDRINUSE && !vmrpc_sock_is_bound(s) &&
        vmrpc_host_is_second(srv, s, sin.sin_port, false)) {
        /* The guest's kernel knows whether the two may share the port. */
        vmrpc_sock_guest_binds(srv, s);
        s->local_port = sin.sin_port;
        vmrpc_arriving_begin(srv, s);
        ret = 0;
    } else if (ret == 0) {
        vmrpc_sock_guest_binds(srv, s);
    }
    if (ret < 0) {
        return ret;
    }
    ret = vmrpc_local_address(srv, s, &call->result);
    s->local_port = call->result.sin_port;
    call->result.sin_addr = sin.sin_addr;
    return ret;
}

/* @s will listen when it has arrived, if it has a port. */
static VMRPC_LOCKED int listen_later(VmrpcServer *srv, VmrpcSock *s,
                                     int backlog, VmrpcCall *call)
{
    if (!s->local_port) {
        return -s->missing_error;
    }
    vmrpc_sock_set_peer(srv, s, VMRPC_PEER_CLIENTS, NULL);
    s->backlog = backlog;
    vmrpc_sock_refresh(srv, s);
    return vmrpc_local_address(srv, s, &call->result);
}

int vmrpc_call_listen(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    int backlog = MIN(call->arg[0], (uint32_t)INT32_MAX);
    int ret;

    if (s->type != SOCK_STREAM) {
        return -EOPNOTSUPP;
    }
    if (vmrpc_sock_is_arriving(s)) {
        return listen_later(srv, s, backlog, call);
    }
    ret = vmrpc_sock_admit(srv, s, VMRPC_LISTEN);
    if (ret < 0) {
        return ret;
    }
    /* Unbound, the host would listen on all of its addresses. */
    if (!vmrpc_sock_is_bound(s)) {
        ret = vmrpc_host_bind(srv, s, 0);
        if (ret < 0) {
            return ret;
        }
    }
    ret = vmrpc_host_listen(srv, s, backlog);
    if (ret == -EADDRINUSE && vmrpc_sock_is_bound_by_guest(s) &&
        vmrpc_host_is_second(srv, s, s->local_port, true)) {
        ret = listen_later(srv, s, backlog, call);
        vmrpc_arriving_begin(srv, s);
        return ret;
    }
    if (ret < 0) {
        return ret;
    }
    vmrpc_sock_set_peer(srv, s, VMRPC_PEER_CLIENTS, NULL);
    s->backlog = backlog;
    vmrpc_sock_refresh(srv, s);
    ret = vmrpc_local_address(srv, s, &call->result);
    s->local_port = call->result.sin_port;
    return ret;
}

/*
 * As vmrpc_host_bind_source(), for a stream that is to be connected; without
 * the lock, as it takes a while.  -EBADF: the guest has closed @s meanwhile.
 */
static VMRPC_LOCKED int bind_stream_source(VmrpcServer *srv, VmrpcSock *s)
{
    int ret;

    if (vmrpc_sock_is_bound(s)) {
        return 0;
    }
    s->connecting = true;
    vmrpc_sock_enter(srv, s);
    ret = vmrpc_host_bind_address(srv, s);
    vmrpc_sock_leave(srv, s);
    s->connecting = false;
    if (s->removed) {
        return -EBADF;
    }
    if (ret > 0) {
        vmrpc_sock_has_port(srv, s, true);
    }
    return MIN(ret, 0);
}

static VMRPC_LOCKED int disconnect_host(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };

    if (vmrpc_sock_host_has_peer(s) &&
        connect(s->fd, &unspec, sizeof(unspec)) < 0) {
        return -errno;
    }
    vmrpc_sock_clear_peer(srv, s);
    return 0;
}

/* Disconnects @s, which keeps its port. */
static VMRPC_LOCKED int disconnect_keep_port(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_in before;
    int ret = vmrpc_local_address(srv, s, &before);

    if (ret == 0) {
        ret = disconnect_host(srv, s);
    }
    return ret < 0 ? ret : vmrpc_host_restore_port(srv, s, before.sin_port);
}

static VMRPC_LOCKED int connect_resolver(VmrpcServer *srv, VmrpcSock *s,
                                         const struct sockaddr_in *peer,
                                         VmrpcCall *call)
{
    if (s->type == SOCK_DGRAM) {
        int ret = vmrpc_sock_is_connected(s) ? disconnect_keep_port(srv, s) : 0;

        if (ret < 0) {
            return ret;
        }
        vmrpc_sock_set_peer(srv, s, VMRPC_PEER_RESOLVER, peer);
        vmrpc_host_filter_all(s);
    } else {
        if (s->peer != VMRPC_PEER_NONE) {
            return -EISCONN;
        }
        /* Another thread uses the host socket, and has no peer yet. */
        if (s->users) {
            return -EALREADY;
        }
        vmrpc_resolver_attach(srv, s);
        vmrpc_sock_set_peer(srv, s, VMRPC_PEER_RESOLVER, peer);
    }
    vmrpc_sock_refresh(srv, s);
    return vmrpc_local_address(srv, s, &call->result);
}

/* connect() to AF_UNSPEC. */
static VMRPC_LOCKED int disconnect(VmrpcServer *srv, VmrpcSock *s)
{
    int ret;

    if (vmrpc_sock_is_lost(s)) {
        return -ECONNRESET;
    }
    vmrpc_sock_stop_connecting(srv, s);
    vmrpc_evidence_close(srv, s);
    s->peer_opened = false;
    /* Its memberships stay, and their datagrams come to the same port. */
    ret = (vmrpc_sock_is_bound_by_guest(s) || vmrpc_groups_num(s)) &&
          vmrpc_sock_is_host(s)
          ? disconnect_keep_port(srv, s) : disconnect_host(srv, s);
    vmrpc_first_disconnect(srv, s);
    if (s->peer == VMRPC_PEER_NONE) {
        vmrpc_sock_take_terms(s, NULL);
    }
    vmrpc_sock_refresh(srv, s);
    /* Without a host socket it cannot be connected again, only closed. */
    return ret == 0 && vmrpc_dns_is_stream(s) ? -ECONNRESET : ret;
}

/*
 * A stream that has a peer: another connect() does not change it, so its terms
 * stay, unless the attempt has failed.  Returns 0 if a new one may begin.
 */
static VMRPC_LOCKED int connect_anew(VmrpcServer *srv, VmrpcSock *s)
{
    struct tcp_info info = { };
    socklen_t len = sizeof(info);

    getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
    switch (info.tcpi_state) {
    case TCP_CLOSE:
        vmrpc_sock_clear_peer(srv, s);
        return 0;
    case TCP_SYN_SENT:
    case TCP_SYN_RECV:
        return -EALREADY;
    default:
        return -EISCONN;
    }
}

/*
 * Finds the host's address of @peer, if @s may connect to it, and gives @s the
 * VM's address.  Returns the length of *@host, or a negative errno; in either
 * case the caller has a reference to pass->terms, if there are any.
 */
static VMRPC_LOCKED int prepare_connect(VmrpcServer *srv, VmrpcSock *s,
                                        const struct sockaddr_in *peer,
                                        struct sockaddr_storage *host,
                                        VmrpcPass *pass)
{
    uint64_t reloads;
    int len, ret;

    do {
        vmrpc_terms_unref(pass->terms);
        pass->terms = NULL;
        reloads = srv->counters.policy_reloads;
        len = vmrpc_evidence_dest(srv, s, peer, host, pass);
        if (len < 0) {
            return len;
        }
        ret = s->type == SOCK_STREAM ? bind_stream_source(srv, s)
                                     : vmrpc_host_bind_source(srv, s);
    } while (ret == 0 && reloads != srv->counters.policy_reloads);
    if (ret == 0) {
        ret = vmrpc_groups_prepare_send(srv, s, host);
    }
    if (ret == 0) {
        ret = vmrpc_budget_connection(srv, s, host);
    }
    return ret < 0 ? ret : len;
}

/* @s is connected to @peer, or connecting. */
static VMRPC_LOCKED void remember_peer(VmrpcServer *srv, VmrpcSock *s,
                                       const struct sockaddr_in *peer,
                                       VmrpcCall *call)
{
    vmrpc_sock_set_peer(srv, s, VMRPC_PEER_REMOTE, peer);
    /* An accepted stream, or one that was shut down, can be connected again. */
    s->accepted = false;
    s->fin_sent = false;
    if (s->first) {
        vmrpc_gateway_detach(s);
    } else if (s->type == SOCK_STREAM) {
        vmrpc_gateway_attach(srv, s, peer->sin_port, false);
    } else {
        /* Streams do without: few programs need it, and they can ask. */
        vmrpc_local_address(srv, s, &call->result);
    }
}

/* Nothing is sent before the stream is watched, so it keeps the lock. */
static VMRPC_LOCKED int connect_watched(VmrpcServer *srv, VmrpcSock *s,
                                        const struct sockaddr_storage *ss,
                                        socklen_t len, VmrpcSays says)
{
    int ret = vmrpc_first_expect(srv, s, says, ss, NULL);

    if (ret == 0) {
        ret = connect(s->fd, (const struct sockaddr *)ss, len) < 0 ? -errno
                                                                   : 0;
        vmrpc_first_connects(srv, s, says, ret);
    }
    return ret;
}

/*
 * connect().  That of a datagram socket is short, and another thread may change
 * its peer, so it keeps the lock.  Returns 0 or a negative errno; the guest may
 * have closed @s meanwhile.
 */
static VMRPC_LOCKED int connect_host(VmrpcServer *srv, VmrpcSock *s,
                                     const struct sockaddr_storage *ss,
                                     socklen_t len, VmrpcSays says)
{
    int ret;

    if (s->type == SOCK_STREAM && (says != VMRPC_SAYS_ANYTHING || s->first)) {
        return connect_watched(srv, s, ss, len, says);
    }
    if (s->type == SOCK_DGRAM) {
        return connect(s->fd, (const struct sockaddr *)ss, len) < 0 ? -errno
                                                                    : 0;
    }
    s->connecting = true;
    vmrpc_sock_enter(srv, s);
    ret = connect(s->fd, (const struct sockaddr *)ss, len) < 0 ? -errno : 0;
    vmrpc_sock_leave(srv, s);
    s->connecting = false;
    return ret;
}

static VMRPC_LOCKED int connect_proxied(VmrpcServer *srv, VmrpcSock *s,
                                        const struct sockaddr_storage *host,
                                        const VmrpcPass *pass)
{
    bool watched = pass->says != VMRPC_SAYS_ANYTHING || s->first;
    const char *name = pass->name[0] ? pass->name : NULL;
    int ret = watched ? vmrpc_first_expect(srv, s, pass->says, host, name) : 0;

    if (ret == 0) {
        ret = vmrpc_proxied_connect(srv, s, host, pass);
        if (watched) {
            vmrpc_first_connects(srv, s, pass->says, ret);
        }
    }
    return ret;
}

/*
 * Connects @s to @host, as @pass says.  The terms are in force before the first
 * octet can be sent; @pass keeps those that are not.
 */
static VMRPC_LOCKED int connect_by(VmrpcServer *srv, VmrpcSock *s,
                                   const struct sockaddr_storage *host,
                                   socklen_t len, VmrpcPass *pass)
{
    VmrpcTerms *before = s->terms;
    int ret;

    /* A call of another thread could reach a peer that has other terms. */
    if (s->type == SOCK_STREAM && s->users && (pass->terms || s->terms)) {
        return -EALREADY;
    }
    /*
     * One that sends to the peer before could send to one that demands more, by
     * the terms and with the line of the former.
     */
    if (s->senders && (pass->says != VMRPC_SAYS_ANYTHING || pass->terms ||
                       s->terms || srv->config.audit)) {
        return -EALREADY;
    }
    if (pass->terms && pass->terms->via) {
        ret = connect_proxied(srv, s, host, pass);
        if (ret == -EINPROGRESS) {
            vmrpc_sock_take_terms(s, g_steal_pointer(&pass->terms));
        }
        return ret;
    }
    s->terms = pass->terms;
    pass->terms = before;
    ret = connect_host(srv, s, host, len, pass->says);
    if (s->removed) {
        return -EBADF;
    }
    ret = vmrpc_sock_error(srv, s, host, ret);
    if (ret < 0) {
        ret = vmrpc_race_start(srv, s, host, ret);
    }
    if (ret < 0 && ret != -EINPROGRESS) {
        pass->terms = s->terms;
        s->terms = before;
    }
    return ret;
}

/* --- a connection that waits for the audit log ---------------------------- */

/* In the IOThread: connects what waited, and reports how that went. */
static VMRPC_LOCKED void process_parked(VmrpcServer *srv, VmrpcSock *s,
                                        uint32_t events)
{
    VmrpcCall call = {
        .op = VMRPC_CONNECT, .close_fd = -1,
        .flags = s->inet6 ? VMRPC_REQ_INET6 : 0,
        .addr.addr = s->parked_flow,
        .named = {
            .sin_family = AF_INET, .sin_addr = s->peer4,
            .sin_port = s->peer_port,
        },
    };
    int fd, ret;

    if (!vmrpc_evidence_admits(srv)) {
        return;                 /* an event of the host's socket */
    }
    vmrpc_unpark(srv, s);
    vmrpc_sock_set_backing(srv, s, &vmrpc_host_backing);
    vmrpc_sock_ref(s);
    ret = vmrpc_call_connect(srv, s, &call);
    if (!s->removed) {
        if (ret < 0 && ret != -EINPROGRESS) {
            s->so_error = -ret;
        }
        vmrpc_sock_watch(srv, s);
        vmrpc_sock_notify(srv, s);
    }
    fd = vmrpc_sock_unref(s);
    if (fd >= 0) {
        close(fd);              /* the guest has closed @s meanwhile */
    }
}

static VMRPC_LOCKED void detach_parked(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_unpark(srv, s);
    vmrpc_sock_set_backing(srv, s, &vmrpc_host_backing);
}

static const VmrpcBackingOps parked_backing = {
    .kind = VMRPC_BACKING_HOST,
    .admit = vmrpc_sock_admit_connecting,
    .ready = vmrpc_sock_ready_connecting,
    .process = process_parked,
    .detach = detach_parked,
};

static VMRPC_LOCKED int park_connect(VmrpcServer *srv, VmrpcSock *s,
                                     const struct sockaddr_in *peer,
                                     const VmrpcCall *call)
{
    vmrpc_sock_set_peer(srv, s, VMRPC_PEER_REMOTE, peer);
    s->parked_flow = call->addr.addr;
    vmrpc_unpark(srv, s);       /* it may have been a listener */
    vmrpc_sock_set_backing(srv, s, &parked_backing);
    vmrpc_park(srv, s, VMRPC_PARKED_CONNECT);
    return -EINPROGRESS;
}

/* --- CONNECT, ACCEPT -------------------------------------------------------- */

int vmrpc_call_connect(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    VmrpcPass pass VMRPC_UNINITIALIZED;
    struct sockaddr_storage ss;
    struct sockaddr_in peer;
    unsigned ends = srv->policy_ends;
    int len, ret;

    /*
     * Another thread connects it just now.  This call would change what that
     * one has found out: its terms, its line in the audit log.
     */
    if (s->connecting) {
        return -EALREADY;
    }
    vmrpc_call_addr(call, &peer);
    if (peer.sin_family != AF_INET) {
        return disconnect(srv, s);
    }
    ret = vmrpc_sock_admit(srv, s, VMRPC_CONNECT);
    if (ret < 0) {
        return ret;
    }
    if (!vmrpc_sock_is_ping(s) && vmrpc_is_resolver(srv, &peer)) {
        return connect_resolver(srv, s, &peer, call);
    }
    if (s->type == SOCK_DGRAM && !vmrpc_sock_is_ping(s) &&
        peer.sin_addr.s_addr == srv->config.reach.guest4.s_addr) {
        ret = vmrpc_host_connect_self(srv, s);
        vmrpc_sock_refresh(srv, s);
        return ret;
    }
    if (s->type == SOCK_STREAM && vmrpc_sock_is_connected(s)) {
        ret = connect_anew(srv, s);
        if (ret < 0) {
            return ret;
        }
    }
    if (s->type == SOCK_STREAM && !vmrpc_evidence_admits(srv)) {
        return park_connect(srv, s, &peer, call);
    }
    pass.terms = NULL;
    len = prepare_connect(srv, s, &peer, &ss, &pass);
    if (len < 0) {
        vmrpc_terms_unref(pass.terms);
        return len;
    }
    if (s->type == SOCK_STREAM) {
        vmrpc_evidence_close(srv, s);
        vmrpc_evidence_open(srv, s, &ss, pass.terms);
    }
    s->peer_opened = false;
    vmrpc_call_put_flow(call, &ss);
    ret = connect_by(srv, s, &ss, len, &pass);
    vmrpc_terms_unref(pass.terms);
    s->open_error = ret < 0 && ret != -EINPROGRESS ? -ret : 0;
    if (s->removed) {
        return -EBADF;
    }
    if (ret == 0 || ret == -EINPROGRESS) {
        remember_peer(srv, s, &peer, call);
        if (ends != srv->policy_ends) {
            vmrpc_policy_judge_again(srv, s);
        }
    }
    if (ret == 0 && s->type == SOCK_DGRAM) {
        s->peer_decided = s->decided;
        vmrpc_datagrams_connected(srv, s, pass.says);
    }
    if (ret == -EINPROGRESS && call->wait_us && !s->race && !s->proxied) {
        /* Where the call waits, that tells. */
        vmrpc_ready_polled(srv, s, 0);
    } else {
        vmrpc_sock_refresh(srv, s);
    }
    return ret;
}

/*
 * Takes connections until the peer of one has an address for the guest.
 * Returns its descriptor or a negative errno.
 */
static VMRPC_LOCKED int accept_host(VmrpcServer *srv, VmrpcSock *s,
                                    struct sockaddr_in *peer)
{
    for (int i = 0; i < ACCEPT_DROP_MAX; i++) {
        struct sockaddr_storage ss = { };
        socklen_t len = sizeof(ss);
        int fd = accept4(s->fd, (struct sockaddr *)&ss, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            return -errno;
        }
        if (vmrpc_addr_to_guest(&srv->reach, &ss, peer) == 0) {
            return fd;
        }
        srv->counters.dropped_pool_full++;
        close(fd);
    }
    return -EAGAIN;
}

/* The guest takes a connection. */
static VMRPC_LOCKED void open_incoming(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (srv->config.audit &&
        getpeername(s->fd, (struct sockaddr *)&ss, &len) == 0) {
        vmrpc_evidence_accept(srv, s, &ss);
    }
}

int vmrpc_call_accept(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_in peer;
    VmrpcBuffers buffers;
    VmrpcSock *child;
    int fd, ret;

    if (!vmrpc_sock_is_listening(s)) {
        return -EINVAL;
    }
    ret = vmrpc_sock_admit(srv, s, VMRPC_ACCEPT);
    if (ret == 0) {
        /* First: a connection that is taken off the queue needs a place. */
        ret = vmrpc_budget_socket(srv, NULL);
    }
    if (ret < 0) {
        return ret;
    }
    if (call->arg[0] >= srv->config.max_sockets) {
        return -EBADF;
    }
    if (srv->socks[call->arg[0]]) {
        return -EEXIST;
    }
    if (!vmrpc_evidence_admits(srv)) {
        vmrpc_park(srv, s, VMRPC_PARKED_ACCEPT);
        return -EAGAIN;
    }
    ret = vmrpc_budget_reserve(srv, s, NULL, &buffers);
    if (ret < 0) {
        return ret;
    }
    fd = accept_host(srv, s, &peer);
    vmrpc_sock_refresh(srv, s);
    if (fd < 0) {
        vmrpc_budget_release(srv, &buffers);
        if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS ||
            fd == -ENOMEM) {
            srv->counters.sockets_refused_host++;
        }
        return fd;
    }
    vmrpc_budget_apply(srv, fd, &buffers);
    ret = vmrpc_host_open(srv, call->arg[0], call->arg[1], SOCK_STREAM, fd,
                          &buffers, &child);
    if (ret < 0) {
        return ret;
    }
    child->inet6 = s->inet6;
    child->accepted = true;
    vmrpc_sock_has_port(srv, child, true);
    vmrpc_sock_set_peer(srv, child, VMRPC_PEER_REMOTE, &peer);
    open_incoming(srv, child);
    vmrpc_gateway_attach(srv, child, s->local_port, true);
    vmrpc_sock_refresh(srv, child);
    child->reported = vmrpc_sock_ready(child);
    call->value = child->reported;
    call->result = peer;
    return 0;
}
