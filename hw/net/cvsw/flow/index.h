/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search structure of a flow table.  Only table.c uses it.
 *
 * The entries with the same mask form a tuple.  Entries of a tuple with the
 * same key and different priorities are in one list; the first of them is in a
 * bucket of the tuple's hash table.  Each bucket has a filter with a bit for
 * each key in it.  So a look-up of a key that is not present nearly always ends
 * without a read of an entry, and with the same branches.  That makes the
 * search of many tuples fast.
 *
 * The hash is multilinear (Lemire and Kaser, "Strongly universal string hashing
 * is fast", 2014): two different keys, also if an attacker chooses them, have
 * the same hash with probability 2^-32, as long as the table's random numbers
 * are secret.  Its multiplications are independent of each other.
 */
#ifndef CVSW_FLOW_INDEX_H
#define CVSW_FLOW_INDEX_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"

typedef struct CvswTuple CvswTuple;
typedef struct CvswNode CvswNode;

/* An entry and its links.  The members that a look-up reads come first. */
struct CvswNode {
    CvswNode *next;             /* next key in the bucket; first nodes only */
    CvswNode *lower, *upper;    /* same key, by priority */
    uint32_t hash;
    CvswEntry entry;
    CvswTuple *tuple;
    GSequenceIter *rank;        /* position in the tuple, by priority */
    uint64_t number;            /* order of creation of the entries */
    /* The following two belong to table.c. */
    GSequenceIter *due;         /* NULL: the entry has no timeout */
    uint64_t deadline;          /* at or before the entry's real deadline */
};

typedef struct CvswIndex {
    GPtrArray *tuples;          /* highest priority first */
    unsigned tuples_max;
    uint64_t made;              /* number of entries created so far */
    uint64_t numbers[2 * CVSW_KEY_WORDS + 1];   /* secret */
} CvswIndex;

/** cvsw_index_init: create an empty index for at most @tuples_max masks */
void cvsw_index_init(CvswIndex *index, unsigned tuples_max, uint64_t seed);

/** cvsw_index_clear: remove all nodes; @end is called to free each */
void cvsw_index_clear(CvswIndex *index, GFunc end);

/**
 * cvsw_index_insert: insert a node whose entry has match and priority set
 *
 * No other node may have the same match and priority, and both must not change.
 *
 * Returns: false if there would be more masks than allowed
 */
bool cvsw_index_insert(CvswIndex *index, CvswNode *node);

/** cvsw_index_renew: make it the newest entry */
void cvsw_index_renew(CvswIndex *index, CvswNode *node);

/** cvsw_index_remove: remove a node that is in the index */
void cvsw_index_remove(CvswIndex *index, CvswNode *node);

/** cvsw_index_find: the best node for a key, or NULL; allocates nothing */
CvswNode *cvsw_index_find(const CvswIndex *index, const CvswKey *key);

/** cvsw_index_exact: the node with this match and priority, or NULL */
CvswNode *cvsw_index_exact(const CvswIndex *index, const CvswMatch *match,
                           uint16_t priority);

/** cvsw_index_overlaps: can a key match both @match and a node of @priority? */
bool cvsw_index_overlaps(const CvswIndex *index, const CvswMatch *match,
                         uint16_t priority);

/**
 * cvsw_index_select: the nodes that match a filter; @filter NULL: all
 *
 * Returns: a new array, in the order of cvsw_table_foreach()
 */
GPtrArray *cvsw_index_select(const CvswIndex *index, const CvswFilter *filter);

#endif /* CVSW_FLOW_INDEX_H */
