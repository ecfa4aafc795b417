/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One query to one server: what was sent, and whether a message replies to it
 */

#ifndef VMMNET_DNS_CLIENT_TRY_H
#define VMMNET_DNS_CLIENT_TRY_H

#include "net/dns/client/core/servers.h"
#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/port.h"

struct DnscTry {
    DnscPort *port;             /* the port that it is sent from, or NULL */
    DnscTry *next, **at;        /* in the list of the port */
    void *owner;
    uint8_t server;             /* index of the server */
    uint8_t round;
    bool edns;
    bool random_case;
    DnsQuestion question;       /* in the case that was sent */
    uint16_t id;
    int64_t sent;
};

/*
 * Prepare a query with a random id, and with random_case in random case.  The
 * caller sets the owner.  Returns 0, or -ENOSYS if the kernel gives no random
 * numbers: a query whose id is known must not be sent.
 */
int dnsc_try_prepare(DnscTry *t, const DnsQuestion *question,
                     bool random_case);

/* Build the message, with flags and DO of a query.  Returns its length. */
size_t dnsc_try_build(const DnscTry *t, const DnscQuery *query,
                      uint8_t msg[DNS_QUERY_MAX]);

/*
 * Send it from a port; ready is called for replies.  Returns 0; or a negative
 * errno, and t->port is NULL.
 */
int dnsc_try_send(DnscTry *t, DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, const uint8_t *msg, size_t len);

/* The try need not be open. */
void dnsc_try_close(DnscTry *t);

/* Is the message the reply to this query?  If not, the reason is counted. */
bool dnsc_try_matches(const DnscTry *t, const uint8_t *msg, size_t len,
                      VmmnetDnsCounters *counters);

/* The try of a port that the message replies to, or NULL, which is counted */
DnscTry *dnsc_try_of(const DnscPort *port, const uint8_t *msg, size_t len,
                     VmmnetDnsCounters *counters);

#endif
