/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One question, which is sent to the servers until one answers
 *
 * Theory of operation
 *
 * The servers are tried one after the other, in `attempts` rounds.  Each try
 * has its own id and its own socket, and so its own source port (RFC 5452).
 * The socket is connected, so the kernel drops packets from other addresses and
 * ports, and reports unreachable ones.  If a try is not answered in time, it
 * stays open while the next one is under way, so the reply of a slow server is
 * accepted.
 *
 *   wrong id, question, no reply   counted and dropped; the try continues, so
 *                                  that a forger cannot end it
 *   TC                             the same server over TCP, RFC 7766
 *   FORMERR, NOTIMP, BADVERS       the same server without EDNS, once
 *   other RCODEs, malformed        the next server at once; the last such
 *                                  reply is the outcome if no server answers
 *   ICMP error                     the next server at once
 *
 * A server that refused, or sent a malformed reply, is not asked this question
 * again.  After SERVFAIL it is asked again in the next round, unless the caller
 * wants whole replies: then it gets the SERVFAIL with its reason.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/dns/client/core/rcode.h"
#include "net/dns/client/core/reply.h"
#include "net/dns/client/net/ask.h"
#include "net/dns/client/net/attempts.h"

#define RECEIVE_MAX     4096    /* more than the advertised size */
#define DATAGRAMS_AT_ONCE 32

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
 * A reply is a refusal; its result is @result.  Frees the question if no try is
 * left.
 */
static void refused(DnscAsk *ask, DnscTry *t, const DnscLook *look,
                    DnscResult *refusal)
{
    bool edns_may_be_why = look->rcode == DNS_RCODE_FORMERR ||
                           look->rcode == DNS_RCODE_NOTIMP ||
                           look->rcode == DNS_RCODE_BADVERS;

    set_ede(refusal, look);
    dnsc_attempts_keep(ask, refusal);
    if (t->edns && edns_may_be_why && !ask->no_edns) {
        ask->no_edns = true;
        dnsc_attempts_send(ask, t->server, t->round, t == &ask->over_tcp);
        return;
    }
    if (ask->whole || look->rcode != DNS_RCODE_SERVFAIL) {
        ask->no_use |= 1 << t->server;
    }
    dnsc_attempts_next(ask);
}

static void malformed(DnscAsk *ask, DnscTry *t)
{
    ask->asker->counters->malformed++;
    dnsc_attempts_failed(ask, VMMNET_DNS_FAILED, "the reply is malformed");
    ask->no_use |= 1 << t->server;
    dnsc_attempts_next(ask);
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

/* May another server know a better answer? */
static bool is_lame(const DnscResult *result)
{
    return result->error == VMMNET_DNS_FAILED ||
           result->error == VMMNET_DNS_REFUSED;
}

/* Handle a reply that matches a try.  May free the question. */
static void reply(DnscAsk *ask, DnscTry *t, const uint8_t *msg, size_t len)
{
    DnscAsker *asker = ask->asker;
    DnscResult *result = NULL;
    DnscLook look;
    int ret;

    dnsc_server_answered(dnsc_ask_server(ask, t), t->sent, dnsc_now());
    asker->counters->replies++;
    if (dnsc_reply_look(msg, len, &look)) {
        malformed(ask, t);
        return;
    }
    dnsc_ask_server(ask, t)->has_edns |= look.edns;
    if (look.truncated && t != &ask->over_tcp) {
        dnsc_attempts_send(ask, t->server, t->round, true);
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
        /* A referral: another server may be recursive. */
        dnsc_attempts_keep(ask, result);
        ask->no_use |= 1 << t->server;
        dnsc_attempts_next(ask);
        return;
    } else {
        /* It did not accept EDNS, what EDNS asked for, or did not answer. */
        dnsc_ask_server(ask, t)->no_edns |= !t->edns && !ask->whole;
        result->authenticated = look.authenticated && asker->trust_ad;
        set_ede(result, &look);
    }
    dnsc_attempts_finish(ask, result);
}

/* An ICMP error: it applies to all tries from this port. */
static void lose(DnscPort *port, int why)
{
    /* The port is the asker's, which a callback may replace. */
    DnscAsker *asker = dnsc_asker_ref(((DnscAsk *)port->tries->owner)->asker);
    DnscTry *t;

    port->users++;
    port->dead = true;
    while ((t = port->tries)) {
        DnscAsk *ask = t->owner;

        dnsc_try_close(t);
        dnsc_server_silent(dnsc_ask_server(ask, t), t->sent, dnsc_now());
        if (t == ask->current) {
            dnsc_attempts_failed(ask, VMMNET_DNS_UNREACHABLE,
                                 strerrordesc_np(why));
            dnsc_attempts_next(ask);
        }
    }
    dnsc_port_put(port);
    dnsc_asker_unref(asker);
}

static void receive(DnscSource *source, uint32_t events)
{
    DnscPort *port = (DnscPort *)source;
    /* A port without tries is closed, and all its tries belong to one asker. */
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
    dnsc_attempts_close_tcp(ask);
    dnsc_attempts_failed(ask, VMMNET_DNS_UNREACHABLE,
                         "TCP to the server failed");
    dnsc_attempts_next(ask);
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
    ask->receive = receive;
    ask->tcp_done = tcp_done;
    dnsc_attempts_begin(ask);
    return ask;
}

DnscAsk *dnsc_ask(DnscAsker *asker, const DnsQuestion *question,
                  DnscAskFn *done, void *opaque)
{
    /* RFC 6840 section 5.7: AD in a query asks for AD. */
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

void dnsc_ask_cancel(DnscAsk *ask)
{
    dnsc_result_unref(ask->last);
    dnsc_attempts_free(ask);
}

void dnsc_ask_set_wanted(DnscAsk *ask, bool wanted)
{
    ask->unwanted = !wanted;
}
