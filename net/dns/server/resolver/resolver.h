/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver: answers for names of others, by libunbound
 *
 * All functions are for the control thread.
 */
#ifndef NET_DNS_SERVER_RESOLVER_RESOLVER_H
#define NET_DNS_SERVER_RESOLVER_RESOLVER_H

#include "net/dns/server/host/sockets.h"
#include "net/dns/server/workers/resolvers.h"

typedef struct DnsdResolver DnsdResolver;

/**
 * dnsd_resolver_new: load libunbound and set it up; nothing runs yet
 *
 * Before the filter of system calls, as libraries are mapped to be run.
 *
 * Returns: NULL, and @mistake names the key and what would be right.
 */
DnsdResolver *dnsd_resolver_new(const DnsdResolverConfig *config,
                                DnsdMistake *mistake);

/** dnsd_resolver_start: false, and @mistake says why. */
bool dnsd_resolver_start(DnsdResolver *resolver, DnsdMistake *mistake);

/**
 * dnsd_resolver_reload: other settings, or other files of the same names
 *
 * The cache stays, unless it is made by what has changed.
 *
 * Returns: false, and @mistake says why; nothing has changed then.
 */
bool dnsd_resolver_reload(DnsdResolver *resolver,
                          const DnsdResolverConfig *before,
                          const DnsdResolverConfig *config,
                          DnsdMistake *mistake);

/** dnsd_resolver_workers: the side that workers see. */
const DnsdResolvers *dnsd_resolver_workers(const DnsdResolver *resolver);

/** dnsd_resolver_generation: of the cache, for DnsdServing. */
uint32_t dnsd_resolver_generation(const DnsdResolver *resolver);

/** dnsd_resolver_files: descriptors that it needs. */
unsigned dnsd_resolver_files(const DnsdResolverConfig *config);

/** dnsd_resolver_stop: before the workers end. */
void dnsd_resolver_stop(DnsdResolver *resolver);

/** dnsd_resolver_free: when they have ended; NULL is allowed. */
void dnsd_resolver_free(DnsdResolver *resolver);

#endif /* NET_DNS_SERVER_RESOLVER_RESOLVER_H */
