/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: application-level gateways as the guest's sockets meet them
 *
 * Theory of operation
 * ===================
 *
 * alg.c rewrites addresses in FTP and SIP, and knows no sockets; this file puts
 * it between a guest's calls and the host socket.
 *
 * A stream gets its gateway when it is connected to the port of such a server,
 * or accepted there, and keeps it until the gateway has nothing more to do.
 * Its sends and receives run under the server's lock, unlike others: a gateway
 * is not thread-safe, and a control connection carries few bytes.
 *
 * A datagram is rewritten if either of its ports is that of SIP.  A received
 * datagram is already in the guest's memory; it is copied, rewritten and
 * written back.  If the guest changes it meanwhile, it harms only itself.
 */
#include "hw/vmrpc/server/gateway.h"

#include <errno.h>

#include "hw/vmrpc/reach/translate.h"

/* --- callbacks of a gateway --------------------------------------------- */

static bool gateway_to6(void *opaque, struct in_addr addr4,
                        struct in6_addr *addr6)
{
    return vmrpc_addr_named(opaque, addr4, addr6);
}

static bool gateway_to4(void *opaque, const struct in6_addr *addr6,
                        struct in_addr *addr4)
{
    struct sockaddr_storage host = { };
    struct sockaddr_in guest;

    ((struct sockaddr_in6 *)&host)->sin6_family = AF_INET6;
    ((struct sockaddr_in6 *)&host)->sin6_addr = *addr6;
    if (vmrpc_addr_to_guest(opaque, &host, &guest) < 0) {
        return false;
    }
    *addr4 = guest.sin_addr;
    return true;
}

void vmrpc_gateway_init(VmrpcServer *srv)
{
    srv->alg_ops = (VmrpcAlgOps) {
        .to6 = gateway_to6,
        .to4 = gateway_to4,
        .opaque = &srv->reach,
        .counters = &srv->alg_counters,
    };
}

/* The host socket of one call. */
typedef struct GatewayIo {
    int fd;
    int flags;
} GatewayIo;

static ssize_t io_send(void *opaque, const void *data, size_t len)
{
    const GatewayIo *io = opaque;
    ssize_t n = send(io->fd, data, len, io->flags | MSG_DONTWAIT |
                     MSG_NOSIGNAL);

    return n < 0 ? -errno : n;
}

static ssize_t io_recv(void *opaque, const struct iovec *iov, unsigned num,
                       bool peek)
{
    const GatewayIo *io = opaque;
    struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = num };
    ssize_t n = recvmsg(io->fd, &msg, (io->flags & ~MSG_PEEK) |
                        (peek ? MSG_PEEK : 0) | MSG_DONTWAIT);

    return n < 0 ? -errno : n;
}

static ssize_t io_drop(void *opaque, size_t len)
{
    const GatewayIo *io = opaque;
    ssize_t n = recv(io->fd, NULL, len, MSG_TRUNC | MSG_DONTWAIT);

    return n < 0 ? -errno : n;
}

static VmrpcAlgIo alg_io(GatewayIo *io)
{
    return (VmrpcAlgIo) {
        .send = io_send,
        .recv = io_recv,
        .drop = io_drop,
        .opaque = io,
    };
}

/* --- streams ------------------------------------------------------------ */

void vmrpc_gateway_attach(VmrpcServer *srv, VmrpcSock *s, in_port_t port,
                          bool guest_is_server)
{
    VmrpcAlgConfig config = {
        .proto = vmrpc_alg_proto(SOCK_STREAM, ntohs(port)),
        .guest_is_server = guest_is_server,
        .own4 = srv->config.reach.guest4,
        .peer4 = s->peer4,
    };

    vmrpc_gateway_detach(s);
    if (srv->config.reach.translate && srv->config.alg &&
        !vmrpc_sock_is_plain6(s) &&
        config.proto != VMRPC_ALG_NONE) {
        s->alg = vmrpc_alg_new(&config, &srv->alg_ops);
    }
}

void vmrpc_gateway_detach(VmrpcSock *s)
{
    g_clear_pointer(&s->alg, vmrpc_alg_free);
}

void vmrpc_gateway_finish(VmrpcSock *s)
{
    GatewayIo fd = { .fd = s->fd };
    VmrpcAlgIo io = alg_io(&fd);

    if (s->alg && s->fd >= 0) {
        vmrpc_alg_finish(s->alg, &io);
    }
}

static void detach_if_done(VmrpcSock *s)
{
    if (vmrpc_alg_done(s->alg)) {
        vmrpc_gateway_detach(s);
    }
}

ssize_t vmrpc_gateway_send(VmrpcSock *s, VmrpcCall *call, int flags)
{
    GatewayIo fd = { .fd = s->fd, .flags = flags };
    VmrpcAlgIo io = alg_io(&fd);
    unsigned num = vmrpc_call_out_slice(call, 0, call->scratch->iov);
    ssize_t n = vmrpc_alg_send(s->alg, call->scratch->iov, num, &io);

    detach_if_done(s);
    return n;
}

bool vmrpc_gateway_receives(const VmrpcSock *s, int flags)
{
    return s->alg && !(flags & (MSG_OOB | MSG_ERRQUEUE | MSG_TRUNC));
}

ssize_t vmrpc_gateway_recv(VmrpcSock *s, VmrpcCall *call, int flags)
{
    GatewayIo fd = { .fd = s->fd, .flags = flags };
    VmrpcAlgIo io = alg_io(&fd);
    unsigned num = vmrpc_call_in_slice(call, call->scratch->iov);
    ssize_t n = vmrpc_alg_recv(s->alg, call->scratch->iov, num,
                               flags & MSG_PEEK, &io);

    detach_if_done(s);
    return n;
}

size_t vmrpc_gateway_unread(const VmrpcSock *s)
{
    return s->alg ? vmrpc_alg_unread(s->alg) : 0;
}

/* --- datagrams ---------------------------------------------------------- */

static bool is_sip(const VmrpcServer *srv, const VmrpcSock *s, in_port_t port)
{
    return srv->config.reach.translate && srv->config.alg &&
           !vmrpc_sock_is_plain6(s) &&
           vmrpc_alg_proto(SOCK_DGRAM, ntohs(port)) == VMRPC_ALG_SIP;
}

GByteArray *vmrpc_gateway_datagram_out(VmrpcServer *srv, const VmrpcSock *s,
                                       in_port_t peer_port,
                                       const VmrpcCall *call)
{
    g_autofree uint8_t *data = NULL;

    if (!is_sip(srv, s, peer_port) && !is_sip(srv, s, s->local_port)) {
        return NULL;
    }
    data = g_malloc(call->out_len);
    vmrpc_call_read(call, data, call->out_len);
    return vmrpc_alg_datagram(&srv->alg_ops, VMRPC_ALG_TO_HOST, data,
                              call->out_len);
}

size_t vmrpc_gateway_datagram_in(VmrpcServer *srv, const VmrpcSock *s,
                                 in_port_t peer_port, VmrpcCall *call,
                                 size_t len, int *msg_flags)
{
    g_autoptr(GByteArray) other = NULL;
    g_autofree uint8_t *data = NULL;

    /* A truncated message cannot be rewritten. */
    if ((!is_sip(srv, s, peer_port) && !is_sip(srv, s, s->local_port)) ||
        *msg_flags & (MSG_TRUNC | MSG_ERRQUEUE) || len > call->in_len) {
        return len;
    }
    data = g_malloc(len);
    vmrpc_call_read_in(call, data, len);
    other = vmrpc_alg_datagram(&srv->alg_ops, VMRPC_ALG_TO_GUEST, data, len);
    if (!other) {
        return len;
    }
    if (other->len > call->in_len) {
        *msg_flags |= MSG_TRUNC;
    }
    return vmrpc_call_write(call, 0, other->data, other->len);
}
