/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trust anchors, and the names that they cover
 *
 * The file is a master file (RFC 1035 section 5.1) of DS and DNSKEY records of
 * class IN, each with its complete owner name.  It may have $TTL, and comments
 * as unbound-anchor(8) writes them.
 */

#ifndef VMMNET_DNS_CLIENT_ANCHORS_H
#define VMMNET_DNS_CLIENT_ANCHORS_H

#include "net/dns/wire/wire.h"

/*
 * Is a name at or below the owner of a record in such a file, text of len
 * octets, with an algorithm and a digest that libunbound knows?  If not,
 * nothing can be proved about the name: it is indeterminate, RFC 4035
 * section 4.3.
 */
bool dnsc_anchors_cover(const char *text, size_t len, const DnsName *name);

/*
 * The number of anchors; -1 if a record is not an anchor, or if an owner has
 * only those that nothing can be validated with (RFC 4035 section 5.2 would make
 * its names insecure).  Then *line is its
 * first line, from 1, and *mistake says what is wrong with it.
 */
int dnsc_anchors_count(const char *text, size_t len, unsigned *line,
                       const char **mistake);

#endif
