/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the resolver, in the form of replies
 *
 * Records have their position behind a question for their name, so a reply is a
 * copy with lower TTLs.
 */
#ifndef DNSD_SERVER_SERVE_RESOLVED_H
#define DNSD_SERVER_SERVE_RESOLVED_H

#include "net/dns/answer/answer.h"

typedef enum DnsdSecurity {
    DNSD_INSECURE,
    DNSD_BOGUS,
    DNSD_SECURE,                /* AD, if the client wants it */
} DnsdSecurity;

typedef struct DnsdResolved {
    uint32_t ttl;               /* the least one; 0: do not keep it */
    uint32_t len;               /* octets of records */
    uint16_t count[3];          /* records, indexed by DnsSection */
    uint8_t rcode;              /* DNS_RCODE_..., 4 bits */
    uint8_t security;           /* DnsdSecurity */
    uint8_t common_at;          /* as in DnsAnswerInfo */
    int8_t ede;                 /* DNS_EDE_..., -1: none */
    uint8_t records[];
} DnsdResolved;

/**
 * dnsd_resolved_new: make an answer from a message with all records of DNSSEC
 * @question: that was asked; the message has the same, in any case
 * @dnssec_ok: false: omit records of DNSSEC that were not asked for (RFC 4035
 * section 3.2.1)
 *
 * Returns: memory for free(); NULL without memory, or if the message is
 * malformed.
 */
DnsdResolved *dnsd_resolved_new(const DnsQuestion *question,
                                const uint8_t *msg, size_t len,
                                bool dnssec_ok);

/** dnsd_resolved_failed: SERVFAIL with its reason; NULL without memory */
DnsdResolved *dnsd_resolved_failed(int ede);

/**
 * dnsd_resolved_reply: make the reply to a query for its name
 * @age: seconds since the answer was made
 * @as_failure: omit the records: SERVFAIL
 *
 * Other arguments and the result are as in dns_answer().  If the records do not
 * fit, all are omitted, and TC is set.
 */
size_t dnsd_resolved_reply(const DnsdResolved *resolved, uint32_t age,
                           bool as_failure, const DnsAnswerer *answerer,
                           const DnsQuery *query, uint8_t *out, size_t room,
                           DnsAnswerInfo *info);

#endif /* DNSD_SERVER_SERVE_RESOLVED_H */
