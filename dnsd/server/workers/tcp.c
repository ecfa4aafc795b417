/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests over the connections of one thread
 *
 * Theory of operation
 *
 * A connection is in use or free.  In use, it is in the list by activity, or
 * has requests under way in other threads.  The number of these is limited; the
 * next one is held, and nothing more is read until it can be passed on.  During
 * a transfer the connection is away: this thread does not use it until it
 * returns.
 *
 * Activity means a complete request, or replies that the client has read
 * completely.  Single octets do not count, in either direction: such clients
 * are closed after the idle time like those that do nothing (slowloris).  If
 * all connections are in use, a new one replaces the idlest.
 *
 * Nothing is read while replies wait to be sent.  So a client that does not
 * read occupies its buffers, but causes no work.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "dnsd/server/serve/serve.h"
#include "dnsd/server/workers/connection.h"
#include "dnsd/server/workers/resolvers.h"
#include "dnsd/server/workers/tcp.h"

#define READS_MAX       8       /* reads per turn */
/* Limits of the requests of a connection in other threads, and their octets */
#define UNDER_WAY_MAX   32
#define UNDER_WAY_LEN   DNSD_STREAM_IN

/* --- writing -------------------------------------------------------------- */

/* Returns false if the connection was closed. */
static bool flush(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *from;
    size_t len;

    while ((len = dnsd_stream_pending(&c->stream, &from))) {
        ssize_t sent = send(c->fd, from, len, MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN) {
            return true;
        }
        if (sent < 0) {
            dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
            return false;
        }
        dnsd_stream_sent(&c->stream, sent);
        if ((size_t)sent == len) {
            dnsd_connection_active(w, i);
        }
    }
    return true;
}

/* --- requests for other threads ------------------------------------------- */

typedef enum Handover {
    HANDOVER_DONE,
    HANDOVER_WAITS,             /* for a request under way */
    HANDOVER_AWAY,              /* the connection is away, for a transfer */
    HANDOVER_FAILED,            /* it can never be passed on: it is counted */
} Handover;

/* A transfer is passed on alone, after all replies were sent. */
static bool may_go(const DnsdConnection *c)
{
    const uint8_t *from;

    if (c->held_for == DNSD_TRANSFER) {
        return !c->under_way && !dnsd_stream_pending(&c->stream, &from);
    }
    return !c->under_way || (c->under_way < UNDER_WAY_MAX &&
                             c->under_way_len + c->held->len <= UNDER_WAY_LEN);
}

/* Returns 0, or the counter to increment if it is not taken. */
static unsigned pass_on(DnsdWorker *w, DnsdConnection *c)
{
    DnsdRequest *r = c->held;

    r->client = w->client;
    r->client.addr = c->peer;
    r->client.is_stream = true;
    if (c->held_for == DNSD_RESOLVE) {
        return dnsd_resolvers_ask(w, r);
    }
    return dnsd_requests_put(w->control, r, true) ? 0 : DNSD_DROP_CONTROL;
}

static Handover hand_over(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    bool is_transfer = c->held_for == DNSD_TRANSFER;
    size_t len = c->held->len;
    unsigned why;

    if (!may_go(c)) {
        return HANDOVER_WAITS;
    }
    if (is_transfer) {
        dnsd_connection_watch(w, i, 0);
    }
    why = pass_on(w, c);
    if (why && c->under_way) {
        return HANDOVER_WAITS;
    }
    if (why) {
        dnsd_count(&w->thread.counters, why);
        return HANDOVER_FAILED;
    }
    if (!c->under_way) {
        dnsd_connection_busy(w, i, true);
    }
    c->held = NULL;
    c->under_way++;
    c->under_way_len += len;
    if (is_transfer) {
        dnsd_connection_set(c, c->state == DNSD_CONNECTION_ENDED
                            ? DNSD_CONNECTION_AWAY_ENDED
                            : DNSD_CONNECTION_AWAY);
    }
    return is_transfer ? HANDOVER_AWAY : HANDOVER_DONE;
}

static bool hold(DnsdWorker *w, unsigned i, const DnsQuery *query,
                 DnsdOutcome where)
{
    DnsdConnection *c = &w->tcp.connection[i];
    DnsdRequest *r = dnsd_request_new(query);

    if (!r) {
        dnsd_count(&w->thread.counters, DNSD_DROP_CONTROL);
        return false;
    }
    r->fd = c->fd;
    r->home = &w->returned;
    r->connection = i;
    r->generation = c->generation;
    c->held = r;
    c->held_for = where;
    return true;
}

/* A request has returned.  Returns false if its connection is closed. */
static bool take_back(DnsdWorker *w, DnsdRequest *r)
{
    DnsdConnection *c = &w->tcp.connection[r->connection];

    if (c->generation != r->generation) {
        dnsd_request_free(r);
        return false;
    }
    c->under_way--;
    c->under_way_len -= r->len;
    if (dnsd_connection_is_away(c)) {
        dnsd_connection_set(c, c->state == DNSD_CONNECTION_AWAY
                            ? DNSD_CONNECTION_OPEN : DNSD_CONNECTION_ENDED);
    }
    if (!c->under_way) {
        dnsd_connection_busy(w, r->connection, false);
    }
    if (!r->reply_len) {
        if (!r->is_sent && c->state != DNSD_CONNECTION_FAILED) {
            dnsd_connection_set(c, DNSD_CONNECTION_FAILED);
        }
        dnsd_request_free(r);
        return true;
    }
    r->next = NULL;
    if (c->back) {
        c->back_last->next = r;
    } else {
        c->back = r;
    }
    c->back_last = r;
    return true;
}

/* Put replies of returned requests into the stream; returns their number. */
static unsigned put_back(DnsdConnection *c)
{
    unsigned count = 0;
    DnsdRequest *r;

    while ((r = c->back) && dnsd_stream_has_room(&c->stream, r->reply_len)) {
        memcpy(dnsd_stream_reply(&c->stream), r->reply, r->reply_len);
        dnsd_stream_put(&c->stream, r->reply_len);
        c->back = r->next;
        dnsd_request_free(r);
        count++;
    }
    return count;
}

/* --- requests ------------------------------------------------------------- */

/* Serve one request; returns as dnsd_stream_next(), or -ENOMEM. */
static int serve_next(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *msg;
    size_t len, reply_len;
    int ret = dnsd_stream_next(&c->stream, &msg, &len);
    DnsdOutcome outcome;
    DnsQuery query;

    if (ret != 1) {
        return ret;
    }
    w->client.addr = c->peer;
    w->client.is_stream = true;
    dns_query_read(msg, len, &query);
    outcome = dnsd_serve(w->serving, &w->thread, &w->client, &query,
                         dnsd_stream_reply(&c->stream), DNS_MSG_MAX,
                         &reply_len);
    if (outcome == DNSD_REPLY) {
        dnsd_stream_put(&c->stream, reply_len);
    } else if (outcome != DNSD_DROP && !hold(w, i, &query, outcome)) {
        return -ENOMEM;
    }
    return 1;
}

/*
 * Serve all complete requests until one must wait.  Requests for other threads
 * are passed on meanwhile.  Returns their number, or -EBADMSG or -ENOMEM.
 */
static int serve_some(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    int served = 0, ret = 1;

    while (!c->held && (ret = serve_next(w, i)) == 1) {
        served++;
        if (c->held && c->held_for != DNSD_TRANSFER) {
            hand_over(w, i);
        }
    }
    return ret < 0 ? ret : served;
}

/* Returns false if the connection was closed, or is away. */
static bool send_held(DnsdWorker *w, unsigned i, bool *is_done)
{
    Handover end = hand_over(w, i);

    if (end == HANDOVER_FAILED) {
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
    }
    *is_done |= end == HANDOVER_DONE;
    return end == HANDOVER_DONE || end == HANDOVER_WAITS;
}

/*
 * Serve and send until there is no complete request, or the client does not
 * read.  Returns false if the connection was closed, or is away.
 */
static bool serve_all(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *from;
    bool go_on;

    do {
        unsigned put = put_back(c);
        int served = serve_some(w, i);

        if (served < 0) {
            dnsd_connection_drop(w, i, served == -ENOMEM ? DNSD_TCP_FAILED
                                                         : DNSD_TCP_MALFORMED);
            return false;
        }
        if (served) {
            dnsd_connection_active(w, i);
        }
        if (!flush(w, i)) {
            return false;
        }
        if (dnsd_stream_pending(&c->stream, &from)) {
            return true;
        }
        go_on = put || served || c->back;
        if (c->held && !send_held(w, i, &go_on)) {
            return false;
        }
    } while (go_on);
    return true;
}

/* --- reading -------------------------------------------------------------- */

/* Returns octets; 0 if there are none yet; -1: the connection was closed. */
static ssize_t fill(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    uint8_t *to;
    size_t room = dnsd_stream_room(&c->stream, &to);
    ssize_t len = room ? recv(c->fd, to, room, 0) : 0;

    if (!room || (len < 0 && errno == EAGAIN)) {
        return 0;
    }
    if (len < 0) {
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
        return -1;
    }
    if (!len) {
        dnsd_connection_set(c, DNSD_CONNECTION_ENDED);
    }
    dnsd_stream_filled(&c->stream, len);
    return len;
}

/* Choose the next step: send the rest, read more, or close. */
static void settle(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    bool has_ended = c->state == DNSD_CONNECTION_ENDED;
    const uint8_t *from;

    if (dnsd_stream_pending(&c->stream, &from)) {
        dnsd_connection_watch(w, i, EPOLLOUT);
    } else if (c->held || (has_ended && c->under_way)) {
        dnsd_connection_watch(w, i, 0);
    } else if (has_ended) {
        dnsd_connection_drop(w, i, DNSD_TCP_CLOSED);
    } else {
        dnsd_connection_watch(w, i, EPOLLIN);
    }
}

void dnsd_tcp_ready(DnsdWorker *w, unsigned i, uint32_t events)
{
    DnsdConnection *c = &w->tcp.connection[i];
    ssize_t len = 1;

    if (dnsd_connection_is_away(c)) {
        return;                 /* closed in this round */
    }
    if (events & EPOLLOUT && !serve_all(w, i)) {
        return;
    }
    for (unsigned turn = 0; turn < READS_MAX && len > 0 && !c->held &&
         c->state == DNSD_CONNECTION_OPEN && !(c->watched & EPOLLOUT); turn++) {
        const uint8_t *from;

        len = fill(w, i);
        if (len < 0 || (len > 0 && !serve_all(w, i))) {
            return;
        }
        if (dnsd_stream_pending(&c->stream, &from)) {
            break;
        }
    }
    settle(w, i);
}

void dnsd_tcp_returned(DnsdWorker *w, DnsdRequest *first)
{
    unsigned touched = w->tcp.max;      /* the last in the list */

    /* All are taken first, so that their replies are sent together. */
    for (DnsdRequest *r = first, *next; r; r = next) {
        unsigned i = r->connection;
        DnsdConnection *c = &w->tcp.connection[i];

        next = r->next;
        if (take_back(w, r) && !c->touched) {
            c->touched = 1 + touched;
            touched = i;
        }
    }
    while (touched < w->tcp.max) {
        unsigned i = touched;
        DnsdConnection *c = &w->tcp.connection[i];

        touched = c->touched - 1;
        c->touched = 0;
        if (c->state == DNSD_CONNECTION_FAILED) {
            dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
        } else if (serve_all(w, i)) {
            settle(w, i);
        }
    }
}
