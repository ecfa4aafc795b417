/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the sockets are ready for, and who is told
 *
 * Theory of operation
 * ===================
 *
 * Host sockets are in the epoll set edge-triggered, so following a socket costs
 * no system call.  Sockets that end soon and that nobody waits for never enter
 * it (vmrpc_sock_watch).  epoll_wait() returns the level at that moment, which
 * replaces VmrpcSock.ready.  The guest caches what it was told; `told` is our
 * copy of its cache.  An event is due when `ready` has a bit that `told` lacks.
 * What would come again and again while the guest knows it, is not followed
 * until the guest knows otherwise: room to send, and input for a moment where
 * it comes faster than it is read (`muted`, a part of `told`).  Bits disappear
 * only through the guest's own calls (it reads, it fills the send buffer), so
 * those are reported in the response of the call, which asks the host with a
 * poll(2) of no timeout.  Hence the guest never believes in data that is not
 * there, and a blocking read after its poll() does not hang.
 *
 * Asynchronous errors (SO_ERROR) move to the guest together with the
 * readiness: the host's copy is cleared by reading it, the guest keeps it
 * until its program asks.  VMRPC_ERR is then not reported as a level, since
 * the guest knows by its own copy.  Without its error, a stream that was
 * broken off looks as if it had ended, so later reports tell of it again, lest
 * one of them overtakes the first.
 */
#include "hw/vmrpc/server/server-internal.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "hw/vmrpc/wire/icmp-error.h"

/* Bits that may come again and again while the guest knows them. */
#define RECURRING               (VMRPC_IN | VMRPC_OUT)

/* Wake-ups for nothing, one after the other, until a socket is watched less. */
#define USELESS_MAX             2

/* Until a host that had no memory to watch a socket is asked again. */
#define WATCH_RETRY_MS          100

/* --- watching ----------------------------------------------------------- */

/* It may then run too early, which only costs that it is set again. */
static bool timer_runs_before(const VmrpcServer *srv, int64_t due_ms)
{
    int64_t now = vmrpc_now_ms();

    return srv->timer_due_ms >= now && srv->timer_due_ms <= due_ms;
}

/*
 * Puts @s where vmrpc_watch_process_timer() finds it in @ms milliseconds, or
 * later if those before it wait for longer.
 */
static void watch_after(VmrpcServer *srv, VmrpcSock *s, int ms)
{
    vmrpc_watch_forget(srv, s);
    s->watch_due_ms = vmrpc_now_ms() + ms;
    s->watch_next = NULL;
    s->watch_prev = srv->unwatched_tail;
    *srv->unwatched_tail = s;
    srv->unwatched_tail = &s->watch_next;
    /* That the timer runs already is the common case, and saves a call. */
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
 * What need not wake us: room to send where the guest knows of room.  Each
 * datagram that leaves its peer's queue would.
 */
static uint32_t unwanted(const VmrpcSock *s)
{
    return s->edge ? 0 : s->told & VMRPC_OUT;
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
        /* Out of memory: who waits for it shall hear of it late, not never. */
        srv->counters.sockets_refused_host++;
        watch_after(srv, s, WATCH_RETRY_MS);
        return;
    }
    s->watched = true;
    s->muted = muted;
    s->useless = 0;
}

/*
 * Bulk data wakes us for every segment, and who waits in a call does not need
 * us.  When that goes on, ask to be woken less.  Constant time.
 */
void vmrpc_watch_less(VmrpcServer *srv, VmrpcSock *s)
{
    if (++s->useless < USELESS_MAX || s->edge) {
        return;
    }
    s->useless = 0;
    if (s->waiting) {
        s->watched = false;
        epoll_control(srv, s, EPOLL_CTL_DEL, 0);
        vmrpc_watch_later(srv, s);
    } else if (s->told & RECURRING & ~s->muted) {
        s->muted = s->told & RECURRING;
        epoll_control(srv, s, EPOLL_CTL_MOD, s->muted);
        /* Not for long: urgent data come as input. */
        vmrpc_watch_later(srv, s);
    }
}

/* What the guest believes has changed: is it worth a wake-up again? */
static void watch_again(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->muted & ~s->told) {
        vmrpc_sock_watch(srv, s);
    }
}

int vmrpc_watch_timeout_ms(const VmrpcServer *srv)
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

/* --- readiness ---------------------------------------------------------- */

/*
 * There is nothing (more) to tell about @s.  Constant time: a guest that takes
 * no events has them queued for all of its sockets.
 */
void vmrpc_event_unqueue(VmrpcServer *srv, VmrpcSock *s)
{
    if (!s->event_queued) {
        return;
    }
    *s->event_prev = s->event_next;
    if (s->event_next) {
        s->event_next->event_prev = s->event_prev;
    } else {
        srv->event_tail = s->event_prev;
    }
    s->event_queued = false;
}

/* An error that is gone with SO_ERROR, or the queue of errors, which is not? */
static bool has_errors(int fd)
{
    struct pollfd pfd = { .fd = fd };

    return poll(&pfd, 1, 0) > 0 && (pfd.revents & POLLERR);
}

/* Takes @mask for the host socket's readiness, SO_ERROR along with it. */
void vmrpc_ready_set(const VmrpcServer *srv, VmrpcSock *s, uint32_t mask)
{
    if (mask & VMRPC_ERR) {
        int err = 0;
        socklen_t len = sizeof(err);

        if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err) {
            s->so_error = srv->config.reach.translate ? vmrpc_icmp_pending(err)
                                                      : err;
            if (!has_errors(s->fd)) {
                mask &= ~VMRPC_ERR;
            }
        }
    }
    s->ready = mask & VMRPC_READY_ALL;
}

void vmrpc_sock_refresh(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->race) {
        vmrpc_race_progress(srv, s);
    } else if (s->backing == VMRPC_BACKING_HOST) {
        struct pollfd pfd = {
            .fd = s->fd,
            .events = POLLIN | POLLPRI | POLLOUT | POLLRDHUP,
        };

        if (poll(&pfd, 1, 0) >= 0) {
            vmrpc_ready_set(srv, s,
                            (uint16_t)pfd.revents | vmrpc_groups_ready(s));
        }
    } else if (s->backing == VMRPC_BACKING_LOST) {
        s->ready = VMRPC_IN | VMRPC_OUT | VMRPC_HUP | VMRPC_RDHUP;
    } else if (s->backing == VMRPC_BACKING_ARRIVING) {
        s->ready = vmrpc_arriving_ready(srv, s);
    } else {
        s->ready = 0;
    }
}

static uint32_t current_ready(const VmrpcSock *s)
{
    return s->ready | vmrpc_resolver_ready(s);
}

void vmrpc_sock_notify(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->waiting ||
        (!(current_ready(s) & ~s->told) && !s->so_error && !s->news)) {
        vmrpc_event_unqueue(srv, s);
        return;
    }
    if (s->event_queued) {
        return;
    }
    s->event_queued = true;
    s->event_next = NULL;
    s->event_prev = srv->event_tail;
    *srv->event_tail = s;
    srv->event_tail = &s->event_next;
}

/* The error for the report that is being made. */
static uint32_t error_to_tell(VmrpcSock *s)
{
    uint32_t age;

    if (s->so_error) {
        s->told_error = s->so_error;
        s->told_error_seq = s->ready_seq;
        s->so_error = 0;
    }
    if (!s->told_error) {
        return 0;
    }
    age = s->ready_seq - s->told_error_seq;
    if (age > VMRPC_ERROR_AGE_MAX) {
        s->told_error = 0;
        return 0;
    }
    return (uint32_t)s->told_error | age << VMRPC_ERROR_AGE;
}

/*
 * The guest gets to know the readiness: in a response or in an event.  News of
 * what it knows already are for pollers, who only hear of events.
 */
void vmrpc_ready_tell(VmrpcServer *srv, VmrpcSock *s, __le32 *ready,
                      __le32 *seq, __le32 *so_error)
{
    if (!s->news) {
        vmrpc_event_unqueue(srv, s);
    }
    s->told = current_ready(s);
    s->ready_seq++;
    *ready = GUINT32_TO_LE(s->told);
    *seq = GUINT32_TO_LE(s->ready_seq);
    *so_error = GUINT32_TO_LE(error_to_tell(s));
    watch_again(srv, s);
}

bool vmrpc_server_has_event(VmrpcServer *srv)
{
    bool has;

    pthread_mutex_lock(&srv->lock);
    has = srv->event_head;
    pthread_mutex_unlock(&srv->lock);
    return has;
}

bool vmrpc_server_next_event(VmrpcServer *srv, struct vmrpc_event *ev)
{
    VmrpcSock *s;

    memset(ev, 0, sizeof(*ev));
    pthread_mutex_lock(&srv->lock);
    s = srv->event_head;
    if (s) {
        ev->sock = GUINT32_TO_LE(s->handle);
        ev->gen = GUINT32_TO_LE(s->gen);
        s->news = false;
        vmrpc_ready_tell(srv, s, &ev->ready, &ev->ready_seq, &ev->so_error);
        s->useless = 0;
        srv->counters.events++;
    }
    pthread_mutex_unlock(&srv->lock);
    return s;
}
