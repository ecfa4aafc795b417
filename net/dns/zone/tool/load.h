/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Master files into sorted runs, by all threads */
#ifndef NET_DNS_ZONE_TOOL_LOAD_H
#define NET_DNS_ZONE_TOOL_LOAD_H

#include "net/dns/zone/tool/check-node.h"
#include "net/dns/zone/tool/progress.h"
#include "net/dns/zone/tool/runs.h"

typedef struct Load {
    const ZoneRules *rules;
    const char *const *paths;   /* "-" is standard input */
    size_t count;
    unsigned threads;
    bool has_default_ttl;
    uint32_t default_ttl;
    Runs *runs;
    Report *report;             /* what is wrong with the files */
    Progress *progress;
} Load;

/** load_octets: of the files, as far as that can be known */
uint64_t load_octets(const Load *load);

/**
 * load_files: all of them, one behind the other
 *
 * Mistakes go to the report.
 *
 * Returns: 0, also with mistakes; or a negative errno of what has nothing to
 * do with the zone, such as memory or the disk for the runs.
 */
int load_files(const Load *load);

#endif /* NET_DNS_ZONE_TOOL_LOAD_H */
