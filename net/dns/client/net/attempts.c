/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tries of a question */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/client/net/attempts.h"

/*** What is known ***/

void dnsc_attempts_close_tcp(DnscAsk *ask)
{
    dnsc_tcp_close(&ask->tcp);
    dnsc_turn_end(&ask->asker->tcp, &ask->turn);
}

void dnsc_attempts_free(DnscAsk *ask)
{
    unsigned i;

    for (i = 0; i < DNSC_TRIES_OPEN; i++) {
        dnsc_try_close(&ask->tries[i]);
    }
    dnsc_attempts_close_tcp(ask);
    dnsc_timer_clear(ask->asker->loop, &ask->timer);
    dnsc_loop_unreserve(ask->asker->loop);
    dnsc_asker_unref(ask->asker);
    free(ask);
}

void dnsc_attempts_finish(DnscAsk *ask, DnscResult *result)
{
    DnscAskFn *done = ask->done;
    void *opaque = ask->opaque;

    if (ask->last && ask->last != result) {
        dnsc_result_unref(ask->last);
    }
    dnsc_attempts_free(ask);
    done(opaque, result);
}

void dnsc_attempts_keep(DnscAsk *ask, DnscResult *result)
{
    if (ask->last && ask->last->whole && !result->whole) {
        dnsc_result_unref(result);
        return;
    }
    dnsc_result_unref(ask->last);
    ask->last = result;
}

void dnsc_attempts_failed(DnscAsk *ask, VmmnetDnsError error,
                          const char *reason)
{
    dnsc_attempts_keep(ask, dnsc_result_error(error, reason));
}

/*** Going out ***/

/*
 * Some servers, or firewalls before them, drop queries with EDNS.  So where no
 * answer has ever had it, the second query goes without.
 */
static bool may_have_edns(const DnscAsk *ask, uint8_t server, unsigned round)
{
    const DnscServer *s = &ask->asker->servers.server[server];

    return !ask->no_edns && !s->no_edns &&
           (!round || s->has_edns || ask->query.dnssec_ok);
}

static int prepare(DnscAsk *ask, DnscTry *t, uint8_t server, unsigned round)
{
    *t = (DnscTry){
        .owner = ask,
        .server = server,
        .round = round,
        .edns = may_have_edns(ask, server, round),
    };
    ask->current = t;
    return dnsc_try_prepare(t, &ask->query.question, ask->asker->random_case);
}

static int open_tcp(DnscAsk *ask)
{
    DnscTry *t = &ask->over_tcp;
    uint8_t msg[DNS_QUERY_MAX];
    size_t len = dnsc_try_build(t, &ask->query, msg);

    ask->asker->counters->over_tcp++;
    return dnsc_tcp_open(&ask->tcp, &ask->asker->ports,
                         &dnsc_ask_server(ask, t)->addr, msg, len,
                         ask->tcp_done, ask);
}

/* Fail from the event loop, as this may be within the caller's call. */
static void fail_soon(DnscAsk *ask, int error)
{
    bool is_ours = error == -EMFILE || error == -ENFILE || error == -ENOMEM ||
                   error == -ENOSYS;
    DnscResult *result = dnsc_result_error(
        is_ours ? VMMNET_DNS_RESOURCES : VMMNET_DNS_UNREACHABLE,
        strerrordesc_np(-error));

    if (result->refs) {
        result->local = error == -ENETUNREACH || error == -EADDRNOTAVAIL ||
                        error == -ENETDOWN;
    }
    dnsc_attempts_keep(ask, result);
    dnsc_timer_set(ask->asker->loop, &ask->timer, dnsc_now());
}

static void tcp_turn(DnscTurn *turn)
{
    DnscAsk *ask = (DnscAsk *)((char *)turn - offsetof(DnscAsk, turn));
    int ret = open_tcp(ask);

    if (ret) {
        fail_soon(ask, ret);
    }
}

/* The timer also runs while the try waits for its turn. */
static int send_over_tcp(DnscAsk *ask, uint8_t server, unsigned round)
{
    int ret;

    dnsc_attempts_close_tcp(ask);
    ret = prepare(ask, &ask->over_tcp, server, round);
    if (ret) {
        return ret;
    }
    return dnsc_turn_take(&ask->asker->tcp, &ask->turn) ? open_tcp(ask) : 0;
}

static int send_over_udp(DnscAsk *ask, uint8_t server, unsigned round)
{
    DnscTry *t = &ask->tries[ask->next_try++ % DNSC_TRIES_OPEN];
    uint8_t msg[DNS_QUERY_MAX];
    size_t len;
    int ret;

    dnsc_attempts_close_tcp(ask);
    dnsc_try_close(t);
    ret = prepare(ask, t, server, round);
    if (ret) {
        return ret;
    }
    len = dnsc_try_build(t, &ask->query, msg);
    return dnsc_try_send(t, &ask->asker->ports, &dnsc_ask_server(ask, t)->addr,
                         ask->receive, msg, len);
}

/* Is no try left after this one? */
static bool is_last(const DnscAsk *ask)
{
    const DnscAsker *asker = ask->asker;
    unsigned i;

    for (i = ask->tried; i < asker->attempts * asker->servers.count; i++) {
        if (!(ask->no_use & 1 << ask->order[i % asker->servers.count])) {
            return false;
        }
    }
    return true;
}

void dnsc_attempts_send(DnscAsk *ask, uint8_t server, unsigned round, bool tcp)
{
    DnscAsker *asker = ask->asker;
    int64_t now = dnsc_now(), wait;
    int ret;

    asker->counters->queries++;
    ret = tcp ? send_over_tcp(ask, server, round) :
          send_over_udp(ask, server, round);
    if (ret) {
        fail_soon(ask, ret);
        return;
    }
    wait = tcp || is_last(ask) ? asker->timeout :
           dnsc_server_wait(&asker->servers.server[server], round,
                            asker->timeout);
    dnsc_timer_set(asker->loop, &ask->timer, now + wait);
}

void dnsc_attempts_next(DnscAsk *ask)
{
    DnscAsker *asker = ask->asker;
    unsigned all = asker->attempts * asker->servers.count;

    while (ask->tried < all && !(ask->unwanted && ask->tried)) {
        unsigned round = ask->tried / asker->servers.count;
        uint8_t server = ask->order[ask->tried % asker->servers.count];

        ask->tried++;
        if (!(ask->no_use & 1 << server)) {
            asker->counters->retries += ask->tried > 1;
            dnsc_attempts_send(ask, server, round, asker->use_vc);
            return;
        }
    }
    if (!ask->last) {
        dnsc_attempts_failed(ask, VMMNET_DNS_TIMEOUT,
                             "no server answered in time");
    }
    dnsc_attempts_finish(ask, ask->last);
}

static void due(DnscTimer *timer)
{
    DnscAsk *ask = (DnscAsk *)((char *)timer - offsetof(DnscAsk, timer));
    DnscTry *t = ask->current;

    /* A try without a socket has failed, and has reported it. */
    if (t->port || ask->tcp.source.fd >= 0) {
        ask->asker->counters->timeouts++;
        dnsc_server_silent(dnsc_ask_server(ask, t), t->sent, dnsc_now());
    }
    dnsc_attempts_close_tcp(ask);
    dnsc_attempts_next(ask);
}

void dnsc_attempts_begin(DnscAsk *ask)
{
    DnscAsker *asker = ask->asker;

    ask->timer.fire = due;
    ask->turn.come = tcp_turn;
    ask->tcp.source.fd = -1;
    dnsc_servers_order(&asker->servers, asker->rotate, dnsc_now(),
                       ask->order);
    dnsc_attempts_next(ask);
}
