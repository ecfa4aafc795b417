/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From sorted runs to the nodes of an image */
#ifndef DNSD_ZONE_BUILD_H
#define DNSD_ZONE_BUILD_H

#include "dnsd/zone/check-node.h"
#include "dnsd/zone/places.h"
#include "dnsd/zone/progress.h"
#include "dnsd/zone/runs.h"
#include "net/dns/zone/write.h"

typedef struct Build {
    const ZoneRules *rules;
    Runs *runs;
    ZoneWriter *writer;
    const ZoneOut *out;         /* of the writer */
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

#endif /* DNSD_ZONE_BUILD_H */
