/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions that libunbound asks and validates, on our event loop */

#ifndef VMMNET_DNS_CLIENT_VALIDATE_H
#define VMMNET_DNS_CLIENT_VALIDATE_H

#include "net/dns/client/core/result.h"
#include "net/dns/unbound/loop.h"

typedef struct DnscValidator DnscValidator;
typedef struct DnscValidation DnscValidation;

typedef struct DnscValidatorOptions {
    const VmmnetDnsAddress *servers;
    size_t count;
    const char *trust_anchor;   /* path of a file */
    bool random_case;
    bool use_vc;
    int64_t timeout;            /* for the whole question, microseconds */
    /* The source address towards IPv6 servers; NULL: the kernel chooses */
    const struct in6_addr *from6;
    size_t cache_octets;        /* for all of libunbound's caches; 0: default */
    const DnsName *insecure;    /* names below which nothing is validated */
    size_t insecures;
    unsigned bogus_ttl;         /* seconds, RFC 4035 section 4.7; 0: default */
} DnscValidatorOptions;

/*
 * Returns NULL with errno and *mistake set: ENOSYS if libunbound is not
 * installed, ENOENT or EINVAL for the trust anchor, or ENOMEM.
 */
DnscValidator *dnsc_validator_new(DnscLoop *loop, VmmnetDnsCounters *counters,
                                  const DnscValidatorOptions *options,
                                  const char **mistake);

/*
 * Are libunbound's descriptors its own?  If not, it must not be called again,
 * not even to free it: it would use or close what is not its own.
 */
bool dnsc_validator_is_whole(const DnscValidator *v);

/* Questions under way continue; the last of them frees the validator. */
void dnsc_validator_release(DnscValidator *v);  /* NULL is allowed */

/* The callee owns the result. */
typedef void DnscValidatedFn(void *opaque, DnscResult *result);

/*
 * done is called once, and never during this call.  Returns NULL without
 * memory.
 */
DnscValidation *dnsc_validate(DnscValidator *v, const DnsQuestion *question,
                              DnscValidatedFn *done, void *opaque);

/*
 * The same for the whole message (result->whole) as libunbound has it, with all
 * signatures and proofs, even if it is bogus: error says so then, and security
 * and reason give the verdict.  Without a message, the error is not one of the
 * data.
 */
DnscValidation *dnsc_validate_whole(DnscValidator *v,
                                    const DnsQuestion *question,
                                    DnscValidatedFn *done, void *opaque);

/* Cancel a validation; done is not called. */
void dnsc_validation_cancel(DnscValidation *validation);

#endif
