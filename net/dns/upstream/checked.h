/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verdict as a DNS message, between vmmnet-validate and who asks it
 *
 * AD: secure.  An Extended DNS Error (RFC 8914) of 6 to 12: bogus; the reply is
 * SERVFAIL, or to a query with CD the data.  Error 5: indeterminate.  Otherwise
 * insecure.  If no server has answered it is SERVFAIL with error 22, or 23 if
 * there is no way to any, or with none of these.
 */
#ifndef NET_DNS_UPSTREAM_CHECKED_H
#define NET_DNS_UPSTREAM_CHECKED_H

#include "net/dns/client/core/whole.h"

/* Octets before each message, with its length: RFC 1035 section 4.2.2 */
#define DNS_PREFIX_LEN 2

/**
 * dns_checked_read: read the reply to a query
 * @msg: hostile; it may be changed
 * @result: set to the result, which the caller owns.  It has the reply unless no
 * server has answered.
 *
 * The id is the caller's to check.
 *
 * Returns: 0; or -EBADMSG: this is no reply to this query, or it contradicts
 * itself.
 */
int dns_checked_read(const DnscQuery *query, uint8_t *msg, size_t len,
                     DnscResult **result);

/**
 * dns_checked_write: the message for the result of dns_verdict()
 *
 * Returns: its length.  Its id is 0.
 */
size_t dns_checked_write(const DnscQuery *query, const DnscResult *result,
                         uint8_t buf[DNS_MSG_MAX]);

#endif /* NET_DNS_UPSTREAM_CHECKED_H */
