/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tuples of entries with the same mask, and their hash tables */
#include "hw/net/cvsw/flow/index.h"

#define BUCKETS_MIN     8u

typedef struct Bucket {
    uint64_t filter;            /* a bit for each key */
    CvswNode *first;
} Bucket;

/* A word of the key with mask bits, and its hash factors. */
typedef struct Touched {
    uint64_t mask;
    uint64_t low, high;         /* factors of its two 32-bit halves */
    size_t at;
} Touched;

/* The members that a look-up reads come first, to touch few cache lines. */
struct CvswTuple {
    Bucket *buckets;
    uint32_t last_bucket;       /* 2^n - 1; the tuple has 2^n buckets */
    uint16_t top;               /* the highest priority in the tuple */
    uint8_t words;              /* number of words with mask bits */
    Touched touched[CVSW_KEY_WORDS];
    CvswKey mask;
    unsigned keys;
    GSequence *ranks;           /* nodes, highest priority first */
};

/* SplitMix64, a pseudo-random generator (Steele, 2014). */
static uint64_t next_number(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void cvsw_index_init(CvswIndex *index, unsigned tuples_max, uint64_t seed)
{
    index->tuples = g_ptr_array_new();
    index->tuples_max = tuples_max;
    index->made = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(index->numbers); i++) {
        index->numbers[i] = next_number(&seed);
    }
}

static inline uint32_t hash_of(const CvswIndex *index, const CvswTuple *tuple,
                               const CvswKey *key)
{
    uint64_t sum = index->numbers[2 * CVSW_KEY_WORDS];

    for (unsigned i = 0; i < tuple->words; i++) {
        const Touched *touched = &tuple->touched[i];
        uint64_t word = key->word[touched->at] & touched->mask;

        sum += touched->low * (uint32_t)word + touched->high * (word >> 32);
    }
    return sum >> 32;
}

static inline Bucket *bucket_of(const CvswTuple *tuple, uint32_t hash)
{
    return &tuple->buckets[hash & tuple->last_bucket];
}

/* Uses the highest bits; the bucket number uses the lowest. */
static inline uint64_t filter_of(uint32_t hash)
{
    return UINT64_C(1) << (hash >> 26);
}

static inline bool is_key(const CvswTuple *tuple, const CvswNode *node,
                          const CvswKey *key)
{
    uint64_t differ = 0;

    for (unsigned i = 0; i < tuple->words; i++) {
        const Touched *touched = &tuple->touched[i];

        differ |= (key->word[touched->at] & touched->mask) ^
                  node->entry.match.value.word[touched->at];
    }
    return differ == 0;
}

/* Returns: the node of the highest priority in a tuple that matches @key */
static inline CvswNode *first_of(const CvswIndex *index,
                                 const CvswTuple *tuple, const CvswKey *key)
{
    uint32_t hash = hash_of(index, tuple, key);
    const Bucket *bucket = bucket_of(tuple, hash);
    CvswNode *node;

    if (G_LIKELY(!(bucket->filter & filter_of(hash)))) {
        return NULL;
    }
    for (node = bucket->first; node; node = node->next) {
        if (node->hash == hash && is_key(tuple, node, key)) {
            return node;
        }
    }
    return NULL;
}

CvswNode *cvsw_index_find(const CvswIndex *index, const CvswKey *key)
{
    CvswNode *best = NULL, *node;

    for (unsigned i = 0; i < index->tuples->len; i++) {
        const CvswTuple *tuple = index->tuples->pdata[i];

        if (best && best->entry.priority >= tuple->top) {
            break;
        }
        node = first_of(index, tuple, key);
        if (node && (!best || node->entry.priority > best->entry.priority)) {
            best = node;
        }
    }
    return best;
}

static CvswTuple *tuple_new(const CvswIndex *index, const CvswKey *mask)
{
    CvswTuple *tuple = g_new0(CvswTuple, 1);

    tuple->mask = *mask;
    for (unsigned i = 0; i < CVSW_KEY_WORDS; i++) {
        if (mask->word[i]) {
            tuple->touched[tuple->words++] = (Touched) {
                .mask = mask->word[i],
                .low = index->numbers[2 * i],
                .high = index->numbers[2 * i + 1],
                .at = i,
            };
        }
    }
    tuple->last_bucket = BUCKETS_MIN - 1;
    tuple->buckets = g_new0(Bucket, BUCKETS_MIN);
    tuple->ranks = g_sequence_new(NULL);
    return tuple;
}

static void tuple_free(CvswTuple *tuple)
{
    g_sequence_free(tuple->ranks);
    g_free(tuple->buckets);
    g_free(tuple);
}

static CvswTuple *tuple_of(const CvswIndex *index, const CvswKey *mask)
{
    for (unsigned i = 0; i < index->tuples->len; i++) {
        CvswTuple *tuple = index->tuples->pdata[i];

        if (!memcmp(&tuple->mask, mask, sizeof(*mask))) {
            return tuple;
        }
    }
    return NULL;
}

void cvsw_index_clear(CvswIndex *index, GFunc end)
{
    for (unsigned i = 0; i < index->tuples->len; i++) {
        CvswTuple *tuple = index->tuples->pdata[i];

        g_sequence_foreach(tuple->ranks, end, NULL);
        tuple_free(tuple);
    }
    g_ptr_array_free(index->tuples, true);
}

/* Orders tuples by their highest priority, descending. */
static int compare_tuples(const void *a, const void *b)
{
    const CvswTuple *one = *(CvswTuple *const *)a;
    const CvswTuple *other = *(CvswTuple *const *)b;

    return (int)other->top - one->top;
}

/*
 * Updates a tuple's position after its nodes or its highest priority changed.
 */
static void reposition(CvswIndex *index, CvswTuple *tuple)
{
    CvswNode *first;

    if (g_sequence_is_empty(tuple->ranks)) {
        g_ptr_array_remove(index->tuples, tuple);
        tuple_free(tuple);
        return;
    }
    first = g_sequence_get(g_sequence_get_begin_iter(tuple->ranks));
    if (tuple->top != first->entry.priority) {
        tuple->top = first->entry.priority;
        g_ptr_array_sort(index->tuples, compare_tuples);
    }
}

static void link_first(CvswTuple *tuple, CvswNode *node)
{
    Bucket *bucket = bucket_of(tuple, node->hash);

    node->next = bucket->first;
    bucket->first = node;
    bucket->filter |= filter_of(node->hash);
}

static void grow(CvswTuple *tuple)
{
    Bucket *old = tuple->buckets;
    uint32_t num = tuple->last_bucket + 1;

    tuple->buckets = g_new0(Bucket, 2 * (size_t)num);
    tuple->last_bucket = 2 * num - 1;
    for (uint32_t i = 0; i < num; i++) {
        CvswNode *node = old[i].first, *next;

        for (; node; node = next) {
            next = node->next;
            link_first(tuple, node);
        }
    }
    g_free(old);
}

/* Returns: the bucket's pointer to @node, which is the first of its key */
static CvswNode **link_to(Bucket *bucket, const CvswNode *node)
{
    CvswNode **link = &bucket->first;

    while (*link != node) {
        link = &(*link)->next;
    }
    return link;
}

/* @node replaces @old as the first of their key. */
static void replace_first(CvswTuple *tuple, CvswNode *old, CvswNode *node)
{
    *link_to(bucket_of(tuple, old->hash), old) = node;
    node->next = old->next;
    old->next = NULL;
}

static void unlink_first(CvswTuple *tuple, CvswNode *node)
{
    Bucket *bucket = bucket_of(tuple, node->hash);

    *link_to(bucket, node) = node->next;
    bucket->filter = 0;
    for (const CvswNode *left = bucket->first; left; left = left->next) {
        bucket->filter |= filter_of(left->hash);
    }
    tuple->keys--;
}

/* @first is the first node with the key of @node. */
static void append_lower(CvswTuple *tuple, CvswNode *first, CvswNode *node)
{
    CvswNode *upper = NULL, *lower = first;

    while (lower && lower->entry.priority > node->entry.priority) {
        upper = lower;
        lower = lower->lower;
    }
    node->upper = upper;
    node->lower = lower;
    if (lower) {
        lower->upper = node;
    }
    if (upper) {
        upper->lower = node;
    } else {
        replace_first(tuple, first, node);
    }
}

static int compare_ranks(const void *a, const void *b, void *unused)
{
    const CvswNode *one = a, *other = b;

    return (int)other->entry.priority - one->entry.priority;
}

void cvsw_index_renew(CvswIndex *index, CvswNode *node)
{
    node->number = index->made++;
}

bool cvsw_index_insert(CvswIndex *index, CvswNode *node)
{
    const CvswMatch *match = &node->entry.match;
    CvswTuple *tuple = tuple_of(index, &match->mask);
    CvswNode *first;

    if (!tuple) {
        if (index->tuples->len >= index->tuples_max) {
            return false;
        }
        tuple = tuple_new(index, &match->mask);
        g_ptr_array_add(index->tuples, tuple);
    }
    node->tuple = tuple;
    node->hash = hash_of(index, tuple, &match->value);
    node->next = node->lower = node->upper = NULL;
    first = first_of(index, tuple, &match->value);
    if (first) {
        append_lower(tuple, first, node);
    } else {
        if (++tuple->keys > tuple->last_bucket + 1) {
            grow(tuple);
        }
        link_first(tuple, node);
    }
    node->rank = g_sequence_insert_sorted(tuple->ranks, node, compare_ranks,
                                          NULL);
    cvsw_index_renew(index, node);
    reposition(index, tuple);
    return true;
}

void cvsw_index_remove(CvswIndex *index, CvswNode *node)
{
    CvswTuple *tuple = node->tuple;

    if (node->lower) {
        node->lower->upper = node->upper;
    }
    if (node->upper) {
        node->upper->lower = node->lower;
    } else if (node->lower) {
        replace_first(tuple, node, node->lower);
    } else {
        unlink_first(tuple, node);
    }
    g_sequence_remove(node->rank);
    reposition(index, tuple);
}

CvswNode *cvsw_index_exact(const CvswIndex *index, const CvswMatch *match,
                           uint16_t priority)
{
    const CvswTuple *tuple = tuple_of(index, &match->mask);
    CvswNode *node = tuple ? first_of(index, tuple, &match->value) : NULL;

    while (node && node->entry.priority > priority) {
        node = node->lower;
    }
    return node && node->entry.priority == priority ? node : NULL;
}

static bool tuple_overlaps(const CvswTuple *tuple, const CvswMatch *match,
                           uint16_t priority)
{
    CvswNode probe = { .entry.priority = priority };
    GSequenceIter *iter = g_sequence_search(tuple->ranks, &probe,
                                            compare_ranks, NULL);

    /* Find the position after the last node of this priority. */
    while (!g_sequence_iter_is_begin(iter)) {
        const CvswNode *node;

        iter = g_sequence_iter_prev(iter);
        node = g_sequence_get(iter);
        if (node->entry.priority != priority) {
            break;
        }
        if (cvsw_match_overlaps(&node->entry.match, match)) {
            return true;
        }
    }
    return false;
}

bool cvsw_index_overlaps(const CvswIndex *index, const CvswMatch *match,
                         uint16_t priority)
{
    for (unsigned i = 0; i < index->tuples->len; i++) {
        if (tuple_overlaps(index->tuples->pdata[i], match, priority)) {
            return true;
        }
    }
    return false;
}

static bool outputs_to(const CvswEntry *entry, uint32_t port)
{
    for (unsigned i = 0; i < entry->actions_len; i++) {
        const CvswAction *action = &entry->actions[i];

        if (action->type == CVSW_ACTION_OUTPUT && action->output.port == port) {
            return true;
        }
    }
    return false;
}

/* Does an entry match the filter?  @strict is not tested here. */
static bool takes(const CvswFilter *filter, const CvswEntry *entry)
{
    return cvsw_match_within(&entry->match, &filter->match) &&
           ((entry->cookie ^ filter->cookie) & filter->cookie_mask) == 0 &&
           (filter->out_port == CVSW_ANY_PORT ||
            outputs_to(entry, filter->out_port)) &&
           (filter->out_group == CVSW_ANY_GROUP ||
            cvsw_actions_name_group(entry->actions, entry->actions_len,
                                    filter->out_group));
}

static int compare_nodes(const void *a, const void *b)
{
    const CvswNode *one = *(CvswNode *const *)a;
    const CvswNode *other = *(CvswNode *const *)b;
    int by_priority = compare_ranks(one, other, NULL);

    return by_priority ? by_priority : one->number < other->number ? -1 : 1;
}

static void select_of(const CvswTuple *tuple, const CvswFilter *filter,
                      GPtrArray *found)
{
    GSequenceIter *iter = g_sequence_get_begin_iter(tuple->ranks);

    for (; !g_sequence_iter_is_end(iter); iter = g_sequence_iter_next(iter)) {
        CvswNode *node = g_sequence_get(iter);

        if (!filter || takes(filter, &node->entry)) {
            g_ptr_array_add(found, node);
        }
    }
}

GPtrArray *cvsw_index_select(const CvswIndex *index, const CvswFilter *filter)
{
    GPtrArray *found = g_ptr_array_new();

    if (filter && filter->strict) {
        CvswNode *node = cvsw_index_exact(index, &filter->match,
                                          filter->priority);

        if (node && takes(filter, &node->entry)) {
            g_ptr_array_add(found, node);
        }
        return found;
    }
    for (unsigned i = 0; i < index->tuples->len; i++) {
        select_of(index->tuples->pdata[i], filter, found);
    }
    g_ptr_array_sort(found, compare_nodes);
    return found;
}
