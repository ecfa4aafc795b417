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
 * question again; after SERVFAIL it is, in the next round, unless the whole
 * reply is wanted: who asks for that gets to know why.
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
    DnscQuery query;
    bool whole;                 /* the reply is wanted whole */
    bool unwanted;              /* by anybody */
    uint8_t order[DNSC_SERVERS_MAX];
    unsigned tried;             /* how many times */
    uint8_t no_use;             /* bit per server */
    bool no_edns;
    DnscTry tries[TRIES_OPEN];
    unsigned next_try;          /* the oldest */
    DnscTry *current;
    DnscTcp tcp;
    DnscTurn turn;              /* to have a connection */
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

static void close_tcp(DnscAsk *ask)
{
    dnsc_tcp_close(&ask->tcp);
    dnsc_turn_end(&ask->asker->tcp, &ask->turn);
}

static void release(DnscAsk *ask)
{
    unsigned i;

    for (i = 0; i < TRIES_OPEN; i++) {
        dnsc_try_close(&ask->tries[i]);
    }
    close_tcp(ask);
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

/* A reply is worth more than that there was none. */
static void remember_result(DnscAsk *ask, DnscResult *result)
{
    if (ask->last && ask->last->whole && !result->whole) {
        dnsc_result_unref(result);
        return;
    }
    dnsc_result_unref(ask->last);
    ask->last = result;
}

static void remember(DnscAsk *ask, VmmnetDnsError error, const char *reason)
{
    remember_result(ask, dnsc_result_error(error, reason));
}

/*** Going out ***/

static void receive(DnscSource *source, uint32_t events);
static void tcp_done(void *opaque, const uint8_t *msg, size_t len);

static void prepare(DnscAsk *ask, DnscTry *t, uint8_t server, unsigned round)
{
    *t = (DnscTry){
        .owner = ask,
        .server = server,
        .round = round,
        .edns = !ask->no_edns && !ask->asker->servers.server[server].no_edns,
    };
    dnsc_try_prepare(t, &ask->query.question, ask->asker->random_case);
    ask->current = t;
}

static int open_tcp(DnscAsk *ask)
{
    DnscTry *t = &ask->over_tcp;
    uint8_t msg[DNS_QUERY_MAX];
    size_t len = dnsc_try_build(t, &ask->query, msg);

    ask->asker->counters->over_tcp++;
    return dnsc_tcp_open(&ask->tcp, &ask->asker->ports,
                         &server_of(ask, t)->addr, msg, len, tcp_done, ask);
}

/* From the event loop: this may be the caller's own stack */
static void fail_soon(DnscAsk *ask, int error)
{
    remember(ask, error == -EMFILE || error == -ENFILE || error == -ENOMEM ?
             VMMNET_DNS_RESOURCES : VMMNET_DNS_UNREACHABLE,
             strerrordesc_np(-error));
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

/* Until it has its turn, the timer counts as well. */
static int send_over_tcp(DnscAsk *ask, uint8_t server, unsigned round)
{
    close_tcp(ask);
    prepare(ask, &ask->over_tcp, server, round);
    return dnsc_turn_take(&ask->asker->tcp, &ask->turn) ? open_tcp(ask) : 0;
}

static int send_over_udp(DnscAsk *ask, uint8_t server, unsigned round)
{
    DnscTry *t = &ask->tries[ask->next_try++ % TRIES_OPEN];
    uint8_t msg[DNS_QUERY_MAX];
    size_t len;

    close_tcp(ask);
    dnsc_try_close(t);
    prepare(ask, t, server, round);
    len = dnsc_try_build(t, &ask->query, msg);
    return dnsc_try_send(t, &ask->asker->ports, &server_of(ask, t)->addr,
                         receive, msg, len);
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
        fail_soon(ask, ret);
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

    while (ask->tried < all && !(ask->unwanted && ask->tried)) {
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
    if (t->port || ask->tcp.source.fd >= 0) {
        ask->asker->counters->timeouts++;
        dnsc_server_silent(server_of(ask, t), t->sent, dnsc_now());
    }
    close_tcp(ask);
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

/*
 * A reply that says no, with its refusal as a result.  Frees the question if
 * nothing is left to try.
 */
static void refused(DnscAsk *ask, DnscTry *t, const DnscLook *look,
                    DnscResult *refusal)
{
    bool edns_may_be_why = look->rcode == DNS_RCODE_FORMERR ||
                           look->rcode == DNS_RCODE_NOTIMP ||
                           look->rcode == DNS_RCODE_BADVERS;

    set_ede(refusal, look);
    remember_result(ask, refusal);
    if (t->edns && edns_may_be_why && !ask->no_edns) {
        ask->no_edns = true;
        send_to(ask, t->server, t->round, t == &ask->over_tcp);
        return;
    }
    if (ask->whole || look->rcode != DNS_RCODE_SERVFAIL) {
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

static DnscResult *refusal_of(const DnscAsk *ask, const DnscLook *look,
                              const uint8_t *msg, size_t len)
{
    return ask->whole ? dnsc_whole_refusal(msg, len) :
           dnsc_result_error(dnsc_rcode_error(look->rcode),
                             dnsc_rcode_text(look->rcode));
}

/* The message is not truncated.  Returns 0, -EBADMSG or -ENOMEM. */
static int read_reply(const DnscAsk *ask, const DnscTry *t,
                      const uint8_t *msg, size_t len, DnscResult **result)
{
    return ask->whole ? dnsc_whole_read(msg, len, result) :
           dnsc_reply_read(msg, len, &t->question, result);
}

/* Can another server know better? */
static bool is_lame(const DnscResult *result)
{
    return result->error == VMMNET_DNS_FAILED ||
           result->error == VMMNET_DNS_REFUSED;
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
        refused(ask, t, &look, refusal_of(ask, &look, msg, len));
        return;
    }
    ret = look.truncated ? -EBADMSG : read_reply(ask, t, msg, len, &result);
    if (ret == -EBADMSG) {
        malformed(ask, t);
        return;
    }
    if (ret) {
        result = dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory");
    } else if (is_lame(result)) {
        /* A referral: another server may recurse */
        remember_result(ask, result);
        ask->no_use |= 1 << t->server;
        next_server(ask);
        return;
    } else {
        /* It was EDNS that the server did not take, or what it asked did */
        server_of(ask, t)->no_edns |= ask->no_edns && !t->edns && !ask->whole;
        result->authenticated = look.authenticated && asker->trust_ad;
        set_ede(result, &look);
    }
    finish(ask, result);
}

/* ICMP: nobody is there, for none of those who have sent from this port */
static void lose(DnscPort *port, int why)
{
    DnscTry *t;

    port->users++;
    port->dead = true;
    while ((t = port->tries)) {
        DnscAsk *ask = t->owner;

        dnsc_try_close(t);
        dnsc_server_silent(server_of(ask, t), t->sent, dnsc_now());
        if (t == ask->current) {
            remember(ask, VMMNET_DNS_UNREACHABLE, strerrordesc_np(why));
            next_server(ask);
        }
    }
    dnsc_port_put(port);
}

static void receive(DnscSource *source, uint32_t events)
{
    DnscPort *port = (DnscPort *)source;
    /* A port without a try is closed, and all are of one asker */
    VmmnetDnsCounters *counters = ((DnscAsk *)port->tries->owner)->
                                  asker->counters;
    uint8_t msg[RECEIVE_MAX];
    DnscTry *t;
    int i;

    for (i = 0; i < DATAGRAMS_AT_ONCE; i++) {
        ssize_t len = recv(port->source.fd, msg, sizeof(msg), MSG_TRUNC);

        if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (len < 0) {
            lose(port, errno);
            return;
        }
        if ((size_t)len > sizeof(msg)) {
            counters->not_reply++;
            continue;
        }
        t = dnsc_try_of(port, msg, len, counters);
        if (t) {
            dnsc_try_close(t);
            reply(t->owner, t, msg, len);
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
    close_tcp(ask);
    remember(ask, VMMNET_DNS_UNREACHABLE, "TCP to the server failed");
    next_server(ask);
}

static DnscAsk *begin(DnscAsker *asker, const DnscQuery *query, bool whole,
                      DnscAskFn *done, void *opaque)
{
    DnscAsk *ask = calloc(1, sizeof(*ask));

    if (!ask || dnsc_loop_reserve(asker->loop)) {
        free(ask);
        return NULL;
    }
    ask->asker = dnsc_asker_ref(asker);
    ask->done = done;
    ask->opaque = opaque;
    ask->query = *query;
    ask->whole = whole;
    ask->timer.fire = due;
    ask->turn.come = tcp_turn;
    ask->tcp.source.fd = -1;
    dnsc_servers_order(&asker->servers, asker->rotate, dnsc_now(),
                       ask->order);
    next_server(ask);
    return ask;
}

DnscAsk *dnsc_ask(DnscAsker *asker, const DnsQuestion *question,
                  DnscAskFn *done, void *opaque)
{
    /* RFC 6840 section 5.7: AD asks for AD */
    const DnscQuery query = {
        .question = *question,
        .flags = DNS_FLAG_RD | (asker->trust_ad ? DNS_FLAG_AD : 0),
    };

    return begin(asker, &query, false, done, opaque);
}

DnscAsk *dnsc_ask_whole(DnscAsker *asker, const DnscQuery *query,
                        DnscAskFn *done, void *opaque)
{
    return begin(asker, query, true, done, opaque);
}

void dnsc_ask_set_wanted(DnscAsk *ask, bool wanted)
{
    ask->unwanted = !wanted;
}
