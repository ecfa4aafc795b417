/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a flow table finds its entries.  Only table.c uses it.
 *
 * Entries of one mask are a tuple.  Of a tuple, entries that have the same key
 * and differ in priority hang behind one another; the first of them is in a
 * bucket of the tuple's hash table.  A bucket's filter has a bit for each key
 * in it, so that a look-up of a key that is not there nearly always ends
 * without looking at an entry, and in the same way, which is what makes a
 * search of many tuples fast.
 *
 * The hash is multilinear (Lemire and Kaser, "Strongly universal string hashing
 * is fast", 2014): of any two keys, whoever has chosen them, the chance to have
 * the same hash is 2^-32 as long as the table's numbers are not known.  Its
 * multiplications do not wait for each other.
 */
#ifndef CVSW_FLOW_INDEX_H
#define CVSW_FLOW_INDEX_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"

typedef struct CvswTuple CvswTuple;
typedef struct CvswNode CvswNode;

/* An entry and its places.  What a look-up reads comes first. */
struct CvswNode {
    CvswNode *next;             /* another key of the bucket; of a first one */
    CvswNode *lower, *upper;    /* of the same key, by priority */
    uint32_t hash;
    CvswEntry entry;
    CvswTuple *tuple;
    GSequenceIter *rank;        /* in the tuple, by priority */
    uint64_t number;            /* of the order in which entries were made */
    /* The table's. */
    GSequenceIter *due;         /* NULL: its time does not come */
    uint64_t deadline;          /* not later than the entry's own */
};

typedef struct CvswIndex {
    GPtrArray *tuples;          /* that with the greatest priority first */
    unsigned tuples_max;
    uint64_t made;              /* entries, ever */
    uint64_t numbers[2 * CVSW_KEY_WORDS + 1];   /* secret */
} CvswIndex;

/** cvsw_index_init: an empty one, with room for @tuples_max masks */
void cvsw_index_init(CvswIndex *index, unsigned tuples_max, uint64_t seed);

/** cvsw_index_clear: @end is called for each node, and frees it */
void cvsw_index_clear(CvswIndex *index, GFunc end);

/**
 * cvsw_index_insert: put in a node whose entry has match and priority
 *
 * Its match and priority are those of no other, and do not change.
 *
 * Returns: false if it would be one mask too many
 */
bool cvsw_index_insert(CvswIndex *index, CvswNode *node);

/** cvsw_index_renew: it counts as the latest that was made */
void cvsw_index_renew(CvswIndex *index, CvswNode *node);

/** cvsw_index_remove: take out a node that is there */
void cvsw_index_remove(CvswIndex *index, CvswNode *node);

/** cvsw_index_find: the best node for a key, or NULL; does not allocate */
CvswNode *cvsw_index_find(const CvswIndex *index, const CvswKey *key);

/** cvsw_index_exact: the node of this very match and priority, or NULL */
CvswNode *cvsw_index_exact(const CvswIndex *index, const CvswMatch *match,
                           uint16_t priority);

/** cvsw_index_overlaps: does a node of this priority meet a common key? */
bool cvsw_index_overlaps(const CvswIndex *index, const CvswMatch *match,
                         uint16_t priority);

/**
 * cvsw_index_select: the nodes that a filter takes; @filter NULL: all
 *
 * Returns: an array of the caller's own, in the order of cvsw_table_foreach()
 */
GPtrArray *cvsw_index_select(const CvswIndex *index, const CvswFilter *filter);

#endif /* CVSW_FLOW_INDEX_H */
