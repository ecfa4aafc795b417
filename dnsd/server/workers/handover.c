/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of a connection, passed to other threads and returned */
#include <string.h>

#include "dnsd/server/workers/handover.h"
#include "dnsd/server/workers/worker.h"

static bool may_go(const DnsdConnection *c)
{
    const uint8_t *from;

    if (c->is_transfer) {
        return !c->under_way && !dnsd_stream_pending(&c->stream, &from);
    }
    return !c->under_way ||
           (c->under_way < DNSD_UNDER_WAY_MAX &&
            c->under_way_len + c->held_len <= DNSD_UNDER_WAY_LEN);
}

static unsigned ask_control(DnsdWorker *w, DnsdRequest *r)
{
    return dnsd_requests_put(w->control, r, true) ? 0 : DNSD_DROP_CONTROL;
}

/* Returns 0, or the counter to increment if it can never be passed on. */
static unsigned send_held(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    DnsdRequest *r = dnsd_request_new(c->held, c->held_len);
    unsigned why;

    if (!r) {
        return DNSD_DROP_CONTROL;
    }
    r->client = w->client;
    r->client.addr = c->peer;
    r->client.is_stream = true;
    r->fd = c->fd;
    r->worker = w;
    r->connection = i;
    r->generation = c->generation;
    why = c->is_for_resolver ? dnsd_resolvers_ask(w, r) : ask_control(w, r);
    if (why) {
        dnsd_request_free(r);
    }
    return why;
}

DnsdHandover dnsd_handover(DnsdWorker *w, unsigned i)
{
    DnsdConnection *c = &w->tcp.connection[i];
    unsigned why;

    if (!may_go(c)) {
        return DNSD_HANDOVER_WAITS;
    }
    if (c->is_transfer) {
        dnsd_connection_watch(w, i, 0);
    }
    why = send_held(w, i);
    if (why && c->under_way) {
        return DNSD_HANDOVER_WAITS;
    }
    if (why) {
        dnsd_count(&w->thread.counters, why);
        return DNSD_HANDOVER_FAILED;
    }
    if (!c->under_way) {
        dnsd_connection_busy(w, i, true);
    }
    c->under_way++;
    c->under_way_len += c->held_len;
    c->is_away = c->is_transfer;
    c->held = NULL;
    return c->is_away ? DNSD_HANDOVER_AWAY : DNSD_HANDOVER_DONE;
}

bool dnsd_handover_back(DnsdWorker *w, DnsdRequest *r)
{
    DnsdConnection *c = &w->tcp.connection[r->connection];

    if (c->generation != r->generation) {
        dnsd_request_free(r);
        return false;
    }
    c->under_way--;
    c->under_way_len -= r->len;
    c->is_away = false;
    if (!c->under_way) {
        dnsd_connection_busy(w, r->connection, false);
    }
    if (!r->reply_len) {
        c->has_failed |= !r->is_sent;
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

unsigned dnsd_handover_put(DnsdConnection *c)
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
