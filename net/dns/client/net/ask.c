/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One question, asked of the servers until one answers
 *
 * Theory of operation
 *
 * The servers are tried one after the other, and all again, `attempts` times
 * round.  Each try has a socket of its own, so a source port and an id of its
 * own (RFC 5452), connected, so that the kernel drops what comes from another
 * address or port and reports that nobody listens.  A try that nobody answers
 * in time stays open while the next one is out: a slow server's reply counts
 * as well.
 *
 *   wrong id, question, no reply   counted and dropped; the try goes on, as a
 *                                  forger must not be able to end it
 *   TC                             the same server over TCP, RFC 7766
 *   FORMERR, NOTIMP, BADVERS       the same server without EDNS, once
 *   other RCODEs, malformed        the next server at once; the last such
 *                                  reply is the outcome if none knows better
 *   ICMP error                     the next server at once
 *
 * A server that has refused or sent what is malformed is not asked this
 * question again; after SERVFAIL it is, in the next round.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/dns/client/core/rcode.h"
#include "net/dns/client/core/reply.h"
#include "net/dns/client/net/ask.h"
#include "net/dns/client/net/tcp.h"
#include "net/dns/client/net/try.h"

#define TRIES_OPEN      4       /* at a time; the oldest gives way */
#define RECEIVE_MAX     4096    /* more than we advertise */
#define DATAGRAMS_AT_ONCE 32

struct DnscAsk {
    DnscAsker *asker;
    DnscAskFn *done;
    void *opaque;
    DnsQuestion question;
    uint8_t order[DNSC_SERVERS_MAX];
    unsigned tried;             /* how many times */
    uint8_t no_use;             /* bit per server */
    bool no_edns;
    DnscTry tries[TRIES_OPEN];
    unsigned next_try;          /* the oldest */
    DnscTry *current;
    DnscTcp tcp;
    DnscTry over_tcp;           /* what went out on it */
    DnscTimer timer;
    DnscResult *last;           /* the outcome, if nobody knows better */
};
_Static_assert(DNSC_SERVERS_MAX <= 8, "a bit per server");

DnscAsker *dnsc_asker_ref(DnscAsker *asker)
{
    asker->refs++;
    return asker;
}

void dnsc_asker_unref(DnscAsker *asker)
{
    if (asker && --asker->refs == 0) {
        free(asker);
    }
}

static DnscServer *server_of(const DnscAsk *ask, const DnscTry *t)
{
    return &ask->asker->servers.server[t->server];
}

static void release(DnscAsk *ask)
{
    unsigned i;

    for (i = 0; i < TRIES_OPEN; i++) {
        dnsc_try_close(&ask->tries[i], ask->asker->loop);
    }
    dnsc_tcp_close(&ask->tcp);
    dnsc_timer_clear(ask->asker->loop, &ask->timer);
    dnsc_loop_unreserve(ask->asker->loop);
    dnsc_asker_unref(ask->asker);
    free(ask);
}

void dnsc_ask_cancel(DnscAsk *ask)
{
    dnsc_result_unref(ask->last);
    release(ask);
}

static void finish(DnscAsk *ask, DnscResult *result)
{
    DnscAskFn *done = ask->done;
    void *opaque = ask->opaque;

    if (ask->last && ask->last != result) {
        dnsc_result_unref(ask->last);
    }
    release(ask);
    done(opaque, result);
}

static void remember(DnscAsk *ask, VmmnetDnsError error, const char *reason)
{
    dnsc_result_unref(ask->last);
    ask->last = dnsc_result_error(error, reason);
}

/*** Going out ***/

static void receive(DnscSource *source, uint32_t events);
static void tcp_done(void *opaque, const uint8_t *msg, size_t len);

static void prepare(DnscAsk *ask, DnscTry *t, uint8_t server, unsigned round)
{
    *t = (DnscTry){
        .source.ready = receive,
        .owner = ask,
        .server = server,
        .round = round,
        .edns = !ask->no_edns && !ask->asker->servers.server[server].no_edns,
    };
    dnsc_try_prepare(t, &ask->question, ask->asker->random_case);
    ask->current = t;
}

static int send_over_tcp(DnscAsk *ask, uint8_t server, unsigned round)
{
    DnscTry *t = &ask->over_tcp;
    uint8_t msg[DNS_QUERY_MAX];
    size_t len;

    dnsc_tcp_close(&ask->tcp);
    prepare(ask, t, server, round);
    len = dnsc_try_build(t, ask->asker->trust_ad, msg);
    ask->asker->counters->over_tcp++;
    return dnsc_tcp_open(&ask->tcp, ask->asker->loop,
                         &server_of(ask, t)->addr, msg, len, tcp_done, ask);
}

static int send_over_udp(DnscAsk *ask, uint8_t server, unsigned round)
{
    DnscTry *t = &ask->tries[ask->next_try++ % TRIES_OPEN];
    uint8_t msg[DNS_QUERY_MAX];
    size_t len;

    dnsc_try_close(t, ask->asker->loop);
    prepare(ask, t, server, round);
    len = dnsc_try_build(t, ask->asker->trust_ad, msg);
    return dnsc_try_send(t, ask->asker->loop, &server_of(ask, t)->addr, msg,
                         len);
}

/* Is there anything to try after this? */
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

static void send_to(DnscAsk *ask, uint8_t server, unsigned round, bool tcp)
{
    DnscAsker *asker = ask->asker;
    int64_t now = dnsc_now(), wait;
    int ret;

    asker->counters->queries++;
    ret = tcp ? send_over_tcp(ask, server, round) :
          send_over_udp(ask, server, round);
    if (ret) {
        remember(ask, ret == -EMFILE || ret == -ENFILE || ret == -ENOMEM ?
                 VMMNET_DNS_RESOURCES : VMMNET_DNS_UNREACHABLE,
                 strerrordesc_np(-ret));
        /* From the event loop: this may be the caller's own stack */
        dnsc_timer_set(asker->loop, &ask->timer, now);
        return;
    }
    wait = tcp || is_last(ask) ? asker->timeout :
           dnsc_server_wait(&asker->servers.server[server], round,
                            asker->timeout);
    dnsc_timer_set(asker->loop, &ask->timer, now + wait);
}

/* The next try, if one is left */
static void next_server(DnscAsk *ask)
{
    DnscAsker *asker = ask->asker;
    unsigned all = asker->attempts * asker->servers.count;

    while (ask->tried < all) {
        unsigned round = ask->tried / asker->servers.count;
        uint8_t server = ask->order[ask->tried % asker->servers.count];

        ask->tried++;
        if (!(ask->no_use & 1 << server)) {
            asker->counters->retries += ask->tried > 1;
            send_to(ask, server, round, asker->use_vc);
            return;
        }
    }
    if (!ask->last) {
        remember(ask, VMMNET_DNS_TIMEOUT, "no server answered in time");
    }
    finish(ask, ask->last);
}

static void due(DnscTimer *timer)
{
    DnscAsk *ask = (DnscAsk *)((char *)timer - offsetof(DnscAsk, timer));
    DnscTry *t = ask->current;

    /* Without a socket the try has failed, and said why */
    if (t->source.fd >= 0 || ask->tcp.source.fd >= 0) {
        ask->asker->counters->timeouts++;
        dnsc_server_silent(server_of(ask, t), t->sent, dnsc_now());
        if (t == &ask->over_tcp) {
            dnsc_tcp_close(&ask->tcp);
        }
    }
    next_server(ask);
}

/*** Coming in ***/

static void set_ede(DnscResult *r, const DnscLook *look)
{
    if (r->refs && look->ede != VMMNET_DNS_NO_EDE) {
        r->ede = look->ede;
        if (look->ede_text_len) {
            dnsc_result_set_reason(r, look->ede_text, look->ede_text_len);
        }
    }
}

/* A reply that says no.  Frees the question if nothing is left to try. */
static void refused(DnscAsk *ask, DnscTry *t, const DnscLook *look)
{
    bool edns_may_be_why = look->rcode == DNS_RCODE_FORMERR ||
                           look->rcode == DNS_RCODE_NOTIMP ||
                           look->rcode == DNS_RCODE_BADVERS;

    remember(ask, dnsc_rcode_error(look->rcode), dnsc_rcode_text(look->rcode));
    set_ede(ask->last, look);
    if (t->edns && edns_may_be_why && !ask->no_edns) {
        ask->no_edns = true;
        send_to(ask, t->server, t->round, t == &ask->over_tcp);
        return;
    }
    if (look->rcode != DNS_RCODE_SERVFAIL) {
        ask->no_use |= 1 << t->server;
    }
    next_server(ask);
}

static void malformed(DnscAsk *ask, DnscTry *t)
{
    ask->asker->counters->malformed++;
    remember(ask, VMMNET_DNS_FAILED, "the reply is malformed");
    ask->no_use |= 1 << t->server;
    next_server(ask);
}

/* A reply to what went out.  May free the question. */
static void reply(DnscAsk *ask, DnscTry *t, const uint8_t *msg, size_t len)
{
    DnscAsker *asker = ask->asker;
    DnscResult *result = NULL;
    DnscLook look;
    int ret;

    dnsc_server_answered(server_of(ask, t), t->sent, dnsc_now());
    asker->counters->replies++;
    if (dnsc_reply_look(msg, len, &look)) {
        malformed(ask, t);
        return;
    }
    if (look.truncated && t != &ask->over_tcp) {
        send_to(ask, t->server, t->round, true);
        return;
    }
    if (look.rcode != DNS_RCODE_NOERROR && look.rcode != DNS_RCODE_NXDOMAIN) {
        refused(ask, t, &look);
        return;
    }
    ret = look.truncated ? -EBADMSG :
          dnsc_reply_read(msg, len, &t->question, &result);
    if (ret == -EBADMSG) {
        malformed(ask, t);
        return;
    }
    if (ret) {
        result = dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory");
    } else if (result->error == VMMNET_DNS_FAILED) {
        /* A referral: another server may recurse */
        dnsc_result_unref(ask->last);
        ask->last = result;
        ask->no_use |= 1 << t->server;
        next_server(ask);
        return;
    } else {
        /* It was EDNS that the server did not take */
        server_of(ask, t)->no_edns |= ask->no_edns && !t->edns;
        result->authenticated = look.authenticated && asker->trust_ad;
        set_ede(result, &look);
    }
    finish(ask, result);
}

static void receive(DnscSource *source, uint32_t events)
{
    DnscTry *t = (DnscTry *)source;
    DnscAsk *ask = t->owner;
    uint8_t msg[RECEIVE_MAX];
    int i;

    for (i = 0; i < DATAGRAMS_AT_ONCE; i++) {
        ssize_t len = recv(t->source.fd, msg, sizeof(msg), MSG_TRUNC);

        if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (len < 0) {          /* ICMP: nobody there */
            int why = errno;

            dnsc_try_close(t, ask->asker->loop);
            dnsc_server_silent(server_of(ask, t), t->sent, dnsc_now());
            if (t == ask->current) {
                remember(ask, VMMNET_DNS_UNREACHABLE, strerrordesc_np(why));
                next_server(ask);
            }
            return;
        }
        if ((size_t)len > sizeof(msg)) {
            ask->asker->counters->not_reply++;
        } else if (dnsc_try_matches(t, msg, len, ask->asker->counters)) {
            dnsc_try_close(t, ask->asker->loop);
            reply(ask, t, msg, len);
            return;
        }
    }
}

static void tcp_done(void *opaque, const uint8_t *msg, size_t len)
{
    DnscAsk *ask = opaque;
    DnscTry *t = &ask->over_tcp;

    if (msg && dnsc_try_matches(t, msg, len, ask->asker->counters)) {
        reply(ask, t, msg, len);
        return;
    }
    dnsc_tcp_close(&ask->tcp);
    remember(ask, VMMNET_DNS_UNREACHABLE, "TCP to the server failed");
    next_server(ask);
}

DnscAsk *dnsc_ask(DnscAsker *asker, const DnsQuestion *question,
                  DnscAskFn *done, void *opaque)
{
    DnscAsk *ask = calloc(1, sizeof(*ask));
    unsigned i;

    if (!ask || dnsc_loop_reserve(asker->loop)) {
        free(ask);
        return NULL;
    }
    ask->asker = dnsc_asker_ref(asker);
    ask->done = done;
    ask->opaque = opaque;
    ask->question = *question;
    ask->timer.fire = due;
    ask->tcp.source.fd = -1;
    for (i = 0; i < TRIES_OPEN; i++) {
        ask->tries[i].source.fd = -1;
    }
    dnsc_servers_order(&asker->servers, asker->rotate, dnsc_now(),
                       ask->order);
    next_server(ask);
    return ask;
}
