/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets that have come with the guest, and wait for the host
 *
 * Theory of operation
 * ===================
 *
 * After a migration a socket of the guest is "arriving" until its host socket
 * is bound, listening and connected as it was on the source.  The fields of
 * VmrpcSock hold the intended state; the guest's calls read and change them,
 * and the next migration saves them (saved.c).
 *
 * Something may be missing on this host: the VM's address, which comes a little
 * later or hours later; the port, which another socket has, or that of the
 * source if both are on one host; a route to the peer; a descriptor, memory or
 * a permission.  All of it can come, so the waiting has no end.  The host's
 * kernel reports addresses and routes (route.c), and each socket is tried at
 * once.  It does not report the rest, so each socket is tried again after
 * ARRIVING_RETRY_MS, and after ARRIVING_IDLE_MS only every ARRIVING_SLOW_MS.
 * The lock is held for ARRIVING_BATCH of them at a time.
 *
 * To the guest an arriving socket looks idle: a server waits for clients.  A
 * program that sends datagrams does not expect to wait for long; after
 * ARRIVING_IDLE_MS its sends fail, as if the network were unreachable.
 *
 * Some sockets are lost: a datagram socket whose peer or group this host's
 * policy refuses.
 *
 * A socket also waits if the guest has two of one port, one in each family, as
 * web servers do that listen on 0.0.0.0 and [::]: the host has one address for
 * both.  The second gets the port when the first gives it up.  That is no fault
 * of the host's, so nothing is reported, and no time is spent on trying.
 */
#include "hw/vmrpc/peer/arriving.h"

#include <arpa/inet.h>
#include <errno.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"

#define ARRIVING_RETRY_MS       100
#define ARRIVING_SLOW_MS        1000
#define ARRIVING_IDLE_MS        30000
#define ARRIVING_BATCH          64

/* A shorter wait is not reported. */
#define ARRIVING_REPORT_MS      1000

/* --- making it again ------------------------------------------------------ */

/* Returns 0 or a negative errno. */
static VMRPC_LOCKED int make_host_socket(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcBuffers buffers;
    int fd, ret = vmrpc_budget_reserve(srv, NULL, NULL, &buffers);

    if (ret < 0) {
        return ret;
    }
    fd = vmrpc_host_socket(srv, s->type, s->proto);
    if (fd < 0) {
        vmrpc_budget_release(srv, &buffers);
        return fd;
    }
    vmrpc_budget_apply(srv, fd, &buffers);
    s->fd = fd;
    s->buffers = buffers;
    vmrpc_host_copy_options(srv, s, s);
    vmrpc_watch_later(srv, s);
    return 0;
}

/* Returns 0 or a negative errno. */
static VMRPC_LOCKED int bind_again(VmrpcServer *srv, VmrpcSock *s)
{
    if (vmrpc_sock_is_bound(s) || !s->local_port) {
        return 0;
    }
    if (s->bound_group.s_addr) {
        return vmrpc_groups_bind_socket(srv, s, s->bound_group, s->local_port);
    }
    return vmrpc_host_bind(srv, s, s->local_port);
}

/*
 * Returns 0 or a negative errno.  Sets *@refused if the policy refuses the peer
 * or its address cannot be translated, which waiting would not change.
 */
static VMRPC_LOCKED int connect_again(VmrpcServer *srv, VmrpcSock *s,
                                      bool *refused)
{
    struct sockaddr_storage ss;
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_addr = s->peer4,
        .sin_port = s->peer_port,
    };
    VmrpcPass pass;
    int len, ret;

    if (s->peer == VMRPC_PEER_SELF) {
        return vmrpc_host_connect_self(srv, s);
    }
    if (s->peer != VMRPC_PEER_REMOTE) {
        return 0;
    }
    ret = vmrpc_host_bind_source(srv, s);
    if (ret < 0) {
        return ret;
    }
    len = vmrpc_evidence_dest(srv, s, &peer, &ss, &pass);
    *refused = len < 0;
    if (len < 0) {
        return len;
    }
    s->says = pass.says;
    s->peer_decided = s->decided;
    vmrpc_sock_take_terms(s, pass.terms);
    return connect(s->fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 0;
}

static VMRPC_LOCKED bool is_late(const VmrpcServer *srv)
{
    return vmrpc_now_ms() - srv->arriving_since_ms >= ARRIVING_IDLE_MS;
}

/* Returns 0 or a negative errno, and sets *@refused, as connect_again(). */
static VMRPC_LOCKED int make_again(VmrpcServer *srv, VmrpcSock *s,
                                   bool *refused)
{
    int ret = s->fd < 0 ? make_host_socket(srv, s) : 0;

    if (ret == 0) {
        ret = bind_again(srv, s);
        *refused = s->bound_group.s_addr &&
                   (ret == -EACCES || ret == -ENETUNREACH);
    }
    if (ret == 0 && vmrpc_sock_is_listening(s)) {
        ret = vmrpc_host_listen(srv, s, s->backlog);
    }
    return ret < 0 ? ret : connect_again(srv, s, refused);
}

/*
 * The same with its groups, which are joined last, when @s has its port.  Not
 * before the VM's address is here: groups are heard at its interface, and the
 * interface of the default route would be taken instead.
 */
static VMRPC_LOCKED int make_with_groups(VmrpcServer *srv, VmrpcSock *s,
                                         bool *refused)
{
    int ret = vmrpc_groups_ready_to_join(srv, s);
    GArray *groups;

    *refused = false;
    if (ret == -EADDRNOTAVAIL || (ret == -ENODEV && !is_late(srv))) {
        return ret;
    }
    groups = vmrpc_groups_set_aside(srv, s);
    ret = make_again(srv, s, refused);
    if (ret < 0) {
        vmrpc_groups_put_back(srv, s, groups);
        return ret;
    }
    vmrpc_sock_set_backing(srv, s, &vmrpc_host_backing);
    vmrpc_groups_join_again(srv, s, groups);
    return 0;
}

/* --- sockets that wait, and their reason ---------------------------------- */

static VMRPC_LOCKED VmrpcMissing missing_for(const VmrpcServer *srv,
                                             const VmrpcSock *s, int error)
{
    switch (error) {
    case EADDRNOTAVAIL:
        return VMRPC_MISSING_ADDRESS;
    case EADDRINUSE:
        return vmrpc_host_is_second(srv, s, s->local_port, false)
               ? VMRPC_MISSING_TURN : VMRPC_MISSING_PORT;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENODEV:
        return VMRPC_MISSING_ROUTE;
    default:
        return VMRPC_MISSING_RESOURCE;
    }
}

static VMRPC_LOCKED void unqueue(VmrpcServer *srv, VmrpcSock *s)
{
    *s->arriving_prev = s->arriving_next;
    if (s->arriving_next) {
        s->arriving_next->arriving_prev = s->arriving_prev;
    } else {
        srv->arriving_tail = s->arriving_prev;
    }
    s->arriving_prev = NULL;
    srv->arriving_num--;
    srv->missing_num[s->missing]--;
}

/* Those that wait for something on this host. */
static VMRPC_LOCKED uint32_t reported_num(const VmrpcServer *srv)
{
    return srv->arriving_num - srv->missing_num[VMRPC_MISSING_TURN];
}

/* Puts @s behind all others. */
static VMRPC_LOCKED void queue(VmrpcServer *srv, VmrpcSock *s, int error)
{
    s->missing_error = error;
    s->missing = missing_for(srv, s, error);
    s->arriving_next = NULL;
    s->arriving_prev = srv->arriving_tail;
    *srv->arriving_tail = s;
    srv->arriving_tail = &s->arriving_next;
    srv->arriving_num++;
    srv->missing_num[s->missing]++;
}

/* The address that is missing, or needs what is missing. */
static const char *address_text(VmrpcServer *srv, const VmrpcSock *s,
                                char text[INET6_ADDRSTRLEN])
{
    struct sockaddr_storage ss;
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&ss;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)&ss;
    int len = s->missing == VMRPC_MISSING_ROUTE && vmrpc_sock_is_connected(s)
              ? vmrpc_addr_to_host(&srv->reach, s->peer4, s->peer_port, &ss)
              : vmrpc_own_address(&srv->reach, 0, &ss);

    if (len < 0) {
        return NULL;
    }
    return inet_ntop(ss.ss_family, ss.ss_family == AF_INET6
                     ? (const void *)&sin6->sin6_addr : &sin->sin_addr, text,
                     INET6_ADDRSTRLEN);
}

static void report(VmrpcServer *srv, const VmrpcArrival *arrival)
{
    if (srv->tracer.arrival) {
        srv->tracer.arrival(srv->tracer.opaque, arrival);
    }
}

static VMRPC_LOCKED void report_missing(VmrpcServer *srv, const VmrpcSock *s)
{
    char text[INET6_ADDRSTRLEN];

    report(srv, &(VmrpcArrival) {
        .sockets = srv->missing_num[s->missing],
        .missing = s->missing,
        .address = address_text(srv, s, text),
        .port = s->missing == VMRPC_MISSING_PORT ? ntohs(s->local_port) : 0,
        .error = s->missing_error,
    });
}

/* At the end of a turn: reports each reason once, until it is gone. */
static VMRPC_LOCKED void report_all(VmrpcServer *srv)
{
    unsigned now = 0, untold;

    for (unsigned i = 0; i < VMRPC_MISSING_NUM; i++) {
        now |= srv->missing_num[i] ? 1u << i : 0;
    }
    now &= ~(1u << VMRPC_MISSING_TURN);
    if (vmrpc_now_ms() - srv->arriving_since_ms < ARRIVING_REPORT_MS) {
        return;
    }
    untold = now & ~srv->missing_reported;
    srv->missing_reported = now;
    for (VmrpcSock *s = srv->arriving_head; s && untold;
         s = s->arriving_next) {
        if (untold & 1u << s->missing) {
            untold &= ~(1u << s->missing);
            report_missing(srv, s);
        }
    }
}

/* The last socket has stopped waiting. */
static VMRPC_LOCKED void end_waiting(VmrpcServer *srv)
{
    if (srv->missing_reported) {
        srv->missing_reported = 0;
        report(srv, &(VmrpcArrival) { .sockets = 0 });
    }
}

static VMRPC_LOCKED void stop_waiting(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->arriving_prev) {
        unqueue(srv, s);
        if (!reported_num(srv)) {
            end_waiting(srv);
        }
    }
}

static int admit_lost(VmrpcServer *srv, VmrpcSock *s, unsigned op)
{
    switch (op) {
    case VMRPC_BIND:
    case VMRPC_LISTEN:
        return -EINVAL;
    case VMRPC_CONNECT:
        return -ECONNRESET;
    case VMRPC_SENDMSG:
        return -EPIPE;
    case VMRPC_SHUTDOWN:
        return -ENOTCONN;
    default:
        return 0;
    }
}

static uint32_t ready_lost(const VmrpcSock *s)
{
    return VMRPC_IN | VMRPC_OUT | VMRPC_HUP | VMRPC_RDHUP;
}

const VmrpcBackingOps vmrpc_lost_backing = {
    .kind = VMRPC_BACKING_LOST,
    .admit = admit_lost,
    .ready = ready_lost,
};

void vmrpc_sock_lose(VmrpcServer *srv, VmrpcSock *s, int error)
{
    stop_waiting(srv, s);
    vmrpc_sock_close_host(srv, s);
    vmrpc_sock_set_backing(srv, s, &vmrpc_lost_backing);
    vmrpc_sock_has_port(srv, s, false);
    if (vmrpc_sock_is_listening(s)) {
        vmrpc_sock_clear_peer(srv, s);
    }
    s->so_error = error;
    srv->counters.connections_lost++;
    vmrpc_sock_notify(srv, s);
}

/* Makes the host socket of @s, or leaves @s waiting. */
static VMRPC_LOCKED void arrive(VmrpcServer *srv, VmrpcSock *s)
{
    bool refused;
    int ret = make_with_groups(srv, s, &refused);

    if (ret < 0 && refused) {
        vmrpc_sock_lose(srv, s, -ret);
        return;
    }
    if (ret < 0) {
        if (s->arriving_prev) {
            unqueue(srv, s);
        }
        queue(srv, s, -ret);
    } else {
        stop_waiting(srv, s);
        /* The guest may have asked for edges, and does not ask again. */
        s->edge = true;
    }
    vmrpc_sock_refresh(srv, s);
    vmrpc_sock_notify(srv, s);
}

/* The error that a send gets while @s waits, a negative errno. */
static VMRPC_LOCKED int send_error(const VmrpcServer *srv, const VmrpcSock *s)
{
    if (s->type == SOCK_STREAM) {
        return -EPIPE;
    }
    if (s->missing == VMRPC_MISSING_TURN) {
        return -ENETUNREACH;
    }
    if (!is_late(srv)) {
        return -EAGAIN;
    }
    return s->missing == VMRPC_MISSING_ADDRESS ? -ENETUNREACH
                                               : -s->missing_error;
}

static VMRPC_LOCKED int admit_arriving(VmrpcServer *srv, VmrpcSock *s,
                                       unsigned op)
{
    switch (op) {
    case VMRPC_BIND:
        return -s->missing_error;
    case VMRPC_CONNECT:
        return vmrpc_sock_is_listening(s) ? -EISCONN : -s->missing_error;
    case VMRPC_ACCEPT:
        return -EAGAIN;
    case VMRPC_SENDMSG:
        return send_error(srv, s);
    case VMRPC_RECVMSG:
        return s->type == SOCK_STREAM ? -ENOTCONN : 0;
    default:
        return 0;
    }
}

static VMRPC_LOCKED void refresh_arriving(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->type == SOCK_DGRAM) {
        s->ready = is_late(srv) || s->missing == VMRPC_MISSING_TURN ? VMRPC_OUT
                                                                    : 0;
    } else {
        /* A server has no clients yet; others look like a new socket. */
        s->ready = vmrpc_sock_is_listening(s) ? 0 : VMRPC_OUT | VMRPC_HUP;
    }
}

const VmrpcBackingOps vmrpc_arriving_backing = {
    .kind = VMRPC_BACKING_ARRIVING,
    .admit = admit_arriving,
    .refresh = refresh_arriving,
    .detach = stop_waiting,
};

void vmrpc_arriving_begin(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_sock_set_backing(srv, s, &vmrpc_arriving_backing);
    /* One that waits for its turn is no new arrival. */
    if (s->fd < 0) {
        srv->arriving_since_ms = vmrpc_now_ms();
    }
    arrive(srv, s);
    vmrpc_timer_rearm(srv);
}

void vmrpc_arriving_port_freed(VmrpcServer *srv, const VmrpcSock *s)
{
    if (!srv->missing_num[VMRPC_MISSING_TURN] || !s->local_port ||
        !vmrpc_sock_is_host(s)) {
        return;
    }
    /* Its descriptor is closed in a moment; that is not worth a report. */
    srv->arriving_freed = true;
    srv->arriving_since_ms = vmrpc_now_ms();
    srv->arriving_due_ms = srv->arriving_since_ms;
    vmrpc_timer_rearm(srv);
}

/* --- while it waits ------------------------------------------------------- */

int vmrpc_arriving_timeout_ms(VmrpcServer *srv)
{
    if (!reported_num(srv) && !srv->arriving_freed) {
        return -1;
    }
    return CLAMP(srv->arriving_due_ms - vmrpc_now_ms(), 0, ARRIVING_SLOW_MS);
}

void vmrpc_arriving_routing_changed(VmrpcServer *srv)
{
    if (!srv->arriving_num) {
        return;
    }
    /* A turn begins at most every ARRIVING_RETRY_MS. */
    srv->arriving_changed = true;
    if (!srv->arriving_left) {
        srv->arriving_due_ms = MIN(srv->arriving_due_ms,
                                   srv->arriving_turn_ms + ARRIVING_RETRY_MS);
        vmrpc_timer_rearm(srv);
    }
}

void vmrpc_arriving_process_timer(VmrpcServer *srv)
{
    int64_t now = vmrpc_now_ms();

    if (!srv->arriving_num) {
        srv->arriving_freed = false;
    }
    if (!srv->arriving_num || now < srv->arriving_due_ms) {
        return;
    }
    if (!srv->arriving_left) {
        srv->arriving_left = srv->arriving_num;
        srv->arriving_turn_ms = now;
        srv->arriving_changed = false;
        srv->arriving_freed = false;
    }
    for (unsigned i = 0; i < ARRIVING_BATCH && srv->arriving_left &&
                         srv->arriving_num; i++) {
        srv->arriving_left--;
        arrive(srv, srv->arriving_head);
    }
    if (srv->arriving_left && srv->arriving_num) {
        srv->arriving_due_ms = now;
        return;
    }
    srv->arriving_left = 0;
    srv->arriving_due_ms = now + (is_late(srv) && !srv->arriving_changed
                                  ? ARRIVING_SLOW_MS : ARRIVING_RETRY_MS);
    report_all(srv);
}
