/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NOTIFY, RFC 1996: for a primary and for a secondary */
#ifndef DNSD_UPDATE_XFR_NOTIFY_H
#define DNSD_UPDATE_XFR_NOTIFY_H

#include "net/dns/wire/wire.h"

/* RFC 1996 section 3.6: the first retransmission; the interval then doubles. */
#define DNS_NOTIFY_FIRST_S      5
#define DNS_NOTIFY_TRIES        5

/* A notification of one secondary about one serial */
typedef struct DnsNotify {
    uint16_t id;
    unsigned tries;
    uint64_t next;              /* when to send, seconds */
    bool is_done;               /* answered, or given up */
} DnsNotify;

void dns_notify_begin(DnsNotify *notify, uint16_t id, uint64_t now);

/**
 * dns_notify_due: must a message be sent at this time?  Counts it and sets the
 * time of the next.  Returns false, and sets is_done, after the last try.
 */
bool dns_notify_due(DnsNotify *notify, uint64_t now);

/** dns_notify_answer: does the message answer it?  Then is_done is set. */
bool dns_notify_answer(DnsNotify *notify, const DnsName *zone,
                       const uint8_t *msg, size_t len);

/**
 * dns_notify_build: make the request, with the SOA as a hint unless it is NULL
 *
 * Returns: octets, or -EMSGSIZE.
 */
int dns_notify_build(uint8_t *msg, size_t room, uint16_t id,
                     const DnsName *zone, uint16_t rrclass,
                     const DnsSoa *soa, uint32_t ttl);

/* A NOTIFY request that was received */
typedef struct DnsNotified {
    DnsQuestion zone;
    bool has_serial;
    uint32_t serial;            /* not authenticated: only a hint */
} DnsNotified;

/** dns_notify_parse: parse a request; 0 or -EBADMSG (answer FORMERR) */
int dns_notify_parse(const uint8_t *msg, size_t len, DnsNotified *notified);

#endif /* DNSD_UPDATE_XFR_NOTIFY_H */
