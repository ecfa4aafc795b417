/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and its reply: cookies, access lists, rate limits and options
 * around the reply of net/dns/answer
 *
 * This code uses no socket and no clock.
 */
#ifndef DNSD_SERVER_SERVE_SERVE_H
#define DNSD_SERVER_SERVE_SERVE_H

#include "dnsd/server/serve/state.h"

/**
 * dnsd_serve: make the reply to a request
 * @query: from dns_query_read(); query->reserve is set
 * @room: octets at @out: at least DNSD_UDP_MAX; DNS_MSG_MAX for a stream
 * @reply_len: set with DNSD_REPLY
 */
DnsdOutcome dnsd_serve(const DnsdServing *serving, DnsdThreadState *thread,
                       const DnsdClient *client, DnsQuery *query,
                       uint8_t *out, size_t room, size_t *reply_len);

/**
 * dnsd_serve_resolved: make the reply to a query after the resolver has
 * answered
 * @generation: serving->generation when the query was passed on
 *
 * Other arguments and the result are as in dnsd_serve(), without DNSD_RESOLVE
 * and DNSD_CONTROL.
 */
DnsdOutcome dnsd_serve_resolved(const DnsdServing *serving,
                                DnsdThreadState *thread,
                                const DnsdClient *client, DnsQuery *query,
                                const DnsdResolved *resolved,
                                uint32_t generation, uint8_t *out, size_t room,
                                size_t *reply_len);

/**
 * dnsd_serve_error: make a reply that only has an RCODE
 *
 * Returns: its length; 0 if there is none.
 */
size_t dnsd_serve_error(const DnsdServing *serving, const DnsdClient *client,
                        DnsQuery *query, DnsRcode rcode, uint8_t *out,
                        size_t room);

#endif /* DNSD_SERVER_SERVE_SERVE_H */
