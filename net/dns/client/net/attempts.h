/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A question's way out: of whom it is asked, one server after the other, and
 * what is known of the outcome meanwhile
 */

#ifndef VMMNET_DNS_CLIENT_ATTEMPTS_H
#define VMMNET_DNS_CLIENT_ATTEMPTS_H

#include "net/dns/client/net/asker.h"
#include "net/dns/client/net/tcp.h"
#include "net/dns/client/net/try.h"

#define DNSC_TRIES_OPEN 4       /* at a time; the oldest gives way */

struct DnscAsk {
    DnscAsker *asker;
    DnscAskFn *done;
    void *opaque;
    DnscReadyFn *receive;       /* what comes over UDP, */
    DnscTcpFn *tcp_done;        /* and over TCP */
    DnscQuery query;
    bool whole;                 /* the reply is wanted whole */
    bool unwanted;              /* by anybody */
    uint8_t order[DNSC_SERVERS_MAX];
    unsigned tried;             /* how many times */
    uint8_t no_use;             /* bit per server */
    bool no_edns;
    DnscTry tries[DNSC_TRIES_OPEN];
    unsigned next_try;          /* the oldest */
    DnscTry *current;
    DnscTcp tcp;
    DnscTurn turn;              /* to have a connection */
    DnscTry over_tcp;           /* what went out on it */
    DnscTimer timer;
    DnscResult *last;           /* the outcome, if nobody knows better */
};
_Static_assert(DNSC_SERVERS_MAX <= 8, "a bit per server");

/* The server that a try is out to */
static inline DnscServer *dnsc_ask_server(const DnscAsk *ask, const DnscTry *t)
{
    return &ask->asker->servers.server[t->server];
}

/* The first try; what has no default is set. */
void dnsc_attempts_begin(DnscAsk *ask);

/* The next server, if one is left; else it is finished with what it knows. */
void dnsc_attempts_next(DnscAsk *ask);

/* A try of this server, after those of that many rounds */
void dnsc_attempts_send(DnscAsk *ask, uint8_t server, unsigned round,
                        bool tcp);

/* No more of a connection, or the wait for one */
void dnsc_attempts_close_tcp(DnscAsk *ask);

/*
 * The outcome, if nobody knows better; the result is the callee's.  A reply
 * is worth more than that there was none.
 */
void dnsc_attempts_keep(DnscAsk *ask, DnscResult *result);
void dnsc_attempts_failed(DnscAsk *ask, VmmnetDnsError error,
                          const char *reason);

/* This is the outcome: frees the question, then calls back. */
void dnsc_attempts_finish(DnscAsk *ask, DnscResult *result);

/* Without calling back; ask->last is the caller's. */
void dnsc_attempts_free(DnscAsk *ask);

#endif
