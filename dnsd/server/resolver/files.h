/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the resolver: trust anchors and root hints */
#ifndef DNSD_SERVER_RESOLVER_FILES_H
#define DNSD_SERVER_RESOLVER_FILES_H

#include <sys/stat.h>

#include "dnsd/server/config/config.h"
#include "dnsd/server/host/sockets.h"

/* The state of the files when they were read; zeros: there is no file */
typedef struct DnsdResolverFiles {
    struct stat anchor, hints;
} DnsdResolverFiles;

/** dnsd_resolver_files_look: get their state; call it before reading them */
void dnsd_resolver_files_look(const DnsdResolverConfig *config,
                              DnsdResolverFiles *files);

/** dnsd_resolver_files_same: are both states equal? */
bool dnsd_resolver_files_same(const DnsdResolverFiles *a,
                              const DnsdResolverFiles *b);

/**
 * dnsd_resolver_files_check: do the files exist, and are there trust anchors?
 *
 * libunbound reports malformed records.  But it accepts a file without any
 * anchor, and then would not validate.
 *
 * Returns: false, and @error has the key and what would be right.
 */
bool dnsd_resolver_files_check(const DnsdResolverConfig *config,
                               DnsdError *error);

#endif /* DNSD_SERVER_RESOLVER_FILES_H */
