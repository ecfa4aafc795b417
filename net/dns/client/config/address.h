/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses as text
 */

#ifndef VMMNET_DNS_CLIENT_ADDRESS_H
#define VMMNET_DNS_CLIENT_ADDRESS_H

#include "vmmnet/dns.h"

/*
 * Parse "ADDR", with "%SCOPE" behind an IPv6 address: the name or number of an
 * interface.  IPv4 addresses are parsed as by inet_pton(); with legacy as by
 * inet_aton(), as getaddrinfo() accepts "127.1".  The port is 0.  Returns 0;
 * -EINVAL if it is not an address; or -ENXIO if the interface does not exist:
 * then the scope is 0, and all else is set.
 */
int dnsc_address_parse(const char *text, bool legacy, VmmnetDnsAddress *addr);

/*
 * Parse "ADDR[%SCOPE][@PORT]"; the default port is 53.  Returns as
 * dnsc_address_parse().
 */
int dnsc_address_parse_server(const char *text, VmmnetDnsAddress *addr);

/* Is the address in 127.0.0.0/8, or ::1? */
bool dnsc_address_is_loopback(const VmmnetDnsAddress *addr);

#endif
