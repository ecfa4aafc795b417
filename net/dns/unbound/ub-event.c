/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our loop as the event base of libunbound
 *
 * libunbound expects the semantics of libevent: an event is active from add()
 * to del(); one that is not persistent ends when it fires; the timeout of a
 * persistent one starts again whenever it fires.  A callback may free the
 * event.
 */

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "net/dns/unbound/ub-event.h"
#include "base/units.h"

typedef struct DnscUbEvent Event;

struct DnscUbEvent {
    struct ub_event super;      /* must be first */
    DnscSource source;          /* must be second, to find the event from it */
    DnscTimer timer;
    DnscUbBase *base;
    short bits;
    bool watched;
    Event *next, **at;          /* in the base's list, while it is watched */
    dev_t dev;                  /* what the descriptor was then */
    ino_t ino;
    int64_t timeout;            /* 0: none */
    void (*callback)(int fd, short bits, void *arg);
    void *arg;
};

static void mark_watched(Event *e)
{
    struct stat st;

    if (!fstat(e->source.fd, &st)) {
        e->dev = st.st_dev;
        e->ino = st.st_ino;
    }
    e->watched = true;
    e->next = e->base->watched;
    e->at = &e->base->watched;
    if (e->next) {
        e->next->at = &e->next;
    }
    e->base->watched = e;
}

static void deactivate(Event *e)
{
    if (e->watched) {
        dnsc_loop_forget(e->base->loop, &e->source);
        e->watched = false;
        *e->at = e->next;
        if (e->next) {
            e->next->at = e->at;
        }
    }
    dnsc_timer_clear(e->base->loop, &e->timer);
}

static void rearm(Event *e)
{
    if (e->timeout) {
        dnsc_timer_set(e->base->loop, &e->timer, dnsc_now() + e->timeout);
    }
}

static void fire(Event *e, short bits)
{
    if (e->bits & UB_EV_PERSIST) {
        rearm(e);
    } else {
        deactivate(e);
    }
    e->callback(e->source.fd, bits, e->arg);
}

/* TCP sockets' errors are left for libunbound: to read one takes it away. */
static void tell_heard(const Event *e, uint32_t events)
{
    int type = 0, error = 0;
    socklen_t len = sizeof(type);

    if (events & EPOLLERR) {
        if (!getsockopt(e->source.fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
            type == SOCK_DGRAM) {
            getsockopt(e->source.fd, SOL_SOCKET, SO_ERROR, &error, &len);
        }
        if (error) {
            e->base->heard(e->base, e->source.fd, error);
        }
    } else if (events & EPOLLIN) {
        e->base->heard(e->base, e->source.fd, 0);
    }
}

static void ready(DnscSource *source, uint32_t events)
{
    Event *e = (Event *)((char *)source - offsetof(Event, source));
    short bits = 0;

    if (e->base->heard) {
        tell_heard(e, events);
    }
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
        bits |= e->bits & UB_EV_READ;
    }
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        bits |= e->bits & UB_EV_WRITE;
    }
    fire(e, bits);
}

static void due(DnscTimer *timer)
{
    fire((Event *)((char *)timer - offsetof(Event, timer)), UB_EV_TIMEOUT);
}

/*** What libunbound calls ***/

static void event_add_bits(struct ub_event *event, short bits)
{
    ((Event *)event)->bits |= bits;
}

static void event_del_bits(struct ub_event *event, short bits)
{
    ((Event *)event)->bits &= ~bits;
}

static void event_set_fd(struct ub_event *event, int fd)
{
    Event *e = (Event *)event;

    deactivate(e);
    e->source.fd = fd;
}

static void event_free(struct ub_event *event)
{
    Event *e = (Event *)event;

    deactivate(e);
    dnsc_loop_unreserve(e->base->loop);
    free(e);
}

static int event_add(struct ub_event *event, struct timeval *tv)
{
    Event *e = (Event *)event;
    uint32_t events = (e->bits & UB_EV_READ ? EPOLLIN : 0) |
                      (e->bits & UB_EV_WRITE ? EPOLLOUT : 0);
    int ret = 0;

    e->timeout = tv ? tv->tv_sec * US_PER_S + tv->tv_usec : 0;
    rearm(e);
    if (e->source.fd >= 0 && events) {
        ret = e->watched ? dnsc_loop_change(e->base->loop, &e->source, events) :
              dnsc_loop_watch(e->base->loop, &e->source, events);
        if (!ret && !e->watched) {
            mark_watched(e);
        }
    }
    return ret ? -1 : 0;
}

static int event_del(struct ub_event *event)
{
    deactivate((Event *)event);
    return 0;
}

static int event_add_timer(struct ub_event *event, struct ub_event_base *base,
                           void (*callback)(int, short, void *), void *arg,
                           struct timeval *tv)
{
    Event *e = (Event *)event;

    e->callback = callback;
    e->arg = arg;
    e->bits = UB_EV_TIMEOUT;
    e->timeout = tv->tv_sec * US_PER_S + tv->tv_usec;
    /* 0 means now, not never. */
    dnsc_timer_set(e->base->loop, &e->timer, dnsc_now() + e->timeout);
    return 0;
}

static int event_add_signal(struct ub_event *event, struct timeval *tv)
{
    return -1;
}

static void event_nothing(struct ub_event *event)
{
}

static void event_would_block(struct ub_event *event, int bits)
{
}

static struct ub_event_vmt event_vmt = {
    .add_bits = event_add_bits,
    .del_bits = event_del_bits,
    .set_fd = event_set_fd,
    .free = event_free,
    .add = event_add,
    .del = event_del,
    .add_timer = event_add_timer,
    .del_timer = event_del,
    .add_signal = event_add_signal,
    .del_signal = event_del,
    .winsock_unregister_wsaevent = event_nothing,
    .winsock_tcp_wouldblock = event_would_block,
};

static struct ub_event *base_new_event(struct ub_event_base *base, int fd,
                                       short bits,
                                       void (*callback)(int, short, void *),
                                       void *arg)
{
    Event *e = calloc(1, sizeof(*e));

    if (!e || dnsc_loop_reserve(((DnscUbBase *)base)->loop)) {
        free(e);
        return NULL;
    }
    e->super.magic = UB_EVENT_MAGIC;
    e->super.vmt = &event_vmt;
    e->source.fd = fd;
    e->source.ready = ready;
    e->timer.fire = due;
    e->base = (DnscUbBase *)base;
    e->bits = bits;
    e->callback = callback;
    e->arg = arg;
    return &e->super;
}

static struct ub_event *base_new_signal(struct ub_event_base *base, int fd,
                                        void (*callback)(int, short, void *),
                                        void *arg)
{
    return NULL;
}

static struct ub_event *base_new_wsaevent(struct ub_event_base *base,
                                          void *wsaevent,
                                          void (*callback)(int, short, void *),
                                          void *arg)
{
    return NULL;
}

static void base_nothing(struct ub_event_base *base)
{
}

static int base_dispatch(struct ub_event_base *base)
{
    return 0;
}

static int base_loopexit(struct ub_event_base *base, struct timeval *tv)
{
    return 0;
}

static struct ub_event_base_vmt base_vmt = {
    .free = base_nothing,
    .dispatch = base_dispatch,
    .loopexit = base_loopexit,
    .new_event = base_new_event,
    .new_signal = base_new_signal,
    .winsock_register_wsaevent = base_new_wsaevent,
};

void dnsc_ub_base_init(DnscUbBase *base, DnscLoop *loop)
{
    base->super.magic = UB_EVENT_MAGIC;
    base->super.vmt = &base_vmt;
    base->loop = loop;
    base->watched = NULL;
    base->heard = NULL;
}

bool dnsc_ub_base_is_whole(const DnscUbBase *base)
{
    const Event *e;

    for (e = base->watched; e; e = e->next) {
        struct stat st;

        if (fstat(e->source.fd, &st) || st.st_dev != e->dev ||
            st.st_ino != e->ino) {
            return false;
        }
    }
    return true;
}
