/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole replies, for callers that parse them: a proxy passes on sections, flags
 * and signatures, not the records of one type
 */

#ifndef VMMNET_DNS_CLIENT_WHOLE_H
#define VMMNET_DNS_CLIENT_WHOLE_H

#include "net/dns/client/core/result.h"

/* A question, and all flags that its reply depends on */
typedef struct DnscQuery {
    DnsQuestion question;
    uint16_t flags;             /* DNS_FLAG_RD, _CD, _AD */
    bool dnssec_ok;             /* DO */
} DnscQuery;

/*
 * Read the reply to a query; its RCODE is 0 or 3, and it is not truncated.  The
 * error is VMMNET_DNS_OK, NO_NAME or NO_DATA, with result->whole and its time
 * in the cache, RFC 2308.  The reply of a lame server is REFUSED, without
 * result->whole: RA is clear, and it has neither a record of the type nor a SOA
 * that denies it.  It may have a referral or an alias.  Returns 0 and a result,
 * which the caller owns; -EBADMSG or -ENOMEM.
 */
int dnsc_whole_read(const uint8_t *msg, size_t len, DnscResult **result);

/*
 * The result for a refusal, with the reply if it has a question.  Never NULL:
 * without memory the result reports that.
 */
DnscResult *dnsc_whole_refusal(const uint8_t *msg, size_t len);

/*
 * Clear AD in the reply of a result that is not shared yet: the server claims
 * to have validated it, and this is not trusted.
 */
void dnsc_whole_distrust(DnscResult *result);

/* Lower all TTLs of a message by seconds.  The message was parsed before. */
void dnsc_whole_age(uint8_t *msg, size_t len, uint32_t seconds);

#endif
