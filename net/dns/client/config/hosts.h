/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts(5)
 */

#ifndef VMMNET_DNS_CLIENT_HOSTS_H
#define VMMNET_DNS_CLIENT_HOSTS_H

#include "vmmnet/dns.h"

/*
 * All addresses of a name, in the file's order, up to max; family AF_INET,
 * AF_INET6 or AF_UNSPEC.  text, of len octets, is the file.  canonical, of
 * size octets, gets the first name of the first line.
 * Returns how many there are; *known, whether the name has any line at all.
 */
size_t dnsc_hosts_find(const char *text, size_t len, const char *name,
                       int family, VmmnetDnsAddress *addrs, size_t max,
                       char *canonical, size_t size, bool *known);

#endif
