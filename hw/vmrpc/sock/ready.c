/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the sockets are ready for, and what the guest knows of it
 *
 * Theory of operation
 * ===================
 *
 * epoll_wait() returns the level of a host socket at that moment, which
 * replaces VmrpcSock.ready.  The guest caches the readiness that was reported
 * to it; `reported` is our copy of its cache.  An event is due when
 * vmrpc_sock_ready() has a bit that `reported` lacks.  Bits disappear only
 * through the guest's own calls (it reads, it fills the send buffer).  The
 * response of such a call reports the readiness anew, after a poll(2) without a
 * timeout.  Hence the guest never believes in data that is not there, and a
 * blocking read after its poll() does not hang.
 *
 * To ask costs as much as to send an octet.  So the answer of a SENDMSG or a
 * RECVMSG derives what it can (vmrpc_ready_sent(), vmrpc_ready_received()).  A
 * socket with room for more than has been sent since it was last asked is still
 * writable: acknowledgements only make room.  A stream that gave less than there
 * was room for has no more data; one that filled the room tells how many are
 * left (TCP_INQ).  What comes later makes an event.  Whatever is not as simple
 * as that is asked: low-water marks, urgent data, the end of a stream.  `news`
 * tells a call whether another thread has learnt something while it was in the
 * host's kernel.
 *
 * Asynchronous errors (SO_ERROR) move to the guest together with the
 * readiness: the host's copy is cleared by reading it, the guest keeps it
 * until its program asks.  VMRPC_ERR is then not reported as a level, since
 * the guest knows by its own copy.  Without its error, a stream that was
 * broken off looks as if it had ended.  A later report could overtake the one
 * with the error; so the later ones carry the error again.
 *
 * Where the readiness of a socket comes from depends on its backing:
 * VmrpcBackingOps.refresh() asks the host, VmrpcBackingOps.ready() gives the
 * result.  Those of a host socket are here.  Answers of the DNS proxy can wait
 * at a socket of any backing, so vmrpc_sock_ready() adds them.
 */
#include "hw/vmrpc/sock/ready.h"

#include <errno.h>
#include <poll.h>
#include <netinet/tcp.h>
#include <linux/sock_diag.h>
#include <string.h>

#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/icmp-error.h"

/*
 * At most this much of a send buffer is used for a packet beside its data, and
 * the kernel rounds the memory of a datagram up to a power of two.
 */
#define PACKET_OVERHEAD         2048

/* --- readiness ---------------------------------------------------------- */

/* Is POLLERR still set, by the error queue, after SO_ERROR was read? */
static bool has_errors(int fd)
{
    struct pollfd pfd = { .fd = fd };

    return poll(&pfd, 1, 0) > 0 && (pfd.revents & POLLERR);
}

/* Stores @mask as the host socket's readiness, and takes SO_ERROR. */
static void set_ready(const VmrpcServer *srv, VmrpcSock *s, uint32_t mask)
{
    if (mask & VMRPC_ERR) {
        int err = 0;
        socklen_t len = sizeof(err);

        if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err) {
            s->so_error = srv->config.reach.translate &&
                          !vmrpc_sock_is_plain6(s) ? vmrpc_icmp_pending(err)
                                                   : err;
            if (!has_errors(s->fd)) {
                mask &= ~VMRPC_ERR;
            }
        }
    }
    s->ready = mask & VMRPC_READY_ALL;
    s->asks |= (mask & VMRPC_PRI) != 0;
    s->news++;
}

void vmrpc_sock_refresh(VmrpcServer *srv, VmrpcSock *s)
{
    if (!s->removed && s->ops->refresh) {
        s->ops->refresh(srv, s);
    }
}

uint32_t vmrpc_sock_ready(const VmrpcSock *s)
{
    uint32_t ready = s->ops->ready ? s->ops->ready(s) : s->ready;

    return (ready & ~(s->held | s->parked_events)) |
           vmrpc_dns_answers_ready(s);
}

/* --- events --------------------------------------------------------------- */

/* The one place that changes s->delivery. */
static void set_delivery(VmrpcSock *s, VmrpcDelivery to)
{
    /* A call that waits begins and ends with nothing queued. */
    g_assert((s->delivery == VMRPC_DELIVERY_IDLE) !=
             (to == VMRPC_DELIVERY_IDLE));
    s->delivery = to;
}

void vmrpc_event_unqueue(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->delivery != VMRPC_DELIVERY_QUEUED) {
        return;
    }
    *s->event_prev = s->event_next;
    if (s->event_next) {
        s->event_next->event_prev = s->event_prev;
    } else {
        srv->event_tail = s->event_prev;
    }
    set_delivery(s, VMRPC_DELIVERY_IDLE);
}

void vmrpc_sock_notify(VmrpcServer *srv, VmrpcSock *s)
{
    if (!(vmrpc_sock_ready(s) & ~s->reported) && !s->so_error &&
        !s->edge_event) {
        vmrpc_event_unqueue(srv, s);
        return;
    }
    if (s->delivery != VMRPC_DELIVERY_IDLE) {
        return;
    }
    set_delivery(s, VMRPC_DELIVERY_QUEUED);
    s->event_next = NULL;
    s->event_prev = srv->event_tail;
    *srv->event_tail = s;
    srv->event_tail = &s->event_next;
}

void vmrpc_sock_look_again(VmrpcServer *srv, VmrpcSock *s, uint32_t events)
{
    vmrpc_sock_refresh(srv, s);
    vmrpc_sock_notify(srv, s);
}

void vmrpc_ready_begin_wait(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_event_unqueue(srv, s);
    set_delivery(s, VMRPC_DELIVERY_WAITED);
}

void vmrpc_ready_end_wait(VmrpcSock *s)
{
    set_delivery(s, VMRPC_DELIVERY_IDLE);
}

/* The error for the report that is being made. */
static uint32_t error_to_report(VmrpcSock *s)
{
    uint32_t age;

    if (s->so_error) {
        s->reported_error = s->so_error;
        s->reported_error_seq = s->ready_seq;
        s->so_error = 0;
    }
    if (!s->reported_error) {
        return 0;
    }
    age = s->ready_seq - s->reported_error_seq;
    if (age > VMRPC_ERROR_AGE_MAX) {
        s->reported_error = 0;
        return 0;
    }
    return (uint32_t)s->reported_error | age << VMRPC_ERROR_AGE;
}

void vmrpc_ready_report(VmrpcServer *srv, VmrpcSock *s, __le32 *ready,
                        __le32 *seq, __le32 *so_error)
{
    /* An edge event is for pollers, which do not see the responses. */
    if (!s->edge_event) {
        vmrpc_event_unqueue(srv, s);
    }
    s->reported = vmrpc_sock_ready(s);
    s->ready_seq++;
    *ready = GUINT32_TO_LE(s->reported);
    *seq = GUINT32_TO_LE(s->ready_seq);
    *so_error = GUINT32_TO_LE(error_to_report(s));
    vmrpc_watch_again(srv, s);
}

/* --- a host socket as backing --------------------------------------------- */

static void refresh_host(VmrpcServer *srv, VmrpcSock *s)
{
    struct pollfd pfd = {
        .fd = s->fd,
        .events = POLLIN | POLLPRI | POLLOUT | POLLRDHUP,
    };

    s->room = 0;
    if (poll(&pfd, 1, 0) >= 0) {
        set_ready(srv, s, (uint16_t)pfd.revents | vmrpc_groups_ready(s));
    }
}

/* Is everything about @s known but whether it has input and room? */
static bool is_plain(const VmrpcServer *srv, const VmrpcSock *s)
{
    return vmrpc_sock_is_host(s) && !s->removed && !s->asks && !s->groups &&
           !s->alg && !(s->ready & ~(VMRPC_IN | VMRPC_OUT));
}

/*
 * How much of the send buffer can be used until it is not writable any more, as
 * sk_stream_is_writeable() and sock_writeable() of Linux decide it; 0 also if
 * the host does not tell.
 */
static uint32_t measure_room(const VmrpcSock *s)
{
    uint32_t info[SK_MEMINFO_VARS] = { };
    socklen_t len = sizeof(info);
    uint32_t limit, used;

    if (getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0) {
        return 0;
    }
    if (s->proto == IPPROTO_TCP) {
        limit = info[SK_MEMINFO_SNDBUF] / 3 * 2;
        used = info[SK_MEMINFO_WMEM_QUEUED];
    } else {
        limit = info[SK_MEMINFO_SNDBUF] / 2;
        used = info[SK_MEMINFO_WMEM_ALLOC];
    }
    return limit > used ? limit - used : 0;
}

void vmrpc_ready_sent(VmrpcServer *srv, VmrpcSock *s, size_t asked, ssize_t n)
{
    uint64_t used = 2 * (uint64_t)asked + PACKET_OVERHEAD;

    if (n < 0 || (size_t)n < asked || !(s->ready & VMRPC_OUT) ||
        srv->has_lowat || !is_plain(srv, s)) {
        vmrpc_sock_refresh(srv, s);
        return;
    }
    if (used < s->room) {
        s->room -= used;
        return;
    }
    s->room = measure_room(s);
    if (!s->room) {
        vmrpc_sock_refresh(srv, s);
    }
}

bool vmrpc_ready_host_has_lowat(void)
{
    g_autofree char *text = NULL;

    /* A host that hides it has the kernel's default. */
    return g_file_get_contents("/proc/sys/net/ipv4/tcp_notsent_lowat", &text,
                               NULL, NULL) &&
           g_ascii_strtoull(text, NULL, 10) < UINT32_MAX;
}

void vmrpc_ready_option(VmrpcSock *s, int level, int name, const void *value,
                        uint32_t len)
{
    s->asks |= (level == G_SOL_SOCKET && name == G_SO_RCVLOWAT) ||
               (level == IPPROTO_TCP && name == TCP_NOTSENT_LOWAT);
    if (level == IPPROTO_TCP && name == TCP_INQ) {
        const uint8_t *octet = value;
        bool on = false;

        for (uint32_t i = 0; i < MIN(len, sizeof(int)); i++) {
            on |= octet[i] != 0;
        }
        s->inq = on ? VMRPC_INQ_GUESTS : VMRPC_INQ_OFF;
    }
}

bool vmrpc_ready_lacks_input(const VmrpcServer *srv, const VmrpcSock *s)
{
    return is_plain(srv, s) && !(vmrpc_sock_ready(s) & VMRPC_IN);
}

void vmrpc_ready_polled(const VmrpcServer *srv, VmrpcSock *s, short revents)
{
    set_ready(srv, s, (uint16_t)revents);
}

/* Makes the host tell with each read how much is left. */
static void ask_for_left(VmrpcSock *s)
{
    int on = 1;

    if (s->inq == VMRPC_INQ_OFF &&
        setsockopt(s->fd, IPPROTO_TCP, TCP_INQ, &on, sizeof(on)) == 0) {
        s->inq = VMRPC_INQ_OURS;
    }
}

void vmrpc_ready_received(VmrpcServer *srv, VmrpcSock *s, uint32_t news,
                          size_t room, ssize_t n, int left, int flags)
{
    bool filled = n >= 0 && (size_t)n >= room;
    bool tells = n == -EAGAIN || (n > 0 && s->proto == IPPROTO_TCP);

    if (!tells || flags || news != s->news || !is_plain(srv, s)) {
        vmrpc_sock_refresh(srv, s);
    } else if (filled && left < 0) {
        ask_for_left(s);
        vmrpc_sock_refresh(srv, s);
    } else {
        s->ready = (s->ready & ~VMRPC_IN) | (filled && left ? VMRPC_IN : 0);
        s->news++;
    }
}

/*
 * The guest knows that this stream has hung up.  Nothing more will come but
 * errors: those in the queue, and the latest one.
 */
static bool is_over(const VmrpcSock *s)
{
    return s->proto == IPPROTO_TCP && (s->reported & VMRPC_HUP) &&
           !(s->ready & VMRPC_ERR) && !s->fin_sent;
}

/* Are @events to be reported even if the guest knows all of their bits? */
static bool is_edge_event(const VmrpcSock *s, uint32_t events)
{
    /* Each byte of urgent data raises a signal (SIGURG). */
    if (!s->edge) {
        return events & VMRPC_PRI;
    }
    /* Adding it to epoll itself raises an event. */
    if (is_over(s)) {
        return false;
    }
    /*
     * Room to send is reported once.  After the FIN has been sent, room means a
     * change of state: a close() that lingers waits for the last
     * acknowledgement.
     */
    return (events & ~VMRPC_OUT) || s->fin_sent;
}

static VMRPC_LOCKED void process_host(VmrpcServer *srv, VmrpcSock *s,
                                      uint32_t events)
{
    if (s->groups) {
        /* The event is of the socket or of a receiver: ask them all. */
        vmrpc_sock_refresh(srv, s);
    } else {
        /* Muted bits are not reported; treat them as set. */
        set_ready(srv, s, events | s->muted);
    }
    s->edge_event = is_edge_event(s, events);
    vmrpc_sock_notify(srv, s);
    if (s->delivery != VMRPC_DELIVERY_QUEUED) {
        vmrpc_watch_less(srv, s);
    }
}

const VmrpcBackingOps vmrpc_host_backing = {
    .kind = VMRPC_BACKING_HOST,
    .refresh = refresh_host,
    .process = process_host,
};

void vmrpc_ready_begin_edges(VmrpcServer *srv, VmrpcSock *s)
{
    /* Input that came without an event, and is still there, makes one. */
    s->edge_event |= s->idle_wakeups > 0 && !is_over(s) &&
                     ((s->ready & ~VMRPC_OUT) || s->fin_sent);
    s->edge = true;
    vmrpc_sock_notify(srv, s);
    if (s->delivery == VMRPC_DELIVERY_QUEUED) {
        vmrpc_timer_wake(srv);
    }
}
