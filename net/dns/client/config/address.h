/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses as text
 */

#ifndef VMMNET_DNS_CLIENT_ADDRESS_H
#define VMMNET_DNS_CLIENT_ADDRESS_H

#include "vmmnet/dns.h"

/*
 * "ADDR", with "%SCOPE" behind an IPv6 one: the name or number of an
 * interface.  IPv4 as inet_pton() has it, and with legacy, as inet_aton():
 * getaddrinfo() takes "127.1".  Port 0.
 * Returns 0, -EINVAL it is no address, or -ENXIO no such scope.
 */
int dnsc_address_parse(const char *text, bool legacy, VmmnetDnsAddress *addr);

/* "ADDR[%SCOPE][@PORT]"; port 53 if there is none.  Returns as above. */
int dnsc_address_parse_server(const char *text, VmmnetDnsAddress *addr);

/* 127.0.0.0/8 or ::1 */
bool dnsc_address_is_loopback(const VmmnetDnsAddress *addr);

#endif
