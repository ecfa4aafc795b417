/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies: whether one is ours, and what it says
 *
 * All that is looked at here is hostile.
 */

#ifndef VMMNET_DNS_CLIENT_REPLY_H
#define VMMNET_DNS_CLIENT_REPLY_H

#include "net/dns/client/core/result.h"

#define DNSC_CHAIN_MAX  16      /* CNAME and DNAME on the way to the records */
#define DNSC_TTL_MAX    86400
#define DNSC_NEGATIVE_TTL_MAX 10800     /* RFC 2308 section 5: 1 to 3 hours */

typedef enum DnscMatch {
    DNSC_MATCH,
    DNSC_MATCH_NOT_REPLY,       /* shorter than a header, a query, an opcode */
    DNSC_MATCH_WRONG_ID,
    DNSC_MATCH_WRONG_QUESTION,
} DnscMatch;

/*
 * Is the message the reply to a query with this id and question?  With
 * exact_case the name must come back in the very case it was sent (draft
 * vixie-dnsext-dns0x20).  A reply that reports an error may come without a
 * question: a server that could not read the query cannot repeat it.
 */
DnscMatch dnsc_reply_match(const uint8_t *msg, size_t len, uint16_t id,
                           const DnsQuestion *question, bool exact_case);

/* The parts of a reply that decide what becomes of it */
typedef struct DnscLook {
    unsigned rcode;             /* 12 bits, with those in OPT */
    bool truncated;
    bool authenticated;         /* AD */
    bool edns;
    int ede;                    /* the first of them, or VMMNET_DNS_NO_EDE */
    const char *ede_text;       /* in the message, not terminated */
    size_t ede_text_len;
} DnscLook;

/* Returns 0, or -EBADMSG: the message is malformed. */
int dnsc_reply_look(const uint8_t *msg, size_t len, DnscLook *look);

/*
 * The records of the question's type at the end of the chain of aliases that
 * begins at its name, with names in their data uncompressed; or NO_NAME,
 * NO_DATA, and CHAIN for a loop.  Only for RCODE 0 and 3, and a message that
 * is not truncated.  A referral, and an answer of a server that does not
 * recurse, is FAILED.
 * Returns 0 with a result that the caller owns, -EBADMSG or -ENOMEM.
 */
int dnsc_reply_read(const uint8_t *msg, size_t len,
                    const DnsQuestion *question, DnscResult **result);

#endif
