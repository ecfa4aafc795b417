/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: the section "resolver" */
#ifndef DNSD_SERVER_CONFIG_RESOLVING_H
#define DNSD_SERVER_CONFIG_RESOLVING_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is a DnsdConfig */
ConfigReadFn dnsd_read_resolver;

/** dnsd_resolver_defaults: set the values without that section: off */
void dnsd_resolver_defaults(DnsdResolverConfig *resolver);

/**
 * dnsd_resolver_same: are all settings equal that affect the cache?
 *
 * Access, the treatment of bogus data, and limits do not affect it.
 */
bool dnsd_resolver_same(const DnsdResolverConfig *a,
                        const DnsdResolverConfig *b);

#endif /* DNSD_SERVER_CONFIG_RESOLVING_H */
