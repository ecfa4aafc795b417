/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the socket calls (paper, section 4.3)
 *
 * Each function executes one call on one socket, at once: host sockets are
 * non-blocking, and a close() that would wait (SO_LINGER) is never set up.  All
 * run under the server's lock, and release it where they call
 * vmrpc_sock_enter().  A call finds its arguments in VmrpcCall, leaves its
 * results there and returns 0 or a negative errno, which the guest's program
 * gets.
 *
 * Those that reach a peer are in calls-connect.c and calls-data.c.
 */
#include "hw/vmrpc/server/calls.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hw/vmrpc/peer/arriving.h"
#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/peer/parked.h"
#include "hw/vmrpc/reach/inet6.h"
#include "hw/vmrpc/server/calls-connect.h"
#include "hw/vmrpc/server/calls-data.h"
#include "hw/vmrpc/server/gateway.h"
#include "hw/vmrpc/server/refusals.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/options.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/throttle.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/sockopt.h"

/* --- SOCKET, CLOSE ------------------------------------------------------ */

/* The protocol that the guest means, or -EPROTONOSUPPORT. */
static int guest_proto(int type, int proto, bool inet6)
{
    if (type == SOCK_STREAM && (proto == 0 || proto == IPPROTO_TCP)) {
        return IPPROTO_TCP;
    }
    if (type == SOCK_DGRAM && (proto == 0 || proto == IPPROTO_UDP)) {
        return IPPROTO_UDP;
    }
    if (type == SOCK_DGRAM &&
        proto == (inet6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        return IPPROTO_ICMP;
    }
    return -EPROTONOSUPPORT;
}

/* Without the lock: the kernel needs a while, and other vCPUs can go on. */
static VMRPC_LOCKED int make_host_socket(VmrpcServer *srv, int type, int proto)
{
    int fd;

    srv->making_num++;
    vmrpc_unlock(srv);
    fd = vmrpc_host_socket(srv, type, proto);
    vmrpc_lock(srv);
    srv->making_num--;
    return fd;
}

/* SOCKET, also as the first part of a request with VMRPC_REQ_OPEN. */
static VMRPC_LOCKED int call_socket(VmrpcServer *srv, VmrpcCall *call)
{
    int type = call->arg[0];
    bool inet6 = call->flags & VMRPC_REQ_INET6;
    int proto = guest_proto(type, call->arg[1], inet6);
    VmrpcBuffers buffers;
    VmrpcSock *s;
    int fd, ret;

    if (proto < 0) {
        return proto;
    }
    ret = vmrpc_budget_socket(srv, NULL);
    if (ret < 0) {
        return ret;
    }
    fd = make_host_socket(srv, type, proto);
    if (fd < 0) {
        srv->counters.sockets_refused_host++;
        return fd;
    }
    ret = vmrpc_budget_reserve(srv, NULL, NULL, &buffers);
    if (ret < 0) {
        call->close_fd = fd;
        return ret;
    }
    vmrpc_budget_apply(srv, fd, &buffers);
    ret = vmrpc_host_open(srv, call->handle, call->gen, type, fd, &buffers, &s);
    if (ret == 0) {
        s->proto = proto;
        s->inet6 = inet6;
        /* As poll(2) reports it for every new one. */
        s->ready = type == SOCK_STREAM ? VMRPC_OUT | VMRPC_HUP : VMRPC_OUT;
        call->opened = call->flags & VMRPC_REQ_OPEN;
    }
    return ret;
}

int vmrpc_sock_close(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_evidence_close(srv, s);
    vmrpc_unpark(srv, s);
    vmrpc_resolver_detach(srv, s);
    vmrpc_event_unqueue(srv, s);
    vmrpc_watch_forget(srv, s);
    vmrpc_gateway_detach(s);
    vmrpc_first_detach(srv, s);
    vmrpc_datagrams_detach(srv, s);
    if (s->ops->detach) {
        s->ops->detach(srv, s);
    }
    vmrpc_groups_forget(srv, s);
    vmrpc_throttle_forget(srv, s);
    vmrpc_budget_release(srv, &s->buffers);
    vmrpc_arriving_port_freed(srv, s);
    return vmrpc_sock_remove(srv, s);
}

static VMRPC_LOCKED int call_close(VmrpcServer *srv, VmrpcSock *s,
                                   VmrpcCall *call)
{
    vmrpc_gateway_finish(s);
    vmrpc_first_finish(srv, s);
    vmrpc_sock_close(srv, s);   /* the call has a reference */
    return 0;
}

static int call_noop(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    vmrpc_sock_refresh(srv, s);
    return 0;
}

/* --- MAP, UNMAP --------------------------------------------------------- */

static VMRPC_LOCKED int call_map(VmrpcServer *srv, VmrpcCall *call)
{
    bool writable = !call->out_len;
    struct iovec *iov = call->scratch->iov;
    unsigned num = writable ? vmrpc_call_in_slice(call, iov)
                            : vmrpc_call_out_slice(call, 0, iov);

    if (!srv->mapped) {
        return -EOPNOTSUPP;
    }
    return vmrpc_mapped_add(srv->mapped, call->arg[0], iov, num, writable);
}

static VMRPC_LOCKED int call_unmap(VmrpcServer *srv, VmrpcCall *call)
{
    return srv->mapped ? vmrpc_mapped_remove(srv->mapped, call->arg[0])
                        : -ESTALE;
}

/* --- SHUTDOWN, names, options, ioctl ------------------------------------ */

static VMRPC_LOCKED int shutdown_host(VmrpcServer *srv, VmrpcSock *s, int how)
{
    struct sockaddr_in before = { };
    bool ends_listening = vmrpc_sock_is_listening(s) && how != SHUT_WR;

    if (vmrpc_sock_is_arriving(s) && vmrpc_sock_is_listening(s)) {
        if (ends_listening) {
            vmrpc_sock_clear_peer(srv, s);
        }
        return 0;
    }
    if (vmrpc_sock_is_connecting(s)) {
        /* As Linux, whatever @how is */
        vmrpc_sock_stop_connecting(srv, s);
        vmrpc_host_abort(srv, s, ECONNRESET);
        return 0;
    }
    if (ends_listening) {
        vmrpc_local_address(srv, s, &before);
    }
    if (how != SHUT_RD) {
        vmrpc_gateway_finish(s);
        vmrpc_first_finish(srv, s);
    }
    if (shutdown(s->fd, how) < 0) {
        return -errno;
    }
    s->fin_sent |= how != SHUT_RD;
    if (!ends_listening) {
        return 0;
    }
    vmrpc_sock_clear_peer(srv, s);
    vmrpc_arriving_port_freed(srv, s);
    return vmrpc_host_restore_port(srv, s, before.sin_port);
}

static VMRPC_LOCKED int call_shutdown(VmrpcServer *srv, VmrpcSock *s,
                                      VmrpcCall *call)
{
    int how = call->arg[0];
    int ret;

    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
        return -EINVAL;
    }
    ret = vmrpc_sock_admit(srv, s, VMRPC_SHUTDOWN);
    if (ret < 0) {
        return ret;
    }
    if (vmrpc_dns_is_stream(s) || s->peer == VMRPC_PEER_RESOLVER) {
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

static VMRPC_LOCKED int call_getpeername(VmrpcServer *srv, VmrpcSock *s,
                                         VmrpcCall *call)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    int ret;

    if (!vmrpc_sock_is_connected(s)) {
        return -ENOTCONN;
    }
    ret = vmrpc_sock_admit(srv, s, VMRPC_GETPEERNAME);
    if (ret < 0) {
        return ret;
    }
    /* The host knows whether a stream is still connected. */
    if (vmrpc_sock_host_has_peer(s) &&
        getpeername(s->fd, (struct sockaddr *)&ss, &len) < 0) {
        ret = -errno;
        /* The data that came before the end can be read. */
        vmrpc_sock_refresh(srv, s);
        return ret;
    }
    /* getpeername() succeeds, so the guest must see the socket as writable. */
    if (s->type == SOCK_STREAM) {
        vmrpc_sock_refresh(srv, s);
    }
    call->result.sin_family = AF_INET;
    call->result.sin_addr = s->peer4;
    call->result.sin_port = s->peer_port;
    return 0;
}

static VMRPC_LOCKED int call_setsockopt(VmrpcServer *srv, VmrpcSock *s,
                                        VmrpcCall *call)
{
    uint8_t value[VMRPC_OPTVAL_MAX];
    int level = call->arg[0];
    int name = call->arg[1];
    int ret;

    if (call->out_len > sizeof(value)) {
        return -EINVAL;
    }
    vmrpc_call_read(call, value, sizeof(value));
    ret = vmrpc_groups_option(srv, s, level, name, value, call->out_len);
    if (ret) {
        vmrpc_sock_refresh(srv, s);
        return MIN(ret, 0);
    }
    ret = vmrpc_host_setsockopt(srv, s, level, name, value, call->out_len);
    if (ret == 0) {
        vmrpc_options_remember(&s->options, vmrpc_groups_num(s), level, name,
                               value, call->out_len);
        s->race_options = true;
        vmrpc_sock_refresh(srv, s);
    }
    return ret;
}

static int call_getsockopt(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    VmrpcSockKind kind = vmrpc_sock_kind(srv, s);
    uint8_t value[VMRPC_OPTVAL_LONG_MAX];
    size_t room = MIN(call->in_len, srv->has_long_values ?
                                    VMRPC_OPTVAL_LONG_MAX : VMRPC_OPTVAL_MAX);
    VmrpcSockopt opt;
    ssize_t len;
    int ret;

    if (s->fd < 0) {
        return -ENOPROTOOPT;
    }
    ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, call->arg[0],
                                call->arg[1], NULL, room, &opt);
    if (ret < 0) {
        return ret;
    }
    if (getsockopt(s->fd, opt.level, opt.optname, opt.bytes, &opt.len) < 0) {
        return -errno;
    }
    if (vmrpc_sock_is_connecting(s) && opt.level == IPPROTO_TCP &&
        opt.optname == TCP_INFO) {
        /*
         * The host's is of the first attempt alone, which may have failed, or
         * of the connection to the proxy.
         */
        opt.bytes[offsetof(struct tcp_info, tcpi_state)] = TCP_SYN_SENT;
    }
    if (s->inq == VMRPC_INQ_OURS && opt.level == IPPROTO_TCP &&
        opt.optname == TCP_INQ) {
        memset(opt.bytes, 0, opt.len);
    }
    len = vmrpc_sockopt_from_host(&opt, value, room);
    if (len < 0) {
        return len;
    }
    /* The guest's cache must agree with the state that TCP_INFO shows. */
    if (opt.level == IPPROTO_TCP && opt.optname == TCP_INFO) {
        vmrpc_sock_refresh(srv, s);
    }
    call->in_data_len = vmrpc_call_write(call, 0, value, len);
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
    if (vmrpc_sock_is_host(s) && ioctl(s->fd, cmd, &value) < 0) {
        return -errno;
    }
    /* The next call must find the bytes that this one reports. */
    vmrpc_sock_refresh(srv, s);
    if (cmd == SIOCINQ) {
        value += vmrpc_gateway_unread(s);
    }
    call->value = value;
    return 0;
}

/* --- dispatch ----------------------------------------------------------- */

static VmrpcCallFunc *const call_table[] = {
    [VMRPC_CLOSE]       = call_close,
    [VMRPC_BIND]        = vmrpc_call_bind,
    [VMRPC_LISTEN]      = vmrpc_call_listen,
    [VMRPC_CONNECT]     = vmrpc_call_connect,
    [VMRPC_ACCEPT]      = vmrpc_call_accept,
    [VMRPC_SENDMSG]     = vmrpc_call_sendmsg,
    [VMRPC_RECVMSG]     = vmrpc_call_recvmsg,
    [VMRPC_SHUTDOWN]    = call_shutdown,
    [VMRPC_GETSOCKNAME] = call_getsockname,
    [VMRPC_GETPEERNAME] = call_getpeername,
    [VMRPC_GETSOCKOPT]  = call_getsockopt,
    [VMRPC_SETSOCKOPT]  = call_setsockopt,
    [VMRPC_IOCTL]       = call_ioctl,
    [VMRPC_NOOP]        = call_noop,
};

void vmrpc_call_unref(VmrpcCall *call, VmrpcSock *s)
{
    int fd = vmrpc_sock_unref(s);

    if (fd < 0) {
        return;
    }
    /* A call that is executed twice can meet two sockets. */
    if (call->close_fd >= 0) {
        close(call->close_fd);
    }
    call->close_fd = fd;
}

/*
 * Finds out what the server calls the address of @call.  A datagram's is that of
 * its destination only.  Returns 0 or a negative errno.
 */
static VMRPC_LOCKED int find_address(VmrpcServer *srv, VmrpcSock *s,
                                     VmrpcCall *call)
{
    bool inet6 = call->flags & VMRPC_REQ_INET6, mapped;
    int family = GUINT16_FROM_LE(call->addr.family);
    int ret = 0;

    call->named = (struct sockaddr_in) { .sin_port = call->addr.port };
    if (family != (inet6 ? VMRPC_AF_INET6 : VMRPC_AF_INET)) {
        return 0;
    }
    call->named.sin_family = AF_INET;
    if (!inet6) {
        call->named.sin_addr.s_addr = call->addr.addr;
        return 0;
    }
    ret = vmrpc_inet6_to_guest4(&srv->reach, &call->addr6,
                                &call->named.sin_addr);
    srv->counters.dropped_pool_full += ret == -ENOBUFS;
    mapped = IN6_IS_ADDR_V4MAPPED(&call->addr6);
    if (call->op == VMRPC_CONNECT || (call->op == VMRPC_BIND && mapped) ||
        (call->op == VMRPC_SENDMSG && !vmrpc_sock_is_connected(s))) {
        vmrpc_host_name_peers(srv, s, mapped);
    }
    return ret;
}

int vmrpc_call_execute(VmrpcServer *srv, VmrpcCall *call)
{
    VmrpcSock *s;
    int ret;

    switch (call->op) {
    case VMRPC_SOCKET:
        return call_socket(srv, call);
    case VMRPC_MAP:
        return call_map(srv, call);
    case VMRPC_UNMAP:
        return call_unmap(srv, call);
    case VMRPC_REFUSED:
        return vmrpc_call_refused(srv, call);
    }
    if (call->op >= G_N_ELEMENTS(call_table) || !call_table[call->op]) {
        srv->counters.requests_malformed++;
        return -EOPNOTSUPP;
    }
    if (call->flags & VMRPC_REQ_OPEN) {
        ret = call_socket(srv, call);
        if (ret < 0) {
            return ret;
        }
    }
    s = vmrpc_sock_find(srv, call->handle, call->gen);
    if (!s) {
        return -EBADF;
    }
    vmrpc_sock_ref(s);
    ret = find_address(srv, s, call);
    /* A peer that has come by itself is shown with its IPv6 address. */
    call->result_mapped = s->mapped && call->op != VMRPC_ACCEPT;
    if (ret == 0) {
        ret = call_table[call->op](srv, s, call);
    }
    vmrpc_call_unref(call, s);
    return ret;
}
