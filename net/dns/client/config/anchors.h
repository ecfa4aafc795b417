/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trust anchors: which names they say anything of
 */

#ifndef VMMNET_DNS_CLIENT_ANCHORS_H
#define VMMNET_DNS_CLIENT_ANCHORS_H

#include "net/dns/wire.h"

/*
 * Is a name at or below the owner of a record in a file of DS and DNSKEY
 * records, text of len octets, a record a line?  Of a name that is not,
 * nothing can be proven: it is indeterminate, RFC 4035 section 4.3.
 */
bool dnsc_anchors_cover(const char *text, size_t len, const DnsName *name);

#endif
