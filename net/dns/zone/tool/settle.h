/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bundles to nodes: all records of a name, in order, each once
 *
 * Nodes are put into batches, which go from the thread that merges to the one
 * that writes.
 */
#ifndef NET_DNS_ZONE_TOOL_SETTLE_H
#define NET_DNS_ZONE_TOOL_SETTLE_H

#include "net/dns/zone/tool/report.h"

typedef struct Item {
    uint64_t at;                /* of a Bundled in the batch */
    uint32_t bundle;            /* of the node, in the order of the input */
    bool dropped;
} Item;

typedef struct BatchNode {
    uint64_t name_at;
    size_t first;               /* item */
    size_t count;
    uint8_t name_len;
    uint8_t labels;
} BatchNode;

typedef struct Batch {
    uint8_t *octets;
    size_t used;
    size_t octets_room;
    Item *item;
    size_t items;
    size_t items_room;
    BatchNode *node;
    size_t nodes;
    size_t nodes_room;
} Batch;

/** batch_new: an empty one; NULL without memory. */
Batch *batch_new(void);

void batch_free(Batch *batch);

/** batch_is_full: should the next node be in another one? */
bool batch_is_full(const Batch *batch);

/**
 * batch_bundle: the records of a bundle, for the node that is open
 * @is_new: its name is another one, and a node is opened for it
 *
 * Returns: 0 or -ENOMEM.
 */
int batch_bundle(Batch *batch, const Bundle *bundle, bool is_new);

/**
 * batch_settle: the node that is open has all its records
 *
 * They are put in the order of types and canonical RDATA.  RRsets get one TTL,
 * as BIND does it: of records that stand one behind the other the first
 * counts, of such groups the last.  Of equal records the first stays.  Warnings
 * say so.
 */
void batch_settle(Batch *batch, uint16_t rrclass, Report *report);

static inline Bundled *batch_record(const Batch *batch, const Item *item)
{
    return (Bundled *)(batch->octets + item->at);
}

static inline ZonePlace bundled_place(const Bundled *record)
{
    return (ZonePlace) { record->line, record->file };
}

/** batch_name: of a node. */
DnsName batch_name(const Batch *batch, const BatchNode *node);

#endif /* NET_DNS_ZONE_TOOL_SETTLE_H */
