/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections of a worker, and the list by activity */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "dnsd/server/workers/connection.h"

#define NONE            UINT32_MAX
#define ACCEPTS_MAX     64      /* per turn */
#define PAGE_LEN        4096    /* larger ones have parts of neighbours */
#define IN_LEN          ((DNSD_STREAM_IN + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN)
#define BUFFERS_LEN \
    (IN_LEN + (DNSD_STREAM_OUT + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN)

/* --- state ---------------------------------------------------------------- */

#define TO(state)   (1u << DNSD_CONNECTION_ ## state)

static const struct {
    const char *name;
    unsigned next;
} states[DNSD_CONNECTION_STATES] = {
    [DNSD_CONNECTION_FREE] = { "free", TO(OPEN) },
    [DNSD_CONNECTION_OPEN] = {
        "open", TO(ENDED) | TO(AWAY) | TO(FAILED) | TO(FREE),
    },
    [DNSD_CONNECTION_ENDED] = {
        "ended", TO(AWAY_ENDED) | TO(FAILED) | TO(FREE),
    },
    [DNSD_CONNECTION_AWAY] = { "away", TO(OPEN) },
    [DNSD_CONNECTION_AWAY_ENDED] = { "away, ended", TO(ENDED) },
    [DNSD_CONNECTION_FAILED] = { "failed", TO(FREE) },
};

void dnsd_connection_set(DnsdConnection *c, DnsdConnectionState state)
{
    assert(states[c->state].next & 1u << state);
    base_debug("connection %d: %s -> %s", c->fd, states[c->state].name,
               states[state].name);
    c->state = state;
}

bool dnsd_connection_is_away(const DnsdConnection *c)
{
    return c->state == DNSD_CONNECTION_FREE ||
           c->state == DNSD_CONNECTION_AWAY ||
           c->state == DNSD_CONNECTION_AWAY_ENDED;
}

/* --- lists ---------------------------------------------------------------- */

static void unlink_from_list(DnsdTcp *t, unsigned i)
{
    DnsdConnection *c = &t->connection[i];

    if (c->before == NONE) {
        t->idlest = c->after;
    } else {
        t->connection[c->before].after = c->after;
    }
    if (c->after == NONE) {
        t->busiest = c->before;
    } else {
        t->connection[c->after].before = c->before;
    }
}

static void append_to_list(DnsdTcp *t, unsigned i)
{
    DnsdConnection *c = &t->connection[i];

    c->before = t->busiest;
    c->after = NONE;
    if (t->busiest == NONE) {
        t->idlest = i;
    } else {
        t->connection[t->busiest].after = i;
    }
    t->busiest = i;
}

void dnsd_connection_active(DnsdWorker *w, unsigned i)
{
    w->tcp.connection[i].active_ms = w->client.now_ms;
    if (!w->tcp.connection[i].under_way) {
        unlink_from_list(&w->tcp, i);
        append_to_list(&w->tcp, i);
    }
}

void dnsd_connection_busy(DnsdWorker *w, unsigned i, bool is_busy)
{
    if (is_busy) {
        unlink_from_list(&w->tcp, i);
    } else {
        w->tcp.connection[i].active_ms = w->client.now_ms;
        append_to_list(&w->tcp, i);
    }
}

/* --- life ----------------------------------------------------------------- */

int dnsd_connections_init(DnsdTcp *t, unsigned max)
{
    *t = (DnsdTcp) { .max = max, .idlest = NONE, .busiest = NONE };
    t->connection = calloc(max, sizeof(*t->connection));
    /* Memory is allocated when a page is first used. */
    t->buffers = mmap(NULL, (size_t)max * BUFFERS_LEN, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!t->connection || t->buffers == MAP_FAILED) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < max; i++) {
        t->connection[i].after = i + 1 < max ? i + 1 : NONE;
    }
    return 0;
}

void dnsd_connections_destroy(DnsdTcp *t)
{
    for (unsigned i = 0; t->connection && i < t->max; i++) {
        DnsdConnection *c = &t->connection[i];

        if (c->state != DNSD_CONNECTION_FREE) {
            close(c->fd);
            dnsd_requests_free(c->back);
            dnsd_requests_free(c->held);
        }
    }
    free(t->connection);
    if (t->buffers && t->buffers != MAP_FAILED) {
        munmap(t->buffers, (size_t)t->max * BUFFERS_LEN);
    }
}

void dnsd_connection_drop(DnsdWorker *w, unsigned i, unsigned why)
{
    DnsdTcp *t = &w->tcp;
    DnsdConnection *c = &t->connection[i];

    dnsd_count(&w->thread.counters, why);
    if (!c->under_way) {
        unlink_from_list(t, i);
    }
    close(c->fd);
    dnsd_requests_free(c->back);
    dnsd_requests_free(c->held);
    dnsd_connection_set(c, DNSD_CONNECTION_FREE);
    *c = (DnsdConnection) {
        .after = t->free, .generation = c->generation + 1,
    };
    t->free = i;
    atomic_store_explicit(&t->used, atomic_load(&t->used) - 1,
                          memory_order_relaxed);
}

void dnsd_connection_watch(DnsdWorker *w, unsigned i, uint32_t events)
{
    DnsdConnection *c = &w->tcp.connection[i];
    struct epoll_event event = {
        .events = events, .data.u64 = dnsd_event(DNSD_EVENT_CONNECTION, i),
    };

    if (c->watched != events) {
        epoll_ctl(w->epoll, !events ? EPOLL_CTL_DEL : c->watched
                  ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &event);
        c->watched = events;
    }
}

static unsigned count_of(const DnsdTcp *t, const DnsdAddr *peer)
{
    unsigned count = 0;

    for (unsigned i = 0; i < t->max; i++) {
        count += t->connection[i].state != DNSD_CONNECTION_FREE &&
                 !memcmp(&t->connection[i].peer, peer, sizeof(*peer));
    }
    return count;
}

static void take_in(DnsdWorker *w, int fd, const DnsdAddr *peer)
{
    DnsdTcp *t = &w->tcp;
    unsigned i = t->free;
    DnsdConnection *c = &t->connection[i];
    uint8_t *buffers = t->buffers + (size_t)i * BUFFERS_LEN;

    t->free = c->after;
    *c = (DnsdConnection) {
        .fd = fd, .peer = *peer, .active_ms = w->client.now_ms,
        .generation = c->generation,
    };
    dnsd_connection_set(c, DNSD_CONNECTION_OPEN);
    dnsd_stream_init(&c->stream, buffers, buffers + IN_LEN);
    append_to_list(t, i);
    atomic_store_explicit(&t->used, atomic_load(&t->used) + 1,
                          memory_order_relaxed);
    dnsd_connection_watch(w, i, EPOLLIN);
}

static bool make_room(DnsdWorker *w)
{
    if (w->tcp.free == NONE && w->tcp.idlest != NONE) {
        dnsd_connection_drop(w, w->tcp.idlest, DNSD_TCP_EVICTED);
    }
    return w->tcp.free != NONE;
}

void dnsd_connections_accept(DnsdWorker *w, int listener)
{
    const DnsdTcpConfig *config = &w->serving->config->tcp;

    for (unsigned turn = 0; turn < ACCEPTS_MAX; turn++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof(sa);
        int fd = accept4(listener, (struct sockaddr *)&sa, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        DnsdAddr peer;

        if (fd < 0) {
            return;
        }
        dnsd_count(&w->thread.counters, DNSD_TCP_ACCEPTED);
        peer = dnsd_addr_of((struct sockaddr *)&sa);
        if (count_of(&w->tcp, &peer) >= config->per_client) {
            dnsd_count(&w->thread.counters, DNSD_TCP_PER_CLIENT);
            close(fd);
        } else if (!make_room(w)) {
            dnsd_count(&w->thread.counters, DNSD_TCP_EVICTED);
            close(fd);
        } else {
            take_in(w, fd, &peer);
        }
    }
}

int dnsd_connections_expire(DnsdWorker *w)
{
    DnsdTcp *t = &w->tcp;
    uint64_t idle_ms = w->serving->config->tcp.idle_s * 1000ull;

    while (t->idlest != NONE) {
        uint64_t end = t->connection[t->idlest].active_ms + idle_ms;

        if (end > w->client.now_ms) {
            return end - w->client.now_ms;
        }
        dnsd_connection_drop(w, t->idlest, DNSD_TCP_IDLE);
    }
    return -1;
}
