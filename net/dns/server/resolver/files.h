/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a resolver is set up by: trust anchors and root hints */
#ifndef NET_DNS_SERVER_RESOLVER_FILES_H
#define NET_DNS_SERVER_RESOLVER_FILES_H

#include <sys/stat.h>

#include "net/dns/server/config/config.h"
#include "net/dns/server/host/sockets.h"

/* The files as they were when they were read; zeros for one that is not */
typedef struct DnsdResolverFiles {
    struct stat anchor, hints;
} DnsdResolverFiles;

/** dnsd_resolver_files_look: as they are now; before they are read. */
void dnsd_resolver_files_look(const DnsdResolverConfig *config,
                              DnsdResolverFiles *files);

/** dnsd_resolver_files_same: have they not been written in between? */
bool dnsd_resolver_files_same(const DnsdResolverFiles *a,
                              const DnsdResolverFiles *b);

/**
 * dnsd_resolver_files_check: are they there, and has the one trust anchors?
 *
 * What is wrong with a record is for libunbound to find; that there is none,
 * so that nothing would be validated, is not wrong to it.
 *
 * Returns: false, and @mistake names the key and what would be right.
 */
bool dnsd_resolver_files_check(const DnsdResolverConfig *config,
                               DnsdMistake *mistake);

#endif /* NET_DNS_SERVER_RESOLVER_FILES_H */
