/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests on connections of one thread
 *
 * Theory of operation
 * ===================
 *
 * A connection is in use, and then in the list of activity, or free, or away:
 * its request is with the control thread, and nothing is done here until it is
 * back.
 *
 * Activity is a whole request, or replies that the client has taken in whole.
 * Octets one by one are none, nor are replies that are read one by one: such
 * clients are closed after the idle time as those that do nothing (slowloris).
 * If all connections are in use, a new one takes the place of the idlest.
 *
 * Nothing is read while replies wait to be sent, so a client that does not
 * read holds what its buffers hold, and does not make work.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "net/dns/server/workers/connection.h"
#include "net/dns/server/workers/worker.h"

#define READS_MAX       8       /* before another connection has its turn */

/* --- writing -------------------------------------------------------------- */

/* Returns false if the connection is gone. */
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

/* It was answered without a control thread if there are too many of them. */
static bool hand_over(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    DnsdRequest *r = dnsd_worker_control(w, c->held, c->held_len);

    c->held = NULL;
    if (!r) {
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
        return false;
    }
    r->client = w->client;
    r->client.addr = c->peer;
    r->client.is_stream = true;
    r->fd = c->fd;
    r->worker = w;
    r->connection = i;
    dnsd_connection_leave(w, i);
    if (!dnsd_worker_send_control(w, r)) {
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
    }
    return false;
}

/* One request; returns what dnsd_stream_next() does. */
static int serve_next(DnsdWorker *w, DnsdConnection *c)
{
    const uint8_t *msg;
    size_t len, reply_len;
    int ret = dnsd_stream_next(&c->stream, &msg, &len);

    if (ret != 1) {
        return ret;
    }
    w->client.addr = c->peer;
    w->client.is_stream = true;
    switch (dnsd_serve(w->serving, &w->desk, &w->client, msg, len,
                       dnsd_stream_reply(&c->stream), DNS_MSG_MAX,
                       &reply_len)) {
    case DNSD_REPLY:
        dnsd_stream_put(&c->stream, reply_len);
        break;
    case DNSD_CONTROL:
        c->held = msg;
        c->held_len = len;
        break;
    default:
        break;
    }
    return 1;
}

/*
 * Serve and send until there is no whole request, or the client does not take
 * its replies.  Returns false if the connection is gone, or away.
 */
static bool serve_all(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *from;
    int ret;

    do {
        unsigned served = 0;

        while (!c->held && (ret = serve_next(w, c)) == 1) {
            served++;
        }
        if (!c->held && ret < 0) {
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
        if (c->held) {
            return hand_over(w, i);
        }
        if (!served) {
            return true;
        }
    } while (true);
}

/* --- reading -------------------------------------------------------------- */

/* Returns octets, 0 if there are none now; -1: the connection is gone. */
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

/* The next step: send the rest, read more, or it is over. */
static void settle(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    const uint8_t *from;

    if (dnsd_stream_pending(&c->stream, &from)) {
        dnsd_connection_watch(w, i, EPOLLOUT);
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
         !(c->watched & EPOLLOUT); turn++) {
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

void dnsd_tcp_returned(DnsdWorker *w, DnsdRequest *request)
{
    unsigned i = request->connection;
    DnsdConnection *c = &w->tcp.connection[i];

    if (!request->reply_len && !request->is_sent) {
        dnsd_connection_drop(w, i, DNSD_TCP_FAILED);
    } else {
        dnsd_connection_return(w, i);
        if (request->reply_len) {
            memcpy(dnsd_stream_reply(&c->stream), request->reply,
                   request->reply_len);
            dnsd_stream_put(&c->stream, request->reply_len);
        }
        if (serve_all(w, i)) {
            settle(w, i);
        }
    }
    dnsd_request_free(request);
}
