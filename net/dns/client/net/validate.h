/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions asked and answers validated by libunbound, on our loop
 */

#ifndef VMMNET_DNS_CLIENT_VALIDATE_H
#define VMMNET_DNS_CLIENT_VALIDATE_H

#include "net/dns/client/core/result.h"
#include "net/dns/unbound/loop.h"

typedef struct DnscValidator DnscValidator;
typedef struct DnscValidation DnscValidation;

typedef struct DnscValidatorOptions {
    const VmmnetDnsAddress *servers;
    size_t count;
    const char *trust_anchor;   /* a file */
    bool random_case;
    bool use_vc;
    int64_t timeout;            /* of a question in all, microseconds */
    /* The source address towards IPv6 servers, NULL: the kernel's choice */
    const struct in6_addr *from6;
    size_t cache_octets;        /* of libunbound's caches in all; 0: its own */
    unsigned bogus_ttl;         /* seconds, RFC 4035 section 4.7; 0: its own */
} DnscValidatorOptions;

/*
 * Returns NULL with errno set, and a sentence: ENOSYS libunbound is not
 * installed, ENOENT or EINVAL the trust anchor, ENOMEM.
 */
DnscValidator *dnsc_validator_new(DnscLoop *loop, VmmnetDnsCounters *counters,
                                  const DnscValidatorOptions *options,
                                  const char **mistake);

/* Questions that are out go on; the last of them ends the validator. */
void dnsc_validator_release(DnscValidator *v);  /* NULL is allowed */

/* The result is the callee's. */
typedef void DnscValidatedFn(void *opaque, DnscResult *result);

/* done comes once, never from within.  Returns NULL when out of memory. */
DnscValidation *dnsc_validate(DnscValidator *v, const DnsQuestion *question,
                              DnscValidatedFn *done, void *opaque);

/*
 * The same, for the whole message (result->whole) as libunbound has it, with
 * all signatures and proofs, also if it is bogus: error is then that, and
 * security and reason say what it is worth and why.  An error without a message
 * is not of the data.
 */
DnscValidation *dnsc_validate_whole(DnscValidator *v,
                                    const DnsQuestion *question,
                                    DnscValidatedFn *done, void *opaque);

/* Without calling back */
void dnsc_validation_cancel(DnscValidation *validation);

#endif
