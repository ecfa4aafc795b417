/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outcome of one question: records or why there are none.  Shared by the
 * cache and by look-ups, so it does not change once it is handed on.
 */

#ifndef VMMNET_DNS_CLIENT_RESULT_H
#define VMMNET_DNS_CLIENT_RESULT_H

#include "net/dns/wire/wire.h"
#include "vmmnet/dns.h"

#define DNSC_REASON_MAX 256
/* Of one result: what is beyond is left out, a reply has no more use for it */
#define DNSC_RECORDS_MAX 4096

typedef struct DnscResult {
    unsigned refs;              /* 0: static, never freed */
    VmmnetDnsError error;
    VmmnetDnsSecurity security;
    int ede;                    /* VMMNET_DNS_NO_EDE for none */
    bool authenticated;         /* AD, from a server where it counts */
    bool follow;                /* the chain goes on at canonical: ask for it */
    unsigned hops;              /* aliases so far */
    uint32_t ttl;               /* 0: not to be remembered */
    DnsName canonical;
    char reason[DNSC_REASON_MAX];
    size_t count;
    const VmmnetDnsRecord *records;
    const uint8_t *whole;       /* the reply itself (whole.h), or NULL */
    size_t whole_len;
    size_t octets;              /* of memory, this struct included */
} DnscResult;

/*
 * A result with room for count records of octets in all, not filled: records
 * is writable through *records, their data through *data.
 * Returns NULL when out of memory.
 */
DnscResult *dnsc_result_new(size_t count, size_t octets,
                            VmmnetDnsRecord **records, uint8_t **data);

/* Without records.  Never NULL: out of memory gives a result that says so. */
DnscResult *dnsc_result_error(VmmnetDnsError error, const char *reason);

/* Shortened if need be; what is not graphic ASCII becomes "?" */
void dnsc_result_set_reason(DnscResult *r, const char *text, size_t len);

DnscResult *dnsc_result_ref(DnscResult *r);
void dnsc_result_unref(DnscResult *r);  /* NULL is allowed */

/* Is it of the servers rather than of the name, and may change any moment? */
bool dnsc_error_is_failure(VmmnetDnsError error);

#endif
