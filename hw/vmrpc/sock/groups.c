/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: membership in multicast groups
 *
 * Theory of operation
 * ===================
 *
 * Almost all of a guest's sockets are bound to the VM's address.  Linux
 * delivers to a socket only datagrams to the address that it is bound to, so
 * such a socket receives from no group.  Bound to no address it would receive
 * all datagrams for its port.  So each membership gets a host socket of its
 * own, a receiver, which is bound to the group and to the port of the guest's
 * socket; RECVMSG asks all of them in turn.  A socket that the guest binds to a
 * group needs no receivers: its host socket is bound to the group.
 *
 * Groups are those of IPv4 and, of AF_INET6 sockets, those of IPv6.  The name of
 * an IPv6 group is an address of the map (reach/inet6.c), so its family shows in
 * the name: IPv4's are 224.0.0.0/4.  What a receiver hears is of its group's
 * family, whatever peers the socket has: so are the options that are in force,
 * ancillary data and the names of senders.
 *
 * Receivers of several sockets, of several VMs and of the host's own programs
 * share a group and a port (SO_REUSEADDR): each gets a copy of its own.  They
 * hear nothing but their group (IPV6_MULTICAST_ALL is off), and only from the
 * interface of the VM's address (a filter): Linux counts memberships for each
 * interface, and another program may have joined on others.
 *
 * The policy judges a group like any other destination, at the port where it
 * would be heard.  Before there is a port, nothing is heard, and a join is
 * refused only if the policy denies the group at every port.  When the socket
 * is bound, it is judged again, and the bind may fail.
 *
 * A membership belongs to an interface of the host.  When that is made again, or
 * the VM's address moves to another one, Linux ends the membership in silence,
 * and the old receiver stays bound to what is gone.  So each membership knows
 * where it is.  The kernel's reports of its routing (route.c) make a turn over
 * all memberships: those at another place than the VM's address get a new
 * receiver there.  A turn does nothing while the address is away: its return is
 * reported, too.  All are left before the first is joined: what a socket leaves
 * by an index, Linux takes from the interface that has the index by now.
 *
 * Receivers are used with the lock held, unlike other host sockets: they only
 * receive, and may be closed by another thread that leaves the group.
 */
#include "hw/vmrpc/sock/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw/vmrpc/reach/inet6.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/options.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/multicast.h"

/* The least time between two turns, and between tries of one that failed */
#define TURN_MS                 100
#define RETRY_MS                1000

/* An interface of the host, from when it was made until it is deleted */
typedef struct Place {
    int ifindex;                /* 0: none */
    unsigned gone;              /* vmrpc_route_interface_gone() */
} Place;

typedef struct Group {
    struct in_addr group4;      /* the group's name */
    bool held;                  /* its entry in the map is referenced */
    Place place;                /* where it is a member */
    int fd;                     /* the receiver; -1: the socket itself */
    in_port_t port;             /* where it receives, network order; or 0 */
    VmrpcBuffers buffers;       /* of the receiver */
} Group;

static Group *group_at(const VmrpcSock *s, unsigned i)
{
    return &g_array_index(s->groups, Group, i);
}

unsigned vmrpc_groups_num(const VmrpcSock *s)
{
    return s->groups ? s->groups->len : 0;
}

int vmrpc_groups_fd(const VmrpcSock *s, unsigned i)
{
    return group_at(s, i)->fd;
}

static bool is_ipv4(struct in_addr group4)
{
    return IN_MULTICAST(ntohl(group4.s_addr));
}

bool vmrpc_groups_is_mapped(const VmrpcSock *s, unsigned i)
{
    return is_ipv4(group_at(s, i)->group4);
}

VmrpcBuffers *vmrpc_groups_buffers(const VmrpcSock *s, unsigned i)
{
    return &group_at(s, i)->buffers;
}

static Group *find(const VmrpcSock *s, struct in_addr group4)
{
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        if (group_at(s, i)->group4.s_addr == group4.s_addr) {
            return group_at(s, i);
        }
    }
    return NULL;
}

/* --- the host's options --------------------------------------------------- */

static int set(int fd, int level, int name, const void *value, socklen_t len)
{
    return setsockopt(fd, level, name, value, len) < 0 ? -errno : 0;
}

static int set_int(int fd, int level, int name, int value)
{
    return set(fd, level, name, &value, sizeof(value));
}

/* The interface of the VM's address, or a negative errno. */
static VMRPC_LOCKED int own_interface(VmrpcServer *srv)
{
    struct sockaddr_storage own;

    return vmrpc_own_address(&srv->reach, 0, &own) < 0
           ? -ENODEV
           : vmrpc_route_interface(srv->reach.route, (struct sockaddr *)&own);
}

static VMRPC_LOCKED Place own_place(VmrpcServer *srv)
{
    /* In this order: a change in between makes a place that none is at. */
    unsigned gone = vmrpc_route_interface_gone(srv->reach.route);
    int ifindex = own_interface(srv);

    return (Place) { MAX(ifindex, 0), gone };
}

/* The interface to join at: 0 leaves it to IPv4's address; or -ENODEV */
static int join_interface(const VmrpcServer *srv, const Place *place)
{
    if (!srv->config.reach.translate) {
        return 0;
    }
    return place->ifindex ? place->ifindex : -ENODEV;
}

static bool is_at(const Place *a, const Place *b)
{
    return a->ifindex == b->ifindex && a->gone == b->gone;
}

/* A filter drops what came by another interface. */
static int hear_interface(int fd, int ifindex)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ifindex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = { G_N_ELEMENTS(code), code };

    return set(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void hear_everywhere(int fd)
{
    set_int(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

/* Several sockets can share the group and the port. */
static int share(VmrpcServer *srv, int fd, int ifindex)
{
    int ret = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

    if (ret == 0 && !srv->config.reach.translate) {
        return set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    }
    if (ret == 0) {
        ret = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    }
    return ret == 0 ? hear_interface(fd, ifindex) : ret;
}

static VMRPC_LOCKED int change_membership(VmrpcServer *srv, int fd,
                                          struct in_addr group4, int ifindex,
                                          bool join)
{
    struct ipv6_mreq mreq6 = { .ipv6mr_interface = ifindex };
    struct ip_mreq mreq = { .imr_multiaddr = group4,
                            .imr_interface = srv->config.reach.guest4 };

    if (!srv->config.reach.translate) {
        return set(fd, IPPROTO_IP,
                   join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
                   &mreq, sizeof(mreq));
    }
    vmrpc_addr_named(&srv->reach, group4, &mreq6.ipv6mr_multiaddr);
    return set(fd, IPPROTO_IPV6,
               join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP,
               &mreq6, sizeof(mreq6));
}

static int bind_to_group(VmrpcServer *srv, int fd, struct in_addr group4,
                         in_port_t port, int ifindex)
{
    struct sockaddr_storage ss;
    int len = vmrpc_addr_to_host(&srv->reach, group4, port, &ss);

    if (len < 0) {
        return len;
    }
    if (ss.ss_family == AF_INET6) {
        /* Linux reads it for groups of link scope only */
        ((struct sockaddr_in6 *)&ss)->sin6_scope_id = ifindex;
    }
    return bind(fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 0;
}

/* --- receivers ------------------------------------------------------------ */

static int watch(VmrpcServer *srv, const VmrpcSock *s, int fd)
{
    struct epoll_event ev = {
        .events = EPOLLIN | EPOLLET,
        .data.u64 = (uint64_t)s->gen << 32 | s->handle,
    };

    return epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Options of a receiver that the guest must not change. */
static VMRPC_LOCKED bool is_ours(const VmrpcServer *srv, int level, int name)
{
    if (level != G_SOL_SOCKET) {
        return false;
    }
    return name == G_SO_REUSEADDR || name == G_SO_REUSEPORT ||
           (srv->reach.limits.config.buffers &&
            (name == G_SO_SNDBUF || name == G_SO_RCVBUF));
}

/* The kind of a receiver. */
static VmrpcSockKind group_kind(const VmrpcServer *srv, const VmrpcSock *s,
                                struct in_addr group4)
{
    VmrpcSockKind kind = vmrpc_sock_kind(srv, s);

    kind.mapped = is_ipv4(group4);
    return kind;
}

/* Sets the guest's options on @fd; those without use here do no harm. */
static VMRPC_LOCKED void take_options(VmrpcServer *srv, const VmrpcSock *s,
                                      int fd, VmrpcSockKind kind)
{
    g_autofree VmrpcSavedOption *option = NULL;
    uint32_t num;

    if (!s->options) {
        return;
    }
    option = g_new(VmrpcSavedOption, VMRPC_SAVED_OPTIONS);
    num = vmrpc_options_save(s->options, option);
    for (uint32_t i = 0; i < num; i++) {
        const VmrpcSavedOption *o = &option[i];

        if (!is_ours(srv, o->level, o->name)) {
            vmrpc_fd_setsockopt(kind, fd, o->level, o->name, o->value, o->len);
        }
    }
}

/* The port of @s, if it is bound; network byte order. */
static in_port_t bound_port(const VmrpcServer *srv, const VmrpcSock *s)
{
    struct sockaddr_in sin;

    return vmrpc_sock_is_bound(s) &&
           vmrpc_local_address(srv, s, &sin) == 0 ? sin.sin_port : 0;
}

/*
 * Makes @fd hear the group, as soon as there is a port if group->port is 0;
 * returns 0 or -errno.
 */
static VMRPC_LOCKED int receiver_start(VmrpcServer *srv, const VmrpcSock *s,
                                       int fd, const Group *group, int ifindex)
{
    int ret = share(srv, fd, ifindex);

    if (ret == 0) {
        ret = change_membership(srv, fd, group->group4, ifindex, true);
    }
    if (ret == 0 && group->port) {
        ret = bind_to_group(srv, fd, group->group4, group->port, ifindex);
    }
    if (ret == 0) {
        take_options(srv, s, fd, group_kind(srv, s, group->group4));
        ret = watch(srv, s, fd);
    }
    return ret;
}

/* Returns 0 or -errno; then @group is as before. */
static VMRPC_LOCKED int receiver_new(VmrpcServer *srv, VmrpcSock *s,
                                     Group *group, int ifindex)
{
    int fd = -1, ret = vmrpc_budget_reserve(srv, NULL, NULL, &group->buffers);

    if (ret < 0) {
        return ret;
    }
    fd = ret = vmrpc_host_socket(srv, SOCK_DGRAM, IPPROTO_UDP);
    if (ret >= 0) {
        vmrpc_budget_apply(srv, fd, &group->buffers);
        ret = receiver_start(srv, s, fd, group, ifindex);
    }
    if (ret < 0) {
        vmrpc_budget_release(srv, &group->buffers);
        if (fd >= 0) {
            close(fd);
        }
        return ret;
    }
    group->fd = fd;
    return 0;
}

/* The socket itself is the receiver from now on. */
static void receiver_close(VmrpcServer *srv, Group *group)
{
    if (group->fd >= 0) {
        close(group->fd);
        group->fd = -1;
    }
    vmrpc_budget_release(srv, &group->buffers);
}

static VMRPC_LOCKED void receiver_free(VmrpcServer *srv, Group *group)
{
    receiver_close(srv, group);
    vmrpc_address_release(srv, group->group4, group->held);
    srv->group_num--;
}

int vmrpc_groups_check(VmrpcServer *srv, const VmrpcSock *s, in_port_t port)
{
    int ret = 0;

    for (unsigned i = 0; port && ret == 0 && i < vmrpc_groups_num(s); i++) {
        /* At the port that it has, the policy has judged it already. */
        if (group_at(s, i)->port != port) {
            ret = vmrpc_group_check(&srv->reach, group_at(s, i)->group4, port);
        }
    }
    return ret;
}

/* Gives a port back that the host has chosen. */
static void unbind(const VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };

    connect(s->fd, &unspec, sizeof(unspec));
    vmrpc_sock_has_port(srv, s, false);
}

/* Receivers without a port get that of @s; returns 0 or -errno. */
static VMRPC_LOCKED int bind_receivers(VmrpcServer *srv, VmrpcSock *s,
                                       in_port_t port)
{
    int ifindex = srv->config.reach.translate ? own_interface(srv) : 0;

    if (ifindex < 0) {
        return ifindex;
    }
    for (unsigned i = 0; i < s->groups->len; i++) {
        Group *group = group_at(s, i);
        int ret;

        if (group->port == port) {
            continue;
        }
        ret = bind_to_group(srv, group->fd, group->group4, port, ifindex);
        if (ret < 0) {
            return ret;
        }
        group->port = port;
    }
    return 0;
}

int vmrpc_groups_bind(VmrpcServer *srv, VmrpcSock *s, in_port_t asked)
{
    in_port_t port = vmrpc_groups_num(s) ? bound_port(srv, s) : 0;
    int ret;

    if (!port || s->bound_group.s_addr) {
        return 0;
    }
    ret = asked ? 0 : vmrpc_groups_check(srv, s, port);
    if (ret < 0) {
        unbind(srv, s);
        return ret;
    }
    return bind_receivers(srv, s, port);
}

uint32_t vmrpc_groups_ready(const VmrpcSock *s)
{
    struct pollfd pfd[VMRPC_GROUPS_MAX];
    unsigned n = vmrpc_groups_num(s);

    for (unsigned i = 0; i < n; i++) {
        pfd[i] = (struct pollfd) { group_at(s, i)->fd, POLLIN, 0 };
    }
    return n && poll(pfd, n, 0) > 0 ? VMRPC_IN : 0;
}

void vmrpc_groups_setsockopt(VmrpcServer *srv, const VmrpcSock *s, int level,
                             int name, const void *value, uint32_t len)
{
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        const Group *group = group_at(s, i);

        if (group->fd >= 0 && !is_ours(srv, level, name)) {
            vmrpc_fd_setsockopt(group_kind(srv, s, group->group4), group->fd,
                                level, name, value, len);
        }
    }
}

void vmrpc_groups_forget(VmrpcServer *srv, VmrpcSock *s)
{
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        receiver_free(srv, group_at(s, i));
    }
    if (s->groups) {
        g_array_free(s->groups, TRUE);
        s->groups = NULL;
    }
    vmrpc_groups_set_bound(srv, s, (struct in_addr) { 0 });
}

/* --- join and leave ------------------------------------------------------- */

static VMRPC_LOCKED int check_limits(VmrpcServer *srv, const VmrpcSock *s)
{
    /* No more than a migration can carry. */
    return vmrpc_groups_num(s) >= VMRPC_GROUPS_MAX ||
           vmrpc_groups_num(s) + vmrpc_options_num(s->options) >=
           VMRPC_SAVED_OPTIONS ||
           vmrpc_budget_socket(srv, NULL) < 0
           ? -ENOBUFS : 0;
}

static VMRPC_LOCKED void add(VmrpcServer *srv, VmrpcSock *s, Group *group)
{
    group->held = vmrpc_address_hold(srv, group->group4);
    if (!s->groups) {
        s->groups = g_array_new(FALSE, TRUE, sizeof(Group));
    }
    g_array_append_vals(s->groups, group, 1);
    srv->group_num++;
}

/* While @s arrives, only remembers the group. */
static VMRPC_LOCKED int join(VmrpcServer *srv, VmrpcSock *s,
                             struct in_addr group4)
{
    Group group = { .group4 = group4, .fd = -1, .port = bound_port(srv, s) };
    int ifindex, ret;

    if (find(s, group4)) {
        return -EADDRINUSE;
    }
    ret = check_limits(srv, s);
    if (ret == 0) {
        ret = vmrpc_group_check(&srv->reach, group4, group.port);
    }
    if (ret == 0 && vmrpc_sock_is_arriving(s)) {
        add(srv, s, &group);
        return 0;
    }
    if (ret < 0) {
        return ret;
    }
    group.place = own_place(srv);
    ifindex = join_interface(srv, &group.place);
    if (ifindex < 0) {
        return ifindex;
    }
    if (s->bound_group.s_addr) {
        ret = change_membership(srv, s->fd, group4, ifindex, true);
    } else {
        ret = receiver_new(srv, s, &group, ifindex);
    }
    if (ret < 0) {
        return ret;
    }
    add(srv, s, &group);
    return 0;
}

static VMRPC_LOCKED int leave(VmrpcServer *srv, VmrpcSock *s,
                              struct in_addr group4)
{
    Group *group = find(s, group4);

    if (!group) {
        return -EADDRNOTAVAIL;
    }
    if (group->fd < 0 && vmrpc_sock_is_host(s)) {
        change_membership(srv, s->fd, group4, 0, false);
    }
    receiver_free(srv, group);
    g_array_remove_index(s->groups, group - group_at(s, 0));
    return 0;
}

/* As vmrpc_membership_parse(), and finds the group's name. */
static VMRPC_LOCKED int parse(VmrpcServer *srv, const VmrpcSock *s, int level,
                              int name, const void *value, uint32_t len,
                              struct in_addr *group4, bool *joins)
{
    VmrpcMembership m;
    int ret = level == IPPROTO_IPV6 && !s->inet6
              ? 0 : vmrpc_membership_parse(level, name, value, len,
                                           srv->config.reach.guest4, &m);

    if (ret <= 0) {
        return ret;
    }
    *joins = m.join;
    ret = vmrpc_inet6_to_guest4(&srv->reach, &m.group, group4);
    return ret < 0 ? ret : 1;
}

int vmrpc_groups_option(VmrpcServer *srv, VmrpcSock *s, int level, int name,
                        const void *value, uint32_t len)
{
    struct in_addr group4;
    bool joins;
    int ret = parse(srv, s, level, name, value, len, &group4, &joins);

    if (ret <= 0) {
        return ret;
    }
    /* Natively a stream may join, without any effect. */
    if (s->proto != IPPROTO_UDP ||
        (!vmrpc_sock_is_host(s) && !vmrpc_sock_is_arriving(s))) {
        return -ENOPROTOOPT;
    }
    ret = joins ? join(srv, s, group4) : leave(srv, s, group4);
    return ret < 0 ? ret : 1;
}

/* --- sockets that send to groups, or are bound to one --------------------- */

static bool is_group(const struct sockaddr_storage *ss)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

    return ss->ss_family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&sin6->sin6_addr)
                                     : is_ipv4(sin->sin_addr);
}

int vmrpc_groups_prepare_send(VmrpcServer *srv, VmrpcSock *s,
                              const struct sockaddr_storage *dest)
{
    struct ip_mreqn mreqn = { .imr_address = srv->config.reach.guest4 };
    uint64_t changes;
    int ret;

    if (!is_group(dest) || s->type != SOCK_DGRAM) {
        return 0;
    }
    /* The VM's address may have moved to another interface. */
    changes = vmrpc_route_changes(srv->reach.route);
    if (s->sends_groups == changes) {
        return 0;
    }
    if (srv->config.reach.translate) {
        ret = own_interface(srv);
        if (ret >= 0) {
            ret = set_int(s->fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, ret);
        }
    } else {
        ret = set(s->fd, IPPROTO_IP, IP_MULTICAST_IF, &mreqn, sizeof(mreqn));
    }
    s->sends_groups = ret == 0 ? changes : 0;
    return ret == -ENODEV ? -ENETUNREACH : ret;
}

/* Undoes the first @num memberships of join_itself(). */
static VMRPC_LOCKED void leave_itself(VmrpcServer *srv, VmrpcSock *s,
                                      unsigned num, int ifindex)
{
    for (unsigned i = 0; i < num; i++) {
        change_membership(srv, s->fd, group_at(s, i)->group4, ifindex, false);
    }
}

/*
 * Joins the groups that were joined by receivers before @s was bound to one.
 * The receivers have no port, so they have heard nothing.  Returns 0 or -errno.
 */
static VMRPC_LOCKED int join_itself(VmrpcServer *srv, VmrpcSock *s, int ifindex)
{
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        int ret = change_membership(srv, s->fd, group_at(s, i)->group4,
                                    ifindex, true);

        if (ret < 0) {
            leave_itself(srv, s, i, ifindex);
            return ret;
        }
    }
    return 0;
}

/* May @s receive at @port from @group4, and from the groups it has joined? */
static int check_itself(VmrpcServer *srv, const VmrpcSock *s,
                        struct in_addr group4, in_port_t port)
{
    int ret = find(s, group4) ? 0
                              : vmrpc_group_check(&srv->reach, group4, port);

    return ret < 0 ? ret : vmrpc_groups_check(srv, s, port);
}

/* Binds @s to the group; returns 0 or -errno. */
static int bind_itself(VmrpcServer *srv, VmrpcSock *s, struct in_addr group4,
                       in_port_t port, int ifindex)
{
    int ret = bind_to_group(srv, s->fd, group4, port, ifindex);

    if (ret < 0) {
        return ret;
    }
    vmrpc_sock_has_port(srv, s, true);
    ret = port ? 0 : check_itself(srv, s, group4, bound_port(srv, s));
    if (ret < 0) {
        unbind(srv, s);
    }
    return ret;
}

void vmrpc_groups_set_bound(VmrpcServer *srv, VmrpcSock *s,
                            struct in_addr group4)
{
    /* Take the new reference first: both may be of the same group. */
    bool held = vmrpc_address_hold(srv, group4);

    vmrpc_address_release(srv, s->bound_group, s->bound_group_held);
    s->bound_group = group4;
    s->bound_group_held = held;
}

int vmrpc_groups_bind_socket(VmrpcServer *srv, VmrpcSock *s,
                             struct in_addr group4, in_port_t port)
{
    Place place = own_place(srv);
    int ifindex = join_interface(srv, &place), ret;

    if (s->proto != IPPROTO_UDP || vmrpc_sock_is_bound(s)) {
        return vmrpc_sock_is_bound(s) ? -EINVAL : -EADDRNOTAVAIL;
    }
    if (ifindex < 0) {
        return -EADDRNOTAVAIL;
    }
    ret = check_itself(srv, s, group4, port);
    if (ret < 0) {
        return ret;
    }
    ret = share(srv, s->fd, ifindex);
    if (ret < 0) {
        return ret;
    }
    s->filtered = false;        /* share() has replaced the filter */
    ret = join_itself(srv, s, ifindex);
    if (ret < 0) {
        goto err;
    }
    ret = bind_itself(srv, s, group4, port, ifindex);
    if (ret < 0) {
        leave_itself(srv, s, vmrpc_groups_num(s), ifindex);
        goto err;
    }
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        receiver_close(srv, group_at(s, i));
        group_at(s, i)->port = bound_port(srv, s);
        group_at(s, i)->place = place;
    }
    vmrpc_groups_set_bound(srv, s, group4);
    return 0;

err:
    hear_everywhere(s->fd);
    return ret;
}

size_t vmrpc_groups_source(const VmrpcServer *srv, const VmrpcSock *s,
                           void *control)
{
    struct in6_pktinfo info6 = { .ipi6_addr = srv->config.reach.address6 };
    struct in_pktinfo info = { .ipi_spec_dst = srv->config.reach.guest4 };
    struct cmsghdr header = { .cmsg_level = IPPROTO_IPV6,
                              .cmsg_type = IPV6_PKTINFO };
    const void *data = &info6;
    size_t len = sizeof(info6);

    if (!s->bound_group.s_addr) {
        return 0;
    }
    if (!srv->config.reach.translate) {
        header.cmsg_level = IPPROTO_IP;
        header.cmsg_type = IP_PKTINFO;
        data = &info;
        len = sizeof(info);
    }
    header.cmsg_len = CMSG_LEN(len);
    memset(control, 0, CMSG_SPACE(len));
    memcpy(control, &header, sizeof(header));
    memcpy((uint8_t *)control + CMSG_LEN(0), data, len);
    return CMSG_SPACE(len);
}

unsigned vmrpc_groups_save(const VmrpcServer *srv, const VmrpcSock *s,
                           VmrpcSavedOption *option)
{
    unsigned n = vmrpc_groups_num(s);

    for (unsigned i = 0; i < n; i++) {
        struct in_addr group4 = group_at(s, i)->group4;
        struct in6_addr group6;

        if (is_ipv4(group4)) {
            option[i] = (VmrpcSavedOption) {
                .level = IPPROTO_IP, .name = IP_ADD_MEMBERSHIP,
                .len = sizeof(struct ip_mreq),
            };
            memcpy(option[i].value, &group4, sizeof(group4));
        } else {
            option[i] = (VmrpcSavedOption) {
                .level = IPPROTO_IPV6, .name = IPV6_ADD_MEMBERSHIP,
                .len = sizeof(struct ipv6_mreq),
            };
            group6 = vmrpc_inet6_from_guest4(&srv->reach, group4, false);
            memcpy(option[i].value, &group6, sizeof(group6));
        }
    }
    return n;
}

void vmrpc_groups_restore(VmrpcServer *srv, VmrpcSock *s,
                          const VmrpcSavedOption *option)
{
    Group group = { .fd = -1 };
    bool joins;

    if (s->proto == IPPROTO_UDP && vmrpc_groups_num(s) < VMRPC_GROUPS_MAX &&
        parse(srv, s, option->level, option->name, option->value, option->len,
              &group.group4, &joins) > 0 &&
        joins && !find(s, group.group4)) {
        add(srv, s, &group);
    }
}

int vmrpc_groups_ready_to_join(VmrpcServer *srv, const VmrpcSock *s)
{
    struct sockaddr_storage own;
    int ret;

    if ((!s->bound_group.s_addr && !vmrpc_groups_num(s)) ||
        vmrpc_own_address(&srv->reach, 0, &own) < 0) {
        return 0;
    }
    if (!vmrpc_route_is_local(srv->reach.route, (struct sockaddr *)&own, NULL,
                              0)) {
        return -EADDRNOTAVAIL;
    }
    ret = srv->config.reach.translate ? own_interface(srv) : 0;
    return MIN(ret, 0);
}

GArray *vmrpc_groups_set_aside(VmrpcServer *srv, VmrpcSock *s)
{
    srv->group_num -= vmrpc_groups_num(s);
    return g_steal_pointer(&s->groups);
}

void vmrpc_groups_put_back(VmrpcServer *srv, VmrpcSock *s, GArray *groups)
{
    s->groups = groups;
    srv->group_num += vmrpc_groups_num(s);
}

void vmrpc_groups_join_again(VmrpcServer *srv, VmrpcSock *s, GArray *groups)
{
    for (unsigned i = 0; groups && i < groups->len; i++) {
        const Group *group = &g_array_index(groups, Group, i);

        if (join(srv, s, group->group4) < 0) {
            srv->counters.connections_lost++;
        }
        vmrpc_address_release(srv, group->group4, group->held);
    }
    if (groups) {
        g_array_free(groups, TRUE);
    }
}

/* --- when the interface is another ---------------------------------------- */

/* Returns 0 or -errno; then the old receiver is still there. */
static VMRPC_LOCKED int move_receiver(VmrpcServer *srv, VmrpcSock *s,
                                      Group *group, int ifindex)
{
    Group moved = { .group4 = group->group4, .held = group->held, .fd = -1,
                    .port = group->port };
    int ret;

    /* The new one needs what the old one has. */
    vmrpc_budget_release(srv, &group->buffers);
    ret = receiver_new(srv, s, &moved, ifindex);
    if (ret == 0) {
        receiver_close(srv, group);
        *group = moved;
    }
    return ret;
}

/* A socket bound to the group of @s, which joins its groups, needs this */
static VMRPC_LOCKED int start_itself(VmrpcServer *srv, VmrpcSock *s, int fd,
                                     int ifindex)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    int ret = share(srv, fd, ifindex);

    for (unsigned i = 0; ret == 0 && i < vmrpc_groups_num(s); i++) {
        ret = change_membership(srv, fd, group_at(s, i)->group4, ifindex, true);
    }
    if (ret == 0) {
        ret = bind_to_group(srv, fd, s->bound_group, bound_port(srv, s),
                            ifindex);
    }
    if (ret == 0) {
        take_options(srv, s, fd, vmrpc_sock_kind(srv, s));
        vmrpc_budget_apply(srv, fd, &s->buffers);
    }
    if (ret == 0 && getpeername(s->fd, (struct sockaddr *)&peer, &len) == 0 &&
        connect(fd, (struct sockaddr *)&peer, len) < 0) {
        ret = -errno;
    }
    return ret;
}

/*
 * Gives @s, which is bound to a group, a new host socket under its descriptor:
 * a call in another thread may be using that.  Returns 0 or -errno.
 */
static VMRPC_LOCKED int move_itself(VmrpcServer *srv, VmrpcSock *s, int ifindex)
{
    int fd = vmrpc_host_socket(srv, s->type, s->proto), ret;

    if (fd < 0) {
        return fd;
    }
    ret = start_itself(srv, s, fd, ifindex);
    if (ret == 0 && dup3(fd, s->fd, O_CLOEXEC) < 0) {
        ret = -errno;
    }
    close(fd);
    if (ret == 0) {
        s->sends_groups = 0;
    }
    if (ret == 0 && s->watched) {
        s->watched = false;     /* the old socket has left the epoll set */
        vmrpc_sock_watch(srv, s);
    }
    return ret;
}

/* Leaves the groups whose receivers are elsewhere; they may be gone. */
static VMRPC_LOCKED void leave_place(VmrpcServer *srv, const VmrpcSock *s,
                                     const Place *place)
{
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        const Group *group = group_at(s, i);

        if (!is_at(&group->place, place)) {
            change_membership(srv, group->fd < 0 ? s->fd : group->fd,
                              group->group4, group->place.ifindex, false);
        }
    }
}

/* Returns false if a membership is not where it should be. */
static VMRPC_LOCKED bool move_groups(VmrpcServer *srv, VmrpcSock *s,
                                     const Place *place)
{
    bool done = true, moved = false;

    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        Group *group = group_at(s, i);

        if (is_at(&group->place, place)) {
            continue;
        }
        /* The first of them moves a socket that is bound to a group. */
        if (group->fd < 0 ? !moved && move_itself(srv, s, place->ifindex) < 0
                          : move_receiver(srv, s, group, place->ifindex) < 0) {
            done = false;
            continue;
        }
        moved = true;
        group->place = *place;
        srv->counters.groups_joined_again++;
    }
    return done;
}

void vmrpc_groups_routing_changed(VmrpcServer *srv)
{
    int64_t due_ms = srv->groups_turn_ms + TURN_MS;

    if (srv->group_num && (!srv->groups_due_ms ||
                           due_ms < srv->groups_due_ms)) {
        srv->groups_due_ms = due_ms;
        vmrpc_timer_rearm(srv);
    }
}

int vmrpc_groups_timeout_ms(VmrpcServer *srv)
{
    return srv->groups_due_ms
           ? CLAMP(srv->groups_due_ms - vmrpc_now_ms(), 0, RETRY_MS) : -1;
}

void vmrpc_groups_process_timer(VmrpcServer *srv)
{
    struct sockaddr_storage own;
    int64_t now_ms = vmrpc_now_ms();
    bool done = true;
    Place place;

    if (!srv->groups_due_ms || now_ms < srv->groups_due_ms) {
        return;
    }
    srv->groups_due_ms = 0;
    srv->groups_turn_ms = now_ms;
    if (vmrpc_own_address(&srv->reach, 0, &own) < 0 ||
        !vmrpc_route_is_local(srv->reach.route, (struct sockaddr *)&own, NULL,
                              0)) {
        return;
    }
    place = own_place(srv);
    if (!place.ifindex) {
        return;
    }
    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        if (srv->socks[i] && vmrpc_sock_is_host(srv->socks[i])) {
            leave_place(srv, srv->socks[i], &place);
        }
    }
    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        if (srv->socks[i] && vmrpc_sock_is_host(srv->socks[i]) &&
            !move_groups(srv, srv->socks[i], &place)) {
            done = false;
        }
    }
    if (!done && !srv->groups_due_ms) {
        srv->groups_due_ms = now_ms + RETRY_MS;
    }
}
