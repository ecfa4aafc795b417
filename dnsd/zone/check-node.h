/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the records of one name, the same as those of named-checkzone */
#ifndef DNSD_ZONE_CHECK_NODE_H
#define DNSD_ZONE_CHECK_NODE_H

#include "dnsd/zone/settle.h"

typedef struct ZoneRules {
    DnsName origin;
    uint16_t rrclass;
} ZoneRules;

/**
 * check_settled_node: check a node that batch_settle() has completed
 *
 * Reports an error if BIND would not load the zone, and a warning for any other
 * fault.
 */
void check_settled_node(const ZoneRules *rules, const Batch *batch,
                const BatchNode *node, Report *report);

#endif /* DNSD_ZONE_CHECK_NODE_H */
