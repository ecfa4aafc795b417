/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value of a validated message to the client that asked
 *
 * A validator's message has everything in it: signatures, proofs, and what is
 * bogus.  Here it becomes the reply to a query, as its DO and the mode want it.
 */
#ifndef NET_DNS_UPSTREAM_VERDICT_H
#define NET_DNS_UPSTREAM_VERDICT_H

#include "net/dns/client/core/whole.h"

typedef enum DnsDnssec {
    DNS_DNSSEC_OFF,             /* nothing is validated, nothing has AD */
    DNS_DNSSEC_PERMISSIVE,      /* what is bogus is handed on, without AD */
    DNS_DNSSEC_STRICT,          /* what is bogus is SERVFAIL */
} DnsDnssec;

/*
 * Seconds for which bogus data may be remembered (RFC 4035 section 4.7: their
 * TTL is nobody's, and a small one is to take its place).
 */
#define DNS_BOGUS_TTL 5

/**
 * dns_verdict: the reply to a query out of what dnsc_validate_whole() found
 * @judged: is taken
 * @mode: not DNS_DNSSEC_OFF
 * @buf: is written to
 *
 * The reply (result->whole) has the query's question and RD, RA, and AD if all
 * of it is secure (RFC 4035 section 3.2.3).  Without DO it has no RRSIG, NSEC
 * and NSEC3 but those that were asked for (section 3.2.1).  It has no
 * additional section but OPT, with the reason (RFC 8914) if it is bogus.
 *
 * With DNS_DNSSEC_STRICT what is bogus becomes the error VMMNET_DNS_BOGUS, and
 * the reply is SERVFAIL with the reason; with DNS_DNSSEC_PERMISSIVE the error
 * is what the records say, with TTLs of DNS_BOGUS_TTL at most.
 *
 * Returns: never NULL; security, ede and reason are those of @judged.  Without
 * a message nobody has answered, and error says why.
 */
DnscResult *dns_verdict(const DnscQuery *query, DnscResult *judged,
                        DnsDnssec mode, uint8_t buf[DNS_MSG_MAX]);

#endif /* NET_DNS_UPSTREAM_VERDICT_H */
