/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of one name, taken from an image to be changed
 *
 * In the order in which an image has them: by type, RRSIG records by the types
 * that they cover, records of an RRset by their RDATA in canonical form.
 */
#ifndef NET_DNS_UPDATE_CHANGE_RECORDS_H
#define NET_DNS_UPDATE_CHANGE_RECORDS_H

#include "net/dns/zone/node.h"
#include "net/dns/zone/write.h"

/* All in one piece of memory, which does not change; free() frees it. */
typedef struct DnsNode {
    size_t count;
    ZoneRecord record[];
} DnsNode;

/** dns_node_read: an image's node; NULL, and errno ENOMEM or EIO. */
DnsNode *dns_node_read(const ZoneNode *node);

/**
 * dns_node_new: @count records in any order, without those that are twice
 *
 * Returns: NULL without memory.
 */
DnsNode *dns_node_new(const ZoneRecord *records, size_t count);

/**
 * dns_node_change: a node without one of its records, with another one
 * @node: NULL: none; @without and @with may be NULL, too
 *
 * The RRset of @with takes its TTL.
 *
 * Returns: NULL without memory.
 */
DnsNode *dns_node_change(const DnsNode *node, const ZoneRecord *without,
                         const ZoneRecord *with);

/** dns_node_has: the node's record that is the same, whatever its TTL */
const ZoneRecord *dns_node_has(const DnsNode *node, const ZoneRecord *record);

/** dns_record_compare: the order above; TTLs do not count. */
int dns_record_compare(const ZoneRecord *a, const ZoneRecord *b);

/** dns_record_covers: the RRset it belongs to: of RRSIG, what it covers. */
uint16_t dns_record_covers(const ZoneRecord *record);

/** dns_node_find: the first record of an RRset; count in @count. */
const ZoneRecord *dns_node_find(const DnsNode *node, uint16_t type,
                                size_t *count);

#endif /* NET_DNS_UPDATE_CHANGE_RECORDS_H */
