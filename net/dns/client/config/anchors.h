/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trust anchors: which names they say anything of
 *
 * A file of them is a master file (RFC 1035 section 5.1) of DS and DNSKEY
 * records of class IN, each with its owner's whole name.  $TTL, and comments
 * as unbound-anchor(8) writes them, may be there.
 */

#ifndef VMMNET_DNS_CLIENT_ANCHORS_H
#define VMMNET_DNS_CLIENT_ANCHORS_H

#include "net/dns/wire/wire.h"

/*
 * Is a name at or below the owner of a record in such a file, text of len
 * octets?  Of a name that is not, nothing can be proven: it is indeterminate,
 * RFC 4035 section 4.3.
 */
bool dnsc_anchors_cover(const char *text, size_t len, const DnsName *name);

/*
 * How many anchors there are.  A record that is none makes it -1, with *line,
 * from 1, where it begins, and *mistake, which says what is wrong with it.
 */
int dnsc_anchors_count(const char *text, size_t len, unsigned *line,
                       const char **mistake);

#endif
