/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the guest's calls take of the policy file's limits
 *
 * limits.c counts; this file decides what is counted.  Without a "limit" line
 * nothing here costs a system call.  So the sizes of buffers are known only
 * while there is a limit for them (vmrpc_change_limits() in policy-file.c).
 */
#include "hw/vmrpc/sock/budget.h"

#include <errno.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "hw/vmrpc/reach/report.h"

static int64_t now_us(void)
{
    return g_get_monotonic_time();
}

/* The same, some milliseconds late: an hour is not that exact. */
static int64_t about_now_us(void)
{
    return base_clock(CLOCK_MONOTONIC_COARSE) / 1000;
}

/* --- sockets and connections -------------------------------------------- */

int vmrpc_budget_socket(VmrpcServer *srv, const struct sockaddr_storage *dest)
{
    uint32_t num = srv->sock_num + srv->making_num + srv->attempt_num +
                   srv->group_num;
    const char *reason;

    if (num >= srv->config.max_sockets) {
        reason = "max-sockets";
    } else if (!vmrpc_limits_socket(&srv->reach.limits, num)) {
        reason = "limit-sockets";
    } else {
        return 0;
    }
    vmrpc_refused_by_limit(&srv->reach, dest, EMFILE, reason,
                           &srv->counters.sockets_refused_limit);
    return -EMFILE;
}

/* Does connect() begin a connection, or ask for the state of one? */
static bool begins(const VmrpcSock *s)
{
    struct tcp_info info = { };
    socklen_t len = sizeof(info);

    return !vmrpc_sock_is_connected(s) ||
           (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
            info.tcpi_state == TCP_CLOSE);
}

int vmrpc_budget_attempt(VmrpcServer *srv, const struct sockaddr_storage *dest)
{
    if (vmrpc_limits_connection(&srv->reach.limits, now_us())) {
        return 0;
    }
    vmrpc_refused_by_limit(&srv->reach, dest, ENOBUFS, "limit-connections",
                           &srv->counters.connections_refused_limit);
    return -ENOBUFS;
}

int vmrpc_budget_connection(VmrpcServer *srv, const VmrpcSock *s,
                            const struct sockaddr_storage *dest)
{
    if (!srv->reach.limits.config.connections.per_s || s->type != SOCK_STREAM ||
        !begins(s)) {
        return 0;
    }
    return vmrpc_budget_attempt(srv, dest);
}

int vmrpc_budget_query(VmrpcServer *srv, const char *name)
{
    VmrpcRefusal refusal = { .error = EBUSY, .name = name,
                             .reason = "limit-dns" };

    if (vmrpc_limits_dns(&srv->reach.limits, now_us())) {
        return 0;
    }
    vmrpc_refused(&srv->reach, &refusal, &srv->counters.queries_refused_limit);
    return -EBUSY;
}

/* --- terms of a rule ---------------------------------------------------- */

int vmrpc_budget_send(VmrpcServer *srv, const VmrpcTerms *terms,
                      const VmrpcSock *s, VmrpcCall *call,
                      const struct sockaddr_storage *dest, uint64_t *taken)
{
    /* An empty datagram says something by its destination. */
    uint64_t wanted = MAX(call->out_len, (size_t)(s->type == SOCK_DGRAM));
    uint64_t given;

    *taken = 0;
    if (!terms || !terms->sent || !wanted) {
        return 0;
    }
    given = vmrpc_hourly_take(terms->sent, wanted, about_now_us());
    if (!given || (given < wanted && s->type != SOCK_STREAM)) {
        vmrpc_hourly_give_back(terms->sent, given);
        srv->judged = s;
        vmrpc_refused_by_limit(&srv->reach, dest, EACCES, "budget-sent",
                               &srv->counters.sends_refused_budget);
        srv->judged = NULL;
        return -EACCES;
    }
    call->out_len = MIN(call->out_len, given);
    *taken = given;
    return 0;
}

void vmrpc_budget_sent(const VmrpcTerms *terms, uint64_t taken, ssize_t n)
{
    if (taken) {
        vmrpc_hourly_give_back(terms->sent,
                               taken - CLAMP(n, 0, (ssize_t)taken));
    }
}

int vmrpc_budget_name(VmrpcServer *srv, const VmrpcTerms *terms,
                      const char *name, unsigned line)
{
    VmrpcRefusal refusal = { .error = EACCES, .name = name,
                             .reason = "budget-names", .line = line };

    if (!terms || !terms->names ||
        vmrpc_hourly_take_name(terms->names, name, about_now_us())) {
        return 0;
    }
    vmrpc_refused(&srv->reach, &refusal, &srv->counters.queries_refused_budget);
    return -EACCES;
}

/* --- buffers ------------------------------------------------------------ */

bool vmrpc_budget_is_limited(const VmrpcServer *srv)
{
    return srv->reach.limits.config.buffers;
}

/* The limit counts the size as getsockopt() shows it; 0 on failure. */
static uint32_t size_of(int fd, int name)
{
    int size = 0;
    socklen_t len = sizeof(size);

    getsockopt(fd, SOL_SOCKET, name, &size, &len);
    return size;
}

/* The kernel doubles the value that it is given.  Returns the new size. */
static uint32_t set_size(int fd, int name, uint32_t size)
{
    int half = size / 2;

    setsockopt(fd, SOL_SOCKET, name, &half, sizeof(half));
    return size_of(fd, name);
}

static uint32_t *held(VmrpcBuffers *buffers, int name)
{
    return name == SO_SNDBUF ? &buffers->snd : &buffers->rcv;
}

/* Sets the buffer of @fd to the granted size, and counts the real one. */
static void apply(VmrpcServer *srv, int fd, VmrpcBuffers *buffers, int name)
{
    uint32_t *size = held(buffers, name);

    *size = vmrpc_limits_buffer(&srv->reach.limits, *size,
                                set_size(fd, name, *size));
}

static VMRPC_LOCKED int reserve(VmrpcServer *srv,
                                const struct sockaddr_storage *dest,
                                VmrpcBuffers *buffers, uint32_t snd,
                                uint32_t rcv)
{
    buffers->snd = vmrpc_limits_buffer(&srv->reach.limits, 0, snd);
    buffers->rcv = vmrpc_limits_buffer(&srv->reach.limits, 0, rcv);
    if (buffers->snd && buffers->rcv) {
        srv->counters.buffers_cut += buffers->snd < snd || buffers->rcv < rcv;
        return 0;
    }
    vmrpc_budget_release(srv, buffers);
    vmrpc_refused_by_limit(&srv->reach, dest, ENOBUFS, "limit-buffers",
                           &srv->counters.buffers_refused_limit);
    return -ENOBUFS;
}

int vmrpc_budget_reserve(VmrpcServer *srv, const VmrpcSock *listener,
                         const struct sockaddr_storage *dest,
                         VmrpcBuffers *buffers)
{
    *buffers = (VmrpcBuffers) { };
    if (!vmrpc_budget_is_limited(srv)) {
        return 0;
    }
    if (listener) {
        return reserve(srv, dest, buffers, listener->buffers.snd,
                       listener->buffers.rcv);
    }
    return reserve(srv, dest, buffers, VMRPC_LIMITS_BUFFER_START,
                   VMRPC_LIMITS_BUFFER_START);
}

void vmrpc_budget_apply(VmrpcServer *srv, int fd, VmrpcBuffers *buffers)
{
    if (vmrpc_budget_is_limited(srv)) {
        apply(srv, fd, buffers, SO_SNDBUF);
        apply(srv, fd, buffers, SO_RCVBUF);
    }
}

void vmrpc_budget_release(VmrpcServer *srv, VmrpcBuffers *buffers)
{
    vmrpc_limits_buffer(&srv->reach.limits, buffers->snd, 0);
    vmrpc_limits_buffer(&srv->reach.limits, buffers->rcv, 0);
    *buffers = (VmrpcBuffers) { };
}

bool vmrpc_budget_resize(VmrpcServer *srv, VmrpcSock *s, int name, int value)
{
    /* As the kernel reads the value, before it cuts it to its own limit. */
    uint64_t asked = 2 * (uint64_t)MIN((uint32_t)value, INT32_MAX / 2u);
    uint32_t *size = held(&s->buffers, name);

    if (!vmrpc_budget_is_limited(srv) || s->fd < 0) {
        return false;
    }
    /* The kernel rounds 0 up to its minimum. */
    asked = MAX(asked, VMRPC_LIMITS_BUFFER_LEAST);
    *size = vmrpc_limits_buffer(&srv->reach.limits, *size, asked);
    srv->counters.buffers_cut += *size < asked;
    apply(srv, s->fd, &s->buffers, name);
    return true;
}

void vmrpc_budget_adopt(VmrpcServer *srv, int fd, VmrpcBuffers *buffers)
{
    if (fd < 0) {
        return;
    }
    buffers->snd = size_of(fd, SO_SNDBUF);
    buffers->rcv = size_of(fd, SO_RCVBUF);
    vmrpc_limits_buffer(&srv->reach.limits, 0, buffers->snd);
    vmrpc_limits_buffer(&srv->reach.limits, 0, buffers->rcv);
    apply(srv, fd, buffers, SO_SNDBUF);
    apply(srv, fd, buffers, SO_RCVBUF);
}
