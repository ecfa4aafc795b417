/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tries of a question: which server is next, and the outcome so far */

#ifndef VMMNET_DNS_CLIENT_ATTEMPTS_H
#define VMMNET_DNS_CLIENT_ATTEMPTS_H

#include "net/dns/client/net/asker.h"
#include "net/dns/client/net/tcp.h"
#include "net/dns/client/net/try.h"

#define DNSC_TRIES_OPEN 4       /* open at a time; the oldest is closed */

struct DnscAsk {
    DnscAsker *asker;
    DnscAskFn *done;
    void *opaque;
    DnscReadyFn *receive;       /* handles what comes over UDP, */
    DnscTcpFn *tcp_done;        /* and over TCP */
    DnscQuery query;
    bool whole;                 /* the whole reply is wanted */
    bool unwanted;              /* all callers have cancelled */
    uint8_t order[DNSC_SERVERS_MAX];
    unsigned tried;             /* number of tries */
    uint8_t no_use;             /* a bit for each server not to be asked */
    bool no_edns;
    DnscTry tries[DNSC_TRIES_OPEN];
    unsigned next_try;          /* the oldest one */
    DnscTry *current;
    DnscTcp tcp;
    DnscTurn turn;              /* waiting for a connection */
    DnscTry over_tcp;           /* the query of the connection */
    DnscTimer timer;
    DnscResult *last;           /* the outcome if no server answers */
};
_Static_assert(DNSC_SERVERS_MAX <= 8, "a bit per server");

/* The server of a try */
static inline DnscServer *dnsc_ask_server(const DnscAsk *ask, const DnscTry *t)
{
    return &ask->asker->servers.server[t->server];
}

/* Begin with the first try.  Fields without default are set. */
void dnsc_attempts_begin(DnscAsk *ask);

/* Try the next server.  If none is left, finish with what is known. */
void dnsc_attempts_next(DnscAsk *ask);

/* Send a try to this server; @tried: rounds that it has had before. */
void dnsc_attempts_send(DnscAsk *ask, uint8_t server, unsigned round,
                        bool tcp);

/* Close the TCP connection, or stop to wait for one. */
void dnsc_attempts_close_tcp(DnscAsk *ask);

/*
 * Keep a result as the outcome if no server answers; takes it over.  A reply is
 * preferred to the lack of one.
 */
void dnsc_attempts_keep(DnscAsk *ask, DnscResult *result);
void dnsc_attempts_failed(DnscAsk *ask, VmmnetDnsError error,
                          const char *reason);

/* Finish with this outcome: free the question, then call done. */
void dnsc_attempts_finish(DnscAsk *ask, DnscResult *result);

/* Free the tries without calling done; ask->last is left to the caller. */
void dnsc_attempts_free(DnscAsk *ask);

#endif
