/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bundles to nodes: sorted records of one name, without duplicates
 *
 * Nodes are collected in batches, which pass from the thread that merges to the
 * thread that writes.
 */
#ifndef DNSD_ZONE_SETTLE_H
#define DNSD_ZONE_SETTLE_H

#include "dnsd/zone/report.h"

typedef struct Item {
    uint64_t at;                /* offset of a Bundled in the batch */
    uint32_t bundle;            /* number in the node, in input order */
    bool dropped;
} Item;

typedef struct BatchNode {
    uint64_t name_at;
    size_t first;               /* index of its first item */
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

/** batch_new: an empty batch; NULL without memory */
Batch *batch_new(void);

void batch_free(Batch *batch);

/** batch_is_full: must the next node go into another batch? */
bool batch_is_full(const Batch *batch);

/**
 * batch_bundle: add the records of a bundle to the open node
 * @is_new: the name differs, so a new node is opened
 *
 * Returns: 0 or -ENOMEM.
 */
int batch_bundle(Batch *batch, const Bundle *bundle, bool is_new);

/**
 * batch_settle: complete the open node, which has all its records
 *
 * Sorts the records by type and canonical RDATA.  All records of an RRset get
 * one TTL, as in BIND: in a group of consecutive records the first TTL applies,
 * and among several groups the last one.  Of equal records the first is kept.
 * Signatures of types that the name does not have are dropped; it may have no
 * record then.  Each such change is a warning.
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

/** batch_name: the name of a node */
DnsName batch_name(const Batch *batch, const BatchNode *node);

#endif /* DNSD_ZONE_SETTLE_H */
