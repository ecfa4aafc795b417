/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From master files to sorted runs, by all threads */
#ifndef DNSD_ZONE_LOAD_H
#define DNSD_ZONE_LOAD_H

#include "dnsd/zone/check-node.h"
#include "dnsd/zone/progress.h"
#include "dnsd/zone/runs.h"

typedef struct Load {
    const ZoneRules *rules;
    const char *const *paths;   /* "-" is standard input */
    size_t count;
    unsigned threads;
    bool has_default_ttl;
    uint32_t default_ttl;
    Runs *runs;
    Report *report;             /* for faults of the files */
    Progress *progress;
} Load;

/** load_octets: the size of the files, as far as it is known */
uint64_t load_octets(const Load *load);

/**
 * load_files: read all files one after the other
 *
 * Faults of the files are reported.
 *
 * Returns: 0, even with faults in the files; or a negative errno for other
 * errors, such as no memory or a full disk.
 */
int load_files(const Load *load);

#endif /* DNSD_ZONE_LOAD_H */
