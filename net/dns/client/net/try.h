/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One query on its way to one server: what went out, and whether a message
 * is the reply to it
 */

#ifndef VMMNET_DNS_CLIENT_TRY_H
#define VMMNET_DNS_CLIENT_TRY_H

#include "net/dns/client/core/servers.h"
#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/port.h"

struct DnscTry {
    DnscPort *port;             /* that it is out on over UDP, or NULL */
    DnscTry *next, **at;        /* of the port's */
    void *owner;
    uint8_t server;             /* its index */
    uint8_t round;
    bool edns;
    bool random_case;
    DnsQuestion question;       /* in the case that went out */
    uint16_t id;
    int64_t sent;
};

/*
 * A query for a question, with an id, and if random_case is set letters, from
 * the kernel's random numbers.  The owner is the caller's.
 */
void dnsc_try_prepare(DnscTry *t, const DnsQuestion *question,
                      bool random_case);

/* The message, with the flags and DO of a query; its length */
size_t dnsc_try_build(const DnscTry *t, const DnscQuery *query,
                      uint8_t msg[DNS_QUERY_MAX]);

/*
 * Send it from a port, whose replies ready gets to hear of.
 * Returns 0, or a negative errno with t->port NULL.
 */
int dnsc_try_send(DnscTry *t, DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, const uint8_t *msg, size_t len);

/* No matter if it is open */
void dnsc_try_close(DnscTry *t);

/* Is the message the reply to this?  Counts why it is not. */
bool dnsc_try_matches(const DnscTry *t, const uint8_t *msg, size_t len,
                      VmmnetDnsCounters *counters);

/* The one of a port's that it is the reply to, or NULL: counted why */
DnscTry *dnsc_try_of(const DnscPort *port, const uint8_t *msg, size_t len,
                     VmmnetDnsCounters *counters);

#endif
