/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver, ready to be put into replies
 *
 * Records are held as they stand behind the question of their name, so that a
 * reply is a copy whose TTLs are counted down.
 */
#ifndef NET_DNS_SERVER_SERVE_RESOLVED_H
#define NET_DNS_SERVER_SERVE_RESOLVED_H

#include "net/dns/answer/answer.h"

typedef enum DnsdSecurity {
    DNSD_INSECURE,
    DNSD_BOGUS,
    DNSD_SECURE,                /* AD, for who wants to know */
} DnsdSecurity;

typedef struct DnsdResolved {
    uint32_t ttl;               /* the least of all; 0: not to be kept */
    uint32_t len;               /* octets of records */
    uint16_t count[3];          /* records, by DnsSection */
    uint8_t rcode;              /* DNS_RCODE_..., 4 bits */
    uint8_t security;           /* DnsdSecurity */
    uint8_t common_at;          /* as in DnsAnswerInfo */
    int8_t ede;                 /* DNS_EDE_..., -1: none */
    uint8_t records[];
} DnsdResolved;

/**
 * dnsd_resolved_new: from a message with all that DNSSEC has
 * @question: the one that was asked; also the message's, in any case
 * @dnssec_ok: false: without records of DNSSEC, unless they were asked for
 *             (RFC 4035 section 3.2.1)
 *
 * Returns: malloc()ed; NULL without memory, or if the message is malformed.
 */
DnsdResolved *dnsd_resolved_new(const DnsQuestion *question,
                                const uint8_t *msg, size_t len,
                                bool dnssec_ok);

/** dnsd_resolved_failed: SERVFAIL, and why; NULL without memory. */
DnsdResolved *dnsd_resolved_failed(int ede);

/**
 * dnsd_resolved_reply: put it into the reply to a query for its name
 * @age: seconds since it was made
 * @as_failure: without its records: SERVFAIL
 *
 * Arguments and return value as those of dns_answer(); what has no room is
 * left out as a whole, with TC.
 */
size_t dnsd_resolved_reply(const DnsdResolved *resolved, uint32_t age,
                           bool as_failure, const DnsAnswerer *answerer,
                           const DnsQuery *query, uint8_t *out, size_t room,
                           DnsAnswerInfo *info);

#endif /* NET_DNS_SERVER_SERVE_RESOLVED_H */
