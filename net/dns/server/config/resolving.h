/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: the section "resolver" */
#ifndef NET_DNS_SERVER_CONFIG_RESOLVING_H
#define NET_DNS_SERVER_CONFIG_RESOLVING_H

#include "net/dns/server/config/reader.h"

/* To a DnsdConfig */
DnsdReadFn dnsd_read_resolver;

/** dnsd_resolver_defaults: what it is without its section: off. */
void dnsd_resolver_defaults(DnsdResolverConfig *resolver);

/**
 * dnsd_resolver_same: is all of it the same that a cache is made by?
 *
 * The clients that may ask, the fate of bogus data and the bounds are not.
 */
bool dnsd_resolver_same(const DnsdResolverConfig *a,
                        const DnsdResolverConfig *b);

#endif /* NET_DNS_SERVER_CONFIG_RESOLVING_H */
