/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that validates for an event loop which must not wait
 *
 * Call all functions on the thread of the loop that they are given, or while no
 * thread runs that loop.
 */
#ifndef NET_DNS_UPSTREAM_CHECKER_H
#define NET_DNS_UPSTREAM_CHECKER_H

#include "net/dns/client/net/validate.h"
#include "net/dns/upstream/verdict.h"

/* Questions under validation at a time */
#define DNS_CHECKS_MAX 1024

typedef struct DnsChecker DnsChecker;
typedef struct DnsCheck DnsCheck;

/* The callee owns the result of dns_verdict().  The check has been freed. */
typedef void DnsCheckedFn(void *opaque, DnscResult *result);

/**
 * dns_checker_new: start the thread
 * @loop: runs the callbacks of checks; must outlive the checker
 * @options: copied by libunbound; the timeout is that of each check
 * @mode: not DNS_DNSSEC_OFF
 *
 * Returns: NULL, with errno and *@mistake set as by dnsc_validator_new().  For
 * other errors (no thread, no descriptor) *@mistake is NULL.
 */
DnsChecker *dns_checker_new(DnscLoop *loop,
                            const DnscValidatorOptions *options,
                            DnsDnssec mode, const char **mistake);

/** dns_checker_free: no callback is called any more; NULL is allowed. */
void dns_checker_free(DnsChecker *checker);

/**
 * dns_check: ask a question and validate the answer
 *
 * CD and AD of the query are ignored.  @done is called once, and never during
 * this call.
 *
 * Returns: NULL if there is no memory, or DNS_CHECKS_MAX are under way.
 */
DnsCheck *dns_check(DnsChecker *checker, const DnscQuery *query,
                    DnsCheckedFn *done, void *opaque);

/**
 * dns_check_cancel: cancel a check; its callback is not called
 *
 * The thread goes on with the check, so it counts as under way until it ends.
 * Otherwise a guest could start any number by asking and cancelling.
 */
void dns_check_cancel(DnsCheck *check);

/** dns_checker_room: the number of checks that can be started */
size_t dns_checker_room(const DnsChecker *checker);

#endif /* NET_DNS_UPSTREAM_CHECKER_H */
