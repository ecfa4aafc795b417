/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reply to a query, from zone images: docs/dns-answers.md
 *
 * Two steps, so that a server can look between them (cookies, rate limit,
 * access lists, TSIG):
 *
 *     dns_query_read(message, len, &query);
 *     len = dns_answer(&answerer, &query, out, room, &info);
 *
 * and then append options of its own, for which it had asked for a reserve:
 *
 *     dns_edns_append(out, len, room, info.opt_at, DNS_OPTION_COOKIE, ...);
 *
 * Nothing here allocates, waits, or writes anywhere but into what the caller
 * gives.  Any number of threads may use one table.  Whatever a query or an
 * image says, the work is bounded.
 */
#ifndef NET_DNS_ANSWER_ANSWER_H
#define NET_DNS_ANSWER_ANSWER_H

#include "net/dns/answer/query.h"
#include "net/dns/answer/table.h"

/* How to answer */
enum {
    /*
     * TCP or another stream: the reply may fill the room, whatever the
     * client's EDNS says, and ANY means all (RFC 8482 section 4.4).
     */
    DNS_ANSWER_STREAM = 1,
    /*
     * Leave out addresses of the names in MX and SRV answers.  Those of NS
     * are always there, for priming (RFC 8109) and as glue (RFC 9471).
     */
    DNS_ANSWER_MINIMAL = 2,
};

typedef struct DnsAnswerer {
    const DnsZoneTable *zones;
    uint32_t flags;             /* DNS_ANSWER_... */
    uint16_t udp_size;          /* the longest reply without _STREAM, and */
                                /* what OPT advertises; DNS_UDP_MIN at least */
} DnsAnswerer;

typedef enum DnsAnswerKind {
    DNS_ANSWER_NONE,            /* no reply at all: drop it */
    DNS_ANSWER_RECORDS,         /* what was asked, or an alias that leads */
                                /* out of the zone */
    DNS_ANSWER_NODATA,          /* the name is there, the type is not */
    DNS_ANSWER_NXDOMAIN,
    DNS_ANSWER_REFERRAL,
    DNS_ANSWER_ERROR,           /* see the rcode */
    DNS_ANSWER_EMPTY,           /* NOERROR without a question, for cookies */
    /* The caller's work; there is no reply yet, and the length is 0. */
    DNS_ANSWER_TRANSFER,        /* AXFR or IXFR; @zone may be NULL */
    DNS_ANSWER_NOTIFY,          /* RFC 1996 */
    DNS_ANSWER_UPDATE,          /* RFC 2136 */
} DnsAnswerKind;

/* The kind of a reply: for metrics, logging and rate limits */
typedef struct DnsAnswerInfo {
    DnsAnswerKind kind;
    uint16_t rcode;             /* DNS_RCODE_..., all 12 bits */
    uint16_t opt_at;            /* offset of OPT, the last record; 0: none */
    bool truncated;
    bool wildcard;              /* made from a wildcard, RFC 4592 */
    /*
     * The name under which a limiter should count: the one asked without its
     * first so many octets.  A flood of made-up names below one wildcard, one
     * delegation or in one zone so falls on one name: it is the closest
     * encloser, the delegation, the zone's origin, or with 0 the whole name.
     */
    uint8_t common_at;
    const DnsServedZone *zone;  /* of the name asked; NULL: none is served */
} DnsAnswerInfo;

/**
 * dns_answer: the reply to a query
 * @query: from dns_query_read(); its name may not be of class or type that
 *         the table has
 * @out: does not overlap the query
 * @room: octets at @out; DNS_UDP_MIN or more
 * @info: set in any case
 *
 * The reply has query->reserve octets less than it might, and OPT, if the
 * query had one, stands last.  Where a record that must be there has no room,
 * TC is set (RFC 2181 section 9, RFC 9471 section 3.1).
 *
 * Returns: the reply's length; 0 if there is none, see info->kind.
 */
size_t dns_answer(const DnsAnswerer *answerer, const DnsQuery *query,
                  uint8_t *out, size_t room, DnsAnswerInfo *info);

/**
 * dns_answer_error: a reply that says nothing but its RCODE
 * @rcode: DNS_RCODE_...; those above 15 need query->has_edns
 * @ede: an Extended DNS Error (RFC 8914), or -1; not sent without EDNS
 *
 * Arguments and return value as those of dns_answer(); info->zone is NULL.
 */
size_t dns_answer_error(const DnsAnswerer *answerer, const DnsQuery *query,
                        DnsRcode rcode, int ede, uint8_t *out, size_t room,
                        DnsAnswerInfo *info);

/**
 * dns_answer_truncated: an empty reply with TC, which sends the client to TCP
 *
 * As dns_answer_error() with NOERROR.
 */
size_t dns_answer_truncated(const DnsAnswerer *answerer,
                            const DnsQuery *query, uint8_t *out, size_t room,
                            DnsAnswerInfo *info);

#endif /* NET_DNS_ANSWER_ANSWER_H */
