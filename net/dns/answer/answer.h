/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reply to a query, from zone images: docs/dns-answers.md
 *
 * It takes two steps, so that a server can check the query in between (cookies,
 * rate limit, access lists, TSIG):
 *
 *     dns_query_read(message, len, &query);
 *     len = dns_answer(&answerer, &query, out, room, &info);
 *
 * Then the server appends its own options, for which it has set query.reserve:
 *
 *     dns_edns_append(out, len, room, info.opt_at, DNS_OPTION_COOKIE, ...);
 *
 * No function allocates memory, waits, or writes outside the caller's buffers.
 * Any number of threads may use one table.  The work is bounded, whatever a
 * query or an image contains.
 */
#ifndef NET_DNS_ANSWER_ANSWER_H
#define NET_DNS_ANSWER_ANSWER_H

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

/**
 * dns_answer: make the reply to a query
 * @query: from dns_query_read(); the table need not have its name or class
 * @out: must not overlap the query
 * @room: octets at @out; DNS_UDP_MIN or more
 * @info: always set
 *
 * The reply is limited to query->reserve octets less than otherwise.  If the
 * query had OPT, OPT is the last record.  If a required record has no room, TC
 * is set (RFC 2181 section 9, RFC 9471 section 3.1).
 *
 * Returns: the length of the reply; 0 if there is none, see info->kind.
 */
size_t dns_answer(const DnsAnswerer *answerer, const DnsQuery *query,
                  uint8_t *out, size_t room, DnsAnswerInfo *info);

/** dns_answer_zone: the zone that answers a query; NULL: none does */
const DnsServedZone *dns_answer_zone(const DnsAnswerer *answerer,
                                     const DnsQuery *query);

/**
 * dns_answer_from: dns_answer() for a server that looks at the zone first
 * @zone: from dns_answer_zone()
 */
size_t dns_answer_from(const DnsAnswerer *answerer, const DnsQuery *query,
                       const DnsServedZone *zone, uint8_t *out, size_t room,
                       DnsAnswerInfo *info);

/**
 * dns_answer_error: make a reply that only has an RCODE
 * @rcode: DNS_RCODE_...; values above 15 need query->has_edns
 * @ede: an Extended DNS Error (RFC 8914), or -1; not sent without EDNS
 *
 * The other arguments and the result are as in dns_answer(); info->zone is
 * NULL.
 */
size_t dns_answer_error(const DnsAnswerer *answerer, const DnsQuery *query,
                        DnsRcode rcode, int ede, uint8_t *out, size_t room,
                        DnsAnswerInfo *info);

/**
 * dns_answer_truncated: make an empty reply with TC, so that the client uses
 * TCP
 *
 * As dns_answer_error() with NOERROR.
 */
size_t dns_answer_truncated(const DnsAnswerer *answerer,
                            const DnsQuery *query, uint8_t *out, size_t room,
                            DnsAnswerInfo *info);

#endif /* NET_DNS_ANSWER_ANSWER_H */
