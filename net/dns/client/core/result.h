/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outcome of one question: records, or the reason why there are none.  The
 * cache and look-ups share it, so it does not change after it was passed on.
 */

#ifndef VMMNET_DNS_CLIENT_RESULT_H
#define VMMNET_DNS_CLIENT_RESULT_H

#include "net/dns/wire/wire.h"
#include "vmmnet/dns.h"

#define DNSC_REASON_MAX 256
/* Limit of the records in a result; further records are dropped */
#define DNSC_RECORDS_MAX 4096

typedef struct DnscResult {
    unsigned refs;              /* 0: static, never freed */
    VmmnetDnsError error;
    VmmnetDnsSecurity security;
    int ede;                    /* VMMNET_DNS_NO_EDE: there is none */
    bool authenticated;         /* AD of a server that is trusted */
    bool local;                 /* the failure is of this host: no cache */
    bool follow;                /* the chain continues at canonical: ask it */
    unsigned hops;              /* aliases so far */
    uint32_t ttl;               /* 0: do not cache it */
    DnsName canonical;
    char reason[DNSC_REASON_MAX];
    size_t count;
    const VmmnetDnsRecord *records;
    const uint8_t *whole;       /* the reply itself (whole.h), or NULL */
    size_t whole_len;
    size_t octets;              /* of memory, this struct included */
} DnscResult;

/*
 * Make a result with memory for count records with octets of RDATA in all.  The
 * caller fills the records through *records and RDATA through *data.  Returns
 * NULL without memory.
 */
DnscResult *dnsc_result_new(size_t count, size_t octets,
                            VmmnetDnsRecord **records, uint8_t **data);

/* A result without records; never NULL: without memory it reports that. */
DnscResult *dnsc_result_error(VmmnetDnsError error, const char *reason);

/* The text may be truncated; octets that are not graphic ASCII become "?". */
void dnsc_result_set_reason(DnscResult *r, const char *text, size_t len);

DnscResult *dnsc_result_ref(DnscResult *r);
void dnsc_result_unref(DnscResult *r);  /* NULL is allowed */

/*
 * Is the error one of the servers, which may change at any moment, and not one
 * of the name?
 */
bool dnsc_error_is_failure(VmmnetDnsError error);

#endif
