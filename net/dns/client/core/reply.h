/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies: do they match a query, and what do they say?
 *
 * All input is hostile.
 */

#ifndef VMMNET_DNS_CLIENT_REPLY_H
#define VMMNET_DNS_CLIENT_REPLY_H

#include "net/dns/client/core/result.h"

#define DNSC_CHAIN_MAX  16      /* limit of CNAME and DNAME in a chain */
#define DNSC_TTL_MAX    86400
#define DNSC_NEGATIVE_TTL_MAX 10800     /* RFC 2308 section 5: 1 to 3 hours */

typedef enum DnscMatch {
    DNSC_MATCH,
    DNSC_MATCH_NOT_REPLY,       /* too short, a query, or another opcode */
    DNSC_MATCH_WRONG_ID,
    DNSC_MATCH_WRONG_QUESTION,
} DnscMatch;

/*
 * Is the message the reply to a query with this id and question?  With
 * exact_case the name must have the same case as in the query
 * (draft-vixie-dnsext-dns0x20).  An error reply may omit the question, as a
 * server that could not parse the query cannot repeat it.
 */
DnscMatch dnsc_reply_match(const uint8_t *msg, size_t len, uint16_t id,
                           const DnsQuestion *question, bool exact_case);

/* The parts of a reply that decide how it is treated */
typedef struct DnscLook {
    unsigned rcode;             /* 12 bits, including those of OPT */
    bool truncated;
    bool authenticated;         /* the AD bit */
    bool edns;
    int ede;                    /* the first one, or VMMNET_DNS_NO_EDE */
    const char *ede_text;       /* in the message, not terminated */
    size_t ede_text_len;
} DnscLook;

/* Returns 0, or -EBADMSG: the message is malformed. */
int dnsc_reply_look(const uint8_t *msg, size_t len, DnscLook *look);

/*
 * Read the records of the question's type at the end of the chain of aliases
 * that begins at its name, with uncompressed names in RDATA.  Without records
 * the result is NO_NAME or NO_DATA; CHAIN for a loop of aliases; FAILED for a
 * referral, or an answer of a server without recursion.  Only for RCODE 0 and
 * 3, and messages that are not truncated.  Returns 0 and a result, which the
 * caller owns; -EBADMSG or -ENOMEM.
 */
int dnsc_reply_read(const uint8_t *msg, size_t len,
                    const DnsQuestion *question, DnscResult **result);

#endif
