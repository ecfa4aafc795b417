/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that another process validates: vmmnet-validate, at a UNIX socket
 *
 * Call all functions on the thread of the loop, or while no thread runs it.
 */
#ifndef NET_DNS_UPSTREAM_CHECKER_H
#define NET_DNS_UPSTREAM_CHECKER_H

#include "net/dns/client/core/whole.h"
#include "net/dns/unbound/loop.h"

/* Questions under validation at a time */
#define DNS_CHECKS_MAX 1024

typedef struct DnsChecker DnsChecker;
typedef struct DnsCheck DnsCheck;

/* The callee owns the result of dns_checked_read().  The check was freed. */
typedef void DnsCheckedFn(void *opaque, DnscResult *result);

/* The process is away, and why; or it is back: @trouble is NULL */
typedef void DnsCheckerNewsFn(void *opaque, const char *trouble);

typedef struct DnsCheckerOptions {
    const char *path;           /* of the socket; it need not exist yet */
    bool wants_bogus;           /* ask for data that are bogus, too */
    DnsCheckerNewsFn *news;
    void *opaque;               /* for @news */
} DnsCheckerOptions;

/** dns_checker_path_is_right: is it one that a socket can have? */
bool dns_checker_path_is_right(const char *path);

/**
 * dns_checker_new: look for the process when the loop runs, or at the first
 * check
 * @loop: must outlive the checker
 *
 * Returns: NULL without memory
 */
DnsChecker *dns_checker_new(DnscLoop *loop, const DnsCheckerOptions *options);

/** dns_checker_free: no callback is called any more; NULL is allowed. */
void dns_checker_free(DnsChecker *checker);

/**
 * dns_check: ask a question and validate the answer
 *
 * CD and AD of the query are ignored.  @done is called once, and never during
 * this call.  While the process is away, the result is VMMNET_DNS_UNREACHABLE.
 *
 * Returns: NULL if there is no memory, or DNS_CHECKS_MAX are under way.
 */
DnsCheck *dns_check(DnsChecker *checker, const DnscQuery *query,
                    DnsCheckedFn *done, void *opaque);

/**
 * dns_check_cancel: cancel a check; its callback is not called
 *
 * The process goes on with the check, so it counts as under way until it ends.
 * Otherwise a guest could start any number by asking and cancelling.
 */
void dns_check_cancel(DnsCheck *check);

/** dns_checker_room: the number of checks that can be started */
size_t dns_checker_room(const DnsChecker *checker);

/** dns_checker_outages: how often the process was away */
uint64_t dns_checker_outages(const DnsChecker *checker);

#endif /* NET_DNS_UPSTREAM_CHECKER_H */
