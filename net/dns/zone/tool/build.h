/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From sorted runs to the nodes of an image */
#ifndef NET_DNS_ZONE_TOOL_BUILD_H
#define NET_DNS_ZONE_TOOL_BUILD_H

#include "net/dns/zone/tool/check-node.h"
#include "net/dns/zone/tool/places.h"
#include "net/dns/zone/tool/progress.h"
#include "net/dns/zone/tool/runs.h"
#include "net/dns/zone/write.h"

typedef struct Build {
    const ZoneRules *rules;
    const Runs *runs;
    ZoneWriter *writer;
    Places *places;             /* of the NS, MX and SRV records */
    Report *report;             /* for faults of the zone */
    Progress *progress;
} Build;

/**
 * build_nodes: merge, settle, check and write
 *
 * After an error in the report nothing more is written, but the checks
 * continue.
 *
 * Returns: 0 or a negative errno.
 */
int build_nodes(const Build *build);

#endif /* NET_DNS_ZONE_TOOL_BUILD_H */
