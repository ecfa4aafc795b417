/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: the answers to the guest */
#ifndef NET_DNS_PROXY_ANSWER_H
#define NET_DNS_PROXY_ANSWER_H

#include "net/dns/proxy/local-names.h"
#include "net/dns/proxy/reply.h"

/*
 * Answer a query that has no request; the answer has no records.  @ede: a
 * DnsEde, or -1 for none.
 */
void dns_proxy_answer_bare(DnsProxy *p, const Client *client, DnsRcode rcode,
                           int ede);

/* Each function below answers and ends a request. */

/* Answer SERVFAIL and increment *counter. */
void dns_proxy_fail(DnsProxy *p, Request *r, DnsEde ede, uint64_t *counter);

/* Answer NXDOMAIN without a reply of the upstream. */
void dns_proxy_answer_nothing(DnsProxy *p, Request *r);

/* Answer for a special-use name. */
void dns_proxy_answer_local(DnsProxy *p, Request *r,
                            const DnsLocalAnswer *local);

/*
 * Answer NXDOMAIN or NODATA, with the aliases and the SOA of the reply.  If the
 * proxy withholds records and the reply has no SOA, add one of the proxy.  If
 * the client sets DO and the reply is the whole answer, pass it unchanged.  ANY
 * of a name that exists gets its alias or HINFO (RFC 8482 section 4.2).
 */
void dns_proxy_answer_negative(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with the unchanged reply, behind the id and question of the guest.  If
 * it has an address that the guest may not be led to, answer NODATA.
 */
void dns_proxy_answer_passed(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with virtual addresses for the AAAA records of a reply.  The reply has
 * NOERROR.  Returns false, and does nothing, if no address can be handed out.
 */
bool dns_proxy_answer_virtual(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with the AAAA records of a reply that the guest may be led to.  Returns
 * as dns_proxy_answer_virtual().
 */
bool dns_proxy_answer_real(DnsProxy *p, Request *r, const Reply *reply);

/* Answer with the A records of a reply, which the guest reaches by NAT64. */
void dns_proxy_answer_plain(DnsProxy *p, Request *r, const Reply *reply);

/*
 * Answer with HTTPS or SVCB records without the address hints that lead
 * nowhere: ipv4hint, to which a client would connect without the translation,
 * and what the guest may not be led to; and without keys for Encrypted Client
 * Hello if the owner hides them.  A reply without all of these passes unchanged.
 */
void dns_proxy_answer_service(DnsProxy *p, Request *r, const Reply *reply);

/* Answer with the names of a virtual address, or NODATA for other types. */
void dns_proxy_answer_ptr(DnsProxy *p, Request *r, const Reply *reply);

#endif /* NET_DNS_PROXY_ANSWER_H */
