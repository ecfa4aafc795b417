/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the socket calls (paper, section 4.3)
 *
 * Every function here executes one call on one host socket, at once: host
 * sockets are non-blocking, and the few host calls that would wait all the
 * same (close() with SO_LINGER) are never set up to.  All run under the
 * server's lock, and leave it where vmrpc_sock_enter() says so.  A call gets
 * what the guest asked in VmrpcCall, leaves its results there and returns 0 or
 * a negative errno, which is what the guest's program will see.
 */
#include "hw/vmrpc/server-internal.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Flags of sendmsg/recvmsg that mean the same on the host. */
#define SEND_FLAGS  (MSG_OOB | MSG_MORE | MSG_EOR | MSG_CONFIRM)
#define RECV_FLAGS  (MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)

/* Datagrams of peers that found the pool full, dropped in one RECVMSG. */
#define RECV_DROP_MAX   16

static int sock_proto(const VmrpcSock *s)
{
    return s->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
}

static bool is_host(const VmrpcSock *s)
{
    return s->backing == VMRPC_BACKING_HOST;
}

/* --- SOCKET, CLOSE ------------------------------------------------------ */

int vmrpc_host_socket(VmrpcServer *srv, int type)
{
    int family = srv->config.translate ? AF_INET6 : AF_INET;
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;

    if (fd < 0) {
        return -errno;
    }
    /*
     * ::ffff:0:0/96 would let IPv4 in by the back door, to a datagram socket
     * of a VM without an address of its own.  Streams are bound to the VM's
     * address before they listen, or have a peer.
     */
    if (family == AF_INET6 && type == SOCK_DGRAM &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) {
        int err = errno;

        close(fd);
        return -err;
    }
    return fd;
}

static int call_socket(VmrpcServer *srv, VmrpcCall *call)
{
    int type = call->arg[0];
    int proto = call->arg[1];
    VmrpcSock *s;
    int fd, ret;

    if (!(type == SOCK_STREAM && (proto == 0 || proto == IPPROTO_TCP)) &&
        !(type == SOCK_DGRAM && (proto == 0 || proto == IPPROTO_UDP))) {
        return -EPROTONOSUPPORT;
    }
    if (srv->sock_num >= srv->config.max_sockets) {
        srv->counters.sockets_refused_limit++;
        return -EMFILE;
    }
    fd = vmrpc_host_socket(srv, type);
    if (fd < 0) {
        srv->counters.sockets_refused_host++;
        return fd;
    }
    ret = vmrpc_sock_add(srv, call->handle, call->gen, type, fd, &s);
    if (ret == 0) {
        /* What poll(2) says of every new one. */
        s->ready = type == SOCK_STREAM ? VMRPC_OUT | VMRPC_HUP : VMRPC_OUT;
    }
    return ret;
}

static int call_close(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    vmrpc_gateway_finish(s);
    call->close_fd = vmrpc_sock_remove(srv, s);
    return 0;
}

static int call_noop(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    vmrpc_sock_refresh(srv, s);
    return 0;
}

/* --- BIND, LISTEN, CONNECT, ACCEPT -------------------------------------- */

static void call_addr(const VmrpcCall *call, struct sockaddr_in *sin)
{
    memset(sin, 0, sizeof(*sin));
    sin->sin_family = GUINT16_FROM_LE(call->addr.family) == VMRPC_AF_INET
                      ? AF_INET : AF_UNSPEC;
    sin->sin_port = call->addr.port;
    sin->sin_addr.s_addr = call->addr.addr;
}

int vmrpc_host_bind(VmrpcServer *srv, VmrpcSock *s, in_port_t port)
{
    struct sockaddr_storage ss;
    int len = vmrpc_own_address(srv, port, &ss);

    if (len < 0) {
        /*
         * No address of its own: a datagram socket may have any port, as it
         * gets one when it sends; a server could take another VM's clients.
         */
        if (s->type == SOCK_DGRAM && port == 0) {
            return 0;
        }
        return len;
    }
    if (bind(s->fd, (struct sockaddr *)&ss, len) < 0) {
        return -errno;
    }
    s->bound = true;
    return 0;
}

int vmrpc_local_address(const VmrpcServer *srv, const VmrpcSock *s,
                        struct sockaddr_in *sin)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    memset(sin, 0, sizeof(*sin));
    sin->sin_family = AF_INET;
    if (s->arriving) {
        sin->sin_port = htons(s->arriving->local_port);
        sin->sin_addr.s_addr = sin->sin_port ? srv->config.guest4.s_addr
                                             : INADDR_ANY;
        return 0;
    }
    if (!is_host(s) || (s->peer_is_resolver && !s->bound)) {
        /* Nobody else sees this port; make it look like one. */
        sin->sin_addr = srv->config.guest4;
        sin->sin_port = htons(32768 + s->handle % 28232);
        return 0;
    }
    if (getsockname(s->fd, (struct sockaddr *)&ss, &len) < 0) {
        return -errno;
    }
    sin->sin_port = ss.ss_family == AF_INET6
                    ? ((struct sockaddr_in6 *)&ss)->sin6_port
                    : ((struct sockaddr_in *)&ss)->sin_port;
    if (s->bound || s->connected) {
        sin->sin_addr = srv->config.guest4;
    }
    return 0;
}

static int call_bind(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_in sin;
    int ret;

    call_addr(call, &sin);
    if (sin.sin_family != AF_INET) {
        return -EAFNOSUPPORT;
    }
    if (!is_host(s) || s->bound_by_guest) {
        return -EINVAL;
    }
    if (sin.sin_addr.s_addr != INADDR_ANY &&
        sin.sin_addr.s_addr != srv->config.guest4.s_addr) {
        return -EADDRNOTAVAIL;
    }
    ret = vmrpc_host_bind(srv, s, sin.sin_port);
    if (ret < 0) {
        return ret;
    }
    s->bound_by_guest = true;
    ret = vmrpc_local_address(srv, s, &call->result);
    s->local_port = call->result.sin_port;
    call->result.sin_addr = sin.sin_addr;
    return ret;
}

static int call_listen(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    int backlog = MIN(call->arg[0], (uint32_t)INT32_MAX);
    int ret;

    if (s->type != SOCK_STREAM) {
        return -EOPNOTSUPP;
    }
    if (!is_host(s)) {
        return -EINVAL;
    }
    /* Unbound, the host would listen on all of its addresses. */
    if (!s->bound) {
        ret = vmrpc_host_bind(srv, s, 0);
        if (ret < 0) {
            return ret;
        }
    }
    if (listen(s->fd, backlog) < 0) {
        return -errno;
    }
    /* It may have failed as a client before: no peer stays from that. */
    vmrpc_sock_clear_peer(srv, s);
    s->listening = true;
    s->backlog = backlog;
    vmrpc_sock_refresh(srv, s);
    ret = vmrpc_local_address(srv, s, &call->result);
    s->local_port = call->result.sin_port;
    return ret;
}

int vmrpc_host_bind_source(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage ss;
    int len, one = 1;

    if (s->bound) {
        return 0;
    }
    len = vmrpc_own_address(srv, 0, &ss);
    if (len < 0) {
        return 0;           /* no address of its own: the host's choice */
    }
    /* The port is chosen by connect, so that ports are not used up. */
    if (s->type == SOCK_STREAM) {
        setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
                   sizeof(one));
    }
    if (bind(s->fd, (struct sockaddr *)&ss, len) < 0) {
        return -errno;
    }
    s->bound = true;
    return 0;
}

static int disconnect_host(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };

    if (is_host(s) && !s->peer_is_resolver &&
        connect(s->fd, &unspec, sizeof(unspec)) < 0) {
        return -errno;
    }
    vmrpc_sock_clear_peer(srv, s);
    s->listening = false;
    if (s->arriving) {
        /* It shall not come back when the socket has arrived. */
        s->arriving->flags &= ~(VMRPC_SAVED_CONNECTED | VMRPC_SAVED_RESOLVER |
                                VMRPC_SAVED_LISTENING);
    }
    return 0;
}

/*
 * A socket that Linux takes the peer from, or the listening, loses a port that
 * it did not ask for by number; the guest goes on with it.  Puts @port back.
 */
static int restore_port(VmrpcServer *srv, VmrpcSock *s, in_port_t port)
{
    int ret;

    if (!s->bound || !is_host(s)) {
        return 0;
    }
    /* getsockname() may tell a port that is lost; bind() knows better. */
    ret = vmrpc_host_bind(srv, s, port);
    if (ret == -EADDRINUSE) {
        /* By its own connections: then it is unbound, as natively. */
        s->bound = false;
        s->bound_by_guest = false;
        return 0;
    }
    return ret == -EINVAL ? 0 : ret;
}

/* Takes the peer from a socket that has its port for good. */
static int disconnect_keep_port(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_in before;
    int ret = vmrpc_local_address(srv, s, &before);

    if (ret == 0) {
        ret = disconnect_host(srv, s);
    }
    return ret < 0 ? ret : restore_port(srv, s, before.sin_port);
}

static int connect_resolver(VmrpcServer *srv, VmrpcSock *s,
                            const struct sockaddr_in *peer, VmrpcCall *call)
{
    if (s->type == SOCK_DGRAM) {
        int ret = s->connected ? disconnect_keep_port(srv, s) : 0;

        if (ret < 0) {
            return ret;
        }
        vmrpc_sock_set_peer(srv, s, peer);
        s->peer_is_resolver = true;
    } else {
        if (s->connected || s->listening) {
            return -EISCONN;
        }
        /* Another thread is about to find out that there is no peer. */
        if (s->users) {
            return -EALREADY;
        }
        vmrpc_sock_become_resolver(srv, s);
        vmrpc_sock_set_peer(srv, s, peer);
    }
    vmrpc_sock_refresh(srv, s);
    return vmrpc_local_address(srv, s, &call->result);
}

static int call_connect(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_storage ss;
    struct sockaddr_in peer;
    int len, ret;

    call_addr(call, &peer);
    if (s->backing == VMRPC_BACKING_LOST) {
        return -ECONNRESET;
    }
    if (peer.sin_family != AF_INET) {
        ret = s->bound_by_guest && is_host(s) ? disconnect_keep_port(srv, s)
                                              : disconnect_host(srv, s);
        vmrpc_sock_refresh(srv, s);
        return ret;
    }
    if (!is_host(s)) {
        return -EISCONN;
    }
    if (vmrpc_is_resolver(srv, &peer)) {
        return connect_resolver(srv, s, &peer, call);
    }
    len = vmrpc_dest_to_host(srv, &peer, sock_proto(s), &ss);
    if (len < 0) {
        return len;
    }
    ret = vmrpc_host_bind_source(srv, s);
    if (ret < 0) {
        return ret;
    }
    vmrpc_sock_enter(srv, s);
    ret = connect(s->fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 0;
    if (!vmrpc_sock_leave(srv, s)) {
        return -EBADF;
    }
    if (ret == 0 || ret == -EINPROGRESS) {
        vmrpc_sock_set_peer(srv, s, &peer);
        s->listening = false;   /* the host knows better */
        if (s->type == SOCK_STREAM) {
            vmrpc_gateway_attach(srv, s, peer.sin_port, false);
        }
        /* Few ask for the name of a stream: they can. */
        if (s->type == SOCK_DGRAM) {
            vmrpc_local_address(srv, s, &call->result);
        }
    }
    vmrpc_sock_refresh(srv, s);
    return ret;
}

/*
 * Takes connections until one has a peer that the guest can be told.
 * Returns its descriptor or a negative errno.
 */
static int accept_host(VmrpcServer *srv, VmrpcSock *s,
                       struct sockaddr_in *peer)
{
    for (int i = 0; i < RECV_DROP_MAX; i++) {
        struct sockaddr_storage ss = { };
        socklen_t len = sizeof(ss);
        int fd = accept4(s->fd, (struct sockaddr *)&ss, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            return -errno;
        }
        if (vmrpc_addr_to_guest(srv, &ss, peer) == 0) {
            return fd;
        }
        srv->counters.dropped_pool_full++;
        close(fd);
    }
    return -EAGAIN;
}

static int call_accept(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_in peer;
    VmrpcSock *child;
    int fd, ret;

    if (!s->listening) {
        return -EINVAL;
    }
    if (s->backing == VMRPC_BACKING_ARRIVING) {
        return -EAGAIN;
    }
    /* Do not take a connection off the queue that has nowhere to go. */
    if (srv->sock_num >= srv->config.max_sockets) {
        srv->counters.sockets_refused_limit++;
        return -EMFILE;
    }
    if (call->arg[0] >= srv->config.max_sockets) {
        return -EBADF;
    }
    if (srv->socks[call->arg[0]]) {
        return -EEXIST;
    }
    fd = accept_host(srv, s, &peer);
    vmrpc_sock_refresh(srv, s);
    if (fd < 0) {
        if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS ||
            fd == -ENOMEM) {
            srv->counters.sockets_refused_host++;
        }
        return fd;
    }
    ret = vmrpc_sock_add(srv, call->arg[0], call->arg[1], SOCK_STREAM, fd,
                         &child);
    if (ret < 0) {
        return ret;
    }
    child->bound = true;
    vmrpc_sock_set_peer(srv, child, &peer);
    vmrpc_gateway_attach(srv, child, s->local_port, true);
    vmrpc_sock_refresh(srv, child);
    child->told = child->ready;
    call->value = child->ready;
    call->result = peer;
    return 0;
}

/* --- SENDMSG ------------------------------------------------------------ */

static bool cmsg_to6(void *opaque, struct in_addr addr4,
                     struct in6_addr *addr6)
{
    VmrpcServer *srv = opaque;

    /* A source address: only the VM's own. */
    if (addr4.s_addr != srv->config.guest4.s_addr ||
        !srv->config.has_address6) {
        return false;
    }
    *addr6 = srv->config.address6;
    return true;
}

static bool cmsg_to4(void *opaque, const struct in6_addr *addr6,
                     struct in_addr *addr4)
{
    struct sockaddr_storage ss = { };
    struct sockaddr_in sin;

    ((struct sockaddr_in6 *)&ss)->sin6_family = AF_INET6;
    ((struct sockaddr_in6 *)&ss)->sin6_addr = *addr6;
    if (vmrpc_addr_to_guest(opaque, &ss, &sin) < 0) {
        return false;
    }
    *addr4 = sin.sin_addr;
    return true;
}

/* With translate=off: may the guest send from this address? */
static bool cmsg_is_source(void *opaque, struct in_addr addr4)
{
    VmrpcServer *srv = opaque;

    return addr4.s_addr == srv->config.guest4.s_addr;
}

static VmrpcCmsgOps cmsg_ops(VmrpcServer *srv)
{
    return (VmrpcCmsgOps) {
        .to6 = cmsg_to6,
        .to4 = cmsg_to4,
        .is_source = cmsg_is_source,
        .opaque = srv,
        .guest_ifindex = 0,
    };
}

static int host_family(const VmrpcServer *srv)
{
    return srv->config.translate ? AF_INET6 : AF_INET;
}

/* The destination in @msg; an unconnected datagram socket needs one. */
static int send_destination(VmrpcServer *srv, VmrpcSock *s,
                            const VmrpcCall *call, struct msghdr *msg,
                            struct sockaddr_storage *ss)
{
    struct sockaddr_in peer;
    int len;

    if (s->type == SOCK_STREAM) {
        return 0;           /* streams ignore it, as TCP does */
    }
    call_addr(call, &peer);
    if (peer.sin_family != AF_INET) {
        /*
         * The host would say the same, but not before it has bound the
         * socket to an address of its choice.
         */
        return s->connected ? 0 : -EDESTADDRREQ;
    }
    len = vmrpc_dest_to_host(srv, &peer, IPPROTO_UDP, ss);
    if (len < 0) {
        return len;
    }
    msg->msg_name = ss;
    msg->msg_namelen = len;
    return vmrpc_host_bind_source(srv, s);
}

static int send_control(VmrpcServer *srv, const VmrpcCall *call,
                        struct msghdr *msg, void *host, size_t host_cap)
{
    VmrpcCmsgOps ops = cmsg_ops(srv);
    ssize_t len;

    if (!call->control_len) {
        return 0;
    }
    vmrpc_iov_read(call->out, call->out_num, sizeof(struct vmrpc_req),
                   call->scratch->control, call->control_len);
    len = vmrpc_cmsg_to_host(host_family(srv), call->scratch->control,
                             call->control_len, host, host_cap, &ops);
    if (len < 0) {
        return len;
    }
    msg->msg_control = len ? host : NULL;
    msg->msg_controllen = len;
    return 0;
}

static bool to_resolver(VmrpcServer *srv, const VmrpcSock *s,
                        const VmrpcCall *call)
{
    struct sockaddr_in peer;

    if (s->backing == VMRPC_BACKING_RESOLVER) {
        return true;
    }
    if (s->type != SOCK_DGRAM) {
        return false;
    }
    call_addr(call, &peer);
    return peer.sin_family == AF_INET ? vmrpc_is_resolver(srv, &peer)
                                      : s->peer_is_resolver;
}

/* The port that a datagram goes to, network byte order. */
static in_port_t dest_port(const struct msghdr *msg, const VmrpcSock *s)
{
    const struct sockaddr_in6 *to = msg->msg_name;

    /* at the same place in a sockaddr_in */
    return to ? to->sin6_port : s->peer_port;
}

/* Clears *@sp if the guest has closed the socket meanwhile. */
static ssize_t send_host(VmrpcServer *srv, VmrpcSock **sp, VmrpcCall *call)
{
    VmrpcSock *s = *sp;
    uint64_t host_control[VMRPC_CMSG_HOST_MAX / sizeof(uint64_t)];
    int flags = (call->arg[0] & SEND_FLAGS) | MSG_DONTWAIT | MSG_NOSIGNAL;
    struct sockaddr_storage ss;
    struct msghdr msg = { .msg_iov = call->scratch->iov };
    g_autoptr(GByteArray) other = NULL;
    ssize_t n;

    n = send_destination(srv, s, call, &msg, &ss);
    if (n < 0) {
        return n;
    }
    n = send_control(srv, call, &msg, host_control, sizeof(host_control));
    if (n < 0) {
        return n;
    }
    if (s->alg) {
        return vmrpc_gateway_send(s, call, flags);
    }
    other = s->type == SOCK_DGRAM ? vmrpc_gateway_datagram_out(srv, s,
                                        dest_port(&msg, s), call) : NULL;
    vmrpc_sock_enter(srv, s);
    if (other) {
        msg.msg_iov[0] = (struct iovec) { other->data, other->len };
        msg.msg_iovlen = 1;
    } else {
        msg.msg_iovlen = vmrpc_iov_slice(msg.msg_iov, call->out,
                                         call->out_num,
                                         sizeof(struct vmrpc_req) +
                                         call->control_len, call->out_len);
    }
    n = sendmsg(s->fd, &msg, flags);
    if (n < 0) {
        n = -errno;
    } else if (other) {
        n = call->out_len;
    }
    if (!vmrpc_sock_leave(srv, s)) {
        *sp = NULL;
    }
    return n;
}

static int call_sendmsg(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    ssize_t n;

    if (s->backing == VMRPC_BACKING_LOST) {
        return -EPIPE;
    }
    if (s->backing == VMRPC_BACKING_ARRIVING) {
        return -EAGAIN;
    }
    if (to_resolver(srv, s, call)) {
        n = vmrpc_resolver_send(srv, s, call);
    } else {
        n = send_host(srv, &s, call);
        if (s) {
            vmrpc_sock_refresh(srv, s);
        }
    }
    if (n < 0) {
        return n;
    }
    call->value = n;
    if (s) {
        s->bytes_sent += n;
    }
    srv->counters.bytes_sent += n;
    return 0;
}

/* --- RECVMSG ------------------------------------------------------------ */

static void recv_control(VmrpcServer *srv, VmrpcCall *call,
                         const struct msghdr *msg, int *flags)
{
    VmrpcCmsgOps ops = cmsg_ops(srv);
    VmrpcCmsgDrops drops = { };
    size_t len;

    len = vmrpc_cmsg_from_host(host_family(srv), msg->msg_control,
                               msg->msg_controllen, call->scratch->control,
                               call->control_len, &ops, flags, &drops);
    vmrpc_iov_write(call->in, call->in_num, sizeof(struct vmrpc_resp),
                    call->scratch->control, len);
    call->in_control_len = len;
    srv->counters.control_dropped += drops.unknown + drops.malformed +
                                     drops.no_address + drops.no_room;
}

/*
 * One message.  Returns its length, -ENOSPC if its sender could not be given
 * a virtual address, or another negative errno.  Clears *@sp if the guest has
 * closed the socket meanwhile.
 */
static ssize_t recv_one(VmrpcServer *srv, VmrpcSock **sp, VmrpcCall *call,
                        int flags)
{
    VmrpcSock *s = *sp;
    uint64_t host_control[VMRPC_CMSG_HOST_MAX / sizeof(uint64_t)];
    struct sockaddr_storage ss = { };
    struct msghdr msg = {
        .msg_name = &ss,
        .msg_namelen = s->type == SOCK_DGRAM ? sizeof(ss) : 0,
        .msg_iov = call->scratch->iov,
        .msg_control = host_control,
        .msg_controllen = call->control_len ? sizeof(host_control) : 0,
    };
    int msg_flags;
    ssize_t n;

    vmrpc_sock_enter(srv, s);
    msg.msg_iovlen = vmrpc_iov_slice(msg.msg_iov, call->in, call->in_num,
                                     sizeof(struct vmrpc_resp) +
                                     call->control_len, call->in_len);
    n = recvmsg(s->fd, &msg, flags | MSG_DONTWAIT);
    if (n < 0) {
        n = -errno;
    }
    if (!vmrpc_sock_leave(srv, s)) {
        *sp = NULL;
    }
    if (n < 0) {
        return n;
    }
    if (msg.msg_namelen &&
        vmrpc_addr_to_guest(srv, &ss, &call->result) < 0) {
        return -ENOSPC;
    }
    msg_flags = msg.msg_flags & ~MSG_CMSG_CLOEXEC;
    if (*sp && s->type == SOCK_DGRAM) {
        n = vmrpc_gateway_datagram_in(srv, s, call->result.sin_port, call, n,
                                      &msg_flags);
    }
    if (call->control_len) {
        recv_control(srv, call, &msg, &msg_flags);
    }
    call->msg_flags = msg_flags;
    return n;
}

static ssize_t recv_host(VmrpcServer *srv, VmrpcSock **sp, VmrpcCall *call,
                         int flags)
{
    for (int i = 0; *sp && i < RECV_DROP_MAX; i++) {
        ssize_t n = recv_one(srv, sp, call, flags);

        if (n != -ENOSPC) {
            return n;
        }
        srv->counters.dropped_pool_full++;
        /* The error queue is not peeked at: that one is gone already. */
        if (*sp && flags & MSG_PEEK && !(flags & MSG_ERRQUEUE)) {
            recv((*sp)->fd, NULL, 0, MSG_DONTWAIT);
        }
    }
    return -EAGAIN;
}

static int call_recvmsg(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    int flags = call->arg[0] & RECV_FLAGS;
    ssize_t n;

    if (s->backing == VMRPC_BACKING_LOST) {
        return s->listening ? -EINVAL : 0;
    }
    n = vmrpc_resolver_recv(srv, s, call, flags);
    if (n == -EAGAIN && is_host(s) && vmrpc_gateway_receives(s, flags)) {
        n = vmrpc_gateway_recv(s, call, flags);
        vmrpc_sock_refresh(srv, s);
    } else if (n == -EAGAIN && is_host(s)) {
        n = recv_host(srv, &s, call, flags);
        if (s) {
            vmrpc_sock_refresh(srv, s);
        }
    }
    if (n < 0) {
        return n;
    }
    call->value = n;
    /* MSG_TRUNC may report more than there was room for. */
    call->in_data_len = MIN((size_t)n, call->in_len);
    if (!(flags & MSG_PEEK)) {
        if (s) {
            s->bytes_received += call->in_data_len;
        }
        srv->counters.bytes_received += call->in_data_len;
    }
    return 0;
}

/* --- SHUTDOWN, names, options, ioctl ------------------------------------ */

static int shutdown_host(VmrpcServer *srv, VmrpcSock *s, int how)
{
    struct sockaddr_in before = { };
    bool ends_listening = s->listening && how != SHUT_WR;

    if (ends_listening) {
        vmrpc_local_address(srv, s, &before);
    }
    if (how != SHUT_RD) {
        vmrpc_gateway_finish(s);
    }
    if (shutdown(s->fd, how) < 0) {
        return -errno;
    }
    if (!ends_listening) {
        return 0;
    }
    s->listening = false;
    return restore_port(srv, s, before.sin_port);
}

static int call_shutdown(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    int how = call->arg[0];
    int ret = 0;

    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
        return -EINVAL;
    }
    if (s->backing == VMRPC_BACKING_LOST) {
        return -ENOTCONN;
    }
    if (s->backing == VMRPC_BACKING_RESOLVER || s->peer_is_resolver) {
        s->shut_rd |= how != SHUT_WR;
        s->shut_wr |= how != SHUT_RD;
    } else {
        ret = shutdown_host(srv, s, how);
    }
    vmrpc_sock_refresh(srv, s);
    return ret;
}

static int call_getsockname(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    return vmrpc_local_address(srv, s, &call->result);
}

static int call_getpeername(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (!s->connected) {
        return -ENOTCONN;
    }
    /* The host knows whether a stream is still connected. */
    if (is_host(s) && !s->peer_is_resolver &&
        getpeername(s->fd, (struct sockaddr *)&ss, &len) < 0) {
        return -errno;
    }
    call->result.sin_family = AF_INET;
    call->result.sin_addr = s->peer4;
    call->result.sin_port = s->peer_port;
    return 0;
}

/* Remembers an option so that it can be set again after a migration. */
static void remember_option(VmrpcSock *s, int level, int name,
                            const void *value, uint32_t len)
{
    VmrpcSavedOption *o = NULL;

    if (!s->options) {
        s->options = g_array_new(FALSE, TRUE, sizeof(VmrpcSavedOption));
    }
    for (guint i = 0; i < s->options->len; i++) {
        VmrpcSavedOption *old = &g_array_index(s->options, VmrpcSavedOption,
                                               i);

        if (old->level == (uint32_t)level && old->name == (uint32_t)name) {
            o = old;
        }
    }
    if (!o) {
        if (s->options->len == VMRPC_SAVED_OPTIONS) {
            return;
        }
        g_array_set_size(s->options, s->options->len + 1);
        o = &g_array_index(s->options, VmrpcSavedOption, s->options->len - 1);
    }
    o->level = level;
    o->name = name;
    o->len = len;
    memcpy(o->value, value, len);
}

int vmrpc_host_setsockopt(VmrpcServer *srv, VmrpcSock *s, int level, int name,
                          const void *value, uint32_t len)
{
    VmrpcSockKind kind = { .family = host_family(srv), .type = s->type };
    VmrpcSockopt opt;
    int ret;

    ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, level, name, value,
                                len, &opt);
    if (ret < 0) {
        return ret;
    }
    /*
     * A close() that lingers blocks also on a non-blocking socket, and with
     * it every other socket of the VM.  Only "discard and reset" is ours.
     */
    if (opt.value == VMRPC_SOCKOPT_LINGER && opt.linger.l_onoff &&
        opt.linger.l_linger) {
        opt.linger.l_onoff = 0;
    }
    if (s->fd >= 0 &&
        setsockopt(s->fd, opt.level, opt.optname, opt.bytes, opt.len) < 0) {
        return -errno;
    }
    return 0;
}

static int call_setsockopt(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    uint8_t value[VMRPC_OPTVAL_MAX];
    int level = call->arg[0];
    int name = call->arg[1];
    int ret;

    if (call->out_len > sizeof(value)) {
        return -EINVAL;
    }
    vmrpc_iov_read(call->out, call->out_num, sizeof(struct vmrpc_req), value,
                   call->out_len);
    ret = vmrpc_host_setsockopt(srv, s, level, name, value, call->out_len);
    if (ret == 0) {
        remember_option(s, level, name, value, call->out_len);
        vmrpc_sock_refresh(srv, s);
    }
    return ret;
}

static int call_getsockopt(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    VmrpcSockKind kind = { .family = host_family(srv), .type = s->type };
    uint8_t value[VMRPC_OPTVAL_MAX];
    VmrpcSockopt opt;
    ssize_t len;
    int ret;

    if (!is_host(s)) {
        return -ENOPROTOOPT;
    }
    ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, call->arg[0],
                                call->arg[1], NULL,
                                MIN(call->in_len, sizeof(value)), &opt);
    if (ret < 0) {
        return ret;
    }
    if (getsockopt(s->fd, opt.level, opt.optname, opt.bytes, &opt.len) < 0) {
        return -errno;
    }
    len = vmrpc_sockopt_from_host(&opt, value,
                                  MIN(call->in_len, sizeof(value)));
    if (len < 0) {
        return len;
    }
    call->in_data_len = vmrpc_iov_write(call->in, call->in_num,
                                        sizeof(struct vmrpc_resp), value, len);
    call->value = call->in_data_len;
    return 0;
}

static int call_ioctl(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    unsigned long cmd = call->arg[0];
    int value = 0;

    switch (cmd) {
    case SIOCINQ:
    case SIOCOUTQ:
    case SIOCOUTQNSD:
    case SIOCATMARK:
        break;
    default:
        return -ENOTTY;
    }
    if (cmd == SIOCINQ && s->dns_rx.length) {
        call->value = vmrpc_resolver_inq(s);
        return 0;
    }
    if (is_host(s) && ioctl(s->fd, cmd, &value) < 0) {
        return -errno;
    }
    if (cmd == SIOCINQ) {
        value += vmrpc_gateway_unread(s);
    }
    call->value = value;
    return 0;
}

/* --- dispatch ----------------------------------------------------------- */

typedef int CallFunc(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call);

static CallFunc *const call_table[] = {
    [VMRPC_CLOSE]       = call_close,
    [VMRPC_BIND]        = call_bind,
    [VMRPC_LISTEN]      = call_listen,
    [VMRPC_CONNECT]     = call_connect,
    [VMRPC_ACCEPT]      = call_accept,
    [VMRPC_SENDMSG]     = call_sendmsg,
    [VMRPC_RECVMSG]     = call_recvmsg,
    [VMRPC_SHUTDOWN]    = call_shutdown,
    [VMRPC_GETSOCKNAME] = call_getsockname,
    [VMRPC_GETPEERNAME] = call_getpeername,
    [VMRPC_GETSOCKOPT]  = call_getsockopt,
    [VMRPC_SETSOCKOPT]  = call_setsockopt,
    [VMRPC_IOCTL]       = call_ioctl,
    [VMRPC_NOOP]        = call_noop,
};

int vmrpc_call_execute(VmrpcServer *srv, VmrpcCall *call)
{
    VmrpcSock *s;

    if (call->op == VMRPC_SOCKET) {
        return call_socket(srv, call);
    }
    if (call->op >= G_N_ELEMENTS(call_table) || !call_table[call->op]) {
        srv->counters.requests_malformed++;
        return -EOPNOTSUPP;
    }
    s = vmrpc_sock_find(srv, call->handle, call->gen);
    if (!s) {
        return -EBADF;
    }
    return call_table[call->op](srv, s, call);
}
