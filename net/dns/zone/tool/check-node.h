/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the records of one name, the same as those of named-checkzone */
#ifndef NET_DNS_ZONE_TOOL_CHECK_NODE_H
#define NET_DNS_ZONE_TOOL_CHECK_NODE_H

#include "net/dns/zone/tool/settle.h"

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

#endif /* NET_DNS_ZONE_TOOL_CHECK_NODE_H */
