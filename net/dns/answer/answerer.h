/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who answers, and what is known of the answer */
#ifndef NET_DNS_ANSWER_ANSWERER_H
#define NET_DNS_ANSWER_ANSWERER_H

#include "net/dns/answer/query.h"
#include "net/dns/answer/table.h"

/* Flags of an answerer */
enum {
    /*
     * TCP or another stream: the reply may fill the whole buffer, whatever the
     * client's EDNS says, and ANY returns all records (RFC 8482 section 4.4).
     */
    DNS_ANSWER_STREAM = 1,
    /*
     * Omit the addresses of names in MX and SRV answers.  Addresses of NS names
     * are always added, for priming (RFC 8109) and as glue (RFC 9471).
     */
    DNS_ANSWER_MINIMAL = 2,
};

typedef struct DnsAnswerer {
    const DnsZoneTable *zones;
    uint32_t flags;             /* DNS_ANSWER_... */
    uint16_t udp_size;          /* the limit of a reply without _STREAM, and */
                                /* the size in OPT; at least DNS_UDP_MIN */
} DnsAnswerer;

typedef enum DnsAnswerKind {
    DNS_ANSWER_NONE,            /* send no reply */
    DNS_ANSWER_RECORDS,         /* the records asked for, or an alias out */
                                /* of the zone */
    DNS_ANSWER_NODATA,          /* the name exists, the type does not */
    DNS_ANSWER_NXDOMAIN,
    DNS_ANSWER_REFERRAL,
    DNS_ANSWER_ERROR,           /* see the rcode */
    DNS_ANSWER_EMPTY,           /* NOERROR without a question, for cookies */
    /* Left to the caller: there is no reply, and the length is 0. */
    DNS_ANSWER_TRANSFER,        /* AXFR or IXFR; @zone may be NULL */
    DNS_ANSWER_NOTIFY,          /* RFC 1996 */
    DNS_ANSWER_UPDATE,          /* RFC 2136 */
} DnsAnswerKind;

/* The kind of a reply, for metrics, logging and rate limits */
typedef struct DnsAnswerInfo {
    DnsAnswerKind kind;
    uint16_t rcode;             /* DNS_RCODE_..., all 12 bits */
    uint16_t opt_at;            /* offset of OPT, the last record; 0: none */
    bool truncated;
    bool wildcard;              /* made from a wildcard, RFC 4592 */
    /*
     * The name that a rate limiter should count: the name asked, without its
     * first common_at octets.  A flood of random names below one wildcard,
     * below one delegation or in one zone so counts for one name: the closest
     * encloser, the delegation, or the origin.  With 0 it is the whole name.
     */
    uint8_t common_at;
    const DnsServedZone *zone;  /* of the name asked; NULL: no zone is served */
} DnsAnswerInfo;

#endif /* NET_DNS_ANSWER_ANSWERER_H */
