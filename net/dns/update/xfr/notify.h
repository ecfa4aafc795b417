/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NOTIFY, RFC 1996: as a primary and as a secondary */
#ifndef NET_DNS_UPDATE_XFR_NOTIFY_H
#define NET_DNS_UPDATE_XFR_NOTIFY_H

#include "net/dns/wire/wire.h"

/* RFC 1996 section 3.6: retransmission; the interval doubles from here */
#define DNS_NOTIFY_FIRST_S      5
#define DNS_NOTIFY_TRIES        5

/* One secondary that is told of one serial */
typedef struct DnsNotify {
    uint16_t id;
    unsigned tries;
    uint64_t next;              /* when to send, seconds */
    bool is_done;               /* answered, or given up */
} DnsNotify;

void dns_notify_begin(DnsNotify *notify, uint16_t id, uint64_t now);

/**
 * dns_notify_due: is a message to be sent now?  Counts it and sets the next
 * time; false, and is_done, when all tries are spent.
 */
bool dns_notify_due(DnsNotify *notify, uint64_t now);

/** dns_notify_answer: does a message answer it?  Then it is done. */
bool dns_notify_answer(DnsNotify *notify, const DnsName *zone,
                       const uint8_t *msg, size_t len);

/**
 * dns_notify_build: the request, with the SOA as a hint if not NULL
 *
 * Returns: octets, or -EMSGSIZE.
 */
int dns_notify_build(uint8_t *msg, size_t room, uint16_t id,
                     const DnsName *zone, uint16_t rrclass,
                     const DnsSoa *soa, uint32_t ttl);

/* A request that came */
typedef struct DnsNotified {
    DnsQuestion zone;
    bool has_serial;
    uint32_t serial;            /* unsigned gossip: a hint at most */
} DnsNotified;

/** dns_notify_parse: a NOTIFY request; 0 or -EBADMSG (answer FORMERR). */
int dns_notify_parse(const uint8_t *msg, size_t len, DnsNotified *notified);

/** dns_notify_reply: octets, or 0 if the request has no header. */
size_t dns_notify_reply(const uint8_t *msg, size_t len, uint16_t rcode,
                        uint8_t *out, size_t room);

#endif /* NET_DNS_UPDATE_XFR_NOTIFY_H */
