/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Special-use names that the DNS proxy answers without asking
 */

#ifndef NET_DNS_PROXY_LOCAL_NAMES_H
#define NET_DNS_PROXY_LOCAL_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"

/* For how many seconds such an answer may be cached */
#define DNS_LOCAL_TTL 10800

#define DNS_LOCAL_MAX_ADDRESSES 2

/* NXDOMAIN, or NOERROR with what there is: addresses, a target, or neither */
typedef struct DnsLocalAnswer {
    DnsRcode rcode;
    const DnsName *zone;    /* of a negative answer's SOA */
    size_t num_addrs;
    struct in_addr addr[DNS_LOCAL_MAX_ADDRESSES];
    const DnsName *target;  /* of a PTR record; NULL: none */
} DnsLocalAnswer;

/* False if this question of class IN is for a DNS server to answer. */
bool dns_local_answer(const DnsQuestion *question, DnsLocalAnswer *answer);

/*
 * Is a name that is answered so, and exists, below this one?  Then this one
 * exists as well, RFC 8020.
 */
bool dns_local_is_above(const DnsName *name);

#endif /* NET_DNS_PROXY_LOCAL_NAMES_H */
