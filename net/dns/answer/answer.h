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

#include "net/dns/answer/answerer.h"

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

/**
 * dns_answer_is_of_zones: is the query answered with data of a zone?
 *
 * Otherwise opcode and type alone say the RCODE.
 */
bool dns_answer_is_of_zones(const DnsQuery *query);

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
