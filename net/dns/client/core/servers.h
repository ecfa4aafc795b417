/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the servers: their order, and how long to wait for each
 *
 * A server that does not answer is not asked for a while, which doubles each
 * time.  Then one question goes to it again, and no other until that one is
 * answered or its time has passed.  Times are microseconds of one clock.
 */

#ifndef VMMNET_DNS_CLIENT_SERVERS_H
#define VMMNET_DNS_CLIENT_SERVERS_H

#include "net/dns/client/config/conf.h"

typedef struct DnscServer {
    VmmnetDnsAddress addr;
    int64_t srtt;               /* as in TCP, RFC 6298; 0: unknown */
    int64_t rttvar;
    int64_t answered;           /* time of its last answer */
    unsigned failures;          /* consecutive */
    int64_t noticed;            /* time of the last failure */
    int64_t leave_until;        /* do not ask it before */
    int64_t probed_until;       /* a probe is under way, at most until then */
    bool no_edns;               /* RFC 6891 section 6.2.2 */
    bool has_edns;              /* an answer had it */
} DnscServer;

typedef struct DnscServers {
    size_t count;
    size_t next;                /* the first server, if they are rotated */
    DnscServer server[DNSC_SERVERS_MAX];
} DnscServers;

/* Set the servers.  Those that stay keep their state. */
void dnsc_servers_set(DnscServers *servers, const VmmnetDnsAddress *addrs,
                      size_t count);

/*
 * The order in which servers are asked: their indices, all of them, go into
 * order.  A server whose time has come is marked as probed.
 */
void dnsc_servers_order(DnscServers *servers, bool rotate, int64_t now,
                        uint8_t order[DNSC_SERVERS_MAX]);

/*
 * How long to wait for a reply before the next server is asked.  This grows
 * with the tries for this question, up to max.
 */
int64_t dnsc_server_wait(const DnscServer *server, unsigned round,
                         int64_t max);

/* The server answered what was sent at that time, with any reply. */
void dnsc_server_answered(DnscServer *server, int64_t sent, int64_t now);

/*
 * The server did not answer what was sent at that time.  If it has answered
 * anything since, it is this question that it does not answer.  Among questions
 * under way at the same time, only the first loss counts, as the others have
 * the same cause.
 */
void dnsc_server_silent(DnscServer *server, int64_t sent, int64_t now);

#endif
