/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver: answers for names outside our zones, from libunbound
 *
 * All functions are for the control thread.
 */
#ifndef DNSD_SERVER_RESOLVER_RESOLVER_H
#define DNSD_SERVER_RESOLVER_RESOLVER_H

#include "dnsd/server/host/sockets.h"
#include "dnsd/server/workers/request.h"

typedef struct DnsdResolver DnsdResolver;

/**
 * dnsd_resolver_new: load libunbound and make contexts; no thread is started
 *
 * Call it before the filter of system calls, as it maps libraries.
 *
 * Returns: NULL, and @error has the key and what would be right.
 */
DnsdResolver *dnsd_resolver_new(const DnsdResolverConfig *config,
                                DnsdError *error);

/**
 * dnsd_resolver_start: start the threads; false, and @error has the reason
 */
bool dnsd_resolver_start(DnsdResolver *resolver, DnsdError *error);

/**
 * dnsd_resolver_reload: apply other settings, or changed files
 *
 * The cache is kept, unless the change affects it.
 *
 * Returns: false, and @error has the reason; nothing has changed then.
 */
bool dnsd_resolver_reload(DnsdResolver *resolver,
                          const DnsdResolverConfig *before,
                          const DnsdResolverConfig *config,
                          DnsdError *error);

/**
 * dnsd_resolver_renew: begin with an empty cache, as interfaces have changed
 *
 * Returns: as dnsd_resolver_reload()
 */
bool dnsd_resolver_renew(DnsdResolver *resolver,
                         const DnsdResolverConfig *config,
                         DnsdError *error);

/** dnsd_resolver_workers: the interface for workers */
const DnsdResolvers *dnsd_resolver_workers(const DnsdResolver *resolver);

/** dnsd_resolver_generation: the generation of the cache, for DnsdServing */
uint32_t dnsd_resolver_generation(const DnsdResolver *resolver);

/** dnsd_resolver_files: descriptors that it needs */
unsigned dnsd_resolver_files(const DnsdResolverConfig *config);

/** dnsd_resolver_stop: stop the threads; call it before the workers end */
void dnsd_resolver_stop(DnsdResolver *resolver);

/** dnsd_resolver_free: after the workers have ended; NULL is allowed */
void dnsd_resolver_free(DnsdResolver *resolver);

#endif /* DNSD_SERVER_RESOLVER_RESOLVER_H */
