/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: the table of requests */
#ifndef NET_DNS_PROXY_REQUESTS_H
#define NET_DNS_PROXY_REQUESTS_H

#include "net/dns/proxy/reply.h"

/* The number by which the upstream knows one of the questions of r */
uint64_t dns_proxy_request_number(const DnsProxy *p, const Request *r,
                                  Ask ask);

/* The live request with that number, or NULL if it has ended. */
Request *dns_proxy_find_request(DnsProxy *p, uint64_t number);

/* A request of the client.  The caller has checked that a slot is free. */
Request *dns_proxy_new_request(DnsProxy *p, const Client *client);

/* Free the slot of r and cancel its questions upstream. */
void dns_proxy_end_request(DnsProxy *p, Request *r);

/* End answered requests, which only wait for an A, until a slot is free. */
void dns_proxy_make_room(DnsProxy *p);

/* Parse the held A reply of r.  It was checked when it came. */
void dns_proxy_parse_held(const Request *r, Reply *reply);

/* Report these A records to the owner, if there are any. */
void dns_proxy_tell_plain(DnsProxy *p, const Request *r,
                          const PlainAddresses *found);

/* Report the A records of a reply to the owner; r goes on. */
void dns_proxy_note_plain(DnsProxy *p, const Request *r, const Reply *reply);

/*
 * The AAAA of r was answered.  Ends r, or keeps it until the A reply has come
 * and the owner has been told of it.
 */
void dns_proxy_answered(DnsProxy *p, Request *r);

#endif /* NET_DNS_PROXY_REQUESTS_H */
