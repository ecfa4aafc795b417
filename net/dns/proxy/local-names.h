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

/* Seconds for which such an answer may be cached */
#define DNS_LOCAL_TTL 10800

#define DNS_LOCAL_MAX_ADDRESSES 2

/* NXDOMAIN; or NOERROR with addresses, a target, or nothing */
typedef struct DnsLocalAnswer {
    DnsRcode rcode;
    const DnsName *zone;    /* the owner of the SOA of a negative answer */
    size_t num_addrs;
    struct in_addr addr[DNS_LOCAL_MAX_ADDRESSES];
    const DnsName *target;  /* the target of a PTR record; NULL: none */
} DnsLocalAnswer;

/* Returns false if a DNS server must answer this question of class IN. */
bool dns_local_answer(const DnsQuestion *question, DnsLocalAnswer *answer);

/*
 * Is a special-use name that exists below this name?  Then this name exists as
 * well, RFC 8020.
 */
bool dns_local_is_above(const DnsName *name);

#endif /* NET_DNS_PROXY_LOCAL_NAMES_H */
