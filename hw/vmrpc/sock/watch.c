/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: which host sockets wake the server
 *
 * Theory of operation
 * ===================
 *
 * Host sockets are in the epoll set edge-triggered, so following a socket costs
 * no system call.  Short-lived sockets without a waiter never enter it: a
 * socket is added on demand, or VMRPC_WATCH_MS after it was made.
 *
 * The guest caches the readiness that was reported to it.  Some events would
 * come again and again while the guest knows of them: room to send, and input
 * that comes faster than it is read.  These are muted until the guest's cache
 * changes; input only for a moment.
 */
#include "hw/vmrpc/sock/watch.h"

#include <sys/epoll.h>

#include "hw/vmrpc/sock/timer.h"

/* Bits that may come again and again while the guest knows them. */
#define RECURRING               (VMRPC_IN | VMRPC_OUT)

/* Wake-ups in a row without an event, before a socket is watched less. */
#define IDLE_WAKEUPS_MAX        2

/* Time to the next try if the host had no memory to watch a socket. */
#define WATCH_RETRY_MS          100

/* If the timer expires too early, it is only set again. */
static VMRPC_LOCKED bool timer_runs_before(const VmrpcServer *srv,
                                           int64_t due_ms)
{
    int64_t now = vmrpc_now_ms();

    return srv->timer_due_ms >= now && srv->timer_due_ms <= due_ms;
}

/*
 * Puts @s where vmrpc_watch_process_timer() finds it in @ms milliseconds, or
 * later if those before it wait for longer.
 */
static VMRPC_LOCKED void watch_after(VmrpcServer *srv, VmrpcSock *s, int ms)
{
    vmrpc_watch_forget(srv, s);
    s->watch_due_ms = vmrpc_now_ms() + ms;
    s->watch_next = NULL;
    s->watch_prev = srv->unwatched_tail;
    *srv->unwatched_tail = s;
    srv->unwatched_tail = &s->watch_next;
    /* Mostly the timer is set already, which saves a system call. */
    if (s == srv->unwatched_head && !timer_runs_before(srv, s->watch_due_ms)) {
        vmrpc_timer_rearm(srv);
    }
}

void vmrpc_watch_later(VmrpcServer *srv, VmrpcSock *s)
{
    watch_after(srv, s, VMRPC_WATCH_MS);
}

void vmrpc_watch_forget(VmrpcServer *srv, VmrpcSock *s)
{
    if (!s->watch_prev) {
        return;
    }
    *s->watch_prev = s->watch_next;
    if (s->watch_next) {
        s->watch_next->watch_prev = s->watch_prev;
    } else {
        srv->unwatched_tail = s->watch_prev;
    }
    s->watch_prev = NULL;
}

/*
 * Room to send need not wake the server if the guest knows of room.  Else each
 * datagram that leaves the queue would.
 */
static uint32_t unwanted(const VmrpcSock *s)
{
    return s->edge ? 0 : s->reported & VMRPC_OUT;
}

static int epoll_control(VmrpcServer *srv, VmrpcSock *s, int op,
                         uint32_t muted)
{
    struct epoll_event ev = {
        .events = (muted & VMRPC_IN ? 0 : EPOLLIN | EPOLLPRI) |
                  (muted & VMRPC_OUT ? 0 : EPOLLOUT) | EPOLLRDHUP | EPOLLET,
        .data.u64 = (uint64_t)s->gen << 32 | s->handle,
    };

    return epoll_ctl(srv->epoll_fd, op, s->fd, &ev);
}

void vmrpc_sock_watch(VmrpcServer *srv, VmrpcSock *s)
{
    int op = s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    uint32_t muted = unwanted(s);

    vmrpc_watch_forget(srv, s);
    if ((s->watched && !(s->muted & ~muted)) || s->fd < 0) {
        return;
    }
    if (epoll_control(srv, s, op, muted) < 0) {
        /* Out of memory: report late rather than never. */
        srv->counters.sockets_refused_host++;
        watch_after(srv, s, WATCH_RETRY_MS);
        return;
    }
    s->watched = true;
    s->muted = muted;
    s->idle_wakeups = 0;
}

void vmrpc_watch_less(VmrpcServer *srv, VmrpcSock *s)
{
    if (++s->idle_wakeups < IDLE_WAKEUPS_MAX || s->edge) {
        return;
    }
    s->idle_wakeups = 0;
    if (s->delivery == VMRPC_DELIVERY_WAITED) {
        s->watched = false;
        epoll_control(srv, s, EPOLL_CTL_DEL, 0);
        vmrpc_watch_later(srv, s);
    } else if (s->reported & RECURRING & ~s->muted) {
        s->muted = s->reported & RECURRING;
        epoll_control(srv, s, EPOLL_CTL_MOD, s->muted);
        /* Not for long: urgent data are reported as input. */
        vmrpc_watch_later(srv, s);
    }
}

void vmrpc_watch_again(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->muted & ~s->reported) {
        vmrpc_sock_watch(srv, s);
    }
}

int vmrpc_watch_timeout_ms(VmrpcServer *srv)
{
    if (!srv->unwatched_head) {
        return -1;
    }
    return CLAMP(srv->unwatched_head->watch_due_ms - vmrpc_now_ms(), 0,
                 WATCH_RETRY_MS);
}

void vmrpc_watch_process_timer(VmrpcServer *srv)
{
    while (vmrpc_watch_timeout_ms(srv) == 0) {
        vmrpc_sock_watch(srv, srv->unwatched_head);
    }
}
