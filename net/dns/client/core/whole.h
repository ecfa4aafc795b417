/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole replies, for who reads them himself: a proxy hands on sections, flags
 * and signatures, not the records of one type
 */

#ifndef VMMNET_DNS_CLIENT_WHOLE_H
#define VMMNET_DNS_CLIENT_WHOLE_H

#include "net/dns/client/core/result.h"

/* A question with all that a reply depends on */
typedef struct DnscQuery {
    DnsQuestion question;
    uint16_t flags;             /* DNS_FLAG_RD, _CD, _AD */
    bool dnssec_ok;             /* DO */
} DnscQuery;

/*
 * The reply to a query, whose RCODE is 0 or 3 and which is not truncated:
 * VMMNET_DNS_OK, NO_NAME or NO_DATA with result->whole, and the time that it
 * can be remembered, RFC 2308.  A lame server's is REFUSED without: it does not
 * recurse (RA clear), and has neither a record of the type nor a SOA that says
 * there is none.  It may have a referral or the name's alias.
 * Returns 0 with a result that the caller owns, -EBADMSG or -ENOMEM.
 */
int dnsc_whole_read(const uint8_t *msg, size_t len, DnscResult **result);

/*
 * A refusal, with the reply where that has a question.  Never NULL: out of
 * memory gives a result that says so.
 */
DnscResult *dnsc_whole_refusal(const uint8_t *msg, size_t len);

/*
 * Clear AD in the reply of a result that nobody else has yet: it is the word of
 * a server, and no validation.
 */
void dnsc_whole_distrust(DnscResult *result);

/*
 * Take seconds off the TTL of each record of a message, which has been read
 * before.
 */
void dnsc_whole_age(uint8_t *msg, size_t len, uint32_t seconds);

#endif
