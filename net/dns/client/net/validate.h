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

/* Without calling back */
void dnsc_validation_cancel(DnscValidation *validation);

#endif
