/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: host sockets: make, name and close them
 *
 * Multicast groups and races make host sockets, too; nothing here knows them.
 * bind.c binds a socket together with the receivers of its groups.
 */
#include "hw/vmrpc/sock/hostsock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/sockopt.h"

int vmrpc_host_socket(VmrpcServer *srv, int type, int proto)
{
    int family = vmrpc_host_family(srv);
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    vmrpc_host_proto(family, proto));
    int one = 1, zero = 0, ret;

    if (fd < 0) {
        return -errno;
    }
    /*
     * Without IPV6_V6ONLY, a datagram socket of a VM without an address would
     * receive IPv4 as ::ffff:0:0/96.  A stream is bound to the VM's address
     * before it listens, or has a peer.
     */
    if (family == AF_INET6 && type == SOCK_DGRAM &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) {
        goto err;
    }
    /* Bound to no address, it would hear groups that other sockets joined. */
    if (family == AF_INET6 && type == SOCK_DGRAM &&
        !srv->config.reach.has_address6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &zero,
                   sizeof(zero)) < 0) {
        goto err;
    }
    return fd;

err:
    ret = -errno;
    close(fd);
    return ret;
}

VmrpcSockKind vmrpc_sock_kind(const VmrpcServer *srv, const VmrpcSock *s)
{
    return (VmrpcSockKind) { .family = vmrpc_host_family(srv), .type = s->type,
                             .guest6 = s->inet6, .mapped = s->mapped };
}

int vmrpc_fd_setsockopt(VmrpcSockKind kind, int fd, int level, int name,
                        const void *value, uint32_t len)
{
    VmrpcSockopt opt;
    int ret;

    ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, level, name, value,
                                len, &opt);
    if (ret < 0) {
        return ret;
    }
    /*
     * A close() that lingers blocks even on a non-blocking socket, and with it
     * every other socket of the VM.  Only "discard and reset" is passed on; the
     * guest lingers by itself.
     */
    if (opt.value == VMRPC_SOCKOPT_LINGER && opt.linger.l_onoff &&
        opt.linger.l_linger) {
        opt.linger.l_onoff = 0;
    }
    if (fd >= 0 && !opt.idle &&
        setsockopt(fd, opt.level, opt.optname, opt.bytes, opt.len) < 0) {
        return -errno;
    }
    return 0;
}

int vmrpc_sock_error(const VmrpcServer *srv, const VmrpcSock *s,
                     const struct sockaddr_storage *dest, int error)
{
    return vmrpc_sock_is_plain6(s)
           ? error : vmrpc_peer_error(&srv->reach, dest, s->proto, error);
}

int vmrpc_local_address(const VmrpcServer *srv, const VmrpcSock *s,
                        struct sockaddr_in *sin)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    memset(sin, 0, sizeof(*sin));
    sin->sin_family = AF_INET;
    if (vmrpc_sock_is_arriving(s)) {
        sin->sin_port = s->local_port;
        if (s->bound_group.s_addr) {
            sin->sin_addr = s->bound_group;
        } else if (s->local_port) {
            sin->sin_addr = srv->config.reach.guest4;
        }
        return 0;
    }
    if (!vmrpc_sock_is_host(s) ||
        (s->peer == VMRPC_PEER_RESOLVER && !vmrpc_sock_is_bound(s))) {
        /* There is no port on the host: show a number that looks like one. */
        sin->sin_addr = srv->config.reach.guest4;
        sin->sin_port = htons(32768 + s->handle % 28232);
        return 0;
    }
    if (getsockname(s->fd, (struct sockaddr *)&ss, &len) < 0) {
        return -errno;
    }
    sin->sin_port = ss.ss_family == AF_INET6
                    ? ((struct sockaddr_in6 *)&ss)->sin6_port
                    : ((struct sockaddr_in *)&ss)->sin_port;
    if (s->bound_group.s_addr) {
        sin->sin_addr = s->bound_group;
    } else if (vmrpc_sock_is_bound(s) || vmrpc_sock_is_connected(s)) {
        sin->sin_addr = srv->config.reach.guest4;
    }
    return 0;
}

int vmrpc_host_bind_address(const VmrpcServer *srv, const VmrpcSock *s)
{
    struct sockaddr_storage ss;
    int len, one = 1;

    len = vmrpc_own_address(&srv->reach, 0, &ss);
    if (len < 0) {
        return 0;           /* the host chooses one */
    }
    /* connect() chooses the port, so that ports are not used up. */
    if (s->type == SOCK_STREAM) {
        setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
                   sizeof(one));
    }
    return bind(s->fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 1;
}

void vmrpc_sock_close_host(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_watch_forget(srv, s);
    s->watched = false;
    vmrpc_budget_release(srv, &s->buffers);
    if (s->fd >= 0) {
        close(s->fd);           /* leaves the epoll set with it */
        s->fd = -1;
    }
}
