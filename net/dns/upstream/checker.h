/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that validates, for a loop that has no time for it
 *
 * All functions are for the thread of the loop that they are given, or for
 * whoever has it to itself.
 */
#ifndef NET_DNS_UPSTREAM_CHECKER_H
#define NET_DNS_UPSTREAM_CHECKER_H

#include "net/dns/client/net/validate.h"
#include "net/dns/upstream/verdict.h"

/* Questions that are being validated at a time */
#define DNS_CHECKS_MAX 1024

typedef struct DnsChecker DnsChecker;
typedef struct DnsCheck DnsCheck;

/* The result, of dns_verdict(), is the callee's; the check has been freed. */
typedef void DnsCheckedFn(void *opaque, DnscResult *result);

/**
 * dns_checker_new: starts the thread
 * @loop: where checks come back; outlives the checker
 * @options: copied by libunbound; timeout is that of each check
 * @mode: not DNS_DNSSEC_OFF
 *
 * Returns: NULL with errno set and a sentence, as dnsc_validator_new(); of
 * another errno (no thread, no descriptor) *@mistake is NULL.
 */
DnsChecker *dns_checker_new(DnscLoop *loop,
                            const DnscValidatorOptions *options,
                            DnsDnssec mode, const char **mistake);

/** dns_checker_free: nobody is called back; NULL is allowed. */
void dns_checker_free(DnsChecker *checker);

/**
 * dns_check: ask a question and validate the answer
 *
 * CD and AD of the query are no matter here.  @done comes once, never from
 * within.
 *
 * Returns: NULL if there is no memory, or DNS_CHECKS_MAX are under way.
 */
DnsCheck *dns_check(DnsChecker *checker, const DnscQuery *query,
                    DnsCheckedFn *done, void *opaque);

/**
 * dns_check_cancel: without calling back
 *
 * The thread goes on, so it counts as one under way until it has ended: else
 * asking and cancelling in turn would begin any number.
 */
void dns_check_cancel(DnsCheck *check);

/** dns_checker_room: how many more may be under way. */
size_t dns_checker_room(const DnsChecker *checker);

#endif /* NET_DNS_UPSTREAM_CHECKER_H */
