/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: its life, the dispatch of requests and of events
 *
 * Theory of operation
 * ===================
 *
 * A server owns the host sockets of one guest.  The device hands it requests
 * (vmrpc_server_call) and watches one descriptor (vmrpc_server_fd): an epoll
 * set with the host sockets that are followed (watch.c), attempts at
 * connections (race.c), the sockets of the DNS upstream, the watches of files,
 * and a timer.  A program that can poll one descriptor can run a server; the
 * unit tests do so without QEMU.
 *
 * A call runs in the thread that brings it, mostly a vCPU of the guest, so many
 * can run at once.  One lock guards the table and everything else.  A call
 * releases it while the host's kernel moves data or reaches a peer
 * (vmrpc_sock_enter).  Host sockets are always non-blocking, so no call waits,
 * except for the short time that it asks for itself.  Hence no peer can keep
 * another socket's request from being executed.
 *
 * A hostile guest can use its own sockets in any order and with any
 * arguments.  Every field of a request is bounded before it is used.  The
 * server does not read the data: it passes their place to the host's kernel, to
 * the DNS proxy or to a gateway.
 *
 * The files are a ladder: each uses only files below it.
 *
 *   server/  server                       life, requests, events
 *            saved, inspect               migration; the view of management
 *            calls                        dispatch of the calls; SOCKET, CLOSE,
 *                                         options
 *            calls-connect, calls-data    BIND to ACCEPT; SENDMSG, RECVMSG
 *            policy-file, zone-files      files that are read again
 *            resolver, gateway            the DNS proxy; FTP and SIP
 *            refusals, claim              the latest, for the guest; the VM's
 *                                         address, which no other VM may have
 *   peer/    race, proxied, arriving      Happy Eyeballs; proxies; sockets after
 *                                         a migration
 *            bind, nat64                  port, options and peer of a socket;
 *                                         the NAT64 prefix
 *            first-bytes, first-datagrams names that must be said first
 *            parked, evidence             the audit log: what waits for it; its
 *                                         lines
 *   sock/    throttle, ready              rates; readiness and events
 *            groups                       multicast
 *            hostsock                     host sockets
 *            table, watch, files          the sockets; epoll; watches of files
 *            timer, budget                the clocks and the timer; limits
 *            resolver-queue, call         queries and answers; a call's data
 *            options                      of a socket
 *            state, config                the structs that all of them share
 *
 * A lower file calls a higher one only through a table of functions that it
 * was given: the backing of a socket (VmrpcBackingOps), work that is due
 * (VmrpcTimerOps).
 */
#include "hw/vmrpc/server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "hw/vmrpc/peer/arriving.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/peer/nat64.h"
#include "hw/vmrpc/peer/parked.h"
#include "hw/vmrpc/peer/proxied.h"
#include "hw/vmrpc/peer/race.h"
#include "hw/vmrpc/reach/inet6.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/calls.h"
#include "hw/vmrpc/server/gateway.h"
#include "hw/vmrpc/server/policy-file.h"
#include "hw/vmrpc/server/refusals.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/server/zone-files.h"
#include "hw/vmrpc/sock/files.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/throttle.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/iov.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* Events taken in one vmrpc_server_process(). */
#define EPOLL_BATCH             64

/* A stream that is connecting has none of these. */
#define POLL_ALL                (POLLIN | POLLPRI | POLLOUT | POLLRDHUP)

/* A call that waits asks may_go_on() at this interval. */
#define WAIT_SLICE_US           100

G_STATIC_ASSERT(sizeof(struct vmrpc_config) == 40);
G_STATIC_ASSERT(sizeof(struct vmrpc_req) == 48);
G_STATIC_ASSERT(sizeof(struct vmrpc_resp) == 40);
G_STATIC_ASSERT(sizeof(struct vmrpc_addr6) == 16);
G_STATIC_ASSERT(sizeof(struct vmrpc_event) == 24);
G_STATIC_ASSERT(VMRPC_IN == EPOLLIN && VMRPC_PRI == EPOLLPRI &&
                VMRPC_OUT == EPOLLOUT && VMRPC_ERR == EPOLLERR &&
                VMRPC_HUP == EPOLLHUP && VMRPC_RDHUP == EPOLLRDHUP);
G_STATIC_ASSERT(VMRPC_IN == POLLIN && VMRPC_PRI == POLLPRI &&
                VMRPC_OUT == POLLOUT && VMRPC_ERR == POLLERR &&
                VMRPC_HUP == POLLHUP && VMRPC_RDHUP == POLLRDHUP);

/* --- events --------------------------------------------------------------- */

/* Returns true if a file may have changed. */
static VMRPC_LOCKED bool process_one(VmrpcServer *srv,
                                     const struct epoll_event *ev)
{
    uint32_t low = ev->data.u64;
    uint32_t high = ev->data.u64 >> 32;
    VmrpcSock *s;

    switch (low) {
    case VMRPC_EPOLL_TIMER:
        return vmrpc_timer_process(srv) && vmrpc_files_timeout_ms(srv) == 0;
    case VMRPC_EPOLL_DNS:
        vmrpc_resolver_process_fd(srv);
        break;
    case VMRPC_EPOLL_FILES:
        return true;
    case VMRPC_EPOLL_RACE:
        vmrpc_race_process_fd(srv, high);
        break;
    case VMRPC_EPOLL_ROUTE:
        vmrpc_route_process(srv->reach.route);
        break;
    default:
        s = vmrpc_sock_find(srv, low, high);
        if (s && s->ops->process) {
            s->ops->process(srv, s, ev->events);
        }
    }
    return false;
}

int vmrpc_server_fd(const VmrpcServer *srv)
{
    return srv->epoll_fd;
}

/*
 * Reads the files again that have changed.  In the thread that processes,
 * without the lock.
 */
static void follow_files(VmrpcServer *srv)
{
    if (srv->policy_file.path) {
        vmrpc_policy_file_follow(srv);
    }
    vmrpc_zone_files_follow(srv);
}

bool vmrpc_server_process(VmrpcServer *srv)
{
    struct epoll_event ev[EPOLL_BATCH];
    bool files_changed = false;
    int n;

    /* Under the lock: else a call could change the readiness after this. */
    vmrpc_lock(srv);
    n = epoll_wait(srv->epoll_fd, ev, EPOLL_BATCH, 0);
    if (srv->tells_moments) {
        vmrpc_see_clock(srv);
    }
    for (int i = 0; i < n; i++) {
        files_changed |= process_one(srv, &ev[i]);
    }
    vmrpc_unlock(srv);
    if (files_changed) {
        follow_files(srv);
    }
    return n > 0;
}

bool vmrpc_server_has_event(VmrpcServer *srv)
{
    bool has;

    vmrpc_lock(srv);
    has = srv->event_head;
    vmrpc_unlock(srv);
    return has;
}

bool vmrpc_server_next_event(VmrpcServer *srv, struct vmrpc_event *ev)
{
    VmrpcSock *s;

    memset(ev, 0, sizeof(*ev));
    vmrpc_lock(srv);
    s = srv->event_head;
    if (s) {
        ev->sock = GUINT32_TO_LE(s->handle);
        ev->gen = GUINT32_TO_LE(s->gen);
        s->edge_event = false;
        vmrpc_ready_report(srv, s, &ev->ready, &ev->ready_seq, &ev->so_error);
        s->idle_wakeups = 0;
        srv->counters.events++;
    }
    vmrpc_unlock(srv);
    return s;
}

void vmrpc_server_audit_has_room(VmrpcServer *srv)
{
    vmrpc_lock(srv);
    srv->unparks = srv->parked.length > 0;
    srv->dns_turn |= srv->dns_wait.length > 0;
    if (srv->unparks || srv->dns_turn) {
        vmrpc_timer_wake(srv);
    }
    vmrpc_unlock(srv);
}

/* --- requests ----------------------------------------------------------- */

static void decode(VmrpcCall *call, const struct vmrpc_req *req)
{
    call->op = GUINT16_FROM_LE(req->op);
    call->flags = GUINT16_FROM_LE(req->flags);
    call->wait_us = GUINT32_FROM_LE(req->wait_us);
    call->handle = GUINT32_FROM_LE(req->sock);
    call->gen = GUINT32_FROM_LE(req->gen);
    call->control_len = GUINT32_FROM_LE(req->control_len);
    call->addr = req->addr;
    for (unsigned i = 0; i < G_N_ELEMENTS(call->arg); i++) {
        call->arg[i] = GUINT32_FROM_LE(req->u.raw[i]);
    }
}

static bool has_good_flags(const VmrpcServer *srv, const VmrpcCall *call)
{
    bool may_open = call->op == VMRPC_BIND || call->op == VMRPC_CONNECT;

    return !(call->flags & ~VMRPC_REQ_ALL) &&
           (srv->has_inet6 || !(call->flags & VMRPC_REQ_INET6)) &&
           (may_open || !(call->flags & VMRPC_REQ_OPEN));
}

/* Finds the ancillary data and the data; returns 0 or -EINVAL. */
static int lay_out(const VmrpcServer *srv, VmrpcCall *call, size_t out_total,
                   size_t in_total, const struct vmrpc_req *req)
{
    size_t head = vmrpc_call_head(call);
    size_t answer_head = vmrpc_call_answer_head(call);
    size_t out_control = call->op == VMRPC_SENDMSG ? call->control_len : 0;
    size_t in_control = call->op == VMRPC_RECVMSG ? call->control_len : 0;

    if (req->reserved || !has_good_flags(srv, call) ||
        call->wait_us > VMRPC_WAIT_MAX ||
        call->control_len > VMRPC_CONTROL_MAX ||
        call->control_len != out_control + in_control ||
        out_total < head + out_control || in_total < answer_head + in_control) {
        return -EINVAL;
    }
    call->out_len = out_total - head - out_control;
    call->in_len = in_total - answer_head - in_control;
    if (call->out_len > VMRPC_DATA_MAX || call->in_len > VMRPC_DATA_MAX) {
        return -EINVAL;
    }
    if (call->flags & VMRPC_REQ_INET6) {
        vmrpc_iov_read(call->out, call->out_num, sizeof(*req), &call->addr6,
                       sizeof(call->addr6));
    }
    return 0;
}

/* Finds the data of a call with VMRPC_REQ_BUFFER; 0 or a negative errno. */
static VMRPC_LOCKED int use_mapped(VmrpcServer *srv, VmrpcCall *call)
{
    bool write = call->op == VMRPC_RECVMSG;

    if (!(call->flags & VMRPC_REQ_BUFFER)) {
        return 0;
    }
    if ((call->op != VMRPC_SENDMSG && !write) || call->out_len ||
        call->in_len || call->arg[3] > VMRPC_DATA_MAX) {
        return -EINVAL;
    }
    call->mapped = srv->mapped ? vmrpc_mapped_use(srv->mapped, call->arg[1],
                                                    call->arg[2], call->arg[3],
                                                    write) : NULL;
    if (!call->mapped) {
        return -ESTALE;
    }
    call->mapped_offset = call->arg[2];
    *(write ? &call->in_len : &call->out_len) = call->arg[3];
    return 0;
}

/* Reports writes to the guest's memory, which a migration has to copy. */
static void end_mapped(VmrpcServer *srv, VmrpcCall *call)
{
    struct iovec *iov = call->scratch->iov;

    if (call->in_data_len && srv->memory.written) {
        unsigned num = vmrpc_iov_slice(iov, call->mapped->iov,
                                       call->mapped->num, call->mapped_offset,
                                       call->in_data_len);

        srv->memory.written(srv->memory.opaque, iov, num);
    }
    call->in_data_len = 0;          /* none of them in the chain */
    vmrpc_lock(srv);
    vmrpc_mapped_unuse(srv->mapped, call->mapped);
    vmrpc_unlock(srv);
}

static void count_malformed(VmrpcServer *srv)
{
    vmrpc_lock(srv);
    srv->counters.requests_malformed++;
    vmrpc_unlock(srv);
}

static void encode_result(struct vmrpc_resp *resp, const VmrpcCall *call)
{
    resp->value = GUINT32_TO_LE(call->value);
    resp->msg_flags = GUINT32_TO_LE(call->msg_flags);
    resp->control_len = GUINT32_TO_LE(call->in_control_len);
    if (call->result.sin_family == AF_INET) {
        bool inet6 = call->flags & VMRPC_REQ_INET6;

        resp->addr.family = GUINT16_TO_LE(inet6 ? VMRPC_AF_INET6
                                                : VMRPC_AF_INET);
        resp->addr.port = call->result.sin_port;
        resp->addr.addr = inet6 ? 0 : call->result.sin_addr.s_addr;
    }
}

/* The address of the answer to a request with VMRPC_REQ_INET6. */
static VMRPC_LOCKED struct in6_addr result6(const VmrpcServer *srv,
                                            const VmrpcCall *call)
{
    return call->result.sin_family == AF_INET
           ? vmrpc_inet6_from_guest4(&srv->reach, call->result.sin_addr,
                                     call->result_mapped) : in6addr_any;
}

/* The poll(2) events that a call waits for; 0 if it does not wait. */
static short waits_for(const VmrpcCall *call, int ret)
{
    switch (call->op) {
    case VMRPC_CONNECT:
        return ret == -EINPROGRESS ? POLL_ALL : 0;
    case VMRPC_RECVMSG:
    case VMRPC_ACCEPT:
        return ret == -EAGAIN ? POLLIN | POLLRDHUP : 0;
    case VMRPC_NOOP:
        return ret == 0 ? POLLIN | POLLRDHUP : 0;
    default:
        return 0;
    }
}

/* The same before it is executed; 0 if it is executed first. */
static VMRPC_LOCKED short waits_first_for(const VmrpcServer *srv,
                                          const VmrpcSock *s,
                                          const VmrpcCall *call)
{
    /* A nearly full send buffer would take only a small piece. */
    if (call->op == VMRPC_SENDMSG) {
        return POLLOUT;
    }
    return call->op == VMRPC_RECVMSG && !call->arg[0] &&
           vmrpc_ready_lacks_input(srv, s) ? POLLIN | POLLRDHUP : 0;
}

/* Is @op executed again after it has waited? */
static bool is_retried(uint16_t op)
{
    return op == VMRPC_RECVMSG || op == VMRPC_ACCEPT;
}

/* In slices, as the thread may be needed for something else meanwhile. */
static bool poll_for(const VmrpcServer *srv, struct pollfd *pfd, long wait_us)
{
    int n;

    do {
        struct timespec ts = { .tv_nsec = MIN(wait_us, WAIT_SLICE_US) * 1000 };

        n = ppoll(pfd, 1, &ts, NULL);
        wait_us -= WAIT_SLICE_US;
    } while (n == 0 && wait_us > 0 &&
             (!srv->may_go_on || srv->may_go_on()));
    return n > 0;
}

/* The socket that @call may wait for, or NULL. */
static VMRPC_LOCKED VmrpcSock *find_waitable(VmrpcServer *srv,
                                             const VmrpcCall *call)
{
    VmrpcSock *s = vmrpc_sock_find(srv, call->handle, call->gen);

    /*
     * One call waits at a time: while one does, there are no events for others.
     * It waits for one descriptor; a member of groups has more.
     */
    return s && vmrpc_sock_is_host(s) && !s->groups &&
           s->delivery != VMRPC_DELIVERY_WAITED ? s : NULL;
}

/*
 * Waits without the lock until the host socket is ready, or for wait_us.
 * False: it is not, or has gone.
 */
static VMRPC_LOCKED bool wait_ready(VmrpcServer *srv, VmrpcSock *s,
                                    VmrpcCall *call, short events)
{
    struct pollfd pfd = { .fd = s->fd, .events = events };
    bool ready;

    vmrpc_sock_ref(s);
    vmrpc_ready_begin_wait(srv, s);
    vmrpc_sock_enter(srv, s);
    ready = poll_for(srv, &pfd, call->wait_us);
    if (!vmrpc_sock_leave(srv, s)) {
        vmrpc_call_unref(call, s);
        return false;
    }
    vmrpc_ready_end_wait(s);
    /* Of a race, that is the first attempt alone; of a proxy, its connection. */
    if (events == POLL_ALL && s->ops == &vmrpc_host_backing) {
        vmrpc_ready_polled(srv, s, pfd.revents);
    } else if (events == POLL_ALL || !ready || !is_retried(call->op)) {
        vmrpc_sock_refresh(srv, s);
    }
    /* An edge event is for other tasks than the one that waited. */
    if (s->edge_event) {
        vmrpc_sock_notify(srv, s);
        vmrpc_timer_wake(srv);
    }
    vmrpc_call_unref(call, s);
    return ready;
}

static VMRPC_LOCKED int execute_waiting(VmrpcServer *srv, VmrpcCall *call)
{
    VmrpcSock *s = find_waitable(srv, call);
    short events;
    int ret;

    events = s ? waits_first_for(srv, s, call) : 0;
    if (events) {
        return wait_ready(srv, s, call, events)
               ? vmrpc_call_execute(srv, call) : -EAGAIN;
    }
    ret = vmrpc_call_execute(srv, call);
    events = waits_for(call, ret);
    s = events ? find_waitable(srv, call) : NULL;
    if (s && wait_ready(srv, s, call, events) && is_retried(call->op)) {
        return vmrpc_call_execute(srv, call);
    }
    return ret;
}

static VMRPC_LOCKED int execute(VmrpcServer *srv, VmrpcCall *call,
                                bool may_wait)
{
    return may_wait && call->wait_us ? execute_waiting(srv, call)
                                     : vmrpc_call_execute(srv, call);
}

/* The readiness of the call's socket goes into the response. */
static VMRPC_LOCKED void report_ready(VmrpcServer *srv, const VmrpcCall *call,
                                      struct vmrpc_resp *resp)
{
    VmrpcSock *s = vmrpc_sock_find(srv, call->handle, call->gen);

    if (!s) {
        return;
    }
    if (call->flags & VMRPC_REQ_EDGE && !s->edge) {
        vmrpc_ready_begin_edges(srv, s);
    }
    if (call->flags & VMRPC_REQ_WATCH) {
        vmrpc_sock_watch(srv, s);
    }
    vmrpc_ready_report(srv, s, &resp->ready, &resp->ready_seq, &resp->so_error);
    resp->flags = GUINT32_TO_LE((s->watched ? VMRPC_RESP_WATCHED : 0) |
                                (call->opened ? VMRPC_RESP_OPENED : 0));
}

ssize_t vmrpc_server_call(VmrpcServer *srv,
                          const struct iovec *out, unsigned out_num,
                          const struct iovec *in, unsigned in_num,
                          bool may_wait)
{
    VmrpcScratch scratch VMRPC_UNINITIALIZED;
    VmrpcCall call = { .out = out, .out_num = out_num,
                       .in = in, .in_num = in_num,
                       .scratch = &scratch, .close_fd = -1,
                       .left = -1 };
    size_t out_total = vmrpc_iov_total(out, out_num);
    size_t in_total = vmrpc_iov_total(in, in_num);
    struct vmrpc_resp resp = { };
    struct vmrpc_req req;
    struct in6_addr addr6;
    bool inet6;
    int ret;

    if (out_total < sizeof(req) || in_total < sizeof(resp)) {
        count_malformed(srv);
        return -EBADMSG;
    }
    vmrpc_iov_read(out, out_num, 0, &req, sizeof(req));
    decode(&call, &req);

    vmrpc_lock(srv);
    srv->counters.requests++;
    ret = lay_out(srv, &call, out_total, in_total, &req);
    /* A malformed request may have no room for it. */
    inet6 = srv->has_inet6 && call.flags & VMRPC_REQ_INET6 &&
            in_total >= vmrpc_call_answer_head(&call);
    if (ret < 0) {
        srv->counters.requests_malformed++;
    } else {
        ret = use_mapped(srv, &call);
    }
    if (ret == 0) {
        ret = execute(srv, &call, may_wait);
    }
    report_ready(srv, &call, &resp);
    if (inet6) {
        addr6 = result6(srv, &call);
    }
    vmrpc_unlock(srv);
    if (call.mapped) {
        end_mapped(srv, &call);
    }

    if (call.close_fd >= 0) {
        close(call.close_fd);
    }
    resp.error = GUINT32_TO_LE(-ret);
    encode_result(&resp, &call);
    vmrpc_iov_write(in, in_num, 0, &resp, sizeof(resp));
    if (inet6) {
        vmrpc_iov_write(in, in_num, sizeof(resp), &addr6, sizeof(addr6));
    }
    if (srv->tracer.call) {
        srv->tracer.call(srv->tracer.opaque, call.op, call.handle, -ret,
                         call.value);
    }
    if (call.op == VMRPC_RECVMSG && ret == 0) {
        return vmrpc_call_answer_head(&call) + call.control_len +
               call.in_data_len;
    }
    return (inet6 ? vmrpc_call_answer_head(&call) : sizeof(resp)) +
           call.in_data_len;
}

/* --- life --------------------------------------------------------------- */

static GQuark server_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-server-error");
}

int vmrpc_server_own_address(const VmrpcServer *srv)
{
    struct sockaddr_storage ss;
    int len = vmrpc_own_address(&srv->reach, 0, &ss), fd, err = 0;

    if (len < 0) {
        return 0;
    }
    fd = socket(ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0) {
        err = errno;
    }
    if (fd >= 0) {
        close(fd);
    }
    return err;
}

/* address6 (guest4 without translation) must be an address of this host. */
static bool check_own_address(const VmrpcServer *srv, GError **errp)
{
    char text[INET6_ADDRSTRLEN];
    int err = vmrpc_server_own_address(srv);

    if (err && srv->config.reach.translate) {
        inet_ntop(AF_INET6, &srv->config.reach.address6, text, sizeof(text));
        g_set_error(errp, server_error_quark(), err,
                    "address6=%s cannot be used on this host: %s; add it first "
                    "to the interface that leads to the network, 'ip -6 "
                    "address add %s/128 dev INTERFACE', or to lo if its "
                    "prefix is routed to this host", text, g_strerror(err),
                    text);
    } else if (err) {
        inet_ntop(AF_INET, &srv->config.reach.guest4, text, sizeof(text));
        g_set_error(errp, server_error_quark(), err,
                    "guest4=%s cannot be used on this host: %s; with "
                    "translate=off it must be one of the host's addresses",
                    text, g_strerror(err));
    }
    return !err;
}

static VMRPC_LOCKED bool make_epoll(VmrpcServer *srv, GError **errp)
{
    struct epoll_event ev = { .events = EPOLLIN,
                              .data.u64 = VMRPC_EPOLL_TIMER };
    struct epoll_event route = { .events = EPOLLIN,
                                 .data.u64 = VMRPC_EPOLL_ROUTE };

    srv->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    srv->timer_fd = timerfd_create(CLOCK_MONOTONIC,
                                   TFD_CLOEXEC | TFD_NONBLOCK);
    if (srv->epoll_fd < 0 || srv->timer_fd < 0 ||
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, srv->timer_fd, &ev) < 0 ||
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD,
                  vmrpc_route_fd(srv->reach.route), &route) < 0) {
        g_set_error(errp, server_error_quark(), errno,
                    "no descriptor for the socket server: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

static VMRPC_LOCKED void routing_changed(void *opaque)
{
    vmrpc_arriving_routing_changed(opaque);
    vmrpc_groups_routing_changed(opaque);
}

/* Short critical sections: spin first. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* In this order, where several are due at once. */
static const VmrpcTimerOps timers[] = {
    { vmrpc_resolver_timeout_ms, vmrpc_resolver_process_timer },
    { vmrpc_nat64_timeout_ms, vmrpc_nat64_process_timer },
    { vmrpc_arriving_timeout_ms, vmrpc_arriving_process_timer },
    { vmrpc_groups_timeout_ms, vmrpc_groups_process_timer },
    { vmrpc_watch_timeout_ms, vmrpc_watch_process_timer },
    { vmrpc_race_timeout_ms, vmrpc_race_process_timer },
    { vmrpc_first_timeout_ms, vmrpc_first_process_timer },
    { vmrpc_proxied_timeout_ms, vmrpc_proxied_process_timer },
    { vmrpc_throttle_timeout_ms, vmrpc_throttle_process_timer },
    { vmrpc_parked_timeout_ms, vmrpc_parked_process_timer },
    /* Files are read without the lock: vmrpc_server_process(). */
    { .timeout_ms = vmrpc_files_timeout_ms },
};

static VMRPC_LOCKED void reach_refused(void *opaque,
                                       const VmrpcRefusal *refusal)
{
    VmrpcServer *srv = opaque;

    vmrpc_refusals_note(srv, refusal, refusal->dest ? srv->judged : NULL);
    vmrpc_evidence_refused(srv, refusal);
    if (srv->tracer.refused) {
        srv->tracer.refused(srv->tracer.opaque, refusal);
    }
}

static void reach_pool(void *opaque, struct in_addr addr4, const char *name)
{
    VmrpcServer *srv = opaque;

    if (srv->tracer.pool) {
        srv->tracer.pool(srv->tracer.opaque, addr4, name);
    }
}

/* Not checked: no other thread knows the server yet. */
VMMNET_NOT_CHECKED
VmrpcServer *vmrpc_server_new(const VmrpcServerConfig *config, bool incoming,
                              GError **errp)
{
    VmrpcServer *srv = g_new0(VmrpcServer, 1);

    srv->config = *config;
    srv->epoll_fd = -1;
    srv->timer_fd = -1;
    srv->timer_due_ms = -1;
    srv->timers = timers;
    srv->timer_num = G_N_ELEMENTS(timers);
    vmrpc_gateway_init(srv);
    srv->event_tail = &srv->event_head;
    srv->unwatched_tail = &srv->unwatched_head;
    srv->arriving_tail = &srv->arriving_head;
    srv->races = g_sequence_new(NULL);
    g_queue_init(&srv->first_waits);
    init_lock(&srv->lock.mutex);
    srv->reach.tracer = (VmrpcReachTracer) {
        .refused = reach_refused, .pool = reach_pool, .opaque = srv,
    };
    g_queue_init(&srv->parked);
    srv->refusals = g_new0(struct vmrpc_refusal, VMRPC_REFUSALS);
    srv->audit_peers = config->audit
                       ? g_new0(VmrpcAuditPeer, VMRPC_AUDIT_PEERS) : NULL;
    srv->has_lowat = vmrpc_ready_host_has_lowat();
    watched_file_init(&srv->policy_file);
    srv->socks = calloc(config->max_sockets, sizeof(*srv->socks));
    if (!srv->socks) {
        g_set_error(errp, server_error_quark(), ENOMEM,
                    "max-sockets=%u: no memory", config->max_sockets);
        goto err;
    }
    if (config->nat64_mode == VMRPC_NAT64_FIXED) {
        vmrpc_nat64_found(&srv->reach.nat64, &config->nat64_prefix, 1,
                          vmrpc_now_ms());
    }
    if (!vmrpc_reach_init(&srv->reach, &srv->config.reach, vmrpc_now_ms,
                          errp) ||
        !make_epoll(srv, errp) || !vmrpc_policy_file_init(srv, errp) ||
        (!incoming && !check_own_address(srv, errp)) ||
        vmrpc_resolver_init(srv, errp) < 0 ||
        !vmrpc_zone_files_init(srv, errp)) {
        goto err;
    }
    vmrpc_route_watch(srv->reach.route, routing_changed, srv);
    /* They stay the caller's, and nothing reads them after this. */
    srv->config.policy_file = NULL;
    srv->config.zones = NULL;
    srv->config.dns = NULL;
    srv->config.validator = NULL;
    return srv;

err:
    vmrpc_server_free(srv);
    return NULL;
}

void vmrpc_server_reset(VmrpcServer *srv)
{
    vmrpc_sole_user(srv);
    vmrpc_refusals_clear(srv);
    if (srv->mapped) {
        vmrpc_mapped_clear(srv->mapped);
    }
    for (uint32_t i = 0; srv->sock_num && i < srv->config.max_sockets; i++) {
        if (srv->socks[i]) {
            int fd = vmrpc_sock_close(srv, srv->socks[i]);

            if (fd >= 0) {
                close(fd);
            }
        }
    }
}

bool vmrpc_server_forget(VmrpcServer *srv, GError **errp)
{
    vmrpc_sole_user(srv);
    if (srv->sock_num) {
        g_set_error(errp, server_error_quark(), EBUSY,
                    "there are sockets already");
        return false;
    }
    if (!vmrpc_reach_forget(&srv->reach, errp)) {
        return false;
    }
    vmrpc_resolver_forget(srv);
    return true;
}

void vmrpc_server_free(VmrpcServer *srv)
{
    vmrpc_sole_user(srv);
    if (!srv) {
        return;
    }
    /* Nothing is traced of sockets that go with their server. */
    srv->tracer = (VmrpcTracer) { };
    if (srv->socks) {
        vmrpc_server_reset(srv);
    }
    vmrpc_mapped_free(srv->mapped);
    vmrpc_zone_files_cleanup(srv);
    vmrpc_resolver_cleanup(srv);
    vmrpc_policy_file_cleanup(srv);
    vmrpc_reach_destroy(&srv->reach);
    if (srv->timer_fd >= 0) {
        close(srv->timer_fd);
    }
    if (srv->epoll_fd >= 0) {
        close(srv->epoll_fd);
    }
    g_sequence_free(srv->races);
    g_free(srv->audit_peers);
    g_free(srv->refusals);
    free(srv->socks);
    pthread_mutex_destroy(&srv->lock.mutex);
    g_free(srv);
}

void vmrpc_server_set_may_go_on(VmrpcServer *srv, bool (*may_go_on)(void))
{
    srv->may_go_on = may_go_on;
}

void vmrpc_server_set_memory(VmrpcServer *srv, const VmrpcMemoryOps *ops)
{
    vmrpc_sole_user(srv);
    vmrpc_mapped_free(srv->mapped);
    srv->mapped = NULL;
    srv->memory = (VmrpcMemoryOps) { };
    if (ops) {
        srv->memory = *ops;
        srv->mapped = vmrpc_mapped_new(VMRPC_BUFFERS_MAX, ops);
    }
}

void vmrpc_server_set_features(VmrpcServer *srv, uint64_t features)
{
    srv->tells_moments = features & (1ull << VMRPC_F_MOMENTS);
    srv->has_long_values = features & (1ull << VMRPC_F_LONG_VALUES);
    srv->has_inet6 = features & (1ull << VMRPC_F_INET6);
    vmrpc_sole_user(srv);
    /* AAAA had another answer. */
    vmrpc_resolver_forget(srv);
}

void vmrpc_server_set_tracer(VmrpcServer *srv, const VmrpcTracer *tracer)
{
    vmrpc_sole_user(srv);
    srv->tracer = *tracer;
    vmrpc_resolver_tell_servers(srv);
}

VmrpcAddrMap *vmrpc_server_addrmap(VmrpcServer *srv)
{
    vmrpc_sole_user(srv);
    return srv->reach.map;
}

uint32_t vmrpc_server_sockets(const VmrpcServer *srv)
{
    vmrpc_sole_user(srv);
    return srv->sock_num;
}

void vmrpc_server_fill_config(const VmrpcServer *srv,
                              struct vmrpc_config *config)
{
    struct in6_addr own6;

    config->version = GUINT16_TO_LE(VMRPC_VERSION);
    config->max_sockets = GUINT32_TO_LE(srv->config.max_sockets);
    config->guest4 = srv->config.reach.guest4.s_addr;
    config->guest4_prefix = srv->config.reach.guest4_prefix;
    config->resolver4 = srv->config.reach.resolver4.s_addr;
    if (srv->config.reach.translate) {
        config->pool4 = srv->config.reach.pool4.s_addr;
        config->pool4_prefix = srv->config.reach.pool4_prefix;
        own6 = vmrpc_own6(&srv->config.reach);
        memcpy(config->guest6, &own6, sizeof(config->guest6));
    }
}
