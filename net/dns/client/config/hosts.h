/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts(5)
 */

#ifndef VMMNET_DNS_CLIENT_HOSTS_H
#define VMMNET_DNS_CLIENT_HOSTS_H

#include "vmmnet/dns.h"

/*
 * Find the addresses of a name in the order of the file, at most max; family is
 * AF_INET, AF_INET6 or AF_UNSPEC.  text, of len octets, is the file.
 * canonical, of size octets, is set to the first name of the first line.
 * Returns their number.  *known is set to whether any line has the name.
 */
size_t dnsc_hosts_find(const char *text, size_t len, const char *name,
                       int family, VmmnetDnsAddress *addrs, size_t max,
                       char *canonical, size_t size, bool *known);

#endif
