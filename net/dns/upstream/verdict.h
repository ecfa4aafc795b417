/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reply that the client gets for a validated message
 *
 * The message of a validator has signatures, proofs, and perhaps bogus data.
 * This code makes the reply to a query from it, by DO of the query and by the
 * mode.
 */
#ifndef NET_DNS_UPSTREAM_VERDICT_H
#define NET_DNS_UPSTREAM_VERDICT_H

#include "net/dns/client/core/whole.h"

typedef enum DnsDnssec {
    DNS_DNSSEC_OFF,             /* no validation, and no AD */
    DNS_DNSSEC_PERMISSIVE,      /* bogus data passes, without AD */
    DNS_DNSSEC_STRICT,          /* bogus data becomes SERVFAIL */
} DnsDnssec;

/*
 * Seconds for which bogus data may be cached.  RFC 4035 section 4.7: do not
 * trust its TTL, and use a small one instead.
 */
#define DNS_BOGUS_TTL 5

/**
 * dns_verdict: make the reply to a query from the result of
 * dnsc_validate_whole()
 * @judged: the result; the function takes it over
 * @mode: not DNS_DNSSEC_OFF
 * @buf: memory for the reply
 *
 * The reply (result->whole) has the question of the query, RD and RA; and AD if
 * all of it is secure (RFC 4035 section 3.2.3).  Without DO it has no RRSIG,
 * NSEC and NSEC3, unless the query asked for them (section 3.2.1).  Its
 * additional section has only OPT, with the reason (RFC 8914) if it is bogus or
 * indeterminate.
 *
 * With DNS_DNSSEC_STRICT bogus data becomes the error VMMNET_DNS_BOGUS, and the
 * reply is SERVFAIL with the reason.  With DNS_DNSSEC_PERMISSIVE the error is
 * what the records say, and TTLs are at most DNS_BOGUS_TTL.
 *
 * Returns: never NULL.  security, ede and reason are those of @judged.  If the
 * result has no message, no server has answered, and error has the reason.
 */
DnscResult *dns_verdict(const DnscQuery *query, DnscResult *judged,
                        DnsDnssec mode, uint8_t buf[DNS_MSG_MAX]);

#endif /* NET_DNS_UPSTREAM_VERDICT_H */
