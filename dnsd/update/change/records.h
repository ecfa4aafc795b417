/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of one name, read from an image
 *
 * They have the order of an image: by type, RRSIG records by the types covered,
 * and records of an RRset by canonical RDATA.
 */
#ifndef DNSD_UPDATE_CHANGE_RECORDS_H
#define DNSD_UPDATE_CHANGE_RECORDS_H

#include "net/dns/zone/node.h"
#include "net/dns/zone/write.h"

/* One block of memory, which does not change; release it with free(). */
typedef struct DnsNode {
    size_t count;
    ZoneRecord record[];
} DnsNode;

/** dns_node_read: read a node of an image; NULL, and errno is ENOMEM or EIO */
DnsNode *dns_node_read(const ZoneNode *node);

/**
 * dns_node_new: make a node of @count records in any order; duplicates are
 * dropped
 *
 * Returns: NULL without memory.
 */
DnsNode *dns_node_new(const ZoneRecord *records, size_t count);

/**
 * dns_node_change: copy a node without one record, and with another one
 * @node: NULL: an empty node; @without and @with may be NULL, too
 *
 * The RRset of @with gets its TTL.
 *
 * Returns: NULL without memory.
 */
DnsNode *dns_node_change(const DnsNode *node, const ZoneRecord *without,
                         const ZoneRecord *with);

/** dns_node_has: the equal record of the node; TTLs are ignored */
const ZoneRecord *dns_node_has(const DnsNode *node, const ZoneRecord *record);

/** dns_record_compare: the order of records in a node; TTLs are ignored */
int dns_record_compare(const ZoneRecord *a, const ZoneRecord *b);

/**
 * dns_record_covers: the RRset that a record belongs to: for RRSIG, the type
 * covered
 */
uint16_t dns_record_covers(const ZoneRecord *record);

/**
 * dns_node_find: the first record of an RRset; @count is set to their number
 */
const ZoneRecord *dns_node_find(const DnsNode *node, uint16_t type,
                                size_t *count);

/** dns_node_differs: do the records differ, or their TTLs?  NULL: none */
bool dns_node_differs(const DnsNode *a, const DnsNode *b);

#endif /* DNSD_UPDATE_CHANGE_RECORDS_H */
