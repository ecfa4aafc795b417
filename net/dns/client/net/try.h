/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One query on its way to one server: what went out, and whether a message
 * is the reply to it
 */

#ifndef VMMNET_DNS_CLIENT_TRY_H
#define VMMNET_DNS_CLIENT_TRY_H

#include "net/dns/client/core/servers.h"
#include "net/dns/unbound/loop.h"
#include "net/dns/wire.h"

typedef struct DnscTry {
    DnscSource source;          /* the socket, over UDP */
    void *owner;
    uint8_t server;             /* its index */
    uint8_t round;
    bool edns;
    bool random_case;
    DnsQuestion question;       /* in the case that went out */
    uint16_t id;
    int64_t sent;
} DnscTry;

/*
 * A query for a question, with an id, and if random_case is set letters, from
 * the kernel's random numbers.  The owner and the source are the caller's.
 */
void dnsc_try_prepare(DnscTry *t, const DnsQuestion *question,
                      bool random_case);

/* The message, with AD if ad is set (RFC 6840 section 5.7); its length */
size_t dnsc_try_build(const DnscTry *t, bool ad, uint8_t msg[DNS_QUERY_MAX]);

/*
 * Send it from a socket of its own, which t->source.ready gets to hear of.
 * Returns 0, or a negative errno with t->source.fd -1.
 */
int dnsc_try_send(DnscTry *t, DnscLoop *loop, const VmmnetDnsAddress *to,
                  const uint8_t *msg, size_t len);

/* No matter if it is open */
void dnsc_try_close(DnscTry *t, DnscLoop *loop);

/* Is the message the reply to this?  Counts why it is not. */
bool dnsc_try_matches(const DnscTry *t, const uint8_t *msg, size_t len,
                      VmmnetDnsCounters *counters);

#endif
