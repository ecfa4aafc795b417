/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS proxy: what a reply from upstream says */
#ifndef NET_DNS_PROXY_REPLY_H
#define NET_DNS_PROXY_REPLY_H

#include "net/dns/proxy/internal.h"

/* The limit of answer records that are examined, and of addresses in them */
#define DNS_REPLY_MAX_RECORDS 1024
/* The limit of records whose target the owner is told */
#define DNS_REPLY_MAX_TARGETS 16

/* A reply that is well-formed and belongs to its question */
typedef struct Reply {
    const uint8_t *msg;
    size_t len;
    uint16_t type;          /* the type that was asked */
    uint16_t flags;
    uint16_t rcode;         /* with the upper bits of OPT */
    bool exists;            /* rcode was changed to NOERROR */
    bool has_edns;
    DnsEdns edns;
    size_t plain_len;       /* octets before the additional section */
} Reply;

/* Returns 0, or -EBADMSG if msg is not a whole reply to that question. */
int dns_reply_parse(Reply *reply, const DnsQuestion *asked,
                    const uint8_t *msg, size_t len);

/*
 * Find the next record of the answer section with that owner and type, class
 * IN, and move the cursor behind it.
 */
bool dns_reply_find(DnsCursor *cursor, const DnsName *owner, uint16_t type,
                    DnsRr *rr);

/* Called for each alias: target is the CNAME or DNAME target of name. */
typedef void DnsAliasFunc(void *opaque, const DnsName *name, uint32_t ttl,
                          const DnsName *target);

/*
 * Follow the aliases from *name on.  On return *name is their end, and *ttl is
 * lowered to the least of their TTLs.  func may be NULL.  Returns 0, or -ELOOP.
 */
int dns_reply_follow(const Reply *reply, DnsName *name, uint32_t *ttl,
                     DnsAliasFunc *func, void *opaque);

/*
 * Find the SOA of the zone of this name.  rr->ttl becomes the time for which
 * the negative answer holds (RFC 2308 section 5).  Returns false if there is no
 * SOA.
 */
bool dns_reply_soa(const Reply *reply, const DnsName *name, DnsRr *rr,
                   DnsSoa *soa);

/* Has the answer section only aliases and signatures? */
bool dns_reply_is_negative(const Reply *reply);

/* The usable A records of a reply */
typedef struct PlainAddresses {
    DnsProxyAddress addr[DNS_PROXY_MAX_ADDRESSES];
    size_t num;
    /* addresses that did not fit into addr or withheld */
    size_t over_limit;
    struct {
        struct in6_addr addr6;
        int error;              /* of the owner's usable4() */
    } withheld[DNS_PROXY_MAX_ADDRESSES];
    size_t num_withheld;
} PlainAddresses;

/* Find the A records at the end of the aliases of the name of r. */
void dns_proxy_plain_addresses(const DnsProxy *p, const Request *r,
                               const Reply *reply, PlainAddresses *found);

#endif /* NET_DNS_PROXY_REPLY_H */
