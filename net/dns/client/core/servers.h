/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the servers do: who is asked first, how long to wait for whom
 *
 * A server that does not answer is left alone for a while, which doubles each
 * time; then one question goes to it again, and no more until that is
 * answered, or has been out for a while.  Times are microseconds of one clock.
 */

#ifndef VMMNET_DNS_CLIENT_SERVERS_H
#define VMMNET_DNS_CLIENT_SERVERS_H

#include "net/dns/client/config/conf.h"

typedef struct DnscServer {
    VmmnetDnsAddress addr;
    int64_t srtt;               /* as TCP's, RFC 6298; 0: not known */
    int64_t rttvar;
    int64_t answered;           /* when it did last */
    unsigned failures;          /* in a row */
    int64_t noticed;            /* when the last of them was */
    int64_t leave_until;        /* no question before */
    int64_t probed_until;       /* one is out nevertheless, by then at most */
    bool no_edns;               /* RFC 6891 section 6.2.2 */
} DnscServer;

typedef struct DnscServers {
    size_t count;
    size_t next;                /* to begin with, if they are rotated */
    DnscServer server[DNSC_SERVERS_MAX];
} DnscServers;

/* The history of those that stay is kept. */
void dnsc_servers_set(DnscServers *servers, const VmmnetDnsAddress *addrs,
                      size_t count);

/*
 * Whom to ask, one after the other: indices of all servers into order.
 * A server whose time has come is marked as probed.
 */
void dnsc_servers_order(DnscServers *servers, bool rotate, int64_t now,
                        uint8_t order[DNSC_SERVERS_MAX]);

/*
 * How long to wait for a reply before somebody else is asked: the longer the
 * more often it was tried for this question, but no longer than max.
 */
int64_t dnsc_server_wait(const DnscServer *server, unsigned round,
                         int64_t max);

/* It answered what was sent at that time, whatever it said. */
void dnsc_server_answered(DnscServer *server, int64_t sent, int64_t now);

/*
 * It did not answer what was sent at that time.  If it has answered anything
 * since, then it is the question that it does not answer.  Of questions that
 * are out at the same time the first one that is lost counts: the others say
 * no more than that one.
 */
void dnsc_server_silent(DnscServer *server, int64_t sent, int64_t now);

#endif
