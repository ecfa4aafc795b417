/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the records of one name, as named-checkzone makes them */
#ifndef NET_DNS_ZONE_TOOL_CHECK_NODE_H
#define NET_DNS_ZONE_TOOL_CHECK_NODE_H

#include "net/dns/zone/tool/settle.h"

typedef struct ZoneRules {
    DnsName origin;
    uint16_t rrclass;
} ZoneRules;

/**
 * check_settled_node: a node that is settled
 *
 * An error is what BIND does not load a zone with; all else is a warning.
 */
void check_settled_node(const ZoneRules *rules, const Batch *batch,
                const BatchNode *node, Report *report);

#endif /* NET_DNS_ZONE_TOOL_CHECK_NODE_H */
