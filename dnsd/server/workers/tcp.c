/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of one thread
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

#include "dnsd/server/workers/handover.h"
#include "dnsd/server/workers/worker.h"

#define READS_MAX       8       /* reads per turn */

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

/* --- requests ------------------------------------------------------------- */

/* Serve one request; returns as dnsd_stream_next(). */
static int serve_next(DnsdWorker *w, DnsdConnection *c)
{
    const uint8_t *msg;
    size_t len, reply_len;
    int ret = dnsd_stream_next(&c->stream, &msg, &len);
    DnsdOutcome outcome;

    if (ret != 1) {
        return ret;
    }
    w->client.addr = c->peer;
    w->client.is_stream = true;
    outcome = dnsd_serve(w->serving, &w->thread, &w->client, msg, len,
                         dnsd_stream_reply(&c->stream), DNS_MSG_MAX,
                         &reply_len);
    switch (outcome) {
    case DNSD_REPLY:
        dnsd_stream_put(&c->stream, reply_len);
        break;
    case DNSD_RESOLVE:
    case DNSD_CONTROL:
    case DNSD_TRANSFER:
        c->is_for_resolver = outcome == DNSD_RESOLVE;
        c->held = msg;
        c->held_len = len;
        c->is_transfer = outcome == DNSD_TRANSFER;
        break;
    default:
        break;
    }
    return 1;
}

/*
 * Serve all complete requests until one must wait.  Requests for other threads
 * are passed on meanwhile.  Returns their number, or -EBADMSG.
 */
static int serve_some(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    int served = 0, ret = 1;

    while (!c->held && (ret = serve_next(w, c)) == 1) {
        served++;
        if (c->held && !c->is_transfer) {
            dnsd_handover(w, i);
        }
    }
    return ret < 0 ? ret : served;
}

/* Returns false if the connection was closed, or is away. */
static bool send_held(DnsdWorker *w, unsigned i, bool *is_done)
{
    switch (dnsd_handover(w, i)) {
    case DNSD_HANDOVER_DONE:
        *is_done = true;
        return true;
    case DNSD_HANDOVER_WAITS:
        return true;
    case DNSD_HANDOVER_FAILED:
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
        return false;
    default:
        return false;
    }
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
        unsigned put = dnsd_handover_put(c);
        int served = serve_some(w, i);

        if (served < 0) {
            dnsd_connection_drop(w, i, DNSD_TCP_MALFORMED);
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
        c->has_ended = true;
    }
    dnsd_stream_filled(&c->stream, len);
    return len;
}

/* Choose the next step: send the rest, read more, or close. */
static void settle(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *from;

    if (dnsd_stream_pending(&c->stream, &from)) {
        dnsd_connection_watch(w, i, EPOLLOUT);
    } else if (c->held || (c->has_ended && c->under_way)) {
        dnsd_connection_watch(w, i, 0);
    } else if (c->has_ended) {
        dnsd_connection_drop(w, i, DNSD_TCP_CLOSED);
    } else {
        dnsd_connection_watch(w, i, EPOLLIN);
    }
}

void dnsd_tcp_ready(DnsdWorker *w, unsigned i, uint32_t events)
{
    DnsdConnection *c = &w->tcp.connection[i];
    ssize_t len = 1;

    if (c->fd < 0 || c->is_away) {
        return;                 /* closed in this round */
    }
    if (events & EPOLLOUT && !serve_all(w, i)) {
        return;
    }
    for (unsigned turn = 0; turn < READS_MAX && len > 0 && !c->has_ended &&
         !c->held && !(c->watched & EPOLLOUT); turn++) {
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
    unsigned touched = w->tcp.max;

    /* All are taken first, so that their replies are sent together. */
    for (DnsdRequest *r = first, *next; r; r = next) {
        unsigned i = r->connection;
        DnsdConnection *c = &w->tcp.connection[i];

        next = r->next;
        if (dnsd_handover_back(w, r) && !c->is_touched) {
            c->is_touched = true;
            c->touched = touched;
            touched = i;
        }
    }
    while (touched < w->tcp.max) {
        unsigned i = touched;
        DnsdConnection *c = &w->tcp.connection[i];

        touched = c->touched;
        c->is_touched = false;
        if (c->has_failed) {
            dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
        } else if (serve_all(w, i)) {
            settle(w, i);
        }
    }
}
