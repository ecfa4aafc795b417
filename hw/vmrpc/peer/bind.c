/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the port, the options and the peer of a host socket
 *
 * A socket that is a member of groups has receivers (groups.c), which get the
 * same port and the guest's options.
 */
#include "hw/vmrpc/peer/bind.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <unistd.h>

#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/options.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/sockopt.h"

void vmrpc_host_filter_all(VmrpcSock *s)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = { 1, &nothing };

    /* If it is bound to a group, it needs the filter that it has (groups.c). */
    s->filtered = !s->bound_group.s_addr &&
                  setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                             sizeof(program)) == 0;
}

/* Has @o, another socket than @s, its port?  @listens: and listens there? */
static bool shares_port(const VmrpcSock *o, const VmrpcSock *s, in_port_t port,
                        bool listens)
{
    return o != s && o->type == s->type && o->proto == s->proto &&
           vmrpc_sock_is_host(o) && vmrpc_sock_is_bound_by_guest(o) &&
           o->local_port == port && !o->bound_group.s_addr &&
           (listens ? vmrpc_sock_is_listening(o)
                    : o->type == SOCK_DGRAM || !vmrpc_sock_is_connected(o));
}

/* Has another socket of the VM's the port?  @listens: and listens there? */
static VMRPC_LOCKED bool has_port(const VmrpcServer *srv, const VmrpcSock *s,
                                  in_port_t port, bool listens)
{
    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        const VmrpcSock *o = srv->socks[i];

        if (o && shares_port(o, s, port, listens)) {
            return true;
        }
    }
    return false;
}

bool vmrpc_host_is_second(const VmrpcServer *srv, const VmrpcSock *s,
                          in_port_t port, bool listens)
{
    for (uint32_t i = 0; port && i < srv->config.max_sockets; i++) {
        const VmrpcSock *o = srv->socks[i];

        if (o && o->inet6 != s->inet6 && shares_port(o, s, port, listens)) {
            return true;
        }
    }
    return false;
}

/*
 * SO_REUSEPORT shares a port among sockets of one user.  With translate=off VMs
 * of one user have one address: without this a VM could take another's callers.
 * So the first socket of a VM at a port takes it without the option, which
 * fails if anyone else has it.
 *
 * Returns whether the option was cleared, for reuse_port().
 */
static VMRPC_LOCKED bool take_alone(VmrpcServer *srv, const VmrpcSock *s,
                                    in_port_t port, bool listens)
{
    int on = 0, zero = 0, one = 1;
    socklen_t len = sizeof(on);

    if (srv->config.reach.translate || !port || vmrpc_sock_is_ping(s) ||
        getsockopt(s->fd, SOL_SOCKET, SO_REUSEPORT, &on, &len) < 0 || !on) {
        return false;
    }
    /*
     * Sockets that do not listen keep no server from starting, as with
     * SO_REUSEPORT.  Of listeners SO_REUSEADDR allows one.
     */
    if (s->type == SOCK_STREAM) {
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    }
    if (has_port(srv, s, port, listens)) {
        return false;
    }
    setsockopt(s->fd, SOL_SOCKET, SO_REUSEPORT, &zero, sizeof(zero));
    return true;
}

/* Its further sockets may share the port. */
static void reuse_port(const VmrpcSock *s)
{
    int one = 1;

    setsockopt(s->fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
}

int vmrpc_host_listen(VmrpcServer *srv, VmrpcSock *s, int backlog)
{
    struct sockaddr_in sin;
    bool alone;
    int ret = vmrpc_local_address(srv, s, &sin);

    if (ret < 0) {
        return ret;
    }
    alone = take_alone(srv, s, sin.sin_port, true);
    ret = listen(s->fd, backlog) < 0 ? -errno : 0;
    if (alone) {
        reuse_port(s);
    }
    return ret;
}

int vmrpc_host_bind(VmrpcServer *srv, VmrpcSock *s, in_port_t port)
{
    bool alone;
    struct sockaddr_storage ss;
    int len = vmrpc_own_address(&srv->reach, port, &ss), zero = 0, ret;

    /* Undo what vmrpc_host_bind_address() did for a connect() that failed. */
    if (vmrpc_sock_is_bound(s) && s->type == SOCK_STREAM) {
        setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &zero,
                   sizeof(zero));
    }
    if (len < 0) {
        /*
         * The VM has no address of its own.  A datagram socket may have any
         * port, as it gets one when it sends.  A server is refused: it could
         * take another VM's clients.
         */
        if (s->type != SOCK_DGRAM || port) {
            return len;
        }
        if (!vmrpc_sock_is_ping(s)) {
            return 0;
        }
        /* The guest's identifier must be the one on the wire. */
        memset(&ss, 0, sizeof(ss));
        ss.ss_family = AF_INET6;
        len = sizeof(struct sockaddr_in6);
    }
    ret = vmrpc_groups_check(srv, s, port);
    if (ret < 0) {
        return ret;
    }
    /* After a migration it has a new host socket, without the filter. */
    if (s->peer == VMRPC_PEER_RESOLVER && !s->filtered) {
        vmrpc_host_filter_all(s);
    }
    alone = take_alone(srv, s, port, false);
    ret = bind(s->fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 0;
    if (alone) {
        reuse_port(s);
    }
    if (ret < 0) {
        return ret;
    }
    vmrpc_sock_has_port(srv, s, true);
    return vmrpc_groups_bind(srv, s, port);
}

int vmrpc_host_bind_source(VmrpcServer *srv, VmrpcSock *s)
{
    int ret = vmrpc_sock_is_bound(s) ? 0 : vmrpc_host_bind_address(srv, s);

    if (ret <= 0) {
        return ret;
    }
    vmrpc_sock_has_port(srv, s, true);
    return vmrpc_groups_bind(srv, s, 0);
}

int vmrpc_host_restore_port(VmrpcServer *srv, VmrpcSock *s, in_port_t port)
{
    int ret;

    if (!vmrpc_sock_is_bound(s) || !vmrpc_sock_is_host(s)) {
        return 0;
    }
    /* getsockname() may show a port that is lost; only bind() finds out. */
    ret = vmrpc_host_bind(srv, s, port);
    if (ret == -EADDRINUSE) {
        /* Its own connections use the port: it is unbound, as natively. */
        vmrpc_sock_unbind(srv, s);
        return 0;
    }
    return ret == -EINVAL ? 0 : ret;
}

int vmrpc_host_connect_self(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage ss;
    struct sockaddr_in local;
    int len, ret;

    ret = vmrpc_local_address(srv, s, &local);
    if (ret < 0) {
        return ret;
    }
    if (!vmrpc_sock_is_bound(s)) {
        return -EINVAL;
    }
    len = vmrpc_own_address(&srv->reach, local.sin_port, &ss);
    if (len < 0) {
        return len;
    }
    if (connect(s->fd, (struct sockaddr *)&ss, len) < 0) {
        return -errno;
    }
    vmrpc_sock_set_peer(srv, s, VMRPC_PEER_SELF, NULL);
    return 0;
}

/*
 * The size of a buffer, if the policy limits it.  Returns 1 if it was set, 0
 * for other options, or a negative errno.
 */
static VMRPC_LOCKED int set_size(VmrpcServer *srv, VmrpcSock *s, int level,
                                 int name, const void *value, uint32_t len)
{
    VmrpcSockKind kind = vmrpc_sock_kind(srv, s);
    VmrpcSockopt opt;
    int ret;

    if (level != G_SOL_SOCKET || (name != G_SO_SNDBUF && name != G_SO_RCVBUF)) {
        return 0;
    }
    ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, level, name, value,
                                len, &opt);
    return ret < 0 ? ret : vmrpc_budget_resize(srv, s, opt.optname, opt.i);
}

int vmrpc_host_setsockopt(VmrpcServer *srv, VmrpcSock *s, int level, int name,
                          const void *value, uint32_t len)
{
    int ret = set_size(srv, s, level, name, value, len);

    if (ret) {
        return MIN(ret, 0);
    }
    ret = vmrpc_fd_setsockopt(vmrpc_sock_kind(srv, s), s->fd, level, name,
                              value, len);
    if (ret == 0) {
        vmrpc_groups_setsockopt(srv, s, level, name, value, len);
        vmrpc_ready_option(s, level, name, value, len);
        vmrpc_datagrams_option(s, level, name, value, len);
    }
    return ret;
}

void vmrpc_host_copy_options(VmrpcServer *srv, const VmrpcSock *s,
                             VmrpcSock *to)
{
    VmrpcSavedOption saved[VMRPC_SAVED_OPTIONS];
    uint32_t num = vmrpc_options_save(s->options, saved);

    for (uint32_t i = 0; i < num; i++) {
        vmrpc_host_setsockopt(srv, to, saved[i].level, saved[i].name,
                              saved[i].value, saved[i].len);
    }
}

/* Of an option that is not in force: back to what it is without it. */
static void unset_option(const VmrpcServer *srv, const VmrpcSock *s,
                         const VmrpcSavedOption *option)
{
    VmrpcSockopt opt;

    if (vmrpc_sockopt_to_host(vmrpc_sock_kind(srv, s), VMRPC_SOCKOPT_UNSET,
                              option->level, option->name, NULL, 0,
                              &opt) == 0 && opt.idle) {
        setsockopt(s->fd, opt.level, opt.optname, opt.bytes, opt.len);
    }
}

void vmrpc_host_name_peers(VmrpcServer *srv, VmrpcSock *s, bool mapped)
{
    VmrpcSavedOption saved[VMRPC_SAVED_OPTIONS];
    uint32_t num;

    if (s->mapped == mapped) {
        return;
    }
    s->mapped = mapped;
    if (!s->options || !vmrpc_sock_is_host(s)) {
        return;
    }
    num = vmrpc_options_save(s->options, saved);
    for (uint32_t i = 0; i < num; i++) {
        unset_option(srv, s, &saved[i]);
    }
    /* Not on receivers: the kind of a group stays. */
    for (uint32_t i = 0; i < num; i++) {
        if (saved[i].level == IPPROTO_IP || saved[i].level == IPPROTO_IPV6) {
            vmrpc_fd_setsockopt(vmrpc_sock_kind(srv, s), s->fd, saved[i].level,
                                saved[i].name, saved[i].value, saved[i].len);
        }
    }
}

/* Is its peer reached through the NAT64? */
static bool is_behind_nat64(const VmrpcSock *s)
{
    return s->peer == VMRPC_PEER_REMOTE && !s->peer_held &&
           !IN_MULTICAST(ntohl(s->peer4.s_addr));
}

void vmrpc_host_abort(VmrpcServer *srv, VmrpcSock *s, int error)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };
    socklen_t len = sizeof(int);
    int host_error;

    if (s->fd >= 0) {
        connect(s->fd, &unspec, sizeof(unspec));
        if (error) {
            getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &host_error, &len);
        }
    }
    if (s->type == SOCK_DGRAM) {
        vmrpc_sock_clear_peer(srv, s);
    }
    vmrpc_sock_refresh(srv, s);
    s->so_error = error ?: s->so_error;
}

void vmrpc_nat64_moved(VmrpcServer *srv)
{
    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        VmrpcSock *s = srv->socks[i];
        struct sockaddr_storage ss;
        struct sockaddr_in peer;
        VmrpcPass pass;
        int len;

        if (!s || s->type != SOCK_DGRAM || !vmrpc_sock_is_host(s) ||
            !is_behind_nat64(s)) {
            continue;
        }
        peer = (struct sockaddr_in) {
            .sin_family = AF_INET, .sin_addr = s->peer4,
            .sin_port = s->peer_port,
        };
        len = vmrpc_dest_to_host(&srv->reach, &peer, s->proto, &ss, &pass);
        /* If that fails, it keeps the old peer, which may be gone. */
        if (len < 0 || connect(s->fd, (struct sockaddr *)&ss, len) < 0) {
            srv->counters.connections_lost++;
        }
        if (len >= 0) {
            s->says = pass.says;
            vmrpc_sock_take_terms(s, pass.terms);
        }
    }
}

int vmrpc_host_open(VmrpcServer *srv, uint32_t handle, uint32_t gen, int type,
                    int fd, VmrpcBuffers *buffers, VmrpcSock **s)
{
    int ret = vmrpc_sock_add(srv, handle, gen, type, &vmrpc_host_backing, s);

    if (ret < 0) {
        vmrpc_budget_release(srv, buffers);
        close(fd);
        return ret;
    }
    (*s)->fd = fd;
    (*s)->buffers = *buffers;
    vmrpc_watch_later(srv, *s);
    return 0;
}
